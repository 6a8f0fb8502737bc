#!/usr/bin/env bash
# flags_doc_test.sh TOOL README [some]: every flag of --help is in the README's FLAGS section with its default, and the
# other way round: `--name=default`; of switches `--name` where they are off and `--name=true` where they are on. With
# "some" the README may leave flags out.
set -euo pipefail
tool=$1 readme=$2 which=${3-all}
"$tool" --help=all > "$TEST_TMPDIR/text"
# A number is what four digits say of it, a text stands without its quotes.
normal() { awk -F= 'NF > 1 && $2 ~ /^-?[0-9]/ && $2 + 0 == $2 { $0 = sprintf("%s=%.4g", $1, $2) } { print }' | sort; }
# A switch that is off, a flag with its default, a switch without one.
sed -n 's/^  --\([a-z_0-9]*\)=false (bool)$/\1/p; t
  s/^  --\([a-z_0-9]*=[^ ]*\) ([a-z0-9]*)$/\1/p; t
  s/^  --\([a-z_0-9]*\)$/\1/p' "$TEST_TMPDIR/text" | tr -d '"' | normal > "$TEST_TMPDIR/help"
sed -n '/^## FLAGS/,/^## [A-EG-Z]/p' "$readme" | sed -n 's/^- `--\([a-z_0-9]*[^`]*\)`.*/\1/p' |
  normal > "$TEST_TMPDIR/readme"
[ -s "$TEST_TMPDIR/help" ] || { echo "$tool --help lists no flag"; exit 1; }
[ "$(grep -c '^  --' "$TEST_TMPDIR/text")" = "$(wc -l < "$TEST_TMPDIR/help")" ] ||
  { echo "a line of --help was not understood"; exit 1; }
[ -s "$TEST_TMPDIR/readme" ] || { echo "$readme lists no flag"; exit 1; }
if [ "$which" = some ]; then
  comm -12 "$TEST_TMPDIR/help" "$TEST_TMPDIR/readme" > "$TEST_TMPDIR/both"
else
  cp "$TEST_TMPDIR/help" "$TEST_TMPDIR/both"
fi
if ! diff "$TEST_TMPDIR/both" "$TEST_TMPDIR/readme"; then
  echo "$readme and --help differ: < is only in --help, > only in the README"
  exit 1
fi
# --help shows nothing of LibTorch, glog or gflags beyond what is meant for users.
if grep -qE 'caffe2|torch_|logtostderr|minloglevel|helpxml' "$TEST_TMPDIR/help"; then exit 1; fi
# An unknown flag and a bad value are errors before any work; --version names the tool.
! "$tool" --no_such_flag=1 2> "$TEST_TMPDIR/err" || exit 1
grep -q no_such_flag "$TEST_TMPDIR/err"
! "$tool" --minloglevel=1 2> "$TEST_TMPDIR/err" || exit 1
"$tool" --version | grep -q "^$(basename "$tool") [0-9]"
# What cannot be written is no success.
if [ -w /dev/full ]; then
  for flag in --help --version -h; do
    status=0
    "$tool" $flag > /dev/full 2> "$TEST_TMPDIR/err" || status=$?
    [ $status = 1 ] || { echo "$tool $flag on a full device: status $status"; exit 1; }
    grep -qx "$(basename "$tool"): cannot write to standard output" "$TEST_TMPDIR/err" ||
      { cat "$TEST_TMPDIR/err"; exit 1; }
  done
fi
