#!/usr/bin/env bash
# Sources of training data and the making of batches: preloaded files, sets of shards, batches of similar sizes. The
# numbers of a run change only where documented.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
$cache --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --output=n.safetensors "$tio2" 2> /dev/null ||
  fail "cache-neighbors"
energies="--hidden=8,8 --max_epochs=4 --batch_size=16 --seed=3"
forces="--hidden=6 --max_epochs=2 --force_weight=0.1"
$train $energies --output_dir=e f.safetensors > /dev/null 2>&1 || fail "energies"
$train $forces --output_dir=n n.safetensors > /dev/null 2>&1 || fail "forces"

# Preloading gives the same bits. Copies in shared memory are reused, and replaced when the file has changed.
shm=/dev/shm/rutile-$(id -u)
ways=ram
if [ -w /dev/shm ]; then
  ways="ram shm"
  mkdir -p -m 700 "$shm"
  ls -A "$shm" > before
fi
for way in $ways; do
  succeeds $checked $energies --preload=$way --output_dir=e-$way f.safetensors
  succeeds $checked $forces --preload=$way --output_dir=n-$way n.safetensors
  $diff e/last.safetensors e-$way/last.safetensors || fail "energies differ, $way"
  $diff n/last.safetensors n-$way/last.safetensors || fail "forces differ, $way"
done
new_copies() { ls -A "$shm" | grep -vxFf before; }
if [ "$ways" != ram ]; then
  expect_line "$shm" log
  [ "$(new_copies | wc -l)" = 2 ] || fail "copies of two files: $(new_copies)"
  $train $forces --preload=shm --output_dir=again n.safetensors > /dev/null 2>&1 || fail "a copy cannot be used again"
  [ "$(new_copies | wc -l)" = 2 ] || fail "copied again: $(new_copies)"
  touch n.safetensors
  $train $forces --preload=shm --overwrite --output_dir=again n.safetensors > /dev/null 2>&1 || fail "after touch"
  [ "$(new_copies | wc -l)" = 2 ] || fail "an old copy is left: $(new_copies)"
  new_copies | while read -r copy; do rm "$shm/$copy"; done
  [ -s before ] || rmdir "$shm"
fi
# Cached neighbors can be preloaded, too; structures have nothing to preload.
structures="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 $tio2"
$train $forces --cache_dir=kept --output_dir=k $structures > /dev/null 2>&1 || fail "cache_dir"
succeeds $train $forces --cache_dir=kept --preload=ram --output_dir=k-ram $structures
$diff k/last.safetensors k-ram/last.safetensors || fail "kept neighbors differ"
expect_error 1 'preload has no effect on structures' $train --preload=ram --output_dir=h $structures
expect_error 1 'none, ram, shm' $train --preload=disk --output_dir=h f.safetensors
cp n.safetensors huge.safetensors
if truncate -s 8T huge.safetensors 2> /dev/null; then
  expect_error 1 'needs 8796093022208 bytes' $train --preload=ram --output_dir=h huge.safetensors
fi
rm huge.safetensors

# Warnings about files come in the order of the files, whichever is read first, and a few stand for many.
mkdir two
for k in $(seq 7); do
  awk -v k="$k" 'BEGIN {
    frames = k == 1 ? 3000 : 2
    for (i = 0; i < frames; ++i) print "2\nenergy=-" k " REF_energy=-9\nO 0 0 0\nO 0 0 " 1 + i / 4000
  }' > two/$k.xyz
done
printf 'two/%d.xyz:2: REF_energy=-9, but energy=-%d\n' 1 1 2 2 3 3 4 4 5 5 > expected
for threads in 1 2; do
  succeeds $train --species=O --hidden=4 --max_epochs=1 --threads=$threads --output_dir=two-$threads two/?.xyz
  grep -o 'two/.*but energy=-[0-9]*' log | cmp - expected || fail "two energies with $threads threads: $(cat log)"
  expect_line 'there is more of this kind' log
done
# The same examples given twice would both train and validate.
ln -s f.safetensors f-link.safetensors
cp f.safetensors f-copy.safetensors
expect_error 1 'f.safetensors is given twice: what is trained on would also be validated; give it once' \
  $train --output_dir=h f.safetensors f.safetensors
expect_error 1 'f.safetensors and f-link.safetensors are one file' \
  $train --output_dir=h f.safetensors f-link.safetensors
[ ! -e h ] || fail "a run that was refused left something: $(ls -R h)"
succeeds $train --hidden=4 --max_epochs=1 --output_dir=copied f-copy.safetensors f.safetensors
expect_line 'data check (duplicate): .* repeat structures of another set' log
expect_no_line 'have the same content' log
count=$(grep -c Lattice "$tio2")
(seq 0 9 && seq "$count" $((count + 9))) > both
succeeds $train --hidden=4 --max_epochs=1 --validation_frames=both --output_dir=copies f-copy.safetensors f.safetensors
expect_no_line 'data check' log
expect_line 'warning: f-copy.safetensors and f.safetensors have the same content' log
rm f-link.safetensors f-copy.safetensors

