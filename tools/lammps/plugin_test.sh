#!/usr/bin/env bash
# plugin_test.sh MPIRUN LMP rutileplugin.so: tests the plugin in a LAMMPS that loads it, from the root of the repository
# after bazel build //python:wheel //tools/evaluate. It takes some minutes. README.md says how the plugin is made.
set -euo pipefail
[ $# = 3 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 1; }
mpirun=$(command -v "$1") lmp=$(command -v "$2") plugin=$(realpath "$3")
TEST_TMPDIR=$(mktemp -d)
export TEST_TMPDIR
trap 'rm -rf "$TEST_TMPDIR"' EXIT
/usr/bin/python3 -m zipfile -e bazel-bin/python/rutile-*.whl "$TEST_TMPDIR/site"
PYTHONPATH=$TEST_TMPDIR/site:python/tests:tools/kim PYTHONDONTWRITEBYTECODE=1 \
  /usr/bin/python3 tools/lammps/plugin_test.py none "$mpirun" "$lmp" "$plugin"
