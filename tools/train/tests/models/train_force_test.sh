#!/usr/bin/env bash
# train on forces and stresses: every kind of input and every cache gives the same run. Also sampling, committees, saved
# predictions, and one clear line for options that have no effect or are impossible.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

descriptor="--species=Ti,O --rad_cutoff=4 --rad_order=5 --ang_cutoff=3"
$featurize $descriptor --precision=fp64 --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
$cache $descriptor --output=n.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors"
$cache --cutoff=5 --output=wide.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors --cutoff"
$cache --cutoff=3.5 --output=short.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors --cutoff"

# run NAME FLAGS... INPUTS...: into the directory NAME. same: it has the parameters of the run `ref`, to rounding that
# training has amplified.
run() {
  local name=$1
  shift
  $train --hidden=6 --max_epochs=3 --precision=fp64 --test_fraction=0.1 --overwrite --output_dir="$name" "$@" \
    > "$name.tsv" 2> "$name.log" || fail "$name, $*: $(cat "$name.log")"
}
same() {
  run "$@"
  $diff --rtol=1e-7 --atol=1e-9 ref/last.safetensors "$1/last.safetensors" > differences ||
    fail "$*: $(cat differences)"
}

force="--force_weight=0.1 --force_fraction=0.3"
train=$checked run ref $force $descriptor "$tio2"
expect_line 'force_rmse\[eV/' ref.tsv
expect_line 'kept in memory' ref.log
same off $force $descriptor --cache_neighbors=false --cached_features=false "$tio2"
same workers $force $descriptor --cache_neighbors=false --num_workers=2 --threads=2 "$tio2"
same triplets $force $descriptor --angular=triplets "$tio2"
same cached_triplets $force $descriptor --angular=triplets --cache_triplets "$tio2"
same directory $force $descriptor --cache_dir=cache "$tio2"
same again $force $descriptor --cache_dir=cache --cached_features=false "$tio2"
[ "$(ls cache | wc -l)" = 1 ] || fail "cache: $(ls cache)"
same neighbors $force n.safetensors
same no_geometry $force --cache_geometry=false n.safetensors
cmp neighbors/last.safetensors no_geometry/last.safetensors ||
  $diff --rtol=0 --atol=0 neighbors/last.safetensors no_geometry/last.safetensors || fail "kept geometry changed bits"
same wide $force $descriptor wide.safetensors
same features $force f.safetensors
same both $force f.safetensors n.safetensors
same little $force $descriptor --cache_max_bytes=1000 "$tio2"
expect_line 'each epoch' little.log
# Standard input is inspected first, then read according to its kind.
same pipe $force $descriptor - < "$tio2"
same pipe_neighbors $force - < n.safetensors

# The same holds for several angular cutoffs.
near="--species=Ti,O --rad_cutoff=4 --rad_order=5 --ang_cutoff=3,2.2 --ang_order=3,2"
$cache $near --output=near.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors $near"
train=$checked run ref $force $near "$tio2"
expect_line '"ang_cutoff": "3,2.2"' ref/config.json
same near_off $force $near --cache_neighbors=false --cached_features=false "$tio2"
same near_anew $force --cache_geometry=false near.safetensors
same near_triplets $force --angular=triplets near.safetensors
same near_listed $force $near --angular=triplets --cache_triplets "$tio2"

# Energies alone can be learned from raw structures, with and without caching, and from features.
train=$checked run ref $descriptor "$tio2"
same energies_off $descriptor --cached_features=false "$tio2"
same energies_neighbors n.safetensors
same energies_features f.safetensors
same energies_workers --num_workers=2 f.safetensors
expect_line 'num_workers=0' energies_workers.log

# Other options.
for flags in "--force_weight=0.5 --loss=mse" "--force_weight=0.1 --loss=huber --huber_delta_force=0.3" \
  "--force_weight=1" "--force_weight=3 --energy_weight=1" "--stress_weight=5" \
  "--force_weight=0.1 --stress_weight=5 --precision=fp32" "$force --force_sampling=fixed" \
  "$force --force_sample_unit=atom --force_min_structures_per_epoch=40" \
  "$force --force_resample_num_epochs=2 --force_scale_unbiased" "--force_weight=0.1 --max_forces=5" \
  "--force_weight=0.1 --config_weights=rutile=2,*=0.5" "--force_weight=0.1 --compile_mode=none --max_steps=2"; do
  train=$checked run other $flags n.safetensors
done
run filtered --max_forces=5 n.safetensors
expect_line '88 of 403 structures are left out by --max_forces=5 (the largest components are [0-9.]* to' filtered.log

