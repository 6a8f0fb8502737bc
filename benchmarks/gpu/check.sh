#!/usr/bin/env bash
# Runs what rutile does on a GPU, and prints one table: what was run, whether it agrees with the CPU, and figures. It is
# part of a folder that benchmarks/gpu/pack.sh made, and needs an NVIDIA driver and a LibTorch with CUDA.
#
#   FOLDER/check.sh [--graph=DIR] [--structures=FILE --species=A,B] [--only_times]
#
# LibTorch is that of LIBTORCH, or of the python3 that has PyTorch. --graph: train.txt, valid.txt and test.txt of a large
# graph, gzipped or not, for times. --structures: many structures with forces, of these elements, for times.
# --only_times: leaves out what compares results.
# CHECK_DEVICE=cpu tries the script itself on a machine without a GPU. The status is 1 if a row failed.
set -uo pipefail
graph='' structures='' species='' agreement=1
for argument in "$@"; do
  case $argument in
    --graph=*) graph=$(realpath "${argument#*=}") ;;
    --structures=*) structures=$(realpath "${argument#*=}") ;;
    --species=*) species=${argument#*=} ;;
    --only_times) agreement=0 ;;
    *) echo "check.sh: $argument: expected --graph=DIR, --structures=FILE, --species=A,B or --only_times" >&2; exit 1 ;;
  esac
done
cd "$(dirname "$0")" || exit 1
root=$PWD
device=${CHECK_DEVICE:-cuda}
torch=${LIBTORCH:-$(python3 -c 'import torch; print(torch.__path__[0])')} || exit 1
nvidia=$(find "$(dirname "$torch")/nvidia" -maxdepth 2 -name lib -printf '%p:' 2> /dev/null)
export LD_LIBRARY_PATH=$torch/lib:$nvidia$root/lib PATH=$root/bin:$PATH OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=$work/rows
mkdir "$rows"

# row NAME COMMAND...: runs the command; its standard output, one line, is the row's figure.
row() {
  local name=$1 begin end
  shift
  begin=$(date +%s.%N)
  if "$@" > "$rows/$name.out" 2> "$rows/$name.err"; then echo ok > "$rows/$name.state"; else echo FAILED > "$rows/$name.state"; fi
  end=$(date +%s.%N)
  awk -v a="$begin" -v b="$end" 'BEGIN {printf "%.1f\n", b - a}' > "$rows/$name.seconds"
}
# Rows that need no exact time run a few at a time.
together() {
  while [ "$(jobs -rp | wc -l)" -ge "${CHECK_JOBS:-6}" ]; do wait -n; done
  row "$@" &
}

run_test() {
  "tests/$1" --gtest_brief=1 > "$work/$1.log" 2>&1 && tail -1 "$work/$1.log" || { cat "$work/$1.log" >&2; return 1; }
}

# The last value of a column of a run's log.
last() {
  awk -F'\t' -v name="$2" '/^#/ {next} !column {for (i = 1; i <= NF; ++i) if ($i == name || index($i, name "[") == 1) column = i; next} $column != "" {v = $column} END {print v}' \
    "$work/$1/log.tsv"
}
# close_to RUN REFERENCE COLUMN BOUND: compares a column's last values.
close_to() {
  awk -v a="$(last "$1" "$3")" -v b="$(last "$2" "$3")" -v bound="$4" -v name="$3" 'BEGIN {
    d = a - b; if (d < 0) d = -d
    printf "%s %.6g, on the CPU %.6g\n", name, a, b
    exit !(a != "" && b != "" && a == a + 0 && d <= bound * b)}'
}

cpu_runs=$work/cpu.log
tio2=data/tio2-pbe/tio2-pbe.extxyz
small="--hidden=32,32 --max_epochs=3 --batch_size=32 --seed=3 --validation_fraction=0.1"
cache-neighbors --species=Ti,O --output="$work/neighbors.safetensors" $tio2 2> "$cpu_runs" || { cat "$cpu_runs"; exit 1; }
featurize --output="$work/features.safetensors" "$work/neighbors.safetensors" 2>> "$cpu_runs"
featurize --output="$work/elements.safetensors" data/elements/{train,valid,test}.txt 2>> "$cpu_runs"
potential() { train $small "${@:2}" --output_dir="$work/$1" "$work/neighbors.safetensors"; }
energies() { train $small "${@:2}" --output_dir="$work/$1" "$work/features.safetensors"; }
embeddings="--max_epochs=3 --batch_size=64 --seed=3 --embedding_dim=200"
graph_model() { train $embeddings "${@:2}" --output_dir="$work/$1" "$work/elements.safetensors"; }

