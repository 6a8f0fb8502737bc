#!/usr/bin/env bash
# evaluate of knowledge-graph models as users run it: metrics, conventions, tables, predictions, embeddings, limits.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
model=$PWD/lib/kge/model/untrained_model
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# 30 people in a ring like the next and the next but one; every tenth statement is in the test set.
awk 'BEGIN {
  for (i = 0; i < 30; ++i) {
    printf "p%02d\tlikes\tp%02d\n", i, (i + 1) % 30
    printf "p%02d\tknows\tp%02d\n", i, (i + 2) % 30
    printf "p%02d\tknows\tp%02d\n", i, (i + 7) % 30
  }
}' > all.txt
awk 'NR % 10 != 0 && NR % 11 != 0' all.txt > train.txt
awk 'NR % 11 == 0 && NR % 10 != 0' all.txt > valid.txt
awk 'NR % 10 == 0' all.txt > test.txt
$featurize --output=g.safetensors train.txt valid.txt test.txt 2> log || fail "featurize: $(cat log)"
$featurize --inverse_relations=false --output=plain.safetensors train.txt valid.txt test.txt 2> log ||
  fail "featurize: $(cat log)"
$model g.safetensors m.safetensors conve dettmers 24 6 1 1-N || fail "model"
$model g.safetensors softmax.safetensors complex dettmers 8 2 1 1vsAll || fail "softmax model"
$model plain.safetensors tails.safetensors distmult dettmers 8 2 0 1-N || fail "model without inverses"

# value DIRECTION COLUMN FILE: the value for all triples.
value() { awk -F'\t' -v d="$1" -v c="$2" \
  'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i } $1 == "all" && $3 == d { print $at }' "$3"; }
tests=$(wc -l < test.txt)
succeeds $evaluate --threads=1 m.safetensors g.safetensors && mv stdout one.tsv
columns='grouping group direction count mr mrr hits@1 hits@3 hits@5 hits@10'
columns+=' mrr_optimistic mrr_pessimistic adjusted_mr adjusted_mr_index adjusted_mrr'
columns+=' adjusted_hits@1 adjusted_hits@3 adjusted_hits@5 adjusted_hits@10 nan'
[ "$(head -n 1 one.tsv)" = "$(tr ' ' '\t' <<< "$columns")" ] || fail "header: $(cat one.tsv)"
[ "$(value both count one.tsv)" = $((2 * tests)) ] || fail "counts: $(cat one.tsv)"
[ "$(value tail count one.tsv)" = "$tests" ] || fail "counts: $(cat one.tsv)"
[ ! -s log ] || fail "messages: $(cat log)"
$evaluate --threads=2 m.safetensors g.safetensors > two.tsv || fail "two threads"
cmp one.tsv two.tsv || fail "threads differ"
$cache --output=known.safetensors g.safetensors 2> log || fail "cache-neighbors: $(cat log)"
succeeds $evaluate m.safetensors g.safetensors known.safetensors && mv stdout indexed.tsv
cmp one.tsv indexed.tsv || fail "a given index changes ranks"

# The filter decides which entities compete with the target: the fewer are left out, the worse the rank.
$evaluate --filter=train m.safetensors g.safetensors > filter.tsv 2> log || fail "filter"
awk -v a="$(value both mr one.tsv)" -v b="$(value both mr filter.tsv)" 'BEGIN { exit !(a < b) }' ||
  fail "--filter=train ranks no worse: $(cat one.tsv filter.tsv)"
expect_line 'filter train$' filter.tsv
expect_line 'warning: --filter=train' log
[ "$($evaluate --split=valid m.safetensors g.safetensors | awk '$2 == "tail" { print $3 }' FS='\t' | wc -l)" = 0 ] ||
  fail "split"
[ "$(value tail count <($evaluate --split=valid m.safetensors g.safetensors))" = "$(wc -l < valid.txt)" ] ||
  fail "--split=valid"