# Shards form one set, complete and in order, however they are named; a missing one is reported.
mkdir shards
for i in 1 2 3; do
  $featurize --species=Ti,O --shard=$i/3 --output=shards/f.safetensors "$tio2" 2> /dev/null || fail "shard $i"
done
succeeds $train $energies --output_dir=s shards
succeeds $train $energies --output_dir=s-glob 'shards/f-*.safetensors'
succeeds $train $energies --output_dir=s-named shards/f-00001-of-00003.safetensors shards/f-00002-of-00003.safetensors \
  shards/f-00003-of-00003.safetensors
$diff s/last.safetensors s-glob/last.safetensors || fail "a glob is not the directory"
$diff s/last.safetensors s-named/last.safetensors || fail "names are not the directory"
[ "$(cat s/*_frames.txt | sort -n | uniq | wc -l)" = 403 ] || fail "shards are not the whole"
mv shards/f-00002-of-00003.safetensors second.safetensors
for inputs in shards 'shards/*' "shards/f-00001-of-00003.safetensors shards/f-00003-of-00003.safetensors"; do
  set -f
  expect_error 1 'f-00002-of-00003.safetensors is missing' $train --output_dir=h $inputs
  set +f
done
succeeds $train $energies --output_dir=s-one shards/f-00003-of-00003.safetensors
ls shards/* > list
succeeds $train $energies --output_dir=s-list list:list
cp second.safetensors shards/f-00002-of-00002.safetensors
expect_error 1 'two sets with one name' $train --output_dir=h shards

# Bucketed batches make a different run, which is the same for any threads and workers, and when resumed.
bucket="$energies --bucket_by_size --bucket_window=5"
succeeds $train $bucket --output_dir=b f.safetensors
expect_line '"bucket_window": 5' b/config.json
$diff b/last.safetensors e/last.safetensors > /dev/null && fail "buckets change nothing"
$train ${bucket/epochs=4/epochs=2} --output_dir=b-resumed f.safetensors > /dev/null 2>&1 || fail "first epochs"
succeeds $train $bucket --threads=1 --output_dir=b-resumed --resume f.safetensors
$diff b/last.safetensors b-resumed/last.safetensors || fail "a resumed run differs"
$train $forces --bucket_by_size --output_dir=b-n n.safetensors > /dev/null 2>&1 || fail "buckets of forces"
$train $forces --bucket_by_size --num_workers=2 --output_dir=b-workers n.safetensors > /dev/null 2>&1 || fail "workers"
$diff b-n/last.safetensors b-workers/last.safetensors || fail "workers change the batches"
succeeds $train $energies --bucket_by_size --sampling_policy=error_weighted --output_dir=b-weighted f.safetensors
refuses 'bucket_window is 5, but the run to resume has not set' $train $bucket --resume --output_dir=e f.safetensors
expect_error 1 'bucket_window has no effect without --bucket_by_size' \
  $train --bucket_window=5 --output_dir=h f.safetensors
expect_error 1 'bucket_window is 0, expected 1' $train --bucket_by_size --bucket_window=0 --output_dir=h f.safetensors
expect_error 1 'shuffle off' $train --bucket_by_size --noshuffle --output_dir=h f.safetensors
expect_error 1 'lbfgs' $train --bucket_by_size --optimizer=lbfgs --output_dir=h f.safetensors

# A structure of weight 0 changes no bit: not atomic energies, scales or anything computed from them.
head -n 800 "$tio2" > some.xyz
head -n "$(($(grep -n Lattice some.xyz | tail -n 1 | cut -d : -f 1) - 2))" some.xyz > whole.xyz
count=$(grep -c Lattice whole.xyz)
bad_frame() { # ENERGY: the first frame with another
  head -n $(($(head -n 1 whole.xyz) + 2)) whole.xyz |
    sed "s/energy=[^ ]*/energy=$1/; s/config_type=[^ ]*/config_type=bad/"
}
(cat whole.xyz && bad_frame 1000) > with.xyz
printf '%s\n' 0 1 2 > validation.txt
small="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --hidden=4 --max_epochs=2 --batch_size=16"
small+=" --validation_frames=validation.txt"
for flags in "" --force_weight=0.1; do
  rm -rf whole with
  succeeds $train $small $flags --output_dir=whole whole.xyz && mv stdout whole.tsv
  expect_no_line 'data check (energy)' log
  succeeds $train $small $flags --config_weights=bad=0 --output_dir=with with.xyz && mv stdout with.tsv
  expect_line '1 training structures have weight 0 and are left out' log
  expect_no_line 'data check (energy)' log
  $diff whole/last.safetensors with/last.safetensors || fail "a structure of weight 0 changes the run"
  cmp whole.tsv with.tsv || fail "a structure of weight 0 changes the errors"
  # The lists also name the files, which differ.
  cmp <(cut -d ' ' -f 1 whole/train_frames.txt) <(cut -d ' ' -f 1 with/train_frames.txt) ||
    fail "a structure of weight 0 is in the training set"
