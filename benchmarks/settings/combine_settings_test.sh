#!/usr/bin/env bash
# combine_settings_test.sh HARNESS TRAIN FEATURIZE CACHE_NEIGHBORS EVALUATE TRACIN: a fixed draw of settings holds, and
# the harness sees what does not hold.
set -uo pipefail
harness=$1
shift
work=${TEST_TMPDIR:-$(mktemp -d)}
failures=0
fail() { echo "FAILED: $*" && failures=$((failures + 1)); }
# use DIRECTORY: the programs, laid out as in bazel-bin.
use() {
  local program
  for program in "${programs[@]}"; do
    mkdir -p "$1/tools/$(basename "$program")"
    ln -sf "$program" "$1/tools/$(basename "$program")/"
  done
}
programs=()
for program in "$@"; do programs+=("$(realpath "$program")"); done
use "$work/bin"
use "$work/odd"
use "$work/new"

# Twice each property on each kind of data; on a machine that is very slow or busy, as many as there is time for.
python3 "$harness" --bin="$work/bin" --draws=58 --seed=1 --time_limit=100 > "$work/out.txt" 2>&1 ||
  fail "a drawn combination"
cat "$work/out.txt"
grep -q $'^all\t' "$work/out.txt" || fail "a row of figures"

# What does not hold has the exit status 1, and the commands that repeat it: here a program whose seed is its process.
rm "$work/odd/tools/train/train"
printf '#!/bin/bash\ncase " $* " in *--help*) exec %q "$@" ;; esac\nexec %q "$@" --seed=$$\n' \
  "${programs[0]}" "${programs[0]}" > "$work/odd/tools/train/train"
chmod +x "$work/odd/tools/train/train"
python3 "$harness" --bin="$work/odd" --draws=1 --only=repeat --keep="$work/kept" > "$work/odd.txt" 2>&1
[ $? = 1 ] || fail "the exit status of a failure"
grep -q '^FAILED draw 0: repeat' "$work/odd.txt" || fail "the line of a failure"
grep -q '^    train .*--output_dir=again' "$work/odd.txt" || fail "the commands of a failure"
[ -d "$work/kept/draw-0" ] || fail "the folder of a failure"

# A flag that no table has is an error that names it.
rm "$work/new/tools/train/train"
printf '#!/bin/bash\n%q "$@"\nprintf "\\nNew\\n  --brand_new=1 (int64)\\n      Nobody knows.\\n"\n' "${programs[0]}" \
  > "$work/new/tools/train/train"
chmod +x "$work/new/tools/train/train"
python3 "$harness" --bin="$work/new" --draws=1 > "$work/new.txt" 2>&1 && fail "a flag that no table has is let pass"
grep -q -- '--brand_new' "$work/new.txt" || fail "the name of a flag that no table has"

python3 "$harness" --bin="$work/bin" --only=nonsense > "$work/only.txt" 2>&1 && fail "--only=nonsense is let pass"
grep -q 'nonsense.*override' "$work/only.txt" || fail "the choices of --only"
python3 "$harness" --bin="$work/nowhere" > "$work/bin.txt" 2>&1 && fail "a directory without programs is let pass"
grep -q 'nowhere' "$work/bin.txt" || fail "the program that is missing"
[ "$failures" = 0 ] && echo PASSED
