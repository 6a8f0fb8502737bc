#!/usr/bin/env bash
# train --potential=many-body: every kind of input gives the same run, a resumed run is the uninterrupted one, evaluate
# and tracin take its models, and one clear line refuses what these potentials do not have.
set -uo pipefail
checked="$PWD/tools/train/train"
train="$checked --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
tracin=$PWD/tools/tracin/tracin
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

moments="--potential=many-body --species=Ti,O --cutoff=3.5 --radial_functions=4 --max_l=2"
small="--precision=fp64 --test_fraction=0.8 --lr_scheduler=constant"
run() {
  local name=$1
  shift
  $train --channels=6 --hidden=5 $small --output_dir="$name" "$@" > "$name.tsv" 2> "$name.log" ||
    fail "$name, $*: $(cat "$name.log")"
}
same() {
  run "$@" --max_epochs=3
  $diff --rtol=1e-7 --atol=1e-9 ref/last.safetensors "$1/last.safetensors" > differences ||
    fail "$*: $(cat differences)"
}
equal() {
  $diff --rtol=0 --atol=0 "$1" "$2" > differences || fail "$1 and $2: $(cat differences)"
}

train=$checked run ref $moments --max_epochs=3 "$tio2"
expect_line 'force_rmse\[eV/' ref.tsv

# Other routes to the same neighbors.
$cache $moments --output=n.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors"
same neighbors n.safetensors
$cache --cutoff=5 --output=wide.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors --cutoff"
same wide $moments wide.safetensors
train=$checked same none $moments --compile_mode=none "$tio2"
same anew $moments --cache_neighbors=false "$tio2"
run threads $moments --max_epochs=3 --threads=2 "$tio2"
equal ref/last.safetensors threads/last.safetensors

# Neighbors of the kind, without a force: the file says which potential learns them.
awk '/Properties/ { sub(/:forces:R:3/, ""); print; next } NF > 4 { print $1, $2, $3, $4; next } { print }' "$tio2" \
  > energies.extxyz
$cache $moments --output=e.safetensors energies.extxyz 2> log || fail "cache-neighbors: $(cat log)"
run unforced --max_epochs=1 e.safetensors
expect_line 'many-body' unforced/config.json

# Stopped after an epoch, and gone on.
run part $moments --max_epochs=1 "$tio2"
run part $moments --max_epochs=3 --resume "$tio2"
equal ref/last.safetensors part/last.safetensors
refuses 'made for another model' \
  $train --channels=7 --hidden=5 $small $moments --max_epochs=4 --resume --output_dir=part "$tio2"

# Its scales move with other data; its predictions do not.
$evaluate ref/last.safetensors "$tio2" > before.tsv 2> log ||
  fail "evaluate: $(cat log)"
expect_line 'force' before.tsv
run moved $moments --max_epochs=1 --learning_rate=1e-30 --init_from=ref/last.safetensors --test_fraction=0.1 "$tio2"
$evaluate moved/last.safetensors "$tio2" > after.tsv 2> log || fail "evaluate: $(cat log)"
diff before.tsv after.tsv > lines || fail "--init_from changes predictions: $(cat lines)"
# Nor do those of its elements if a new one comes between them.
for length in 1.6 1.7 1.8 1.9 2.0 2.1; do
  printf '2\nProperties=species:S:1:pos:R:3:forces:R:3 energy=-1600 pbc="F F F"\nTi 0 0 0 0 0 1\nH 0 0 %s 0 0 -1\n' \
    $length
done > hydrides.extxyz
cat "$tio2" hydrides.extxyz > more.extxyz
more="${moments/Ti,O/Ti,H,O} --max_epochs=1 --learning_rate=1e-30"
run more $more --init_from=ref/last.safetensors more.extxyz
$evaluate more/last.safetensors "$tio2" > after.tsv 2> log || fail "evaluate of more elements: $(cat log)"
diff before.tsv after.tsv > lines || fail "--init_from with one more element changes predictions: $(cat lines)"

