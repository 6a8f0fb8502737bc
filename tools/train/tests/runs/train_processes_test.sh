#!/usr/bin/env bash
# Several processes train one potential: equal to one process up to rounding, stopped, resumed, and failures.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
diff=$PWD/lib/tensorfile/diff
cp data/tio2-pbe/tio2-pbe.extxyz "$TEST_TMPDIR/set.extxyz"
. tools/common/tool_test.sh
. tools/train/tests/same_run.sh
cd "$TEST_TMPDIR" || exit 1
unset RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT OMP_NUM_THREADS
options="--species=Ti,O --rad_cutoff=4 --hidden=6 --precision=fp64 --seed=5 --max_epochs=2 --save_interval=0"

# run NAME FLAG...: a run in the directory NAME.
run() {
  # shellcheck disable=SC2086
  $train $options --output_dir="$1" "${@:2}" set.extxyz > "$1.out" 2> "$1.err"
}
# child_of PID: the last child process. It is found by number, as a name could match another checkout's test.
child_of() { pgrep -P "$1" | tail -1; }

run one || fail "one process: $(cat one.err)"
if ! train=$checked run two --num_processes=2; then
  # With the user's own LibTorch (docs/libtorch.md) this is refused with the reason; nothing is left to test.
  grep -q "its LibTorch came without Gloo's headers" two.err && { finish; exit; }
  fail "two processes: $(cat two.err)"
fi
run again --num_processes=2 || fail "two processes again: $(cat again.err)"
run three --num_processes=3 || fail "three processes: $(cat three.err)"
same one two
same one three
$diff two/last.safetensors again/last.safetensors || fail "two processes do not give the same bits twice"
# In a batch of two among three processes, one has no example. Accumulation, clipping and averages are used as well.
for n in 1 3; do
  run "small$n" --num_processes=$n --batch_size=2 --limit_train_batches=9 --accumulate_grad_batches=4 --ema \
    --gradient_clip_val=1 --lr_scheduler=plateau || fail "batches of two: $(cat "small$n.err")"
  run "lbfgs$n" --num_processes=$n --optimizer=lbfgs || fail "L-BFGS: $(cat "lbfgs$n.err")"
done
same small1 small3
same lbfgs1 lbfgs3
for n in 1 2; do
  run "forces$n" --num_processes=$n --force_weight=0.1 --force_fraction=0.5 --num_workers=1 ||
    fail "forces: $(cat "forces$n.err")"
done
same forces1 forces2

# A signal to the parent process leads to a checkpoint and status 128 + signal. Resuming with as many processes gives
# the same bits, with another number the same run up to rounding.
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

# Processes started as by torchrun, on a port of their own.
port=$((20000 + $$ % 20000))
# rank R FLAG...: runs one of two ranks.
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

# A process disagrees, dies, or never comes.
port=$((port + 1))
rank 1 --output_dir=differs --seed=6 &
rank 0 --output_dir=differs && fail "different seeds were not noticed"
wait $! && fail "different seeds were not noticed by rank 1"
expect_line 'rank 1 does not agree with rank 0: it has --seed=6, rank 0 5; ' rank0.err
expect_no_line 'batch_size' rank0.err
port=$((port + 1))
rank 1 --output_dir=differs2 &
rank 0 --output_dir=differs1 && fail "different directories were not noticed"
wait $! && fail "different directories were not noticed by rank 1"
expect_line 'rank 1 does not agree with rank 0: it has --output_dir=differs2, rank 0 --output_dir=differs1' rank0.err

# Ranks that do not see the same folder: rank 1 cannot find what rank 0 resumes, and both say so.
port=$((port + 1))
mkdir elsewhere
cp set.extxyz elsewhere
cp -r launched resumes
(cd elsewhere && rank 1 --output_dir=resumes --resume=auto --max_epochs=3) &
rank 0 --output_dir=resumes --resume=auto --max_epochs=3 && fail "a folder that is not shared was not noticed"
wait $! && fail "a folder that is not shared was not noticed by rank 1"
expect_line 'rank 1: resumes: does not hold the checkpoint that rank 0 resumes from' rank0.err
expect_line 'rank 1: resumes: does not hold the checkpoint that rank 0 resumes from' elsewhere/rank1.err

