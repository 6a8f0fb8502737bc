#!/usr/bin/env bash
# train as users run it: files of a run, reproducible bits, resuming, splits, and one clear line for bad input.
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
short="--hidden=8,8 --max_epochs=12 --batch_size=16 --test_fraction=0.1 --seed=3"
succeeds $checked $short --output_dir=a f.safetensors && mv stdout metrics
for file in best.safetensors last.safetensors log.tsv config.json train_frames.txt validation_frames.txt \
  test_frames.txt; do
  [ -s a/$file ] || fail "no a/$file"
done
[ "$(wc -l < a/log.tsv)" = 13 ] || fail "log.tsv has $(wc -l < a/log.tsv) lines"
[ "$(cat a/*_frames.txt | sort -n | uniq | wc -l)" = 403 ] || fail "frames are not a partition"
grep -q '^test' metrics && head -n 1 metrics | grep -q 'meV/atom' || fail "metrics: $(cat metrics)"
$info a/best.safetensors | grep -q 'potential/1' || fail "kind of best.safetensors"

# Small steps use one thread. The same seed gives the same bits, also with two threads; another seed gives others.
$train $short --threads=2 --output_dir=b f.safetensors > /dev/null 2>&1 || fail "second run"
threads_of() { grep -A1 '"threads"' "$1/config.json" | grep -o '"value": *"[0-9]*"' | tr -dc '0-9'; }
[ "$(threads_of a)" = 1 ] || fail "a has $(threads_of a) threads"
[ "$(threads_of b)" = 2 ] || fail "b has $(threads_of b) threads"
$diff a/last.safetensors b/last.safetensors || fail "two runs differ"
$train $short --seed=4 --output_dir=c f.safetensors > /dev/null 2>&1 || fail "another seed"
$diff a/last.safetensors c/last.safetensors > /dev/null && fail "another seed gives the same"
# Shards of a set contain its structures in another order; training works all the same.
for i in 1 2; do $featurize --species=Ti,O --shard=$i/2 --output=part.safetensors "$tio2" 2> /dev/null ||
  fail "shard"; done
succeeds $train $short --output_dir=shards 'part-*.safetensors'

# Five epochs, then resumed to twelve, give the bits of the uninterrupted run.
$train ${short/12/5} --output_dir=d f.safetensors > /dev/null 2>&1 || fail "first part"
succeeds $train $short --output_dir=d --resume f.safetensors
$diff a/last.safetensors d/last.safetensors || fail "a resumed run differs"
cut -f 1-8 a/log.tsv > log_a && cut -f 1-8 d/log.tsv > log_d && cmp log_a log_d ||
  fail "the log of a resumed run differs"
# A species without training atoms is reported; that its features do not vary is no further warning.
$featurize --species=O,Ti,W --output=w.safetensors "$tio2" 2> log || fail "three species: $(cat log)"
expect_line 'no atom is W' log
succeeds $train --hidden=4 --max_epochs=1 --output_dir=w w.safetensors
expect_line 'no training atom is W, whose network learns nothing' log
expect_no_line 'do not vary' log
# After SIGTERM the step is finished, a checkpoint written, and the status is 143.
$train $short --max_epochs=1000000 --output_dir=e f.safetensors > /dev/null 2>&1 &
for _ in $(seq 100); do [ -s e/log.tsv ] && break; sleep 0.1; done
kill -TERM $!
wait $!
[ $? = 143 ] || fail "status after SIGTERM"
[ -s e/checkpoints/last.safetensors ] || fail "no checkpoint after SIGTERM"

# Settings that change the loss or the kernels that compute it, and the reference path.
for flags in --compile_mode=none --precision=fp64 --loss=mse "--loss=huber --huber_delta=0.1" --activation=silu \
  --feature_scaling=species; do
  succeeds $checked --hidden=8,8 --max_epochs=3 --overwrite --output_dir=g $flags f.safetensors
