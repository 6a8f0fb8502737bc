#!/usr/bin/env bash
# compare.sh [--rounds=N] [--limit=R] [--min_time=S] OLD NEW [BINARY[:REGEX]...]: is NEW slower than OLD?
#
#   OLD, NEW        a directory with benchmark programs (a checkout's bazel-bin/benchmarks), or a git revision, which is
#                   built in a worktree of its own under a temporary folder
#   BINARY[:REGEX]  neighbor: all of neighbor_benchmark; neighbor:BM_Cells: those that the regular expression finds
#                   (default: every program that both have)
#   --rounds=5      runs of each program and build, in turns
#   --limit=1.10    above this median ratio new/old a benchmark is run again by itself, twice as many rounds, and called
#                   a regression only if their median is above it, too
#   --min_time=0.1  seconds that a run of a benchmark lasts at least
#
# Prints a line for each benchmark: name, times of both (medians), ratio (median of the rounds' ratios, each of two runs
# one after the other), the least and largest ratio, and what to think of it. Status 2 when a regression is confirmed.
# Times are CPU time, or real time where the benchmark says so.
set -uo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
rounds=5 limit=1.10 min_time=0.1
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
while [[ ${1-} == --* ]]; do
  case $1 in
    --rounds=*) rounds=${1#*=} ;;
    --limit=*) limit=${1#*=} ;;
    --min_time=*) min_time=${1#*=} ;;
    --help) usage; exit 0 ;;
    *) echo "compare.sh: unknown $1; see --help" >&2; exit 1 ;;
  esac
  shift
done
[ $# -ge 2 ] || { usage >&2; exit 1; }
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "compare.sh: --rounds=$rounds: expected a number of at least 1" >&2; exit 1; }
command -v python3 > /dev/null || { echo "compare.sh: python3 is missing: apt-get install python3" >&2; exit 1; }
old=$1 new=$2
shift 2
wanted=("$@")

work=$(mktemp -d)
trees=()
# shellcheck disable=SC2317 # trap calls it
clean_up() {
  local tree
  for tree in "${trees[@]}"; do
    (cd "$tree" && bazel --output_user_root="$work/bazel" shutdown) > /dev/null 2>&1
    git -C "$root" worktree remove --force "$tree"
  done
  chmod -R u+w "$work" && rm -rf "$work"
}
trap clean_up EXIT

