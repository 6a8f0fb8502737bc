#!/usr/bin/env bash
# trained.sh potential DATA EVALUATE_FLAG MODEL FLAGS...   trained.sh folds PREFIX FLAGS...   trained.sh triples DATA FLAGS...
#
# Trains with the flags, into the folder "run" where they name no other, and prints one line for quality.tsv, between tabs:
#   potential  errors of run/MODEL.safetensors (or a glob of a committee) on what EVALUATE_FLAG selects of DATA: meV/atom, the largest, eV/Angstrom,
#              the largest, seconds of a processor for train
#   folds      the same over the structures that PREFIX0.extxyz, PREFIX1.extxyz and so on call test-*, each file trained
#              on by itself; seconds of one of them
#   triples    test MRR, Hits@1, Hits@10, seconds of a processor
set -euo pipefail
TIMEFORMAT='%U %S'
# train_timed FLAGS...: its table goes to table.txt, its seconds to seconds.txt.
train_timed() {
  rm -rf run
  { time train --threads=1 --plot=false --output_dir=run "$@" > table.txt 2> train.log; } 2> seconds.txt ||
    { cat train.log >&2; exit 1; }
}
seconds() { awk '{ s += $1 + $2 } END { printf "%.1f\n", s / NR }' "$@"; }
# Sums of squares, weighted by counts: of one evaluation these are its own errors.
errors() {
  awk -F'\t' '$1 == "all" && ($3 == "energy" || $3 == "force") {
      n[$3] += $5; s[$3] += $5 * $6 * $6; if ($8 > largest[$3]) largest[$3] = $8 }
    END { printf "%.3g\t%.3g\t%.3g\t%.3g\t", sqrt(s["energy"] / n["energy"]), largest["energy"], sqrt(s["force"] / n["force"]), largest["force"] }' "$@"
}
what=$1
case $what in
  potential)
    data=$2 selected=$3 model=$4
    shift 4
    train_timed "$@" "$data"
    evaluate "$selected" "run/$model.safetensors" "$data" > errors.0.tsv
    mv seconds.txt seconds.0.txt ;;
  folds)
    prefix=$2
    shift 2
    k=0
    while [ -e "$prefix$k.extxyz" ]; do
      train_timed "$@" "$prefix$k.extxyz"
      evaluate '--config_type=test-*' run/last.safetensors "$prefix$k.extxyz" > "errors.$k.tsv"
      mv seconds.txt "seconds.$k.txt"
      k=$((k + 1))
    done
    [ "$k" -gt 0 ] || { echo "trained.sh: no file ${prefix}0.extxyz" >&2; exit 1; } ;;
  triples)
    data=$2
    shift 2
    train_timed "$@" "$data"
    awk -F'\t' '$1 == "test" { printf "%.4f\t%.4f\t%.4f\t", $3, $5, $7 }' table.txt
    seconds seconds.txt
    exit ;;
  *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
errors errors.*.tsv
seconds seconds.*.txt
rm -f errors.*.tsv seconds.*.txt
