#!/usr/bin/env bash
# Installs the Debian packages that rutile needs and that are missing. With none missing it does nothing, at once.
#
#   tools/bootstrap.sh [build|test|ci]     what for: building and running (the default), the tests, everything
#   OS_RELEASE=FILE                        stands for /etc/os-release
#
# Packages that CI can do without (.ci/check_packages.sh then skips a part) are installed if that is possible.
#
# Without root it prints the one line to run and fails. On other systems it prints that line with their names of
# packages, and fails, if something is missing (docs/install.md, Building elsewhere).
set -euo pipefail

level=${1:-build}
optional=()
packages=(bazel-bootstrap bazel-rules-java bazel-platforms g++ pkg-config make ca-certificates
  libabsl-dev libgflags-dev libgoogle-glog-dev nlohmann-json3-dev libhwy-dev zlib1g-dev libssl-dev
  libgloo-dev libopenblas0-openmp gnuplot-nox)
# OpenBLAS above: LibTorch alone pulls in reference BLAS, which is 20 to 30 times slower.
[ -n "${LIBTORCH:-}" ] || packages+=(libtorch-dev)
case $level in
  build) ;;
  test | ci) packages+=(libgtest-dev libgmock-dev libbenchmark-dev libkim-api-dev python3 iproute2) ;;&
  ci) packages+=(clang clang-format-14 libclang-rt-14-dev git valgrind
    python3-numpy python3-ase python3-venv lammps openmpi-bin)
    optional=(patchelf busybox-static dpkg-dev) ;;
  test) ;;
  *) echo "bootstrap.sh: $level: expected build, test or ci" >&2; exit 1 ;;
esac

# The names of this system: ID and ID_LIKE of os-release.
os_release=${OS_RELEASE:-/etc/os-release}
ids=" $(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' "$os_release" 2> /dev/null | tr -d "\"'" | tr '\n' ' ')"
# present: all that the build looks for is there, wherever it comes from: from packages with other names, or in a prefix
# that PATH, PKG_CONFIG_PATH and LIBTORCH lead to.
present() {
  local modules=(absl_status gflags libglog nlohmann_json libhwy zlib libcrypto)
  [ "$level" = build ] || modules+=(gmock_main benchmark libkim-api)
  command -v bazel > /dev/null && command -v c++ > /dev/null && command -v make > /dev/null &&
    command -v python3 > /dev/null && pkg-config --exists "${modules[@]}" 2> /dev/null &&
    { [ -n "${LIBTORCH:-}" ] || [ -e /usr/include/torch/csrc/api/include/torch/torch.h ]; }
}
# name_packages COLUMN COMMAND: the line that installs what rutile needs, by the names of a column of package_names.tsv.
name_packages() {
  local column=$1 command=$2 names=() other=() debian fedora arch conda
  # shellcheck disable=SC2034  # the columns are read by their names
  while IFS=$'\t' read -r debian fedora arch conda; do
    [[ " ${packages[*]} " == *" $debian "* ]] || continue
    case ${!column} in
      -) ;;
      \?*) other+=("${!column#\?}") ;;
      *) names+=("${!column}") ;;
    esac
  done < "$(dirname "${BASH_SOURCE[0]}")/packaging/package_names.tsv"
  echo "  $command ${names[*]}" >&2
  if [ ${#other[@]} -gt 0 ]; then printf '  and %s\n' "${other[@]}" >&2; fi
}
if [[ $ids != *" debian "* ]] || ! command -v dpkg-query > /dev/null; then
  [ "$level" != ci ] || { echo "bootstrap.sh: CI runs on Debian 12 alone" >&2; exit 1; }
  if present; then exit 0; fi
  echo "bootstrap.sh: this is not Debian, and something that rutile needs is missing. By this system's names:" >&2
  case $ids in
    *" fedora "* | *" rhel "* | *" centos "*) name_packages fedora "sudo dnf install" ;;
    *" arch "*) name_packages arch "sudo pacman -S --needed" ;;
    *) echo "  the equivalents of Debian's ${packages[*]}" >&2 ;;
  esac
  echo "or, without root, in an environment of conda:" >&2
  name_packages conda "conda install -c conda-forge"
  echo "docs/install.md, Building elsewhere, has the rest." >&2
  exit 1
fi
# list_missing PACKAGE...: those that are not installed.
list_missing() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || echo "$package"
  done
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# install PACKAGE...: by apt, whose messages are then in the log.
install() { apt-get update > "$log" 2>&1 && apt-get install -y --no-install-recommends "$@" >> "$log" 2>&1; }
mapfile -t optional < <(list_missing "${optional[@]}")
if [ ${#optional[@]} -gt 0 ] && { [ "$(id -u)" != 0 ] || ! install "${optional[@]}"; }; then
  echo "bootstrap.sh: goes on without ${optional[*]}: what needs them is skipped" >&2
fi
mapfile -t missing < <(list_missing "${packages[@]}")
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
  if [ "$level" != ci ] && present; then exit 0; fi
  echo "Some packages are missing, and installing them needs root. Run this, then the script again:" >&2
  echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
if ! install "${missing[@]}"; then
  cat "$log" >&2
  echo "bootstrap.sh: apt-get could not install the packages above" >&2
  if [[ $ids != " debian "* ]]; then
    echo "bootstrap.sh: these are the names of Debian 12; for a package that apt does not know," \
      "see Building elsewhere in docs/install.md" >&2
  fi
  exit 1
fi
