#!/usr/bin/env bash
# featurize of knowledge graphs as other programs write them: denied statements, qualifiers, headers, separators, ids,
# compressions, one file without a split, folders, and tests that training gives away.
set -uo pipefail
featurize=$PWD/$1
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
kg=$PWD/testdata/kg
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# makes PATTERN ARGUMENTS...: a graph, whose messages have the pattern.
makes() {
  local pattern=$1
  shift
  "$featurize" --output=out.safetensors "$@" 2> log || fail "$*: $(cat log)"
  expect_line "$pattern" log
}
# bad PATTERN ARGUMENTS...: one line that holds the pattern, exit status 1, no output.
bad() {
  makes_nothing out.safetensors "$1" "$featurize" --output=out.safetensors "${@:2}"
}

# A statement that is negated is no fact.
makes 'train: 2 negated statements, which are no facts, left out .*the first is .*negated.jsonl:2' \
  --train="$kg/negated.jsonl"
expect_line '3 entities, 1 relations .* train 2, valid 0, test 0; 2 lines left out' log
makes '4 entities, 2 relations .* train 4' --negated=relation --edge_map_output=map.json \
  --train="$kg/negated.jsonl"
expect_no_line 'negated statements' log
mv out.safetensors related.safetensors
makes '2 relations .* train 4' --edge_map=map.json --train="$kg/negated.jsonl"
$diff related.safetensors out.safetensors || fail "an edge map with negated differs"
bad 'negated.jsonl:2: a negated statement.*--negated=relation' --negated=refuse --train="$kg/negated.jsonl"
bad '--negated=relation beside --edge_map' --negated=relation --edge_map=map.json --train="$kg/negated.jsonl"
bad '--negated has no effect without KGX edges' --negated=refuse --train="$kg/train.txt"
bad '--negated=no: expected drop or relation or refuse' --negated=no --train="$kg/negated.jsonl"

# Qualifiers of all spellings tell relations apart.
makes 'told apart by qualified_predicate (1 value), qualified_object_direction (2 values); --qualifiers chooses' \
  --train="$kg/qualified_kg2.jsonl"
expect_line ' 2 relations' log
makes ' 2 relations' --train="$kg/qualified_trapi.jsonl"
makes 'warning: 3 edges have "qualified_predicate", which tells no relations apart.*qualified_kg2.jsonl:1' \
  --qualifiers=qualified_object_direction --train="$kg/qualified_kg2.jsonl"
expect_line ' 2 relations' log
makes ' 1 relations' --qualifiers=none --train="$kg/qualified_kg2.jsonl"
bad '--qualifiers has no effect without KGX edges' --qualifiers=none --train="$kg/train.txt"

# A first line that names columns, whatever its words, and quotes around all fields.
rows='a\tr\tb\nb\tr\tc\n'
for header in 'source\tmetaedge\ttarget' 'h\tr\tt' 'node1\trelation\tnode2' '# head\trelation\ttail' \
  'Kopf\tist\tSchwanz'; do
  # shellcheck disable=SC2059
  printf "$header\n$rows" > header.tsv
  bad 'header.tsv:1: .*names.* columns.*--header=yes' --train=header.tsv
  makes '3 entities, 1 relations .* train 2' --header=yes --train=header.tsv
  makes '5 entities, . relations .* train 3' --header=no --train=header.tsv
done
printf '"head"\t"relation"\t"tail"\n"a"\t"r"\t"b"\n' > quoted.tsv
bad 'quoted.tsv:1: names of columns' --train=quoted.tsv
makes 'quoted.tsv: fields in quotes, which are left out' --header=yes --train=quoted.tsv
$info out.safetensors > /dev/null || fail "info"
printf 'a\tr\tb\n' > plain.tsv
makes '2 entities' --train=plain.tsv
mv out.safetensors plain.safetensors
makes '2 entities' --header=yes --train=quoted.tsv
$diff plain.safetensors out.safetensors || fail "quotes became part of names"
bad '--header=maybe: expected auto or yes or no' --header=maybe --train=quoted.tsv

# Another order of columns is noticed.
printf 'Paris\tFrance\tcapital_of\nLyon\tFrance\tin\nNice\tFrance\tin\nRome\tItaly\tin\n' > htr.txt
makes 'warning: htr.txt: 2 relations, but 2 tails, and no tail is a head.*--columns=1,3,2' --train=htr.txt
makes '6 entities, 2 relations' --columns=1,3,2 --train=htr.txt
expect_no_line 'warning' log
printf 'a\tb\tr\nb\tc\tr\nc\td\ts\nd\ta\ts\n' > swapped.txt
bad 'swapped.txt: 4 relations, but 2 tails.*--columns=1,3,2' --train=swapped.txt

