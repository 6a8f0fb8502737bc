#!/usr/bin/env bash
# What two settings, or two stages, do together with graphs: seven combinations that once gave another number without a
# word. Each gives the right one now, or is refused.
set -uo pipefail
train="$PWD/tools/train/train --check_gradient=false"
tracin=$PWD/tools/tracin/tracin
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
family=$PWD/testdata/kg/family
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

model="$train --noplot --noprogress --kge_model=complex --embedding_dim=16 --kge_loss=KvsAll --input_dropout=0"
make() { "$@" 2> log || fail "status $? of: $*: $(cat log)"; }
mrr() { $evaluate "$@" 2> /dev/null | awk '$1 == "all" && $2 == "both" { print $5 }'; }

# 1. Without an edge map relations of KGX are told apart by their labels, in whatever order they come.
for i in 0 1 2 3 4 5 6 7 8 9; do
  echo "{\"subject\":\"n$i\",\"object\":\"n$(((i + 1) % 10))\",\"predicate\":\"activates\"}"
done > e.jsonl
for i in 0 1 2 3 4 5 6 7 8 9; do
  echo "{\"subject\":\"n$i\",\"object\":\"n$(((i + 3) % 10))\",\"predicate\":\"inhibits\"}"
done >> e.jsonl
tac e.jsonl > f.jsonl
for x in e f; do make $featurize --vocabulary_order=name --train=$x.jsonl --output=$x.safetensors; done
succeeds $model --max_epochs=200 --learning_rate=0.05 --output_dir=k e.safetensors
[ "$(mrr --split=train k/last.safetensors e.safetensors)" = 1.000000 ] || fail "the run did not learn its triples"
refuses '"predicate:0", is "activates" in the model and "inhibits" in the triples' \
  $evaluate --split=train k/last.safetensors f.safetensors
printf 'n0\tactivates\t?\n' > questions.tsv
refuses 'is "activates" in the model and "inhibits" in the triples' \
  $evaluate --queries=questions.tsv k/last.safetensors f.safetensors
succeeds $model --max_epochs=1 --learning_rate=1e-12 --init_from=k/last.safetensors --output_dir=i f.safetensors
[ "$(mrr --split=train i/last.safetensors f.safetensors)" = 1.000000 ] || fail "--init_from mixes relations up"
printf 'predicate:0\t0\npredicate:1\t1\n' > relations.tsv
refuses 'give --edge_map' $featurize --train=f.jsonl --relation_to_id=relations.tsv --output=x.safetensors
# So are those of a test, and of training triples that tracin reads.
echo '{"subject":"n0","object":"n3","predicate":"inhibits"}' > t.jsonl
scores="--top_k=20 --loss=triple --learning_rate=1"
for x in e.safetensors e.jsonl f.jsonl; do
  succeeds $tracin --train=$x --model=k/last.safetensors --test=t.jsonl $scores k/last.safetensors
  # Activated is the next one, inhibited the third.
  tail -n +2 stdout | tr -d n | awk -F'\t' '
    $6 != "ihibits" || ($15 - $13 + 10) % 10 != ($14 == "ihibits" ? 3 : 1) { exit 1 }
    END { exit NR != 20 }' || fail "names of $x: $(cat stdout)"
done
# An edge map that names no qualifiers knows no edge that has some.
printf '{"subject":"A","object":"B","predicate":"affects","object_direction_qualifier":"increased"}\n' > q.jsonl
echo '{"{\"predicate\": \"affects\"}": "predicate:0"}' > m.json
refuses 'q.jsonl:1: the edge map has no predicate=affects' $featurize --train=q.jsonl --edge_map=m.json \
  --output=q.safetensors

# 2. Rows of embeddings belong to names, which no --override changes.
make $featurize --train="$family/train.txt" --output=a.safetensors
(tail -1 "$family/train.txt" && sed '$d' "$family/train.txt") > moved.txt
make $featurize --train=moved.txt --output=b.safetensors
succeeds $model --max_epochs=3 --keep_every_epochs=1 --output_dir=r a.safetensors
refuses 'the data have other names than those of the run to resume.*--init_from' \
  $model --max_epochs=4 --resume --override=all --output_dir=r b.safetensors

