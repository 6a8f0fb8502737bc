#!/usr/bin/env bash
# influence_tutorial_test.sh TOOL...: the scripts of the tutorial on influence run, at a small size.
set -euo pipefail
mkdir -p "$TEST_TMPDIR/bin"
for tool in "$@"; do ln -s "$PWD/$tool" "$TEST_TMPDIR/bin/"; done
scripts=$PWD/docs/tutorial-influence data=$PWD/data
export PATH=$TEST_TMPDIR/bin:$PATH
cd "$TEST_TMPDIR"

# What is spoilt: a share of each kind, in other frames, the same for the same seed; nothing else changes.
input=$data/tio2-pbe/tio2-pbe.extxyz
for name in a b; do python3 "$scripts/corrupt.py" --seed=3 --share=0.01 "$input" $name.extxyz $name.tsv; done
cmp a.extxyz b.extxyz
cmp a.tsv b.tsv
for what in energy forces; do [ "$(cut -f2 a.tsv | grep -c $what)" = 4 ]; done
[ "$(tail -n +2 a.tsv | cut -f1 | sort -u | wc -l)" = 8 ]
[ "$(diff "$input" a.extxyz | grep '^<' | grep -c Lattice)" = 4 ]
python3 "$scripts/corrupt.py" --seed=4 --share=0.01 "$input" b.extxyz b.tsv
! cmp -s a.tsv b.tsv

"$scripts/find_spoilt.sh" "$input" find 1 10 2> find.log
for method in loss all-checkpoints last-checkpoint last-layer loss-and-last; do
  grep -q "^$method .*any .*energy .*forces" find.log
  [ "$(wc -l < find/spoilt-1/$method.rank)" = 403 ]
  [ "$(sort -u find/spoilt-1/$method.rank | wc -l)" = 403 ]
done
[ -s find/precision_recall.svg ]

"$scripts/why.sh" "$data/elements" why 10 > /dev/null
[ "$(wc -l < why/why.tsv)" = 49 ]
[ "$(wc -l < why/why.dat)" = 12 ]
[ -s why/why.svg ]

"$scripts/remove_and_retrain.py" --targets=3 --seeds=1 --remove=2 --epochs=15 "$data/elements" removed
[ "$(cut -f1 removed/removed.tsv | paste -sd' ')" = 'how nothing proponents neighbors random' ]
gnuplot -c "$scripts/removed.gp" removed/removed.tsv > removed.svg
[ -s removed.svg ]
