#!/usr/bin/env bash
# Builds the tools and the tests of devices against a LibTorch with CUDA, and puts them with the libraries that they need
# into a folder, for a GPU machine that has an NVIDIA driver and PyTorch's LibTorch of the same version, but none of
# rutile's packages.
#
#   LIBTORCH=/opt/torch benchmarks/gpu/pack.sh FOLDER     then copy FOLDER there, and run FOLDER/check.sh
#
# LIBTORCH: docs/libtorch.md. CUDA_HOME names the toolkit whose nvcc compiles the kernels, if it is not on the PATH.
set -euo pipefail
[ $# = 1 ] || { echo "usage: LIBTORCH=... benchmarks/gpu/pack.sh FOLDER" >&2; exit 1; }
[ -n "${LIBTORCH:-}" ] || { echo "pack.sh: LIBTORCH must name a LibTorch with CUDA (docs/libtorch.md)" >&2; exit 1; }
folder=$(realpath -m "$1")
cd "$(dirname "$0")/../.."

tests=(lib/task/device_events_test lib/task/eager_evaluation_test lib/task/eager_gradients_test lib/task/torch_facts_test
  lib/distributed/nccl_sums_test lib/kge/training/kge_task_test lib/kge/training/device_ranks_test
  lib/potential/training/eager_losses_test lib/potential/training/device_force_kernel_test
  lib/potential/training/device_force_task_test
  lib/ranking/device_rank_counter_test benchmarks/gpu_force_benchmark benchmarks/force_host_benchmark)
tools=(featurize cache-neighbors train evaluate)
targets=()
for tool in "${tools[@]}"; do targets+=("//tools/$tool"); done
for test in "${tests[@]}"; do targets+=("//${test%/*}:${test##*/}"); done
bazel build "${targets[@]}" //lib/tensorfile:diff

mkdir -p "$folder"/{bin,tests,lib}
for tool in "${tools[@]}"; do install -m 755 "bazel-bin/tools/$tool/$tool" "$folder/bin/"; done
install -m 755 bazel-bin/tools/train/train-libtorch bazel-bin/lib/tensorfile/diff "$folder/bin/"
for test in "${tests[@]}"; do install -m 755 "bazel-bin/$test" "$folder/tests/"; done
strip "$folder"/bin/* "$folder"/tests/*
# The machine's own C library, driver and LibTorch stay its own.
ldd "$folder"/bin/* "$folder"/tests/* | awk '$3 ~ "^/" {print $3}' | sort -u |
  grep -Ev "^$(realpath "$LIBTORCH")/|/nvidia/|/cuda|/lib(c|m|dl|rt|pthread|resolv)\.so" | while read -r library; do
  install -m 644 "$library" "$folder/lib/"
done
install -m 755 benchmarks/gpu/check.sh benchmarks/gpu/pytorch_steps.py "$folder/"
install -m 644 benchmarks/rivals/conve_model.py "$folder/"
cp -r --parents data/tio2-pbe/tio2-pbe.extxyz data/elements/{train,valid,test}.txt testdata/kg testdata/potential "$folder"
du -sh "$folder" >&2
