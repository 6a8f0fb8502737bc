#!/usr/bin/env bash
# A signal that waits when a tool starts, in the same program or in the one that it becomes, ends the tool at its first
# look: one line, status 128 + signal, no output. benchmarks/interrupt_stages.py signals at later moments.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
evaluate=$PWD/tools/evaluate/evaluate
train=$PWD/tools/train/train
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
run=$PWD/testdata/compat/unreleased/energies/run
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# interrupted SIGNAL NUMBER COMMAND...
interrupted() {
  local name=$1 number=$2
  shift 2
  expect_error $((128 + number)) "stopped by signal $number " \
    env --block-signal="$name" sh -c 'kill -'"$name"' $$; exec "$@"' sh "$@"
  [ ! -e out ] || [ -z "$(find out -type f)" ] || fail "output left by: $*: $(find out)"
  rm -rf out
}
flags="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3"
mkfifo silent && exec 9<> silent # a pipe whose writer is silent
for signal in 'INT 2' 'TERM 15'; do
  interrupted $signal "$featurize" $flags --output=out "$tio2"
  interrupted $signal "$featurize" --check_data "$tio2"
  interrupted $signal "$cache" $flags --output=out "$tio2"
  interrupted $signal "$evaluate" --output_dir=out "$run/best.safetensors" "$tio2"
  interrupted $signal "$evaluate" --output_xyz=out "$run/best.safetensors" "$tio2"
  interrupted $signal "$train" $flags --plot=false --output_dir=out "$tio2"
  interrupted $signal "$train" $flags --plot=false --optimizer=lbfgs --force_weight=0 --output_dir=out "$tio2"
  interrupted $signal "$featurize" $flags --output=out - < silent
  interrupted $signal "$featurize" $flags --output=out list:- < silent
done
finish
