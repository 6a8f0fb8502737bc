#!/usr/bin/env bash
# Several processes that train one model: the run of one process to rounding, stopped, resumed, and what goes wrong.
set -uo pipefail
train=$PWD/tools/train/train
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
cp data/tio2-pbe/tio2-pbe.extxyz "$TEST_TMPDIR/set.extxyz"
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
unset RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT OMP_NUM_THREADS
options="--species=Ti,O --rad_cutoff=4 --hidden=6 --precision=fp64 --seed=5 --max_epochs=2 --save_interval=0"

# run NAME FLAG...: a run in the directory NAME.
run() {
  # shellcheck disable=SC2086
  $train $options --output_dir="$1" "${@:2}" set.extxyz > "$1.out" 2> "$1.err"
}
# child_of PID: the last process that it started. By number: a name would fit processes of another checkout's test.
child_of() { pgrep -P "$1" | tail -1; }
# same A B: all numbers of two logs but the times agree to 1e-8, relative; and rank 0 alone has said something.
same() {
  python3 - "$1" "$2" << 'PYTHON' || fail "$2 is another run than $1"
import sys
a, b = ([line.rstrip("\n").split("\t") for line in open(f"{run}/log.tsv")] for run in sys.argv[1:])
assert a[0] == b[0] and len(a) == len(b), (len(a), len(b))
for x, y in zip(a[1:], b[1:]):
    for name, u, v in zip(a[0], x, y):
        if "_s" in name or "time" in name: continue
        assert abs(float(u) - float(v)) <= 1e-8 * abs(float(u)), (name, u, v)
PYTHON
  [ "$(grep -vc ': goes on from' "$1.err")" = "$(grep -vc ': goes on from' "$2.err")" ] || fail "$2 says more than $1: $(cat "$2.err")"
  cmp "$1.out" "$2.out" || fail "$2 prints other errors than $1"
}

run one || fail "one process: $(cat one.err)"
if ! run two --num_processes=2; then
  # A LibTorch of the user's own (docs/libtorch.md): refused with the reason, and there is nothing more to test.
  grep -q "its LibTorch came without Gloo's headers" two.err && { finish; exit; }
  fail "two processes: $(cat two.err)"
fi
run again --num_processes=2 || fail "two processes again: $(cat again.err)"
run three --num_processes=3 || fail "three processes: $(cat three.err)"
same one two
same one three
$diff two/last.safetensors again/last.safetensors || fail "two processes do not give the same bits twice"
# A batch of two among three: one has nothing to do. Accumulation, clipping and averages on the way.
for n in 1 3; do
  run "small$n" --num_processes=$n --batch_size=2 --limit_train_batches=9 --accumulate_grad_batches=4 --ema \
    --gradient_clip_val=1 --lr_scheduler=plateau || fail "batches of two: $(cat "small$n.err")"
  run "lbfgs$n" --num_processes=$n --optimizer=lbfgs || fail "L-BFGS: $(cat "lbfgs$n.err")"
done
same small1 small3
same lbfgs1 lbfgs3
for n in 1 2; do
  run "forces$n" --num_processes=$n --force_weight=0.1 --force_fraction=0.5 --num_workers=1 || fail "forces: $(cat "forces$n.err")"
done
same forces1 forces2

# A signal to the one that started them: a checkpoint, 128 + signal; resumed with as many the same bits, with another
# number the same run.
run stopped --num_processes=2 --max_epochs=2000 &
for _ in $(seq 600); do [ "$(cat stopped/log.tsv 2> /dev/null | wc -l)" -gt 3 ] && break; sleep 0.1; done
kill -TERM "$(child_of $!)"
wait $!
status=$?
[ $status = 143 ] || fail "status $status of a stopped run: $(cat stopped.err)"
[ "$(grep -c 'the checkpoint is' stopped.err)" = 1 ] || fail "stopped: $(cat stopped.err)"
epochs=$(($(tail -1 stopped/log.tsv | cut -f 1) + 2))
cp -r stopped resumed1
run stopped --num_processes=2 --max_epochs=$epochs --resume || fail "resume: $(cat stopped.err)"
run resumed1 --max_epochs=$epochs --resume || fail "resume alone: $(cat resumed1.err)"
run whole --num_processes=2 --max_epochs=$epochs || fail "whole: $(cat whole.err)"
$diff whole/last.safetensors stopped/last.safetensors || fail "a stopped and resumed run differs"
same whole resumed1

