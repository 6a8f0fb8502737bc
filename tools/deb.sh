#!/usr/bin/env bash
# deb.sh [--output_dir=DIR] [--from=DIR]: makes three packages for the Debian that this runs on, in DIR: rutile (the
# tools), librutile-dev (the C library, its header, the plugin for LAMMPS) and python3-rutile.
#
#   --output_dir=DIR   where to; the current folder by default
#   --from=DIR         programs that are built already, as of tools/install.sh
set -euo pipefail
umask 022  # What is packed is for everybody, whoever packs it.

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() {
  echo "deb.sh: $*" >&2
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
for program in dpkg-deb dpkg-shlibdeps; do
  command -v $program > /dev/null || fail "needs $program: apt-get install dpkg-dev, on Debian"
done
[ -z "${LIBTORCH-}" ] || fail "LIBTORCH is set: a package depends on Debian's LibTorch; unset it and build again"
mkdir -p "$output" || fail "cannot make $output"
output=$(cd "$output" && pwd)

stage=$(mktemp -d "$output/.rutile-deb.XXXXXX")
trap 'rm -rf "$stage"' EXIT
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' "$source/lib/base/version.h")
architecture=$(dpkg --print-architecture)
libraries=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
"$source/tools/install.sh" --destdir="$stage/rutile" --prefix=/usr "${from[@]}"
cd "$stage"

# move PACKAGE FILE NEW_NAME: out of rutile, into another package.
move() {
  mkdir -p "$(dirname "$1/$3")"
  mv "rutile/$2" "$1/$3"
}
move librutile-dev usr/lib/librutile.so "$libraries/librutile.so"
move librutile-dev usr/lib/pkgconfig/rutile.pc "$libraries/pkgconfig/rutile.pc"
sed -i "s|^prefix=.*|prefix=/usr|; s|^libdir=.*|libdir=/$libraries|" "librutile-dev/$libraries/pkgconfig/rutile.pc"
move librutile-dev usr/include/rutile.h usr/include/rutile.h
move librutile-dev usr/share/rutile/tools/lammps usr/share/rutile/tools/lammps
move librutile-dev usr/share/rutile/lib usr/share/rutile/lib
# Libraries in the wheel are copies of Debian's, which the package depends on instead.
move python3-rutile usr/lib/rutile/python/rutile usr/lib/python3/dist-packages/rutile
find python3-rutile -name '*.so.*' -delete
strip --strip-unneeded python3-rutile/usr/lib/python3/dist-packages/rutile/librutile.so
# dpkg does these; and pip is not for what a package installs.
rm -r rutile/usr/lib/rutile/python rutile/usr/share/rutile/{uninstall.sh,files.txt,rutile-"$version"-*.whl}
rmdir rutile/usr/lib/pkgconfig rutile/usr/include rutile/usr/share/rutile/tools
find rutile/usr/share/man -name '*.1' -exec gzip -9n {} +

# package NAME SECTION DEPENDS RECOMMENDS SUMMARY TEXT PROGRAM...: control and the archive; dependencies of the programs
# are found.
mkdir debian
echo "Source: rutile" > debian/control
package() {
  local name=$1 section=$2 depends=$3 recommends=$4 summary=$5 text=$6
  shift 6
  local found
  found=$(dpkg-shlibdeps -O "$@" 2> shlibdeps.log | sed -n 's/^shlibs:Depends=//p') ||
    fail "$(cat shlibdeps.log)"
  [ -n "$found" ] || fail "dpkg-shlibdeps knows no libraries of $name: $(cat shlibdeps.log)"
  mkdir -p "$name/DEBIAN" "$name/usr/share/doc/$name"
  cp "$source/LICENSE" "$name/usr/share/doc/$name/copyright"
  cat > "$name/DEBIAN/control" << END
Package: $name
Version: $version
Architecture: $architecture
Maintainer: The rutile developers <rutile@localhost>
Section: $section
Priority: optional
Depends: $found${depends:+, $depends}
Installed-Size: $(du -sk --apparent-size "$name/usr" | cut -f1)
${recommends:+Recommends: $recommends
}Description: $summary
 $text
END
  (cd "$name" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2 > DEBIAN/md5sums)
  chmod -R u+w,go-w,a+rX "$name"
  dpkg-deb --root-owner-group --build "$name" "${name}_${version}_$architecture.deb" > /dev/null
}
# LibTorch alone brings reference BLAS, which is 20 to 30 times slower.
tools=rutile/usr/libexec/rutile
package rutile science libopenblas0-openmp gnuplot-nox \
  "trains interatomic potentials and embeddings of knowledge graphs" \
  "Tools for the shell: rutile train, rutile evaluate and others. man rutile begins." \
  $tools/{train,train-libtorch,evaluate,cache-neighbors,featurize,tracin,tracin-verify,profile,info,diff,check_model}
package librutile-dev libdevel "" "" "runs potentials of rutile in programs of your own" \
  "A C library, its header, and the sources of a plugin for LAMMPS (GPL-2)." "librutile-dev/$libraries/librutile.so"
package python3-rutile python python3 "python3-numpy, python3-ase" "runs potentials of rutile in Python and ASE" \
  "The package rutile, with a calculator for ASE." \
  python3-rutile/usr/lib/python3/dist-packages/rutile/librutile.so
for name in rutile librutile-dev python3-rutile; do
  mv "${name}_${version}_$architecture.deb" "$output/"
  echo "$output/${name}_${version}_$architecture.deb"
done
