#!/usr/bin/env bash
# figures.sh [OPTIONS] [SECTION...]: measures the tables of docs/performance-*.md again, and prints them in its form.
#
#   SECTION           of figures.tsv, which says what is run for each row; --list shows them (default: all);
#                     --table=benchmarks/quality.tsv has those of models' errors and ranks
#   --data=DIR        data that are not shipped: DIR/potential/tio2_1000.extxyz.gz, DIR/kg/FB15k-237 and so on, or
#                     RUTILE_DATA; rows that need what is not there are left out, and it says so
#   --programs=DIR    programs that are built already (default: bazel-bin, built first)
#   --repetitions=5   runs of each benchmark and command
#   --min_time=0.1    seconds that a run of a benchmark lasts at least
#   --table=FILE      instead of figures.tsv beside this script
#
# A cell has the best and the median of the runs. Times are processor time, one thread, unless a row says so. Benchmarks of
# one program and section run in one process, in random order (not sums of two processes). The load before and after is
# told on stderr: other work on the machine makes medians worse, and best values less. Status 1 when a command fails.
set -uo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
repetitions=5 min_time=0.1 programs='' table=$here/figures.tsv data=${RUTILE_DATA-} list=''
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
fail() { echo "figures.sh: $*" >&2; exit 1; }
while [[ ${1-} == --* ]]; do
  case $1 in
    --data=*) data=${1#*=} ;;
    --programs=*) programs=${1#*=} ;;
    --repetitions=*) repetitions=${1#*=} ;;
    --min_time=*) min_time=${1#*=} ;;
    --table=*) table=${1#*=} ;;
    --list) list=yes ;;
    --help) usage; exit 0 ;;
    *) fail "unknown $1; see --help" ;;
  esac
  shift
done
[[ $repetitions =~ ^[1-9][0-9]*$ ]] || fail "--repetitions=$repetitions: expected a number of at least 1"
[ -r "$table" ] || fail "$table: cannot be read"
[ -z "$data" ] || [ -d "$data" ] || fail "--data=$data: no such directory"
command -v python3 > /dev/null || fail "python3 is missing: apt-get install python3"
sections=$(grep -v '^#' "$table" | cut -f1 | awk 'NF && !seen[$0]++')
[ -z "$list" ] || { echo "$sections"; exit 0; }
for section in "$@"; do
  grep -qxF -e "$section" <<< "$sections" || fail "$section: no such section in $table; --list shows them"