# Separators and columns: by content where that is sure, by flags, by KGX's titles.
printf 'a,r,b\n"b",r,c\n' > three.csv
makes 'three.csv: 3 fields with commas between' three.csv
makes '3 entities, 1 relations .* train 2' --train=three.csv
# shellcheck disable=SC2059
printf "$rows" > rows.tsv
makes 'train 2' rows.tsv
mv out.safetensors rows.safetensors
makes 'train 2' three.csv
$diff rows.safetensors out.safetensors || fail "commas differ from tabs"
printf 'a::r::b\nb::r::c\n' > odd.txt
makes 'odd.txt: 3 fields with "::" between' --separator=:: odd.txt
$diff rows.safetensors out.safetensors || fail "another separator differs"
printf '/a/1\t/r/IsA\t/c/en/a\t/c/en/b\t{"w":1}\n' > conceptnet.tsv
bad 'conceptnet.tsv:1: 5 fields in .*--columns=1,2,3' --train=conceptnet.tsv
makes 'head is column 3, relation column 2, tail column 4' --columns=3,2,4 --train=conceptnet.tsv
printf 'relation,display_relation,x_index,x_id,y_id\nprotein_protein,ppi,0,9796,56992\n' > primekg.csv
bad 'primekg.csv:1: 5 fields' --train=primekg.csv
makes 'head is x_id, relation relation, tail y_id' --columns=x_id,relation,y_id --train=primekg.csv
expect_line '2 entities, 1 relations' log
bad 'primekg.csv:1: no column "id".*x_id' --columns=id,relation,y_id --train=primekg.csv
# A name with a comma outside quotes: the titles tell the separator.
printf 'relation,x_id,x_name,y_id\nppi,1,a,2\n' > uneven.csv
makes 'uneven.csv: 4 fields with commas between; head is x_id' --columns=x_id,relation,y_id --train=uneven.csv
printf 'ppi,1,b, c,2\n' >> uneven.csv
bad 'uneven.csv:3: 5 fields' --columns=x_id,relation,y_id --train=uneven.csv
makes '4 fields with commas .*' --columns=x_id,relation,y_id --malformed=skip --train=uneven.csv
printf 'a\tr\tb\t0.93\nb\tr\tc\t0.2\n' > weighted.tsv
bad 'weighted.tsv:1: 4 fields in .*--columns=1,2,3' --train=weighted.tsv
makes 'train 2' --columns=1,2,3 --train=weighted.tsv
$diff rows.safetensors out.safetensors || fail "columns differ"
# A column of labels, 1 or 0 for a false triple, is no weight (OpenBioLink); negatives without the column have weight 1.
printf 'a\tr\tb\t1\nb\tr\tc\t1\n' > labeled.tsv
printf 'c\tr\ta\t0\nc\tr\tb\t0\n' > zero.tsv
bad 'zero.tsv: the weights of all 2 known-false triples are 0.*column 4.*--columns=1,2,3' --weight_column=4 \
  --negatives=zero.tsv --train=labeled.tsv
makes '2 triples are known to be false' --columns=1,2,3 --negatives=zero.tsv --train=labeled.tsv
expect_no_line 'weights of' log
cut -f 1-3 zero.tsv > unlabeled.tsv
makes 'unlabeled.tsv: has no column 4 of --weight_column: its triples have weight 1' --weight_column=4 \
  --negatives=unlabeled.tsv --train=labeled.tsv
expect_line 'weights of known-false triples: 1 to 1, mean 1$' log
printf 'c\tr\ta\t0.5\nc\tr\tb\t0\n' > some.tsv
makes 'weights of known-false triples: 0 to 0.5, mean 0.25; 1 of weight 0 are not learned' --weight_column=4 \
  --negatives=some.tsv --train=labeled.tsv
printf 'a,letter\nb,"letter, second"\nc,letter\n' > letters.csv
makes 'letters.csv: types, with commas between fields' --entity_types=letters.csv --train=rows.tsv
expect_line '2 types of 3 entities' log
printf 'a\tr\tb\t1\nb\tr\tc\t-1\n' > signed.tsv
makes 'warning: signed.tsv:2: column 4 holds 1 and -1 alone' --columns=1,2,3 --train=signed.tsv
makes 'edges.tsv: KGX edges as a table' "$kg/edges.tsv" "$kg/nodes.tsv"
mv out.safetensors table.safetensors
makes 'edges.jsonl: KGX edges' "$kg/edges.jsonl" "$kg/nodes.jsonl"
$diff table.safetensors out.safetensors || fail "edges.tsv differs from edges.jsonl"
printf '<http://x/a> <http://x/r> <http://x/b> .\n<http://x/a> <http://x/r> "a label"@en .\n' > s.nt
makes 'warning: train: 1 triples with a literal as tail, kept' s.nt
makes '2 entities.*1 lines left out' --literals=drop s.nt
bad 's.nt:2: the literal' --literals=refuse --train=s.nt
bad '--literals has no effect without N-Triples' --literals=drop --train=three.csv
bad '--columns has no effect on files that are no tables' --columns=1,2,3 --train=s.nt
bad '--columns=1,2: 2 columns' --columns=1,2 --train=three.csv
bad '--separator=: expected tab' --separator= three.csv
bad '--quotes=some: expected auto or csv or none' --quotes=some three.csv
printf '@prefix ex: <http://x/> .\n' > s.ttl
bad 's.ttl: is RDF as Turtle; .*rapper' --train=s.ttl

