#!/usr/bin/env bash
# Isolated atoms, which train leaves out of its sets, have errors of their own beside those of all other structures.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
diff=$PWD/lib/tensorfile/diff
tracin=$PWD/tools/tracin/tracin
featurize=$PWD/tools/featurize/featurize
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
awk 'left == 0 && frames++ == 8 { exit } left == 0 { left = $1 + 2 } { print; --left }' "$tio2" > s.extxyz
# atom ELEMENT ENERGY CONFIG_TYPE
atom() {
  printf '1\nProperties=species:S:1:pos:R:3 energy=%s config_type=%s pbc="F F F"\n%s 0 0 0\n' "$2" "$3" "$1"
}
# One says what it is; the other has no neighbors.
(atom Ti -1600 IsolatedAtom && cat s.extxyz && atom O -430 some) > beside.extxyz
descriptor="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=1"
flags="$descriptor --hidden=3 --max_epochs=2 --plot=false"
succeeds $train $flags --output_dir=run beside.extxyz
expect_line '2 structures are isolated atoms and are left out' log
model=run/best.safetensors

# The table is that of the other structures, and has rows more.
succeeds $evaluate $model s.extxyz && mv stdout plain.tsv
expect_no_line 'isolated' log
succeeds $evaluate --output_dir=whole $model beside.extxyz && mv stdout beside.tsv
expect_line '2 structures are isolated atoms, and the model does not say .*: the errors of all do not' log
cmp <(grep -v '^isolated_atoms' beside.tsv) plain.tsv || fail "isolated atoms count: $(cat beside.tsv)"
expect_line "$(printf '^isolated_atoms\t\tenergy\tmeV/atom\t2\t')" beside.tsv
expect_text 'isolated atoms' whole/report.html
# A limit is on the errors of all, and so is what parts and saved predictions give.
rmse=$(awk -F'\t' '$1 == "all" && $3 == "energy" { print $6 + 0.001 }' plain.tsv)
succeeds $evaluate --max_energy_rmse="$rmse" $model beside.extxyz
for part in 1 2; do
  succeeds $evaluate --shard=$part/2 --output_dir=parts $model beside.extxyz
done
for files in parts/predictions-0000?-of-00002.safetensors whole/predictions.safetensors; do
  [ -e "$files" ] || fail "no $files"
done
succeeds $evaluate $model parts/predictions-0000[12]-of-00002.safetensors
cmp stdout beside.tsv || fail "parts: $(cat stdout)"
succeeds $evaluate $model whole/predictions.safetensors
cmp stdout beside.tsv || fail "saved predictions: $(cat stdout)"
succeeds $featurize $descriptor --output=f.safetensors beside.extxyz
succeeds $evaluate --forces=false $model f.safetensors
expect_line "$(printf '^isolated_atoms\t\tenergy\tmeV/atom\t2\t')" stdout

# Neither do they count in the scale of uncertainties.
curvature="$tracin --mode=curvature --term_weights=1,0.1 --train=s.extxyz --train_frames=all"
for tests in s beside; do
  succeeds $curvature --test=$tests.extxyz --output=$tests.safetensors $model
done
expect_line '2 of 10 structures of --test are isolated atoms, and the model does not say that it learned such' log
$diff s.safetensors beside.safetensors || fail "isolated atoms calibrate"
succeeds $evaluate --uncertainty=s.safetensors $model s.extxyz && grep 'within it' log > plain.log
succeeds $evaluate --uncertainty=s.safetensors $model beside.extxyz && grep 'within it' log > beside.log
cmp plain.log beside.log || fail "isolated atoms are calibrated: $(cat beside.log)"

# They count like all others where a model learned them, or nothing else is there.
succeeds $train $flags --isolated_atoms=learn --output_dir=learned beside.extxyz
succeeds $evaluate learned/best.safetensors beside.extxyz
expect_no_line 'isolated_atoms' stdout
expect_line "$(printf '^all\t\tenergy\tmeV/atom\t10\t')" stdout
(atom Ti -1600 IsolatedAtom && atom O -430 some) > alone.extxyz
succeeds $evaluate $model alone.extxyz
expect_no_line 'isolated_atoms' stdout
expect_line "$(printf '^all\t\tenergy\tmeV/atom\t2\t')" stdout
finish
