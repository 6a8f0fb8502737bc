#!/usr/bin/env bash
# cache-neighbors with knowledge graphs: known tails, neighborhoods, and one clear line for each kind of bad input.
set -uo pipefail
cache=$PWD/$1
featurize=$PWD/$2
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
kg=$PWD/testdata/kg
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --output=triples.safetensors "$kg/train.txt" "$kg/valid.txt" "$kg/test.txt" 2> /dev/null || fail "featurize"
$cache --output=known.safetensors triples.safetensors 2> log || fail "known tails: $(cat log)"
# 13 triples, in both directions.
expect_line 'cache-neighbors: [0-9]* (head, relation), 26 known tails' log
$info known.safetensors | grep -q 'kg.known/1' || fail "kind"
$info known.safetensors | grep -q 'triples_sha256' || fail "no hash"
$featurize --noinverse_relations --output=plain.safetensors "$kg/train.txt" 2> /dev/null ||
  fail "featurize, no inverses"
$cache --output=- plain.safetensors 2> log > piped.safetensors || fail "standard output: $(cat log)"
expect_line ' 9 known tails' log

# Nine hops reach everything: the same triples, without those that no training triple reaches.
printf '# who\nanna\n' > who.txt
$cache --hops=1 --entities=who.txt --output=one.safetensors triples.safetensors 2> log || fail "one hop: $(cat log)"
expect_line '4 of 8 entities (1 + 3 by hop), 4 relations; triples: train 6, valid 0, test 1' log
$cache --hops=9 --entities=who.txt --output=all.safetensors triples.safetensors 2> log || fail "all: $(cat log)"
expect_line '5 of 8 entities' log
$cache --output=known-one.safetensors one.safetensors 2> log || fail "known tails of a part: $(cat log)"

# Bad input: one line that holds the pattern, exit status 1, no output.
bad() {
  makes_nothing out.safetensors "$1" "$cache" --output=out.safetensors "${@:2}"
}
bad '--hops needs --entities' --hops=1 triples.safetensors
bad '--entities needs --hops' --entities=who.txt triples.safetensors
bad 'hops' --hops=-2 --entities=who.txt triples.safetensors
printf 'anna\nnobody\n' > unknown.txt
bad 'unknown.txt:2: the graph has no entity "nobody"' --hops=1 --entities=unknown.txt triples.safetensors
printf 'zoe\n' > alone.txt
bad 'no training triple joins the 1 entities' --hops=1 --entities=alone.txt triples.safetensors
bad 'expected one file of triples' triples.safetensors one.safetensors
bad '--cutoff has no effect with a knowledge graph' --cutoff=6 triples.safetensors
bad '--species has no effect with a knowledge graph' --species=Ti,O triples.safetensors
bad '--hops has no effect with structures' --cutoff=6 --hops=1 "$tio2"
head -c 900 triples.safetensors > cut.safetensors
bad 'cut.safetensors' cut.safetensors
finish
