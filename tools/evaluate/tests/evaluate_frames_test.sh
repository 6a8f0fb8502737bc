#!/usr/bin/env bash
# Numbers of structures count all that was read: lists that a filtered run writes are of the same structures in
# evaluate, and lists that are given to a filtered run are, too. Lists find their structures in other files by content.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
train="$PWD/tools/train/train --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

awk '/^ *[0-9]+ *$/ { if (++count > 60) exit } { print }' "$tio2" > s.extxyz
descriptor="--species=Ti,O --rad_cutoff=5 --ang_cutoff=3 --rad_order=4 --ang_order=2"
flags="--threads=1 $descriptor --hidden=5 --max_epochs=3 --plot=false --progress=false"
numbers() { cut -d ' ' -f 1 "$1"; }
# The energy RMSE of train's test set, and evaluate's of the frames.
of_train() { awk '$1 == "test" { print $3 }' "$1"; }
of_frames() { # LIST FILE...
  $evaluate --forces=false --frames="$1" run/best.safetensors "${@:2}" 2> log | awk '$2 == "energy" { print $5 }'
}

# The same error but for rounding in fp32; that of other structures is far off.
as_train() { # WHAT NUMBER
  awk -v a="$2" -v b="$(of_train run.tsv)" 'BEGIN { d = a - b; exit !(b > 0 && d * d <= 1e-6 * b * b) }' ||
    fail "$1: $2 meV/atom, by train $(of_train run.tsv)"
}

succeeds $train $flags --max_forces=2 --test_fraction=0.3 --output_dir=run s.extxyz && mv stdout run.tsv
expect_line 'of 60 structures are left out by --max_forces=2 (the largest components are [0-9.]* to [0-9.]* eV' log
expect_no_line 'max_energy' log
[ "$(numbers run/test_frames.txt | tail -n 1)" -gt 30 ] || fail "numbers count what is left: $(cat run/test_frames.txt)"
expect_line '^[0-9]*  # s.extxyz#[0-9]* [0-9a-f]*$' run/test_frames.txt
as_train "other structures than train's" "$(of_frames run/test_frames.txt s.extxyz)"
numbers run/test_frames.txt > plain.txt
as_train "other structures by number" "$(of_frames plain.txt s.extxyz)"

# The same structures in another order, and as features that were made with the filter.
awk '/^ *[0-9]+ *$/ { ++n } { print > (n > 25 ? "b.part" : "a.part") }' s.extxyz
cat b.part a.part > turned.extxyz
as_train "another order" "$(of_frames run/test_frames.txt turned.extxyz)"
expect_line 'evaluate: run/test_frames.txt: [0-9]* of [0-9]* listed structures have other numbers in these data' log
succeeds $featurize $descriptor --max_forces=2 --precision=fp64 --output=f.safetensors s.extxyz
as_train "filtered features" "$(of_frames run/test_frames.txt f.safetensors)"
head -n 100 s.extxyz > few.part
awk '/^ *[0-9]+ *$/ { if (++count > 3) exit } { print }' few.part > few.extxyz
refuses 'test_frames.txt: .* of .* listed structures are not among the 3 of the data, under any number: .*extxyz#' \
  "$evaluate" --frames=run/test_frames.txt run/best.safetensors few.extxyz
refuses 'names structure 60, but the data has 60' "$evaluate" --frames=<(echo 60) run/best.safetensors s.extxyz

# train reads lists the same way, and names what its filters leave out of them.
succeeds $train $flags --max_forces=2 --test_frames=run/test_frames.txt --output_dir=again s.extxyz
cmp run/test_frames.txt again/test_frames.txt || fail "another test set"
succeeds $train $flags --max_forces=2 --test_frames=run/test_frames.txt --output_dir=turned turned.extxyz
expect_line 'train: run/test_frames.txt: [0-9]* of [0-9]* listed structures have other numbers' log
cmp <(sed 's/.* //' run/test_frames.txt | sort) <(sed 's/.* //' turned/test_frames.txt | sort) || fail "by content"
seq 40 49 > ten.txt
succeeds $train $flags --max_forces=2 --test_frames=ten.txt --output_dir=ten s.extxyz
expect_line 'warning: ten.txt names [1-9] structures that are left out by --max_forces=2' log
expect_line ': 4[0-9] (s.extxyz#4[0-9])' log
[ "$(numbers ten/test_frames.txt | grep -vc '^4[0-9]$')" = 0 ] || fail "others: $(cat ten/test_frames.txt)"
echo 60 > beyond.txt
expect_error 1 'beyond.txt: structure 60 of 60 does not exist' \
  $train $flags --test_frames=beyond.txt --output_dir=no s.extxyz
echo 40 > one.txt
expect_error 1 'structure 40 (s.extxyz#40) is in the sets that flags name for validation and for test' \
  $train $flags --test_frames=ten.txt --validation_frames=one.txt --output_dir=no s.extxyz

# Limits that leave nothing are named, with the range of what they were compared with.
expect_error 1 'no structure is left: 60 .*max_energy=-inf, .* per atom as given.*(here -[0-9.]* to' \
  $train $flags --max_energy=-inf --output_dir=no s.extxyz
expect_error 1 'no structure is left: 60 .*max_energy=-inf, .* less the atomic energies' \
  $train $flags --max_energy=-inf --atomic_energies=Ti=-5,O=-5 --output_dir=no s.extxyz
expect_no_line 'max_forces' err
expect_error 1 'no structure is left: 60 .*by --max_energy=-inf' \
  $featurize --species=Ti,O --max_energy=-inf --output=no.safetensors s.extxyz
[ ! -e no ] || fail "a refused run left a directory"
finish
