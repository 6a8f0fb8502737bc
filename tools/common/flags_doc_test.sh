#!/usr/bin/env bash
# flags_doc_test.sh TOOL README: every flag of --help is in the README's FLAGS section, and the other way round.
set -euo pipefail
tool=$1 readme=$2
"$tool" --help | sed -n 's/^  --\([a-z_0-9]*\).*/\1/p' | sort > "$TEST_TMPDIR/help"
sed -n '/^## FLAGS/,/^## [A-EG-Z]/p' "$readme" | sed -n 's/^- `--\([a-z_0-9]*\).*/\1/p' | sort > "$TEST_TMPDIR/readme"
[ -s "$TEST_TMPDIR/help" ] || { echo "$tool --help lists no flag"; exit 1; }
if ! diff "$TEST_TMPDIR/help" "$TEST_TMPDIR/readme"; then
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
