#!/usr/bin/env bash
# Flags of training techniques. lib/train tests what each does; this test checks that flags reach them and combine,
# and that impossible combinations are refused in one line before anything is written.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
run() { # run DIRECTORY FLAGS...: trains anew
  local directory=$1
  shift
  succeeds $train --hidden=6,6 --seed=3 --overwrite --output_dir="$directory" "$@" f.safetensors
}
rows() { tail -n +2 "$1/log.tsv" | cut -f 1,2 | tr '\t\n' '/ '; }
refused() { # refused PATTERN FLAGS...
  local pattern=$1
  shift
  expect_error 1 "$pattern" $train --output_dir=refused "$@" f.safetensors
  [ ! -e refused ] || fail "$* left something: $(ls refused)"
}

# Accumulating 8 batches of 4 equals a batch of 32, up to rounding.
train=$checked run large --precision=fp64 --max_epochs=2 --batch_size=32
run small --precision=fp64 --max_epochs=2 --batch_size=8 --accumulate_grad_batches=4
$diff --rtol=1e-9 --atol=1e-12 large/last.safetensors small/last.safetensors > out ||
  fail "accumulation: $(head -5 out)"

# 363 structures train, in 12 steps an epoch.
run v --max_epochs=2 --val_check_interval=0.5
[ "$(rows v)" = "1/6 1/12 2/18 2/24 " ] || fail "val_check_interval=0.5: $(rows v)"
run v --max_epochs=2 --val_check_interval=10
[ "$(rows v)" = "1/10 1/12 2/20 2/24 2/24 " ] || fail "val_check_interval=10: $(rows v)"
run v --max_epochs=4 --check_val_every_n_epoch=3
[ "$(grep -c nan v/log.tsv)" = 4 ] || fail "check_val_every_n_epoch=3: $(cat v/log.tsv)"
[ "$(rows v)" = "1/12 2/24 3/36 4/48 4/48 " ] || fail "check_val_every_n_epoch=3: $(cat v/log.tsv)"
run v --max_epochs=3 --limit_train_batches=5 --limit_val_batches=0.5 --monitor=val_energy_mae --keep_every_steps=7
[ "$(rows v)" = "1/5 2/10 3/15 " ] || fail "limit_train_batches: $(rows v)"
[ -s v/checkpoints/step-000000014.safetensors ] || fail "keep_every_steps: $(ls v/checkpoints)"
run v --max_epochs=30 --overfit_batches=1 --batch_size=4 --learning_rate=0.01 --gradient_clip_val=1 \
  --gradient_clip_algorithm=value
run v --max_epochs=3 --overfit_batches=2 --batch_size=4 --validation_fraction=0 --save_energies
expect_line '^train: 8 structures train and validate, 0 are kept for the test' log
[ "$(cut -f 1,2 stdout | tr '\t\n' ': ')" = "set:structures train:8 " ] ||
  fail "table of overfit_batches: $(cat stdout)"
[ "$(wc -l < v/train_frames.txt)" = 8 ] || fail "frames of overfit_batches"
cmp v/train_frames.txt v/validation_frames.txt || fail "frames of overfit_batches"
[ "$(wc -l < v/energies-train.tsv)" = 9 ] || fail "energies of overfit_batches"
run v --max_epochs=50 --patience=1 --min_delta=1e9 --min_epochs=4
[ "$(rows v | wc -w)" = 4 ] || fail "min_epochs: $(rows v)"
run v --max_epochs=50 --stopping_threshold=1e9
[ "$(rows v | wc -w)" = 1 ] || fail "stopping_threshold: $(rows v)"
run v --max_epochs=4 --ema --ema_decay=0.9 --average_best=2 --save_top_k=2 --lr_scheduler=cosine \
  --accumulate_grad_batches=2
expect_line 'mean of the best 2' log
[ -s v/average.safetensors ] || fail "average_best: $(cat log)"
$info v/checkpoints/last.safetensors | grep -q 'ema.network' || fail "ema is not in the checkpoint"
[ "$(ls v/checkpoints/top-* | wc -l)" = 2 ] || fail "save_top_k: $(ls v/checkpoints)"
run v --amsgrad --max_epochs=2
$info v/checkpoints/last.safetensors | grep -q 'optimizer.max_exp_avg_sq' || fail "amsgrad is not in the checkpoint"
run part --amsgrad --max_epochs=1
succeeds $train --hidden=6,6 --seed=3 --amsgrad --max_epochs=2 --output_dir=part --resume f.safetensors
$diff v/last.safetensors part/last.safetensors || fail "a resumed run with amsgrad differs"
refuses 'amsgrad is not set, but the run to resume has true' \
  $train --hidden=6,6 --seed=3 --max_epochs=3 --output_dir=part --resume f.safetensors