[ "$(value tail 'hits@30' <($evaluate --hits_at=1,30 m.safetensors g.safetensors))" = 1.000000 ] || fail "--hits_at"

# A sample of the triples is ranked among all entities, with the ranks that these triples have among all, and says so.
succeeds $evaluate --output_dir=all m.safetensors g.safetensors
succeeds $evaluate --rank_sample=4 --output_dir=sample m.safetensors g.safetensors && mv stdout sample.tsv
[ "$(value both count sample.tsv)" = 8 ] || fail "--rank_sample: $(cat sample.tsv)"
expect_line 'sample of 4$' sample.tsv
expect_line 'sample of 4$' sample/metrics.tsv
expect_line "warning: a sample of 4 of $tests triples is ranked" log
expect_line 'a sample of 4' sample/report.html
alike=$(tail -n +2 sample/ranks.tsv | grep -cxFf all/ranks.tsv)
[ "$alike" = 4 ] || fail "ranks of the sample: $(cat sample/ranks.tsv)"
$evaluate --rank_sample=1000 m.safetensors g.safetensors 2> log | cmp - one.tsv || fail "a sample of all"
refuses '--rank_sample=-1' $evaluate --rank_sample=-1 m.safetensors g.safetensors
refuses 'rank_sample.*--shard' $evaluate --rank_sample=4 --shard=1/2 --output_dir=part m.safetensors g.safetensors
$evaluate m.safetensors g.safetensors sample/ranks.safetensors 2> log | cmp - sample.tsv || fail "ranks of a sample"
expect_line "warning: a sample of 4 of $tests triples is ranked" log
refuses 'rank_sample' $evaluate --rank_sample=4 m.safetensors g.safetensors all/ranks.safetensors

# Unusual conventions are marked as such.
succeeds $evaluate --ranking_convention=tiepin m.safetensors g.safetensors && mv stdout tiepin.tsv
expect_line 'known wrong convention' log
expect_line 'wrong, for comparison: tiepin' tiepin.tsv
[ -z "$(value head mrr tiepin.tsv)" ] || fail "tiepin ranks heads"
succeeds $evaluate --ranking_convention=original m.safetensors g.safetensors && mv stdout original.tsv
expect_line 'wrong, for comparison: original' original.tsv

# Without inverses only tails are ranked, which is reported; heads are ranked by scoring all heads.
succeeds $evaluate tails.safetensors plain.safetensors && mv stdout tails.tsv
[ -z "$(value both mrr tails.tsv)" ] || fail "tails alone: $(cat tails.tsv log)"
expect_line 'tails alone are ranked' log
succeeds $evaluate --direction=both tails.safetensors plain.safetensors && mv stdout heads.tsv
[ "$(value head count heads.tsv)" = "$tests" ] || fail "heads: $(cat heads.tsv)"
[ "$(value tail mrr heads.tsv)" = "$(value tail mrr tails.tsv)" ] || fail "heads: $(cat heads.tsv)"

succeeds $evaluate --per_relation --output_dir=out m.safetensors g.safetensors && mv stdout table
for file in metrics.tsv ranks.tsv report.html; do [ -s out/$file ] || fail "no out/$file"; done
cmp table out/metrics.tsv || fail "metrics.tsv is not what was printed"
expect_line '^relation	likes	both' table
expect_line '^category	1-1	tail' table
[ "$(wc -l < out/ranks.tsv)" = $((tests + 1)) ] || fail "ranks.tsv"
# The mean of ranks.tsv is the MR of the table.
awk -F'\t' -v mr="$(value tail mr table)" \
  'NR > 1 { sum += $4 } END { d = sum / (NR - 1) - mr; exit !(d < 0.001 && d > -0.001) }' out/ranks.tsv ||
  fail "mean rank: $(head -n 3 out/ranks.tsv)"
grep -qE '(src|href)="[^#d]' out/report.html && fail "report.html refers to other files"

