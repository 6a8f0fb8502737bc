#!/usr/bin/env bash
# bootstrap_test.sh: on systems other than Debian, tools/bootstrap.sh names what is missing as they do, and nothing
# where all is there.
set -uo pipefail
failed=0
fail() { echo "FAILED: $*"; failed=1; }
# lists ID TEXT...: on this system, without any library, each text is in the message.
lists() {
  printf 'NAME="A system"\nID=%s\n' "$1" > "$TEST_TMPDIR/os-release"
  env -u LIBTORCH PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=/nowhere OS_RELEASE="$TEST_TMPDIR/os-release" \
    tools/bootstrap.sh test 2> "$TEST_TMPDIR/message" && fail "$1: no message"
  shift
  local text
  for text in "$@"; do
    grep -qF -e "$text" "$TEST_TMPDIR/message" || fail "no \"$text\" in: $(cat "$TEST_TMPDIR/message")"
  done
}
lists fedora 'sudo dnf install gcc-c++ ' ' abseil-cpp-devel ' ' gmock-devel ' 'and Bazel' 'with LIBTORCH set' \
  'conda install -c conda-forge bazel gxx '
lists $'rocky\nID_LIKE="rhel centos fedora"' 'sudo dnf install'
lists arch 'sudo pacman -S --needed bazel gcc '
lists void "the equivalents of Debian's bazel-bootstrap " 'conda install'
# Every package that the script may ask for has a line.
for package in $(sed -n '/^packages=(/,/^case/p; /test | ci)/p' tools/bootstrap.sh | grep -v '^#' |
  grep -oE '[a-z0-9.+-]+(-[a-z0-9+-]+)+|g\+\+|make|python3' | sort -u); do
  cut -f1 tools/packaging/package_names.tsv | grep -qxF -e "$package" || fail "package_names.tsv has no $package"
done
[ -z "$(awk -F'\t' '!/^#/ && NF != 4' tools/packaging/package_names.tsv)" ] || fail "a line without four columns"
# With a prefix that has all, nothing is missing.
mkdir -p "$TEST_TMPDIR/pc" "$TEST_TMPDIR/bin"
for module in absl_status gflags libglog nlohmann_json libhwy zlib libcrypto; do
  printf 'Name: x\nDescription: x\nVersion: 1\n' > "$TEST_TMPDIR/pc/$module.pc"
done
for program in bazel c++ make; do ln -sf /bin/true "$TEST_TMPDIR/bin/$program"; done
if command -v pkg-config > /dev/null; then
  printf 'ID=arch\n' > "$TEST_TMPDIR/os-release"
  PATH=$TEST_TMPDIR/bin:$PATH PKG_CONFIG_LIBDIR=$TEST_TMPDIR/pc LIBTORCH=/a/libtorch \
    OS_RELEASE=$TEST_TMPDIR/os-release tools/bootstrap.sh build || fail "something is missing"
fi
# In Debian, CI does not stop for what it can do without, whether apt can install it or not.
mkdir "$TEST_TMPDIR/debian"
printf 'ID=debian\n' > "$TEST_TMPDIR/os-release"
printf '#!/bin/sh\ncase " $ABSENT " in *" $4 "*) ;; *) echo installed ;; esac\n' > "$TEST_TMPDIR/debian/dpkg-query"
printf '#!/bin/sh\necho $FAKE_ID\n' > "$TEST_TMPDIR/debian/id"
printf '#!/bin/sh\necho "$*" >> $TEST_TMPDIR/asked\nexit 100\n' > "$TEST_TMPDIR/debian/apt-get"
chmod +x "$TEST_TMPDIR"/debian/*
# debian ID ABSENT: bootstrap.sh ci, as the user ID, where packages are absent and apt has no network.
debian() {
  rm -f "$TEST_TMPDIR/asked"
  env FAKE_ID="$1" ABSENT="$2" PATH="$TEST_TMPDIR/debian:$PATH" OS_RELEASE="$TEST_TMPDIR/os-release" \
    tools/bootstrap.sh ci 2> "$TEST_TMPDIR/message"
}
says() { grep -q -e "$1" "$TEST_TMPDIR/message" || fail "no \"$1\" in: $(cat "$TEST_TMPDIR/message")"; }
debian 0 '' || fail "all is there: $(cat "$TEST_TMPDIR/message")"
[ ! -s "$TEST_TMPDIR/message" ] && [ ! -e "$TEST_TMPDIR/asked" ] || fail "nothing is to be said or done if all is there"
debian 1000 'patchelf dpkg-dev' || fail "stops without patchelf"
says 'goes on without patchelf dpkg-dev:'
debian 0 busybox-static || fail "stops where apt cannot install busybox-static"
says 'goes on without busybox-static:'
grep -q update "$TEST_TMPDIR/asked" || fail "did not try to install"
debian 1000 'patchelf valgrind' && fail "goes on without valgrind"
says 'apt-get install --no-install-recommends valgrind$'
debian 0 valgrind && fail "goes on without valgrind"
says 'could not install'
exit $failed
