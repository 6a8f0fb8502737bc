#!/usr/bin/env bash
# --timing and RUTILE_PROFILE_DIR of every tool: tables, and records that add up, also of tools that fail or are
# stopped.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
train="$PWD/tools/train/train --preset=aenet"
evaluate=$PWD/tools/evaluate/evaluate
check=$PWD/tools/common/check_profile
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# stages NAME...: the table in `log` has these rows, and the main thread's share adds up.
stages() {
  grep -q '^timing: [0-9.]* s wall' log || fail "no table: $(cat log)"
  for stage in "$@"; do grep -q "^ *$stage  *[0-9.]* %" log || fail "no stage $stage: $(cat log)"; done
  awk '/^main/ { main = 1 } main && $1 == "sum" { exit !($2 > 97 && $2 < 103) }' log ||
    fail "does not add up: $(cat log)"
}

$featurize --timing --species=Ti,O --output=f.safetensors "$tio2" 2> log || fail "featurize: $(cat log)"
stages startup read parse search features write hash other
awk '$1 == "search" && $6 ~ /^[0-9.]+$/ { found = 1 } END { exit !found }' log ||
  fail "no allocations of a search: $(cat log)"
grep -q 'features.*Gflop/s\|features.*Mflop/s' log || fail "no rate: $(cat log)"
$cache --timing --species=Ti,O --output=n.safetensors "$tio2" 2> log || fail "cache-neighbors: $(cat log)"
stages read parse search write
$train --timing --max_epochs=2 --num_workers=0 --output_dir=energy f.safetensors > out 2> log ||
  fail "train: $(cat log)"
stages read setup make_batch step forward backward optimizer validation checkpoint
grep -q 'timing\|share' out && fail "the table is on standard output: $(cat out)"
$train --timing --max_epochs=1 --num_workers=1 --force_weight=0.1 --output_dir=force n.safetensors > out 2> log ||
  fail "forces: $(cat log)"
stages wait_for_data descriptor network vjp jvp tangents optimizer
grep -q '^loader' log || fail "no thread of the loader: $(cat log)"
$evaluate --timing --output_dir=eval energy/best.safetensors "$tio2" > out 2> log || fail "evaluate: $(cat log)"
stages read search predict metrics report

$featurize --timing --output=g.safetensors "$elements/train.txt" "$elements/valid.txt" "$elements/test.txt" 2> log ||
  fail "triples: $(cat log)"
stages graph write
$cache --timing --output=known.safetensors g.safetensors 2> log || fail "known tails: $(cat log)"
stages read graph write
kge="--embedding_dim=20 --embedding_height=5 --output_channels=4"
$train --timing --max_epochs=1 $kge --output_dir=kge g.safetensors > out 2> log || fail "ConvE: $(cat log)"
stages step forward backward embedding conv fc scores optimizer validation
$evaluate --timing kge/best.safetensors g.safetensors > out 2> log || fail "rank: $(cat log)"
stages read rank scores metrics

# Records: of each process that the pipeline starts; nothing is printed.
export RUTILE_PROFILE_DIR=$TEST_TMPDIR/records/of/it
$featurize --species=Ti,O --output=f.safetensors "$tio2" 2> log || fail "featurize: $(cat log)"
grep -q timing log && fail "a table without --timing: $(cat log)"
status=0
$train --max_epochs=1 --num_processes=2 --force_weight=0.1 --output_dir=two n.safetensors > out 2> log || status=1
# A LibTorch of the user's own (docs/libtorch.md) refuses, and the records say so.
[ $status = 0 ] || grep -q "its LibTorch came without Gloo's headers" log || fail "two processes: $(cat log)"
[ "$(ls records/of/it/train-*.json | wc -l)" = 3 ] || fail "not a record for each process: $(ls records/of/it)"
! $evaluate missing.safetensors "$tio2" > out 2> log || fail "evaluate without a model"
$check records/of/it/*.json > checked 2>&1 || fail "records: $(cat checked)"
grep -q '^featurize status=0 .*threads=main' checked || fail "featurize: $(cat checked)"
grep -q '^evaluate status=1 ' checked || fail "no record of a failure: $(cat checked)"
[ "$(grep -c "^train status=$status " checked)" = 3 ] || fail "processes: $(cat checked)"
[ $status != 0 ] || grep -l all_reduce records/of/it/train-*.json | wc -l | grep -qx 2 || fail "no sums over processes"
grep -q wait_for_processes records/of/it/train-*.json || fail "the launcher's time is not told"

# A run that is stopped leaves its record.
export RUTILE_PROFILE_DIR=$TEST_TMPDIR/stopped
$train --max_epochs=100000 --output_dir=long f.safetensors > out 2> log &
pid=$!
for _ in $(seq 200); do [ -s long/log.tsv ] && break; sleep 0.1; done
kill -TERM $pid; wait $pid
[ $? = 143 ] || fail "status of a stopped run: $(cat log)"
$check "stopped/train-$pid.json" > checked 2>&1 || fail "record of a stopped run: $(cat checked)"
grep -q '^train status=143 ' checked || fail "status in the record: $(cat checked)"
grep -q 'other=[0-9]\.' checked || fail "too much time is in no stage: $(cat checked)"

# Operators of LibTorch, where it does the work; the flag needs a profile.
export RUTILE_PROFILE_DIR=$TEST_TMPDIR/operators
$train --operators --timing --compile_mode=none --max_epochs=1 --output_dir=eager f.safetensors > out 2> log ||
  fail "operators: $(cat log)"
grep -q 'aten::' log || fail "no operators: $(cat log)"
$check operators/*.json | grep -q 'operators=[1-9]' || fail "no operators in the record"
unset RUTILE_PROFILE_DIR
expect_error 1 'operators has no effect without --timing' $train --operators --output_dir=no f.safetensors

# What cannot be written is a warning: the work is done.
: > file
RUTILE_PROFILE_DIR=$TEST_TMPDIR/file $featurize --species=Ti,O --output=f2.safetensors "$tio2" 2> log ||
  fail "a bad directory fails the tool"
grep -q 'warning: no profile was written: .*file' log || fail "no warning: $(cat log)"
finish
