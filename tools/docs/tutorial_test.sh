#!/usr/bin/env bash
# tutorial_test.sh TOOL...: each tutorial's Makefile makes a report, then nothing, then again what depends on what
# changed.
set -euo pipefail
mkdir -p "$TEST_TMPDIR/bin"
for tool in "$@"; do ln -s "$PWD/$tool" "$TEST_TMPDIR/bin/"; done
cp data/tio2-pbe/tio2-pbe.extxyz docs/tutorial-tio2/Makefile "$TEST_TMPDIR"
cp -rL data/elements docs/tutorial-elements "$TEST_TMPDIR"
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
[ -s out/run/finished ]
# Ctrl-C, which reaches make and train: make does not take the half-trained model for a finished one, but goes on with
# the run, to the bits of an uninterrupted one.
mkdir -p whole/out stopped/out
cp out/neighbors.safetensors whole/out
cp out/neighbors.safetensors stopped/out
touch -d '2000-01-01' tio2-pbe.extxyz
part() {
  make -C "$1" -f ../Makefile DATA=../tio2-pbe.extxyz OUT=out \
    TRAINING="--max_epochs=30 --batch_size=4 --save_interval=0" out/run/finished
}
part whole > /dev/null
set -m  # a process group of its own, as a shell gives to a command
part stopped > /dev/null 2> interrupted.log &
set +m
for _ in $(seq 600); do [ -f stopped/out/run/best.safetensors ] && break; sleep 0.05; done
kill -INT -- -$!
if wait $!; then echo "training ended before it was interrupted"; exit 1; fi
[ ! -e stopped/out/run/finished ]
[ -e stopped/out/run/best.safetensors ]
judge() { evaluate --forces=false stopped/out/run/best.safetensors stopped/out/neighbors.safetensors; }
judge > /dev/null 2> unfinished.log
grep -q 'best.safetensors: is of a run that has not ended' unfinished.log
part stopped > log 2>&1
grep -q -e '--resume=auto' log
cmp whole/out/run/best.safetensors stopped/out/run/best.safetensors
cmp whole/out/run/finished stopped/out/run/finished
judge > /dev/null 2> finished.log
if grep ended finished.log; then exit 1; fi
# What quickstart.sh prints: every command.
[ "$(run 4 --always-make --dry-run all | grep -cE '^(cache-neighbors|train|evaluate) ')" = 3 ]
run 3 energies > log
grep -q '^featurize ' log
if grep -q '^cache-neighbors ' log; then exit 1; fi
grep -q 'energy .*meV/atom' out/energies/summary.txt

graph() { make -C tutorial-elements DATA=../elements OUT=../graph TRAINING="--max_epochs=$1 --seed=1 --threads=1" \
  "${@:2}"; }
graph 60
grep -q 'Ti *element_below *Zr' graph/summary.txt || { cat graph/summary.txt; exit 1; }
[ "$(grep -cE '^  (both|tail|head) ' graph/summary.txt)" = 3 ]
graph 60 --question
touch -d '2000-01-01' graph/triples.safetensors
if graph 60 --question; then exit 1; fi
[ "$(graph 60 --always-make --dry-run all | grep -cE '^(featurize|train|evaluate) ')" = 4 ]
