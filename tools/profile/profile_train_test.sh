#!/usr/bin/env bash
# profile with the tools themselves, at small size: stages add up, and what is recommended runs.
set -uo pipefail
profile=$PWD/tools/profile/profile
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
elements=$PWD/data/elements
export PATH=$PWD/tools/train:$PWD/tools/featurize:$PATH
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# A pipeline: both tools recorded, the stages of each within 3 % of its wall time.
cat > pipeline.sh << END
featurize --species=Ti,O --output=f.safetensors $tio2
train --hidden=8,8 --max_epochs=200 --plot=false --output_dir=run f.safetensors
END
$profile --peaks=false --output_dir=report -- sh -e pipeline.sh > metrics 2> page || fail "pipeline: $(cat page)"
expect_line '2 processes recorded' page
expect_no_line 'more than 3 % off' page
head -n 1 metrics | grep -q 'energy_rmse' || fail "train's own output: $(cat metrics)"
for stage in features optimizer validation; do
  cut -f 5 report/stages.tsv | grep -q "$stage" || fail "no stage $stage: $(cat report/stages.tsv)"
done
# One tool alone: with its start and its end, the stages of the main thread add up to the time of the command.
$profile --peaks=false --output_dir=whole -- train --hidden=8,8 --max_epochs=50 --plot=false --output_dir=run2 \
  f.safetensors > metrics 2> page || fail "one tool: $(cat page)"
awk -F '\t' 'NR == FNR { if ($4 == "main") sum += $7; if ($5 == "exit") exit_s = $7; next }
  / wall, .* recorded/ { split($0, word, " "); wall = word[1] / (word[2] == "ms" ? 1000 : 1) }
  END { exit !(exit_s > 0 && sum > 0.97 * wall && sum < 1.03 * wall) }' whole/stages.tsv page ||
  fail "not the whole run: $(cat page)"
expect_no_line 'before and after' page
awk '$1 == "step" || $1 == "step/forward" { if ($6 !~ /^[0-9.]+$/) exit 1; n = 1 } END { exit !n }' page ||
  fail "no allocations: $(cat page)"
end() { awk -F '\t' '$5 == "exit" { print $7; n = 1 } END { exit !n }' "$1"; }
$profile --peaks=false --tsv --records=whole/records > kept.tsv 2> page
[ "$(end kept.tsv)" = "$(end whole/stages.tsv)" ] || fail "the record that is kept has no end: $(cat kept.tsv)"

$profile --peaks=false --max_time=6s -- train --hidden=8,8 --max_epochs=100000000 --plot=false --output_dir=long \
  f.safetensors > /dev/null 2> page || fail "cut: $(cat page)"
expect_line 'cut short by --max_time' page
expect_line '^train (' page

succeeds $profile --find_lr --lr_steps=60 --output_dir=lr -- train --hidden=8,8 f.safetensors && mv stdout out
expect_line '^suggested: --learning_rate=' out
succeeds $profile --find_batch_size --time_budget=15s -- train --hidden=8,8 f.safetensors && mv stdout out
expect_line '^suggested: --batch_size=' out

succeeds $profile --tune --time_budget=20s --allow=course --flagfile_output=tuned -- train --hidden=8,8 --max_epochs=3 \
  --output_dir=tuned-run f.safetensors && mv stdout out
expect_line '^num_workers	left_out' out
[ -e tuned-run ] && fail "trials write to the run's directory"
train --flagfile=tuned > /dev/null 2> log || fail "train --flagfile: $(cat log)"
[ -s tuned-run/best.safetensors ] || fail "the tuned run wrote nothing"

featurize --output=t.safetensors --train="$elements/train.txt" --valid="$elements/valid.txt" \
  --test="$elements/test.txt" 2> /dev/null
succeeds $profile --tune --time_budget=15s -- train --embedding_dim=16 --embedding_height=4 --embedding_width=4 \
  t.safetensors && mv stdout out
# On a busy machine not all of it is tried in that time.
expect_line '^as_given	measured' out
expect_line '^batch_size=512	' out
expect_line '^precision=bf16-mixed	.*costs accuracy\|^precision=bf16-mixed	[nrf]' out
finish
