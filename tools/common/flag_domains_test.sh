#!/usr/bin/env bash
# Each flag of each tool serves both kinds of data, or one of them and is refused on the other: none is ignored.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
evaluate=$PWD/tools/evaluate/evaluate
tracin=$PWD/tools/tracin/tracin
train=$PWD/tools/train/train
model=$PWD/lib/kge/model/untrained_model
compat=$PWD/testdata/compat/unreleased
structures=$PWD/testdata/compat/structures.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

printf 'a\tr\tb\nb\tr\tc\nc\tr\ta\nb\ts\ta\n' > t.txt
succeeds $featurize --output=t.safetensors t.txt
succeeds $model t.safetensors m.safetensors distmult dettmers 4 2 1 1-N

# defaults TOOL: --NAME=DEFAULT for each flag, under the heading that help gives it, after a colon.
defaults() {
  $1 --help=all | sed -n 's/^  \(--[a-z_0-9]*=.*\) ([a-z0-9]*)$/\1/p; s/^\([A-Z].*\)$/:\1/p' | tr -d '"' |
    awk '/^:/ { heading = $0; next } { print $0 heading }'
}
# is_refused ERR FLAG COMMAND...: the tool says, in the file ERR, that the flag is for the other kind of data.
is_refused() {
  "${@:3}" "$2" > /dev/null 2> "$1" < /dev/null
  grep -qE 'has no effect (with|on) (structures|triples|a knowledge graph|a knowledge-graph model|an interatomic)' "$1"
}
# sort_flags TOOL: the file structures then holds the flags that are accepted on structures alone, the file triples
# those on triples alone, and the file both the rest, each with its heading. Arrays on_structures and on_triples are the
# tool's arguments there; flags under the headings `shared` are left out.
sort_flags() {
  : > both; : > structures; : > triples
  local line flag name with domain refused_on_triples
  while read -r line; do
    [[ "${line##*:}" =~ ^($shared)$ ]] && continue
    flag=${line%:*} name=${line%%=*} name=${name#--} with= domain=
    # Without the other, it would be this that is missed.
    [ "$name" = output_per_triple ] && with=--json_output=x
    is_refused structures.err "$flag" "$1" $with "${on_structures[@]}" &
    is_refused triples.err "$flag" "$1" $with "${on_triples[@]}"
    refused_on_triples=$?
    wait $! && domain=triples
    if [ $refused_on_triples = 0 ]; then
      [ -z "$domain" ] || fail "$1: $flag is refused on all data"
      domain=structures
    fi
    if [ -n "$domain" ]; then echo "$name" >> $domain; else echo "$name:${line##*:}" >> both; fi
  done < <(defaults "$1")
  [ -s structures ] || fail "$1: no flag of structures"
  [ -s triples ] || fail "$1: no flag of triples"
}
# expect_both NAME...: these flags serve both kinds of data, and no others do.
expect_both() {
  diff <(printf '%s\n' "$@" | sort) <(sed 's/:.*//' both | sort) ||
    fail "which flags serve both: < is expected alone, > accepted alone"
}

shared=
on_structures=(--output=s.safetensors --species=Ti,O "$structures")
on_triples=(--output=o.safetensors t.txt)
sort_flags $featurize
expect_both flagfile output progress timing

on_structures=(--output=s.safetensors --cutoff=3 "$structures")
on_triples=(--output=o.safetensors t.safetensors)
sort_flags $cache
expect_both flagfile output timing

on_structures=("$compat/energies/run/best.safetensors" "$structures")
on_triples=(m.safetensors t.safetensors)
sort_flags $evaluate
expect_both flagfile mapped_memory output_dir progress shard threads timing train_log

potential=$compat/energies/run/best.safetensors
on_structures=(--learning_rate=1 --term_weights=1 --train="$structures" --test="$structures" --model="$potential"
  "$potential")
on_triples=(--learning_rate=1 --train=t.safetensors --test=t.txt m.safetensors)
sort_flags $tracin
for name in loss hops test_split edge_map csv_output json_output output_per_triple; do
  expect_line "^$name$" triples
done
for name in term_weights test_atom train_frames energy_key; do expect_line "^$name$" structures; done
for name in train test model mode output seed test_quantity threads plan_subsets kept lds judge retrain; do
  expect_line "^$name:" both
done

# Flags of the trainer, which knows no domain, and train takes a second to start.
shared='Learning rate|Averages of parameters|Limits and early stopping|Validation|Checkpoints and resuming|Profile'
# The directories hold a run: that is found out after refusals, and before anything is trained.
succeeds $train --max_epochs=1 --output_dir=s "$compat/features.safetensors"
succeeds $train --max_epochs=1 --output_dir=t t.safetensors
on_structures=(--output_dir=s "$compat/features.safetensors")
on_triples=(--output_dir=t t.safetensors)
sort_flags $train
for heading in Structures Data Descriptor Potential Loss Embeddings; do
  expect_no_line ":$heading" both
done
for name in kge_model embedding_dim kernel_width label_smoothing lazy_rows sync_batchnorm; do
  expect_line "^$name$" triples
done
for name in hidden loss force_fraction rad_cutoff validation_fraction bucket_by_size compile_preset save_forces; do
  expect_line "^$name$" structures
done
finish
