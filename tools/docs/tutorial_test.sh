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
for row in 'energy .*meV/atom' 'force .*eV/Å'; do grep -q "$row" out/summary.txt; done
for file in report.html learning_curve.svg parity_energy.svg parity_force.svg; do [ -s "out/report/$file" ]; done
run 3 --question
touch -d '2000-01-01' out/neighbors.safetensors
if run 3 --question; then exit 1; fi
run 4 > log
grep -q '^train ' log
run 4 --question
# What quickstart.sh prints: every command.
[ "$(run 4 --always-make --dry-run all | grep -cE '^(cache-neighbors|train|evaluate) ')" = 3 ]
run 3 energies > log
grep -q '^featurize ' log
if grep -q '^cache-neighbors ' log; then exit 1; fi
grep -q 'energy .*meV/atom' out/energies/summary.txt
