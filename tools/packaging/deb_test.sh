#!/usr/bin/env bash
# deb_test.sh FOLDER: what the packages of tools/deb.sh in FOLDER depend on is there in this Debian; they install into
# an empty root, run there in place, and are removed without a trace. Says why it skips where dpkg cannot do that.
set -euo pipefail
folder=$(realpath "$1")
packages=("$folder"/rutile_*.deb "$folder"/librutile-dev_*.deb "$folder"/python3-rutile_*.deb)
skip() {
  echo "skipped: $*"
  exit 0
}
command -v dpkg > /dev/null || skip "no dpkg"
[ "$(id -u)" = 0 ] || skip "dpkg installs for root alone"
# Nothing is installed on this machine: dpkg looks whether all dependencies are there, as rutile was built here.
dpkg --simulate --install "${packages[@]}" > /dev/null

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/var/lib/dpkg/"{info,updates}
: > "$root/var/lib/dpkg/status"
# dpkg knows nothing of this machine's packages in that root.
in_root() {
  local said
  said=$(dpkg --root="$root" --force-depends --log=/dev/null "$@" 2>&1) || { echo "$said"; exit 1; }
}
in_root --install "${packages[@]}"
[ "$(dpkg --root="$root" -l | grep -c '^ii .*rutile')" = 3 ]
[ -z "$(dpkg --root="$root" --verify)" ]

"$root/usr/bin/rutile" --version > /dev/null
[ "$("$root/usr/bin/rutile" train --version)" = "$("$root/usr/bin/rutile-train" --version)" ]
for tool in cache-neighbors featurize train evaluate tracin profile; do
  "$root/usr/bin/rutile" $tool --version > /dev/null
  gzip -t "$root/usr/share/man/man1/rutile-$tool.1.gz"
done
libraries=$(dirname "$(find "$root/usr/lib" -name librutile.so -path '*linux-gnu*')")
grep -qx "libdir=${libraries#"$root"}" "$libraries/pkgconfig/rutile.pc"
printf '#include <rutile.h>\nint main(void) { return rutile_abi_version() != RUTILE_ABI_VERSION; }\n' > "$root/tmp.c"
cc -o "$root/tmp" "$root/tmp.c" -I"$root/usr/include" -L"$libraries" -Wl,-rpath,"$libraries" -lrutile
"$root/tmp"
rm "$root/tmp" "$root/tmp.c"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/usr/lib/python3/dist-packages /usr/bin/python3 -c 'import rutile'

in_root --purge python3-rutile librutile-dev rutile
left=$(cd "$root" && find . -path ./var/lib/dpkg -prune -o -type f -print -o -type l -print)
[ -z "$left" ] || { echo "left after removal: $left"; exit 1; }
echo "passed"
