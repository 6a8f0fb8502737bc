#!/usr/bin/env bash
# Modes, precisions and devices of kernels and of LibTorch: supported combinations, defaults, and refused ones.
set -uo pipefail
train="$PWD/tools/train/train --preset=aenet"
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --rad_order=4 --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
short="--hidden=8,8 --max_epochs=3 --batch_size=64 --seed=3 --overwrite"
for mode in compile none script; do
  succeeds $train $short --compile_mode=$mode --output_dir=$mode f.safetensors
done
expect_line 'fuse the operations of TorchScript' log
# The same training, to rounding.
for mode in compile script; do
  $diff --rtol=1e-3 --atol=1e-5 none/last.safetensors $mode/last.safetensors > difference ||
    fail "$mode: $(cat difference)"
done
# Resumed bit by bit.
$train ${short/epochs=3/epochs=1} --compile_mode=script --output_dir=part f.safetensors > /dev/null 2>&1 || fail "part"
succeeds $train ${short/--overwrite/--resume} --compile_mode=script --output_dir=part f.safetensors
$diff script/last.safetensors part/last.safetensors || fail "a resumed script run differs"

grep -Eqw 'avx512_bf16|amx_bf16' /proc/cpuinfo && bf16=1 || bf16=0
if [ $bf16 = 1 ]; then
  for flag in --precision=bf16-mixed --mixed_precision; do
    succeeds $train $short $flag --device=cpu --output_dir=mixed f.safetensors
    expect_no_line 'compile_mode=none' log
    grep -Eq 'widest hidden layer has 8 nodes; below about 32|no AMX' log ||
      fail "$flag does not say that it is slow: $(cat log)"
  done
  expect_line '"precision": "bf16-mixed"' mixed/config.json
  # Close to the fp32 run, but not equal.
  $diff --rtol=0.5 --atol=0.1 none/last.safetensors mixed/last.safetensors > difference ||
    fail "bf16: $(cat difference)"
  $diff --rtol=1e-4 --atol=1e-5 none/last.safetensors mixed/last.safetensors > /dev/null && fail "bf16 was not used"
  succeeds $train $short --precision=bf16-mixed --threads=2 --output_dir=threads f.safetensors
  $diff mixed/last.safetensors threads/last.safetensors || fail "two threads change bits of bf16-mixed"
  # LibTorch's own mixed precision is used if requested.
  succeeds $train $short --precision=bf16-mixed --compile_mode=none --output_dir=eager f.safetensors
  expect_line 'widest hidden layer has 8 nodes; below about 200' log
  $diff --rtol=0.5 --atol=0.1 mixed/last.safetensors eager/last.safetensors > difference ||
    fail "bf16 eager: $(cat difference)"
  # The kernels can resume this run.
  resumed=${short/--overwrite/--resume}
  succeeds $train ${resumed/epochs=3/epochs=4} --precision=bf16-mixed --output_dir=eager f.safetensors
  # In wider networks the last epoch's validation loss is close to that of fp32.
  for precision in fp32 bf16-mixed; do
    succeeds $train --hidden=64,64 --max_epochs=30 --batch_size=32 --seed=3 --precision=$precision \
      --output_dir=to-$precision f.safetensors
  done
  loss_of() { awk -F'\t' '/^#/ {next} END {print $5}' "$1/log.tsv"; }
  awk -v a="$(loss_of to-fp32)" -v b="$(loss_of to-bf16-mixed)" \
    'BEGIN {exit !(a > 0 && b > 0 && b < 1.5 * a && b > 0.5 * a)}' ||
    fail "bf16: loss $(loss_of to-bf16-mixed), in fp32 $(loss_of to-fp32)"
  # With forces, too; runs with timed plans resume to the same bits.
  forces="--hidden=40,40 --batch_size=64 --seed=3 --precision=bf16-mixed --force_weight=0.1"
  forces+=" --species=Ti,O --rad_cutoff=4 --rad_order=5 --ang_cutoff=3"
  for preset in default reduce-overhead "max-autotune --compile_cache_dir=plans"; do
    options="$forces --compile_preset=$preset" name=${preset%% *}
    succeeds $train $options --max_epochs=2 --output_dir=forces-$name "$tio2"
    expect_no_line 'compile_mode=none' log
    succeeds $train $options --max_epochs=1 --output_dir=part-$name "$tio2"
    succeeds $train $options --max_epochs=2 --resume --output_dir=part-$name "$tio2"
    $diff forces-$name/last.safetensors part-$name/last.safetensors || fail "a resumed run with forces differs, $name"
  done
  succeeds $train $short --precision=bf16-mixed --compile_mode=script --output_dir=g f.safetensors
  refuses 'precision is "fp32", but the run to resume has "bf16-mixed"' \
    $train ${short/--overwrite/--resume} --output_dir=mixed f.safetensors
  $featurize --species=Ti,O --rad_order=4 --precision=fp64 --output=f64.safetensors "$tio2" 2> /dev/null ||
    fail "featurize"
  expect_error 1 'made in fp64' $train --precision=bf16-mixed --device=cpu --output_dir=h f64.safetensors
  expect_error 1 'lbfgs' $train --precision=bf16-mixed --device=cpu --optimizer=lbfgs --output_dir=h f.safetensors
else
  expect_error 1 'AVX512-BF16' $train --precision=bf16-mixed --device=cpu --output_dir=h f.safetensors
fi
# Where train has kernels for GPUs, it looks for a GPU before it looks at the data.
expect_error 1 'compile_mode=compile: the fused\|device cuda: no GPU' \
  $train --device=cuda --compile_mode=compile --output_dir=h f.safetensors
expect_error 1 'compile_mode=compile: the fused' \
  $train --float32_matmul_precision=high --compile_mode=compile --output_dir=h f.safetensors
expect_error 1 'check_gradient has no effect' \
  $train --precision=fp16-mixed --check_gradient --output_dir=h f.safetensors
expect_error 1 'needs a CUDA device' $train --precision=fp16-mixed --device=cpu --output_dir=h f.safetensors
expect_error 1 'device cuda:1000: ' $train --device=cuda:1000 --output_dir=h f.safetensors
# Potentials with neighbors or structures go to kernels on the GPU where train has them, else to LibTorch.
expect_error 1 'device cuda:1000: ' $train --species=Ti,O --device=cuda:1000 --output_dir=h "$tio2"
expect_error 1 'expected cpu, cuda' $train --device=gpu --output_dir=h f.safetensors
expect_error 1 'expected auto, fp32' $train --precision=fp8 --output_dir=h f.safetensors
expect_error 1 'exclude each other' $train --mixed_precision --precision=fp32 --output_dir=h f.safetensors
expect_error 1 'highest, high, medium' \
  $train --float32_matmul_precision=low --compile_mode=none --output_dir=h f.safetensors
expect_error 1 'exclude each other' \
  $train --float32_matmul_precision=high --precision=bf16-mixed --device=cpu --output_dir=h f.safetensors
[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
