#!/usr/bin/env bash
# Training on a part of the training examples (--subset), all else being as with all of them.
set -uo pipefail
train="$PWD/tools/train/train --threads=1 --plot=false --progress=false --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
tracin=$PWD/tools/tracin/tracin
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v a="$1" -v b="$2" '/^ *[0-9]+ *$/ { ++n } n > a && n <= b' "$tio2"; }
frames 0 40 > all.extxyz
frames 20 40 > some.extxyz
model="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2 --hidden=4"
flags="$model --force_weight=0 --test_fraction=0.1 --max_epochs=3"
numbers() { cut -d ' ' -f 1 "$1" | sort -n | tr '\n' ' '; }

succeeds $train $flags --keep_every_epochs=1 --output_dir=run all.extxyz
succeeds $tracin --plan_subsets=3 --kept=0.5 --seed=1 --train=all.extxyz --output=plan.safetensors run
expect_line '3 subsets of 32 training structures -> plan.safetensors' log
succeeds $train $flags --keep_every_epochs=1 --subset=plan.safetensors:1 --output_dir=part all.extxyz
expect_line 'subset=plan.safetensors:1: learns from 16 of 32 training structures; scales, atomic energies' log
expect_line '16 structures train, 4 validate, 4 are kept for the test' log
# The same validation and test set, number of steps, scales and atomic energies; other parameters.
for set in validation test; do cmp run/${set}_frames.txt part/${set}_frames.txt || fail "another $set set"; done
cmp run/finished part/finished || fail "another length: $(cat run/finished part/finished)"
[ "$(sort run/train_frames.txt part/train_frames.txt | uniq -d | wc -l)" = 16 ] || fail "not a part of the training set"
$diff --rtol=0 run/last.safetensors part/last.safetensors > out
expect_line 'weight\|parameters' out
expect_no_line 'feature_\|mean\|scale\|shift\|energies' out
# Another subset is another model, the same flags give the same bits, and flags.txt makes the run again.
succeeds $train $flags --subset=plan.safetensors:2 --output_dir=other all.extxyz
cmp -s part/last.safetensors other/last.safetensors && fail "subsets 1 and 2 are one model"
succeeds $train --flagfile=part/flags.txt --output_dir=again
$diff --rtol=0 part/last.safetensors again/last.safetensors || fail "flags.txt makes another run"
# Content, not numbers: the structures in another order.
frames 0 20 > first.extxyz
succeeds $train $model --force_weight=0 --max_epochs=3 --subset=plan.safetensors:1 \
  --validation_frames=part/validation_frames.txt \
  --test_frames=part/test_frames.txt --output_dir=moved some.extxyz first.extxyz
[ "$(sed 's/.* //' moved/train_frames.txt | sort)" = "$(sed 's/.* //' part/train_frames.txt | sort)" ] ||
  fail "other structures after moving: $(cat moved/train_frames.txt)"

# Resuming needs the same subset.
succeeds $train $flags --max_epochs=6 --subset=plan.safetensors:1 --output_dir=long all.extxyz
refuses 'subset is not set, but the run to resume has' $train $flags --max_epochs=6 --resume --output_dir=part \
  all.extxyz
refuses 'subset is .2 of' $train $flags --max_epochs=6 --resume --subset=plan.safetensors:2 --output_dir=part all.extxyz
refuses '--subset and --override=data' $train $flags --max_epochs=6 --resume --override=data \
  --subset=plan.safetensors:1 --output_dir=part all.extxyz
succeeds $train $flags --max_epochs=6 --resume --subset=plan.safetensors:1 --output_dir=part all.extxyz
[ "$(cut -f 3 part/finished | tail -n 1)" = "$(cut -f 3 long/finished | tail -n 1)" ] || fail "resumed: other steps"

