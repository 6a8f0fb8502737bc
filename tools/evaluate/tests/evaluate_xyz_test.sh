#!/usr/bin/env bash
# evaluate --output_xyz: predictions beside references in a file that our tools and ASE read with equal numbers.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
# Small TiO2 cells of several config types, and a molecule, which has no cell and no labels.
awk 'left == 0 && frames++ == 30 { exit } left == 0 { left = $1 + 2 } { print; --left }' "$tio2" > s.extxyz
printf '3\na free comment\nO 0 0 0.1\nTi 1.9 0 0\nO -1.9 1e-7 0\n' > molecule.xyz

flags="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=1 --hidden=3 --max_epochs=2 --plot=false"
for seed in 1 2; do
  succeeds $train $flags --seed=$seed --output_dir=run$seed s.extxyz
done
model=run1/best.safetensors
committee=run1/best.safetensors,run2/best.safetensors

# Read back, the references count and not the predictions, so that the table of errors is the same.
succeeds $evaluate --output_xyz=one.extxyz $model s.extxyz && mv stdout one.tsv
expect_line 'evaluate: wrote one.extxyz: 30 structures' log
succeeds $evaluate $model one.extxyz && mv stdout again.tsv
cmp one.tsv again.tsv || fail "other errors when read back"
expect_no_line forces_spread one.extxyz
# Columns of atoms that it does not know are left out, and named; those that it writes anew are not.
succeeds $evaluate --output_xyz=two.extxyz $model one.extxyz
expect_no_line 'columns of atoms' log
sed 's/forces:R:3/&:tags:I:1:magmom:R:1/; s/^\( *[A-Z][a-z]* .*\)$/\1 7 0.5/' s.extxyz > tags.extxyz
succeeds $evaluate --output_xyz=two.extxyz $model tags.extxyz
expect_line 'two.extxyz: has no columns of atoms that evaluate does not know, .* tags.extxyz: tags, magmom$' log
# Forces under the key that the model records are read, so that they are there, under another name; others are not.
sed 's/forces:R:3/qm_&/' s.extxyz > named.extxyz
succeeds $train $flags --force_key=qm_forces --output_dir=qm named.extxyz
sed 's/forces:R:3/qm_&:DFT_forces:R:3/; s/^\( *[A-Z][a-z]* .*\)$/\1 1 2 3/' s.extxyz > qm.extxyz
succeeds $evaluate --output_xyz=qm-out.extxyz qm/best.safetensors qm.extxyz
expect_line 'qm-out.extxyz: has no columns .* qm.extxyz: DFT_forces$' log
cmp one.extxyz <(sed 's/tags.extxyz/s.extxyz/' two.extxyz) || fail "other columns change the predictions"
succeeds $evaluate $model s.extxyz
cmp one.tsv stdout || fail "--output_xyz changes the table"

# Positions, cell and references are the same numbers as before.
for name in s one; do
  succeeds $featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=1 --precision=fp64 \
    --output=$name.safetensors $name.extxyz
done
python3 - << 'PYTHON' || fail "features, positions or references differ"
import json, struct
def tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    meta = header.pop("__metadata__")
    return {k: data[8 + length:][slice(*v["data_offsets"])] for k, v in header.items()}, meta["config_types"]
s, one = tensors("s.safetensors"), tensors("one.safetensors")
assert s[1] == one[1], "config types"
assert s[0].keys() == one[0].keys() and {"position", "cell", "pbc", "energy", "force", "feature"} <= s[0].keys()
for name in s[0]:
    assert s[0][name] == one[0][name], name
PYTHON
# The other way round, the flags choose the predictions, which then are without error.
succeeds $evaluate --energy_key=energy --force_key=forces --stress_key=stress $model one.extxyz
awk -F'\t' '$1 == "all" && ($3 == "energy" || $3 == "force" || $3 == "stress") { n++; bad += $8 != 0 }
  END { exit !(n == 3 && bad == 0) }' stdout || fail "predictions read back have errors: $(cat stdout)"

# Files of neighbors and features hold the structures as well. (In fp32 the order of neighbors moves the last digits of
# predictions, which are not compared.)
facts() {
  grep -o ' config_type=[^ ]*\| structure_.*' "$1"
  awk '/^(Ti|O) / { print $1, $2, $3, $4, NF, $(NF - 2), $(NF - 1), $NF }' "$1"
}
succeeds $cache --cutoff=5 --output=n.safetensors s.extxyz
for file in n s; do
  succeeds $evaluate --output_xyz=of_$file.extxyz $model $file.safetensors
  cmp <(facts one.extxyz | sed 's/ index=[^ ]*//') <(facts of_$file.extxyz) || fail "from $file.safetensors"
  [ "$(facts of_$file.extxyz | grep -c structure_name)" = 30 ] || fail "frames from $file.safetensors"
done

# A committee, with numbers over all inputs, together with other outputs, for any number of threads.
seq 28 30 > frames.txt
for threads in 1 2; do
  succeeds $evaluate --threads=$threads --frames=frames.txt --output_dir=out --output_xyz=both$threads.extxyz \
    $committee s.extxyz molecule.xyz
done
cmp both1.extxyz both2.extxyz || fail "another file by two threads"
for number in 28 29 30; do
  name="\"s.extxyz#$number\""
  [ $number = 30 ] && name=molecule.xyz
  expect_line " structure_name=$name structure_number=$number\$" both1.extxyz
