#!/usr/bin/env bash
# Installs the Debian packages that rutile needs and that are missing. With none missing it does nothing, at once.
#
#   tools/bootstrap.sh [build|test|ci]     what for: building and running (the default), the tests, everything
#
# Without root it prints the one line to run and fails.
set -euo pipefail

level=${1:-build}
packages=(bazel-bootstrap bazel-rules-java bazel-platforms g++ pkg-config make ca-certificates
  libabsl-dev libgflags-dev libgoogle-glog-dev nlohmann-json3-dev libhwy-dev zlib1g-dev libssl-dev
  libgloo-dev libopenblas0-openmp gnuplot-nox)
# OpenBLAS above: LibTorch alone pulls in reference BLAS, which is 20 to 30 times slower.
[ -n "${LIBTORCH:-}" ] || packages+=(libtorch-dev)
case $level in
  build) ;;
  test | ci) packages+=(libgtest-dev libgmock-dev libbenchmark-dev libkim-api-dev python3 iproute2) ;;&
  ci) packages+=(clang clang-format-14 libclang-rt-14-dev git valgrind
    python3-numpy python3-ase python3-venv lammps openmpi-bin) ;;
  test) ;;
  *) echo "bootstrap.sh: $level: expected build, test or ci" >&2; exit 1 ;;
esac

if ! command -v dpkg-query > /dev/null; then
  echo "bootstrap.sh: this is not Debian; install the equivalents of: ${packages[*]}" >&2
  exit 1
fi
missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
  echo "Some packages are missing, and installing them needs root. Run this, then the script again:" >&2
  echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } > "$log" 2>&1; then
  cat "$log" >&2
  echo "bootstrap.sh: apt-get could not install the packages above" >&2
  exit 1
fi
