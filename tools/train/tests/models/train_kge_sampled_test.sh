#!/usr/bin/env bash
# Sampled softmax: how negatives are drawn, who knows it later, and arrays in files.
set -uo pipefail
checked="$PWD/tools/train/train"
train="$checked --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
tracin=$PWD/tools/tracin/tracin
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# A ring of 60 entities, each with the next and the one after that; every fifth of these validates.
awk 'BEGIN {
  for (k = 0; k < 60; ++k) {
    print "e" k "\tnext\te" (k + 1) % 60 > "train.tsv"
    print "e" k "\tafter\te" (k + 2) % 60 > (k % 5 ? "train.tsv" : "valid.tsv")
    print "e" k "\t" (k % 3 ? "gene" : "drug") > "types.tsv"
  }
}'
$featurize --train=train.tsv --valid=valid.tsv --output=plain.safetensors 2> log || fail "featurize: $(cat log)"
$featurize --train=train.tsv --valid=valid.tsv --entity_types=types.tsv --output=typed.safetensors 2> log ||
  fail "featurize with types: $(cat log)"
sed '1s/drug/gene/' types.tsv > other-types.tsv
$featurize --train=train.tsv --valid=valid.tsv --entity_types=other-types.tsv --output=other.safetensors 2> log ||
  fail "featurize with other types: $(cat log)"

sampled="--kge_model=complex --embedding_dim=16 --kge_loss=1vsAll --negatives_per_batch=16 --threads=1 --seed=1"
for by in frequency type; do
  succeeds $checked $sampled --negatives_by=$by --max_epochs=4 --output_dir=$by typed.safetensors
  expect_line "sampled with 16 negatives, half of them by $by" log
  $info $by/best.safetensors | grep -q "negatives_by.*$by" || fail "the model does not say --negatives_by=$by"
  succeeds $train $sampled --negatives_by=$by --max_epochs=2 --output_dir=part typed.safetensors --overwrite
  succeeds $train $sampled --negatives_by=$by --max_epochs=4 --resume --output_dir=part typed.safetensors
  $diff $by/last.safetensors part/last.safetensors > /dev/null || fail "$by: resumed in half, another model"
  refuses negatives_by $train $sampled --max_epochs=6 --resume --output_dir=part typed.safetensors
done
# Types decide what is drawn by type.
refuses entity_types_sha256 \
  $train $sampled --negatives_by=type --max_epochs=6 --resume --output_dir=type other.safetensors
expect_error 1 'negatives_by = type: .*--entity_types' \
  $train $sampled --negatives_by=type --output_dir=z plain.safetensors
expect_error 1 'negatives_by has no effect with --negatives_per_batch=0' \
  $train --kge_model=complex --kge_loss=1vsAll --negatives_by=frequency --output_dir=z plain.safetensors
expect_error 1 'negatives_by' $train $sampled --negatives_by=degree --output_dir=z plain.safetensors
# --init_from takes the model's shape, not how it was learned.
config() { python3 -c "import json, sys; print(json.load(open('$1/config.json'))['flags']['$2']['value'])"; }
full="--kge_model=complex --embedding_dim=16 --threads=1 --seed=1 --max_epochs=1"
succeeds $train $full --output_dir=full typed.safetensors
succeeds $train --init_from=full/best.safetensors --kge_model=complex --negatives_per_batch=8 --threads=1 \
  --max_epochs=1 --output_dir=full_sampled typed.safetensors
[ "$(config full_sampled negatives_per_batch)" = 8 ] || fail "a sampled run from a full one"
succeeds $train --init_from=type/best.safetensors --kge_model=complex --threads=1 --max_epochs=1 \
  --output_dir=sampled_full typed.safetensors
[ "$(config sampled_full negatives_per_batch)" = 0 ] || fail "a full run from a sampled one"
[ "$(config sampled_full embedding_dim)" = 16 ] || fail "the model's size"
# --rank_sample decides what is validated on, and not what is learned: with leave, the run goes on with another one, and
# what is best is judged anew.
ranked="$train --kge_model=complex --embedding_dim=16 --threads=1 --seed=1 --output_dir=ranked --rank_sample"
succeeds $ranked=3 --max_epochs=1 typed.safetensors
refuses 'rank_sample is "5", but the run to resume has "3".*--override=rank_sample ' \
  $ranked=5 --max_epochs=2 --resume typed.safetensors
succeeds $ranked=5 --max_epochs=2 --resume --override=rank_sample typed.safetensors
expect_line 'rank_sample is "5" from here on, was "3"' log
expect_line 'what is best is judged anew' log
expect_no_line 'begins again\|without memory' log
succeeds $train $full --max_epochs=2 --output_dir=unranked typed.safetensors
$diff ranked/last.safetensors unranked/last.safetensors > /dev/null || fail "a sample decided what is learned"
# One influence run is not of two ways to draw.
cp frequency/checkpoints/last.safetensors 1.safetensors
cp type/checkpoints/last.safetensors 2.safetensors
refuses 'negatives_by' \
  $tracin --output=z.safetensors --train=typed.safetensors --test=typed.safetensors 1.safetensors 2.safetensors

# 60 entities of 140,000 numbers are 34 MB: in memory and in files they are the same.
large="--kge_model=distmult --embedding_dim=140000 --kge_loss=1vsAll --negatives_per_batch=8 --optimizer=adagrad
  --learning_rate=0.1 --batch_size=64 --threads=1 --seed=1 --max_epochs=1"
succeeds $train $large --output_dir=memory plain.safetensors
if [ "$(stat -f -c %T .)" != tmpfs ]; then
  succeeds $train $large --mapped_memory=. --output_dir=files plain.safetensors
  expect_line 'arrays of 32 MB and more are in files in \.' log
  $diff memory/best.safetensors files/best.safetensors > /dev/null || fail "arrays in files give another model"
  succeeds $train $large --mapped_memory=. --init_from=files/best.safetensors --output_dir=again plain.safetensors
  succeeds $evaluate --split=valid files/best.safetensors plain.safetensors
  mv stdout in-memory
  succeeds $evaluate --split=valid --mapped_memory=. files/best.safetensors plain.safetensors
  cmp stdout in-memory || fail "arrays in files give other ranks"
fi
expect_error 1 'mapped_memory=missing: no file can be made there' \
  $train $large --mapped_memory=missing --output_dir=z plain.safetensors
[ -e z ] && fail "a refused run left files"
finish
