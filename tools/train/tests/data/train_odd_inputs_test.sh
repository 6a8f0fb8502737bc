#!/usr/bin/env bash
# Inputs that change, are empty, or ask for too much end a run in one line; `finished` tells whole runs from others.
set -uo pipefail
train="$PWD/tools/train/train --preset=aenet"
evaluate=$PWD/tools/evaluate/evaluate
cache=$PWD/tools/cache-neighbors/cache-neighbors
featurize=$PWD/tools/featurize/featurize
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
family=$PWD/testdata/kg/family
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
$cache --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --output=n.safetensors "$tio2" 2> log ||
  fail "neighbors: $(cat log)"
forces="--plot=false --threads=1 --hidden=6 --force_weight=0.2 --batch_size=8 --save_interval=0"

# A mapped file that is cut while it is read.
cp n.safetensors now.safetensors
$train $forces --max_epochs=200000 --output_dir=cut now.safetensors > stdout 2> err &
for _ in $(seq 600); do [ -f cut/last.safetensors ] && break; sleep 0.1; done
truncate -s 8192 now.safetensors
wait $!
status=$?
[ $status = 1 ] || fail "status $status where the data were cut: $(cat err)"
[ "$(tail -n 1 err | grep -c '^train: now.safetensors: became shorter')" = 1 ] || fail "the data were cut: $(cat err)"

# An empty standard input is named.
for tool in "$train --output_dir=none" "$featurize --species=Ti,O --output=none.safetensors" \
  "$cache --species=Ti,O --output=none.safetensors"; do
  # shellcheck disable=SC2086
  expect_error 1 'standard input.*empty' $tool - < /dev/null
done
[ ! -e none ] && [ ! -e none.safetensors ] || fail "output of an empty input"

# Tensor files come through pipes of every kind, whoever looked into them first, and train the same.
$featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --output=f.safetensors "$tio2" 2> log ||
  fail "features: $(cat log)"
$featurize --train="$family/train.txt" --output=triples.safetensors 2> log || fail "triples: $(cat log)"
named() { rm -f pipe && mkfifo pipe && { timeout 60 sh -c "cat '$1' > pipe" & }; }
for data in f n triples; do
  case $data in
    triples) flags="--kge_model=distmult --embedding_dim=4" ;;
    *) flags="--hidden=4" ;;
  esac
  piped="$train $flags --max_epochs=1 --plot=false --threads=1 --overwrite --output_dir=piped"
  succeeds $train $flags --max_epochs=1 --plot=false --threads=1 --output_dir=whole-$data $data.safetensors
  cp stdout whole.tsv
  for way in - /dev/stdin; do
    succeeds $piped $way < <(cat $data.safetensors)
    cmp whole.tsv stdout || fail "$data by $way"
  done
  succeeds $piped <(cat $data.safetensors)
  cmp whole.tsv stdout || fail "$data by process substitution"
  named $data.safetensors
  if [ $data = triples ]; then
    refuses 'pipe: is of kind kg.triples/1.*as standard input (- < PIPE)' $train --max_epochs=1 --output_dir=none pipe
  else
    succeeds $piped pipe
    cmp whole.tsv stdout || fail "$data by a named pipe"
  fi
  wait
done
succeeds $evaluate --forces=false whole-n/best.safetensors <(cat n.safetensors)
named n.safetensors
refuses 'pipe: is a tensor file.*as standard input (- < PIPE)' $evaluate whole-n/best.safetensors pipe
wait

# An embedding without end, from the command line.
$featurize --train="$family/train.txt" --output=t.safetensors 2> /dev/null || fail "triples"
for size in 1000000007 2147483647 9223372036854775807; do
  # A limit on processor time: the clock also counts what else the machine does.
  (
    ulimit -t 20
    expect_error 1 "embedding_dim.*$size" $train --embedding_dim=$size --output_dir=none t.safetensors
    [ $failures = 0 ]
  ) || fail "--embedding_dim=$size"
done

# The file `finished`: only when a run has ended by its own limits, and not once it goes on.
succeeds $train $forces --max_epochs=2 --output_dir=run n.safetensors
[ "$(cat run/finished)" = "$(printf 'reason\tepochs\tsteps\nmax_epochs=2\t2\t92')" ] ||
  fail "finished: $(cat run/finished)"
succeeds $evaluate --forces=false run/best.safetensors n.safetensors
expect_no_line 'has not ended' log
$train $forces --max_epochs=200000 --resume --output_dir=run n.safetensors > stdout 2> err &
for _ in $(seq 600); do [ ! -e run/finished ] && [ "$(wc -l < run/log.tsv)" -gt 4 ] && break; sleep 0.1; done
[ ! -e run/finished ] || fail "finished while the run goes on"
kill -TERM $!
wait $!
[ $? = 143 ] || fail "the run was not stopped: $(cat err)"
[ ! -e run/finished ] || fail "finished after a signal"
for model in best last; do
  succeeds $evaluate --forces=false run/$model.safetensors n.safetensors
  expect_line "warning: run/$model.safetensors: is of a run that has not ended" log
done
succeeds $train $forces --max_epochs=3 --resume=auto --output_dir=run n.safetensors
expect_line '^max_epochs=3' run/finished
for model in best last; do
  succeeds $evaluate --forces=false run/$model.safetensors n.safetensors
  expect_no_line 'has not ended' log
done
# A run that is over stays so, and a new one begins without the file.
succeeds $train $forces --max_epochs=3 --resume=auto --output_dir=run n.safetensors
expect_line '^max_epochs=3' run/finished
succeeds $train --kge_model=distmult --embedding_dim=4 --max_epochs=1 --plot=false --threads=1 --output_dir=kge \
  t.safetensors
expect_line '^max_epochs=1' kge/finished
succeeds $train $forces --max_epochs=1 --committee=2 --output_dir=team n.safetensors
[ -s team/member-00/finished ] && [ -s team/member-01/finished ] || fail "members of a committee"
finish
