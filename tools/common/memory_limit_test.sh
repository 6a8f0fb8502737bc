#!/usr/bin/env bash
# A limit on memory (ulimit -v): a tool says that it is used up, and works on fewer threads where some cannot start.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# limited KB COMMAND...: with so much address space.
limited() {
  local size=$1
  shift
  (ulimit -v "$size" && exec "$@")
}

# With sanitizers a program needs terabytes of addresses to start.
if ! limited 60000 "$featurize" --version > stdout 2> log; then
  echo "skipped: tools do not start with 60 MB here: $(cat log)"
  exit 0
fi

# The names of a million entities take more than that.
awk 'BEGIN { for (i = 0; i < 500000; ++i) print "head" i "\tr\ttail" i }' > many.tsv
makes_nothing g.safetensors 'out of memory' limited 60000 "$featurize" --train=many.tsv --output=g.safetensors

# Stacks of 64 threads need more than this, whatever their size (2 MB at least, 8 as a rule).
flags="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3"
succeeds "$featurize" $flags --threads=1 --output=one.safetensors "$tio2"
limited 120000 "$featurize" $flags --threads=64 --output=64.safetensors "$tio2" > stdout 2> log
status=$?
expect_line 'works on [0-9]* of 64 threads' log
case $status in
  0) "$diff" --rtol=0 one.safetensors 64.safetensors || fail "fewer threads, other features" ;;
  1) tail -n 1 log | grep -q 'out of memory' || fail "status 1: $(cat log)" ;; # stacks have taken what the work needs
  *) fail "status $status with fewer threads: $(cat log)" ;;
esac
finish
