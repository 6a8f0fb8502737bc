#!/usr/bin/env bash
# compare.sh with programs that pretend: what is slower is called so, what was slow by chance is not.
set -uo pipefail
compare=$(realpath "$1")
scratch=${TEST_TMPDIR:-$(mktemp -d)}/compare
rm -rf "$scratch" && mkdir -p "$scratch/old" "$scratch/new" && cd "$scratch" || exit 1

failures=0
expect() { # expect WHAT COMMAND...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what" >&2; failures=$((failures + 1)); }
}

# program SIDE NAME: reads "benchmark time unit [times that it is slow at first, by what]" from SIDE/NAME.rows.
program() {
  cat > "$1/$2_benchmark" << 'PROGRAM'
#!/usr/bin/env bash
filter=.
for argument in "$@"; do [[ $argument != --benchmark_filter=* ]] || filter=${argument#*=}; done
rows="" comma=""
while read -r name time unit slow factor; do
  [[ $name =~ $filter ]] || continue
  runs=$(cat "$0.$(tr -c 'A-Za-z0-9\n' _ <<< "$name")" 2> /dev/null || echo 0)
  echo $((runs + 1)) > "$0.$(tr -c 'A-Za-z0-9\n' _ <<< "$name")"
  [ "$runs" -ge "${slow:-0}" ] || time=$((time * factor))
  rows+="$comma{\"name\": \"$name\", \"run_type\": \"iteration\", \"cpu_time\": $time, \"real_time\": 7, \"time_unit\": \"$unit\"}"
  comma=,
done < "${0%_benchmark}.rows"
echo "$(basename "$(dirname "$0")")" >> "$(dirname "$0")/../order"
[ -z "$rows" ] || echo "{\"benchmarks\": [$rows]}"
PROGRAM
  chmod +x "$1/$2_benchmark"
  cat > "$1/$2.rows"
}

program old a <<< $'BM_Same<float>/1 100 ns\nBM_Slower(x)/2 10 us\nBM_Chance/3 50 ms\nBM_Wall/real_time 1 ns\nBM_Gone 1 ns'
program new a <<< $'BM_Same<float>/1 101 ns\nBM_Slower(x)/2 15 us\nBM_Chance/3 50 ms 3 2\nBM_Wall/real_time 9 ns'
program old b <<< 'BM_Faster 100 ns'
program new b <<< 'BM_Faster 50 ns'
program new c <<< 'BM_New 50 ns'

"$compare" --rounds=3 old new > table 2> errors
expect "status 2 for a regression" [ $? = 2 ]
row() { grep -F "$1"$'\t' table; }
expect "equal" [ "$(row 'BM_Same<float>/1')" = $'BM_Same<float>/1\t100 ns\t101 ns\t1.010\t1.010\t1.010\t' ]
expect "slower" [ "$(row 'BM_Slower(x)/2')" = $'BM_Slower(x)/2\t10 us\t15 us\t1.500\t1.500\t1.500\tREGRESSION' ]
expect "slow by chance" [ "$(row BM_Chance/3)" = $'BM_Chance/3\t50 ms\t50 ms\t1.000\t1.000\t1.000\tnot confirmed, was 2.000' ]
expect "real time where the name says so" [ "$(row BM_Wall/real_time | cut -f2,3)" = $'7 ns\t7 ns' ]
expect "faster" [ "$(row BM_Faster | cut -f4,7)" = $'0.500\t' ]
expect "what one build lacks" grep -q 'c_benchmark: not in both builds' errors
expect "what one program lacks" grep -q 'BM_Gone: not in both builds' errors
expect "builds alternate" [ "$(head -6 order | tr '\n' ' ')" = "old new new old old new " ]

"$compare" --rounds=2 old new b > table 2> errors
expect "status 0" [ $? = 0 ]
expect "one program alone" [ "$(cut -f1 table | tr '\n' ' ')" = "benchmark BM_Faster " ]
"$compare" --rounds=1 old new a:Same > table 2> errors
expect "one benchmark alone" [ "$(cut -f1 table | tr '\n' ' ')" = "benchmark BM_Same<float>/1 " ]
"$compare" --rounds=1 --limit=2 old new a:Slower > table 2> errors
expect "another limit" [ $? = 0 ]

fails() { # fails MESSAGE ARGUMENT...
  local message=$1
  shift
  "$compare" "$@" > table 2> errors
  expect "$*: status" [ $? = 1 ]
  expect "$*: $message" grep -q -- "$message" errors
}
fails 'compare.sh: nowhere: expected a directory or a git revision' nowhere new
fails 'd: no such program in both builds' old new d
fails 'the filters find no benchmark' old new a:BM_None
fails 'unknown --round=2' --round=2 old new
fails 'expected a number of at least 1' --rounds=0 old new
printf '#!/bin/sh\necho broken >&2\nexit 3\n' > new/b_benchmark
fails 'new/b_benchmark failed' old new b

[ $failures = 0 ]