done
# Optimizers, learning rates and limits.
for flags in --optimizer=adamw "--optimizer=sgd --momentum=0.9" "--optimizer=rmsprop --centered" \
  "--optimizer=adagrad --learning_rate=0.1" "--optimizer=schedule-free-adamw --warmup_steps=20" \
  "--parameter_groups=network.Ti.*:lr_scale=0.5;network.O.*:optimizer=sgd,momentum=0.9" \
  "--parameter_groups=network.O.* --alternate_groups=5" "--weight_decay=0.01 --weight_decay_biases=false" \
  "--lr_scheduler=cosine" "--lr_scheduler=plateau" "--lr_scheduler=one_cycle --warmup_epochs=1" \
  "--lr_scheduler=multistep --lr_milestones=1,2 --lr_cooldown_epochs=1" "--validation_fraction=0" \
  "--test_key=config_type:fluorite" "--gradient_clip_val=1" "--max_steps=7"; do
  succeeds $train --hidden=8,8 --max_epochs=3 --overwrite --output_dir=g $flags f.safetensors
done
succeeds $train --hidden=4 --max_epochs=3 --optimizer=lbfgs --overwrite --output_dir=g f.safetensors
succeeds $train --hidden=4 --max_epochs=2 --test_frames=a/test_frames.txt --overwrite --output_dir=g f.safetensors
cmp a/test_frames.txt g/test_frames.txt || fail "test frames were not used"

expect_error 1 'a holds a run' $train $short --output_dir=a f.safetensors
expect_error 1 'none.safetensors' $train --output_dir=h none.safetensors
expect_error 1 'features' $train --output_dir=h a/best.safetensors
head -c 5000 f.safetensors > cut.safetensors
expect_error 1 'cut.safetensors' $train --output_dir=h cut.safetensors
expect_error 1 'needs structures' $train --output_dir=h
$featurize --species=O,Ti --output=other.safetensors "$tio2" 2> /dev/null
expect_error 1 'descriptor' $train --output_dir=h f.safetensors other.safetensors
expect_error 1 'momentum' $train --momentum=0.9 --output_dir=h f.safetensors
expect_error 1 'lr_power has no effect with --lr_scheduler=cosine' \
  $train --lr_scheduler=cosine --lr_power=2 --output_dir=h f.safetensors
refuses 'network.Zr.\* fits no parameter; there are network.Ti.0.weight, network' \
  $train '--parameter_groups=network.Zr.*:lr_scale=2' --output_dir=h f.safetensors
expect_error 1 'unknown flag --hiden; is it --hidden; see train --help' $train --hiden=4 --output_dir=h f.safetensors
expect_error 1 'num-epochs: no such flag; use --max_epochs=N' $train --num-epochs=4 --output_dir=h f.safetensors
expect_error 1 'train_file: .*without a flag' $train --train_file=f.safetensors --output_dir=h
expect_error 1 'valid_file: .*--validation_data' $train --valid_file=f.safetensors --output_dir=h f.safetensors
expect_error 1 'model: .*--potential=many-body' $train --model=MACE --output_dir=h f.safetensors
expect_error 1 'max_epochs=1e3: expected a whole number' $train --max_epochs=1e3 --output_dir=h f.safetensors
expect_error 1 'activation' $train --activation=relu --output_dir=h f.safetensors
expect_error 1 'hidden' $train --hidden=4,x --output_dir=h f.safetensors
expect_error 1 'batch_size' $train --batch_size=-1 --output_dir=h f.safetensors
expect_error 1 'fraction' $train --validation_fraction=1.5 --output_dir=h f.safetensors
expect_error 1 'config_type' $train --test_key=config_type:nothing --output_dir=h f.safetensors
expect_error 1 'max_time' $train --max_time=soon --output_dir=h f.safetensors
expect_error 1 'Ti x' $train --atomic_energies=Ti=x,O=-400 --output_dir=h f.safetensors
[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
