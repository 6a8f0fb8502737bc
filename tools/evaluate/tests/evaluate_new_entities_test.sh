#!/usr/bin/env bash
# evaluate --new_triples as users run it: an element that training did not see is folded in and asked about.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
train="$PWD/tools/train/train --check_gradient=false"
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# Hafnium is hidden. Two thirds of its triples are for folding it in, the others are the test.
grep -hP '(^|\t)Hf(\t|$)' "$elements"/{train,valid,test}.txt > hafnium.txt
awk 'NR % 3 != 0' hafnium.txt > new.txt
awk 'NR % 3 == 0' hafnium.txt > test.txt
grep -vP '(^|\t)Hf(\t|$)' "$elements/train.txt" > train.txt
grep -vP '(^|\t)Hf(\t|$)' "$elements/valid.txt" > valid.txt
grep -vP '(^|\t)Hf(\t|$)' "$elements/test.txt" > others.txt
$featurize --output=known.safetensors --train=train.txt --valid=valid.txt --test=others.txt 2> log ||
  fail "featurize: $(cat log)"
$featurize --output=asked.safetensors train.txt valid.txt test.txt 2> log || fail "featurize: $(cat log)"
for model in complex distmult; do
  $train --kge_model=$model --embedding_dim=64 --max_epochs=40 --threads=1 \
    --output_dir=$model known.safetensors > log 2>&1 || fail "train: $(cat log)"
done
model=complex/best.safetensors
# value DIRECTION FILE: its MRR.
value() { awk -F'\t' -v d="$1" '$1 == "all" && $3 == d { print $6 }' "$2"; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }

# Questions about hafnium are answered, with the same bits for any number of threads. By chance an MRR is 0.02.
succeeds $evaluate --threads=1 --new_triples=new.txt $model asked.safetensors && mv stdout one.tsv
expect_line "new.txt: 1 new entity (\"Hf\") with $(wc -l < new.txt) triples" log
expect_no_line 'warning' log
above "$(value both one.tsv)" 0.5 || fail "MRR of a new entity: $(cat one.tsv)"
$evaluate --threads=2 --new_triples=new.txt $model asked.safetensors 2> log | cmp - one.tsv || fail "threads differ"
# Equal weights of known triples change nothing, others do.
for split in train valid others; do sed 's/$/\t0.5/' $split.txt > w-$split.tsv; done
succeeds $featurize --output=weighted.safetensors --weight_column=4 --train=w-train.tsv --valid=w-valid.tsv \
  --test=w-others.tsv
succeeds $evaluate --new_triples=new.txt $model weighted.safetensors && mv stdout weighted.tsv
awk -F'\t' -v OFS='\t' '{ $4 = NR % 2 ? 0.1 : 5; print }' w-train.tsv > other-train.tsv
succeeds $featurize --output=other.safetensors --weight_column=4 --train=other-train.tsv --valid=w-valid.tsv \
  --test=w-others.tsv
succeeds $evaluate --new_triples=new.txt $model other.safetensors && mv stdout other.tsv
# Those about others lose little.
succeeds $evaluate $model known.safetensors && mv stdout before.tsv
succeeds $evaluate --new_triples=new.txt $model known.safetensors && mv stdout after.tsv
cmp weighted.tsv after.tsv || fail "equal weights count: $(cat weighted.tsv after.tsv)"
! cmp -s other.tsv after.tsv || fail "weights do not count"
above "$(value both after.tsv)" "$(awk -v x="$(value both before.tsv)" 'BEGIN { print x - 0.05 }')" ||
  fail "a new entity crowds out others: $(cat before.tsv after.tsv)"
# ConvE, whose rows have biases.
$train --kge_model=conve --embedding_dim=20 --embedding_height=4 --max_epochs=2 --threads=1 \
  --output_dir=conve known.safetensors > log 2>&1 || fail "train: $(cat log)"
succeeds $evaluate --threads=1 --new_triples=new.txt conve/best.safetensors asked.safetensors && mv stdout conve.tsv
expect_no_line 'warning' log
$evaluate --threads=2 --new_triples=new.txt conve/best.safetensors asked.safetensors 2> log | cmp - conve.tsv ||
  fail "threads differ"
