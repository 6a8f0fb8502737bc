#!/usr/bin/env bash
# evaluate with candidates, as users run it: types from a file to featurize, ranks beside the plain ones, predictions,
# shards, files, and a clear line for each kind of bad input.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
model=$PWD/lib/kge/model/untrained_model
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# 12 drugs, 5 diseases and 7 genes, of which one has no type.
awk 'BEGIN {
  for (i = 0; i < 12; ++i) {
    printf "drug%02d\ttreats\tdisease%02d\n", i, i % 5
    printf "drug%02d\ttargets\tgene%02d\n", i, i % 7
    printf "drug%02d\ttargets\tgene%02d\n", i, (i + 2) % 7
    printf "gene%02d\tcauses\tdisease%02d\n", i % 7, (i * 3) % 5
  }
}' | sort -u > all.txt
awk 'NR % 5 != 0' all.txt > train.txt
awk 'NR % 5 == 0' all.txt > test.txt
cut -f 1,3 all.txt | tr '\t' '\n' | sort -u |
  awk '{ type = $1; sub(/[0-9]+$/, "", type); if ($1 != "gene00") print $1 "\tbio:" type }' > types.tsv
splits="--train=train.txt --test=test.txt"
$featurize --entity_types=types.tsv --output=g.safetensors $splits 2> log || fail "featurize: $(cat log)"
$featurize --output=untyped.safetensors $splits 2> log || fail "featurize: $(cat log)"
$model g.safetensors m.safetensors conve dettmers 24 6 1 1-N || fail "model"
$model untyped.safetensors untyped_model.safetensors conve dettmers 24 6 1 1-N || fail "model without types"
tests=$(wc -l < test.txt)

# value DIRECTION COLUMN FILE: the value for all triples.
value() { awk -F'\t' -v d="$1" -v c="$2" \
  'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i } $1 == "all" && $3 == d { print $at }' "$3"; }

succeeds $evaluate --list_types m.safetensors g.safetensors && mv stdout list.tsv
expect_line '^type	bio:drug		12	$' list.tsv
expect_line '^relation	targets	head	12	bio:drug 12$' list.tsv
expect_line '^relation	causes	head	7	bio:gene 6$' list.tsv

# Plain columns are those of a plain run; the others stand beside them, for any number of threads.
succeeds $evaluate --per_relation m.safetensors g.safetensors && mv stdout plain.tsv
succeeds $evaluate --per_relation --candidates=types --threads=1 m.safetensors g.safetensors && mv stdout typed.tsv
expect_line 'also ranked: heads among those of the types seen .*(6 to 12 of 24 entities), tails .*(5 to 6 of 24' log
columns=$(head -n 1 plain.tsv | awk -F'\t' '{ print NF }')
cut -f 1-"$columns" typed.tsv | cmp - plain.tsv || fail "plain ranks differ: $(cat plain.tsv typed.tsv)"
succeeds $evaluate --per_relation --candidates=types --threads=2 m.safetensors g.safetensors && mv stdout two.tsv
cmp typed.tsv two.tsv || fail "threads differ"
[ "$(($(value tail among_count typed.tsv) + $(value tail among_outside typed.tsv)))" = "$tests" ] ||
  fail "counts: $(cat typed.tsv)"
# With everybody as candidate the ranks are the plain ones.
cut -f 1 types.tsv > everybody && echo gene00 >> everybody
succeeds $evaluate --candidates=everybody m.safetensors g.safetensors && mv stdout everybody.tsv
for direction in both tail head; do
  for column in count mr mrr hits@1 hits@10 mrr_optimistic mrr_pessimistic adjusted_mr adjusted_mr_index adjusted_mrr \
    adjusted_hits@1 adjusted_hits@10; do
    [ "$(value $direction $column everybody.tsv)" = "$(value $direction among_$column everybody.tsv)" ] ||
      fail "$direction $column: $(cat everybody.tsv)"
  done
done

# Types may come from the model alone; a list and a type of the same entities are the same.
succeeds $evaluate --candidates=types --per_relation m.safetensors untyped.safetensors && mv stdout by_model.tsv
cmp typed.tsv by_model.tsv || fail "types of the model: $(cat by_model.tsv)"
grep 'bio:drug' types.tsv | cut -f 1 > drugs
succeeds $evaluate --head_candidates=bio:drug m.safetensors g.safetensors && mv stdout type.tsv
succeeds $evaluate --head_candidates=./drugs m.safetensors untyped.safetensors && mv stdout file.tsv
cmp type.tsv file.tsv || fail "a list is not the type: $(cat type.tsv file.tsv)"
# One side has no rows for both; targets that are no candidates are counted, and the warning says so.
[ -z "$(value both among_count type.tsv)" ] || fail "both: $(cat type.tsv)"
others=$(grep -c '^gene' test.txt)
[ "$(value head among_outside type.tsv)" = "$others" ] || fail "outside: $(cat type.tsv)"
expect_line "warning: $others of $tests heads are no candidates themselves" log
succeeds $evaluate --candidates=seen m.safetensors untyped.safetensors && mv stdout seen.tsv
[ "$(value tail among_count seen.tsv)" -gt 0 ] || fail "seen: $(cat seen.tsv)"

# Files; parts give the whole.
mkdir out
succeeds $evaluate --candidates=types --per_relation --output_dir=out m.safetensors g.safetensors
cmp stdout out/metrics.tsv || fail "metrics.tsv is not what was printed"
[ "$(head -n 1 out/ranks.tsv | tr '\t' '\n' | tail -n 2 | tr '\n' ' ')" = 'tail_rank_among head_rank_among ' ] ||
  fail "ranks.tsv: $(head -n 2 out/ranks.tsv)"
