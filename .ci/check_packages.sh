#!/usr/bin/env bash
# check_packages.sh: the archive and the packages of Debian can be made from what is built, install, run and go away.
# Skips, with the reason, what this machine has no programs for.
set -uo pipefail
cd "$(dirname "$0")/.."
# They are made with Debian's LibTorch; what is built is of another, and building all again would take long.
if [ -n "${LIBTORCH-}" ]; then
  echo "skipped: LIBTORCH is set"
  exit 0
fi
# What tools/install.sh builds; here most of it is built, by the tests.
bazel build --noshow_progress //:tools //lib/md:librutile.so //lib/tensorfile:diff //lib/tensorfile:info \
  //python:wheel //tools/kim:rutile-kim || exit 1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
if command -v patchelf > /dev/null; then
  (umask 077 && tools/bundle.sh --from=bazel-bin --output_dir="$folder") &&
    tools/packaging/bundle_test.sh "$folder"/rutile-*.tar.gz \
    > "$folder/log" 2>&1 || { failed=1; tail -n 30 "$folder/log"; }
  tail -n 1 "$folder/log"
else
  echo "archive: skipped: no patchelf (apt-get install patchelf)"
fi
if command -v dpkg-shlibdeps > /dev/null; then
  tools/deb.sh --from=bazel-bin --output_dir="$folder" && tools/packaging/deb_test.sh "$folder" || failed=1
else
  echo "packages: skipped: no dpkg-shlibdeps (apt-get install dpkg-dev)"
fi
exit $failed