# As torchrun starts them, on a port of their own.
port=$((20000 + $$ % 20000))
# rank R FLAG...: one of two.
rank() {
  # shellcheck disable=SC2086
  RANK=$1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    $train $options --threads=1 --dist_timeout=10s "${@:2}" set.extxyz > "rank$1.out" 2> "rank$1.err"
}
rank 1 --output_dir=launched &
rank 0 --output_dir=launched || fail "launched: $(cat rank0.err)"
wait $! || fail "launched, rank 1: $(cat rank1.err)"
[ -s rank1.out ] || [ -s rank1.err ] && fail "rank 1 says: $(cat rank1.out rank1.err)"
$diff two/last.safetensors launched/last.safetensors || fail "launched by hand it is another run"

# Who does not agree, who dies, who does not come.
port=$((port + 1))
rank 1 --output_dir=differs --seed=6 &
rank 0 --output_dir=differs && fail "different seeds were not noticed"
wait $! && fail "different seeds were not noticed by rank 1"
grep -q 'rank 1 does not agree with rank 0' rank0.err || fail "different seeds: $(cat rank0.err)"
port=$((port + 1))
SECONDS=0
rank 1 --output_dir=dies --max_epochs=100000 &
rank 0 --output_dir=dies --max_epochs=100000 &
for _ in $(seq 600); do [ -f dies/last.safetensors ] && break; sleep 0.1; done
kill -KILL "$(child_of $!)"
wait
[ $SECONDS -lt 30 ] || fail "a dead process was noticed after $SECONDS s"
cat rank0.err rank1.err | grep -qE 'another process has (gone|not answered)' || fail "dead: $(cat rank0.err rank1.err)"
# One that dies as soon as it is there, while they are still joining: the other is ended within seconds, and not after
# --dist_timeout.
SECONDS=0
run early --num_processes=2 --dist_timeout=600s --max_epochs=100000 &
for _ in $(seq 3000); do
  starter=$(child_of $!) && [ -n "$starter" ] && early=$(child_of "$starter") && [ -n "$early" ] && break
  sleep 0.02
done
kill -KILL "$early"
wait $!
status=$?
[ $status = 137 ] || fail "status $status where a process died early: $(cat early.err)"
[ $SECONDS -lt 300 ] || fail "a process that died early was noticed after $SECONDS s"
grep -q 'was ended by signal 9' early.err || fail "died early: $(cat early.err)"
# Where the machine was so slow in killing it that both had joined, its connection tells.
grep -qE 'ended before all processes had joined|another process has gone' early.err || fail "died early: $(cat early.err)"
port=$((port + 1))
rank 0 --dist_timeout=1s --output_dir=alone && fail "one of two is enough"
grep -q 'not all of 2 processes met at 127.0.0.1' rank0.err || fail "alone: $(cat rank0.err)"

# Batch norms that see the batch of all: the run is that of one process; the last batch has an example for one alone.
awk 'BEGIN {for (k = 0; k < 49; ++k) print "e" k "\tnext\te" (k + 1) % 49 > "kg.txt"; for (k = 0; k < 8; ++k) print "e" k "\tfar\te" k + 9 > "kv.txt"}'
(cat kg.txt; head -n 1 kv.txt) > kt.txt
$featurize --inverse_relations=false --train=kt.txt --valid=kv.txt --output=kg.safetensors 2> log || fail "triples: $(cat log)"
kge="--embedding_dim=24 --embedding_height=6 --embedding_width=4 --output_channels=4 --batch_size=7 --kge_loss=1-of-N --precision=fp64 --max_epochs=3 --seed=2 --threads=1"
for n in 1 2; do
  sync=$([ $n = 1 ] || echo "--num_processes=$n --sync_batchnorm")
  # shellcheck disable=SC2086
  $train $kge $sync --output_dir=kge$n kg.safetensors > kge$n.out 2> kge$n.err || fail "embeddings with $n processes: $(cat kge$n.err)"
done
same kge1 kge2
# A gradient that is added up in parts, from the last batch of a window on, while the rest of it is computed: accumulated
# and clipped, groups in turns, with processes that have nothing in a batch; twice the same bits.
large="--batch_size=7 --kge_loss=1-of-N --precision=fp64 --max_epochs=3 --seed=2 --threads=1 --accumulate_grad_batches=2 --gradient_clip_val=0.01"
conve="--embedding_dim=196 --embedding_height=14 --embedding_width=14 --output_channels=4 --parameter_groups=fc.*;entity.* --alternate_groups=3"
distmult="--kge_model=distmult --embedding_dim=1000"
for model in conve distmult; do
  for n in 1 2 4 again; do
    processes=$([ $n = 1 ] || echo "--strategy=ddp --num_processes=${n/again/4}$([ $model = distmult ] || echo " --sync_batchnorm")")
    # shellcheck disable=SC2086
    $train $large ${!model} $processes --output_dir=$model$n kg.safetensors > $model$n.out 2> $model$n.err ||
      fail "$model with $n processes: $(cat $model$n.err)"
  done
  same ${model}1 ${model}2
  same ${model}1 ${model}4
  $diff ${model}4/last.safetensors ${model}again/last.safetensors || fail "four processes of $model do not give the same bits twice"
