#!/usr/bin/env bash
# Inputs and outputs of tracin on triples: text, pipes, shards, TiePin's formats, a run that is stopped.
. tools/tracin/tests/kge_testing.sh

ok a.tsv $data $saved

# Sources of triples: the file's splits, text, pipes, ids.
ok test.tsv --train=g.safetensors --test=g.safetensors --max_tests=4 $saved && close a.tsv test.tsv ||
  fail "--test=FILE.safetensors"
ok valid.tsv --train=g.safetensors --test=g.safetensors --test_split=valid --max_tests=1 $saved
[ "$(awk -F'\t' 'NR == 2 { print $2 "\t" $3 "\t" $4 }' valid.tsv)" = "$(head -n 1 "$elements/valid.txt")" ] ||
  fail "--test_split: $(sed -n 2p valid.tsv)"
ok text.tsv --train="$elements/train.txt" --test=t.tsv $saved && close a.tsv text.tsv || fail "--train as text"
$tracin $data $saved < t.tsv > pipe.tsv 2> log && $tracin --train=g.safetensors --test=- $saved < t.tsv > pipe.tsv \
  2> log && cmp a.tsv pipe.tsv || fail "a pipe: $(cat log)"
$tracin --train=g.safetensors --test=<(cat t.tsv) $saved > pipe.tsv 2> log && cmp a.tsv pipe.tsv ||
  fail "a substitution: $(cat log)"
ok model.tsv $data --learning_rate=0.003 run/best.safetensors
ok model2.tsv $data --model=run/last.safetensors $saved && cmp a.tsv model2.tsv || fail "--model"
succeeds $train --kge_model=distmult --embedding_dim=8 --plot=false --progress=false --max_epochs=1 --output_dir=dist \
  g.safetensors
ok dist.tsv $data --verify=3 --blocks dist/checkpoints/last.safetensors
refuses 'has no layers, only embeddings' $data --use_last_layers_only dist/checkpoints/last.safetensors

# Files.
ok out.tsv $data --output=i.safetensors $saved && cmp a.tsv out.tsv || fail "--output changes the table"
ok i2.safetensors $data --output=- $saved
$diff --rtol=0 i.safetensors i2.safetensors > log || fail "--output=-: $(cat log)"
ok merged.tsv --merge i.safetensors
[ "$(column score merged.tsv)" = "$(column score a.tsv)" ] || fail "--merge of one: $(head -n 3 merged.tsv)"
expect_line 'Ac bromide_structure' merged.tsv
for i in 1 2 3; do ok /dev/null $data --shard=$i/3 --output=part$i.safetensors $saved; done
ok merged.tsv --merge $data --output=m.safetensors part2.safetensors part3.safetensors part1.safetensors &&
  close a.tsv merged.tsv || fail "shards are not the whole"
refuses 'shard 2 of 3 is missing' --merge part1.safetensors part3.safetensors
refuses 'part1.safetensors' --merge part1.safetensors part1.safetensors part2.safetensors
# Names come from files that must be those of the scores.
head -n 4 "$elements/valid.txt" > others.tsv
awk '{ print $3 "\t" $2 "\t" $1 }' "$elements/train.txt" > turned.txt
refuses 'part1.*was computed for other tests than those of --test' --merge --train=g.safetensors --test=others.tsv \
  part1.safetensors part2.safetensors part3.safetensors
refuses 'part1.*was computed for other training examples than those of --train' --merge --model=run/best.safetensors \
  --train=turned.txt --test=t.tsv part1.safetensors part2.safetensors part3.safetensors
