#!/usr/bin/env bash
# Plans of subsets, scores of attributions against retrained models, removal: by hand, and by --judge.
# tools/tracin/judge has the tests with known correlations.
set -uo pipefail
tracin=$PWD/tools/tracin/tracin
train="$PWD/tools/train/train --threads=1 --plot=false --progress=false"
featurize=$PWD/tools/featurize/featurize
evaluate=$PWD/tools/evaluate/evaluate
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v a="$1" -v b="$2" '/^ *[0-9]+ *$/ { ++n } n > a && n <= b' "$tio2"; }
cell() { awk -F'\t' -v r="$1" -v c="$2" '$1 == r { print $c }' "$3"; } # cell ROW COLUMN FILE
frames 0 40 > s.extxyz
frames 40 44 > t.extxyz
succeeds $featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2 --output=f.safetensors \
  s.extxyz
flags="--hidden=4 --max_epochs=4 --force_weight=0"
succeeds $train $flags --keep_every_epochs=2 --output_dir=run f.safetensors
data="--train=f.safetensors --test=t.extxyz"
saved=run/checkpoints/epoch-0000[24].safetensors
succeeds $tracin $data --top_k=0 --output=loss.safetensors $saved
succeeds $tracin $data --top_k=0 --test_quantity=energy --output=energy.safetensors $saved
succeeds $tracin --train=f.safetensors --test=t.extxyz,s.extxyz --max_tests=5 --top_k=0 --output=more.safetensors $saved

# By hand: plan, trainings, score.
succeeds $tracin --plan_subsets=5 --kept=0.6 --seed=3 --train=f.safetensors --output=plan.safetensors run
succeeds $tracin --plan_subsets=5 --kept=0.6 --seed=3 --train=f.safetensors --output=same.safetensors run
$diff --rtol=0 plan.safetensors same.safetensors || fail "the same flags draw another plan"
for m in 0 1 2 3 4; do
  for seed in 0 1; do
    succeeds $train $flags --subset=plan.safetensors:$m --seed=$seed --output_dir=runs/$m-$seed f.safetensors
  done
done
succeeds $tracin $data --lds=plan.safetensors --predictions='runs/*/last.safetensors' --model=run/last.safetensors \
  --seed=3 loss.safetensors
cp stdout lds.tsv
expect_line '5 subsets that keep 0.6 of 36 training structures, 2 trainings on each, 4 tests, quantity: loss' log
[ "$(cut -f 1 lds.tsv | tr '\n' ',')" = \
  'scores,loss.safetensors,own loss,same config_type,random,ceiling of 2 seeds,' ] || fail "rows: $(cat lds.tsv)"
[ "$(head -n 1 lds.tsv | tr '\t' ' ')" = \
  'scores lds lds_low lds_high lds_median median_low median_high of_ceiling' ] || fail "header: $(cat lds.tsv)"
# Of a single seed there is no ceiling; without --model no loss; a directory is its last model. A table of another
# program
# with the same order of outcomes gives the same score.
succeeds $tracin $data --lds=plan.safetensors --predictions=runs/0-0,runs/1-0,runs/2-0,runs/3-0,runs/4-0 \
  energy.safetensors
expect_line '1 training on each, 4 tests, quantity: energy' log
expect_no_line 'ceiling\|own loss' stdout
printf 'subset\tseed\ttest\tvalue\n' > y.tsv
for m in 0 1 2 3 4; do for t in 0 1 2 3; do printf '%s\t0\t%s\t%s\n' $m $t $((m * 7 % 5)); done; done >> y.tsv
succeeds $tracin $data --lds=plan.safetensors --predictions=y.tsv --model=run/last.safetensors energy.safetensors
[ -n "$(cell energy.safetensors 2 stdout)" ] || fail "a table of outcomes: $(cat stdout)"

# What evaluate predicts with the models, in place of the models, which by then may be gone.
for run in runs/*; do
  succeeds $evaluate --forces=false --output_dir=predicted/${run#runs/} $run/last.safetensors t.extxyz
done
succeeds $tracin $data --lds=plan.safetensors --predictions='predicted/*/predictions.safetensors' \
  --model=run/last.safetensors --seed=3 loss.safetensors
cmp stdout lds.tsv || fail "predictions of evaluate: $(cat stdout)"
refuses 'has no prediction of the test' $tracin --train=f.safetensors --test=t.extxyz,s.extxyz --lds=plan.safetensors \
  --predictions=predicted/0-0/predictions.safetensors --model=run/last.safetensors more.safetensors
refuses '--model gives one' $tracin $data --lds=plan.safetensors --predictions=predicted/0-0/predictions.safetensors \
  loss.safetensors

# In one command, which computes the influence, too; again, it has nothing to train.
succeeds $tracin $data --judge=judge --plan_subsets=5 --kept=0.6 --seed=3 --seeds 2 --num_processes=2 run
cmp <(tail -n +3 stdout) <(tail -n +3 lds.tsv) || fail "--judge has other scores: $(cat stdout lds.tsv)"
[ "$(cell judge/influence.safetensors 2 stdout)" = "$(cell loss.safetensors 2 lds.tsv)" ] || fail "another score"
expect_line '^tracin: 10 trainings in judge$' log
cp stdout judge.tsv
cmp stdout judge/lds.tsv || fail "lds.tsv"
$diff --rtol=0 plan.safetensors judge/subsets.safetensors || fail "another plan"
$diff --rtol=0 runs/3-1/last.safetensors judge/subset-00003-seed-1/last.safetensors || fail "another training"
rm judge/subset-00002-seed-0/finished # as if it had been stopped
succeeds $tracin $data --judge=judge --plan_subsets=5 --kept=0.6 --seed=3 --seeds=2 run loss.safetensors
expect_line '10 trainings in judge, of which 9 are there already' log
cmp <(tail -n +3 stdout) <(tail -n +3 judge.tsv) || fail "a second time: $(cat stdout)"
refuses 'was left by another plan' $tracin $data --judge=judge --plan_subsets=6 --kept=0.6 --seed=3 run
# A training that fails ends it, with what train says.
mkdir broken && cp -r run/. broken/ && echo '--no_such_flag=1' >> broken/flags.txt
refuses 'the training failed.*no_such_flag' $tracin $data --judge=failed --plan_subsets=5 broken loss.safetensors

