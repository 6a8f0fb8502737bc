#!/usr/bin/env bash
# Structures of one isolated atom, as in training files for GAP and MACE, give the atomic energies and are no examples.
set -uo pipefail
train="$PWD/tools/train/train --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
diff=$PWD/lib/tensorfile/diff
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# atom ELEMENT ENERGY [CONFIG_TYPE]
atom() {
  printf '1\nProperties=species:S:1:pos:R:3 energy=%s config_type=%s pbc="F F F"\n%s 0 0 0\n' "$2" "${3:-x}" "$1"
}
# molecules FIRST LAST: of TiO, TiO2 and Ti2O by turns, with distances that grow
molecules() {
  local k
  for k in $(seq "$1" "$2"); do
    case $((k % 3)) in
      0) printf '2\nProperties=species:S:1:pos:R:3 energy=-120.%s pbc="F F F"\nTi 0 0 0\nO 0 0 1.%s\n' "$k" "$k" ;;
      1) printf '3\nProperties=species:S:1:pos:R:3 energy=-141.%s pbc="F F F"\nTi 0 0 0\nO 0 0 1.%s\nO 0 1.6 0\n' \
        "$k" "$k" ;;
      2) printf '3\nProperties=species:S:1:pos:R:3 energy=-221.%s pbc="F F F"\nTi 0 0 0\nO 0 0 1.%s\nTi 0 2 0\n' \
        "$k" "$k" ;;
    esac
  done
}
molecules 50 69 > plain.xyz
(atom Ti -100 IsolatedAtom && atom O -20 && cat plain.xyz) > atoms.xyz
descriptor="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=4 --ang_order=2"
short="--hidden=4 --max_epochs=2 --batch_size=4 --overwrite"
all="$short --validation_fraction=0"
given=--atomic_energies=Ti=-100,O=-20

# The run is that of the other structures with these atomic energies, from structures, neighbors and features.
succeeds $train $descriptor $all $given --output_dir=plain plain.xyz
succeeds $train $descriptor $all --output_dir=auto atoms.xyz
expect_line '2 structures are isolated atoms and are left out and give the atomic energies: Ti -100 eV, O -20 eV' log
expect_line 'atomic energies Ti -100.0000 eV O -20.0000 eV' log
$diff plain/last.safetensors auto/last.safetensors || fail "isolated atoms change the run"
succeeds $cache $descriptor --output=n.safetensors atoms.xyz
succeeds $train $all --output_dir=neighbors n.safetensors
expect_line 'isolated atoms and are left out and give the atomic energies: Ti -100 eV, O -20 eV' log
$diff plain/last.safetensors neighbors/last.safetensors || fail "isolated atoms in a file of neighbors change the run"
succeeds $featurize $descriptor --output=f.safetensors atoms.xyz
succeeds $train $all --output_dir=features f.safetensors
expect_line 'isolated atoms and are left out and give the atomic energies: Ti -100 eV, O -20 eV' log

# Filters look at the other structures: -100 and -20 eV per atom are references. Of the molecules TiO2 has -47.
(atom Ti -100 IsolatedAtom && atom O -20 IsolatedAtom && cat plain.xyz) > named.xyz
succeeds $train $descriptor $all --max_energy=-50 --output_dir=filtered named.xyz
expect_line '[67] of 22 structures are left out by --max_energy=-50' log
expect_line 'isolated atoms and are left out and give the atomic energies: Ti -100 eV, O -20 eV' log
refuses "no structure is left but isolated atoms: 20 others are left out by --max_energy" \
  $train $descriptor $all --max_energy=-200 --output_dir=h named.xyz

# A set that a flag names, but that holds isolated atoms alone, judges nothing. Beside others they give no energies.
refuses '--validation_key=config_type:Isolated\*: no structure of it can be compared with: .* no isolated atoms' \
  $train $descriptor $short --validation_key='config_type:Isolated*' --output_dir=h atoms.xyz
echo 1 > atom.txt
refuses '--test_frames=atom.txt: no structure of it can be compared with' \
  $train $descriptor $all --test_frames=atom.txt --output_dir=h atoms.xyz
printf '1\n5\n' > atom.txt
succeeds $train $descriptor $all --test_frames=atom.txt --output_dir=held atoms.xyz
expect_line 'none is an atom of O with an energy: the atomic energies are fitted' log
[ "$(grep -c . held/test_frames.txt)" = 1 ] || fail "an isolated atom tests: $(cat held/test_frames.txt)"
# So does a key of groups that no frame has.
refuses '--config_key=nope: none of 22 structures has that key' \
  $train $descriptor $short --config_key=nope --output_dir=h atoms.xyz
succeeds $train $descriptor $all --average_best=2 --output_dir=mean atoms.xyz
expect_line "mean of the best [12] by their training loss, as there is no validation set -> mean/average" log

