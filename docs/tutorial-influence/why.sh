#!/usr/bin/env bash
# why.sh GRAPH OUT [EPOCHS]: a model of the elements, and for four of its right answers, which training has not seen, the
# training triples that speak for them most and those that speak against them, in OUT/why.tsv; a picture of one of them.
# Needs featurize, train and tracin on the PATH, and gnuplot.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
graph=$1 out=$2 epochs=${3:-150}
mkdir -p "$out"
featurize --output="$out/triples.safetensors" "$graph"/{train,valid,test}.txt
train --kge_model=complex --kge_loss=KvsAll --input_dropout=0.4 --max_epochs="$epochs" --seed=1 \
  --keep_every_epochs=$((epochs / 5)) --overwrite --output_dir="$out/run" "$out/triples.safetensors"
printf '%s\t%s\t%s\n' Ti element_below Zr Te in_group group_16 Hf forms_oxide MO2 Au crystal_structure fcc > "$out/answers.tsv"
# ce: the softmax that names the tail; for this model the loss that it was trained with, with one right tail at a time.
tracin --train="$out/triples.safetensors" --test="$out/answers.tsv" --loss=ce --rank=both --top_k=6 \
  --output="$out/why.safetensors" "$out"/run/checkpoints/epoch-*.safetensors > "$out/why.tsv"
awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
  $at["test_head"] == "Hf" { printf "\"%s %s %s\"\t%s\n", $at["train_head"], $at["train_relation"], $at["train_tail"], $NF }' \
  "$out/why.tsv" > "$out/why.dat"
gnuplot -c "$here/why.gp" "$out/why.dat" > "$out/why.svg"