# Two layers: the same routes, threads, resumed runs, transfers and committees.
two="$moments --messages=3"
train=$checked run two $two --max_epochs=2 "$tio2"
run two_threads $two --max_epochs=2 --threads=2 "$tio2"
equal two/last.safetensors two_threads/last.safetensors
run two_neighbors --messages=3 --max_epochs=2 n.safetensors
$diff --rtol=1e-7 --atol=1e-9 two/last.safetensors two_neighbors/last.safetensors > differences ||
  fail "two layers from neighbors: $(cat differences)"
train=$checked run two_none $two --max_epochs=2 --compile_mode=none "$tio2"
$diff --rtol=1e-7 --atol=1e-9 two/last.safetensors two_none/last.safetensors > differences ||
  fail "two layers by LibTorch: $(cat differences)"
run two_part $two --max_epochs=1 "$tio2"
run two_part $two --max_epochs=2 --resume "$tio2"
equal two/last.safetensors two_part/last.safetensors
refuses 'made for another model' \
  $train --channels=6 --hidden=5 $small $moments --messages=2 --max_epochs=3 --resume --output_dir=two_part "$tio2"
$evaluate two/last.safetensors "$tio2" > before.tsv 2> log || fail "evaluate of two layers: $(cat log)"
expect_line 'force' before.tsv
run two_moved $two --max_epochs=1 --learning_rate=1e-30 --init_from=two/last.safetensors --test_fraction=0.1 "$tio2"
$evaluate two_moved/last.safetensors "$tio2" > after.tsv 2> log || fail "evaluate of two layers: $(cat log)"
diff before.tsv after.tsv > lines || fail "--init_from changes predictions of two layers: $(cat lines)"
train=$checked run two_energies $two --max_epochs=1 --force_weight=0 "$tio2"
train=$checked run two_stress $two --max_epochs=1 --stress_weight=1 "$tio2"
succeeds $tracin --train="$tio2" --test="$tio2" --test_indices=3 --top_k=2 --output=two.influence \
  two/checkpoints/*.safetensors

# With vectors among the messages.
vectors="$two --vector_messages=2"
train=$checked run vectors $vectors --max_epochs=2 "$tio2"
expect_line '"vector_messages": "2"' vectors/config.json
run vectors_threads $vectors --max_epochs=2 --threads=2 "$tio2"
equal vectors/last.safetensors vectors_threads/last.safetensors
train=$checked run vectors_none $vectors --max_epochs=2 --compile_mode=none "$tio2"
$diff --rtol=1e-7 --atol=1e-9 vectors/last.safetensors vectors_none/last.safetensors > differences ||
  fail "vectors by LibTorch: $(cat differences)"
run vectors_part $vectors --max_epochs=1 "$tio2"
run vectors_part $vectors --max_epochs=2 --resume "$tio2"
equal vectors/last.safetensors vectors_part/last.safetensors
refuses 'made for another model' \
  $train --channels=6 --hidden=5 $small $two --vector_messages=1 --max_epochs=3 --resume \
  --output_dir=vectors_part "$tio2"
$evaluate vectors/last.safetensors "$tio2" > before.tsv 2> log || fail "evaluate of vectors: $(cat log)"
run vectors_moved $two --max_epochs=1 --learning_rate=1e-30 --init_from=vectors/last.safetensors --test_fraction=0.1 \
  "$tio2"
$evaluate vectors_moved/last.safetensors "$tio2" > after.tsv 2> log || fail "evaluate of vectors: $(cat log)"
diff before.tsv after.tsv > lines || fail "--init_from changes predictions with vectors: $(cat lines)"
run vectors_more $more --messages=3 --vector_messages=2 --init_from=vectors/last.safetensors more.extxyz
$evaluate vectors_more/last.safetensors "$tio2" > after.tsv 2> log || fail "evaluate of more elements: $(cat log)"
diff before.tsv after.tsv > lines || fail "--init_from with one more element changes vectors: $(cat lines)"
run vectors_stress $vectors --max_epochs=1 --stress_weight=1 "$tio2"
succeeds $tracin --train="$tio2" --test="$tio2" --test_indices=3 --top_k=2 --output=vectors.influence \
  vectors/checkpoints/*.safetensors
refuses 'vector_messages=2' $train $two --init_from=vectors/last.safetensors --vector_messages=3 --output_dir=x "$tio2"
refuses 'vector_messages=4.*0 to 3' $train $two --vector_messages=4 --output_dir=x "$tio2"
refuses 'messages=0' $train $moments --vector_messages=4 --output_dir=x "$tio2"
refuses 'max_l=0' $train --potential=many-body --species=Ti,O --messages=3 --vector_messages=2 --max_l=0 \
  --output_dir=x "$tio2"

# --potential=auto: many-body for structures with forces, for 200 epochs; what goes on from a run keeps its kind.
awk 'NF == 1 { ++n } n > 20 { exit } { print }' "$tio2" > few.extxyz
sed -E 's/:forces:R:3//; s/^([A-Z][a-z]?( +[-0-9.]+){3}).*/\1/' few.extxyz > bare.extxyz
auto() { $train --species=Ti,O "$@" > out 2> log || fail "$*: $(cat log)"; }
kind() {
  local found
  found=$(python3 - "$2/config.json" << 'PYTHON'
import json, sys
flags = json.load(open(sys.argv[1]))["flags"]
print(flags["potential"]["value"], flags["max_epochs"]["value"])
PYTHON
  )
  [ "$found" = "$1" ] || fail "$2: $found, expected $1"
}
auto --max_steps=3 --output_dir=by_forces few.extxyz
expect_line 'learns a many-body potential.*--potential=chebyshev' log
kind 'many-body 1000' by_forces
expect_line '^--potential=many-body' by_forces/flags.txt
auto --max_steps=5 --resume --output_dir=by_forces few.extxyz
kind 'many-body 1000' by_forces
# Neither a session's time nor what early stopping waits for says how long a run is.
auto --channels=2 --max_l=1 --cutoff=3 --max_time=1h --patience=1000 --min_epochs=30 --output_dir=asked few.extxyz
kind 'many-body 200' asked
expect_line '^--max_epochs=200' asked/flags.txt
auto --channels=2 --max_l=1 --cutoff=3 --resume --output_dir=asked few.extxyz
kind 'many-body 200' asked
refuses 'made for another model' \
  $train --species=Ti,O --potential=chebyshev --resume --output_dir=asked few.extxyz
