#!/usr/bin/env bash
# Validation and test sets that are files of their own (--validation_data, --test_data): what is in them never trains,
# and all that reads a run's sets finds them.
set -uo pipefail
train="$PWD/tools/train/train --threads=1 --plot=false --progress=false --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
tracin=$PWD/tools/tracin/tracin
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v a="$1" -v b="$2" '/^ *[0-9]+ *$/ { ++n } n > a && n <= b' "$tio2"; }
frames 0 30 > train.extxyz
frames 30 36 > valid.extxyz
frames 36 40 > more-valid.extxyz
frames 40 45 > test.extxyz
frames 0 45 > all.extxyz
model="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2"
flags="--hidden=4 --max_epochs=3"
own="--validation_data=valid.extxyz,more-valid.extxyz --test_data=test.extxyz"
numbers() { cut -d ' ' -f 1 "$1" | tr '\n' ' '; }

# The run is, bit for bit, that of one file with lists of numbers: they are counted on, file by file.
succeeds $train $model $flags $own --output_dir=run train.extxyz
cp stdout run.tsv
expect_line '30 structures train, 10 validate, 5 are kept for the test' log
seq 30 39 > v.txt
seq 40 44 > t.txt
succeeds $train $model $flags --validation_frames=v.txt --test_frames=t.txt --output_dir=one all.extxyz
$diff run/last.safetensors one/last.safetensors || fail "not the run of one file"
cmp stdout run.tsv || fail "not the errors of one file"
# Lists in the run directory name files and structures, with hashes.
[ "$(numbers run/train_frames.txt)" = "$(seq -s ' ' 0 29) " ] || fail "training: $(cat run/train_frames.txt)"
[ "$(numbers run/validation_frames.txt)" = "$(seq -s ' ' 30 39) " ] ||
  fail "validation: $(cat run/validation_frames.txt)"
[ "$(numbers run/test_frames.txt)" = "$(seq -s ' ' 40 44) " ] || fail "test: $(cat run/test_frames.txt)"
expect_line '^36  # more-valid.extxyz#0 [0-9a-f]\{12\}$' run/validation_frames.txt
cmp <(sed 's/.* //' run/test_frames.txt) <(sed 's/.* //' one/test_frames.txt) || fail "hashes of the test set"
# A glob names the files, too, and flags.txt makes the run again.
succeeds $train $model $flags '--validation_data=*alid.extxyz' --test_data=test.extxyz --output_dir=glob train.extxyz
[ "$(wc -l < glob/validation_frames.txt)" = 10 ] || fail "glob: $(cat glob/validation_frames.txt)"
succeeds $train --flagfile=run/flags.txt --output_dir=again
$diff run/last.safetensors again/last.safetensors || fail "flags.txt makes another run"

# Labels of these sets change no bit of the model: atomic energies and scales are from training alone.
sed 's/energy=[^ ]*/energy=-1.5/' valid.extxyz > other.extxyz
succeeds $train $model $flags --validation_data=other.extxyz,more-valid.extxyz --test_data=test.extxyz --output_dir=o \
  train.extxyz
$diff run/last.safetensors o/last.safetensors || fail "energies of the validation set change the model"
# Nor do isolated atoms there.
atom() { printf '1\nenergy=%s config_type=IsolatedAtom\n%s 0 0 0\n' "$1" "$2"; }
(atom -2 Ti && atom -3 O && cat train.extxyz) > atoms.extxyz
(atom -20 Ti && atom -30 O && cat valid.extxyz) > atoms-valid.extxyz
succeeds $train $model $flags --validation_data=atoms-valid.extxyz --output_dir=atoms atoms.extxyz
expect_line 'give the atomic energies: Ti -2 eV, O -3 eV' log
[ "$(wc -l < atoms/validation_frames.txt)" = 6 ] || fail "isolated atoms validate: $(cat atoms/validation_frames.txt)"
succeeds $train $model $flags --validation_data=atoms-valid.extxyz --output_dir=fitted train.extxyz
expect_line 'none is an atom of Ti, O with an energy: the atomic energies are fitted' log

