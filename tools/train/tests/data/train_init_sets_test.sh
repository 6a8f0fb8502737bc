#!/usr/bin/env bash
# A run that starts from a model is judged by structures that the model did not learn, or train says that it is not, and
# which flags keep the sets of the model's run.
set -uo pipefail
train=$PWD/tools/train/train
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v a="$1" -v b="$2" '/^ *[0-9]+ *$/ { ++n } n > a && n <= b' "$tio2"; }
frames 0 40 > first.extxyz
frames 40 70 > more.extxyz
cat more.extxyz first.extxyz > both.extxyz
flags="--threads=1 --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2 --plot=false"
flags+=" --potential=chebyshev --force_weight=0 --progress=false --max_epochs=1 --overwrite"
hashes() { sed 's/.* //' "$1" | sort; }
learned='warning: --init_from=run/best.safetensors learned'
succeeds $train $flags --hidden=4 --test_fraction=0.2 --output_dir=run first.extxyz

# The sets of grown data are drawn anew: half of the structures are those of the run, most of which it learned.
init="$flags --init_from=run/best.safetensors --output_dir=next"
succeeds $train $init --test_fraction=0.3 --validation_fraction=0.3 both.extxyz
for set in validation test; do
  both=$(comm -12 <(hashes run/train_frames.txt) <(hashes next/${set}_frames.txt) | wc -l)
  [ "$both" -gt 0 ] || fail "this draw shows nothing: $both"
  expect_line "$learned.*$both of 21 $set structures" log
done
advice='--validation_frames=run/validation_frames.txt --test_frames=run/test_frames.txt'
expect_line "$learned.*, as run/train_frames.txt says: .*The sets of its run hold none: $advice" log
# The advice helps, and a share that is drawn beside one named set does not.
succeeds $train $init $advice both.extxyz
expect_no_line "$learned" log
cmp <(hashes run/test_frames.txt) <(hashes next/test_frames.txt) || fail "another test set"
succeeds $train $init --test_frames=run/test_frames.txt --validation_fraction=0.3 both.extxyz
expect_line "$learned [0-9]* of [0-9]* validation structures .*none: --validation_frames=run/validation_frames.txt" log

# A glob names the model's folder, too.
succeeds $train ${init/run\/best/r?n\/best} --test_fraction=0.3 --validation_fraction=0.3 both.extxyz
expect_line 'warning: --init_from=r.n/best.safetensors learned' log

# Files that hold what the model learned, where the sets of its run are not in the data; new ones are fine.
succeeds $train $init --validation_data=more.extxyz first.extxyz
expect_no_line "$learned" log
succeeds $train $init --validation_data=first.extxyz more.extxyz
expect_line "$learned 28 of 40 validation structures .*none: --validation_frames=run/validation_frames.txt" log
frames 0 12 > few.extxyz
succeeds $train $init --validation_data=few.extxyz more.extxyz
expect_line "$learned [0-9]* of 12 validation structures .*Name sets of other structures" log
succeeds $train $init --validation_fraction=0.2 more.extxyz
expect_no_line "$learned" log

# Nobody is warned where nothing is judged, where the run goes on, or where nothing says what the model learned.
succeeds $train $init --validation_fraction=0 first.extxyz
expect_no_line "$learned" log
succeeds $train $init --overfit_batches=2 --validation_fraction=0.3 --split_seed=7 first.extxyz
expect_no_line "$learned" log
goes_on="${init/--overwrite/} --validation_fraction=0.3 --split_seed=7"
rm -rf next
succeeds $train $goes_on --resume=auto first.extxyz
expect_line "$learned" log
succeeds $train $goes_on --resume=auto --max_epochs=2 first.extxyz
expect_no_line "$learned" log
sed -i 's/ .*//' run/train_frames.txt
succeeds $train $init --validation_fraction=0.3 --split_seed=7 first.extxyz
expect_no_line "$learned" log
cp run/best.safetensors alone.safetensors
alone="$flags --init_from=alone.safetensors --output_dir=next"
succeeds $train $alone --validation_fraction=0.3 --split_seed=7 first.extxyz
expect_no_line 'learned' log
finish
