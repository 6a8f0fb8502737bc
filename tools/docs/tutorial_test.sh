#!/usr/bin/env bash
# tutorial_test.sh TOOL...: the tutorial's Makefile makes a report, then nothing, then again what depends on what changed.
set -euo pipefail
mkdir -p "$TEST_TMPDIR/bin"
for tool in "$@"; do ln -s "$PWD/$tool" "$TEST_TMPDIR/bin/"; done
cp data/tio2-pbe/tio2-pbe.extxyz docs/tutorial-tio2/Makefile "$TEST_TMPDIR"
export PATH=$TEST_TMPDIR/bin:$PATH
cd "$TEST_TMPDIR"
run() { make DATA=tio2-pbe.extxyz OUT=out TRAINING="--max_epochs=$1" "${@:2}"; }
run 3
grep -q 'energy.*meV/atom' out/summary.txt
[ -s out/report/report.html ] && [ -s out/report/learning_curve.svg ]
run 3 --question
touch -d '2000-01-01' out/features.safetensors
if run 3 --question; then exit 1; fi
run 4 > log
grep -q '^train ' log
run 4 --question
