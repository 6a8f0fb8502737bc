#!/usr/bin/env bash
# The table of facts is right by its own rules, and makes the committed triples byte for byte.
set -euo pipefail
cd data/elements
python3 -B generate.py --check
python3 -B generate.py --output_dir="$TEST_TMPDIR"
for part in train valid test; do cmp "$part.txt" "$TEST_TMPDIR/$part.txt"; done
# Another seed is another split of the same triples; the questions stay in the test.
mkdir "$TEST_TMPDIR/other"
python3 -B generate.py --seed=2 --output_dir="$TEST_TMPDIR/other"
cmp -s test.txt "$TEST_TMPDIR/other/test.txt" && { echo 'seed 2 makes the split of seed 1'; exit 1; }
cmp <(sort train.txt valid.txt test.txt) <(sort "$TEST_TMPDIR"/other/*.txt)
grep -q $'^Ti\telement_below\tZr$' "$TEST_TMPDIR/other/test.txt"
# A wrong fact is found: iron in group 7, and a chloride that no oxidation state allows.
mkdir "$TEST_TMPDIR/wrong"
cp generate.py check_facts.py "$TEST_TMPDIR/wrong/"
sed 's/^26\tFe\tiron\t4\t8/26\tFe\tiron\t4\t7/; s/MCl2:cotunnite\tMBr2:cotunnite\tMI2:cotunnite/MCl3\tMBr2\tMI2/' facts.tsv > "$TEST_TMPDIR/wrong/facts.tsv"
if python3 -B "$TEST_TMPDIR/wrong/generate.py" --check > "$TEST_TMPDIR/faults"; then echo 'wrong facts pass'; exit 1; fi
grep -q '^facts.tsv: Fe: group is 7; the atomic number gives 8$' "$TEST_TMPDIR/faults"
grep -q '^facts.tsv: Ba: chlorides: MCl3 needs +3$' "$TEST_TMPDIR/faults"
