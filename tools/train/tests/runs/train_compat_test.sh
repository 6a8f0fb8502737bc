#!/usr/bin/env bash
# Files of every released version can be read, and resumed runs arrive where that version arrived (testdata/compat).
set -uo pipefail
train=$PWD/tools/train/train
evaluate=$PWD/tools/evaluate/evaluate
. tools/common/tool_test.sh
cp -rL testdata/compat "$TEST_TMPDIR/compat"
chmod -R u+w "$TEST_TMPDIR/compat"
cd "$TEST_TMPDIR/compat" || exit 1

# Compares two logs without their times: numbers agree to 1e-4, because other processors round differently.
same_logs() {
  python3 - "$@" << 'PYTHON'
import sys
a, b = ([line.rstrip("\n").split("\t")[:-2] for line in open(path)] for path in sys.argv[1:])
assert a[0] == b[0] and len(a) == len(b), f"{len(a)} and {len(b)} rows"
for x, y in zip(a[1:], b[1:]):
    for u, v in zip(map(float, x), map(float, y)):
        assert u == v or u != u and v != v or abs(u - v) <= 1e-4 * max(abs(u), abs(v)), f"{x}\n{y}"
PYTHON
}
runs=0
for run in */*/run; do
  name=${run%/run} data=
  cd "${name%/*}" || exit 1
  flags=$(cat "${name#*/}/flags")
  for word in $flags; do [[ $word != *.safetensors ]] || data=$word; done
  succeeds "$evaluate" "${name#*/}/run/best.safetensors" "$data"
  # Start a new run from its model, then resume the run itself.
  succeeds "$train" --init_from="${name#*/}/run/last.safetensors" --max_epochs=1 --plot=false --output_dir=tuned "$data"
  succeeds $train $flags --plot=false --resume --output_dir="${name#*/}/run"
  same_logs "${name#*/}/run/log.tsv" "${name#*/}/finished.tsv" || fail "$name: another run than that of its version"
  rm -rf tuned
  cd ..
  runs=$((runs + 1))
done
[ $runs -ge 3 ] || fail "$runs runs in testdata/compat"
finish
