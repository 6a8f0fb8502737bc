#!/usr/bin/env bash
# Scores of triples, from train to tracin without conversion. lib/kge tests that they are exact; this test uses --verify
# and scores that must agree with each other.
. tools/tracin/tests/kge_testing.sh

# The main use: a glob of checkpoints/, in which last duplicates epoch 4.
ok a.tsv $data run/checkpoints/*.safetensors
expect_line 'last.safetensors is left out: run/checkpoints/epoch-00004.safetensors is of the same step' log
[ "$(head -n 1 a.tsv)" = \
  "$(printf 'test\ttest_head\ttest_relation\ttest_tail\tplace\ttrain\ttrain_head\ttrain_relation\ttrain_tail\tscore')" \
  ] || fail "header: $(head -n 1 a.tsv)"
[ "$(wc -l < a.tsv)" = 41 ] || fail "4 tests with 10 each: $(wc -l < a.tsv)"
[ "$(awk 'NR == 1' t.tsv)" = "$(awk -F'\t' 'NR == 2 { print $2 "\t" $3 "\t" $4 }' a.tsv)" ] ||
  fail "names of the test: $(sed -n 2p a.tsv)"
awk -F'\t' 'NR > 1 { print $7 "\t" $8 "\t" $9 }' a.tsv | sort -u > listed
[ "$(grep -cxFf listed "$elements/train.txt")" = "$(wc -l < listed)" ] ||
  fail "listed triples are not of the training set"
ok b.tsv $data $saved && cmp a.tsv b.tsv || fail "the glob and the names differ"
ok b.tsv --threads=2 $data $saved && close a.tsv b.tsv || fail "threads differ"

# Every loss, precision and preconditioner is compared with one backward pass for each example.
for loss in triple 1n 1ofn ce kvsall trained; do
  ok v.tsv $data --loss=$loss --verify=4 --precision=fp64 $saved
  [ "$(grep -c 'verify: .*4 pairs agree' log)" = 2 ] || fail "--verify --loss=$loss: $(cat log)"
done
for flags in --precision=fp32 --precision=bf16 --precondition=adam --test_quantity=score --inverse_examples \
  --test_direction=head "--loss=1n --label_test_tails=false" "--params=fc.*" --use_last_layers_only --self; do
  test=--test=t.tsv
  [ $flags = --self ] 2> /dev/null && test=
  ok v.tsv --train=g.safetensors $test $flags --verify=3 $saved
  expect_line 'verify: .*3 pairs agree' log
done

# The other models: gradients of relations are matrices for rescal, half as long as those of entities for cp, and of
# another size for tucker, which has a core tensor.
for model in rescal cp simple tucker; do
  $train --kge_model=$model --embedding_dim=8 --kge_loss=1vsAll --max_epochs=2 --plot=false --progress=false \
    --threads=1 --output_dir=$model g.safetensors > log 2>&1 || fail "train $model: $(cat log)"
  for flags in --loss=triple --loss=ce --loss=1n --precondition=adam --test_quantity=score --self; do
    test=--test=t.tsv
    [ $flags = --self ] && test=
    ok v.tsv --train=g.safetensors $test $flags --verify=3 --precision=fp64 $model/checkpoints/last.safetensors
    expect_line 'verify: .*3 pairs agree' log
  done
done

# Distances are no products, whose factors tracin multiplies.
for model in transe rotate; do
  $train --kge_model=$model --embedding_dim=8 --max_epochs=1 --plot=false --progress=false --threads=1 \
    --output_dir=$model g.safetensors > log 2>&1 || fail "train $model: $(cat log)"
  $tracin --train=g.safetensors --test=t.tsv $model/checkpoints/last.safetensors > v.tsv 2> log &&
    fail "tracin of $model"
  expect_line "those of $model are distances" log
done

# Scores add up over checkpoints with their rates, blocks and shards; they are symmetric, and self is the diagonal.
ok one.tsv $data --top_k=0 --learning_rate=1 run/checkpoints/epoch-00002.safetensors
ok two.tsv $data --top_k=0 --learning_rate=1 run/checkpoints/epoch-00004.safetensors
ok both.tsv $data --top_k=0 --learning_rate=0.5 $saved
for name in one two both; do
  sort -t"$(printf '\t')" -k1,1n -k6,6n $name.tsv > $name
done
paste one two both | awk -F'\t' \
  'NR > 1 { d = ($10 + $20) / 2 - $30; if (d < 0) d = -d; if (!(d < 1e-6)) { print; exit 1 } }' ||
  fail "checkpoints do not add up"
[ "$(wc -l < both)" = $((4 * 2497 + 1)) ] || fail "--top_k=0 does not list all"
ok blocks.tsv $data --blocks $saved
[ "$(head -n 1 blocks.tsv | cut -f 10-)" = "$(printf 'score\tentity\tscoring\trelation\tnorms\tconv\tfc')" ] ||
  fail "blocks: $(head -n 1 blocks.tsv)"
cut -f 1-10 blocks.tsv > scores && close a.tsv scores || fail "blocks change the scores"
awk -F'\t' \
  'NR > 1 { s = 0; for (i = 11; i <= NF; ++i) s += $i; d = s - $10; if (d < 0) d = -d; if (!(d < 1e-6)) exit 1 }' \
  blocks.tsv || fail "blocks do not add up"
ok layers.tsv $data --blocks=layers --top_k=1 $saved
expect_line 'bn0.*bn1.*fc.*bn2' layers.tsv
ok names.tsv $data --blocks=parameters --top_k=1 --exclude_params=bn*.bias $saved
expect_line 'fc.weight' names.tsv
expect_no_line 'bn1.bias' names.tsv
ok fc.tsv $data --top_k=1 --use_last_layers_only --num_last_layers=3 --blocks=parameters $saved
[ "$(head -n 1 fc.tsv | cut -f 10-)" = "$(printf 'score\tentity.bias\tfc.weight\tfc.bias\tbn2.weight\tbn2.bias')" ] ||
  fail "last layers: $(head -n 1 fc.tsv)"
ok fc.tsv $data --top_k=1 --use_last_layers_only --last_layer_names=fc.weight,fc.bias --blocks=parameters $saved
[ "$(head -n 1 fc.tsv | cut -f 10-)" = "$(printf 'score\tfc.weight\tfc.bias')" ] ||
  fail "--last_layer_names: $(head -n 1 fc.tsv)"
ok fc2.tsv $data --top_k=1 --params='fc.*' --blocks=parameters $saved && cmp fc.tsv fc2.tsv || fail "--params=fc.*"
ok self.tsv --self --top_k=0 --train=g.safetensors $saved
[ "$(head -n 1 self.tsv)" = "$(printf 'place\ttrain\thead\trelation\ttail\tself_influence')" ] ||
  fail "--self: $(head -n 2 self.tsv)"
[ "$(wc -l < self.tsv)" = 2498 ] || fail "--self: $(head -n 2 self.tsv)"
awk -F'\t' 'NR > 2 && $6 > last { exit 1 } { last = $6 }' self.tsv || fail "--self is not sorted"
awk -F'\t' 'NR == 2 || NR == 900 { print $3 "\t" $4 "\t" $5 }' self.tsv > own.tsv
ok own --train=g.safetensors --test=own.tsv --top_k=0 $saved
awk -F'\t' '
  NR == FNR { if (FNR > 1) self[$2] = $6; next }
  FNR > 1 && $2 == $7 && $3 == $8 && $4 == $9 {
    d = $10 - self[$6]
    if (d < 0) d = -d
    if (!(d < 1e-5 * $10)) exit 1
    ++n
  }
  END { exit n != 2 }' self.tsv own || fail "self-influence is not the diagonal"

# The tail of a test is true, though training may not know it: of how many of the tests that are asked is said.
known=$(awk -F'\t' 'NR == FNR { seen[$1 FS $2]; next } ($1 FS $2) in seen { ++n } END { print n + 0 }' \
  "$elements/train.txt" "$elements/test.txt")
ok b.tsv --train=g.safetensors --test=g.safetensors --loss=1n --label_test_tails=false --top_k=1 $saved
expect_line "takes the tails of $known of 230 tests for false" log
ok c.tsv --train=g.safetensors --test=g.safetensors --loss=1n --top_k=1 $saved
expect_line "takes the tails of $known of 230 tests for true.*--label_test_tails=false" log
cmp -s b.tsv c.tsv && fail "--label_test_tails=false does nothing"
ok c.tsv --train=g.safetensors --test=g.safetensors --loss=1n --max_tests=3 --top_k=1 $saved
expect_no_line "of 230 tests" log

# Groups of parameters count with their own rates, unless one rate is given for all.
succeeds $train --kge_model=distmult --embedding_dim=8 --plot=false --progress=false --max_epochs=1 --optimizer=sgd \
  --learning_rate=1 '--parameter_groups=relation.*:lr_scale=0.25' --output_dir=groups g.safetensors
last=groups/checkpoints/last.safetensors
ok v.tsv $data --verify=3 --precision=fp64 $last
expect_line 'verify: .*3 pairs agree' log
ok own.tsv $data --top_k=0 --max_tests=1 --blocks --rates=checkpoint $last
ok one.tsv $data --top_k=0 --max_tests=1 --blocks --learning_rate=1 $last
[ "$(head -n 1 own.tsv | cut -f 11-12)" = "$(printf 'entity\trelation')" ] || fail "blocks: $(head -n 1 own.tsv)"
for name in own one; do
  tail -n +2 $name.tsv | sort -t"$(printf '\t')" -k6,6n > $name
done
paste own one | awk -F'\t' '
  function differs(x, y) { d = x - y; if (d < 0) d = -d; return !(d <= 1e-5 * (x < 0 ? -x : x) + 1e-9) }
  differs($11, $23) || differs($12, 0.25 * $24) { exit 1 }
  $24 != 0 { any = 1 }
  END { exit !any }' || fail "the rate of the group: $(head -n 3 own one)"

# If checkpoints take turns in memory, the bits are the same.
for flags in "" --blocks --normalize=cosine "--aggregate --top_k=0" --precondition=adam --loss=1n --self; do
  these="$data $flags"
  [ "$flags" = --self ] && these="--train=g.safetensors $flags"
  ok all.tsv $these $saved
  expect_no_line 'take turns' log
  ok turns.tsv $these --max_bytes=40000000 --threads=1 $saved
  expect_line 'memory for 1 of 2 checkpoints at a time: they take turns' log
  close all.tsv turns.tsv || fail "turns change scores: $flags"
done

# Projections approximate the exact scores (correlation of those that are not 0), and a seed fixes them.
for loss in triple 1n; do
  ok exact.tsv $data --loss=$loss --top_k=0 --max_tests=1 $saved
  awk -F'\t' 'NR > 1 { print $6 "\t" $10 }' exact.tsv | sort -n > exact
  for kind in gaussian rademacher sparse; do
    ok near.tsv $data --loss=$loss --top_k=0 --max_tests=1 --projection_dim=32 --projection_type=$kind $saved
    cmp -s exact.tsv near.tsv && fail "--projection_dim does nothing"
    awk -F'\t' 'NR > 1 { print $6 "\t" $10 }' near.tsv | sort -n | paste exact - |
      awk '{ xy += $2 * $4; xx += $2 * $2; yy += $4 * $4 } END { exit !(xy / sqrt(xx * yy) > 0.95) }' ||
      fail "--projection_type=$kind --loss=$loss is far off"
  done
  ok again.tsv $data --loss=$loss --top_k=0 --max_tests=1 --projection_dim=32 --projection_type=sparse --threads=2 \
    $saved && close near.tsv again.tsv || fail "projections differ by threads"
  ok again.tsv $data --loss=$loss --top_k=0 --max_tests=1 --projection_dim=32 --projection_type=sparse --seed=1 \
    $saved && cmp -s near.tsv again.tsv && fail "--seed does not change the projection"
done

# Ranking and normalization.
ok abs.tsv $data --top_k=40 --max_tests=1 $saved
awk -F'\t' 'function a(x) { return x < 0 ? -x : x } NR > 2 && a($10) > a(last) { exit 1 } { last = $10 }' abs.tsv ||
  fail "--rank=absolute"
ok pro.tsv $data --rank=proponents --top_k=3 --max_tests=1 $saved
ok con.tsv $data --rank=opponents --top_k=3 --max_test_triples=1 $saved
ok mixed.tsv $data --rank=both --top_k=3 --max_tests=1 $saved
[ "$(column train pro.tsv; column train con.tsv | tac)" = "$(column train mixed.tsv)" ] ||
  fail "--rank=both is not proponents and opponents: $(cat pro.tsv con.tsv mixed.tsv)"
# A proponent raised the score of a triple, or its margin, and lowered the loss.
for quantity in loss score margin difference:Fe; do
  of="--loss=1vsAll --test_quantity=$quantity --top_k=3 --max_tests=1"
  ok pro.tsv $data $of --rank=proponents --output=pro.safetensors $saved
  ok con.tsv $data $of --rank=opponents $saved
  ok mixed.tsv $data $of --rank=both $saved
  sign=1
  [ $quantity = loss ] || sign=-1
  column score pro.tsv | awk -v s=$sign 's * $1 <= 0 { exit 1 }' || fail "proponents of $quantity: $(cat pro.tsv)"
  column score con.tsv | awk -v s=$sign 's * $1 >= 0 { exit 1 }' || fail "opponents of $quantity: $(cat con.tsv)"
  ok merged.tsv --merge $data pro.safetensors
  [ "$(column train merged.tsv)" = "$(column train pro.tsv)" ] || fail "--merge of proponents of $quantity"
  [ "$(sort -n <(column train pro.tsv) <(column train con.tsv))" = "$(column train mixed.tsv | sort -n)" ] ||
    fail "--rank=both of $quantity is not proponents and opponents: $(cat pro.tsv con.tsv mixed.tsv)"
done
ok cos.tsv $data --normalize=cosine --learning_rate=1 --top_k=0 $saved
awk -F'\t' 'NR > 1 && ($10 > 2.0001 || $10 < -2.0001) { exit 1 }' cos.tsv || fail "cosines beyond 1"
ok relatif.tsv $data --normalize=relatif $saved
cmp -s relatif.tsv a.tsv && fail "--normalize=relatif does nothing"

# Tests: chosen, summed, weighted.
ok single.tsv $data --mode=single --test_indices=2,0 $saved
[ "$(column test single.tsv | uniq | paste -sd ,)" = 2,0 ] || fail "--test_indices: $(column test single.tsv | uniq)"
ok single.tsv $data --test_indices=1 $saved && awk -F'\t' 'NR == 1 || $1 == 1' a.tsv > expected && close expected \
  single.tsv || fail "--test_indices alone"
ok sum.tsv $data --aggregate --top_k=0 $saved
ok all.tsv $data --top_k=0 $saved
awk -F'\t' '
  NR == FNR { if (FNR > 1) sum[$6] += $10; next }
  FNR > 1 {
    d = sum[$4] - $8
    if (d < 0) d = -d
    if (!(d < 1e-5)) { print $4, sum[$4], $8; exit 1 }
  }' all.tsv sum.tsv || fail "--aggregate is not the sum: $(head -n 2 sum.tsv)"
printf '1 0 # the others do not count\n0\n0\n' > w
ok weighted.tsv $data --test_weights=w --top_k=5 $saved
awk -F'\t' 'NR > 1 && $1 == 0 && ++n <= 5 { print $6 }' all.tsv > expected && [ "$(column train weighted.tsv)" = \
  "$(cat expected)" ] || fail "--test_weights: $(cat weighted.tsv)"

# A part of the training data.
ok part.tsv $data --sample_rate=0.1 --top_k=0 --max_tests=1 $saved
[ "$(wc -l < part.tsv)" = 251 ] || fail "--sample_rate: $(wc -l < part.tsv)"
ok again.tsv $data --sample_rate=0.1 --top_k=0 --max_tests=1 $saved && cmp part.tsv again.tsv ||
  fail "--sample_rate is not by the seed"
ok again.tsv $data --sample_rate=0.1 --seed=1 --top_k=0 --max_tests=1 $saved && ! cmp -s part.tsv again.tsv ||
  fail "--seed does nothing"
ok strata.tsv $data --sample_rate=0.1 --stratify_by=relation --top_k=0 --max_tests=1 $saved
[ "$(column train_relation strata.tsv | sort -u | wc -l)" = "$(cut -f 2 "$elements/train.txt" | sort -u | wc -l)" ] ||
  fail "--stratify_by=relation leaves one out"
ok hops.tsv $data --hops=1 --top_k=0 --max_tests=1 $saved
[ "$(wc -l < hops.tsv)" -gt 2 ] || fail "--hops=1: $(wc -l < hops.tsv)"
[ "$(wc -l < hops.tsv)" -lt 2497 ] || fail "--hops=1: $(wc -l < hops.tsv)"
awk -F'\t' '
  NR == FNR { score[$1 " " $6] = $10; next }
  FNR > 1 { d = score[$1 " " $6] - $10; if (d < 0) d = -d; if (!(d < 1e-6)) exit 1 }' all.tsv hops.tsv ||
  fail "--hops changes scores"

# Entities that were folded in after training: their triples were no steps, and their ids are none of a file's.
printf 'Xx\tin_period\tperiod_6\n' > xx.txt
grows() { succeeds "$evaluate" --new_triples=xx.txt --output_model=grown.safetensors --output_triples="$2" "$1" "$3"; }
grows run/best.safetensors grown_g.safetensors g.safetensors
ok grown.tsv --train=grown_g.safetensors --test=t.tsv --learning_rate=1 --top_k=1 grown.safetensors
expect_line 'warning: grown.safetensors: the last entity was folded in after training' log
refuses 'grown.safetensors: the last entity was folded in after training' --strict --train=grown_g.safetensors \
  --test=t.tsv --learning_rate=1 grown.safetensors
cut -f 1,3 "$elements"/{train,valid,test}.txt | tr '\t' '\n' | sort -u | awk '{ print $0 "\t" NR - 1 }' > ids.txt
$featurize --entity_to_id=ids.txt --output=ids.safetensors "$elements"/{train,valid,test}.txt 2> log ||
  fail "featurize: $(cat log)"
grows run/best.safetensors ids_g.safetensors ids.safetensors
refuses 'ids_g.safetensors has ids by the order of its entities' --train=ids_g.safetensors --test=t.tsv \
  --learning_rate=1 --node_name_dict=ids.txt grown.safetensors
finish
