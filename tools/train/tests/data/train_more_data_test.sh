#!/usr/bin/env bash
# A run that goes on with more data keeps its validation and test sets: no structure that it trained on becomes one that
# judges it.
set -uo pipefail
train="$PWD/tools/train/train --check_gradient=false"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v a="$1" -v b="$2" '/^ *[0-9]+ *$/ { ++n } n > a && n <= b' "$tio2"; }
frames 0 40 > first.extxyz
frames 40 70 > more.extxyz
cat more.extxyz first.extxyz > both.extxyz
flags="--threads=1 --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2 --hidden=4 --plot=false"
flags+=" --progress=false --test_fraction=0.2 --output_dir=run"
hashes() { sed 's/.* //' "$1" | sort; }
kept() { # SET: all structures of the set before are in the set now
  [ "$(comm -23 <(hashes "before/$1_frames.txt") <(hashes "run/$1_frames.txt") | wc -l)" = 0 ] || fail "left $1"
}
succeeds $train $flags --max_epochs=2 first.extxyz
cp -r run before
refuses 'override=data' $train $flags --max_epochs=4 --resume both.extxyz
succeeds $train $flags --max_epochs=4 --resume --override=data both.extxyz
expect_line '40 structures are known to run and stay in their sets: 28 train, 4 validate, 8 test; 30 others are' log
for set in train validation test; do kept $set; done
[ "$(wc -l < run/test_frames.txt)" = 14 ] || fail "a fifth of all tests: $(cat run/test_frames.txt)"
[ "$(wc -l < run/validation_frames.txt)" = 7 ] || fail "a tenth of all validates: $(cat run/validation_frames.txt)"
# Resumed once more with the same data, the sets are the same.
rm -rf before && cp -r run before
succeeds $train $flags --max_epochs=5 --resume --override=data both.extxyz
for set in train validation test; do cmp before/${set}_frames.txt run/${set}_frames.txt || fail "another $set"; done
# It is the run of these data by now, which need no --override again; other data do.
rm -rf before && cp -r run before
succeeds $train $flags --max_epochs=6 --resume both.extxyz
expect_line '70 structures are known to run and stay in their sets: 49 train, 7 validate, 14 test; 0 others are' log
for set in train validation test; do cmp before/${set}_frames.txt run/${set}_frames.txt || fail "another $set"; done
refuses 'other examples or another split; .*override=data' $train $flags --max_epochs=7 --resume first.extxyz
frames 40 71 > more.extxyz
cat more.extxyz first.extxyz > most.extxyz
refuses 'other examples or another split; .*override=data' $train $flags --max_epochs=7 --resume most.extxyz
rm -rf run && cp -r before run && mv before saved
# Structures that are in no set, as isolated atoms and those without energy or weight, are no other data.
printf '1\nProperties=species:S:1:pos:R:3 energy=%s config_type=IsolatedAtom pbc="F F F"\n%s 0 0 0\n' \
  -1604.6 Ti -432.5 O > none.extxyz
printf '2\nProperties=species:S:1:pos:R:3 %s pbc="F F F"\nTi 0 0 0\nO 0 0 %s\n' note=bare 1.6 \
  'energy=-2040 config_type=dull' 1.7 >> none.extxyz
cat none.extxyz first.extxyz > start.extxyz
cat none.extxyz both.extxyz > beside.extxyz
beside="${flags/=run/=beside} --config_weights=dull=0"
succeeds $train $beside --max_epochs=2 --validation_fraction=0.2 start.extxyz
succeeds $train $beside --max_epochs=3 --validation_fraction=0.2 --resume --override=data beside.extxyz
cp -r beside before
succeeds $train $beside --max_epochs=4 --validation_fraction=0.2 --resume beside.extxyz
expect_line '7[0-9] structures are known to beside and stay in their sets: .*; [1-4] others are in none' log
for set in train validation test; do cmp before/${set}_frames.txt beside/${set}_frames.txt || fail "another $set"; done
(cat beside.extxyz && printf '1\nProperties=species:S:1:pos:R:3 energy=-431 config_type=IsolatedAtom\nO 0 0 0\n') > \
  longer.extxyz
refuses 'other examples or another split; .*override=data' $train $beside --max_epochs=5 --validation_fraction=0.2 \
  --resume longer.extxyz
rm -rf before && mv saved before
# The checkpoint of another run brings its sets; with flags that name the sets they count instead.
succeeds $train ${flags/=run/=other} --max_epochs=6 --resume=before/checkpoints/last.safetensors --override=data \
  both.extxyz
cmp before/test_frames.txt other/test_frames.txt || fail "the sets of the run that is resumed"
seq 0 3 > mine.txt
succeeds $train ${flags/--test_fraction=0.2/--test_frames=mine.txt} --max_epochs=6 --resume --override=data both.extxyz
expect_no_line 'are known to' log
[ "$(cut -d ' ' -f 1 run/test_frames.txt | tr '\n' ' ')" = "0 1 2 3 " ] || fail "--test_frames"
# Lists of plain numbers, as older versions wrote them, do not say.
sed -i 's/ .*//' run/train_frames.txt
succeeds $train $flags --max_epochs=7 --resume --override=data both.extxyz
expect_line 'warning: run/train_frames.txt does not say which structures the run trained on' log
finish