# Labels of a loss over keys are those of all that the model learned from.
head -n 40 "$elements/train.txt" > some.txt
ok /dev/null --train=some.txt --test=t.tsv --top_k=1 $saved
refuses 'some.txt: not the triples that the model learned from' --train=some.txt --test=t.tsv --loss=1n $saved
ok labels.tsv $data --loss=1n $saved
tac "$elements/train.txt" > tac.txt
ok other.tsv --train=tac.txt --test=t.tsv --loss=1n $saved
[ "$(column score labels.tsv | head -n 1 | cut -c 1-5)" = "$(column score other.tsv | head -n 1 | cut -c 1-5)" ] ||
  fail "the order of lines changes labels: $(head -n 2 labels.tsv other.tsv)"
ok csv.tsv $data --mode=single --csv_output=c.csv --top_k=2 $saved
columns=TestHead,TestHead_label,TestRel,TestRel_label,TestTail,TestTail_label
columns+=,TrainHead,TrainHead_label,TrainRel,TrainRel_label,TrainTail,TrainTail_label,TracInScore,SelfInfluence
printf '%s\r\n' $columns > header
head -n 1 c.csv | cmp - header || fail "CSV header: $(head -n 1 c.csv)"
[ "$(wc -l < c.csv)" = 3 ] || fail "CSV: $(cat c.csv)"
[ "$(awk -F, 'NF != 14' c.csv)" = "" ] || fail "CSV: $(cat c.csv)"
awk -F'\t' 'NR > 1 { print $2 "," $2 "," $3 "," $3 "," $4 "," $4 "," $7 "," $7 "," $8 "," $8 "," $9 "," $9 }' csv.tsv \
  > names && cut -d, -f 1-12 c.csv | tail -n 2 | cmp - names || fail "CSV names: $(cat c.csv)"
ok out.csv $data --mode=single --csv_output=- --top_k=2 $saved && cmp c.csv out.csv ||
  fail "--csv_output=-: $(cat out.csv)"
ok out.json $data --json_output=- $saved && python3 -c 'import json; json.load(open("out.json"))' ||
  fail "--json_output=-"
ok /dev/null $data --max_tests=2 --rates=checkpoint --csv_output=d.csv --json_output=d.json $saved
[ -s d_test_0.csv ] || fail "CSV of several tests: $(ls)"
[ -s d_test_1.csv ] || fail "CSV of several tests: $(ls)"
[ ! -e d.csv ] || fail "CSV of several tests: $(ls)"
python3 - << 'END' || fail "JSON of a set"
import json
d = json.load(open("d.json"))
assert list(d) == ["num_test_triples", "num_training_triples", "top_k", "learning_rate", "results"], list(d)
assert (d["num_test_triples"], d["num_training_triples"], d["top_k"], d["learning_rate"]) == (2, 2497, 10, 0.003), d
r = d["results"][0]
assert list(r) == ["test_head", "test_relation", "test_tail", "top_influences"], list(r)
assert list(r["top_influences"][0]) == ["train_head", "train_relation", "train_tail", "influence"]
END
mkdir per
ok /dev/null $data --top_k=2 --json_output=per/x.json --output_per_triple $saved
python3 - << 'END' || fail "JSON for each triple"
import json
d = json.load(open("per/tracin_test_3.json"))
assert d["test_index"] == 3 and d["test_tail_label"] and d["self_influence"] > 0 and d["top_k"] == 2, d
assert len(d["top_influences"]) == 2 and "train_head_label" in d["top_influences"][0], d
END
rm per/tracin_test_1.json
ok skipped.tsv $data --top_k=2 --json_output=per/x.json --output_per_triple --skip_existing $saved
[ "$(column test skipped.tsv | sort -u)" = 1 ] || fail "--skip_existing: $(cat skipped.tsv)"
[ -s per/tracin_test_1.json ] || fail "--skip_existing: $(cat skipped.tsv)"
refuses 'skip_existing: per/tracin_test_0.json answers another question' $data --top_k=2 --loss=ce \
  --json_output=per/x.json --output_per_triple --skip_existing $saved