done
for type in anatase rutile columbite fluorite; do printf '%s=0,' $type; done > weights
expect_error 1 'every training structure has weight 0' \
  $train $small --output_dir=h --config_weights="$(cat weights)bad=1" --validation_frames=<(seq "$count" "$count") \
  with.xyz
# An outlier of weight 1 is reported by name, and is included in the errors, however large it is.
succeeds $train $small --output_dir=warned with.xyz
outlier="data check (energy): with.xyz#$count (training): its energy, 1000.0000 eV, is [0-9.]* eV per atom above"
expect_line "$outlier" log
succeeds $train $small --atomic_energies=Ti=-5,O=-5 --output_dir=given with.xyz
expect_line "$outlier" log
(bad_frame 1e100 && cat whole.xyz) > first.xyz
succeeds $train $small --output_dir=long first.xyz && mv stdout long.tsv
grep '^validation' long.tsv | grep -q '[0-9]e+10[0-9]' || fail "a long error: $(cat long.tsv)"
(cat whole.xyz && bad_frame 1e14) > far.xyz
succeeds $train $small --output_dir=far far.xyz
expect_line 'Ti [-0-9.]*e+[0-9]* eV' log
# If atomic energies fit the energies exactly, only rounding is left to learn, and it is not scaled up.
for _ in 1 2 3 4 5 6; do head -n $(($(head -n 1 whole.xyz) + 2)) whole.xyz; done > one.xyz
succeeds $train $small --force_weight=0.1 --output_dir=one one.xyz
expect_line 'energies per atom of the 3 training structures, less fitted atomic energies, are equal but for rounding' \
  log
succeeds $train $small --atomic_energies=Ti=-5,O=-5 --output_dir=one --overwrite one.xyz
expect_line 'structures, less atomic energies, are equal but for rounding' log
succeeds $train $small --noenergy_scaling --output_dir=one --overwrite one.xyz
expect_no_line 'equal but for rounding' log
# An energy too large for the loss is reported as an error of the data, not as a bug.
(cat whole.xyz && bad_frame 1e20) > huge.xyz
expect_error 1 "huge.xyz#$count: its energy, 1e+20 eV, is far from the atomic energies" \
  $train $small --output_dir=h huge.xyz
expect_error 1 "huge.xyz#$count: its energy, 1e+20 eV" $train $small --force_weight=0.1 --output_dir=h huge.xyz
succeeds $train $small --config_weights=bad=0 --overwrite --output_dir=with huge.xyz
$diff whole/last.safetensors with/last.safetensors > /dev/null && fail "forces or not is the same"

# Features that have no room twice are scaled while they are read, with the same bits.
succeeds $train $energies --cache_max_bytes=1000 --output_dir=read f.safetensors
expect_line 'more than the 1000 of --cache_max_bytes: they are scaled batch by batch' log
$diff e/last.safetensors read/last.safetensors || fail "scaling while reading changes the bits"

# A limit that leaves no room for LibTorch's buffers is a line that says so, and the version needs none.
if command -v prlimit > /dev/null; then
  [ "$(timeout 30 prlimit --data=100000000 $train --version)" = "$($train --version)" ] || fail "--version, a limit"
  refuses '100000000 bytes of memory of its own .*: allow more; --check_gradient=false trains without a check' \
    timeout 30 prlimit --data=100000000 $checked $energies --output_dir=limit f.safetensors
  [ -z "$(find limit -type f)" ] || fail "left: $(find limit -type f)"
  succeeds prlimit --data=100000000 $train $energies --output_dir=limit f.safetensors
fi

# A validation in which nothing counts is no measure: it would be 0, and the first epoch the best.
nothing="--validation_key=config_type:rutile --config_weights=rutile=0"
expect_error 1 'nothing in the validation set counts in the loss: none of its .* weight above 0' \
  $train $energies $nothing --output_dir=h f.safetensors
succeeds $train $energies $nothing --monitor=val_energy_rmse --output_dir=unweighted f.safetensors
expect_line '--energy_weight=1, but none of the .* validation structures has an energy and a weight above 0' log
expect_line 'best epoch .*, val_energy_rmse' log

# Shares are of the structures that no flag names: half of these validates, and half trains.
shares="--test_key=config_type:rutile --validation_fraction=0.5 --output_dir=shares"
succeeds $train $energies $shares --max_epochs=1 f.safetensors
structures() { grep -c '^[0-9]' "shares/$1_frames.txt"; }
more=$(($(structures train) - $(structures validation)))
[ "${more#-}" -le 1 ] ||
  fail "$(structures train) structures train, $(structures validation) validate, $(structures test) are the test"
[ "$(structures test)" -ge 2 ] || fail "the test has $(structures test) structures"
succeeds $train $energies $shares --max_epochs=2 --resume f.safetensors

[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
