#!/usr/bin/env bash
# Trains on files that are four times as large as the memory that train may use, and prints how each run ends.
#
#   small_memory.sh BIN [COPIES] [DIRECTORY]
#
# BIN is bazel-bin, COPIES how often the structures of data/tio2-pbe stand in the data (default 700: 1.8 million atoms,
# files of 1.5 GB), DIRECTORY where the data are made (default: a new one of the system's). The data are removed at the
# end. Needs the right to make a group of the kernel's memory controller (root; version 1 or 2). The limit counts the
# page cache, and the pages of the data are dropped before each run. One line for each run: what, size of the file,
# limit, exit status, seconds, largest memory; then the last line of standard error where the status is not 0.
set -euo pipefail
bin=$(realpath "$1")
copies=${2:-700}
tio2=$(realpath "$(dirname "$0")/../data/tio2-pbe/tio2-pbe.extxyz")
work=$(mktemp -d "${3:-${TMPDIR:-/tmp}}/small-memory-XXXXXX")
group=/sys/fs/cgroup/memory/small-memory-$$
limit_file=memory.limit_in_bytes peak_file=memory.max_usage_in_bytes
if [ ! -d /sys/fs/cgroup/memory ]; then
  group=/sys/fs/cgroup/small-memory-$$
  limit_file=memory.max peak_file=memory.peak
fi
clean() {
  rm -rf "$work"
  [ ! -d "$group" ] || rmdir "$group"
}
trap clean EXIT
cd "$work"

descriptor="--species=Ti,O --rad_cutoff=6 --rad_order=30 --ang_cutoff=4 --ang_order=20"
for _ in $(seq "$copies"); do cat "$tio2"; done > all.extxyz
"$bin/tools/featurize/featurize" $descriptor --precision=fp64 --progress=false --output=features.safetensors all.extxyz
"$bin/tools/cache-neighbors/cache-neighbors" --cutoff=6 --progress=false --output=neighbors.safetensors all.extxyz
rm all.extxyz

# measure WHAT FILE FLAGS...: one run of train on the file, which may use a quarter of its size.
measure() {
  local what=$1 file=$2 size limit begin end status=0
  shift 2
  size=$(stat -c %s "$file")
  limit=$((size / 4))
  rm -rf run
  mkdir "$group"
  echo "$limit" > "$group/$limit_file"
  dd if="$file" iflag=nocache count=0 status=none
  begin=$(date +%s.%N)
  (
    echo "$BASHPID" > "$group/cgroup.procs"
    exec "$bin/tools/train/train" --noplot --progress=false --validation_fraction=0.01 --output_dir=run "$@" "$file"
  ) > out 2> err || status=$?
  end=$(date +%s.%N)
  awk -v what="$what" -v size="$size" -v limit="$limit" -v peak="$(cat "$group/$peak_file")" -v status="$status" \
    -v seconds="$(echo "$end - $begin" | bc)" 'BEGIN {
      printf "%s\t%.2f GB\t%.0f MB\tstatus %d\t%.1f s\t%.0f MB\n", what, size / 1e9, limit / 1e6, status,
        seconds, peak / 1e6
    }'
  [ "$status" = 0 ] || tail -n 1 err
  rmdir "$group"
}

steps="--max_steps=2000"
measure "energies, batches of 32" features.safetensors $steps --batch_size=32 --hidden=15,15
measure "energies, a batch of 480,000 atoms" features.safetensors --max_steps=2 --batch_size=80000 --hidden=256,256
measure "energies, --preload=ram" features.safetensors $steps --preload=ram
measure "energies and forces" neighbors.safetensors $descriptor --max_steps=1000 --force_weight=0.1 --batch_size=64
measure "energies and forces, --force_fraction=0.1" neighbors.safetensors $descriptor --max_steps=1000 \
  --force_weight=0.1 --force_fraction=0.1 --batch_size=64
measure "energies and forces, --preload=ram" neighbors.safetensors $descriptor $steps --force_weight=0.1 \
  --preload=ram
