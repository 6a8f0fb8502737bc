#!/usr/bin/env bash
# The flag files of docs/recipes-kge train, here on data/elements for an epoch, and what they say is what the run has.
set -uo pipefail
train="$PWD/tools/train/train"
featurize="$PWD/tools/featurize/featurize"
recipes="$PWD/docs/recipes-kge"
elements="$PWD/data/elements"
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --output=g.safetensors "$elements/train.txt" "$elements/valid.txt" "$elements/test.txt" 2> log ||
  fail "featurize: $(cat log)"
# Processors that do not multiply bfloat16 train the recipes in fp32, as the page says.
grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo && precision=() || precision=(--precision=fp32)
count=0
for recipe in "$recipes"/*.flags; do
  count=$((count + 1))
  name=$(basename "$recipe" .flags)
  succeeds "$train" --flagfile="$recipe" "${precision[@]}" --max_epochs=1 --plot=false --threads=1 \
    --output_dir="$name" g.safetensors
  while IFS='=' read -r flag value; do
    case $flag in
      '#'*) continue ;;
      --max_epochs) value=1 ;;
      --precision) [ ${#precision[@]} = 0 ] || value=fp32 ;;
    esac
    expect_line "\"${flag#--}\": \"\\?${value:-true}\"\\?" "$name/config.json"
  done < "$recipe"
done
[ $count -ge 2 ] || fail "$count recipes"
finish
