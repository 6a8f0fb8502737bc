#!/bin/sh
# uninstall.sh: removes what tools/install.sh installed: the files of files.txt beside this script, and the folders that
# are empty then.
set -eu
fail() {
  echo "uninstall.sh: $*" >&2
  exit 1
}
# By the path that it was called by: if share is a link, the rest of rutile is not beside what that leads to.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${here%/share/rutile}
[ "$prefix" != "$here" ] && [ -f "$here/files.txt" ] && [ -d "$prefix/libexec/rutile" ] ||
  fail "$here is not the folder share/rutile of an installation of rutile; call PREFIX/share/rutile/uninstall.sh"
list=$(cat "$here/files.txt")
# The list goes last, so that this can be run again after it was interrupted.
echo "$list" | while IFS= read -r file; do
  [ "$file" = share/rutile/files.txt ] || [ "$file" = share/rutile/uninstall.sh ] || rm -f "$prefix/$file"
done
rm -f "$here/uninstall.sh" "$here/files.txt"
echo "$list" | while IFS= read -r file; do
  directory=$(dirname "$file")
  while [ "$directory" != . ]; do
    echo "$directory"
    directory=$(dirname "$directory")
  done
done | sort -ru | while IFS= read -r directory; do
  rmdir "$prefix/$directory" 2> /dev/null || true
done
echo "removed rutile from $prefix"
