#!/usr/bin/env bash
# Plans of subsets, scores of attributions against retrained models, removal: by hand, and by --judge.
# tools/tracin/judge has the tests with known correlations.
set -uo pipefail
tracin=$PWD/tools/tracin/tracin
train="$PWD/tools/train/train --threads=1 --plot=false --progress=false --check_gradient=false"
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
# program counts, too.
succeeds $tracin $data --lds=plan.safetensors --predictions=runs/0-0,runs/1-0,runs/2-0,runs/3-0,runs/4-0 \
  energy.safetensors
expect_line '1 training on each, 4 tests, quantity: energy' log
expect_no_line 'ceiling\|own loss' stdout
# What makes an energy neither better nor worse predicts nothing of it.
succeeds $tracin $data --lds=plan.safetensors --predictions='runs/?-?' --model=run/last.safetensors energy.safetensors
[ "$(cut -f 1 stdout | tr '\n' ',')" = 'scores,energy.safetensors,random,ceiling of 2 seeds,' ] ||
  fail "rows of energies: $(cat stdout)"
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

# A glob may match directories, whose last models count.
succeeds $tracin $data --lds=plan.safetensors --predictions='runs/?-?' --model=run/last.safetensors --seed=3 \
  loss.safetensors
cmp stdout lds.tsv || fail "a glob of directories: $(cat stdout)"

# In one command, which computes the influence, too; again, it has nothing to train.
succeeds $tracin $data --judge=judge --plan_subsets=5 --kept=0.6 --seed=3 --seeds 2 --num_processes=2 run
cmp <(tail -n +3 stdout) <(tail -n +3 lds.tsv) || fail "--judge has other scores: $(cat stdout lds.tsv)"
[ "$(cell judge/influence.safetensors 2 stdout)" = "$(cell loss.safetensors 2 lds.tsv)" ] || fail "another score"
expect_line '^tracin: 10 trainings in judge$' log
expect_line 'warning: .*5 subsets gives intervals that say little.*20 or more' log
cp stdout judge.tsv
cmp stdout judge/lds.tsv || fail "lds.tsv"
$diff --rtol=0 plan.safetensors judge/subsets.safetensors || fail "another plan"
$diff --rtol=0 runs/3-1/last.safetensors judge/subset-00003-seed-1/last.safetensors || fail "another training"
# A glob of its directory has logs beside the trainings.
succeeds $tracin $data --lds=judge/subsets.safetensors --predictions='judge/subset-*' --model=run/last.safetensors \
  --seed=3 loss.safetensors
cmp <(tail -n +3 stdout) <(tail -n +3 judge.tsv) || fail "a glob of a judge: $(cat stdout)"
refuses 'no match is a directory of a run or a model' $tracin $data --lds=judge/subsets.safetensors \
  --predictions='judge/subset-*.log' --model=run/last.safetensors loss.safetensors
rm judge/subset-00002-seed-0/finished # as if it had been stopped
succeeds $tracin $data --judge=judge --plan_subsets=5 --kept=0.6 --seed=3 --seeds=2 run loss.safetensors
expect_line '10 trainings in judge, of which 9 are there already' log
cmp <(tail -n +3 stdout) <(tail -n +3 judge.tsv) || fail "a second time: $(cat stdout)"
refuses 'was left by another plan' $tracin $data --judge=judge --plan_subsets=6 --kept=0.6 --seed=3 run
# DIR counts for the run that it was made for, not for this run trained longer, with another seed or flags.
again="--judge=judge --plan_subsets=5 --kept=0.6 --seed=3 --seeds=2"
succeeds $train $flags --max_epochs=6 --keep_every_epochs=2 --output_dir=longer f.safetensors
refuses 'judge/run.txt.*steps=20, and the run now steps=30' $tracin $data $again longer loss.safetensors
succeeds $train $flags --seed=5 --output_dir=seeded f.safetensors
refuses 'judge/run.txt.*seed=0, and the run now seed=5' $tracin $data $again seeded loss.safetensors
refuses 'judge/run.txt.*seed=0, and the run now seed=5' $tracin $data --judge=judge --retrain=top1 seeded \
  loss.safetensors
succeeds $train $flags --learning_rate=0.02 --output_dir=rated f.safetensors
refuses 'judge/run.txt.*model_sha256=' $tracin $data $again rated loss.safetensors
cp -r run reflagged && echo '--batch_size=4' >> reflagged/flags.txt
refuses 'judge/flags.txt.*the run now --batch_size=4' $tracin $data $again reflagged loss.safetensors
cp -r run resumed
succeeds $train $flags --max_epochs=5 --learning_rate=0.02 --resume --override=all --output_dir=resumed f.safetensors
refuses 'resumed/flags.txt: the run was resumed with other settings or data (.*learning_rate is 0.02, was' \
  $tracin $data --judge=no --plan_subsets=5 resumed loss.safetensors