# Small displacements, as of phonons, leave few digits of some features in fp32: this is reported, and not taken for a
# wrong kernel. Equal structures vary by rounding only, which networks do not see.
rutile() {
  awk -v step="$1" 'BEGIN { for (k = -5; k <= 5; ++k) {
    printf "6\nLattice=\"4.6 0 0 0 4.6 0 0 0 2.96\" Properties=species:S:1:pos:R:3:forces:R:3 "
    printf "energy=%.6f\n", -50 + 1e-3 * k * k
    printf "Ti %.8f 0 0 0 0 0\nTi 2.3 2.3 1.48 0 0 0\nO 1.403 1.403 0 0 0 0\n", step * k
    print "O -1.403 -1.403 0 0 0 0\nO 3.703 0.897 1.48 0 0 0\nO 0.897 3.703 1.48 0 0 0" } }'
}
rutile 0.01 > displaced.extxyz
rutile 0 > equal.extxyz
for name in displaced equal; do
  train=$checked run $name --species=Ti,O --force_weight=0.3 --precision=fp32 $name.extxyz
done
expect_line 'warning: a feature varies by only .*e-0. of its size .* --precision=fp64' displaced.log
for element in Ti O; do
  expect_line "30 of 30 features do not vary over the training atoms of $element and are ignored" equal.log
done

# Sampled forces are a function of seed and epoch, so a resumed run equals the uninterrupted one.
run whole $force n.safetensors
run part $force --max_epochs=2 n.safetensors
succeeds $train --hidden=6 --max_epochs=3 --precision=fp64 --test_fraction=0.1 --resume --output_dir=part $force \
  n.safetensors
$diff whole/last.safetensors part/last.safetensors || fail "a resumed run differs"
for changed in '--loss=mse:loss is "mse", but the run to resume has "rmse"' \
  '--force_fraction=0.5:force_fraction is "0.5", but the run to resume has "0.3"'; do
  $train --hidden=6 --max_epochs=4 --precision=fp64 --test_fraction=0.1 --resume --output_dir=part $force \
    "${changed%%:*}" n.safetensors > /dev/null 2> log && fail "resumed with ${changed%%:*}"
  expect_text "${changed#*:}" log
done

# A committee consists of whole runs with their own seeds, the first of which equals a run without a committee.
run team --committee=2 --save_energies --save_forces n.safetensors
[ "$(cut -f 1 team.tsv | sort -u | tr '\n' ' ')" = "member member-00 member-01 " ] || fail "committee: $(cat team.tsv)"
run alone --save_energies n.safetensors
$diff alone/last.safetensors team/member-00/last.safetensors || fail "the first member is not the run alone"
$diff alone/last.safetensors team/member-01/last.safetensors > /dev/null && fail "members are the same"
for file in energies-train energies-validation energies-test forces-train; do
  [ -s team/member-01/$file.tsv ] || fail "no $file.tsv"
done
[ "$(wc -l < alone/energies-test.tsv)" = 41 ] || fail "energies-test.tsv has $(wc -l < alone/energies-test.tsv) lines"
[ ! -e alone/forces-test.tsv ] || fail "forces were not asked for"
cmp <(cut -f 1-6 alone/energies-test.tsv) <(cut -f 1-6 team/member-00/energies-test.tsv) || fail "saved energies differ"
[ "$(head -n 1 alone/energies-test.tsv | grep -c 'predicted_energy\[eV\]')" = 1 ] ||
  fail "no units in energies-test.tsv"

# Bad input.
sed 's/:forces:R:3//; s/ stress="[^"]*"//' "$tio2" |
  awk 'NF > 4 && /^[A-Z][a-z]* / { print $1, $2, $3, $4; next } { print }' > bare.extxyz
refuse() {
  local pattern=$1
  shift
  expect_error 1 "$pattern" $train --output_dir=bad --hidden=4 "$@"
}
refuse 'none of the .* has forces' $descriptor --force_weight=0.1 bare.extxyz
refuse 'has a stress' $descriptor --stress_weight=1 bare.extxyz
awk '/Lattice/ && ++n % 2 { sub(/pbc="T T T"/, "pbc=\"T T F\"") } { print }' "$tio2" > half.extxyz
$train $descriptor --hidden=4 --max_epochs=1 --stress_weight=1 --output_dir=half half.extxyz > log 2>&1 ||
  fail "slabs: $(cat log)"