# Resumed, the sets stay, bit for bit.
succeeds $train $model --hidden=4 --max_epochs=1 $own --lr_scheduler=constant --output_dir=resumed train.extxyz
succeeds $train $model --hidden=4 --max_epochs=3 $own --lr_scheduler=constant --resume --output_dir=resumed train.extxyz
succeeds $train $model --hidden=4 --max_epochs=3 $own --lr_scheduler=constant --output_dir=whole train.extxyz
$diff whole/last.safetensors resumed/last.safetensors || fail "a resumed run differs"
cmp whole/validation_frames.txt resumed/validation_frames.txt || fail "a resumed run has another validation set"
refuses 'data' $train $model --hidden=4 --max_epochs=4 --validation_data=valid.extxyz --test_data=test.extxyz \
  --lr_scheduler=constant --resume --output_dir=resumed train.extxyz
# With more data to train on, a test set that was drawn stays beside a validation file.
succeeds $train $model $flags --test_fraction=0.2 --validation_data=valid.extxyz --output_dir=more train.extxyz
sed 's/.* //' more/test_frames.txt | sort > tested
frames 45 65 > new.extxyz
succeeds $train $model --hidden=4 --max_epochs=4 --test_fraction=0.2 --validation_data=valid.extxyz --output_dir=more \
  --resume --override=data new.extxyz train.extxyz
[ -z "$(comm -23 tested <(sed 's/.* //' more/test_frames.txt | sort))" ] || fail "a test structure trains"
[ "$(grep -c 'valid.extxyz#' more/validation_frames.txt)" = 6 ] || fail "validation: $(cat more/validation_frames.txt)"
[ "$(wc -l < more/test_frames.txt)" = 10 ] || fail "a fifth of 50 is tested: $(cat more/test_frames.txt)"

# Shares and keys choose among the data to train on.
succeeds $train $model $flags --test_data=test.extxyz --output_dir=drawn train.extxyz
expect_line '27 structures train, 3 validate, 5 are kept for the test' log
type=$(grep -o 'config_type=[a-z]*' train.extxyz | head -n 1 | cut -d = -f 2)
sed "s/config_type=[a-z]*/config_type=$type/" valid.extxyz > typed.extxyz
count=$(grep -c "config_type=$type" train.extxyz)
sed "0,/config_type=$type/s//config_type=other/" train.extxyz > keyed.extxyz
succeeds $train $model $flags --validation_data=typed.extxyz --test_key=config_type:other --output_dir=keyed \
  keyed.extxyz
expect_line '29 structures train, 6 validate, 1 are kept for the test' log
if [ "$count" -lt 30 ]; then
  succeeds $train $model $flags --validation_data=typed.extxyz --test_key="config_type:$type" --output_dir=key \
    train.extxyz
  expect_line "$((30 - count)) structures train, 6 validate, $count are kept for the test" log
fi

# Weights and filters apply; a set of which nothing is left is refused.
succeeds $train $model $flags $own --max_forces=1000 --config_weights="$type=0.5" --output_dir=weights train.extxyz
sed 's/energy=[^ ]*/energy=1e5/' valid.extxyz > high.extxyz
succeeds $train $model $flags --max_energy=100 --validation_data=high.extxyz,more-valid.extxyz --output_dir=f \
  train.extxyz
[ "$(numbers f/validation_frames.txt)" = "36 37 38 39 " ] || fail "filtered: $(cat f/validation_frames.txt)"
refuses 'high.extxyz: no structure is left: all are left out by --max_energy' \
  $train $model $flags --max_energy=100 --validation_data=high.extxyz --output_dir=h train.extxyz

# Copies across the sets are named, with their sets, once.
(cat valid.extxyz && frames 2 3) > leak.extxyz
succeeds $train $model $flags --validation_data=leak.extxyz --output_dir=leak train.extxyz
expect_line 'data check (duplicate): .*: leak.extxyz#6 (validation)' log
[ "$(grep -c 'leak.extxyz#6' log)" = 1 ] || fail "a copy is told more than once: $(cat log)"
cp train.extxyz copy.extxyz
succeeds $train $model $flags --validation_data=copy.extxyz --output_dir=leak --overwrite train.extxyz
expect_line 'data check (duplicate): .* copy.extxyz#0 (validation) repeats train.extxyz#0 (training)' log
[ "$(grep -c 'copy.extxyz' log)" = 1 ] || fail "a copied file is told more than once: $(cat log)"