# Forces, several processes: the run of one, to rounding.
succeeds $train $flags --force_weight=0.1 --subset=plan.safetensors:0 --output_dir=one all.extxyz
succeeds $train $flags --force_weight=0.1 --subset=plan.safetensors:0 --num_processes=2 --output_dir=two all.extxyz
$diff --rtol=1e-3 --atol=1e-4 one/last.safetensors two/last.safetensors > out || fail "two processes: $(cat out)"
# Batches that lose all their structures.
succeeds $train $flags --batch_size=1 --subset=plan.safetensors:0 --output_dir=tiny all.extxyz
[ "$(cut -f 3 tiny/finished | tail -n 1)" = 96 ] || fail "steps of batches of one: $(cat tiny/finished)"
succeeds $train $flags --optimizer=lbfgs --subset=plan.safetensors:0 --output_dir=lbfgs all.extxyz

# Who reads the run later knows. tracin lists the structures that counted.
succeeds $evaluate part/best.safetensors all.extxyz
expect_line 'part/best.safetensors: learned from a part of its training set, subset 1 of a plan' log
succeeds $tracin --train=all.extxyz --test=some.extxyz --max_tests=1 --top_k=0 part/checkpoints/epoch-00001.safetensors
[ "$(tail -n +2 stdout | awk -F'\t' '{ print $6 }' | sort -n | tr '\n' ' ')" = "$(numbers part/train_frames.txt)" ] ||
  fail "tracin: $(cat stdout)"

# A plan of other examples, and what is no plan.
refuses 'the plan is of 32 training structures, and this run has 3[0-9]' $train $flags --split_seed=5 \
  --subset=plan.safetensors:0 --output_dir=no all.extxyz
refuses 'listed structures are not among' $train $flags --subset=plan.safetensors:0 --output_dir=no some.extxyz
refuses 'there are 3 subsets, counted from 0' $train $flags --subset=plan.safetensors:3 --output_dir=no all.extxyz
refuses 'and a number from 0, as in' $train $flags --subset=plan.safetensors --output_dir=no all.extxyz
refuses 'kind' $train $flags --subset=run/last.safetensors:0 --output_dir=no all.extxyz
refuses 'error_weighted' $train $flags --sampling_policy=error_weighted --subset=plan.safetensors:0 --output_dir=no \
  all.extxyz
refuses 'overfit_batches' $train $flags --overfit_batches=1 --subset=plan.safetensors:0 --output_dir=no all.extxyz
[ ! -e no ] || fail "a refused run left files"

# Triples: losses over keys and over triples.
succeeds $featurize --train="$elements/train.txt" --valid="$elements/valid.txt" --test="$elements/test.txt" \
  --output=g.safetensors
small="--kge_model=distmult --embedding_dim=8 --max_epochs=2"
succeeds $train $small --output_dir=kg g.safetensors
n=$(wc -l < "$elements/train.txt")
succeeds $tracin --plan_subsets=2 --kept=0.9 --stratify_by=relation --train=g.safetensors \
  --output=kg-plan.safetensors kg
for loss in 1vsAll KvsAll 1-N '1vsAll --group_queries'; do
  rm -rf full half
  succeeds $train $small --kge_loss=$loss --output_dir=full g.safetensors
  succeeds $train $small --kge_loss=$loss --subset=kg-plan.safetensors:1 --output_dir=half g.safetensors
  expect_line "kg-plan.safetensors:1: learns from [0-9]* of $n training triples; the number of steps" log
  cmp full/finished half/finished || fail "$loss: another length"
  cmp -s full/last.safetensors half/last.safetensors && fail "$loss: the same model"
done
succeeds $evaluate half/best.safetensors g.safetensors
expect_line 'half/best.safetensors: learned from a part of its training set, subset 1 of a plan' log
refuses 'learned from subset 1 of [0-9a-f]* alone' $tracin --train=g.safetensors --test="$elements/test.txt" \
  half/checkpoints/last.safetensors
refuses 'learned from subset 1 alone' $tracin --learning_rate=1 --train=g.safetensors --test="$elements/test.txt" \
  half/last.safetensors
refuses 'a plan of structures, and the data are triples' $train $small --subset=plan.safetensors:0 --output_dir=no \
  g.safetensors
refuses 'a plan of triples, and the data are structures' $train $flags --subset=kg-plan.safetensors:0 --output_dir=no \
  all.extxyz
head -n 100 "$elements/train.txt" > few.txt
succeeds $featurize --train=few.txt --output=few.safetensors
refuses 'and this run has 100' $train $small --subset=kg-plan.safetensors:0 --output_dir=no few.safetensors
finish
