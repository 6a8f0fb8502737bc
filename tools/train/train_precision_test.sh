#!/usr/bin/env bash
# Modes, precisions and devices of LibTorch's own path: what runs, what is taken without asking, and what is refused.
set -uo pipefail
train=$PWD/tools/train/train
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --rad_order=4 --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
short="--hidden=8,8 --max_epochs=3 --batch_size=64 --seed=3 --overwrite"
for mode in compile none script; do
  $train $short --compile_mode=$mode --output_dir=$mode f.safetensors > /dev/null 2> log || fail "$mode: $(cat log)"
done
grep -q 'fuse the operations of TorchScript' log || fail "script does not say what it gives: $(cat log)"
# The same training to rounding.
for mode in compile script; do
  $diff --rtol=1e-3 --atol=1e-5 none/last.safetensors $mode/last.safetensors > difference || fail "$mode: $(cat difference)"
done
# Resumed bit by bit.
$train ${short/epochs=3/epochs=1} --compile_mode=script --output_dir=part f.safetensors > /dev/null 2>&1 || fail "part"
$train ${short/--overwrite/--resume} --compile_mode=script --output_dir=part f.safetensors > /dev/null 2> log || fail "resume: $(cat log)"
$diff script/last.safetensors part/last.safetensors || fail "a resumed script run differs"

grep -Eqw 'avx512_bf16|amx_bf16' /proc/cpuinfo && bf16=1 || bf16=0
if [ $bf16 = 1 ]; then
  for flag in --precision=bf16-mixed --mixed_precision; do
    $train $short $flag --device=cpu --output_dir=mixed f.safetensors > /dev/null 2> log || fail "$flag: $(cat log)"
    grep -q 'compile_mode=none is used' log || fail "$flag does not say that kernels are not used: $(cat log)"
    grep -q 'widest hidden layer has 8 nodes' log || fail "$flag does not say that it is slow: $(cat log)"
  done
  grep -q '"precision": "bf16-mixed"' mixed/config.json || fail "config.json: $(cat mixed/config.json)"
  # Near enough to the fp32 run, and not the same.
  $diff --rtol=0.5 --atol=0.1 none/last.safetensors mixed/last.safetensors > difference || fail "bf16: $(cat difference)"
  $diff --rtol=1e-4 --atol=1e-5 none/last.safetensors mixed/last.safetensors > /dev/null && fail "bf16 was not used"
  $train $short --precision=bf16-mixed --compile_mode=script --output_dir=g f.safetensors > /dev/null 2> log || fail "bf16 script: $(cat log)"
  $train ${short/--overwrite/--resume} --output_dir=mixed f.safetensors > /dev/null 2> log && fail "resumed in fp32"
  grep -q 'precision is not set, but the run to resume has "bf16-mixed"' log || fail "resumed in fp32: $(cat log)"
  $featurize --species=Ti,O --rad_order=4 --precision=fp64 --output=f64.safetensors "$tio2" 2> /dev/null || fail "featurize"
  expect_error 1 'made in fp64' $train --precision=bf16-mixed --device=cpu --output_dir=h f64.safetensors
  expect_error 1 'lbfgs' $train --precision=bf16-mixed --device=cpu --optimizer=lbfgs --output_dir=h f.safetensors
else
  expect_error 1 'AVX512-BF16' $train --precision=bf16-mixed --device=cpu --output_dir=h f.safetensors
fi
expect_error 1 'compile_mode=compile: the fused' $train --precision=bf16-mixed --compile_mode=compile --output_dir=h f.safetensors
expect_error 1 'compile_mode=compile: the fused' $train --device=cuda --compile_mode=compile --output_dir=h f.safetensors
expect_error 1 'compile_mode=compile: the fused' $train --float32_matmul_precision=high --compile_mode=compile --output_dir=h f.safetensors
expect_error 1 'check_gradient has no effect' $train --mixed_precision --check_gradient --output_dir=h f.safetensors
expect_error 1 'needs a CUDA device' $train --precision=fp16-mixed --device=cpu --output_dir=h f.safetensors
expect_error 1 'device cuda:1000: ' $train --device=cuda:1000 --output_dir=h f.safetensors
expect_error 1 'expected cpu, cuda' $train --device=gpu --output_dir=h f.safetensors
expect_error 1 'expected auto, fp32' $train --precision=fp8 --output_dir=h f.safetensors
expect_error 1 'exclude each other' $train --mixed_precision --precision=fp32 --output_dir=h f.safetensors
expect_error 1 'highest, high or medium' $train --float32_matmul_precision=low --compile_mode=none --output_dir=h f.safetensors
expect_error 1 'exclude each other' $train --float32_matmul_precision=high --precision=bf16-mixed --device=cpu --output_dir=h f.safetensors
[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