# Parts named together, in any order, give the result of one run; heads through inverses and by scoring all.
for run in "m g auto" "tails plain both"; do
  set -- $run
  rm -rf parts whole merged
  succeeds $evaluate --direction=$3 --per_relation --output_dir=whole $1.safetensors $2.safetensors &&
    mv stdout whole.tsv
  for i in 1 2 3; do
    succeeds $evaluate --shard=$i/3 --direction=$3 --output_dir=parts $1.safetensors $2.safetensors &&
      mv stdout part.tsv
    [ ! -s part.tsv ] || fail "a part prints a table"
  done
  expect_line 'wrote parts/ranks-00003-of-00003.safetensors: 3 triples' log
  succeeds $evaluate --per_relation --output_dir=merged $1.safetensors $2.safetensors parts/ranks-00003* \
    parts/ranks-0000[12]* && mv stdout merged.tsv
  cmp whole.tsv merged.tsv || fail "parts give other ranks than the whole"
  cmp whole/ranks.tsv merged/ranks.tsv || fail "parts give other ranks than the whole"
  $evaluate --per_relation $1.safetensors $2.safetensors whole/ranks.safetensors 2> /dev/null | cmp - whole.tsv ||
    fail "ranks read back"
done
[ "$(value tail 'hits@30' <($evaluate --hits_at=1,30 tails.safetensors plain.safetensors parts/*.safetensors))" = \
  1.000000 ] || fail "other hits of the same ranks"
expect_error 1 'ranks-00002-of-00003.safetensors is missing' \
  $evaluate tails.safetensors plain.safetensors parts/ranks-0000[13]*
expect_error 1 'shard 1/3 of' $evaluate tails.safetensors plain.safetensors parts/ranks-00002*
expect_error 1 'was not made from the model' $evaluate softmax.safetensors g.safetensors out/ranks.safetensors
expect_error 1 'out/ranks.safetensors: is a whole result' \
  $evaluate m.safetensors g.safetensors out/ranks.safetensors parts/ranks-00002*
expect_error 1 'other triples' $evaluate m.safetensors g.safetensors parts/ranks-*
expect_error 1 'split has no effect on ranks' $evaluate --split=valid tails.safetensors plain.safetensors parts/ranks-*
expect_error 1 'shard=1/2 writes a part' $evaluate --shard=1/2 m.safetensors g.safetensors
# Several models answer together, whole or in parts, and their ranks are not taken for those of one of them.
both=m.safetensors,softmax.safetensors
succeeds $evaluate --output_dir=both $both g.safetensors && mv stdout both.tsv
cmp -s both.tsv one.tsv && fail "the second of two models does not count"
succeeds $evaluate softmax.safetensors,m.safetensors g.safetensors && cmp stdout both.tsv || fail "the order counts"
expect_text 'softmax.safetensors' both/report.html
for i in 1 2; do succeeds $evaluate --shard=$i/2 --output_dir=both-parts $both g.safetensors; done
succeeds $evaluate $both g.safetensors both-parts/ranks-*
cmp stdout both.tsv || fail "parts of several models"
expect_error 1 'has the ranks of 2 models together, and 1 were given' \
  $evaluate m.safetensors g.safetensors both-parts/ranks-*
expect_error 1 'was not made from the model softmax' $evaluate $both g.safetensors out/ranks.safetensors
expect_error 1 'm.safetensors: is given twice' $evaluate m.safetensors,m.safetensors g.safetensors
expect_error 1 'm.safetensors.*inverse' $evaluate tails.safetensors,m.safetensors plain.safetensors
printf 'p01\tlikes\t?\n' > one-question.tsv
expect_error 1 'probabilities has no effect with several models' \
  $evaluate --queries=one-question.tsv --probabilities $both g.safetensors