# They are drawn for no set.
succeeds $train $descriptor $short --validation_fraction=0.3 --test_fraction=0.3 --output_dir=sets atoms.xyz
cat sets/train_frames.txt sets/validation_frames.txt sets/test_frames.txt > frames
[ "$(grep -c . frames)" = 20 ] || fail "not 20 structures in the sets: $(cat frames)"

# Energies that are given count before theirs.
succeeds $train $descriptor $all --atomic_energies=Ti=-101,O=-21 --output_dir=given atoms.xyz
expect_line 'isolated atoms and are left out; the atomic energies are those of --atomic_energies, not theirs' log
expect_line 'atomic energies Ti -101.0000 eV O -21.0000 eV' log
succeeds $featurize $descriptor --atomic_energies=Ti=-102,O=-22 --output=e.safetensors atoms.xyz
succeeds $train $all --output_dir=recorded e.safetensors
expect_line 'the atomic energies are those recorded in the data, not theirs' log

# What has no atomic energies of its own keeps the fit.
succeeds $train $descriptor $all --isolated_atoms=ignore --output_dir=ignore atoms.xyz
expect_line '2 structures are isolated atoms and are left out$' log
expect_line 'atomic energies (fitted)' log
succeeds $train $descriptor $all --isolated_atoms=learn --output_dir=learn atoms.xyz
expect_no_line 'isolated' log
expect_line 'atomic energies (fitted)' log
(atom Ti -100 && cat plain.xyz) > half.xyz
succeeds $train $descriptor $all --output_dir=half half.xyz
expect_line 'warning: 1 structure is an isolated atom .* Ti -100 eV; none is an atom of O with an energy' log
expect_line 'atomic energies that are not given: O -2.* eV, fitted beside the others' log
expect_line 'atomic energies Ti -100.0000 eV O -2' log
(atom Ti -99.5 && cat atoms.xyz) > twice.xyz
succeeds $train $descriptor $all --output_dir=twice twice.xyz
expect_line 'warning: 2 isolated atoms of Ti have energies from -100 to -99.5 eV: the lowest is its atomic energy' log
succeeds $train $descriptor $all --config_weights=IsolatedAtom=0 --output_dir=weightless atoms.xyz
expect_line 'none is an atom of Ti with an energy: the atomic energies are fitted' log

# A set of isolated atoms alone is learned, and a flag without effect is refused.
(atom Ti -100 && atom O -20 && atom Ti -100.5) > alone.xyz
succeeds $train $descriptor $all --output_dir=alone alone.xyz
expect_no_line 'isolated' log
refuses '--isolated_atoms=auto has no effect: of 20 structures, none is an isolated atom beside larger structures' \
  $train $descriptor $all --isolated_atoms=auto --output_dir=h plain.xyz
refuses 'isolated_atoms' $train $descriptor $all --isolated_atoms=never --output_dir=h atoms.xyz

# A run is resumed with the same choice. One of an older build, which learned isolated atoms, says how.
more="--hidden=4 --batch_size=4 --validation_fraction=0 --max_epochs=3 --resume"
succeeds $train $descriptor $more --output_dir=auto atoms.xyz
refuses 'isolated_atoms' $train $descriptor $more --isolated_atoms=learn --output_dir=auto atoms.xyz
expect_text 'isolated_atoms is not set, but the run to resume has "auto"' err
refuses 'isolated_atoms' $train $descriptor $more --output_dir=learn atoms.xyz
expect_text 'isolated_atoms is "auto", but the run to resume has not set' err

# Data without isolated atoms leave the choice and the energies of the run as they are: more structures, as active
# learning brings them, need --override=data alone, and the advice names all that a run needs.
cp -r auto kept
molecules 50 75 > grown.xyz
refuses 'override=data to go on' $train $descriptor $more --output_dir=kept grown.xyz
expect_no_line 'atomic_energies is not set' err
succeeds $train $descriptor $more --override=data --output_dir=kept grown.xyz
expect_line 'atomic energies Ti -100.0000 eV O -20.0000 eV' log
cp -r auto same
succeeds $train $descriptor $more --override=data --isolated_atoms=auto --output_dir=same grown.xyz
$diff kept/last.safetensors same/last.safetensors || fail "the run's own --isolated_atoms changes it"
cp -r auto refit
refuses 'override=data,seed to go on' $train $descriptor $more --override=data --seed=7 --output_dir=refit grown.xyz
succeeds $train $descriptor $more --override=data,atomic_energies --output_dir=refit grown.xyz
expect_line 'atomic energies (fitted)' log
refuses 'override=data,atomic_energies to go on' $train $descriptor $more --override=data \
  --atomic_energies=Ti=-101,O=-21 --output_dir=refit grown.xyz
succeeds $train $descriptor ${more/epochs=3 --resume/epochs=2} --isolated_atoms=ignore --output_dir=ignored atoms.xyz
succeeds $train $descriptor $more --override=data --output_dir=ignored grown.xyz
expect_line 'atomic energies (fitted)' log
refuses '--isolated_atoms=learn has no effect' $train $descriptor $more --override=data --isolated_atoms=learn \
  --output_dir=ignored grown.xyz

[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
