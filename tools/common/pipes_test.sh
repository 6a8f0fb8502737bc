#!/usr/bin/env bash
# Standard input and output where they can be an input or an output, and a plain refusal where they cannot.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
evaluate=$PWD/tools/evaluate/evaluate
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
model=$PWD/testdata/compat/unreleased/energies/run/best.safetensors
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

# Standard output is no directory.
expect_error 1 'output_dir=-: standard output cannot be a directory' "$evaluate" --output_dir=- "$model" "$tio2"
expect_error 1 'check_dir=-: standard output cannot be a directory' \
  "$featurize" --check_data --check_dir=- --species=Ti,O "$tio2"
[ ! -e ./- ] || fail "a directory called -"
finish