succeeds $evaluate --queries=one-question.tsv --top_k=3 $both g.safetensors
[ "$(wc -l < stdout)" = 4 ] || fail "answers of two models: $(cat stdout)"
expect_error 1 'min_mrr has no effect with --shard' \
  $evaluate --shard=1/2 --min_mrr=0.1 --output_dir=x m.safetensors g.safetensors
expect_error 1 'device=gpu: .*expected cpu, cuda or cuda:N' $evaluate --device=gpu m.safetensors g.safetensors
expect_error 1 'device=cuda:99: ' $evaluate --device=cuda:99 m.safetensors g.safetensors
expect_error 1 'shard has no effect with --queries' \
  $evaluate --shard=1/2 --queries=all.txt --output_dir=x m.safetensors g.safetensors
expect_error 1 'has none: make at most 9' $evaluate --shard=1/10 --output_dir=x m.safetensors g.safetensors

# Answers.
printf 'p03\tlikes\t?\n?\tknows\tp09\n' > queries.tsv
succeeds $evaluate --queries=queries.tsv --top_k=30 --probabilities m.safetensors g.safetensors && mv stdout answers.tsv
[ "$(wc -l < answers.tsv)" = 61 ] || fail "answers: $(cat answers.tsv)"
[ "$(awk -F'\t' '$1 == 1 && $6 == "p04" { print $9 }' answers.tsv)" = \
  "$(grep -l 'p03	likes	p04' train.txt valid.txt test.txt | sed 's/.txt//')" ] || fail "known: $(cat answers.tsv)"
[ "$(awk -F'\t' '$2 == "head" && $9 != "" { print $4 }' answers.tsv | sort | paste -sd ,)" = p02,p07 ] ||
  fail "known heads: $(cat answers.tsv)"
awk -F'\t' 'NR > 2 && $1 == last && $7 > score { exit 1 } { last = $1; score = $7 }' answers.tsv ||
  fail "order: $(cat answers.tsv)"
$evaluate --queries=- --known=drop --top_k=30 m.safetensors g.safetensors < queries.tsv > dropped.tsv ||
  fail "standard input"
[ "$(wc -l < dropped.tsv)" = 58 ] || fail "known=drop: $(cat dropped.tsv)"
$evaluate --queries=queries.tsv --top_k=30 --probabilities softmax.safetensors g.safetensors > softmax.tsv ||
  fail "softmax"
awk -F'\t' 'NR > 1 { sum += $8 } END { exit !(sum > 1.999 && sum < 2.001) }' softmax.tsv ||
  fail "probabilities of a softmax do not add up to 1: $(cat softmax.tsv)"
$evaluate --queries=queries.tsv tails.safetensors plain.safetensors > plain.tsv || fail "answers without inverses"
[ "$(wc -l < plain.tsv)" = 21 ] || fail "answers without inverses: $(cat plain.tsv)"

$evaluate --export_embeddings=e.tsv m.safetensors 2> log || fail "embeddings: $(cat log)"
[ "$(wc -l < e.tsv)" = 35 ] || fail "e.tsv: $(head -n 2 e.tsv)"
[ "$(awk -F'\t' 'NF != 28' e.tsv | wc -l)" = 0 ] || fail "e.tsv: $(head -n 2 e.tsv)"
$evaluate --export_embeddings=e.safetensors m.safetensors 2> log || fail "embeddings: $(cat log)"

# The other models are ranked and asked like these, alone and together. Relations of rescal and cp have another number
# of values than entities, which a table does not hold.
for name in rescal cp simple tucker; do
  $model g.safetensors $name.safetensors $name dettmers 8 2 1 1vsAll || fail "model $name"
  $evaluate --threads=1 $name.safetensors g.safetensors > one.$name || fail "ranks of $name"
  $evaluate --threads=2 $name.safetensors g.safetensors > two.$name || fail "ranks of $name on two threads"
  cmp one.$name two.$name || fail "$name: threads differ"
  $evaluate --queries=queries.tsv --top_k=3 $name.safetensors g.safetensors > answers.$name || fail "answers of $name"
  $evaluate --export_embeddings=$name.e.safetensors $name.safetensors 2> log || fail "embeddings of $name: $(cat log)"
