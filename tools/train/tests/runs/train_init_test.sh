#!/usr/bin/env bash
# What a run that starts from a model (--init_from) takes of it: the atomic energies, the descriptor, and a model for
# each member of a committee. Atomic energies that are given for some elements fix these alone.
set -uo pipefail
train=$PWD/tools/train/train
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# frame ENERGY ROW...: a molecule
frame() {
  local energy=$1
  shift
  printf '%d\nProperties=species:S:1:pos:R:3 energy=%s pbc="F F F"\n' $# "$energy"
  printf '%s\n' "$@"
}
# Ti has -100 eV and O -20 eV; they bind by some 4 eV per atom, less where distances are long. N would have -50 eV.
for k in $(seq 50 69); do
  frame -128.$k 'Ti 0 0 0' "O 0 0 1.$k"
  frame -152.$k 'Ti 0 0 0' "O 0 0 1.$k" 'O 0 1.6 0'
  frame -232.$k 'Ti 0 0 0' "O 0 0 1.$k" 'Ti 0 2 0'
done > oxides.xyz
for k in $(seq 50 69); do
  frame -206.$k 'Ti 0 0 0' "O 0 0 1.$k" 'O 0 1.6 0' 'N 1.6 0 0'
done > nitride.xyz
for k in $(seq 50 69); do
  frame -152.$k 'Ti 0 0 0' "O 0 0 1.$k" 'O 0 1.6 0'
