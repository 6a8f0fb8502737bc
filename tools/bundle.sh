#!/usr/bin/env bash
# bundle.sh [--output_dir=DIR] [--from=DIR]: makes DIR/rutile-VERSION-linux-x86_64.tar.gz, an archive that runs where it
# is unpacked, without root, on any Linux of this processor: it holds all shared libraries, glibc included.
#
#   --output_dir=DIR   where to; the current folder by default
#   --from=DIR         programs that are built already, as of tools/install.sh
set -euo pipefail
umask 022  # What is packed is for everybody, whoever packs it.

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() {
  echo "bundle.sh: $*" >&2
  exit 1
}
output=. from=()
for argument in "$@"; do
  case $argument in
    --output_dir=*) output=${argument#*=} ;;
    --from=*) from=("$argument") ;;
    --help)
      sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) fail "unknown argument $argument; expected --output_dir=DIR or --from=DIR" ;;
  esac
done
for program in patchelf python3 objdump; do
  command -v $program > /dev/null || fail "needs $program: apt-get install patchelf python3 binutils"
done
command -v dpkg-query > /dev/null || fail "the archive's libraries are Debian's; make it on Debian 12"
[ -z "${LIBTORCH-}" ] || fail "LIBTORCH is set: the archive is made with Debian's LibTorch; unset it and build again"
mkdir -p "$output" || fail "cannot make $output"

stage=$(mktemp -d "$output/.rutile-bundle.XXXXXX")
trap 'rm -rf "$stage"' EXIT
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' "$source/lib/base/version.h")
name=rutile-$version-linux-$(uname -m)
"$source/tools/install.sh" --prefix="$stage/$name" "${from[@]}"
needed=$(python3 "$source/tools/packaging/archive_libraries.py" "$stage/$name")
# The folder is removed as a whole.
rm "$stage/$name/share/rutile/uninstall.sh" "$stage/$name/share/rutile/files.txt"
sed "s/@VERSION@/$version/; s/@NEEDED@/$needed/" "$source/tools/packaging/archive.txt" > "$stage/$name/README.txt"
# The same files make the same bytes, whenever and by whomever.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$stage" -cf - "$name" |
  gzip -n > "$stage/$name.tar.gz"
mv "$stage/$name.tar.gz" "$output/$name.tar.gz"
echo "$output/$name.tar.gz"
