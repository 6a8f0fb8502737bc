#!/usr/bin/env bash
# featurize of knowledge graphs, as users run it: the same graph from every file format, flags that refuse or leave out
# triples, and one clear line for each kind of bad input.
set -uo pipefail
featurize=$PWD/$1
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
kg=$PWD/testdata/kg
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# Three files by position or name, in any order, gzipped, or as flags.
$featurize --output=a.safetensors "$kg/train.txt" "$kg/valid.txt" "$kg/test.txt" 2> log || fail "plain: $(cat log)"
expect_line '8 entities, 5 relations and their inverses; triples: train 9, valid 1, test 3; 0 lines left out' log
expect_line "featurize: train .*train.txt, valid .*valid.txt, test .*test.txt" log
expect_line 'warning: test: 2 triples with an entity or relation that no training triple has, kept' log
expect_line 'warning: 1 relations are in no training triple: neighbour of$' log
$info a.safetensors | grep -q 'kg.triples/1' || fail "kind"
gzip -c "$kg/train.txt" > train.txt.gz
for inputs in "$kg/test.txt $kg/train.txt $kg/valid.txt" "train.txt.gz $kg/valid.txt $kg/test.txt" \
  "--train=$kg/train.txt --test=$kg/test.txt --valid=$kg/valid.txt" \
  "--train=train.txt.gz --valid=$kg/valid.txt --test=$kg/test.txt"; do
  # shellcheck disable=SC2086
  $featurize --output=b.safetensors $inputs 2> log || fail "$inputs: $(cat log)"
  $diff a.safetensors b.safetensors || fail "differs: $inputs"
done
$featurize --output=b.safetensors --train=<(cat "$kg/train.txt") --valid="$kg/valid.txt" --test="$kg/test.txt" 2> log ||
  fail "pipe: $(cat log)"
$diff a.safetensors b.safetensors || fail "a pipe differs"
cp "$kg/train.txt" one; cp "$kg/valid.txt" two; cp "$kg/test.txt" three
$featurize --output=b.safetensors one two three 2> log || fail "by position: $(cat log)"
expect_line 'train one, valid two, test three' log
$diff a.safetensors b.safetensors || fail "by position differs"
mkdir -p graph && cp "$kg/train.txt" "$kg/valid.txt" "$kg/test.txt" graph
$featurize --output=- graph 2> log > b.safetensors || fail "directory, standard output: $(cat log)"
$diff a.safetensors b.safetensors || fail "a directory differs"

# Ids in the order of names: by flag, from files in three formats, from OpenKE's counted ids. The graph is the same.
splits="--train=$kg/train.txt --valid=$kg/valid.txt --test=$kg/test.txt"
$featurize --vocabulary_order=name --output=n.safetensors $splits 2> log || fail "by name: $(cat log)"
$diff a.safetensors n.safetensors > /dev/null && fail "the order of ids has no effect"
relations="--relation_to_id=$kg/rel_dict.txt"
for ids in "--entity_to_id=$kg/node_dict.txt" "--entity_to_id=$kg/entities.dict" "--entity_to_id=$kg/entity2id.txt"; do
  $featurize $ids $relations --output=b.safetensors $splits 2> log || fail "$ids: $(cat log)"
  $diff n.safetensors b.safetensors || fail "differs: $ids"
done
expect_line 'entity2id.txt: 8 names, a count and then name and index (as OpenKE writes)' log
$featurize --entity-to-id="$kg/node_dict.txt" --relation-to-id="$kg/rel_dict.txt" --output=b.safetensors $splits \
  2> log || fail "dashes: $(cat log)"