# All other models: relations of matrices, a core tensor, and rows whose halves are a head's and a tail's.
for other in rescal cp simple tucker; do
  size=64
  [ $other = rescal ] || [ $other = tucker ] && size=24
  $train --kge_model=$other --embedding_dim=$size --max_epochs=40 --threads=1 \
    --output_dir=$other known.safetensors > log 2>&1 || fail "train: $(cat log)"
  succeeds $evaluate --threads=1 --new_triples=new.txt $other/best.safetensors asked.safetensors
  expect_no_line 'warning' log
  above "$(value both stdout)" 0.3 || fail "$other: MRR of a new entity: $(cat stdout)"
done
# Several models, predictions and reports have it, too, and its triples are known answers.
succeeds $evaluate --new_triples=new.txt $model,distmult/best.safetensors asked.safetensors
printf 'Hf\tin_period\t?\nTi\telement_below\t?\n' > queries.tsv
succeeds $evaluate --new_triples=new.txt --queries=queries.tsv --top_k=3 $model known.safetensors
expect_line '^1	tail	.*	Hf	in_period' stdout
[ "$(wc -l < stdout)" = 7 ] || fail "answers: $(cat stdout)"
first=$(grep -P '^Hf\t' new.txt | head -n 1 | cut -f 2)
printf 'Hf\t%s\t?\n' "$first" > first.tsv
succeeds $evaluate --new_triples=new.txt --queries=first.tsv --top_k=300 $model known.safetensors
expect_line '	train$' stdout
cp stdout keep.tsv
succeeds $evaluate --new_triples=new.txt --queries=first.tsv --top_k=300 --known=drop $model known.safetensors
expect_no_line '	train$' stdout
succeeds $evaluate --new_triples=new.txt --candidates=seen --per_relation --output_dir=out $model asked.safetensors
expect_line 'folded in after training' out/report.html
expect_text new.txt out/ranks.safetensors
# Training did not see its triples: frequencies leave them out, of a model that is written, too.
awk -F'\t' 'NR == FNR { ++n[$1]; ++n[$3]; next } FNR > 1 { count += !n[$1] + !n[$3] } END { print count }' \
  train.txt out/ranks.tsv > expected
[ "$(awk -F'\t' '$2 == 0 && $3 == "both" { print $4 }' out/metrics_by_frequency.tsv)" = "$(cat expected)" ] ||
  fail "answers that training did not see: $(cat expected out/metrics_by_frequency.tsv)"
expect_text "$(wc -l < new.txt) do not count, as training did not learn from them" out/report.html

# A model that is written answers as it did when it was folded in, and can be grown, judged and gone on with.
succeeds $evaluate --new_triples=new.txt --output_model=grown.safetensors --output_triples=grown_g.safetensors \
  $model asked.safetensors
expect_line 'wrote grown_g.safetensors' log
[ ! -s stdout ] || fail "something is evaluated: $(cat stdout)"
succeeds $evaluate --output_dir=out-grown grown.safetensors grown_g.safetensors
cut -f 1-4 out/metrics_by_frequency.tsv > expected
cut -f 1-4 out-grown/metrics_by_frequency.tsv | cmp - expected || fail "frequencies of a model that is written"
cmp stdout one.tsv || fail "the written model ranks otherwise: $(cat stdout one.tsv)"
expect_no_line 'warning' log
expect_text new_entities_command grown.safetensors
expect_text '"entity_ids":"found"' grown_g.safetensors
# How featurize made the splits is known of the grown triples, too, and ids are no longer those of a file.
cat train.txt valid.txt others.txt > all.txt
cut -f 1,3 all.txt | tr '\t' '\n' | sort -u | awk '{ print $0 "\t" NR - 1 }' > ids.txt
$featurize --output=ids.safetensors --entity_to_id=ids.txt --split=0.8,0.1,0.1 all.txt 2> log ||
  fail "featurize: $(cat log)"
expect_text '"entity_ids":"given"' ids.safetensors
succeeds $evaluate --new_triples=new.txt --output_triples=ids_g.safetensors $model ids.safetensors
expect_text '"entity_ids":"found"' ids_g.safetensors
expect_text '"split":"{' ids_g.safetensors
succeeds $train --init_from=grown.safetensors --kge_model=complex --embedding_dim=64 \
  --max_epochs=1 --threads=1 --output_dir=more grown_g.safetensors
