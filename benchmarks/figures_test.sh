#!/usr/bin/env bash
# figures.sh with programs that pretend: rows and cells come out as the table says, what cannot be run is said.
set -uo pipefail
figures=$(realpath "$1")
real_tables=$(realpath "${@:2}")
scratch=${TEST_TMPDIR:-$(mktemp -d)}/figures
rm -rf "$scratch" && mkdir -p "$scratch/programs/benchmarks" "$scratch/data/kg" && cd "$scratch" || exit 1

failures=0
expect() { # expect WHAT COMMAND...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what" >&2; cat out errors >&2; failures=$((failures + 1)); }
}
for tool in cache-neighbors featurize train evaluate tracin profile; do
  mkdir -p "programs/tools/$tool"
  cat > "programs/tools/$tool/$tool" << 'PROGRAM'
#!/usr/bin/env bash
[ "${1-}" != broken ] || { echo "this is why" >&2; exit 1; }
[ "$(basename "$0")" != train ] || { mkdir run && printf 'epoch\tepoch_time[s]\n1\t0.003\n2\t0.001\n3\t0.002\n' > run/log.tsv; }
printf 'first\nsecond\t7\n'
PROGRAM
  chmod +x "programs/tools/$tool/$tool"
done
cat > programs/benchmarks/a_benchmark << 'PROGRAM'
#!/usr/bin/env bash
printf '%s\n' "$@" > arguments.a
run() { echo "{\"name\": \"$1\", \"run_name\": \"$1\", \"run_type\": \"$2\", \"cpu_time\": $3, \"time_unit\": \"us\", \"items_per_second\": $4, \"ns_step\": $3, \"flop/s\": $4}"; }
echo "{\"benchmarks\": [$(run 'BM_A<float, x>/1' iteration 4 2e6), $(run 'BM_A<float, x>/1' iteration 2 5e6),
  $(run 'BM_A<float, x>/1' iteration 3 4e6), $(run 'BM_A<float, x>/1' aggregate 99 9e9), $(run BM_B iteration 1234.5 1e6)]}"
PROGRAM
chmod +x programs/benchmarks/a_benchmark
tab() { sed 's/ *| */\t/g'; } # columns are easier to see between bars
tab > table << 'TABLE'
# a comment
one | head | row;x;y
one | benchmark | first | a | items_per_second/1e6 cpu_time/1e3 | BM_A<float, x>/1
one | benchmark | counters | a | ns_step flop/s/1e6 | BM_A<float, x>/1
one | benchmark | both | a | ns_per_item | BM_A<float, x>/1;BM_B
two | setup | - | - | echo made > file
two | head | row;ms
two | epoch | trained | - | test -e file && train
two | head | row;name;number
two | text | printed | - | featurize
two | cpu | measured | kg/there | evaluate
TABLE
# The root of the checkout is where benchmarks run; here it is the folder above the script.
mkdir checkout && cp "$figures" checkout/figures.sh
run() { checkout/figures.sh --programs=programs --table=table "$@" > out 2> errors; }

run --repetitions=3 one
expect "status" [ $? = 0 ]
expect "rates: the largest is best; times: the least" grep -qxF '| first | 5 / 4 | 2 / 3 |' out
expect "counters: of time, and with a bar in their name" grep -qxF '| counters | 2 / 3 | 5 / 4 |' out
expect "several names; one run has no median" grep -qxF '| both | 200 / 250 | 1000 |' out
expect "head" grep -qxF '| row | x | y |' out
expect "line below the head" grep -qxF '|---|---|---|' out
expect "one process for all names" [ "$(grep -F filter arguments.a)" = '--benchmark_filter=^(BM_A<float, x>/1|BM_A<float, x>/1|BM_A<float, x>/1|BM_B)$' ]
expect "load" grep -q 'figures.sh: one: load' errors

run --repetitions=2 two
expect "status" [ $? = 0 ]
expect "epochs" grep -qxF '| trained | 1 / 2 |' out
expect "text" grep -qxF '| printed | second | 7 |' out
expect "what is left out is said" grep -q 'two, measured: left out: needs kg/there' errors
touch data/kg/there
run --repetitions=2 --data=data two
expect "seconds and memory" grep -qE '^\| measured \| [0-9.]+ / [0-9.]+ \| [0-9]+ \|$' out

run
expect "all sections" [ "$(grep -c '^## ' out)" = 2 ]
run --list
expect "list" [ "$(paste -sd' ' out)" = "one two" ]

fails() { # fails MESSAGE ARGUMENT...
  local message=$1
  shift
  run "$@"
  expect "$*: status" [ $? = 1 ]
  expect "$*: $message" grep -q -- "$message" errors
}
fails 'three: no such section' three
fails 'unknown --round=2' --round=2
fails 'expected a number of at least 1' --repetitions=0
fails 'no such directory' --data=nowhere
fails 'nowhere: cannot be read' --table=nowhere
printf 'one\tcpu\trow\t-\tevaluate broken\n' > table
fails 'this failed: evaluate broken' one
expect "its messages" grep -q 'this is why' errors
printf 'one\tbenchmark\trow\ta\tbytes_per_second\tBM_B\n' > table
fails 'BM_B has no bytes_per_second' one
printf 'one\tboil\trow\t-\ttrain\n' > table
fails 'boil: expected' one

# The tables themselves: kinds and the number of fields, and no cell without a head.
# shellcheck disable=SC2086  # paths without spaces
expect "fields of the real tables" awk -F'\t' '
  /^#/ { next }
  { fields["head"] = 3; fields["benchmark"] = 6; fields["setup"] = fields["cpu"] = fields["epoch"] = fields["text"] = 5 }
  NF != fields[$2] { print "line " FNR ": " $0; bad = 1 }
  { for (k = 1; k <= NF; ++k) if ($k == "") { print "line " FNR ": an empty field"; bad = 1 } }
  END { exit bad }' $real_tables
[ $failures = 0 ]
