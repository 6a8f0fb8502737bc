#!/usr/bin/env bash
# fuzz.sh [--seconds=60] [--rounds=1] [--corpus=DIR] [--out=DIR] [--build-only | --no-build] [TARGET...]
#
# Builds the fuzz targets with libFuzzer and AddressSanitizer (clang), copies them to OUT/bin, and runs each for so many seconds
# in each round, on one processor; all targets by default, or those whose names are given (stp_reader_fuzz). Inputs that
# reach new code are kept in CORPUS/TARGET for the next time. An input that crashes, hangs for 20 s or takes 2 GB is kept in
# OUT/found/TARGET, and the target starts again. Prints a table: executions, executions in a second of processor time (a
# busy machine gives less of it), branches reached (libFuzzer's cov, of those that the program has), inputs found. The
# exit status is 1 if any was found.
#
# Half of the time of libFuzzer's defaults went into its statistics of rare features, the stacks of allocations and
# memory kept back after it is freed: the options below do without most of it.
#
# OUT is a folder of the temporary directory unless it is given, CORPUS is OUT/corpus. Figures add up over calls with one OUT.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
seconds=60 rounds=1 out=${TMPDIR:-/tmp}/rutile-fuzz corpus='' build=yes run=yes targets=()
for argument in "$@"; do
  case $argument in
    --seconds=*) seconds=${argument#*=} ;;
    --rounds=*) rounds=${argument#*=} ;;
    --out=*) out=${argument#*=} ;;
    --corpus=*) corpus=${argument#*=} ;;
    --build-only) run=no ;;
    --no-build) build=no ;;
    -*) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
    *) targets+=("$argument") ;;
  esac
done
corpus=${corpus:-$out/corpus}
mkdir -p "$out/bin" "$out/found" "$corpus"
out=$(cd "$out" && pwd) corpus=$(cd "$corpus" && pwd)
cd "$root"
# PACKAGE TARGET FOLDER_OF_SAMPLES, from the BUILD files.
list() {
  git ls-files '*BUILD' | while read -r file; do
    awk -v package="$(dirname "$file")" '/^cc_fuzz_target\(/ { inside = 1 }
      inside && /name = / { split($0, part, "\""); name = part[2]; sub(/.*\//, "", name) }
      inside && /corpus = / { split($0, part, "\""); sub(/^\/\/testdata:/, "", part[2]); print package, name, part[2] }
      /^\)/ { inside = 0 }' "$file"
  done
}
wanted() {
  [ ${#targets[@]} = 0 ] && return 0
  local target
  for target in "${targets[@]}"; do [ "$target" = "$1" ] && return 0; done
  return 1
}
if [ $build = yes ]; then
  labels=()
  while read -r package name _; do wanted "$name" && labels+=("//$package:$name"); done < <(list)
  # Kernels of arithmetic see no bytes of files, and clang takes minutes for each with instrumentation.
  bazel build --config=clang --copt=-fsanitize=fuzzer-no-link,address --linkopt=-fsanitize=fuzzer,address \
    --copt=-DRUTILE_FUZZING --copt=-O1 \
    '--per_file_copt=lib/(matrix|network|many_body|optimizer|descriptor/kernels|kge/layers)/.*@-fno-sanitize=all' \
    "${labels[@]}" >&2
  while read -r package name _; do
    wanted "$name" && install -m 755 "bazel-bin/$package/$name" "$out/bin/$name"
  done < <(list)
fi
[ $run = yes ] || exit 0
for ((round = 1; round <= rounds; ++round)); do
  while read -r _ name samples; do
    wanted "$name" || continue
    mkdir -p "$corpus/$name" "$out/found/$name"
    # A damaged file takes up to 17 bytes of edits: each execution reads one.
    longest=4096
    [ "$samples" = edits ] && longest=17
    log=$out/$name.log
    end=$((SECONDS + seconds))
    while ((SECONDS < end)); do
      # A target that ends before its time has found something, which it has written to a file.
      TIMEFORMAT='stat::processor_seconds: %U %S'
      {
        time TEST_TMPDIR=$out ASAN_OPTIONS=malloc_context_size=1:quarantine_size_mb=4 "$out/bin/$name" \
          -max_total_time=$((end - SECONDS)) -max_len=$longest -entropic=0 -detect_leaks=0 -timeout=20 \
          -report_slow_units=1000 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/found/$name/" \
          "$corpus/$name" "testdata/$samples" > "$log.now" 2>&1
      } 2> "$log.time" || true
      cat "$log.time" >> "$log.now"
      grep -aE '^stat::number_of_executed_units|cov: |INFO: Loaded 1 modules|^Done|SUMMARY' "$log.now" | tail -n 40 >> "$log"
      grep -aE 'INFO: Loaded' "$log.now" >> "$log" || true
      awk '/^stat::number_of_executed_units/ { n = $2 } /^stat::processor_seconds/ { print n + 0 "\t" $2 + $3 }' "$log.now" \
        >> "$out/$name.runs"
      rm -f "$log.now" "$log.time"
    done
  done < <(list)
done
printf 'target\texecutions\ta processor second\tbranches reached\tof\tinputs found\n'
total=0 any=0
while read -r _ name _; do
  if ! wanted "$name" || [ ! -e "$out/$name.runs" ]; then continue; fi
  read -r executions rate < <(awk '{ n += $1; t += $2 } END { printf "%.0f %.0f\n", n, (t > 0 ? n / t : 0) }' "$out/$name.runs")
  reached=$({ grep -ao 'cov: [0-9]*' "$out/$name.log" || true; } | awk '$2 > most { most = $2 } END { print most + 0 }')
  of=$({ grep -ao 'Loaded 1 modules *([0-9]*' "$out/$name.log" || true; } | tail -n 1 | tr -dc '0-9\n' | sed 's/^1//')
  found=$(find "$out/found/$name" -type f ! -name "slow-unit*" | wc -l)
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$executions" "$rate" "$reached" "$of" "$found"
  total=$((total + executions)) any=$((any + found))
done < <(list)
printf 'all\t%s\t\t\t\t%s\n' "$total" "$any"
[ "$any" = 0 ]
