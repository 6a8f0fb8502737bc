#!/usr/bin/env bash
# --compile_preset gives the default's bits, or a stored plan that runs resume bit by bit; in vain it is refused.
set -uo pipefail
train=$PWD/tools/train/train
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
short="--hidden=8,8 --max_epochs=4 --batch_size=16 --seed=3"
$train $short --output_dir=a f.safetensors > /dev/null 2> log || fail "plain run: $(cat log)"

# Memory is allocated earlier, and the bits are the same, with forces too.
$train $short --compile_preset=reduce-overhead --output_dir=b f.safetensors > /dev/null 2> log || fail "reduce-overhead: $(cat log)"
$diff a/last.safetensors b/last.safetensors || fail "reduce-overhead gives other bits"
forces="--hidden=8,8 --max_epochs=2 --force_weight=0.1 --force_fraction=0.2 --seed=3"
$train $forces --output_dir=fa f.safetensors > /dev/null 2> log || fail "forces: $(cat log)"
$train $forces --compile_preset=reduce-overhead --output_dir=fb f.safetensors > /dev/null 2> log || fail "forces, reduce-overhead: $(cat log)"
$diff fa/last.safetensors fb/last.safetensors || fail "with forces reduce-overhead gives other bits"

# The plan is printed, stored and found again; a resumed run has the same bits even if the cache is gone.
tuned="--compile_preset=max-autotune --compile_cache_dir=cache/rutile"
$train $short $tuned --output_dir=c f.safetensors > /dev/null 2> log || fail "max-autotune: $(cat log)"
grep -q 'max-autotune: ' log || fail "nothing is said of the plan: $(cat log)"
[ "$(stat -c %a cache/rutile)" = 700 ] || fail "others can read the cache"
$train $short $tuned --output_dir=d f.safetensors > /dev/null 2> log || fail "again: $(cat log)"
grep -q 'found by an earlier run' log || fail "the cache was not used: $(cat log)"
$diff c/last.safetensors d/last.safetensors || fail "the same plan gives other bits"
$train ${short/=4/=2} $tuned --output_dir=e f.safetensors > /dev/null 2> log || fail "first part: $(cat log)"
rm -r cache
$train $short $tuned --output_dir=e --resume f.safetensors > /dev/null 2> log || fail "resume: $(cat log)"
$diff c/last.safetensors e/last.safetensors || fail "a resumed run differs"
$train $forces $tuned --output_dir=fc f.safetensors > /dev/null 2> log || fail "forces, max-autotune: $(cat log)"
XDG_CACHE_HOME=$PWD/xdg $train $short --compile_preset=max-autotune --output_dir=x f.safetensors > /dev/null 2> log || fail "XDG: $(cat log)"
[ "$(ls xdg/rutile/*.plan | wc -l)" = 1 ] || fail "no plan in XDG_CACHE_HOME"
$train $short --output_dir=c --resume f.safetensors > /dev/null 2> log && fail "a run of max-autotune was resumed without it"
grep -q 'compile_preset is not set, but the run to resume has "max-autotune"' log || fail "resume without it: $(cat log)"

expect_error 1 '--compile_preset=fast: expected default, reduce-overhead or max-autotune' $train $short --compile_preset=fast --output_dir=h f.safetensors
expect_error 1 '--compile_preset has no effect with --compile_mode=none' $train $short --compile_mode=none --compile_preset=default --output_dir=h f.safetensors
expect_error 1 '--compile_cache_dir has no effect with --compile_preset=default' $train $short --compile_cache_dir=x --output_dir=h f.safetensors
expect_error 1 '/proc/none' $train $short --compile_preset=max-autotune --compile_cache_dir=/proc/none/x --output_dir=h f.safetensors
finish