# programs SIDE WHAT: where the programs of a side are; a revision is built, only what is wanted of it.
programs() {
  local side=$1 what=$2 revision tree one targets=()
  directory=$what
  if [ -d "$what" ]; then return; fi
  if ! revision=$(git -C "$root" rev-parse --verify --quiet "$what^{commit}"); then
    echo "compare.sh: $what: expected a directory or a git revision" >&2
    return 1
  fi
  tree=$work/$side
  git -C "$root" worktree add --quiet --detach "$tree" "$revision" || return 1
  trees+=("$tree")
  [ ! -e "$root/user.bazelrc" ] || cp "$root/user.bazelrc" "$tree"
  for one in "${wanted[@]}"; do
    [ -z "${one%%:*}" ] || targets+=("//benchmarks:${one%%:*}_benchmark")
  done
  [ ${#targets[@]} -gt 0 ] || targets=(//benchmarks/...)
  echo "building $what" >&2
  if ! (cd "$tree" && bazel --output_user_root="$work/bazel" build --noshow_progress -- "${targets[@]}") > "$work/log" 2>&1; then
    cat "$work/log" >&2
    return 1
  fi
  directory=$tree/bazel-bin/benchmarks
}
programs old "$old" || exit 1
old_programs=$(cd "$directory" && pwd) || exit 1
programs new "$new" || exit 1
new_programs=$(cd "$directory" && pwd) || exit 1

# JSON of Google Benchmark to lines: name, nanoseconds.
times() {
  python3 -c '
import json, sys
for b in json.load(sys.stdin)["benchmarks"]:
    if b.get("run_type", "iteration") == "iteration" and not b.get("error_occurred"):
        kind = "real_time" if b["name"].endswith("real_time") else "cpu_time"
        unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[b["time_unit"]]
        print(b["name"], b[kind] * unit, sep="\t")'
}

# run FILE ROUND SIDE BINARY REGEX: appends lines to FILE: name, round, side, nanoseconds.
run() {
  local programs=$old_programs
  [ "$3" = old ] || programs=$new_programs
  if ! (cd "$root" && "$programs/$4" --benchmark_filter="$5" --benchmark_min_time="$min_time" --benchmark_format=json) \
    > "$work/json" 2> "$work/log"; then
    cat "$work/log" >&2
    echo "compare.sh: $programs/$4 failed" >&2
    exit 1
  fi
  [ -s "$work/json" ] || return 0 # nothing that the filter finds
  times < "$work/json" > "$work/times" || { echo "compare.sh: $programs/$4: no JSON that can be read" >&2; exit 1; }
  awk -v OFS='\t' -F'\t' -v round="$2" -v side="$3" '{ print $1, round, side, $2 }' "$work/times" >> "$1"
}

# alternate FILE ROUNDS BINARY REGEX: old new, new old, ...: what drifts does not favor a side.
alternate() {
  local round
  : > "$1"
  for ((round = 1; round <= $2; ++round)); do
    if ((round % 2)); then
      run "$1" "$round" old "$3" "$4"
      run "$1" "$round" new "$3" "$4"
    else
      run "$1" "$round" new "$3" "$4"
      run "$1" "$round" old "$3" "$4"
    fi
  done
}

# Lines of alternate() to: name, median old, median new, median ratio, least, largest; in the order of the first run.
summary() {
  awk -F'\t' -v OFS='\t' '
    function sorted(list, n,    i, j, x) {
      for (i = 2; i <= n; ++i) {
        x = list[i]
        for (j = i - 1; j > 0 && list[j] > x; --j) list[j + 1] = list[j]
        list[j + 1] = x
      }
    }
    function median(list, n) { return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2 }
    !($1 in seen) { seen[$1]; name[++names] = $1 }
    { time[$1, $2, $3] = $4 + 0; if ($2 > rounds) rounds = $2 + 0 }
    END {
      for (k = 1; k <= names; ++k) {
        n = 0
        for (r = 1; r <= rounds; ++r) {
          if (!((name[k], r, "old") in time) || !((name[k], r, "new") in time) || time[name[k], r, "old"] <= 0) continue
          a[++n] = time[name[k], r, "old"]
          b[n] = time[name[k], r, "new"]
          q[n] = b[n] / a[n]
        }
        if (n == 0) { print name[k] ": not in both builds" > "/dev/stderr"; continue }
        sorted(a, n); sorted(b, n); sorted(q, n)
        print name[k], median(a, n), median(b, n), median(q, n), q[1], q[n]
      }
    }' "$1"
}

duration() { awk -v t="$1" 'BEGIN { if (t < 1e3) printf "%.3g ns", t; else if (t < 1e6) printf "%.3g us", t / 1e3; else printf "%.4g ms", t / 1e6 }'; }
above() { awk -v x="$1" -v limit="$2" 'BEGIN { exit !(x > limit) }'; }

# What to run: binary, a tab, a regular expression.
choices=()
for one in "${wanted[@]}"; do
  binary=${one%%:*} regex=.
  [[ $one != *:* ]] || regex=${one#*:}
  found=
  for file in "$new_programs"/${binary:-*}_benchmark; do
    if [ ! -x "$file" ] || [ ! -x "$old_programs/${file##*/}" ]; then continue; fi
    choices+=("${file##*/}"$'\t'"$regex")
    found=yes
  done
  [ -n "$found" ] || { echo "compare.sh: $one: no such program in both builds" >&2; exit 1; }
done
if [ ${#wanted[@]} = 0 ]; then
  for file in "$new_programs"/*_benchmark; do
    [ -x "$file" ] || continue
    if [ -x "$old_programs/${file##*/}" ]; then
      choices+=("${file##*/}"$'\t'.)
    else
      echo "${file##*/}: not in both builds" >&2
    fi
  done
fi
[ ${#choices[@]} -gt 0 ] || { echo "compare.sh: no *_benchmark in both of $old_programs and $new_programs" >&2; exit 1; }

status=0
compared=0
printf 'benchmark\told\tnew\tratio\tleast\tlargest\tverdict\n'
for choice in "${choices[@]}"; do
  binary=${choice%%$'\t'*}
  alternate "$work/first" "$rounds" "$binary" "${choice#*$'\t'}"
  summary "$work/first" > "$work/rows"
  while IFS=$'\t' read -r name a b ratio least largest; do
    compared=$((compared + 1))
    verdict=
    if above "$ratio" "$limit"; then
      exact="^$(printf %s "$name" | sed 's/[].[*+?(){}|^$\\]/\\&/g')\$"
      alternate "$work/again" $((2 * rounds)) "$binary" "$exact" < /dev/null
      verdict="not confirmed, was $(printf '%.3f' "$ratio")"
      IFS=$'\t' read -r _ a b ratio least largest < <(summary "$work/again")
      if above "$ratio" "$limit"; then
        verdict=REGRESSION
        status=2
      fi
    fi
    printf '%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%s\n' "$name" "$(duration "$a")" "$(duration "$b")" "$ratio" "$least" "$largest" "$verdict"
  done < "$work/rows"
done
[ "$compared" -gt 0 ] || { echo "compare.sh: the filters find no benchmark that both builds have" >&2; exit 1; }
exit $status