expect_text 'Ranks among candidates' out/report.html
expect_no_line 'queries for tails alone' out/report.html
# With candidates on one side, the page has the numbers of that side for each relation and category.
for side in tail head; do
  succeeds $evaluate --${side}_candidates=seen --output_dir=one m.safetensors g.safetensors
  expect_text "Ranks among candidates, of queries for ${side}s alone" one/report.html
  awk -F'\t' -v side=$side 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    ($1 == "relation" || $1 == "category") && $3 == side && $at["among_count"] > 0 {
      printf("%s\t%d\t%.4f\n", $2, $at["among_count"], $at["among_mrr"]) }' one/metrics.tsv > among.tsv
  [ "$(wc -l < among.tsv)" -ge 4 ] || fail "too few groups for this test: $(cat one/metrics.tsv)"
  while IFS=$'\t' read -r name count mrr; do
    row=$(sed -n "s|^<tr><td class=\"text\">$name</td>\(.*\)</tr>$|\1|p" one/report.html | sed -n 2p |
      sed 's|</*td>| |g; s|  *| |g')
    echo "$row" | grep -q " $count [^ ]* $mrr " || fail "$side, $name: $count $mrr, the page has '$row'"
  done < among.tsv
done
for i in 1 2; do
  succeeds $evaluate --candidates=types --shard=$i/2 --output_dir=parts m.safetensors g.safetensors
done
succeeds $evaluate --per_relation m.safetensors g.safetensors parts/ranks-*
cmp stdout typed.tsv || fail "parts: $(cat stdout)"
succeeds $evaluate --candidates=seen --shard=2/2 --output_dir=parts m.safetensors g.safetensors
refuses 'candidates' $evaluate m.safetensors g.safetensors parts/ranks-*
refuses '--candidates has no effect on ranks' \
  $evaluate --candidates=types m.safetensors g.safetensors out/ranks.safetensors

# Predictions are candidates alone: drugs among drugs.
printf '?\ttargets\tgene01\ndrug00\ttreats\t?\n' > questions
succeeds $evaluate --queries=questions --candidates=types --top_k=30 m.safetensors g.safetensors
[ "$(awk -F'\t' '$1 == 1 && $4 ~ /^drug/' stdout | wc -l)" = 12 ] || fail "heads: $(cat stdout)"
[ "$(awk -F'\t' '$1 == 2 && $6 ~ /^disease/' stdout | wc -l)" = 5 ] || fail "tails: $(cat stdout)"
[ "$(wc -l < stdout)" = 18 ] || fail "more answers: $(cat stdout)"
expect_line 'answers: heads among' log
# A relation that training lacks has no range: no answers, and a warning; an error if nothing else is asked.
printf 'drug00\tcures\tdisease00\n' > new.txt
$featurize --entity_types=types.tsv --output=new.safetensors --train=train.txt --test=new.txt 2> log ||
  fail "featurize: $(cat log)"
$model new.safetensors new_model.safetensors conve dettmers 24 6 1 1-N || fail "model of a new relation"
printf 'drug00\ttreats\t?\ndrug00\tcures\t?\n' > questions
succeeds $evaluate --queries=questions --candidates=seen new_model.safetensors new.safetensors
expect_line 'warning: question 2 has no candidate' log
[ "$(wc -l < stdout)" -gt 1 ] || fail "no answers: $(cat stdout)"
printf 'drug00\tcures\t?\n' > questions
expect_error 1 'no candidate: tails among those seen' $evaluate --queries=questions --candidates=seen \
  new_model.safetensors new.safetensors
expect_error 1 '--head_candidates has no effect where tails alone' $evaluate --queries=questions \
  --head_candidates=seen new_model.safetensors new.safetensors

# Bad input.
bad() { expect_error 1 "$1" $evaluate "${@:2}"; }
bad '--candidates=drug: is neither a type nor a file; .* bio:drug.*--list_types' --candidates=drug \
  m.safetensors g.safetensors
bad '--tail_candidates=types: neither the triples nor the model have types.*--entity_types' --tail_candidates=types \
  untyped_model.safetensors untyped.safetensors
bad '--candidates=bio:drug: there is no such file, and neither the triples' --candidates=bio:drug \
  untyped_model.safetensors untyped.safetensors
echo drug99 >> drugs
bad 'drugs:13: the graph has no entity "drug99"' --candidates=drugs m.safetensors g.safetensors
: > empty
bad 'empty: names no entity' --candidates=empty m.safetensors g.safetensors
echo drug00 > bio:gene
bad 'is a type and a file: write ./bio:gene' --candidates=bio:gene m.safetensors g.safetensors
succeeds $evaluate --head_candidates=./bio:gene m.safetensors g.safetensors
expect_line 'heads among ./bio:gene (1 of 24 entities)' log
rm bio:gene
bad '--head_candidates has no effect where tails alone are ranked' --direction=tail --head_candidates=bio:drug \
  m.safetensors g.safetensors
bad '--candidates has no effect beside --head_candidates and --tail_candidates' --candidates=seen \
  --head_candidates=seen --tail_candidates=seen m.safetensors g.safetensors
bad '--ranking_convention=original reproduces ranks among all' --ranking_convention=original --candidates=seen \
  m.safetensors g.safetensors
bad '--split has no effect with --list_types' --list_types --split=valid m.safetensors g.safetensors
finish
