#!/usr/bin/env bash
# tracin of a run with weights of triples and known-false ones: gradients of the definition, and whose they are.
. tools/tracin/tests/kge_testing.sh

weigh() { awk -F'\t' '{print $0 "\t" (NR % 3 + 1) / 2}' "$1"; }
weigh "$elements/train.txt" > w.tsv
weigh "$elements/valid.txt" > v.tsv
weigh "$elements/test.txt" > s.tsv
# Every third tail with the head of the line before, unless that is true.
cat "$elements"/{train,valid,test}.txt | awk -F'\t' 'FNR == NR {seen[$0]; next}
  FNR % 3 == 0 && !((f = h "\t" $2 "\t" $3) in seen) && !(f in done) {done[f]; print f "\t0.5"}
  {h = $1}' - "$elements/train.txt" > false.tsv
false=$(wc -l < false.tsv)
[ "$false" -ge 30 ] || fail "$false false triples"
$featurize --train=w.tsv --valid=v.tsv --test=s.tsv --negatives=false.tsv --weight_column=4 \
  --output=wg.safetensors 2> log ||
  fail "featurize: $(cat log)"
wdata="--train=wg.safetensors --test=t.tsv"
for loss in 1vsAll KvsAll 1-N 1-of-N; do
  model=--kge_model=complex
  [ $loss = KvsAll ] && model=$small
  succeeds $train $model --embedding_dim=16 --plot=false --progress=false --kge_loss=$loss --negative_weight=2 \
    --max_epochs=1 --overwrite --output_dir=wrun wg.safetensors
  for of in trained triple; do
    ok v.tsv $wdata --loss=$of --verify=40 --precision=fp64 wrun/checkpoints/last.safetensors
    expect_line 'verify: .*40 pairs agree' log
  done
done
# Known-false triples are examples of their own, after the others.
ok all.tsv $wdata --loss=trained --top_k=0 --max_tests=1 wrun/checkpoints/last.safetensors
[ "$(wc -l < all.tsv)" = $((2497 + false + 1)) ] || fail "--top_k=0 lists $(wc -l < all.tsv)"
column train_known_false all.tsv | grep -c true > count
[ "$(cat count)" = "$false" ] || fail "known_false: $(cat count) of $false"
# A judge leaves them in every subset, with one message.
succeeds $train --kge_model=distmult --embedding_dim=4 --plot=false --progress=false --max_epochs=2 \
  --keep_every_epochs=1 --output_dir=judged wg.safetensors
succeeds $tracin $wdata --judge=judge --plan_subsets=3 --max_tests=2 judged
[ "$(grep -c "$false triples of --train that are known to be false stay in every subset" log)" = 1 ] ||
  fail "known-false triples in a judge: $(cat log)"
grep -q '^judge/influence.safetensors' stdout || fail "a judge: $(cat stdout)"
refuses 'the run had no weights' --strict --train=wg.safetensors --test=t.tsv $saved
refuses 'no weights and no known-false' --strict --train=g.safetensors --test=t.tsv wrun/checkpoints/last.safetensors
finish
