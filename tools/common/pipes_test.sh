#!/usr/bin/env bash
# Standard input and output where they can be an input or an output, and a plain refusal where they cannot.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
evaluate=$PWD/tools/evaluate/evaluate
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
testdata=$PWD/testdata/compat/unreleased
model=$testdata/energies/run/best.safetensors
untrained=$PWD/lib/kge/model/untrained_model
diff=$PWD/lib/tensorfile/diff
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# A list of names comes through a pipe once, however often a tool looks at its arguments.
flags="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3"
succeeds "$featurize" $flags --output=listed.safetensors list:- < <(echo "$tio2")
expect_line '403 structures' log
succeeds "$cache" $flags --output=neighbors.safetensors list:- < <(echo "$tio2")
expect_line '403 structures' log
succeeds "$evaluate" "$model" list:- < <(echo "$tio2")

# An empty pipe is named as such.
empty='standard input: is empty'
makes_nothing f.safetensors "$empty" "$featurize" $flags --output=f.safetensors - < /dev/null
makes_nothing n.safetensors "$empty" "$cache" $flags --output=n.safetensors - < /dev/null
expect_error 1 "$empty" "$evaluate" "$model" - < /dev/null
expect_error 1 'standard input: an empty list' "$featurize" $flags --output=f.safetensors list:- < /dev/null

# Tensor files come through pipes, too, and say the same. A pipe is looked into without taking its first bytes.
features=$testdata/features.safetensors
neighbors=$testdata/neighbors.safetensors
succeeds "$evaluate" "$model" "$features"
mv stdout expected
succeeds "$evaluate" "$model" - < "$features"
cmp expected stdout || fail "features from standard input"
succeeds "$evaluate" "$model" - < <(cat "$features")
cmp expected stdout || fail "features from a pipe"
succeeds "$evaluate" "$model" <(head -c 3 "$features"; sleep 0.1; tail -c +4 "$features")
cmp expected stdout || fail "features from a slow pipe"
succeeds "$evaluate" "$model" - < <(cat "$tio2")
mv stdout expected
succeeds "$evaluate" "$model" "$tio2"
cmp expected stdout || fail "structures from a pipe"
succeeds "$featurize" --output=from-file.safetensors "$neighbors"
succeeds "$featurize" --output=from-pipe.safetensors - < <(cat "$neighbors")
"$diff" from-file.safetensors from-pipe.safetensors || fail "features of neighbors from a pipe"

# So do triples.
printf 'a\tr\tb\nb\tr\tc\nc\tr\ta\nb\ts\ta\n' > t.txt
printf 'c\ts\tb\n' > test.txt
succeeds "$featurize" --train=t.txt --test=test.txt --output=t.safetensors
succeeds "$untrained" t.safetensors m.safetensors distmult dettmers 4 2 1 1-N
succeeds "$evaluate" m.safetensors t.safetensors
mv stdout expected
succeeds "$evaluate" m.safetensors - < <(cat t.safetensors)
cmp expected stdout || fail "triples from standard input"
succeeds "$evaluate" m.safetensors <(cat t.safetensors)
cmp expected stdout || fail "triples from a pipe"
succeeds "$cache" --output=known.safetensors t.safetensors
succeeds "$cache" --output=piped.safetensors - < <(cat t.safetensors)
"$diff" known.safetensors piped.safetensors || fail "known tails of triples from a pipe"

# Standard output is no directory.
expect_error 1 'output_dir=-: standard output cannot be a directory' "$evaluate" --output_dir=- "$model" "$tio2"
expect_error 1 'check_dir=-: standard output cannot be a directory' \
  "$featurize" --check_data --check_dir=- --species=Ti,O "$tio2"
[ ! -e ./- ] || fail "a directory called -"
finish