# Removal: a training on all and one for each test and group, with each seed.
succeeds $tracin $data --judge=removed --retrain=top3,random3 --seeds=2 run loss.safetensors
[ "$(wc -l < stdout)" = 11 ] || fail "rows of removals: $(cat stdout)"
[ "$(ls -d removed/removal-*-seed-? | wc -l)" = 18 ] || fail "trainings: $(ls removed)"
expect_line '36 training structures\|18 trainings in removed' log
[ "$(head -n 1 stdout | tr '\t' ' ')" = 'test name removed predicted_change change standard_error change_of_others' ] ||
  fail "header: $(cat stdout)"
[ "$(wc -l < removed/removal-00001-seed-0/train_frames.txt)" = 33 ] || fail "three are not removed"
[ "$(wc -l < removed/removal-00000-seed-0/train_frames.txt)" = 36 ] || fail "subset 0 lacks some"

# Triples. Each entity keeps a triple, and inverse examples count for their triple.
succeeds $featurize --train="$elements/train.txt" --valid="$elements/valid.txt" --test="$elements/test.txt" \
  --output=g.safetensors
head -n 3 "$elements/test.txt" > t.tsv
kg="--train=g.safetensors --test=t.tsv"
for loss in 1vsAll 1-N; do
  rm -rf kg kg-judge
  succeeds $train --kge_model=complex --kge_loss=$loss --embedding_dim=8 --max_epochs=4 --keep_every_epochs=2 \
    --output_dir=kg g.safetensors
  succeeds $tracin $kg --judge=kg-judge --plan_subsets=4 --kept=0.5 --stratify_by=relation --loss=$loss \
    --inverse_examples kg
  [ "$(cut -f 1 stdout | tr '\n' ',')" = 'scores,kg-judge/influence.safetensors,own loss,shared entity,random,' ] ||
    fail "rows of triples: $(cat stdout)"
done

# What does not fit.
refuses 'are not those of\|is "' $tracin --train=f.safetensors --test=s.extxyz --lds=plan.safetensors \
  --predictions=runs/0-0 loss.safetensors
refuses 'was not trained on a subset' $tracin $data --lds=plan.safetensors --predictions=run loss.safetensors
refuses 'another plan than' $tracin $data --lds=plan.safetensors --predictions=removed/removal-00001-seed-0 \
  loss.safetensors
refuses 'are both of subset 0 with seed 0' $tracin $data --lds=plan.safetensors \
  --predictions=runs/0-0,runs/0-0/best.safetensors loss.safetensors
refuses '2 subsets have a model of each' $tracin $data --lds=plan.safetensors --predictions=runs/0-0,runs/1-0 \
  loss.safetensors
succeeds $tracin $data --top_k=2 --output=few.safetensors $saved
refuses 'has no score of 34 of the 36 .*--top_k=0' $tracin $data --lds=plan.safetensors \
  --predictions='runs/*/last.safetensors' few.safetensors
succeeds $tracin $data --top_k=0 --aggregate --output=sum.safetensors $saved
refuses 'a sum of tests' $tracin $data --lds=plan.safetensors --predictions='runs/*/last.safetensors' sum.safetensors
refuses 'different quantities' $tracin $data --lds=plan.safetensors --predictions='runs/*/last.safetensors' \
  loss.safetensors energy.safetensors
refuses '--top_k has no effect with --lds' $tracin $data --lds=plan.safetensors --predictions=runs/0-0 --top_k=3 \
  loss.safetensors
refuses '--kept has no effect without --plan_subsets or --judge' $tracin $data --kept=0.5 $saved
refuses '--predictions has no effect without --lds' $tracin $data --predictions=runs/0-0 $saved
refuses '--retrain has no effect without --judge' $tracin $data --retrain=top5 run
refuses 'expected topN and randomN' $tracin $data --judge=no --retrain=best5 run loss.safetensors
refuses 'needs --output=subsets' $tracin --plan_subsets=3 --train=f.safetensors run
refuses 'no last.safetensors' $tracin --plan_subsets=3 --train=f.safetensors --output=no.safetensors runs
refuses 'a share of 0.001' $tracin --plan_subsets=3 --kept=0.001 --train=f.safetensors --output=no.safetensors run
refuses 'expected config_type with structures' $tracin --plan_subsets=3 --stratify_by=relation --train=f.safetensors \
  --output=no.safetensors run
[ ! -e no.safetensors ] || fail "a refused plan left a file"
succeeds $train $flags --patience=1 --max_epochs=200 --learning_rate=1 --keep_every_epochs=1 --output_dir=early \
  f.safetensors
refuses 'the run ended by no improvement' $tracin $data --judge=no --plan_subsets=3 early loss.safetensors
finish