done
# So are distances, but not together with others.
for name in transe rotate; do
  $model g.safetensors $name.safetensors $name dettmers 8 2 1 1vsAll || fail "model $name"
  $evaluate --threads=1 $name.safetensors g.safetensors > one.$name || fail "ranks of $name"
  $evaluate --threads=2 $name.safetensors g.safetensors > two.$name || fail "ranks of $name on two threads"
  cmp one.$name two.$name || fail "$name: threads differ"
  $evaluate --queries=queries.tsv --top_k=3 $name.safetensors g.safetensors > answers.$name || fail "answers of $name"
  awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "score") c = i; next } $c > 0 { exit 1 }' answers.$name ||
    fail "$name: a distance below 0"
  $evaluate --export_embeddings=$name.e.safetensors $name.safetensors 2> log || fail "embeddings of $name: $(cat log)"
  expect_error 1 'distances (transe, rotate) cannot be one of several' \
    $evaluate $name.safetensors,rescal.safetensors g.safetensors
done
$evaluate rescal.safetensors,cp.safetensors,simple.safetensors,tucker.safetensors g.safetensors > together \
  || fail "models together"
for name in rescal cp tucker; do
  expect_error 1 "entities of $name have 8 numbers .*\.safetensors" \
    $evaluate --export_embeddings=$name.tsv $name.safetensors
  [ ! -e $name.tsv ] || fail "a table of $name"
done

$evaluate --min_mrr=0.0001 m.safetensors g.safetensors > /dev/null 2>&1 || fail "a limit that is met"
$evaluate --min_mrr=0.99 m.safetensors g.safetensors > /dev/null 2> err
[ $? = 2 ] || fail "a limit that is not met: $(cat err)"
expect_line 'is below --min_mrr=0.99' err

# Relations of KGX edges are numbered by appearance: with the same names and other meanings they do not fit.
for i in 0 1 2 3; do
  echo "{\"subject\":\"n$i\",\"object\":\"n$(((i + 1) % 4))\",\"predicate\":\"activates\"}"
done > kgx.jsonl
echo '{"subject":"n0","object":"n2","predicate":"inhibits"}' >> kgx.jsonl
tac kgx.jsonl > turned.jsonl
for name in kgx turned; do
  $featurize --vocabulary_order=name --train=$name.jsonl --output=$name.safetensors 2> log || fail "kgx: $(cat log)"
done
$model kgx.safetensors kgx-model.safetensors distmult dettmers 8 2 1 1-N || fail "kgx model"
succeeds $evaluate --split=train kgx-model.safetensors kgx.safetensors
expect_error 1 'turned.safetensors: .*"activates" in the model and "inhibits" in the triples.*--edge_map' \
  $evaluate --split=train kgx-model.safetensors turned.safetensors

expect_error 1 'needs MODEL' $evaluate m.safetensors
expect_error 1 'test.txt: is a knowledge graph as text' $evaluate m.safetensors test.txt
expect_error 1 'kg.triples' $evaluate m.safetensors m.safetensors
expect_error 1 'inverse' $evaluate m.safetensors plain.safetensors
expect_error 1 '--split=dev: expected train, valid, test' $evaluate --split=dev m.safetensors g.safetensors
expect_error 1 '--filter=valid' $evaluate --filter=valid m.safetensors g.safetensors
expect_error 1 '--hits_at=3,1' $evaluate --hits_at=3,1 m.safetensors g.safetensors
expect_error 1 '--min_mrr=2' $evaluate --min_mrr=2 m.safetensors g.safetensors
expect_error 1 '--known=none' $evaluate --queries=queries.tsv --known=none m.safetensors g.safetensors
expect_error 1 '--top_k=0' $evaluate --queries=queries.tsv --top_k=0 m.safetensors g.safetensors
expect_error 1 '--top_k has no effect without --queries' $evaluate --top_k=3 m.safetensors g.safetensors
expect_error 1 '--min_mrr has no effect with --queries' \
  $evaluate --queries=queries.tsv --min_mrr=0.1 m.safetensors g.safetensors
