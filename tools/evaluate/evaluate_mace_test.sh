#!/usr/bin/env bash
# Models of mace-torch in evaluate, and in the programs that refuse them.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
train=$PWD/tools/train/train
tracin=$PWD/tools/tracin/tracin
featurize=$PWD/tools/featurize/featurize
one=$PWD/testdata/mace/one-layer.safetensors two=$PWD/testdata/mace/two-layers.safetensors
ours=$PWD/testdata/md/tio2-many-body.safetensors
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# The atoms of testdata/mace/README.md with what mace-torch has for them, and the same in a cell.
write() {  # LATTICE
  cat << EOF
5
$1 Properties=species:S:1:pos:R:3:forces:R:3 energy=4.268724478540927
O 0 0 0 -3.9123929068454864 -4.553273692836399 -1.1058822149347765
H .96 0 .1 0.019247477397726254 0.8248919695795688 -1.660635355511333
H -.24 .93 0 -4.283067632733226 1.7863839908929755 -1.4572416928318694
O 1.9 1.2 .7 2.6117959188124695 9.008161227884088 -7.09669720586983
H 2.2 .5 1.5 5.564417143368516 -7.066163495520232 11.320456469147809
EOF
}
write 'pbc="F F F"' > golden.xyz
write 'Lattice="4.5 0 0 0.3 4.2 0 0 -0.2 4.1" pbc="T T T"' > cell.xyz

# Energies and forces are those of mace-torch, and their derivatives those of the energy.
succeeds "$evaluate" --max_energy_rmse=1e-9 --max_force_rmse=1e-12 --output_dir=report "$two" golden.xyz
grep -q "MACE of mace-torch, 4 channels, 2 layers, F64" report/report.html || fail "the report does not name the model"
expect_error 2 'max_energy_rmse' "$evaluate" --max_energy_rmse=1 "$one" golden.xyz
succeeds "$evaluate" --check "$two" cell.xyz
succeeds "$evaluate" --check "$one,$two" cell.xyz
for threads in 1 2; do
  succeeds "$evaluate" --threads=$threads --output_xyz=of-$threads.xyz "$two" golden.xyz cell.xyz
done
cmp of-1.xyz of-2.xyz || fail "two threads compute something else"

# Without forces, and from features of the same moments, which say nothing of the energy: positions do.
succeeds "$evaluate" --noforces --max_energy_rmse=1e-9 "$two" golden.xyz
succeeds "$featurize" --potential=many-body --species=H,O --cutoff=3 --radial_functions=4 --max_l=2 --min_cutoff=0 \
  --output=f.safetensors golden.xyz
succeeds "$evaluate" --noforces --max_energy_rmse=1e-9 "$two" f.safetensors

# What cannot be is refused by name.
refuses "$two.*one kind" "$evaluate" "$ours,$two" golden.xyz
refuses "export_aenet.*MACE" "$evaluate" --export_aenet=a "$two"
refuses "uncertainty.*MACE" "$evaluate" --uncertainty=u "$two" golden.xyz
refuses "farthest.*MACE" "$evaluate" --select=1 --select_by=farthest --select_output=s "$two" golden.xyz
refuses "outside.*training features" "$evaluate" --select=1 --select_by=outside --select_output=s "$two" golden.xyz
refuses "init_from.*MACE" "$train" --init_from="$two" --output_dir=run golden.xyz
refuses "two-layers.*MACE" "$tracin" --train=golden.xyz --test=golden.xyz --learning_rate=1 --output=t "$two"
refuses "two-layers.*model" "$evaluate" "$two" "$two"
: > water.model
refuses "water.model.*rutile.import_mace" "$evaluate" water.model golden.xyz
for file in a run s t; do [ ! -e $file ] || fail "$file was written"; done