printf 'Xx\tin_period\tperiod_6\nXx\telement_right\tHf\nXx\telement_right\tHf\n' > xx.txt
succeeds $evaluate --new_triples=xx.txt --output_model=twice.safetensors grown.safetensors grown_g.safetensors
expect_line 'xx.txt: 1 new entity ("Xx") with 2 triples; 1 more repeat one' log
for i in 1 2 3 4 5 6 7; do printf "N$i\tin_period\tperiod_6\n"; done > seven.txt
succeeds $evaluate --new_triples=seven.txt $model known.safetensors
expect_line '7 new entities ("N1", "N2", "N3", "N4", "N5", ...) with 7 triples' log
refuses 'the model was trained with other names' $evaluate grown.safetensors known.safetensors

# Model and triples appear together or not at all: what was there before stays.
cp grown.safetensors before.safetensors
cp before.safetensors kept.safetensors
refuses '^evaluate: cannot write nowhere/t.safetensors: No such file' \
  $evaluate --new_triples=xx.txt --output_model=kept.safetensors --output_triples=nowhere/t.safetensors \
  grown.safetensors grown_g.safetensors
cmp before.safetensors kept.safetensors || fail "a model without its triples took the place of another"
refuses 'nowhere/t.safetensors' $evaluate --new_triples=xx.txt --output_model=new.safetensors \
  --output_triples=nowhere/t.safetensors grown.safetensors grown_g.safetensors
[ ! -e new.safetensors ] || fail "a model without its triples"

# What cannot be is refused, and leaves nothing.
grown="$evaluate --output_model=no.safetensors $model known.safetensors"
bad() { printf '%b' "$2" > bad.txt && makes_nothing no.safetensors "$1" $grown --new_triples=bad.txt; }
bad 'bad.txt:1: .*knows both "Ti" and "Zr"' 'Ti\telement_below\tZr\n'
bad 'bad.txt:2: .*knows neither "Xx" nor "Yy"' 'Xx\tin_period\tperiod_6\nXx\telement_below\tYy\n'
bad 'bad.txt:1: .*"is_below"' 'Xx\tis_below\tTi\n'
bad 'bad.txt: no triples' ''
makes_nothing no.safetensors 'a validation or test triple' $evaluate --output_model=no.safetensors $model \
  asked.safetensors --new_triples=hafnium.txt
printf 'Xx\tin_period\tperiod_6\n' > xx2.txt
expect_error 1 '"Hf" is not in the model, and xx2.txt has no triple' $evaluate --new_triples=xx2.txt $model \
  asked.safetensors
$featurize --inverse_relations=false --output=plain.safetensors train.txt valid.txt 2> log
expect_error 1 'with inverse relations' $evaluate --new_triples=new.txt $model plain.safetensors
expect_error 1 'expected a file' $evaluate --new_triples=- $model known.safetensors
expect_error 1 'output_triples has no effect without --new_triples' $evaluate --output_triples=t $model \
  known.safetensors
makes_nothing no.safetensors '--output_.* both name no.safetensors' $evaluate --new_triples=new.txt \
  --output_model=no.safetensors --output_triples=no.safetensors $model asked.safetensors
makes_nothing no.safetensors '--output_.* both name .*no.safetensors' $evaluate --new_triples=new.txt \
  --output_model=no.safetensors --output_triples=./no.safetensors $model asked.safetensors
expect_error 1 'output_triples=known.safetensors: would take the place of an input' $evaluate --new_triples=new.txt \
  --output_triples=known.safetensors $model known.safetensors
for flag in calibrate=platt "shard=1/2 --output_dir=parts" export_embeddings=e.tsv list_types; do
  expect_error 1 "${flag%%=*} has no effect with --new_triples" $evaluate --new_triples=new.txt --$flag $model \
    known.safetensors
done
for flag in queries=queries.tsv split=valid min_mrr=0.5; do
  expect_error 1 "${flag%%=*} has no effect where --new_triples writes" $evaluate --new_triples=new.txt --$flag \
    --output_model=no.safetensors $model known.safetensors
done
expect_error 1 'output_model has no effect with several models' $evaluate --new_triples=new.txt \
  --output_model=no.safetensors $model,distmult/best.safetensors known.safetensors
expect_error 1 'out/ranks.safetensors: has no effect with --new_triples' $evaluate --new_triples=new.txt $model \
  asked.safetensors out/ranks.safetensors
finish