expect_no_line 'default_epochs' err
auto --potential=auto --max_epochs=1 --output_dir=said bare.extxyz
expect_line '^--potential=chebyshev' said/flags.txt
expect_no_line '^--potential=auto' said/flags.txt
auto --max_epochs=1 --hidden=4 --output_dir=sized few.extxyz
expect_line 'Chebyshev features, as --hidden is given.*--potential=many-body' log
auto --max_epochs=1 --validation_data=few.extxyz --output_dir=in_vain bare.extxyz
expect_line 'learns a potential on Chebyshev features: some structures have forces, but .*--potential=many-body' log
expect_no_line 'learns a many-body' log
kind 'chebyshev 1' in_vain
auto --max_epochs=1 --test_data=few.extxyz --output_dir=in_vain --overwrite bare.extxyz
kind 'chebyshev 1' in_vain
$evaluate in_vain/best.safetensors few.extxyz > out 2> log || fail "a potential that was chosen anew: $(cat log)"
# The bits are those of the run that was told so, and the epochs those of such runs.
auto --max_epochs=1 --potential=chebyshev --test_data=few.extxyz --output_dir=told bare.extxyz
$diff in_vain/last.safetensors told/last.safetensors || fail "not the run that it says"
auto --max_time=1s --validation_data=few.extxyz --output_dir=in_vain --overwrite bare.extxyz
kind 'chebyshev 1000' in_vain
# Given weights of forces change nothing where the training set has none, forces in it do.
auto --max_epochs=1 --validation_data=few.extxyz --stress_weight=0.1 --output_dir=in_vain --overwrite bare.extxyz
kind 'chebyshev 1' in_vain
auto --max_steps=1 --validation_data=bare.extxyz --force_weight=0.1 --output_dir=some --overwrite few.extxyz
kind 'many-body 1000' some
auto --max_epochs=1 --output_dir=bare bare.extxyz
kind 'chebyshev 1' bare
auto --max_epochs=1 --force_weight=0 --output_dir=energies few.extxyz
kind 'chebyshev 1' energies
auto --max_epochs=1 --output_dir=goes_on --potential=chebyshev --keep_every_epochs=1 few.extxyz
auto --max_epochs=2 --output_dir=goes_on --keep_every_epochs=1 --resume few.extxyz
kind 'chebyshev 2' goes_on
refuses 'the run to resume has --species=Ti,O$' $train --resume --output_dir=goes_on few.extxyz
refuses 'the model of --init_from has --species=Ti,O$' \
  $train --init_from=goes_on/best.safetensors --output_dir=x few.extxyz
