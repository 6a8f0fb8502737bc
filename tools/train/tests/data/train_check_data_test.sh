#!/usr/bin/env bash
# train looks for mistakes in its structures before it learns from them, and says in which set they are.
set -uo pipefail
train="$PWD/tools/train/train --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
# frames FIRST LAST [AMOUNT]: of tio2-pbe from 0, with an amount added to the energy of the first.
frames() {
  awk -v first="$1" -v last="$2" -v amount="${3:-0}" '
    NR == 1 || left < 0 { left = $1; ++k; line = 0 }
    k - 1 >= first && k - 1 <= last {
      if (line == 1 && k - 1 == first && amount != 0) {
        match($0, / energy=[^ ]*/)
        $0 = substr($0, 1, RSTART) "energy=" substr($0, RSTART + 8, RLENGTH - 8) + amount substr($0, RSTART + RLENGTH)
      }
      print
    }
    { if (line > 0) --left; ++line }' "$tio2"
}
descriptor="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=4 --ang_order=2"
short="$descriptor --hidden=4 --max_epochs=1 --plot=false --threads=1 --overwrite --output_dir=run"

frames 0 19 > plain.xyz
[ "$(grep -c energy= plain.xyz)" = 20 ] || fail "frames: $(head -n 3 plain.xyz)"
succeeds $train $short plain.xyz
expect_no_line warning log

# Copies in two sets: of structures, of neighbors and of features. Within a set raw structures alone are named, as the
# tools that make files do that for these.
cat plain.xyz plain.xyz > twice.xyz
seq 30 39 > last
for data in twice.xyz n.safetensors f.safetensors; do
  case $data in
    n.safetensors) $cache $descriptor --output=$data twice.xyz 2> log ;;
    f.safetensors) $featurize $descriptor --output=$data twice.xyz 2> log ;;
  esac
  [ $data = twice.xyz ] || expect_line 'data check (duplicate): 20 of 40 structures repeat others exactly' log
  flags=$short
  [ $data = f.safetensors ] && flags="--hidden=4 --max_epochs=1 --plot=false --threads=1 --overwrite --output_dir=run"
  succeeds $train $flags --validation_frames=last $data
  expect_line 'data check (duplicate): .* twice.xyz#30 (validation) repeats twice.xyz#10 (training)' log
  case $data in
    twice.xyz) expect_line ' 20 of 40 structures repeat others .*; 10 of them are in another set' log ;;
    *) expect_line ' 10 of 40 structures repeat structures of another set' log ;;
  esac
  seq 0 9 > first
  seq 20 29 >> first
  succeeds $train $flags --validation_frames=first $data
  if [ $data = twice.xyz ]; then
    expect_line 'repeat others exactly.*unless they are to count more often' log
  else
    expect_no_line duplicate log
  fi
done

# A single wrong energy that would choose the best model, or that training would learn, whatever atomic energies are.
frames 40 59 1000 > off.xyz
cat plain.xyz off.xyz > data.xyz
seq 20 23 > four
seq 0 9 > first
succeeds $train $short --validation_frames=four data.xyz
expect_line 'data check (energy): data.xyz#20 (validation): its energy, .* eV per atom above' log
succeeds $train $short --validation_frames=four --atomic_energies=Ti=-5,O=-10 data.xyz
expect_line 'data check (energy): data.xyz#20 (validation)' log
succeeds $train $short --validation_frames=first data.xyz
expect_line 'data check (energy): data.xyz#20 (training)' log
# What a filter leaves out is not spoken of.
succeeds $train $short --validation_frames=first --max_energy=20 data.xyz
expect_no_line 'data check' log

# A run that goes on with the same structures, in the same sets, has heard it; one with others hears it.
resumed="$descriptor --hidden=4 --plot=false --threads=1 --lr_scheduler=constant --output_dir=resumed"
succeeds $train $resumed --max_epochs=1 --validation_frames=last twice.xyz
expect_line 'data check (duplicate)' log
mkdir moved && mv twice.xyz moved
succeeds $train $resumed --max_epochs=2 --resume --validation_frames=last moved/twice.xyz
expect_no_line 'data check' log
expect_no_line 'warning' log
cat moved/twice.xyz off.xyz > more.xyz
succeeds $train $resumed --max_epochs=3 --resume --override=data --validation_frames=last more.xyz
expect_line 'data check (duplicate)' log
expect_line 'data check (energy)' log

# Fractional coordinates.
awk 'BEGIN { for (k = 0; k < 6; ++k) {
  printf "2\nLattice=\"4 0 0 0 4 0 0 0 4\" Properties=species:S:1:pos:R:3 energy=%g\n", -10 - k / 100
  printf "Ti 0 0 0\nO 0.%d 0 0.5\n", k } }' > frac.xyz
succeeds $train $short frac.xyz
expect_line 'data check (distance): .* between 0 and 1 .* (training).* are these fractional coordinates' log

# Isolated atoms are known by the key of --config_key, also where they are learned: their energies are no outliers.
atom() {
  printf '1\nLattice="%s 0 0 0 %s 0 0 0 %s" Properties=species:S:1:pos:R:3 energy=%s %s=IsolatedAtom\nTi 0 0 0\n' \
    "$2" "$2" "$2" "$1" "$3"
}
for key in config_type group; do
  (frames 0 29 && atom -400 4 $key && atom -5 4.2 $key) > atoms.xyz
  succeeds $train $short --isolated_atoms=learn --config_key=$key --force_weight=0 atoms.xyz
  expect_no_line 'data check (energy)' log
done
succeeds $train $short --isolated_atoms=learn --force_weight=0 atoms.xyz
expect_line 'data check (energy): .*atoms.xyz#30' log
finish
