#!/usr/bin/env bash
# find_spoilt.sh DATA OUT [SEEDS] [EPOCHS]: corrupts 2 % of the energies and 2 % of the forces of DATA by a seed.
# Is self-influence or the plain loss better at finding them? Writes precision and recall, as means over the seeds, to
# OUT/precision_recall.dat and .svg. Needs cache-neighbors, train, evaluate and tracin on the PATH, python3 and gnuplot.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$1 out=$2 seeds=${3:-5} epochs=${4:-100}

# Column "train" of tracin's table: the training structures in its order.
ranking() { awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "train") column = i; next } { print $column }'; }

for seed in $(seq "$seeds"); do
  run=$out/spoilt-$seed
  mkdir -p "$run"
  python3 "$here/corrupt.py" --seed="$seed" "$data" "$run/spoilt.extxyz" "$run/spoilt.tsv"
  cache-neighbors --species=Ti,O --rad_order=10 --rad_cutoff=6.0 --ang_order=3 --ang_cutoff=4.0 \
    --output="$run/neighbors.safetensors" "$run/spoilt.extxyz"
  train --hidden=32,32 --activation=silu --force_weight=0.1 --max_epochs="$epochs" --batch_size=16 --learning_rate=0.005 \
    --lr_scheduler=cosine --validation_fraction=0 --keep_every_epochs=$((epochs / 5)) --seed="$seed" --overwrite \
    --output_dir="$run/run" "$run/neighbors.safetensors"
  self=(tracin --self --top_k=0 --train="$run/neighbors.safetensors")
  "${self[@]}" --rates=checkpoint --output="$run/self.safetensors" "$run"/run/checkpoints/epoch-*.safetensors | ranking > "$run/all-checkpoints.rank"
  # At the end the learning rate is almost 0, and with one checkpoint it does not matter.
  "${self[@]}" --learning_rate=1 "$run/run/checkpoints/last.safetensors" | ranking > "$run/last-checkpoint.rank"
  "${self[@]}" --learning_rate=1 --use_last_layers_only --num_last_layers=1 "$run/run/checkpoints/last.safetensors" |
    ranking > "$run/last-layer.rank"
  evaluate --output_dir="$run/report" "$run/run/last.safetensors" "$run/neighbors.safetensors" > "$run/metrics.tsv"
  python3 "$here/rank_by_loss.py" "$run/report/predictions.safetensors" "$run/self.safetensors" > "$run/loss.rank"
  # Alternates between the two rankings and lists no structure twice.
  paste -d '\n' "$run/loss.rank" "$run/last-checkpoint.rank" | awk '!seen[$0]++' > "$run/loss-and-last.rank"
done
python3 "$here/precision_recall.py" "$out"/spoilt-* > "$out/precision_recall.dat"
gnuplot -c "$here/precision_recall.gp" "$out/precision_recall.dat" > "$out/precision_recall.svg"
