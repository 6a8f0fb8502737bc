#!/usr/bin/env bash
# Models of mace-torch in evaluate. open_potentials_test has what other programs say of them.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
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
"$evaluate" --max_energy_rmse=1 "$one" golden.xyz > /dev/null 2> err
[ $? = 2 ] || fail "energies of another model: $(cat err)"
succeeds "$evaluate" --check "$two" cell.xyz
succeeds "$evaluate" --check "$one,$two" cell.xyz
for threads in 1 2; do
  succeeds "$evaluate" --threads=$threads --output_xyz=of-$threads.xyz "$two" golden.xyz cell.xyz
done
cmp of-1.xyz of-2.xyz || fail "two threads compute something else"

# Without forces.
succeeds "$evaluate" --noforces --max_energy_rmse=1e-9 "$two" golden.xyz

# A model comes through a pipe, too.
succeeds "$evaluate" --max_energy_rmse=1e-9 --max_force_rmse=1e-12 <(cat "$two") golden.xyz
succeeds "$evaluate" --max_energy_rmse=1e-9 /dev/stdin golden.xyz < <(cat "$two")
mkfifo model.pipe
cat "$two" > model.pipe &
succeeds "$evaluate" --max_energy_rmse=1e-9 model.pipe golden.xyz
wait

# Radial functions as splines: the file records how far they are, predictions differ by little, forces are still
# derivatives.
succeeds "$evaluate" --splines_output=splines.safetensors "$two"
expect_line 'splines of [1-9][0-9]* knots, off by at most [0-9.]*e-[01]' log
succeeds "$evaluate" --max_energy_rmse=1e-4 --max_force_rmse=1e-6 --output_dir=splines splines.safetensors golden.xyz
grep -q "2 layers, F64, radial functions as splines of [1-9][0-9]* knots, off by" splines/report.html ||
  fail "no splines in the report"
succeeds "$evaluate" --check splines.safetensors cell.xyz
succeeds "$evaluate" --splines_output=coarse.safetensors --spline_knots=40 splines.safetensors
expect_text 'splines of 40 knots' log
"$evaluate" --max_energy_rmse=1e-9 coarse.safetensors golden.xyz > /dev/null 2> err
[ $? = 2 ] || fail "splines of 40 knots change nothing: $(cat err)"
succeeds "$evaluate" --max_energy_rmse=1 --max_force_rmse=0.01 coarse.safetensors golden.xyz
makes_nothing far.safetensors '3 knots.*--spline_knots' \
  "$evaluate" --splines_output=far.safetensors --spline_knots=3 "$two"
makes_nothing no.safetensors "$ours.*model of train" "$evaluate" --splines_output=no.safetensors "$ours"
makes_nothing no.safetensors 'one by one' "$evaluate" --splines_output=no.safetensors "$one,$two"
makes_nothing no.safetensors 'nothing else' "$evaluate" --splines_output=no.safetensors "$two" golden.xyz
makes_nothing no.safetensors 'check has no effect' "$evaluate" --splines_output=no.safetensors --check "$two"
refuses 'spline_knots has no effect without --splines_output' "$evaluate" --spline_knots=100 "$two" golden.xyz
refuses 'splines.safetensors' "$evaluate" --splines_output=splines.safetensors splines.safetensors
refuses 'spline_knots' "$evaluate" --splines_output=no.safetensors --spline_knots=1 "$two"

# What cannot be is refused by name.
refuses "$two.*one kind" "$evaluate" "$ours,$two" golden.xyz
refuses "export_aenet.*MACE" "$evaluate" --export_aenet=a "$two"
refuses "uncertainty.*MACE" "$evaluate" --uncertainty=u "$two" golden.xyz
refuses "farthest.*MACE" "$evaluate" --select=1 --select_by=farthest --select_output=s "$two" golden.xyz
refuses "outside.*training features" "$evaluate" --select=1 --select_by=outside --select_output=s "$two" golden.xyz
refuses "two-layers.*model" "$evaluate" "$two" "$two"
: > water.model
refuses "water.model.*rutile.import_mace" "$evaluate" water.model golden.xyz
for file in a s; do [ ! -e $file ] || fail "$file was written"; done
