#!/usr/bin/env bash
# instruction_counts.sh [--update] [--limit=PERCENT] PROGRAM [BASELINES]: has a kernel become dearer?
#
#   PROGRAM      bazel-bin/benchmarks/instructions
#   BASELINES    (default: baselines.tsv beside this script) its lines of the kind "instructions" are compared
#   --update     writes what was counted into BASELINES instead: after a change that is meant, or with another compiler
#   --limit=3    percent that a count may differ, up or down
#
# Instructions that callgrind counts inside the kernels' calls do not depend on what else the machine does. valgrind
# shows programs AVX2 at most, so that it is this path that is counted; where it is missing nothing is compared, and
# status is 0. Status 2 when a count differs by more: a gain, too, so that the baseline stays true.
set -uo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
limit=3 update=
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
while [[ ${1-} == --* ]]; do
  case $1 in
    --update) update=yes ;;
    --limit=*) limit=${1#*=} ;;
    --help) usage; exit 0 ;;
    *) echo "instruction_counts.sh: unknown $1; see --help" >&2; exit 1 ;;
  esac
  shift
done
[ $# = 1 ] || [ $# = 2 ] || { usage >&2; exit 1; }
program=$1
baselines=${2:-$here/baselines.tsv}
command -v valgrind > /dev/null || { echo "instruction_counts.sh: valgrind is missing: apt-get install valgrind" >&2; exit 1; }
[ -r "$baselines" ] || { echo "instruction_counts.sh: $baselines: cannot be read" >&2; exit 1; }
kernels=$("$program") || { echo "instruction_counts.sh: $program: does not run" >&2; exit 1; }

counts=$(mktemp) log=$(mktemp)
trap 'rm -f "$counts" "$log"' EXIT
for kernel in $kernels; do
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=MeasuredCalls "$program" "$kernel" > "$log" 2>&1
  status=$?
  if [ $status = 3 ]; then
    echo "this machine has no AVX2: nothing is compared"
    exit 0
  fi
  count=$(sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p' "$log")
  if [ $status != 0 ] || [ -z "$count" ] || [ "$count" = 0 ]; then
    cat "$log" >&2
    echo "instruction_counts.sh: $kernel: callgrind counted nothing (status $status)" >&2
    exit 1
  fi
  printf '%s\t%s\n' "$kernel" "$count" >> "$counts"
done

if [ -n "$update" ]; then
  compiler=$(strings -a "$program" 2> /dev/null | sed -n 's/^GCC: (.*) \([0-9]*\.[0-9]*\).*/gcc \1/p; s/^.*clang version \([0-9]*\).*/clang \1/p' | sort -u | head -1)
  machine="$(valgrind --version), AVX2, ${compiler:-a compiler that the program does not name}"
  commit=$(git -C "$here" rev-parse --short HEAD 2> /dev/null || echo unknown)
  { # the head, the new counts in the place of the old ones, everything else
    head -n 1 "$baselines"
    while IFS=$'\t' read -r kernel count; do
      printf 'instructions\t%s\t%s\t\t%s\t%s\tbenchmarks/instruction_counts.sh --update bazel-bin/benchmarks/instructions\n' \
        "$kernel" "$count" "$machine" "$commit"
    done < "$counts"
    tail -n +2 "$baselines" | grep -v '^instructions' || true
  } > "$baselines.tmp.$$" && mv "$baselines.tmp.$$" "$baselines"
  exit
fi

awk -F'\t' -v limit="$limit" '
  NR == FNR { if ($1 == "instructions") base[$2] = $3; next }
  !($1 in base) { printf "%-12s %12d  no baseline\n", $1, $2; bad = 1; next }
  {
    percent = 100 * ($2 / base[$1] - 1)
    far = percent > limit || percent < -limit
    printf "%-12s %12d  baseline %12d  %+.2f %%%s\n", $1, $2, base[$1], percent, far ? "  DIFFERS" : ""
    bad = bad || far
    delete base[$1]
  }
  END {
    for (name in base) { printf "%-12s is in the baselines alone\n", name; bad = 1 }
    exit bad ? 2 : 0
  }' "$baselines" "$counts"
status=$?
[ $status = 0 ] || echo "if this is meant, write the new counts with: $0 --update $program"
exit $status