on="--device=$device"
agrees() {
  "$1" "$2" $on "${@:5}" > "$work/$2.log" 2>&1 && close_to "$2" "$3" val_loss "$4" || { cat "$work/$2.log" >&2; return 1; }
}
forces() { agrees potential "$@"; }
only_energies() { agrees energies "$@"; }
triples() {
  local none=("${dropout[@]}")
  [ "$2" = conve ] && none=("${conve_dropout[@]}")
  graph_model "$1" $on --kge_model="$2" "${none[@]}" "${@:4}" > "$work/$1.log" 2>&1 &&
    close_to "$1" "cpu-$2" val_loss "$3" || { cat "$work/$1.log" >&2; return 1; }
}
# With dropout, whose draws are those of the kernels of processors.
triple_kernels() {
  graph_model "$1" $on --kge_model="$2" "${@:3}" > "$work/$1.log" 2>&1 &&
    close_to "$1" "cpu-dropout-$2" val_loss 0.001 || { cat "$work/$1.log" >&2; return 1; }
}
# resumed TRAIN RUN FLAGS...: compares RUN, made with these flags, with a run that stopped after an epoch.
resumed() {
  local name=resumed-$2
  "$1" "$name" $on "${@:3}" --max_epochs=1 > "$work/$name.log" 2>&1 &&
    "$1" "$name" $on "${@:3}" --resume >> "$work/$name.log" 2>&1 &&
    diff "$work/$2/last.safetensors" "$work/$name/last.safetensors" > "$work/$name.diff" &&
    echo "equal to the uninterrupted run, bit for bit" || { cat "$work/$name.log" "$work/$name.diff" >&2; return 1; }
}
ranked() {
  evaluate --device="$device" "$work/cpu-$1/best.safetensors" "$work/elements.safetensors" > "$work/ranked" 2> "$work/ranked.err" &&
    evaluate "$work/cpu-$1/best.safetensors" "$work/elements.safetensors" 2> /dev/null | cmp - "$work/ranked" &&
    echo "the same ranks as on the CPU" || { cat "$work/ranked.err" >&2; return 1; }
}
timed() {
  potential timed $on --compile_mode=none --timing > "$work/timed.log" 2>&1 && grep -i 'device' "$work/timed.log" | tail -1 || { cat "$work/timed.log" >&2; return 1; }
}

