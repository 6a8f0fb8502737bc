#!/usr/bin/env bash
# The trials of --tune, --find_batch_size and --find_lr with a train that is a script: known gains, refusals, faults.
set -uo pipefail
profile=$PWD/tools/profile/profile
mkdir "$TEST_TMPDIR/bin" && ln -s "$PWD/tools/profile/fake_train.sh" "$TEST_TMPDIR/bin/train"
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
export PATH=$TEST_TMPDIR/bin:$PATH TMPDIR=$TEST_TMPDIR/tmp
mkdir tmp
touch data

# gain SETTING: what the table says of it.
gain() { awk -F '\t' -v s="$1" '$1 == s { print $3 }' table; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.98 * b && a < 1.02 * b) }'; }

succeeds $profile --tune --time_budget=20s --flagfile_output=tuned.flags -- train --learning_rate 0.01 --plot=false \
  data && mv stdout table
near "$(gain threads=1)" 1.25 || fail "threads=1: $(cat table)"
near "$(gain batch_size=64)" 1.5 || fail "batch_size=64: $(cat table)"
expect_line '^num_workers=1	refused	.*cached features need none' table
expect_line '^suggested: --threads=1: 1.25 times' table
expect_line '^also: --batch_size=64: 1.50 times, but .*--allow=course' table
for line in --learning_rate=0.01 --plot=false --threads=1 data '#--batch_size=64'; do
  grep -qx -- "$line" tuned.flags || fail "no $line in: $(cat tuned.flags)"
done
# The recommended flags are taken by the next round, which finds nothing more.
succeeds $profile --tune --time_budget=12s -- train --flagfile=tuned.flags && mv stdout table
expect_line '^suggested: the flags as they are' table
succeeds $profile --tune --time_budget=20s --allow=course -- train data && mv stdout table
grep -Eq '^suggested: --batch_size=64 --threads=1: 1.8[78] times' table || fail "both: $(cat table)"
expect_line '^warning: batch_size=64' table
[ -z "$(ls tmp)" ] || fail "trials leave: $(ls tmp)"

# Stopped: the best so far, the status of the signal, nothing left.
$profile --tune --time_budget=60s -- train data > table 2> log &
sleep 6
kill -INT $!
wait $!
[ $? = 130 ] || fail "status after SIGINT: $(cat log)"
expect_line '^as_given	measured' table
[ -z "$(ls tmp)" ] || fail "trials leave after SIGINT: $(ls tmp)"

succeeds $profile --find_batch_size --time_budget=10s --memory_limit=200M --output_dir=batch -- train --batch_size=7 \
  data && mv stdout table
expect_line '^largest that fits 200 MB: 64 tried; a batch of 128 took more than --memory_limit' table
expect_line '^suggested: --batch_size=64' table
expect_line 'knee: 64' batch/batch-size.svg
[ "$(wc -l < batch/batch-size.tsv)" = 6 ] || fail "files: $(ls batch)"

succeeds $profile --find_lr --output_dir=lr -- train --lr_scheduler=cosine --min_learning_rate=1e-5 data &&
  mv stdout table
rate=$(sed -n 's/^suggested: --learning_rate=\([^ ]*\) .*/\1/p' table)
awk -v r="$rate" 'BEGIN { exit !(r > 3e-4 && r < 1e-2) }' || fail "suggestion: $(cat table)"
expect_line 'steepest: ' lr/learning-rate.svg
[ "$(wc -l < lr/learning-rate.tsv)" = 201 ] || fail "files: $(ls lr)"
succeeds $profile --find_lr --tsv --min_lr=1e-6 --max_lr=1e-1 --lr_steps=51 -- train data && mv stdout table
[ "$(wc -l < table)" = 52 ] || fail "--lr_steps: $(cat table)"
awk -F '\t' 'NR == 2 && $2 != "1e-06" { exit 1 } NR == 52 && ($2 < 0.0999 || $2 > 0.1001) { exit 1 }' table ||
  fail "rates: $(cat table)"
expect_error 2 'falls at no rate' $profile --find_lr --min_lr=0.05 --max_lr=0.2 -- train data
expect_error 1 'lbfgs' $profile --find_lr -- train --optimizer=lbfgs data

# Rates of groups keep their ratio to the run's: to the default, which train knows, and to a given one.
own='a:learning_rate=0.005;b:optimizer=sgd'
FAKE_GROUPS=groups succeeds $profile --find_lr -- train --parameter_groups=$own data && mv stdout table
expect_line "rates of groups keep .*--parameter_groups='a:lr_scale=0.5;b:optimizer=sgd,lr_scale=1'" table
expect_line "^0 $own\$" groups
expect_line '^1e-08 a:lr_scale=0.5;b:optimizer=sgd,lr_scale=1$' groups
FAKE_GROUPS=given succeeds $profile --find_lr --tsv --min_lr=1e-6 -- train --learning_rate=0.001 \
  --parameter_groups=a:learning_rate=0.002 data
expect_line '^[^ ]*e-07 a:lr_scale=2$' given
FAKE_GROUPS=scaled succeeds $profile --find_lr -- train --parameter_groups=a:lr_scale=3 data
[ "$(cat scaled)" = '1e-08 a:lr_scale=3' ] || fail "groups that follow the run: $(cat scaled)"

for mode in "--tune --time_budget=10s" "--find_batch_size --time_budget=4s --memory_limit=200M" --find_lr; do
  FAKE_FAULT=unvalidated succeeds $profile $mode -- train data && mv stdout table
  expect_line '^suggested: ' table
done
for mode in --tune --find_batch_size --find_lr; do
  FAKE_FAULT=refuse expect_error 1 'data: no such file' $profile $mode -- train data
  FAKE_FAULT=crash expect_error 3 'train ended with 139' $profile $mode -- train data
done
FAKE_FAULT=silent expect_error 3 'logged no step' $profile --tune -- train data
# Programs that are no train, or do not run.
mkdir broken
printf '#!/bin/sh\necho "libtorch.so: cannot open shared object file" >&2; exit 127\n' > broken/train
chmod +x broken/train
expect_error 1 'does not look like .*: exit status 127; it said: libtorch.so: cannot open' $profile --tune -- \
  broken/train data
printf '#!/bin/sh\nkill -SEGV $$\n' > broken/train
expect_error 1 'does not look like .*: signal 11, Segmentation fault; it said nothing' $profile --tune -- broken/train \
  data
printf '#!/bin/sh\necho "  --species=\\"\\" (string)"\n' > broken/train
expect_error 1 'does not look like .*: exit status 0, but no flag --output_dir' $profile --tune -- broken/train data
expect_error 1 'no flag --no_such_flag' $profile --tune -- train --no_such_flag=1 data
expect_error 1 'has no input' $profile --tune -- train --threads=1
expect_error 1 'a file instead of -' $profile --tune -- train -
expect_error 1 'missing.flags' $profile --tune -- train --flagfile=missing.flags
echo '--flagfile=circle' > circle
expect_error 1 'circle' $profile --tune -- train --flagfile=circle
finish