# 3. Scores belong to the examples and tests that they were computed for.
head -2 "$family/test.txt" > t1.tsv
sed -n 3,4p "$family/test.txt" > t2.tsv
loss="--learning_rate=1 --loss=1vsAll"
succeeds $tracin --train=a.safetensors --test=t1.tsv --top_k=1 $loss --output=i.safetensors r/last.safetensors
succeeds $tracin --self --train=a.safetensors --top_k=1 $loss --output=self.safetensors r/last.safetensors
for out in "" --csv_output=x.csv --json_output=x.json; do
  refuses 'computed for other training examples' $tracin --merge $out --train=b.safetensors --test=t1.tsv i.safetensors
  refuses 'computed for other tests' $tracin --merge $out --train=a.safetensors --test=t2.tsv i.safetensors
done
refuses 'computed for other training examples' $tracin --merge --train=b.safetensors self.safetensors

# 4. A run that goes back leaves no checkpoints of the branch that it abandoned.
cp -r r g
succeeds $model --max_epochs=2 --keep_every_epochs=1 --learning_rate=0.0001 \
  --resume=g/checkpoints/epoch-00001.safetensors --output_dir=g a.safetensors
[ "$(cd g/checkpoints && echo epoch-*)" = "epoch-00001.safetensors epoch-00002.safetensors" ] ||
  fail "the abandoned branch stays: $(ls g/checkpoints)"

# 5. Rates of groups count, and 1 rate for all does not know them.
sgd="$model --max_epochs=1 --keep_every_epochs=1 --optimizer=sgd --learning_rate=1"
succeeds $sgd '--parameter_groups=relation.*:lr_scale=0.001' --output_dir=p a.safetensors
share() { # what the relations add to the scores that they raise
  succeeds $tracin --train=a.safetensors --test=t1.tsv --top_k=0 --max_tests=1 --loss=trained --blocks "$@" \
    p/checkpoints/epoch-00001.safetensors
  sort -t"$(printf '\t')" -k6,6n stdout | awk -F'\t' '$12 > 0 { sum += $12 } END { print sum }'
}
own=$(share --rates=checkpoint)
one=$(share --learning_rate=1)
awk -v own="$own" -v one="$one" 'BEGIN { exit !(own > 0.00099 * one && own < 0.00101 * one) }' ||
  fail "rates of groups: $own and $one"

# 6. The tails that a loss takes for true are those that the run knew.
head -40 "$family/train.txt" > some.txt
refuses 'not the triples that the model learned from' \
  $tracin --train=some.txt --test=t1.tsv --loss=trained --learning_rate=1 r/last.safetensors

# 7. Names that contradict those of the data are refused.
cut -f 1,3 "$family/train.txt" | tr '\t' '\n' | sort -u | awk '{ print "Name of " $0 "\t" NR - 1 }' > names.txt
refuses 'has ids by the order of its entities' \
  $tracin --train=a.safetensors --test=t1.tsv $loss --node_name_dict=names.txt r/last.safetensors
echo '{"{\"predicate\": \"activates\"}": "predicate:1", "{\"predicate\": \"inhibits\"}": "predicate:0"}' > other.json
refuses 'calls "predicate:0" "inhibits", but the data have the label "activates"' \
  $tracin --train=e.safetensors --edge_map=other.json --test=t.jsonl $scores k/last.safetensors

# Checkpoints of two runs are not added up.
for other in --kge_loss=1vsAll --label_smoothing=0.1 --input_dropout=0.2 --seed=5; do
  rm -rf o
  succeeds $model $other --max_epochs=2 --keep_every_epochs=2 --output_dir=o a.safetensors
  refuses 'of another run than' $tracin --train=a.safetensors --test=t1.tsv --loss=1vsAll \
    r/checkpoints/epoch-00001.safetensors o/checkpoints/epoch-00002.safetensors
done
finish