done
[ $# -gt 0 ] || mapfile -t all <<< "$sections"
[ $# -gt 0 ] || set -- "${all[@]}"
[ -z "$data" ] || data=$(cd "$data" && pwd)
tools=(cache-neighbors featurize train evaluate tracin profile)
if [ -z "$programs" ]; then
  (cd "$root" && bazel build --noshow_progress //:tools //benchmarks/...) >&2 || exit 1
  programs=$root/bazel-bin
fi
programs=$(cd "$programs" && pwd) || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for tool in "${tools[@]}"; do ln -s "$programs/tools/$tool/$tool" "$work/bin/"; done
export PATH=$work/bin:$PATH DATA=$data ROOT=$root
load() { echo "figures.sh: $1: load $(cut -d' ' -f1-3 /proc/loadavg)" >&2; }

# best_and_median SMALLEST|LARGEST: of the numbers on stdin, four digits at most.
best_and_median() {
  sort -g | awk -v best="$1" '
    function short(x) { return x >= 1000 ? sprintf("%.0f", x) : sprintf("%.3g", x) }
    { x[NR] = $1 }
    END {
      if (NR == 0) exit 1
      median = NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2
      print short(best == "LARGEST" ? x[NR] : x[1]) (NR > 1 ? " / " short(median) : "")
    }'
}

# run_benchmarks SECTION PROGRAM: all of the section's names; $work/PROGRAM.tsv gets lines name, quantity, value.
run_benchmarks() {
  local names filter order=(--benchmark_enable_random_interleaving)
  [ "$2" != reduction ] || order=() # its two processes must agree on the order
  names=$(awk -F'\t' -v s="$1" -v p="$2" '$1 == s && $2 == "benchmark" && $4 == p { print $6 }' "$table" | tr ';' '\n')
  filter=$(sed 's/[].[*+?(){}|^$\\]/\\&/g' <<< "$names" | paste -sd'|')
  if ! (cd "$root" && OMP_NUM_THREADS=1 "$programs/benchmarks/$2_benchmark" --benchmark_filter="^($filter)\$" --benchmark_format=json \
    --benchmark_repetitions="$repetitions" --benchmark_min_time="$min_time" "${order[@]}") \
    > "$work/json" 2> "$work/log"; then
    cat "$work/log" >&2
    fail "$2_benchmark failed"
  fi
  python3 -c '
import json, sys
for run in json.load(sys.stdin)["benchmarks"]:
    if run.get("run_type", "iteration") == "iteration" and not run.get("error_occurred"):
        to_ns = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[run["time_unit"]]
        for key, value in run.items():
            if type(value) in (int, float):
                print(run["run_name"], key, value * (to_ns if key.endswith("_time") else 1), sep="\t")
' < "$work/json" > "$work/$2.tsv" || fail "$2_benchmark: no JSON that can be read"
}

# benchmark_cells PROGRAM READ NAMES: READ is "QUANTITY[/DIVISOR]"s with a space between them. A quantity that is a time, by
# its name, is best where it is least, others where they are largest.
benchmark_cells() {
  local name read quantity divisor best cell
  while read -r name; do
    for read in $2; do
      quantity=$read divisor=1
      if [[ $read =~ ^(.*)/([0-9.e]+)$ ]]; then quantity=${BASH_REMATCH[1]} divisor=${BASH_REMATCH[2]}; fi
      best=LARGEST
      [[ ! $quantity =~ (_time|_us|_s)$|^(us|ns)(_|$) ]] || best=SMALLEST
      if [ "$quantity" = ns_per_item ]; then
        best=SMALLEST
        cell=$(awk -F'\t' -v n="$name" '$1 == n && $2 == "items_per_second" { print 1e9 / $3 }' "$work/$1.tsv" | best_and_median SMALLEST)
      else
        cell=$(awk -F'\t' -v n="$name" -v q="$quantity" -v d="$divisor" '$1 == n && $2 == q { print $3 / d }' "$work/$1.tsv" | best_and_median $best)
      fi
      [ -n "$cell" ] || fail "$1_benchmark: $name has no $quantity"
      printf ' %s |' "$cell"
    done
  done < <(tr ';' '\n' <<< "$3")
}

# run_command COMMAND: in a new empty folder "run" each time; its output stays in $work/log.
run_command() {
  rm -rf "$work/run"
  if ! (cd "$work" && bash -c "$1") > "$work/log" 2>&1; then
    cat "$work/log" >&2
    fail "this failed: $1"
  fi
}

# cpu_cells COMMAND: seconds of user and system, and peak memory.
cpu_cells() {
  local run
  : > "$work/seconds"
  : > "$work/memory"
  for ((run = 0; run < repetitions; ++run)); do
    rm -rf "$work/run"
    python3 -c '
import os, subprocess, sys
log = open(sys.argv[2], "wb")
process = subprocess.Popen(["bash", "-c", "exec " + sys.argv[1]], stdout=log, stderr=log, cwd=sys.argv[3])
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)
sys.exit(status != 0)' "$1" "$work/log" "$work" > "$work/usage" || { cat "$work/log" >&2; fail "this failed: $1"; }
    cut -d' ' -f1 "$work/usage" >> "$work/seconds"
    cut -d' ' -f2 "$work/usage" >> "$work/memory"
  done
  printf ' %s | %s |' "$(best_and_median SMALLEST < "$work/seconds")" "$(sort -g "$work/memory" | head -1 | xargs printf %.0f)"
}

# epoch_cells COMMAND: milliseconds of an epoch, from the log of each of the runs, whose folder is "run".
epoch_cells() {
  local run
  : > "$work/epochs"
  for ((run = 0; run < repetitions; ++run)); do
    run_command "$1"
    awk -F'\t' '$1 ~ /^#/ { next } !column { for (k = 1; k <= NF; ++k) if (index($k, "epoch_time") == 1) column = k; next }
      { print 1e3 * $column }' "$work/run/log.tsv" >> "$work/epochs"
  done
  printf ' %s |' "$(best_and_median SMALLEST < "$work/epochs")"
}

# text_cells COMMAND: what it prints last, a cell for each column between tabs.
text_cells() {
  run_command "$1"
  tail -n 1 "$work/log" | sed 's/\t/ | /g; s/^/ /; s/$/ |/' | tr -d '\n'
}

for section in "$@"; do
  load "$section"
  printf '\n## %s\n' "$section"
  rm -f "$work"/*.tsv
  while IFS=$'\t' read -r of kind label need how what; do
    [ "$of" = "$section" ] || continue
    case $kind in
      head)
        printf '\n| %s |\n|' "$(sed 's/;/ | /g' <<< "$label")"
        tr ';' '\n' <<< "$label" | while read -r _; do printf -- '---|'; done
        echo
        continue ;;
      benchmark)
        [ -e "$work/$need.tsv" ] || run_benchmarks "$section" "$need"
        cells=$(benchmark_cells "$need" "$how" "$what") || exit 1
        echo "| $label |$cells"
        continue ;;
    esac
    if [ "$need" != - ] && { [ -z "$data" ] || [ ! -e "$data/$need" ]; }; then
      echo "figures.sh: $section, $label: left out: needs $need under --data" >&2
      continue
    fi
    case $kind in
      setup) run_command "$how" ;;
      cpu | epoch | text)
        cells=$("${kind}_cells" "$how") || exit 1
        echo "| $label |$cells" ;;
      *) fail "$table: $kind: expected head, benchmark, setup, cpu, epoch or text" ;;
    esac
  done < "$table"
  load "$section, end"
done