done
# A model in parts: of six processes each has less than a channel, and two have no relation. A run can be resumed with
# the data in parts instead, and in one process.
parts=${large/--batch_size=7/--batch_size=6}
for model in conve complex; do
  own=$([ $model = conve ] && echo "${conve%--parameter_groups*}--ema" || echo "--kge_model=complex --embedding_dim=24 --kge_loss=KvsAll")
  for n in 1 2 6 again; do
    processes=$([ $n = 1 ] || echo "--strategy=tensor_parallel --num_processes=${n/again/6}")
    # shellcheck disable=SC2086
    $train $parts $own $processes --output_dir=parts$model$n kg.safetensors > parts$model$n.out 2> parts$model$n.err ||
      fail "$model in $n parts: $(cat parts$model$n.err)"
  done
  same parts${model}1 parts${model}2
  same parts${model}1 parts${model}6
  $diff parts${model}6/last.safetensors parts${model}again/last.safetensors || fail "six parts of $model do not give the same bits twice"
  for n in 1 2 6; do
    case $n$model in
      1*) again= ;;
      2conve) again="--num_processes=2 --strategy=ddp --sync_batchnorm" ;;
      2*) again="--num_processes=2 --strategy=ddp" ;;
      *) again="--num_processes=3 --strategy=tensor_parallel" ;;
    esac
    # shellcheck disable=SC2086
    $train $parts $own --max_epochs=5 --resume $again --output_dir=parts$model$n kg.safetensors > parts$model$n.out 2> parts$model$n.err || fail "resume $model in parts: $(cat parts$model$n.err)"
  done
  same parts${model}1 parts${model}2
  same parts${model}1 parts${model}6
done
expect_error 1 'needs several processes' "$train" --strategy=tensor_parallel kg.safetensors
expect_error 1 'divides models of embeddings' "$train" --strategy=tensor_parallel --num_processes=2 set.extxyz
# refuses MESSAGE FLAG...: both processes say it.
refuses() {
  "$train" --strategy=tensor_parallel --num_processes=2 --output_dir=z "${@:2}" kg.safetensors > log 2>&1 && fail "taken: ${*:2}"
  [ "$(grep -c -e "$1" log)" = 2 ] || fail "not refused for '$1': $(cat log)"
}
refuses 'sync_batchnorm has no effect with --strategy=tensor_parallel' --sync_batchnorm
refuses 'does not go with parameter groups' --parameter_groups='entity.*:optimizer=sgd'
refuses 'compile_mode is none' --compile_mode=none
expect_error 1 'sync_batchnorm has no effect' "$train" --sync_batchnorm kg.safetensors
# Norms that see other shares than before make another run; synchronised, the number of processes may change.
# shellcheck disable=SC2086
$train $kge --strategy=ddp --num_processes=2 --max_epochs=4 --resume --output_dir=kge2 kg.safetensors > /dev/null 2> log
grep -q 'sync_batchnorm is "false with 2 processes", but the run to resume has not set' log || fail "other norms: $(cat log)"
# shellcheck disable=SC2086
$train $kge --max_epochs=4 --resume --output_dir=kge2 kg.safetensors > /dev/null 2> log || fail "synchronised, then alone: $(cat log)"
# shellcheck disable=SC2086
$train $kge --num_processes=2 --sync_batchnorm --compile_mode=none --output_dir=z kg.safetensors > /dev/null 2> log
grep -q 'sync_batchnorm has no effect with --compile_mode=none' log || fail "eager: $(cat log)"

expect_error 1 '--strategy=single is one process' "$train" --strategy=single --num_processes=2 set.extxyz
expect_error 1 'needs several processes' "$train" --strategy=ddp set.extxyz
expect_error 1 '--dist_timeout' "$train" --dist_timeout=5s set.extxyz
expect_error 1 'WORLD_SIZE=x' env RANK=0 WORLD_SIZE=x "$train" set.extxyz
expect_error 1 '--num_processes=3, but torchrun has started 2' env RANK=0 WORLD_SIZE=2 MASTER_ADDR=x "$train" --num_processes=3 set.extxyz
run weighted --num_processes=2 --sampling_policy=error_weighted && fail "error_weighted with two processes"
grep -q 'error_weighted needs the errors of all' weighted.err || fail "error_weighted: $(cat weighted.err)"
finish