[ ! -e no ] || fail "a run that was resumed otherwise: $(ls no)"
refuses 'run: is the directory of a run' $tracin $data --judge=run --plan_subsets=5 run loss.safetensors
succeeds $tracin $data $again run loss.safetensors
cmp <(tail -n +3 stdout) <(tail -n +3 judge.tsv) || fail "refusals changed the trainings: $(cat stdout)"
# A training in DIR that somebody made in another way.
cp -r judge mixed && rm -r mixed/subset-00001-seed-1
succeeds $train $flags --learning_rate=0.02 --subset=mixed/subsets.safetensors:1 --seed=1 \
  --output_dir=mixed/subset-00001-seed-1 f.safetensors
refuses 'has --learning_rate 0.02' $tracin $data ${again/=judge/=mixed} run loss.safetensors
# A training that fails ends it, with what train says; and so does tracin.
mkdir broken && cp -r run/. broken/ && echo '--no_such_flag=1' >> broken/flags.txt
refuses 'subset-00000-seed-0.log: train failed.*no_such_flag' $tracin $data --judge=failed --plan_subsets=5 broken \
  loss.safetensors

refuses 'influence.log: tracin failed.*term_weights' $tracin $data --judge=failed-too --plan_subsets=5 \
  --term_weights=much run

# Without files, influence is that of the checkpoints of epochs, not also of steps and of the best. Flags that need
# early stopping are not passed on. Commas are a part of a name.
succeeds $train $flags --patience=50 --min_epochs=1 --min_steps=2 --max_time=1h --keep_every_epochs=1 \
  --keep_every_steps=7 --save_top_k=2 --output_dir=many f.safetensors