# The content of the data counts, under whatever path.
port=$((port + 1))
cp set.extxyz same.extxyz
# shellcheck disable=SC2086
RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
  $train $options --threads=1 --dist_timeout=10s --output_dir=paths same.extxyz > rank1.out 2> rank1.err &
rank 0 --output_dir=paths || fail "the same data under another path: $(cat rank0.err)"
wait $! || fail "the same data under another path, rank 1: $(cat rank1.err)"

# A torchrun that is killed leaves its processes behind, which write the checkpoint and end.
port=$((port + 1))
TORCHELASTIC_RUN_ID=test WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port bash -c "
  for rank in 0 1; do
    RANK=\$rank $train $options --threads=1 --max_epochs=100000 --output_dir=left set.extxyz > left\$rank.err 2>&1 &
    echo \$! >> left.pids
  done
  wait" &
for _ in $(seq 600); do [ "$(cat left/log.tsv 2> /dev/null | wc -l)" -gt 3 ] && break; sleep 0.1; done
kill -KILL $!
while read -r process; do
  for _ in $(seq 300); do kill -0 "$process" 2> /dev/null || break; sleep 0.1; done
  kill -KILL "$process" 2> /dev/null && fail "a process goes on without its launcher"
done < left.pids
expect_line 'the checkpoint is' left0.err

# Processes that train starts itself listen on the loopback interface alone, if at all.
# listening PID...: the addresses, in hexadecimal, on which the processes listen.
listening() {
  for process in "$@"; do
    ls -l "/proc/$process/fd" 2> /dev/null | sed -n 's/.*socket:\[\([0-9]*\)\]$/\1/p'
  done > sockets
  awk 'NR == FNR { own[$1]; next } $4 == "0A" && ($10 in own) { sub(/:.*/, "", $2); print $2 }' sockets \
    /proc/net/tcp /proc/net/tcp6 | sort -u
}
run local --num_processes=2 --max_epochs=100000 &
for _ in $(seq 600); do [ -f local/last.safetensors ] && break; sleep 0.1; done
starter=$(child_of $!)
# shellcheck disable=SC2046
addresses=$(listening "$starter" $(pgrep -P "$starter"))
[ "${addresses:-0100007F}" = 0100007F ] || fail "local processes listen on '$addresses'"
kill -TERM "$starter"
wait $!
[ -f local/finished ] && fail "a stopped run is finished"

port=$((port + 1))
SECONDS=0
rank 1 --output_dir=dies --max_epochs=100000 &
rank 0 --output_dir=dies --max_epochs=100000 &
for _ in $(seq 600); do [ -f dies/last.safetensors ] && break; sleep 0.1; done
kill -KILL "$(child_of $!)"
wait
[ $SECONDS -lt 30 ] || fail "a dead process was noticed after $SECONDS s"
cat rank0.err rank1.err | grep -qE 'another process has (gone|not answered)' || fail "dead: $(cat rank0.err rank1.err)"
# If a process dies while the others are still joining, they end within seconds, not after
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
expect_line 'was ended by signal 9' early.err
# On a slow machine both may have joined before the kill; then the connection reports it.
grep -qE 'ended before all processes had joined|another process has gone' early.err ||
  fail "died early: $(cat early.err)"
port=$((port + 1))
SECONDS=0
rank 0 --dist_timeout=3s --output_dir=alone && fail "one of two is enough"
[ $SECONDS -lt 15 ] || fail "a rank that never came was waited for $SECONDS s, not 3"
expect_line 'not all of 2 processes met at 127.0.0.1' rank0.err

expect_error 1 'divides models of embeddings' $train --strategy=tensor_parallel --num_processes=2 set.extxyz
expect_error 1 '--strategy=single is one process' $train --strategy=single --num_processes=2 set.extxyz
expect_error 1 'needs several processes' $train --strategy=ddp set.extxyz
expect_error 1 '--dist_timeout' $train --dist_timeout=5s set.extxyz
expect_error 1 'WORLD_SIZE=x' env RANK=0 WORLD_SIZE=x $train set.extxyz
expect_error 1 '--num_processes=3, but torchrun has started 2' env RANK=0 WORLD_SIZE=2 MASTER_ADDR=x $train \
  --num_processes=3 set.extxyz
run weighted --num_processes=2 --sampling_policy=error_weighted && fail "error_weighted with two processes"
expect_line 'error_weighted needs the errors of all' weighted.err
finish
