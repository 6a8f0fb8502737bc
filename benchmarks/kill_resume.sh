#!/usr/bin/env bash
# kill_resume.sh [--kills=N] [--seed=S] [--work=DIR] TRAIN CASES [NAME=VALUE...]
#
# kill -9 at random moments, and whether the run that goes on with --resume=auto is the run that was never stopped: bit
# for bit its models, checkpoints, the table of errors, and logs but for their columns of times.
#
#   TRAIN       the program
#   CASES       a file with a line for each run: a name, a colon, flags and inputs as the shell reads them
#   NAME=VALUE  for $NAME in these lines: FEATURES=$PWD/features.safetensors
#   --kills=10  of each run, by turns: at any moment, after training has begun, and when a file is being written
#   --seed=1    of the moments
#   --work=DIR  where runs are kept (default: a new directory of mktemp's, removed when all are equal)
#
# Prints a line for each run: name, kills, runs that ended all the same and were compared, kills inside a write (a temporary file was left) and before there was a
# checkpoint, steps from which sessions went on, seconds that the uninterrupted run trained. Status 1 when anything
# differs.
set -uo pipefail
kills=10 seed=1 work=
while [[ ${1-} == --* ]]; do
  case $1 in
    --kills=*) kills=${1#*=} ;;
    --seed=*) seed=${1#*=} ;;
    --work=*) work=${1#*=} ;;
    *) echo "unknown $1; see the head of $0" >&2 && exit 2 ;;
  esac
  shift
done
[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
train=$(realpath "$1") cases=$(realpath "$2")
shift 2
for setting in "$@"; do declare "$setting"; done
own_work=$([ -n "$work" ] || echo yes)
[ -n "$work" ] || work=$(mktemp -d)
mkdir -p "$work"
RANDOM=$seed
failures=0

# Random microseconds up to $1 seconds, as seconds.
moment() { awk -v r=$((RANDOM * 32768 + RANDOM)) -v s="$1" 'BEGIN { printf "%.4f", r / 1073741824 * s }'; }
being_written() { compgen -G 'run/*.tmp.*' > /dev/null || compgen -G 'run/*/*.tmp.*' > /dev/null; }
# The logs without their times, which are the last two columns of log.tsv and the last of steps.tsv.
logs() {
  [ ! -e "$1/log.tsv" ] || awk -F'\t' '{ NF -= 2; print }' "$1/log.tsv"
  [ ! -e "$1/steps.tsv" ] || awk -F'\t' '{ NF -= 1; print }' "$1/steps.tsv"
  [ ! -e "$1/log.jsonl" ] || sed 's/,"epoch_time".*//' "$1/log.jsonl"
  [ ! -e "$1/steps.jsonl" ] || sed 's/,"time".*//' "$1/steps.jsonl"
}
files() { (cd "$1" && ls ./*.safetensors checkpoints/*.safetensors ./*_frames.txt config.json flags.txt 2> /dev/null); }
different() { echo "$name: DIFFERENT: $*" >&2; different=yes; }
# In the directory of the killed run.
compare() {
  local whole=../whole different=
  [ "$(files $whole/run)" = "$(files run)" ] || different "files: $(diff <(files $whole/run) <(files run))"
  for file in $(files $whole/run); do cmp -s "$whole/run/$file" "run/$file" || different "$file"; done
  cmp -s $whole/stdout stdout || different "standard output"
  diff <(logs $whole/run) <(logs run) > logs.diff || different "logs: $(head -5 logs.diff)"
  being_written && different "temporary files are left"
  [ -z "$different" ] || failures=$((failures + 1))
}
has_begun() { [[ $(< stderr) == *"goes on from"* || $(< stderr) == *"a new run starts"* ]]; }
went_on() { from="$from $(sed -n 's/.*goes on from .*, step \([0-9]*\)$/\1/p' stderr)"; }
is_running() { kill -0 "$1" 2> /dev/null; }

printf 'run\tkills\truns_ended\tinside_a_write\tbefore_a_checkpoint\twent_on_from\tseconds\n'
while IFS= read -r line; do
  [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
  name=${line%%:*}
  eval "arguments=(${line#*:})" # the case's own words, with $NAME
  rm -rf "${work:?}/$name"
  mkdir -p "$work/$name/whole" "$work/$name/killed"
  run() { "$train" "${arguments[@]}" --resume=auto --output_dir=run > stdout 2> stderr; }
  cd "$work/$name/whole" || exit 2
  if ! run; then
    echo "$name: the uninterrupted run failed: $(tail -1 stderr)" >&2
    failures=$((failures + 1))
    continue
  fi
  seconds=$(sed -n 's/.* steps, \([0-9.]*\) s .*/\1/p' stderr)
  # Twice the run's share of a session, as what is killed is partly done again.
  share=$(awk -v s="$seconds" -v k="$kills" 'BEGIN { print 2 * s / (k + 1) }')
  cd ../killed || exit 2
  inside=0 before=0 from= ended=0 kill=0
  # A run that ends before all its kills have come is begun once more.
  while ((kill < kills)); do
    rm -rf run
    status=137
    while [ $status = 137 ] && ((kill < kills)); do
      : > stderr # or the last session's is taken for this one's
      "$train" "${arguments[@]}" --resume=auto --output_dir=run > stdout 2> stderr &
      process=$!
      if ((kill % 3 == 0)); then
        sleep "$(moment 2)"
      else
        until has_begun || ! is_running $process; do :; done
        sleep "$(moment "$share")"
        if ((kill % 3 == 2)); then
          until being_written || ! is_running $process; do :; done
        fi
      fi
      kill -9 $process 2> /dev/null
      wait $process 2> /dev/null
      status=$?
      went_on
      [ $status = 137 ] || break
      kill=$((kill + 1))
      if has_begun && being_written; then inside=$((inside + 1)); fi
      [ -e run/checkpoints/last.safetensors ] || before=$((before + 1))
    done
    if [ $status = 137 ]; then
      run
      status=$?
      went_on
    fi
    if [ $status != 0 ]; then
      echo "$name: status $status: $(tail -1 stderr)" >&2
      failures=$((failures + 1))
      break
    fi
    compare
    ended=$((ended + 1))
  done
  cd ..
  printf '%s\t%d\t%d\t%d\t%d\t%s\t%s\n' "$name" $kill $ended $inside $before "$(echo $from)" "$seconds"
done < "$cases"
cd /
[ -z "$own_work" ] || [ $failures != 0 ] || rm -rf "$work"
[ $failures = 0 ] || { echo "$failures runs differ; they are in $work" >&2; exit 1; }
