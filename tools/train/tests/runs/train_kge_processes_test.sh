#!/usr/bin/env bash
# Several processes train one model of a knowledge graph: synchronized norms, gradients in buckets, sharded models.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
. tools/common/tool_test.sh
. tools/train/tests/same_run.sh
cd "$TEST_TMPDIR" || exit 1
unset RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT OMP_NUM_THREADS

# With batch norms over the whole batch the run equals that of one process; the last batch has only one example.
awk 'BEGIN {for (k = 0; k < 49; ++k) print "e" k "\tnext\te" (k + 1) % 49}' > kg.txt
awk 'BEGIN {for (k = 0; k < 8; ++k) print "e" k "\tfar\te" k + 9}' > kv.txt
(cat kg.txt; head -n 1 kv.txt) > kt.txt
$featurize --inverse_relations=false --train=kt.txt --valid=kv.txt --output=kg.safetensors 2> log ||
  fail "triples: $(cat log)"
course="--batch_size=7 --kge_loss=1-of-N --precision=fp64 --max_epochs=3 --seed=2 --threads=1"
kge="$course --embedding_dim=24 --embedding_height=6 --embedding_width=4 --output_channels=4"
for n in 1 2; do
  sync=$([ $n = 1 ] || echo "--num_processes=$n --sync_batchnorm")
  # shellcheck disable=SC2086
  $checked $kge $sync --output_dir=kge$n kg.safetensors > kge$n.out 2> kge$n.err && continue
  # With the user's own LibTorch (docs/libtorch.md) this is refused with the reason; nothing is left to test.
  [ $n = 2 ] && grep -q "its LibTorch came without Gloo's headers" kge2.err && { finish; exit; }
  fail "embeddings with $n processes: $(cat kge$n.err)"
done
same kge1 kge2
# The gradient is summed in buckets while the rest of it is computed: accumulated and clipped, with groups in turns,
# and with processes that have no example of a batch. Two runs give the same bits.
large="$course --accumulate_grad_batches=2 --gradient_clip_val=0.01"
conve_sizes="--embedding_dim=196 --embedding_height=14 --embedding_width=14 --output_channels=4"
conve="$conve_sizes --parameter_groups=fc.*;entity.* --alternate_groups=3"
distmult="--kge_model=distmult --embedding_dim=1000"
for model in conve distmult; do
  for n in 1 2 4 again; do
    processes=
    [ $n = 1 ] || processes="--strategy=ddp --num_processes=${n/again/4}"
    [ $n = 1 ] || [ $model = distmult ] || processes+=" --sync_batchnorm"
    # shellcheck disable=SC2086
    $train $large ${!model} $processes --output_dir=$model$n kg.safetensors > $model$n.out 2> $model$n.err ||
      fail "$model with $n processes: $(cat $model$n.err)"
  done
  same ${model}1 ${model}2
  same ${model}1 ${model}4
  $diff ${model}4/last.safetensors ${model}again/last.safetensors ||
    fail "four processes of $model do not give the same bits twice"
done
# What needs the rows of tails is dealt out by batches alone.
for own in --regularizer=dura --relation_prediction=1; do
  model="--kge_model=complex --embedding_dim=24 $own"
  # shellcheck disable=SC2086
  refuses 'tensor_parallel: .*use ddp' \
    $train $large $model --num_processes=2 --strategy=tensor_parallel --output_dir=z kg.safetensors
  for n in 1 2; do
    # shellcheck disable=SC2086
    $train $large $model --num_processes=$n --overwrite --output_dir=tails$n kg.safetensors > tails$n.out \
      2> tails$n.err || fail "$own with $n processes: $(cat tails$n.err)"
  done
  same tails1 tails2
done
# The model is sharded: each of six processes has less than a channel, and two have no relation. The run can be resumed
# with data parallelism instead, and in one process.
parts=${large/--batch_size=7/--batch_size=6}
for model in conve complex; do
  own="$conve_sizes --ema"
  [ $model = conve ] || own="--kge_model=complex --embedding_dim=24 --kge_loss=KvsAll --candidate_dropout=0.2"
  for n in 1 2 6 again; do
    processes=$([ $n = 1 ] || echo "--strategy=tensor_parallel --num_processes=${n/again/6}")
    run=$([ $n = 2 ] && echo "$checked" || echo "$train")
    # shellcheck disable=SC2086
    $run $parts $own $processes --output_dir=parts$model$n kg.safetensors > parts$model$n.out 2> parts$model$n.err ||
      fail "$model in $n parts: $(cat parts$model$n.err)"
  done
  same parts${model}1 parts${model}2
  same parts${model}1 parts${model}6
  $diff parts${model}6/last.safetensors parts${model}again/last.safetensors ||
    fail "six parts of $model do not give the same bits twice"
  for n in 1 2 6; do
    case $n$model in
      1*) again= ;;
      2conve) again="--num_processes=2 --strategy=ddp --sync_batchnorm" ;;
      2*) again="--num_processes=2 --strategy=ddp" ;;
      *) again="--num_processes=3 --strategy=tensor_parallel" ;;
    esac
    # shellcheck disable=SC2086
    $train $parts $own --max_epochs=5 --resume $again --output_dir=parts$model$n kg.safetensors > parts$model$n.out \
      2> parts$model$n.err || fail "resume $model in parts: $(cat parts$model$n.err)"
  done
  same parts${model}1 parts${model}2
  same parts${model}1 parts${model}6
done
expect_error 1 'needs several processes' $train --strategy=tensor_parallel kg.safetensors
# refuses MESSAGE FLAG...: both processes print the message.
refuses() {
  $train --strategy=tensor_parallel --num_processes=2 --output_dir=z "${@:2}" kg.safetensors > log 2>&1 &&
    fail "taken: ${*:2}"
  [ "$(grep -c -e "$1" log)" = 2 ] || fail "not refused for '$1': $(cat log)"
}
refuses 'sync_batchnorm has no effect with --strategy=tensor_parallel' --sync_batchnorm
refuses 'does not go with parameter groups' --parameter_groups='entity.*:optimizer=sgd'
train=$checked refuses 'compile_mode is none' --compile_mode=none
expect_error 1 'sync_batchnorm has no effect' $train --sync_batchnorm kg.safetensors
# Norms over other shares make a different run; if they are synchronized, the number of processes may change.
# shellcheck disable=SC2086
$train $kge --strategy=ddp --num_processes=2 --max_epochs=4 --resume --output_dir=kge2 kg.safetensors > /dev/null 2> log
expect_line 'sync_batchnorm is "false with 2 processes", but the run to resume has not set' log
# shellcheck disable=SC2086
succeeds $train $kge --max_epochs=4 --resume --output_dir=kge2 kg.safetensors
# shellcheck disable=SC2086
$checked $kge --num_processes=2 --sync_batchnorm --compile_mode=none --output_dir=z kg.safetensors > /dev/null 2> log
expect_line 'sync_batchnorm has no effect with --compile_mode=none' log
finish