# A numbered checkpoint is the run's, too, where no other is whole.
cp -r goes_on damaged
rm -f damaged/recovery/previous.safetensors
head -c 300 goes_on/checkpoints/last.safetensors > damaged/checkpoints/last.safetensors
auto --max_epochs=3 --output_dir=damaged --resume=auto few.extxyz
kind 'chebyshev 3' damaged
auto --max_epochs=1 --init_from=goes_on/best.safetensors --output_dir=tuned few.extxyz
kind 'chebyshev 1' tuned
auto --max_epochs=1 --channels=2 --output_dir=goes_on_too few.extxyz
auto --max_epochs=2 --channels=2 --output_dir=goes_on_too --resume few.extxyz
kind 'many-body 2' goes_on_too
auto --max_epochs=1 --init_from=goes_on_too/best.safetensors --output_dir=tuned_too few.extxyz
kind 'many-body 1' tuned_too
refuses 'max-autotune.*--potential=chebyshev' \
  $train --species=Ti,O --compile_preset=max-autotune --output_dir=x few.extxyz
refuses 'triplets.*--potential=chebyshev' $train --species=Ti,O --angular=triplets --output_dir=x few.extxyz

# A committee, and influence.
run committee $moments --committee=2 --max_epochs=1 "$tio2"
$evaluate 'committee/member-*/best.safetensors' "$tio2" > committee.tsv 2> log || fail "committee: $(cat log)"
$tracin --train="$tio2" --test="$tio2" --test_indices=3 --top_k=2 ref/checkpoints/*.safetensors \
  > influence.tsv 2> log ||
  fail "tracin: $(cat log)"

refuses 'no features to keep' $featurize $moments --output=f.safetensors "$tio2"
refuses '--cutoff is a flag of --potential=many-body' \
  $train --potential=chebyshev --species=Ti,O --cutoff=4 --output_dir=x "$tio2"
refuses '--rad_cutoff is a flag of --potential=chebyshev' $train $moments --rad_cutoff=4 --output_dir=x "$tio2"
for flag in channels messages vector_messages; do
  refuses "--$flag.*chebyshev" $train --species=Ti,O --rad_cutoff=4 --$flag=4 --output_dir=x "$tio2"
done
refuses 'aenet has no' $train $moments --preset=aenet --output_dir=x "$tio2"
refuses '--compile_mode=script' $train $moments --compile_mode=script --output_dir=x "$tio2"
refuses '--angular=triplets' $train $moments --angular=triplets --output_dir=x "$tio2"
refuses '--max_l=5' $train --potential=many-body --species=Ti,O --max_l=5 --output_dir=x "$tio2"
refuses 'aenet has no many-body' $evaluate --export_aenet=e ref/last.safetensors
finish