ok skipped.tsv $data --top_k=2 --json_output=per/x.json --output_per_triple --skip_existing $saved
expect_line 'all output files are there already' log
[ ! -s skipped.tsv ] || fail "--skip_existing of all: $(cat log)"
# Files of all tests stay whole if one test has to be computed again.
mkdir skip
each="$data --max_tests=3 --top_k=2 --json_output=skip/x.json --output_per_triple --csv_output=skip/c.csv"
ok whole.tsv $each --output=skip/o.safetensors --skip_existing $saved
cp -r skip skip-whole
for missing in tracin_test_1.json c_test_1.csv o.safetensors; do
  rm skip/$missing
  ok skipped.tsv $each --output=skip/o.safetensors --skip_existing $saved
  diff -r -x o.safetensors skip skip-whole > out || fail "--skip_existing without $missing: $(cat out)"
  $diff --rtol=0 skip/o.safetensors skip-whole/o.safetensors > out ||
    fail "--skip_existing without $missing: $(cat out)"
  tests=$(column test skipped.tsv | sort -u | xargs)
  case $missing in
    o.safetensors) [ "$tests" = '0 1 2' ] || fail "--skip_existing without $missing computes $tests" ;;
    *) [ "$tests" = 1 ] || fail "--skip_existing without $missing computes $tests" ;;
  esac
done
rm skip/c_test_1.csv
ok skipped.tsv $each --num_processes=2 --output=skip/o.safetensors --skip_existing $saved
diff -r -x o.safetensors skip skip-whole > out || fail "--skip_existing in processes: $(cat out)"
$diff --rtol=0 skip/o.safetensors skip-whole/o.safetensors > out || fail "--skip_existing in processes: $(cat out)"
# The name of the file of a single test is no file of one test of several.
ok /dev/null $data --top_k=2 --mode=single --test_indices=1 --csv_output=skip/n.csv $saved
ok /dev/null $data --top_k=2 --max_tests=2 --csv_output=skip/n.csv --skip_existing $saved
[ -s skip/n_test_0.csv ] && cmp skip/n.csv skip/n_test_1.csv || fail "CSV of several tests: $(ls skip; cat log)"
refuses 'skip/o.safetensors answers another question' $data --max_tests=2 --top_k=2 --output=skip/o.safetensors \
  --skip_existing $saved
refuses 'part1.safetensors answers another question, with other .*shard' $data --shard=2/3 --output=part1.safetensors \
  --skip_existing $saved
refuses 'skip/o.safetensors answers another question' --merge --output=skip/o.safetensors --skip_existing \
  part1.safetensors part2.safetensors part3.safetensors
ok skipped.tsv $data --output=i.safetensors --skip_existing $saved
expect_line 'all output files are there' log
refuses 'skip_existing: i.safetensors answers another question' $data --top_k=3 --output=i.safetensors \
  --skip_existing $saved
[ ! -s skipped.tsv ] || fail "--skip_existing of a file: $(cat log)"
ok /dev/null $data --mode=single --test_indices=1,2 --json_output=s.json $saved
ok /dev/null --self --train=g.safetensors --json_output=self.json $saved
python3 - << 'END' || fail "JSON lists"
import json
d = json.load(open("s.json"))
assert [x["test_triple_index"] for x in d] == [1, 2] and len(d[0]["test_triple"]) == 3 and len(d[0]["influences"]) == 10
d = json.load(open("self.json"))
assert len(d) == 10 and list(d[0]) == ["head", "relation", "tail", "self_influence"]
assert d == sorted(d, key=lambda x: -x["self_influence"])
END
# Examples of the other direction are marked.
ok /dev/null $data --test_direction=head --inverse_examples --max_tests=1 --top_k=0 --json_output=inverse.json \
  --csv_output=inverse.csv $saved