done > compound.xyz
atoms() {
  while [ $# -gt 0 ]; do
    printf '1\nProperties=species:S:1:pos:R:3 energy=%s config_type=IsolatedAtom pbc="F F F"\n%s 0 0 0\n' "$2" "$1"
    shift 2
  done
}
layers="--hidden=4"
shape="--rad_cutoff=4 --ang_cutoff=3 --rad_order=4 --ang_order=2"
short="--validation_fraction=0.2 --batch_size=4 --plot=false --overwrite"
energies() { grep -o 'atomic energies Ti .*' log | head -1; }

# Only what is missing is fitted, beside what is given or what isolated atoms say.
succeeds $train --species=Ti,O $shape $layers $short --max_epochs=1 --atomic_energies=Ti=-100 \
  --validation_fraction=0 --output_dir=part compound.xyz
expect_line 'atomic energies that are not given: O -26.* eV, fitted beside the others$' log
expect_line 'atomic energies Ti -100.0000 eV O -26' log
expect_no_line 'do not determine' log
(atoms Ti -100 && cat compound.xyz) > half.xyz
succeeds $train --species=Ti,O $shape $layers $short --max_epochs=1 --validation_fraction=0 --output_dir=half half.xyz
expect_line 'warning: 1 structure is an isolated atom and is left out and gives the atomic energies: Ti -100 eV' log
$diff part/last.safetensors half/last.safetensors || fail "an isolated atom is no atomic energy"
succeeds $train --species=Ti,O $shape $layers $short --max_epochs=1 --output_dir=both --atomic_energies=O=-20 half.xyz
expect_line 'Ti -100 eV; others are of --atomic_energies' log
[ "$(energies)" = 'atomic energies Ti -100.0000 eV O -20.0000 eV' ] || fail "not both: $(energies)"
succeeds $train --species=Ti,O $shape $layers $short --max_epochs=1 --output_dir=none compound.xyz
expect_no_line 'do not determine' log
refuses '--max_energy=0 limits energies less the atomic energies, and --atomic_energies has none for O' \
  $train --species=Ti,O $shape --atomic_energies=Ti=-100 --max_energy=0 --output_dir=h compound.xyz
succeeds $featurize --species=Ti,O $shape --atomic_energies=Ti=-100 --output=part.safetensors compound.xyz
succeeds $train $layers $short --max_epochs=1 --output_dir=recorded part.safetensors
expect_line 'atomic energies Ti -100.0000 eV O -26' log

# The model's atomic energies are kept, although the compound alone does not determine them.
given=--atomic_energies=Ti=-100,O=-20
succeeds $train --species=Ti,O $shape $layers $short --max_epochs=20 $given --output_dir=base oxides.xyz
new="--init_from=base/best.safetensors $short"
succeeds $train --species=Ti,O $new --max_epochs=2 --output_dir=kept compound.xyz
expect_line 'atomic energies that are not given: Ti -100.0000 eV, of the model; O -20.0000 eV, of the model$' log
[ "$(energies)" = 'atomic energies Ti -100.0000 eV O -20.0000 eV' ] || fail "not the model's: $(energies)"
expect_no_line 'do not determine' log
expect_no_line 'have a zero' log
expect_line '"value": "O=-20.0,Ti=-100.0"' kept/config.json
# A new element gets what the others leave: 4 atoms bind by 4 eV each, so that N has -50 eV.
succeeds $train --species=Ti,O,N $new --max_epochs=1 --learning_rate=1e-30 --output_dir=added nitride.xyz
expect_line 'Ti -100.0000 eV, of the model; O -20.0000 eV, of the model; N -[45].* eV, fitted beside the others$' log
fitted=$(grep -o ' N -[0-9.]*' log | head -1)
awk -v e="${fitted# N }" 'BEGIN { exit !(e < -47 && e > -53) }' || fail "N has$fitted eV, expected about -50"
# Isolated atoms of the new element are better, and the model still has the others.
(atoms N -50 && cat nitride.xyz) > with_atom.xyz
succeeds $train --species=Ti,O,N $new --max_epochs=1 --output_dir=atom with_atom.xyz
expect_line 'N -50 eV; kept are those of Ti, O$' log
expect_no_line 'warning: 1 structure' log
[ "$(energies)" = 'atomic energies Ti -100.0000 eV O -20.0000 eV N -50.0000 eV' ] || fail "not all: $(energies)"
# Two new elements in one compound are told apart by nothing.
sed 's/^O 0 1.6 0/C 0 1.6 0/' nitride.xyz > two.xyz
succeeds $train --species=Ti,O,N,C $new --max_epochs=1 --output_dir=two two.xyz
expect_line 'warning: the compositions .* do not determine the atomic energies of N, C' log
# Energies that are given count first, and a warning tells what becomes of the networks.
succeeds $train --species=Ti,O $new --max_epochs=1 --atomic_energies=Ti=-400,O=-20 --check_gradient=false \
  --output_dir=other oxides.xyz
expect_line 'warning: .* a zero that is up to .* (atomic energies: Ti -400.0000 eV instead of -100.0000)' log

# A run that goes on keeps them, without the model, as does a run with other data.
succeeds $train --species=Ti,O,N $new --max_epochs=2 --lr_scheduler=constant --output_dir=stopped nitride.xyz
succeeds $train --species=Ti,O,N $new --max_epochs=4 --lr_scheduler=constant --output_dir=whole nitride.xyz
more="--hidden=4 --lr_scheduler=constant --validation_fraction=0.2 --batch_size=4 --plot=false --max_epochs=4 --resume"
succeeds $train --species=Ti,O,N $more --output_dir=stopped nitride.xyz
expect_line "atomic energies Ti -100.0000 eV O -20.0000 eV$fitted" log
$diff whole/last.safetensors stopped/last.safetensors || fail "a resumed run is another one"
sed 's/=-206/=-207/' nitride.xyz > lower.xyz
succeeds $train --species=Ti,O,N $more --max_epochs=5 --override=data --output_dir=stopped lower.xyz
expect_line "atomic energies Ti -100.0000 eV O -20.0000 eV$fitted" log
# So does one whose isolated atoms are missing from the new data.
(atoms Ti -100 O -20 && cat oxides.xyz) > all.xyz
succeeds $train --species=Ti,O $shape $layers $short --max_epochs=2 --lr_scheduler=constant --output_dir=lost all.xyz
succeeds $train --species=Ti,O $more $shape --override=data,isolated_atoms --output_dir=lost oxides.xyz
[ "$(energies)" = 'atomic energies Ti -100.0000 eV O -20.0000 eV' ] || fail "energies are lost: $(energies)"
expect_no_line 'atomic_energies' lost/flags.txt

# Structures get the descriptor of the model. A flag or a file that says otherwise is named.
expect_line '"rad_cutoff": {' kept/config.json
for flag in --rad_cutoff=5 --ang_order=3 --cutoff=4 --min_cutoff=0.6 --potential=many-body; do
  refuses "$flag.*: the model of --init_from has .*--rad_cutoff=4" \
    $train --species=Ti,O $new $flag --output_dir=h compound.xyz
done
succeeds $train --species=Ti,O $new --max_epochs=1 --rad_cutoff=4.0 --output_dir=same compound.xyz
goes_on="--init_from=base/best.safetensors --validation_fraction=0.2 --batch_size=4 --plot=false --resume=auto"
succeeds $train --species=Ti,O $goes_on --max_epochs=2 --rad_cutoff=4.0 --output_dir=same compound.xyz
expect_line 'goes on from' log
succeeds $featurize --species=Ti,O --rad_cutoff=5 --ang_cutoff=3 --rad_order=4 --ang_order=2 --output=f.safetensors \
  compound.xyz
refuses 'its descriptor has --rad_cutoff=4, that of the data --rad_cutoff=5; all but the species must be the same' \
  $train $new --output_dir=h f.safetensors

# A committee starts from one model, which is told, or from one for each member.
succeeds $train --species=Ti,O $new --max_epochs=1 --committee=2 --output_dir=one compound.xyz
expect_line 'warning: all 2 members start from the same networks, base/best.safetensors: their spread' log
succeeds $train --species=Ti,O $shape $layers $short --max_epochs=2 --committee=2 --output_dir=set oxides.xyz
succeeds $train --species=Ti,O $short --max_epochs=1 --committee=2 --init_from='set/member-*/best.safetensors' \
  --output_dir=each compound.xyz
expect_no_line 'start from the same networks' log
for m in 00 01; do
  expect_line "a new run starts from set/member-$m/best.safetensors: networks of Ti, O" log
  expect_line "set/member-$m/best.safetensors" each/member-$m/config.json
done
files=set/member-00/best.safetensors,set/member-01/best.safetensors
succeeds $train --species=Ti,O $short --max_epochs=1 --committee=2 --init_from=$files --output_dir=listed compound.xyz
for m in 00 01; do
  cmp each/member-$m/log.tsv listed/member-$m/log.tsv > /dev/null ||
    $diff each/member-$m/last.safetensors listed/member-$m/last.safetensors || fail "a glob is another list"
done
refuses 'expected one model, or one for each of 3 members, found 2' \
  $train --species=Ti,O $short --committee=3 --init_from=$files --output_dir=h compound.xyz
refuses 'expected one model, found 2' $train --species=Ti,O $short --init_from=$files --output_dir=h compound.xyz
refuses "no file has a name that fits nowhere" \
  $train --species=Ti,O $short --init_from='nowhere/*.safetensors' --output_dir=h compound.xyz
succeeds $train --species=Ti,O $shape --hidden=5 $short --max_epochs=1 --output_dir=wide oxides.xyz
refuses 'base/best.safetensors and wide/best.safetensors have other layers' $train --species=Ti,O $short --committee=2 \
  --init_from=base/best.safetensors,wide/best.safetensors --output_dir=h compound.xyz

[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
