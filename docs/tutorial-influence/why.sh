#!/usr/bin/env bash
# why.sh GRAPH OUT [EPOCHS]: trains a model of the elements. For four correct answers held out of training, it writes
# the strongest training triples for and against them to OUT/why.tsv, and plots one of the four.
# Needs featurize, train and tracin on the PATH, and gnuplot.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
graph=$1 out=$2 epochs=${3:-150}
mkdir -p "$out"
featurize --output="$out/triples.safetensors" "$graph"/{train,valid,test}.txt
train --kge_model=complex --kge_loss=KvsAll --input_dropout=0.4 --max_epochs="$epochs" --seed=1 \
  --keep_every_epochs=$((epochs / 5)) --overwrite --output_dir="$out/run" "$out/triples.safetensors"
printf '%s\t%s\t%s\n' Ti element_below Zr Te in_group group_16 Hf forms_oxide MO2 Au crystal_structure fcc > "$out/answers.tsv"
# ce is the softmax over tails: the loss that this model was trained with, for one correct tail at a time.
tracin --train="$out/triples.safetensors" --test="$out/answers.tsv" --loss=ce --rank=both --top_k=6 \
  --output="$out/why.safetensors" "$out"/run/checkpoints/epoch-*.safetensors > "$out/why.tsv"
awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
  $at["test_head"] == "Hf" { printf "\"%s %s %s\"\t%s\n", $at["train_head"], $at["train_relation"], $at["train_tail"], $NF }' \
  "$out/why.tsv" > "$out/why.dat"
gnuplot -c "$here/why.gp" "$out/why.dat" > "$out/why.svg"
