#!/usr/bin/env bash
# run_test.sh WHEEL TEST.py [EVALUATE [TRACIN]]: runs a test of the package with Debian's Python, from what the wheel holds; with numpy
# if it is there, and without it, where the test says that it works so.
set -euo pipefail
wheel=$1 test=$2
shift 2
python=/usr/bin/python3
site=$TEST_TMPDIR/site
$python -m zipfile -e "$wheel" "$site"
export PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1
echo "== with what is installed"
$python "$test" "$@"
[[ $test != */ase_test.py ]] || exit 0
echo "== without numpy"
mkdir "$TEST_TMPDIR/no-numpy"
echo 'raise ImportError("numpy is hidden by run_test.sh")' > "$TEST_TMPDIR/no-numpy/numpy.py"
PYTHONPATH=$TEST_TMPDIR/no-numpy:$PYTHONPATH $python "$test" "$@"