done
[ "$(grep -c structure_number both1.extxyz)" = 3 ] || fail "not three frames"
expect_line ':forces:R:3:energies:R:1:forces_spread:R:1:outside:I:1:REF_forces:R:3 energy=' both1.extxyz
expect_line 'outside:I:1 energy=.* energy_spread=[0-9.e-]* pbc="F F F" comment="a free comment"' both1.extxyz
succeeds $evaluate --forces=false --output_xyz=energies.extxyz $model s.extxyz
expect_line 'Properties=species:S:1:pos:R:3:energies:R:1:outside:I:1:REF_forces:R:3 energy=' energies.extxyz

# Nothing that another model, or another choice, said of a frame stays beside new energies.
sed 's/ energy_spread=/ select_rank=1 select_score=2 energy_std=0.5&/' both1.extxyz > stale.extxyz
expect_line ' select_rank=1 select_score=2 energy_std=0.5 energy_spread=' stale.extxyz
succeeds $evaluate --output_xyz=fresh.extxyz $model stale.extxyz
expect_no_line 'energy_spread\|energy_std\|select_' fresh.extxyz
succeeds $evaluate --select=2 --select_by=spread --select_output=chosen.extxyz $committee stale.extxyz
expect_line ' select_rank=2 ' chosen.extxyz
expect_no_line 'energy_spread\|energy_std\|select_rank=1 select_score=2 ' chosen.extxyz

# ASE gives the predictions by its calculator, and the rest as information and arrays.
if /usr/bin/python3 -c 'import ase' 2> /dev/null; then
  /usr/bin/python3 - << 'PYTHON' || fail "ASE reads other numbers"
import json, struct
import numpy as np
from ase.io import read
data = open("out/predictions.safetensors", "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
kinds = {"F64": "<f8", "I64": "<i8", "U8": "u1"}
t = {k: np.frombuffer(data[8 + length:][slice(*v["data_offsets"])], kinds[v["dtype"]]).reshape(v["shape"])
     for k, v in header.items() if k != "__metadata__"}
original = read("s.extxyz", index=":") + [read("molecule.xyz", format="extxyz")]
frames = read("both1.extxyz", index=":")
assert len(frames) == 3
for s, atoms in enumerate(frames):
    at, before = slice(*t["atom_offset"][s:s + 2]), original[28 + s]
    assert atoms.get_potential_energy() == t["predicted_energy"][s]
    assert (atoms.get_forces() == t["predicted_force"][at]).all()
    assert (atoms.calc.results["energies"] == t["predicted_atom_energy"][at]).all()
    assert atoms.info["energy_spread"] == t["energy_spread"][s]
    assert (atoms.arrays["forces_spread"] == t["force_spread"][at]).all()
    assert set(atoms.arrays["outside"]) <= {0, 1} and atoms.arrays["outside"].sum() == t["atoms_outside"][s]
    assert (atoms.numbers == before.numbers).all() and (atoms.positions == before.positions).all()
    assert (atoms.cell[:] == before.cell[:]).all() and (atoms.pbc == before.pbc).all()
    assert atoms.info["structure_number"] == 28 + s
    if s == 2:
        assert "REF_energy" not in atoms.info and "stress" not in atoms.calc.results
        continue
    assert (atoms.get_stress(voigt=False) == t["predicted_stress"][s]).all()
    assert atoms.info["REF_energy"] == before.get_potential_energy() == t["reference_energy"][s]
    assert (atoms.arrays["REF_forces"] == before.get_forces()).all()
    if "stress" in before.calc.results:
        assert (np.reshape(atoms.info["REF_stress"], (3, 3)) == before.get_stress(voigt=False)).all()
    assert atoms.info["config_type"] == before.info["config_type"]
PYTHON
else
  echo "skipped: /usr/bin/python3 has no ase"
fi

# Refused: no file is left, and none is lost.
succeeds $evaluate --output_dir=whole $model s.extxyz
makes_nothing no.extxyz 'predictions.safetensors: .*without positions.*--output_xyz' \
  $evaluate --output_xyz=no.extxyz $model whole/predictions.safetensors
makes_nothing no.extxyz 'output_xyz has no effect with --shard' \
  $evaluate --output_xyz=no.extxyz --shard=1/2 --output_dir=parts $model s.extxyz
makes_nothing no.extxyz 'output_xyz has no effect with --export_aenet' \
  $evaluate --output_xyz=no.extxyz --export_aenet=aenet $model
expect_error 1 'output_xyz=-: standard output' $evaluate --output_xyz=- $model s.extxyz
(cat s.extxyz && printf '2\n\nTi 0 0 0\n') > cut.extxyz
makes_nothing no.extxyz 'cut.extxyz:.* ends after 1 of the 2 atoms' $evaluate --output_xyz=no.extxyz $model cut.extxyz
expect_error 1 'none/no.extxyz' $evaluate --output_xyz=none/no.extxyz $model s.extxyz
cp s.extxyz kept.extxyz
for file in s.extxyz run2/best.safetensors frames.txt; do
  cp $file before
  expect_error 1 "output_xyz=$file: would take the place of" \
    $evaluate --frames=frames.txt --output_xyz=$file $committee s.extxyz
  cmp before $file || fail "$file was changed"
done
finish