run v --barebones --max_epochs=2
[ -s v/best.safetensors ] || fail "barebones: $(ls v)"
[ ! -e v/log.tsv ] || fail "barebones: $(ls v)"
succeeds $train --hidden=6,6 --fast_dev_run=2 --test_fraction=0.1 f.safetensors
expect_line '^test' stdout
[ ! -e run ] || fail "fast_dev_run: $(cat stdout log)"

# Bad values and pairs.
succeeds $train --hidden=4 --fast_dev_run=1 --memory_cleanup f.safetensors
expect_line 'memory_cleanup has nothing to do' log
refused 'gradient_checkpointing saves nothing' --gradient_checkpointing
train=$checked refused 'gradient_checkpointing saves nothing' --gradient_checkpointing --compile_mode=none
refused 'accumulate_grad_batches is 0' --accumulate_grad_batches=0
refused 'accumulate_grad_batches does not go with lbfgs' --optimizer=lbfgs --accumulate_grad_batches=2
refused 'ema does not go with lbfgs' --optimizer=lbfgs --ema
refused 'ema does not go with schedule-free-adamw' --optimizer=schedule-free-adamw --ema
refused 'ema_decay has no effect without --ema' --ema_decay=0.9
refused 'gradient_clip_val does not go with lbfgs' --optimizer=lbfgs --gradient_clip_val=1
for value in -1 inf; do
  refused "^train: gradient_clip_val is $value, expected a number above 0, or 0 for no" --gradient_clip_val=$value
done
for hidden in 5,,5 5, ,5 5,x; do
  refused "hidden=$hidden: \".*\" is no number of nodes" --hidden=$hidden
done
refused 'gradient_clip_algorithm=max: .*choices are norm, value' --gradient_clip_val=1 --gradient_clip_algorithm=max
refused 'gradient_clip_algorithm has no effect' --gradient_clip_algorithm=value
refused 'val_check_interval=often' --val_check_interval=often
refused 'val_check_interval=2.5' --val_check_interval=2.5
refused 'check_val_every_n_epoch has no effect' --check_val_every_n_epoch=2 --val_check_interval=100
refused 'limit_train_batches=1.5: expected a number of batches' --limit_train_batches=1.5
refused 'exclude each other' --overfit_batches=1 --limit_train_batches=3
refused 'overfit_batches is 500, but the 363 training examples make 12 batches of 32' --overfit_batches=500
refused 'shuffle has no effect with --overfit_batches' --overfit_batches=1 --noshuffle
refused 'shuffle has no effect with --optimizer=lbfgs' --optimizer=lbfgs --noshuffle
refused 'overfit_batches=1.0: it is all of them' --overfit_batches=1.0
# late PATTERN FLAGS...: refused once the data are known, so after other lines.
late() {
  refuses "$1" $train --output_dir=refused "${@:2}" f.safetensors
  [ ! -e refused ] || fail "${*:2} left something: $(ls refused)"
}
late 'to monitor.*the choices are' --monitor=val_mrr
late 'without a validation set' --validation_fraction=0 --monitor=val_loss
late 'follows the length of the run' --ema --ema_decay_type=exp --max_epochs=-1
late 'without a validation set' --validation_fraction=0 --val_check_interval=5
late 'no more than the learning_rate of 0.001' --lr_scheduler=cosine --learning_rate=.001 --min_learning_rate=5
late 'no more than the 24 \(steps \)\?of the run' --max_epochs=2 --warmup_steps=25
late 'no more than the 24 \(steps \)\?of the run' --max_epochs=2 --ema --ema_start_step=25
refused 'amsgrad has no effect with --optimizer=sgd' --optimizer=sgd --amsgrad
refused 'min_epochs has no effect without --patience or --divergence_threshold' --min_epochs=3
refused 'min_epochs is 5' --min_epochs=5 --max_epochs=4 --patience=1
refused 'max_epochs has no effect with --fast_dev_run' --fast_dev_run=1 --max_epochs=3
refused 'save_interval has no effect with --barebones' --barebones --save_interval=1
expect_error 1 'keep_every_steps has no effect with --fast_dev_run=1' $train --fast_dev_run=1 --keep_every_steps=1 \
  f.safetensors
for interval in -1 nan inf; do
  refused "save_interval=$interval: expected a number of seconds" --save_interval=$interval
done
refused 'keep_every_time=never' --keep_every_time=never
finish
