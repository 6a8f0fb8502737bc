#!/usr/bin/env bash
# --compile_preset gives the default's bits, or a stored plan that runs resume bit by bit; in vain it is refused.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
short="--hidden=8,8 --max_epochs=4 --batch_size=16 --seed=3"
succeeds $checked $short --output_dir=a f.safetensors

# Memory is allocated earlier, and the bits are the same, with forces too.
succeeds $train $short --compile_preset=reduce-overhead --output_dir=b f.safetensors
$diff a/last.safetensors b/last.safetensors || fail "reduce-overhead gives other bits"
forces="--hidden=8,8 --max_epochs=2 --force_weight=0.1 --force_fraction=0.2 --seed=3"
succeeds $checked $forces --output_dir=fa f.safetensors
succeeds $train $forces --compile_preset=reduce-overhead --output_dir=fb f.safetensors
$diff fa/last.safetensors fb/last.safetensors || fail "with forces reduce-overhead gives other bits"

# The plan is printed, stored and found again; a resumed run has the same bits even if the cache is gone.
tuned="--compile_preset=max-autotune --compile_cache_dir=cache/rutile"
succeeds $checked $short $tuned --output_dir=c f.safetensors
expect_line 'max-autotune: ' log
[ "$(stat -c %a cache/rutile)" = 700 ] || fail "others can read the cache"
succeeds $train $short $tuned --output_dir=d f.safetensors
expect_line 'found by an earlier run' log
$diff c/last.safetensors d/last.safetensors || fail "the same plan gives other bits"
succeeds $train ${short/=4/=2} $tuned --output_dir=e f.safetensors
rm -r cache
succeeds $train $short $tuned --output_dir=e --resume f.safetensors
expect_line 'max-autotune: block_atoms=.*, the plan of the run that goes on' log
expect_no_line 'times as fast' log
$diff c/last.safetensors e/last.safetensors || fail "a resumed run differs"
succeeds $checked $forces $tuned --output_dir=fc f.safetensors
succeeds $train ${forces/=2/=3} $tuned --output_dir=fc --resume f.safetensors
expect_line 'the plan of the run that goes on' log
XDG_CACHE_HOME=$PWD/xdg $train $short --compile_preset=max-autotune --output_dir=x f.safetensors > /dev/null 2> log ||
  fail "XDG: $(cat log)"
[ "$(ls xdg/rutile/*.plan | wc -l)" = 1 ] || fail "no plan in XDG_CACHE_HOME"
refuses 'compile_preset is not set, but the run to resume has "max-autotune"' \
  $train $short --output_dir=c --resume f.safetensors

expect_error 1 '--compile_preset=fast: .*default, reduce-overhead, max-autotune' \
  $train $short --compile_preset=fast --output_dir=h f.safetensors
expect_error 1 '--compile_preset has no effect with --compile_mode=none' \
  $checked $short --compile_mode=none --compile_preset=default --output_dir=h f.safetensors
expect_error 1 '--compile_cache_dir has no effect with --compile_preset=default' \
  $train $short --compile_cache_dir=x --output_dir=h f.safetensors
expect_error 1 '/proc/none' \
  $train $short --compile_preset=max-autotune --compile_cache_dir=/proc/none/x --output_dir=h f.safetensors
finish