$diff n.safetensors b.safetensors || fail "dashes differ"
$featurize --output=b.safetensors "$kg"/*2id.txt 2> log || fail "OpenKE: $(cat log)"
expect_line 'train2id.txt: a count and then ids of head, tail and relation (as OpenKE writes)' log
$diff n.safetensors b.safetensors || fail "OpenKE's files differ"
# Readable names; no inverses.
$featurize --entity_to_id="$kg/node_dict.txt" --node_name_dict="$kg/node_name_dict.txt" --noinverse_relations \
  --output=p.safetensors $splits 2> log || fail "names for people: $(cat log)"
expect_line '1 entities have no name for people' log
$info p.safetensors | grep -q entity_labels || fail "no labels"
expect_line '5 relations, no inverses' log

# KGX: the edge map equals the one that Python writes, and reading it gives the same graph.
$featurize --output=k.safetensors --edge_map_output=map.json "$kg/edges.jsonl" "$kg/nodes.jsonl" 2> log ||
  fail "KGX: $(cat log)"
expect_line ' 5 entities, 2 relations' log
cmp map.json "$kg/edge_map.json" || fail "edge map"
$featurize --output=b.safetensors "$kg/edges.jsonl" "$kg/nodes.jsonl" "$kg/edge_map.json" 2> log ||
  fail "edge map: $(cat log)"
$diff k.safetensors b.safetensors || fail "an edge map that is read differs"
$info k.safetensors | grep -q relation_labels || fail "no labels of relations"

# Types: categories of nodes, and a file, whose names that the graph lacks are counted.
$info k.safetensors | grep -q entity_type_names || fail "no types of nodes"
printf 'anna\twoman\tmother\nboris\tman\nnobody\tman\n' > types.tsv
$featurize --output=b.safetensors --entity_types=types.tsv $splits 2> log || fail "types: $(cat log)"
expect_line '3 types of 2 entities' log
expect_line 'warning: 6 entities have no type: clara, dora, emil' log
expect_line 'entity_types: 1 lines of names that the graph lacks, left out; the first is types.tsv:3: "nobody"' log
$info b.safetensors | grep -q types.tsv || fail "types.tsv is no input of the file: $($info b.safetensors)"

# Odd triples are left out or kept, as flags say.
printf 'a\tr\tb\nb\tr\tc\na\tr\tb\nbad line\n' > t.txt
printf 'a\tr\tb\nx\tr\ta\nc\tr\ta\n' > v.txt
two="--train=t.txt --valid=v.txt"
$featurize --malformed=skip --output=o.safetensors $two 2> log || fail "odd: $(cat log)"
for line in 'train: 1 lines that are no triple, left out; the first is t.txt:4' \
  'train: 1 repeated triples, left out; the first is t.txt:3' \
  'valid: 1 triples of an earlier split, left out (--leaked=keep keeps them); the first is v.txt:1' \
  'valid: 1 triples with an entity or relation that no training triple has, kept (--unseen=drop leaves them out);' \
  'that no training triple has, kept (--unseen=drop leaves them out); the first is v.txt:2' \
  'triples: train 2, valid 2, test 0; 3 lines left out'; do
  expect_text "$line" log
done
$featurize --malformed=skip --leaked=keep --unseen=drop --output=o.safetensors $two 2> log || fail "odd: $(cat log)"
expect_line 'triples: train 2, valid 2, test 0; 3 lines left out' log
expect_line 'warning: 1 entities of triples that are left out are in no training triple' log

# Bad input: one line that holds the pattern, exit status 1, no output.
bad() {
  makes_nothing out.safetensors "$1" "$featurize" --output=out.safetensors "${@:2}"
}
cp "$kg/train.txt" mine.txt
expect_error 1 '--output=mine.txt: would take the place of an input' $featurize --output=mine.txt mine.txt
cmp "$kg/train.txt" mine.txt || fail "an input was replaced"
bad 't.txt:4: 1 fields in "bad line"' $two
bad 't.txt:3: "a" "r" "b" comes twice' --malformed=skip --duplicates=refuse $two
bad 'v.txt:1: "a" "r" "b" is in train, too' --malformed=skip --leaked=refuse $two
bad 'v.txt:2: the entity "x" is in no training triple' --malformed=skip --leaked=keep --unseen=refuse $two
bad '--malformed=drop: expected refuse or skip' --malformed=drop $two
bad '--unseen=skip: expected keep or drop or refuse' --unseen=skip $two
bad '--vocabulary_order=id: expected appearance or name' --vocabulary_order=id $splits
bad 'sorted names' --vocabulary_order=name --entity_to_id="$kg/node_dict.txt" $relations $splits
bad '--node_name_dict needs --entity_to_id' --node_name_dict="$kg/node_name_dict.txt" $splits
bad 'needs --train' --valid=v.txt
bad 'give splits as --train' $splits one
bad 'none.txt.*No such file' --train=none.txt
printf 'subject\tpredicate\tobject\na\tr\tb\n' > header.tsv
bad 'header.tsv:1: names of columns' --train=header.tsv
printf 'words\n' > words.txt
bad 'needs --species for structures.*for a knowledge graph.*--separator' words.txt
printf 'a\t0\nb\t0\n' > twice.txt
bad 'twice.txt:2: index 0 is used twice' --entity_to_id=twice.txt $splits
printf 'a\t0\nb\t2\n' > hole.txt
bad 'hole.txt:2: index 2 of 2 names, expected 0 .. 1, each once; no line has 1' --entity_to_id=hole.txt $splits
printf 'anna\t0\nboris\t1\n' > few.txt
bad 'train.txt:2: the entity "clara" has no id in few.txt' --entity_to_id=few.txt $splits
printf 'anna\n' > bad_types.tsv
bad 'bad_types.tsv:1: no type in "anna"' --entity_types=bad_types.tsv $splits
printf 'Anna\twoman\n' > bad_types.tsv
bad 'bad_types.tsv: names no entity of the graph.*"Anna"' --entity_types=bad_types.tsv $splits
bad '--entity_types has no effect with structures' --species=Ti,O --entity_types=types.tsv "$tio2"
printf '1\n0 9 0\n' > c.txt
bad 'c.txt:2: entity 9 is out of range, expected 0 .. 1' --entity_to_id=few.txt $relations --train=c.txt
printf '2\n0 1 0\n' > c.txt
bad 'c.txt: its first line counts 2 triples, but 1 lines follow' --entity_to_id=few.txt $relations --train=c.txt
: > empty.txt
bad 'empty.txt: no triple for the train split' --train=empty.txt
bad 'empty.txt: no triple for the valid split' --train="$kg/train.txt" --valid=empty.txt
bad 'the edge map has no' --edge_map=<(echo '{"{\"predicate\":\"x\"}":"y"}') --train="$kg/edges.jsonl"
bad '--edge_map_output=m: there are no KGX edges' --edge_map_output=m $splits
bad '--edge_map_output=m: the map is given' --edge_map_output=m --edge_map="$kg/edge_map.json" --train="$kg/edges.jsonl"
# Progress appears on a terminal only.
awk 'BEGIN { for (k = 0; k < 1500000; ++k) print "e" k % 50000 "\tr" k % 40 "\te" k * 7 % 49999 }' > large.txt
cat > on_terminal.py << 'PYTHON'
import os, pty, sys
os.environ["TERM"] = "xterm"
said = b""
def read(fd):
    global said
    data = os.read(fd, 4096)
    said += data
    return data
status = pty.spawn(sys.argv[2:], read)
open(sys.argv[1], "wb").write(said)
sys.exit(os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else status)
PYTHON
python3 on_terminal.py said "$featurize" --train=large.txt --output=large.safetensors > /dev/null ||
  fail "on a terminal: $(cat said)"
grep -aq 'featurize  [0-9][0-9]*  [0-9.]*/s  0:0' said || fail "no progress on a terminal: $(cat said)"
python3 on_terminal.py said "$featurize" --train=large.txt --progress=false --output=large.safetensors > /dev/null ||
  fail "on a terminal: $(cat said)"
grep -aq 'featurize  [0-9]' said && fail "progress that is not wanted: $(cat said)"
"$featurize" --train=large.txt --output=large.safetensors 2> said || fail "large: $(cat said)"
expect_no_line 'featurize  [0-9]' said
rm large.txt large.safetensors
# Flags of the other domain.
bad '--species has no effect with a knowledge graph' --species=Ti,O $splits
bad '--precision has no effect with a knowledge graph' --precision=fp64 one two three
bad '--threads has no effect with a knowledge graph' --threads=2 one two three
bad '--unseen has no effect with structures' --species=Ti,O --unseen=drop "$tio2"
bad '--entity_to_id has no effect with structures' --species=Ti,O --entity_to_id=x "$tio2"
# --output is needed.
expect_error 1 'needs --output' "$featurize" one two three
finish
