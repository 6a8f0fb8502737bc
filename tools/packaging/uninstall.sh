#!/bin/sh
# uninstall.sh: removes what tools/install.sh installed: the files of files.txt beside this script, and the folders that
# are empty then.
set -eu
here=$(dirname "$(readlink -f "$0")")
prefix=${here%/share/rutile}
list=$(cat "$here/files.txt")
echo "$list" | while IFS= read -r file; do rm -f "$prefix/$file"; done
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
