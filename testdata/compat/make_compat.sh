#!/usr/bin/env bash
# make_compat.sh VERSION BIN: writes testdata/compat/VERSION with the tools of that version, which are under BIN
# (bazel-bin). structures.extxyz: the first 12 structures of data/tio2-pbe. Run it in testdata/compat, once for each
# release; what is there already never changes.
set -euo pipefail
version=$1 bin=$(realpath "$2")
mkdir "$version" && cd "$version"
descriptor="--species=Ti,O --rad_order=3 --rad_cutoff=4 --ang_order=1 --ang_cutoff=3"
common="--hidden=3 --batch_size=4 --seed=3 --validation_fraction=0.25"
"$bin/tools/featurize/featurize" $descriptor --output=features.safetensors ../structures.extxyz

# make NAME START END FLAGS...: a run that stops at START, and the log of the one that went on to END.
make() {
  local name=$1 start=$2 end=$3
  shift 3
  mkdir "$name"
  echo "$* $end" > "$name/flags"
  "$bin/tools/train/train" "$@" $start --output_dir="$name/run"
  cp -r "$name/run" "$name/finished"
  "$bin/tools/train/train" "${@:1:$#-1}" $end --resume --output_dir="$name/finished" "${@: -1}"
  cp "$name/finished/log.tsv" "$name/finished.tsv"
  rm -r "$name/finished" "$name"/run/*_frames.txt "$name/run/config.json" # which name the machine's processor
  rm -rf "$name/run/recovery" "$name/run/flags.txt" "$name/run/learning_curve.svg"
}
if [ "$version" = 0.1.0 ]; then # feature_scaling was pooled; runs stopped between epochs
  make energies --max_epochs=3 --max_epochs=6 $common --feature_scaling=pooled features.safetensors
  exit
fi
"$bin/tools/cache-neighbors/cache-neighbors" $descriptor --output=neighbors.safetensors ../structures.extxyz
make energies --max_steps=7 --max_epochs=6 $common --plot=false --optimizer=adamw --lr_scheduler=cosine --lr_period=18 --warmup_steps=3 \
  --bucket_by_size --sampling_policy=error_weighted features.safetensors
make forces --max_steps=7 --max_epochs=6 $common --plot=false --force_weight=0.1 --force_fraction=0.5 --ema --ema_decay=0.9 --average_best=2 \
  --save_top_k=2 --lr_scheduler=plateau --patience=5 --val_check_interval=0.5 neighbors.safetensors
