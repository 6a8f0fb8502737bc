#!/usr/bin/env bash
# --num_processes gives the files of one process; all processes end together, and a stopped run can be resumed.
. tools/tracin/tests/kge_testing.sh
export TMPDIR=$PWD/tmp
mkdir tmp

# The bits equal those of one process and of merged shards, and no other files are left.
ok a.tsv $data --output=one.safetensors $saved
ok b.tsv $data --num_processes=3 --output=three.safetensors $saved && cmp a.tsv b.tsv ||
  fail "three processes: $(cat log)"
$diff --rtol=0 one.safetensors three.safetensors > out || fail "the file of three processes differs: $(cat out)"
for i in 1 2 3; do ok /dev/null $data --shard=$i/3 --output=shard$i.safetensors $saved; done
ok merged.tsv --merge $data shard1.safetensors shard2.safetensors shard3.safetensors && cmp b.tsv merged.tsv ||
  fail "shards differ from processes"
ok b.tsv $data --num_processes=2 $saved && cmp a.tsv b.tsv || fail "without --output: $(cat log)"
ok b.safetensors $data --num_processes=2 --output=- $saved
$diff --rtol=0 one.safetensors b.safetensors > out || fail "--output=-: $(cat out)"
[ -z "$(ls tmp)$(ls | grep part-)" ] || fail "parts are left: $(ls . tmp)"
ok one.tsv --self --train=g.safetensors --blocks $saved
ok two.tsv --self --train=g.safetensors --blocks --num_processes=2 --verify=2 $saved && cmp one.tsv two.tsv ||
  fail "--self"
[ "$(grep -c 'verify: .*2 pairs agree' log)" = 2 ] || fail "--verify is not said once for each checkpoint: $(cat log)"
ok one.tsv $data --aggregate --sample_rate=0.2 --stratify_by=relation $saved
ok two.tsv $data --aggregate --sample_rate=0.2 --stratify_by=relation --num_processes=4 $saved && cmp one.tsv two.tsv \
  || fail "--aggregate of a sample"
ok c.tsv $data --max_tests=2 --csv_output=c.csv --json_output=c.json $saved
ok d.tsv $data --max_tests=2 --csv_output=d.csv --json_output=d.json --num_processes=2 -- $saved && cmp c_test_1.csv \
  d_test_1.csv && cmp c.json d.json || fail "TiePin's files"
# Only the parent prints, so warnings come once.
$tracin $data --num_processes=2 run/checkpoints/*.safetensors > b.tsv 2> log && cmp a.tsv b.tsv ||
  fail "a glob: $(cat log)"
[ "$(wc -l < log)" = 1 ] || fail "messages come from each process: $(cat log)"

# Impossible combinations.
refuses '--shard has no effect with --num_processes' $data --num_processes=2 --shard=1/2 $saved
refuses '--num_processes has no effect with --merge' --merge --num_processes=2 one.safetensors
refuses '--num_processes=1000: there are 250 training examples' $data --num_processes=1000 --sample_rate=0.1 $saved
refuses 'standard input is a pipe, which only one' --train=g.safetensors --test=- --num_processes=2 $saved < t.tsv
refuses 'is a pipe, which only one' --train=g.safetensors --test=<(cat t.tsv) --num_processes=2 $saved

# A failure of one process ends all, with its message; nothing is written.
$tracin $data --num_processes=2 --output=n.safetensors --csv_output=n.csv --learning_rate=1e308 --top_k=1 $saved \
  > n.tsv 2> log
[ $? = 1 ] || fail "scores that are not finite: $(cat log n.tsv)"
expect_line 'rank [01]: .*the score is -*inf' log
[ ! -s n.tsv ] || fail "scores that are not finite: $(cat log n.tsv)"
[ -z "$(ls | grep '^n_test\|^n\.safe\|^n\.part')" ] || fail "a run that failed left files: $(ls)"

# Stop and resume a computation on a graph that takes some seconds.
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 60000; ++i) printf "e%d\tr%d\te%d\n", int(rand() * 4000), int(rand() * 10), int(rand() * 4000)
}' > big.txt
head -n 200 big.txt > big-tests.txt
$featurize --train=big.txt --output=big.safetensors 2> log || fail "featurize: $(cat log)"
$untrained big.safetensors big-model.safetensors conve dettmers 32 8 1 1-N || fail "model"
long="--learning_rate=1 --loss=ce --train=big.safetensors --test=big-tests.txt --progress=false"
long+=" --num_processes=2 --output=l.safetensors"
stopped=
for delay in 4 3 2 1.5 1 0.6 0.4 0.2 6 9 15 25 40 60; do
  rm -f l.*safetensors
  $tracin $long big-model.safetensors > l.tsv 2> log &
  pid=$!
  sleep $delay
  children=$(cat /proc/$pid/task/$pid/children 2> /dev/null)
  kill -TERM $pid 2> /dev/null
  wait $pid
  status=$?
  [ $status = 143 ] && [ -s l.part-1-of-2.partial.safetensors ] && [ -s l.part-2-of-2.partial.safetensors ] \
    && stopped=1 && break
done
[ -n "$stopped" ] || fail "no run was stopped: status $status, $(cat log)"
for child in $children; do [ ! -e /proc/$child ] || fail "a process is left"; done
[ ! -e l.safetensors ] || fail "a run that was stopped left results"
[ ! -s l.tsv ] || fail "a run that was stopped left results"
expect_line 'what was done is in parts beside l.safetensors: the same command with --resume goes on' log
refuses 'l.part-1-of-2.partial.safetensors: was left by another computation, which differs in top_k' $long --resume \
  --top_k=3 big-model.safetensors
ok l.tsv $long --resume big-model.safetensors
expect_line 'goes on from 2 parts beside l.safetensors, of 2' log
[ -z "$(ls | grep part-)" ] || fail "parts are left: $(ls)"
ok whole.tsv $long --output=whole.safetensors big-model.safetensors && cmp l.tsv whole.tsv ||
  fail "a resumed run differs"
$diff --rtol=0 l.safetensors whole.safetensors > out || fail "a resumed file differs: $(cat out)"
# Killing one process ends the other. A fast machine may finish before the signal, so try shorter delays.
for delay in 1 0.5 0.2 0; do
  rm -f l.*safetensors
  $tracin $long big-model.safetensors > l.tsv 2> log &
  pid=$!
  for i in $(seq 100); do
    children=$(cat /proc/$pid/task/$pid/children 2> /dev/null)
    [ -n "${children%% }" ] && break
    sleep 0.1
  done
  sleep $delay
  kill -KILL ${children%% *} 2> /dev/null
  wait $pid
  status=$?
  [ $status != 0 ] && break
done
[ $status = 137 ] || fail "status $status of a run that lost a process: $(cat log)"
expect_line 'rank 0 .*was ended by signal 9' log
for child in $children; do [ ! -e /proc/$child ] || fail "a process is left"; done
[ ! -e l.safetensors ] || fail "a run that lost a process left results"
[ ! -s l.tsv ] || fail "a run that lost a process left results"
rm -f l.*safetensors
finish
