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
# A score of --sum_inverse is that of a triple and of its inverse, with their weight, also of known-false ones.
last=wrun/checkpoints/last.safetensors
ok both.tsv $wdata --loss=trained --inverse_examples --top_k=0 --max_tests=1 $last
ok sums.tsv $wdata --loss=trained --sum_inverse --top_k=0 --max_tests=1 $last
keys() { paste <(column train_head "$1") <(column train_relation "$1") <(column train_tail "$1") <(column score "$1"); }
keys both.tsv > both.keys
keys sums.tsv | awk -F'\t' 'NR == FNR { inverse = sub(/^inverse of /, "", $2)
    sum[inverse ? $3 FS $2 FS $1 : $1 FS $2 FS $3] += $4; next }
  { d = $4 - sum[$1 FS $2 FS $3]; if (d < 0) d = -d; a = $4 < 0 ? -$4 : $4; n += a > 0
    if (d > 1e-4 * a + 1e-7) { print "row " FNR ": " $0 " and " sum[$1 FS $2 FS $3]; exit 1 } }
  END { if (n < 1000) { print n " scores"; exit 1 } }' both.keys - > why ||
  fail "--sum_inverse with weights: $(cat why)"
refuses '--by_triple counts each triple once, .*known-false' $wdata --loss=1-N --by_triple $last
refuses '--precondition=gauss-newton counts each triple once' $wdata --precondition=gauss-newton $last
# Weights of 1 are those of triples without weights.
sed 's/$/\t1/' "$elements/train.txt" > one.tsv
succeeds $featurize --train=one.tsv --weight_column=4 --output=one.safetensors
succeeds $train --kge_model=complex --embedding_dim=8 --plot=false --progress=false --kge_loss=KvsAll --max_epochs=1 \
  --output_dir=ones one.safetensors
for question in "--loss=KvsAll --by_triple" --precondition=gauss-newton; do
  ok one.out --train=one.safetensors --test=t.tsv $question --max_tests=1 ones/checkpoints/last.safetensors
done
# A judge leaves them in every subset, with one message.
succeeds $train --kge_model=distmult --embedding_dim=4 --plot=false --progress=false --max_epochs=2 \
  --keep_every_epochs=1 --output_dir=judged wg.safetensors
succeeds $tracin $wdata --judge=judge --plan_subsets=3 --max_tests=2 judged
[ "$(grep -c "$false triples of --train that are known to be false stay in every subset" log)" = 1 ] ||
  fail "known-false triples in a judge: $(cat log)"
grep -q '^judge/influence.safetensors' stdout || fail "a judge: $(cat stdout)"
# It refuses what tracin refuses before it trains.
$tracin $wdata --precondition=gauss-newton --judge=early --plan_subsets=3 judged > stdout 2> log &&
  fail "a judge by --precondition=gauss-newton of known-false triples"
expect_line 'gauss-newton counts each triple once' log
[ "$(find early -name '*.safetensors')" = "" ] || fail "a refused judge wrote $(find early)"
refuses 'the run had no weights' --strict --train=wg.safetensors --test=t.tsv $saved
refuses 'no weights and no known-false' --strict --train=g.safetensors --test=t.tsv wrun/checkpoints/last.safetensors
finish
