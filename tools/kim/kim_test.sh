#!/usr/bin/env bash
# kim_test.sh WHEEL TEST.py RUTILE_KIM: runs a test with the package of the wheel and the helpers of python/tests.
set -euo pipefail
wheel=$1 test=$2 kim=$3
python=/usr/bin/python3
$python -m zipfile -e "$wheel" "$TEST_TMPDIR/site"
PYTHONPATH=$TEST_TMPDIR/site:python/tests:tools/kim PYTHONDONTWRITEBYTECODE=1 $python "$test" "$kim"