expect_error 1 '--max_force_rmse has no effect with a knowledge-graph model' \
  $evaluate --max_force_rmse=1 m.safetensors g.safetensors
expect_error 1 'none.safetensors: No such file' $evaluate --split=valid none.safetensors g.safetensors
expect_error 1 '--filter=train+valid' $evaluate --ranking_convention=tiepin --filter=all m.safetensors g.safetensors
expect_error 1 'leave out --direction=both' \
  $evaluate --ranking_convention=original --direction=both tails.safetensors plain.safetensors
expect_error 1 'output_model has no effect with a model of ours' \
  $evaluate --output_model=o.safetensors m.safetensors g.safetensors
rm -f none.tsv
for flag in --split=valid --filter=none --direction=tail --ranking_convention=tiepin --device=cuda --hits_at=1 \
  --per_relation --min_mrr=0.1 --queries=q.tsv --candidates=seen --list_types --output_dir=out --threads=2; do
  expect_error 1 "${flag%%=*} has no effect with --export_embeddings and no triples" \
    $evaluate --export_embeddings=none.tsv "$flag" m.safetensors
done
[ ! -e none.tsv ] || fail "embeddings are written before flags are looked at"
expect_error 1 '.tsv or .safetensors' $evaluate --export_embeddings=e.csv m.safetensors
expect_error 1 'would take the place of an input' $evaluate --export_embeddings=m.safetensors m.safetensors
expect_error 1 'g.safetensors: is a file of triples, expected a model before it' $evaluate g.safetensors m.safetensors
printf 'p99\tlikes\t?\n' > unknown.tsv
expect_error 1 'unknown.tsv:1: no entity is called "p99"' $evaluate --queries=unknown.tsv m.safetensors g.safetensors
$featurize --output=untested.safetensors train.txt valid.txt 2> /dev/null || $featurize --train=train.txt \
  --output=untested.safetensors 2> /dev/null
expect_error 1 'no test triples' $evaluate m.safetensors untested.safetensors
head -c 3000 m.safetensors > cut.safetensors
expect_error 1 'cut.safetensors' $evaluate cut.safetensors g.safetensors
# A model that was imported without its loss: what needs the loss is refused.
imported() {  # imported METADATA FILE: the softmax model with more metadata
  python3 - "$1" "$2" << 'PYTHON' || fail "metadata $1"
import json, struct, sys
data = open("softmax.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
header["__metadata__"].update(json.loads(sys.argv[1]))
text = json.dumps(header).encode()
text += b" " * (-(len(text) + 8) % 64)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
}
imported '{"imported_from": "PyKEEN"}' unknown.safetensors
imported '{"imported_from": "PyKEEN", "loss_given": "true"}' known.safetensors
printf 'p01\tlikes\t?\n' > asked.tsv
printf 'new\tlikes\tp01\n' > new.tsv
succeeds $evaluate --queries=asked.tsv unknown.safetensors g.safetensors
for flags in "--queries=asked.tsv --probabilities" "--queries=asked.tsv --new_triples=new.tsv"; do
  # shellcheck disable=SC2086
  refuses 'unknown.safetensors: .*PyKEEN.*loss is not known.*import' $evaluate $flags unknown.safetensors g.safetensors
  # shellcheck disable=SC2086
  succeeds $evaluate $flags known.safetensors g.safetensors
done
refuses 'kge_loss.*model of ours' $evaluate --kge_loss=1-N m.safetensors g.safetensors
finish
