#!/usr/bin/env bash
# Structures that have forces and no energy are learned from and compared with by their forces.
set -uo pipefail
train="$PWD/tools/train/train --threads=1 --plot=false --progress=false --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
tracin=$PWD/tools/tracin/tracin
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v a="$1" -v b="$2" '/^ *[0-9]+ *$/ { ++n } n > a && n <= b' "$tio2"; }
without() { sed 's/ energy=[^ ]*//'; }
frames 0 24 | without > forces.extxyz
(frames 0 24 && frames 24 32 | without) > mixed.extxyz
frames 40 44 > valid.extxyz
frames 40 44 | without > valid-forces.extxyz
model="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=2"
flags="--hidden=4 --max_epochs=4"
row() { awk -F '\t' -v set="$1" -v column="$2" '$1 == set { print $column }' "$3"; }

# Forces alone: nothing of the energies is learned, which is said.
succeeds $train $model $flags --force_weight=1 --output_dir=forces forces.extxyz
expect_line 'no training structure has an energy: forces and stresses alone are learned, so only differences' log
expect_no_line 'left out' log
case $(row validation 5 stdout) in '' | nan | 0) fail "no error of forces: $(cat stdout)" ;; esac
[ "$(row validation 3 stdout)" = nan ] || fail "an error of energies that are not there: $(cat stdout)"
[ "$(cat forces/*_frames.txt | wc -l)" = 24 ] || fail "structures are missing: $(cat forces/*_frames.txt)"
# Energies that change nothing in a loss of forces change nothing else: the first step's losses are the same.
frames 0 24 > whole.extxyz
succeeds $train $model $flags --force_weight=1 --noenergy_scaling --atomic_energies=Ti=0,O=0 --output_dir=whole \
  whole.extxyz
succeeds $train $model $flags --force_weight=1 --noenergy_scaling --atomic_energies=Ti=0,O=0 --output_dir=given \
  forces.extxyz
$diff whole/last.safetensors given/last.safetensors || fail "energies of weight 0 change the model"
# By default a term that is weighted and absent is named.
succeeds $train $model $flags --output_dir=default forces.extxyz
expect_line '--energy_weight=0.7, but none of the .* training structures has an energy' log
refuses 'no training structure has an energy, and forces, which they have, do not count: give --force_weight=1' \
  $train $model $flags --force_weight=0 --output_dir=h forces.extxyz

# In a mixed set all structures train; energies alone leave out those that have none.
succeeds $train $model $flags --force_weight=0.3 --validation_data=valid.extxyz --output_dir=mixed mixed.extxyz
expect_line 'warning: 8 of 32 training structures have no energy: their forces and stresses alone are learned' log
expect_line '32 structures train, 4 validate' log
succeeds $train $model $flags --force_weight=0 --validation_data=valid.extxyz --output_dir=energies mixed.extxyz
expect_line 'warning: 8 structures have no energy and are left out' log
expect_line '24 structures train, 4 validate' log
# Atomic energies are those of the structures that have energies.
succeeds $train $model $flags --force_weight=0.3 --validation_data=valid.extxyz --output_dir=some whole.extxyz
grep -o 'atomic energies (fitted).*' log > expected
succeeds $train $model $flags --force_weight=0.3 --validation_data=valid.extxyz --output_dir=mixed --overwrite \
  mixed.extxyz
grep -o 'atomic energies (fitted).*' log | cmp - expected || fail "atomic energies: $(cat log)"
# Validation structures without energies are compared by their forces, and the table says nan for the rest.
succeeds $train $model $flags --force_weight=0.3 --validation_data=valid-forces.extxyz --output_dir=judged mixed.extxyz
expect_line '32 structures train, 4 validate' log
[ "$(row validation 3 stdout)" = nan ] || fail "an error of energies that are not there: $(cat stdout)"
refuses 'monitor=val_energy_rmse: none of the 4 validation structures has an energy' \
  $train $model $flags --force_weight=0.3 --monitor=val_energy_rmse --validation_data=valid-forces.extxyz \
  --output_dir=h mixed.extxyz

# The table says how many structures each error is over, and a set whose errors are over a part is warned of.
(frames 40 41 | sed 's/:forces:R:3//; s/^\([A-Z][a-z]*  *[^ ]*  *[^ ]*  *[^ ]*\) .*/\1/' && frames 41 43 &&
  frames 43 44 | without) > parts.extxyz
succeeds $train $model $flags --force_weight=0.3 --validation_data=valid-forces.extxyz --test_data=parts.extxyz \
  --output_dir=parts mixed.extxyz
expect_line 'warning: 3 of 4 test structures have energies: errors of energies are over these alone' log
expect_line 'warning: 3 of 4 test structures have forces: errors of forces are over these alone' log
expect_no_line 'of 4 validation structures have' log
[ "$(head -n 1 stdout | tr '\t' '\n' | tail -n 2 | paste -sd ,)" = energies,forces ] || fail "columns: $(cat stdout)"
[ "$(awk -F '\t' '{ print $1 $(NF - 1) $NF }' stdout | tail -n 2 | paste -sd ,)" = validation04,test33 ] ||
  fail "counts: $(cat stdout)"
succeeds $evaluate --output_dir=report parts/best.safetensors parts.extxyz
expect_line 'warning: errors of the energy are over 3 of 4 structures ([0-9]* of [0-9]* atoms)' log
expect_line 'warning: errors of the forces are over 3 of 4 structures' log
awk -F '\t' '$1 == "all" && $3 == "force" { print $9 "/" $10 }' report/metrics.tsv | grep -qx 3/4 ||
  fail "structures of forces: $(cat report/metrics.tsv)"
expect_text 'errors of the forces are over 3 of 4 structures' report/report.html
expect_text '<td>3 of 4</td>' report/report.html
succeeds $evaluate parts/best.safetensors report/predictions.safetensors
expect_line 'warning: errors of the forces are over 3 of 4 structures' log
succeeds $evaluate parts/best.safetensors valid.extxyz
expect_no_line 'errors of' log

# The same bits with threads, in samples of the forces, and when resumed.
sampled="--force_weight=0.3 --force_fraction=0.5 --sampling_policy=error_weighted --lr_scheduler=constant --hidden=4"
succeeds $train $model $sampled --max_epochs=4 --validation_data=valid.extxyz --output_dir=s mixed.extxyz
succeeds $train $model $sampled --max_epochs=4 --validation_data=valid.extxyz --threads=2 --output_dir=s2 mixed.extxyz
$diff s/last.safetensors s2/last.safetensors || fail "two threads differ"
succeeds $train $model $sampled --max_epochs=2 --validation_data=valid.extxyz --output_dir=r mixed.extxyz
succeeds $train $model $sampled --max_epochs=4 --validation_data=valid.extxyz --output_dir=r --resume mixed.extxyz
$diff s/last.safetensors r/last.safetensors || fail "a resumed run differs"

# evaluate compares such frames by their forces alone.
succeeds $evaluate mixed/best.safetensors valid-forces.extxyz
expect_line '^[^	]*	*force' stdout
succeeds $evaluate mixed/best.safetensors valid.extxyz
# tracin's training data are all structures that the run learned from.
succeeds $tracin --train=mixed.extxyz,valid.extxyz --test=valid.extxyz --output=i.safetensors \
  mixed/checkpoints/last.safetensors
expect_no_line 'left out' log
[ ! -e h ] || fail "a run that was refused left something: $(ls -R h)"
finish