# A committee, and two processes.
succeeds $train $model $flags $own --committee=2 --output_dir=committee train.extxyz
cmp run/validation_frames.txt committee/member-01/validation_frames.txt || fail "a member's validation set"
$diff run/last.safetensors committee/member-00/last.safetensors || fail "a member is another run"
succeeds $train $model $flags $own --num_processes=2 --strategy=ddp --output_dir=processes train.extxyz
cmp run/validation_frames.txt processes/validation_frames.txt || fail "the validation set of two processes"

# Features and neighbors are given beside features and neighbors.
for set in train valid test; do
  $featurize $model --output=$set-f.safetensors $set.extxyz 2> /dev/null || fail "featurize $set"
  $cache $model --output=$set-n.safetensors $set.extxyz 2> /dev/null || fail "cache-neighbors $set"
done
succeeds $train $flags --force_weight=0.1 --validation_data=valid-f.safetensors,valid-n.safetensors \
  --test_data=test-f.safetensors,test-n.safetensors --output_dir=both train-f.safetensors train-n.safetensors
[ "$(numbers both/validation_frames.txt)" = "30 31 32 33 34 35 " ] || fail "files: $(cat both/validation_frames.txt)"
[ "$(numbers both/test_frames.txt)" = "36 37 38 39 40 " ] || fail "files: $(cat both/test_frames.txt)"
refuses 'valid.extxyz: structures cannot be used beside files' \
  $train $flags --validation_data=valid.extxyz --output_dir=h train-f.safetensors

# evaluate finds the sets by their lists, in their own files, and so does tracin.
succeeds $evaluate --frames=run/validation_frames.txt run/best.safetensors valid.extxyz more-valid.extxyz
expect_line 'found by their content' log
cut -f 3 run.tsv | sed -n 2p > expected
grep -q "$(head -c 6 expected)" stdout || fail "not the errors that train printed, $(cat expected): $(cat stdout)"
succeeds $tracin --train=train.extxyz,valid.extxyz,more-valid.extxyz,test.extxyz --test=test.extxyz \
  --output=influence.safetensors run/checkpoints/last.safetensors
expect_no_line 'not the files' log

# Each set is chosen in one way, by files that are nothing else.
refuses '--validation_data, --validation_frames, --validation_key and --validation_fraction each choose' \
  $train $model $flags $own --validation_fraction=0.1 --output_dir=h train.extxyz
refuses '--test_data, --test_frames, --test_key and --test_fraction each choose' \
  $train $model $flags $own --test_frames=t.txt --output_dir=h train.extxyz
refuses 'valid.extxyz is given twice: --validation_data and --test_data are sets apart' \
  $train $model $flags --validation_data=valid.extxyz --test_data=valid.extxyz --output_dir=h train.extxyz
refuses 'train.extxyz is given twice: what is trained on would also be validated' \
  $train $model $flags --validation_data=train.extxyz --output_dir=h train.extxyz
refuses '--validation_data: .*missing.extxyz' \
  $train $model $flags --validation_data=missing.extxyz --output_dir=h train.extxyz
refuses '--validation_data=-: standard input holds data to train on' \
  $train $model $flags --validation_data=- --output_dir=h train.extxyz
seq 30 31 > overlap.txt
refuses 'structure 30 (valid.extxyz#0) is in the sets that flags name for validation and for test' \
  $train $model $flags --validation_data=valid.extxyz --test_frames=overlap.txt --output_dir=h train.extxyz
refuses 'split_seed has no effect' $train $model $flags $own --split_seed=3 --output_dir=h train.extxyz
refuses 'no structure of it can be compared with' \
  $train $model $flags --validation_data=<(atom -2 Ti) --output_dir=h train.extxyz
[ ! -e h ] || fail "a run that was refused left something: $(ls -R h)"
finish