expect_line 'the stress of 18[0-9] training structures does not count' log
refuse '3.5 Angstrom' $descriptor short.safetensors
$cache $descriptor --max_forces=5 --output=fewer.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors --max_forces"
refuse 'same structures' f.safetensors fewer.safetensors
refuse 'from 0 to 1' --force_weight=1.5 n.safetensors
refuse 'from 0 to 1' --force_weight=-0.1 n.safetensors
refuse 'force_fraction' --force_weight=0.1 --force_fraction=0 n.safetensors
refuse 'without --force_weight' --force_fraction=0.5 n.safetensors
refuse 'force_fraction=1' --force_weight=0.1 --force_sampling=fixed n.safetensors
refuse 'random or fixed' $force --force_sampling=often n.safetensors
refuse 'force_resample_num_epochs' $force --force_sampling=fixed --force_resample_num_epochs=2 n.safetensors
refuse 'huber' --huber_delta_force=1 --force_weight=0.1 n.safetensors
refuse 'cached_features' --cached_features f.safetensors
refuse 'cached_features' --cached_features --force_weight=0.1 n.safetensors
refuse 'cache_neighbors' --cache_neighbors --force_weight=0.1 n.safetensors
refuse 'cache_neighbors' --cache_neighbors f.safetensors
refuse 'angular=triplets' --cache_triplets --force_weight=0.1 n.safetensors
refuse 'cache_dir' --cache_dir=c f.safetensors
refuse 'cache_geometry' --cache_geometry f.safetensors
refuse 'cache_geometry' --cache_geometry --force_weight=0.1 --cache_neighbors=false $descriptor "$tio2"
train=$checked refuse 'cache_geometry' --cache_geometry --force_weight=0.1 --compile_mode=none n.safetensors
refuse 'cache_max_bytes' --cache_neighbors --cache_max_bytes=1000 --force_weight=0.1 $descriptor "$tio2"
refuse 'config_weights' --config_weights=rutile n.safetensors
refuse 'nothing' --config_weights=nothing=2 n.safetensors
refuse 'weight_key' --weight_key=w n.safetensors
refuse 'energy_key' --energy_key=E n.safetensors
refuse 'config_key' --config_key=origin n.safetensors
refuse 'rad_cutoff' --rad_cutoff=5 n.safetensors
refuse 'species' "$tio2"
refuse 'species' --species=Ti "$tio2"
refuse 'alone' $descriptor "$tio2" f.safetensors
refuse 'split_seed has no effect where neither' --split_seed=1 --validation_frames=ref/validation_frames.txt \
  n.safetensors
refuse 'split_seed has no effect' --split_seed=1 --validation_fraction=0 n.safetensors
refuse 'committee' --committee=0 n.safetensors
refuse 'no structure is left' $descriptor --max_forces=0 --max_energy=-1000 "$tio2"
expect_error 1 'holds a run' $train --committee=2 --output_dir=team n.safetensors

# Another kind of run in the directory is refused, and replaced if requested.
mkdir -p less && cp -r team/member-01 less/member-02
expect_error 1 'less/member-02 is left from a larger committee than --committee=2: give --overwrite' \
  $train --committee=2 --output_dir=less n.safetensors
expect_error 1 'less/member-02 is of a committee' $train --output_dir=less n.safetensors
expect_error 1 'force_weight' $train --committee=2 --overwrite --output_dir=less --force_weight=3 n.safetensors
expect_error 1 'same structures' $train --overwrite --output_dir=less f.safetensors fewer.safetensors
[ -s less/member-02/best.safetensors ] || fail "a run that could not start removed another"
shrunk() { # shrunk WHAT-IS-THERE FLAGS...
  local there=$1
  shift
  succeeds $train --hidden=4 --max_epochs=1 --overwrite --output_dir=less "$@" f.safetensors
  [ "$(cd less && ls -d member-* best.safetensors train_frames.txt checkpoints 2> /dev/null | tr '\n' ' ')" = \
    "$there " ] || fail "$*: $(ls less)"
}
shrunk 'member-00 member-01' --committee=2
shrunk 'best.safetensors checkpoints train_frames.txt'
cp less/flags.txt less/notes.txt
expect_error 1 'less holds a run of one model, which --committee=2' $train --committee=2 --output_dir=less f.safetensors
expect_error 1 'remove it first' $train --committee=2 --resume=auto --output_dir=less f.safetensors
shrunk 'member-00 member-01 member-02' --committee=3
shrunk 'member-00 member-01' --committee=2
[ -s less/notes.txt ] || fail "notes.txt is nobody's to remove"
[ ! -e bad ] || fail "a run that could not start left something: $(ls -R bad)"
finish