# LibKGE's and DGL-KE's ids.
printf '0\t0\t1\n2\t1\t1\n0\t1\t1\n' > train.del
printf '2\t1\t0\n' > valid.del
printf '0\tParis\n1\tFrance\n2\tLyon\n' > entity_ids.del
printf '0\tcapital_of\n1\tin\n' > relation_ids.del
makes 'train.del: ids of entities and relations' train.del valid.del entity_ids.del relation_ids.del
expect_line '3 entities, 2 relations .* train 3, valid 1' log
bad 'train.del:1: the entity "0" has no id in entity_ids.del' --triples_hold=names --train=train.del \
  --entity_to_id=entity_ids.del --relation_to_id=relation_ids.del
bad '--triples_hold=ids needs --entity_to_id' --triples_hold=ids --train=train.del

# Compressions that are not read give the command, and no bytes.
printf '\3757zXZ\0\0\4\346' > e.jsonl.xz
printf 'BZh91AY&SY\22\64' > e.jsonl.bz2
printf '\50\265\57\375\4\0' > e.jsonl.zst
for name in xz bz2 zst; do
  file=e.jsonl.$name
  case $name in xz) program=xz ;; bz2) program=bzip2 ;; zst) program=zstd ;; esac
  bad "$file: is compressed with $program, .*\"$program -dc $file > e.jsonl\"" --train=$file
  bad "\"$program -dc $file" $file
  bad "\"$program -dc $file" --species=Ti,O $file
done
expect_error 1 'standard input: is compressed with xz.*"xz -dc |"' \
  "$featurize" --output=out.safetensors --train=- < e.jsonl.xz

# One file becomes three splits: the same for the same seed, and written down.
awk 'BEGIN { for (k = 0; k < 400; ++k) print "e" k % 20 "\tr" k % 7 "\te" (k * 3 + int(k / 20)) % 23 }' > all.txt
makes 'split by relation with --seed=3: 40 triples to valid, 40 to test; every entity and relation is in training' \
  --split=0.8,0.1,0.1 --seed=3 all.txt
expect_line 'train 320, valid 40, test 40' log
expect_no_line 'no training triple' log
$info out.safetensors | grep -q 'split.*0.8, 0.1, 0.1.*seed.*3' || fail "no split in: $($info out.safetensors)"
cp out.safetensors split.safetensors
makes 'train 320' --split=0.8,0.1,0.1 --seed=3 all.txt
cmp split.safetensors out.safetensors || fail "a split is not repeated"
makes 'train 320' --split=0.8,0.1,0.1 --seed=4 all.txt
$diff split.safetensors out.safetensors > /dev/null && fail "the seed has no effect"
makes 'train 360, valid 0, test 40' --split=0.9,0,0.1 all.txt
for shares in 0.8 0.8,0.1,0.2 1,0,0 0.8,x,0.2 0.9,-0.1,0.2; do
  bad "--split=$shares: expected three shares" --split=$shares all.txt
done
bad '--split has a share for tests beside --test' --split=0.8,0.1,0.1 --train=all.txt --test=rows.tsv
bad '--seed has no effect without --split' --seed=1 --train=all.txt

# Tests that training gives away.
printf 'a\tr\tb\nb\tr\tc\nc\ts\ta\nd\tr\ta\nb\ts\td\n' > train.txt
printf 'b\tr_inv\ta\na\tq\tb\na\tr\tc\nd\tr\tb\n' > test.txt
makes 'warning: test: 2 of 4 triples (50 %) can be read off training.*"r_inv" as the inverse of "r"' \
  --train=train.txt --test=test.txt
expect_line '"q" as another name of "r"' log
makes 'test 2; 2 lines left out' --reversed=drop --train=train.txt --test=test.txt
bad 'test: 2 of 4 triples are in train, reversed' --reversed=refuse --train=train.txt --test=test.txt

# Folders tell splits where names do not.
mkdir -p folders/train folders/test
cp train.txt folders/train/triples.txt
cp test.txt folders/test/triples.txt
makes 'featurize: train folders/train/triples.txt, test folders/test/triples.txt' folders/*/triples.txt
cp train.txt folders/test/train.txt
bad 'folders/test/train.txt: its name says train, its folder test; give --train' folders/test/train.txt \
  folders/train/triples.txt
finish