succeeds $tracin $data --judge=a,b --plan_subsets=3 --rates=checkpoint many
expect_line '^tracin: influence of 4 checkpoints' log
succeeds $tracin $data --top_k=0 --rates=checkpoint --output=rates.safetensors many/checkpoints/epoch-*.safetensors
$diff --rtol=0 rates.safetensors a,b/influence.safetensors || fail "--rates is not passed on"
# A glob of all counts each step once, in order.
succeeds $tracin $data many/checkpoints/epoch-0000{1,2,3,4}.safetensors many/checkpoints/step-*.safetensors
cp stdout glob.tsv
succeeds $tracin $data many/checkpoints/*.safetensors
expect_line 'is left out: .* is of the same step, .* more are left out likewise' log
cmp stdout glob.tsv || fail "a glob of checkpoints: $(diff stdout glob.tsv)"
succeeds $train $flags --keep_every_steps=7 --save_top_k=2 --output_dir=steps f.safetensors
succeeds $tracin $data --judge=of-steps --plan_subsets=3 steps
expect_line '^tracin: influence of 2 checkpoints' log
# Trainings in DIR that are alike, but not as the run was.
for m in 0 1 2; do
  rm -r of-steps/subset-0000$m-seed-0
  succeeds $train $flags --learning_rate=0.02 --subset=of-steps/subsets.safetensors:$m \
    --output_dir=of-steps/subset-0000$m-seed-0 f.safetensors
done
refuses 'has --learning_rate 0.02, and steps/last.safetensors has 0.01' $tracin $data --judge=of-steps \
  --plan_subsets=3 steps
# Of a curvature, that of the last checkpoint, and of energies.
curved="--precondition=gauss-newton --damping=trace:0.1 --probes=2"
succeeds $tracin $data --judge=curved --plan_subsets=3 $curved run
expect_line '^tracin: influence of 1 checkpoint ->' log
expect_line 'quantity: energy' log
succeeds $tracin $data --top_k=0 $curved --output=curved.safetensors run/checkpoints/last.safetensors
$diff --rtol=0 curved.safetensors curved/influence.safetensors || fail "flags of curvature are not passed on"
succeeds $tracin $data --top_k=0 --precondition=ek-fac --output=ek.safetensors run/checkpoints/last.safetensors
succeeds $tracin $data --judge=curved --plan_subsets=3 run curved.safetensors ek.safetensors energy.safetensors
succeeds $tracin $data --judge=by-blocks --plan_subsets=3 --precondition=ek-fac run
expect_line '^tracin: influence of 1 checkpoint ->' log
refuses '--damping has no effect with influence files' $tracin $data --judge=curved --plan_subsets=3 $curved run \
  curved.safetensors

# Removal: a training on all and one for each test and group, with each seed.
succeeds $tracin $data --judge=removed --retrain=top3,random3 --seeds=2 run loss.safetensors
[ "$(wc -l < stdout)" = 11 ] || fail "rows of removals: $(cat stdout)"
[ "$(ls -d removed/removal-*-seed-? | wc -l)" = 18 ] || fail "trainings: $(ls removed)"
expect_line '36 training structures\|18 trainings in removed' log
[ "$(head -n 1 stdout | tr '\t' ' ')" = 'test name removed predicted_change change standard_error change_of_others' ] ||
  fail "header: $(cat stdout)"
[ "$(wc -l < removed/removal-00001-seed-0/train_frames.txt)" = 33 ] || fail "three are not removed"
[ "$(wc -l < removed/removal-00000-seed-0/train_frames.txt)" = 36 ] || fail "subset 0 lacks some"

refuses 'removes by the scores of one file' $tracin $data --judge=removed --retrain=top3 run loss.safetensors \
  energy.safetensors

# The same training data in another order: the numbers of the scores are those of other structures.
frames 0 20 > s1.extxyz
frames 20 40 > s2.extxyz
for part in 1 2; do
  succeeds $featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2 \
    --output=f$part.safetensors s$part.extxyz
done
succeeds $train $flags --validation_fraction=0 --keep_every_epochs=2 --output_dir=parts f1.safetensors f2.safetensors
succeeds $tracin --plan_subsets=5 --train=f1.safetensors,f2.safetensors --output=parts.safetensors parts
succeeds $tracin --train=f1.safetensors,f2.safetensors --test=t.extxyz --top_k=0 --output=ordered.safetensors \
  parts/checkpoints/epoch-*.safetensors
succeeds $tracin --train=f1.safetensors,f2.safetensors --test=t.extxyz --lds=parts.safetensors --predictions=y.tsv \
  --model=parts/last.safetensors ordered.safetensors
refuses 'ordered.safetensors.*in another order' $tracin --train=f2.safetensors,f1.safetensors --test=t.extxyz \
  --lds=parts.safetensors --predictions=y.tsv --model=parts/last.safetensors ordered.safetensors

# Predictions without stress, of structures without a cell, say nothing of a loss with stresses.
features="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2"
stressed="$features --hidden=4 --max_epochs=1 --force_weight=0.1 --stress_weight=0.1"
succeeds $train $stressed --keep_every_epochs=1 --output_dir=stressed s.extxyz
succeeds $tracin --plan_subsets=3 --train=s.extxyz --output=stressed.safetensors stressed
succeeds $tracin --train=s.extxyz --test=t.extxyz --top_k=0 --output=of-stress.safetensors \
  stressed/checkpoints/epoch-*.safetensors
mkdir no-cell && sed 's/\(Lattice\|stress\|pbc\)="[^"]*"//g' t.extxyz > no-cell/t.extxyz
for m in 0 1 2; do
  succeeds $train $stressed --subset=stressed.safetensors:$m --output_dir=stressed-$m s.extxyz
  succeeds $evaluate --output_dir=with-cell/$m stressed-$m/last.safetensors t.extxyz
  (cd no-cell && $evaluate --output_dir=$m ../stressed-$m/last.safetensors t.extxyz > log 2>&1) ||
    fail "no cell: $(cat no-cell/log)"
done
of_stress="--train=s.extxyz --test=t.extxyz --lds=stressed.safetensors --model=stressed/last.safetensors"
succeeds $tracin $of_stress --predictions='with-cell/?/predictions.safetensors' of-stress.safetensors
refuses 'has no stress' $tracin $of_stress --predictions='no-cell/?/predictions.safetensors' of-stress.safetensors

# What train chose for the run, which flags of older versions do not say and other limits or data would change, is that
# of its trainings on subsets.
for kind in many-body chebyshev; do
  small=$([ $kind = many-body ] && echo "--channels=2 --max_l=1 --cutoff=3 --hidden=4")
  succeeds $train --species=Ti,O --potential=$kind $small --max_epochs=2 --keep_every_epochs=1 --output_dir=old-$kind \
    s2.extxyz
  sed -i '/^--potential=\|^--max_epochs=/d' old-$kind/flags.txt
  succeeds $tracin --train=s2.extxyz --test=t.extxyz --judge=of-$kind --plan_subsets=3 old-$kind
  expect_line "^--potential=$kind" of-$kind/flags.txt
  expect_line '^--max_epochs=2$' of-$kind/flags.txt
  expect_line '^--lr_interval=epoch$' of-$kind/flags.txt
done
# A folder of such a version says less, and goes on where its trainings were what the run was; else they were others.
cp of-chebyshev/flags.txt said.txt
sed -i '/^--potential=/d' of-chebyshev/flags.txt
succeeds $tracin --train=s2.extxyz --test=t.extxyz --judge=of-chebyshev --plan_subsets=3 old-chebyshev
expect_line 'of which 3 are there already' log
cmp of-chebyshev/flags.txt said.txt || fail "flags of a folder of an older version: $(cat of-chebyshev/flags.txt)"
sed -i '/^--potential=/d' of-many-body/flags.txt
refuses 'trainings with other flags' \
  $tracin --train=s2.extxyz --test=t.extxyz --judge=of-many-body --plan_subsets=3 old-many-body
sed -i '/^--max_epochs=/d' of-chebyshev/flags.txt
refuses 'trainings with other flags.*--max_epochs=2' \
  $tracin --train=s2.extxyz --test=t.extxyz --judge=of-chebyshev --plan_subsets=3 old-chebyshev

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

# A score is the better the higher it is; baselines are there.
succeeds $tracin $kg --judge=kg-judge --plan_subsets=4 --kept=0.5 --stratify_by=relation --inverse_examples kg \
  kg-judge/influence.safetensors
succeeds $tracin $kg --top_k=0 --test_quantity=score --loss=1-N --output=score.safetensors \
  kg/checkpoints/epoch-*.safetensors
succeeds $tracin $kg --judge=kg-judge --plan_subsets=4 --kept=0.5 --stratify_by=relation kg score.safetensors
[ "$(cut -f 1 stdout | tr '\n' ',')" = 'scores,score.safetensors,own loss,shared entity,random,' ] ||
  fail "rows of scores: $(cat stdout)"
# Removed are those that help, whose removal lowers the score.
succeeds $tracin $kg --judge=kg-removed --retrain=top3 kg score.safetensors
[ "$(awk -F'\t' 'NR > 1 && $3 == "top3" && $4 < 0' stdout | wc -l)" = 4 ] || fail "the wrong end: $(cat stdout)"
# Older versions recorded a kind of potentials for graphs, too, which says nothing of them.
python3 - << 'PYTHON'
import json
config = json.load(open("kg/config.json"))
assert "potential" not in config["flags"]
config["flags"]["potential"] = {"value": "chebyshev", "origin": "default"}
json.dump(config, open("kg/config.json", "w"))
PYTHON
succeeds $tracin $kg --judge=kg-judge --plan_subsets=4 --kept=0.5 --stratify_by=relation kg score.safetensors
{ head -n -2 "$elements/train.txt" && tail -n 2 "$elements/train.txt" | tac; } > swapped.txt
succeeds $featurize --train=swapped.txt --valid="$elements/valid.txt" --test="$elements/test.txt" \
  --output=swapped.safetensors
refuses 'score.safetensors.*in another order' $tracin --train=swapped.safetensors --test=t.tsv \
  --judge=kg-judge --plan_subsets=4 --kept=0.5 --stratify_by=relation kg score.safetensors

# What does not fit.
# A training that was stopped, that is shorter, or of other settings.
of_0="--subset=plan.safetensors:0 --seed=2"
succeeds $train $flags $of_0 --max_epochs=3 --output_dir=odd/short f.safetensors
refuses 'odd/short/last.safetensors: has step 15, and runs/0-0/last.safetensors has 20' $tracin $data \
  --lds=plan.safetensors --predictions=runs/0-0,odd/short loss.safetensors
frames 0 40 | sed 's/index=/number=/' > copy.extxyz
succeeds $featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2 --output=copy.safetensors \
  copy.extxyz
succeeds $train $flags $of_0 --output_dir=odd/copy copy.safetensors
refuses 'odd/copy/last.safetensors: has data_sha256' $tracin $data --lds=plan.safetensors \
  --predictions=runs/0-0,odd/copy loss.safetensors
succeeds $train $flags $of_0 --learning_rate=0.02 --output_dir=odd/rate f.safetensors
refuses 'has --learning_rate 0.02, and runs/0-0/last.safetensors has 0.01' $tracin $data \
  --lds=plan.safetensors --predictions=runs/0-0,odd/rate loss.safetensors
$train $flags $of_0 --max_epochs=1000000 --save_interval=0 --output_dir=odd/stopped f.safetensors > log 2>&1 &
for _ in {1..600}; do
  [ -e odd/stopped/last.safetensors ] && break
  sleep 0.1
done
kill -TERM $!
wait $!
refuses 'odd/stopped/last.safetensors: is of a run that has not ended' $tracin $data --lds=plan.safetensors \
  --predictions=odd/stopped loss.safetensors
succeeds $evaluate --forces=false --output_dir=odd/predicted odd/stopped/last.safetensors t.extxyz
refuses 'odd/predicted/predictions.safetensors: is of a run that has not ended' $tracin $data \
  --lds=plan.safetensors --predictions=odd/predicted/predictions.safetensors --model=run/last.safetensors \
  loss.safetensors
refuses '--plan_subsets=2: --judge needs 3' $tracin $data --judge=no --plan_subsets=2 run loss.safetensors
refuses 'give it alone' $tracin $data --lds=plan.safetensors --predictions=y.tsv,runs/0-0 --model=run/last.safetensors \
  loss.safetensors
refuses 'nothing matches' $tracin $data --lds=plan.safetensors --predictions='none-*' loss.safetensors
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