python3 - << 'END' || fail "inverse examples in JSON"
import json
d = json.load(open("inverse.json"))["results"][0]
assert d["test_inverse"] is True and sum("train_inverse" in x for x in d["top_influences"]) == 2497, d["test_inverse"]
END
[ "$(tail -n +2 inverse.csv | cut -d, -f 4 | grep -c '^inverse of ')" = $((2 * 2497)) ] ||
  fail "the inverse test in CSV"
[ "$(tail -n +2 inverse.csv | cut -d, -f 10 | grep -c '^inverse of ')" = 2497 ] || fail "inverse examples in CSV"
# Readable names, by ids that a file has given.
awk -F'\t' '{ print $1; print $3 }' "$elements/train.txt" "$elements/valid.txt" "$elements/test.txt" | sort -u \
  > entities
cp run/best.safetensors m.safetensors
printf 'the first\t0\n' > names.txt
refuses 'g.safetensors has ids by the order of its entities' $data --node_name_dict=names.txt --top_k=1 $saved
python3 - << 'END'
names = open("entities").read().split("\n")[:-1]
open("ids.txt", "w").write("".join("%s\t%d\n" % (name, i) for i, name in enumerate(names)))
END
$featurize --train="$elements/train.txt" --entity_to_id=ids.txt --output=ids.safetensors 2> log ||
  fail "ids: $(cat log)"
$untrained ids.safetensors ids-model.safetensors distmult dettmers 8 2 1 1-N || fail "model of ids"
ok labels.tsv --train=ids.safetensors --test=t.tsv --node_name_dict=names.txt --top_k=1 --learning_rate=1 \
  ids-model.safetensors
head -n 1 labels.tsv | grep -q 'test_tail_label' || fail "--node_name_dict: $(cat labels.tsv)"
echo '{"{\"predicate\": \"bromide structure\", \"object_aspect_qualifier\": \"x\"}": "bromide_structure"}' > edges.json
ok labels.tsv $data --edge_map=edges.json --test_indices=0 --top_k=1 --csv_output=e.csv $saved
expect_line ',bromide_structure,bromide structure,' e.csv

# Stop and resume a computation on a graph that takes some seconds.
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 60000; ++i) printf "e%d\tr%d\te%d\n", int(rand() * 4000), int(rand() * 10), int(rand() * 4000)
}' > big.txt
head -n 200 big.txt > big-tests.txt
$featurize --train=big.txt --output=big.safetensors 2> log || fail "featurize: $(cat log)"
$untrained big.safetensors big-model.safetensors conve dettmers 32 8 1 1-N || fail "model"
long="--learning_rate=1 --loss=ce --train=big.safetensors --test=big-tests.txt --progress=false"
stopped=
for delay in 2 1 0.5 4 8; do
  rm -f l.safetensors l.partial.safetensors
  $tracin $long --output=l.safetensors big-model.safetensors > l.tsv 2> log &
  pid=$!
  sleep $delay
  kill -INT $pid 2> /dev/null
  wait $pid
  status=$?
  [ $status = 130 ] && [ -s l.partial.safetensors ] && stopped=1 && break
done
[ -n "$stopped" ] || fail "no run was stopped: status $status, $(cat log)"
[ ! -e l.safetensors ] || fail "a run that was stopped left results"
[ ! -s l.tsv ] || fail "a run that was stopped left results"
expect_line 'with --resume goes on' log
refuses 'top_k' $long --output=l.safetensors --resume --top_k=3 big-model.safetensors
ok l.tsv $long --output=l.safetensors --resume big-model.safetensors
expect_line 'goes on from l.partial.safetensors' log
[ ! -e l.partial.safetensors ] || fail "what was done is still there"
ok whole.tsv $long --output=whole.safetensors --resume big-model.safetensors
expect_line 'there is no whole.partial.safetensors: starts anew' log
cmp l.tsv whole.tsv || fail "a resumed run differs"
$diff --rtol=0 l.safetensors whole.safetensors > out || fail "a resumed file differs: $(cat out)"
rm -f ./*.partial.safetensors
finish
