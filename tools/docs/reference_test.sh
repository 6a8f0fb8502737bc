#!/usr/bin/env bash
# reference_test.sh REFERENCE PAGE TRAIN-README TRAIN TOOL...: the page of train's flags is what train says; every tool
# has a manual page that names all its flags and that man formats without a warning; bash completes flags.
set -uo pipefail
reference=$1 page=$2 readme=$3 train=$4
shift 4
failed=0
fail() { echo "$*"; failed=1; }

python3 "$reference" flags "$train" > "$TEST_TMPDIR/flags.md" || fail "no page of flags"
diff "$TEST_TMPDIR/flags.md" "$page" ||
  fail "run: bazel build //tools/train && tools/docs/reference.py flags bazel-bin/tools/train/train" \
    "> docs/flags-train.md"

python3 "$reference" man "$train" "$readme" > "$TEST_TMPDIR/train.1" || fail "no manual page"
[ "$(head -c 4 "$TEST_TMPDIR/train.1")" = ".TH " ] || fail "a manual page begins with .TH"
sed 's/\\-/-/g' "$TEST_TMPDIR/train.1" > "$TEST_TMPDIR/plain.1"
"$train" --help=all | sed -n 's/^  --\([a-z_0-9]*\).*/\1/p' | while read -r flag; do
  grep -qF -e "\\fB--$flag=" -e "\\fB--$flag\\fR" "$TEST_TMPDIR/plain.1" || echo "$flag"
done > "$TEST_TMPDIR/missing"
[ ! -s "$TEST_TMPDIR/missing" ] || fail "flags without an entry in train.1: $(tr '\n' ' ' < "$TEST_TMPDIR/missing")"
if command -v groff > /dev/null; then
  groff -man -Tutf8 -ww "$TEST_TMPDIR/train.1" 2> "$TEST_TMPDIR/warnings" > /dev/null
  [ ! -s "$TEST_TMPDIR/warnings" ] || fail "groff warns: $(head -3 "$TEST_TMPDIR/warnings")"
fi

python3 "$reference" completion "$train" "$@" > "$TEST_TMPDIR/rutile.bash" || fail "no completion"
completed=$(bash -c '
  compopt() { :; }
  . "$1"; COMP_WORDS=(train --lr_sch); COMP_CWORD=1; _rutile train; echo "${COMPREPLY[*]}"
  COMP_WORDS=(train --overw); _rutile train; echo "${COMPREPLY[*]}"
  COMP_WORDS=(train file); COMPREPLY=(); _rutile train; echo "${COMPREPLY[*]}"' - "$TEST_TMPDIR/rutile.bash")
[ "${completed%$'\n'}" = $'--lr_scheduler=\n--overwrite' ] || fail "completed: $completed"
exit $failed