# Without dropout, whose draws differ between kernels and LibTorch.
dropout=(--input_dropout=0)
conve_dropout=(--input_dropout=0 --feature_map_dropout=0 --output_dropout=0)
compare() {
  # What the CPU gives.
  potential cpu-forces >> "$cpu_runs" 2>&1 &
  potential cpu-ema --ema --accumulate_grad_batches=2 >> "$cpu_runs" 2>&1 &
  energies cpu-energies >> "$cpu_runs" 2>&1 &
  for model in conve distmult complex; do
    [ $model = conve ] && none=("${conve_dropout[@]}") || none=("${dropout[@]}")
    graph_model cpu-$model --kge_model=$model "${none[@]}" >> "$cpu_runs" 2>&1 &
    graph_model cpu-dropout-$model --kge_model=$model >> "$cpu_runs" 2>&1 &
  done
  wait

  for test in tests/*_test; do together "test ${test#tests/}" run_test "${test#tests/}"; done
  [ "$device" = cpu ] || together "forces, kernels" forces forces-kernels cpu-forces 0.01
  [ "$device" = cpu ] || together "forces, kernels, fp64" forces forces-kernels64 cpu-forces 0.01 --precision=fp64
  [ "$device" = cpu ] ||
    together "forces, kernels, EMA, accumulation" forces kernels-ema cpu-ema 0.01 --ema --accumulate_grad_batches=2
  together "forces, eager" forces forces-none cpu-forces 0.01 --compile_mode=none
  together "forces, script" forces forces-script cpu-forces 0.01 --compile_mode=script
  together "forces, bf16-mixed" forces forces-bf16 cpu-forces 0.5 --compile_mode=none --precision=bf16-mixed
  [ "$device" = cpu ] || together "forces, fp16-mixed" forces forces-fp16 cpu-forces 0.5 --compile_mode=none --precision=fp16-mixed
  together "forces, EMA, accumulation" forces forces-ema cpu-ema 0.01 --compile_mode=none --ema --accumulate_grad_batches=2
  together "energies, eager" only_energies energies-none cpu-energies 0.01 --compile_mode=none
  together "energies, script" only_energies energies-script cpu-energies 0.01 --compile_mode=script
  for model in conve distmult complex; do
    [ "$device" = cpu ] || together "$model, kernels" triple_kernels kernels-$model $model
    [ "$device" = cpu ] || together "$model, kernels, fp64" triple_kernels kernels64-$model $model --precision=fp64
    [ "$device" = cpu ] ||
      together "$model, kernels, high" triple_kernels high-$model $model --float32_matmul_precision=high
    [ "$device" = cpu ] || together "$model, kernels, bf16" triples kernels16-$model $model 0.3 --precision=bf16-mixed
    together "$model, eager" triples eager-$model $model 0.05 --compile_mode=none
    together "$model, eager, bf16-mixed" triples bf16-$model $model 0.3 --compile_mode=none --precision=bf16-mixed
    [ "$device" = cpu ] || together "$model, eager, fp16-mixed" triples fp16-$model $model 0.3 --compile_mode=none --precision=fp16-mixed
  done
  [ "$device" = cpu ] || together "conve, TF32" triples tf32-conve conve 0.1 --compile_mode=none --float32_matmul_precision=high
  together "times of the device" timed
  wait
  row "forces, eager, resumed" resumed potential forces-none --compile_mode=none
  if [ "$device" != cpu ]; then
    row "forces, kernels, resumed" resumed potential forces-kernels
    row "conve, kernels, resumed" resumed graph_model kernels-conve --kge_model=conve
    for model in conve complex; do row "$model, ranked" ranked $model; done
    row "speed of a step with forces" tests/gpu_force_benchmark --benchmark_min_time=0.1
  fi
}
[ $agreement = 0 ] || compare

# Times: steps of a large graph, on the device and on one core of the same machine.
steps() {
  train --kge_model="$2" --embedding_dim=200 --batch_size="$3" --max_epochs=2 --limit_train_batches="$4" \
    --limit_val_batches=1 --seed=3 "${@:5}" --output_dir="$work/$1" "$work/graph.safetensors" > "$work/$1.log" 2>&1 ||
    { cat "$work/$1.log" >&2; return 1; }
  awk -v each="$3" -v rate="$(last "$1" examples_per_s)" 'BEGIN {printf "%.2f ms for a step\n", 1000 * each / rate}'
}
if [ -n "$graph" ]; then
  for set in train valid test; do
    if [ -e "$graph/$set.txt.gz" ]; then gunzip -c "$graph/$set.txt.gz"; else cat "$graph/$set.txt"; fi > "$work/$set.txt"
  done
  featurize --output="$work/graph.safetensors" "$work"/{train,valid,test}.txt 2>> "$cpu_runs" || tail -3 "$cpu_runs"
  for model in conve complex; do
    for batch in 128 1024; do
      row "$model $batch, device" steps "$model-$batch-device" $model $batch 500 $on
      row "$model $batch, eager" steps "$model-$batch-eager" $model $batch 100 $on --compile_mode=none
      together "$model $batch, one core" steps "$model-$batch-core" $model $batch 20 --threads=1 --device=cpu
    done
  done
fi

# The same steps in PyTorch, where there is one.
pytorch() {
  python3 "$root/pytorch_steps.py" "$work" --device="$device" "$@" > "$work/pytorch.log" && tail -n +2 "$work/pytorch.log" | paste -sd ';'
}
if [ -n "$graph" ] && python3 -c 'import torch' 2> /dev/null; then row "the same in PyTorch" pytorch; fi

# Epochs of many structures: kernels on the device and on one core.
epochs() {
  train --hidden=32,32 --batch_size="$2" --max_epochs=3 --limit_val_batches=1 --seed=3 "${@:3}" --output_dir="$work/$1" \
    "$work/many.safetensors" > "$work/$1.log" 2>&1 || { cat "$work/$1.log" >&2; return 1; }
  grep -o '([0-9]* atoms/s in the last epoch)' "$work/$1.log"
}
if [ -n "$structures" ]; then
  cache-neighbors --species="$species" --output="$work/many.safetensors" "$structures" 2>> "$cpu_runs" || tail -3 "$cpu_runs"
  for batch in 64 1024; do
    row "many structures $batch, device" epochs "many-$batch-device" $batch $on
    together "many structures $batch, one core" epochs "many-$batch-core" $batch --device=cpu --threads=1
  done
  row "many structures 1024, loaders" epochs many-loaders 1024 $on --num_workers=4
fi
wait

[ "$device" = cpu ] || nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
printf '%-34s %-8s %8s  %s\n' what state seconds figure
failed=0
for state in "$rows"/*.state; do
  name=${state%.state}
  printf '%-34s %-8s %8s  %s\n' "$(basename "$name")" "$(cat "$state")" "$(cat "$name.seconds")" "$(tail -1 "$name.out")"
  [ "$(cat "$state")" = ok ] || { failed=1; tail -5 "$name.err" | sed 's/^/    /'; }
done
exit $failed
