#!/usr/bin/env bash
# train --zbl: labels lose the repulsion before anything is learned and predictions get it back, along every route; the
# radii are a part of the model, which evaluate, tracin, committees, --init_from and resumed runs know.
set -uo pipefail
checked="$PWD/tools/train/train"
train="$checked --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
tracin=$PWD/tools/tracin/tracin
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# Neighbors of Ti and O are 1.8 Angstrom and farther apart: the repulsion counts in every structure.
zbl="--zbl=1,2.4"
descriptor="--species=Ti,O --rad_cutoff=4 --rad_order=5 --ang_cutoff=3 --ang_order=2"
moments="--potential=many-body --species=Ti,O --cutoff=3.5 --radial_functions=4 --max_l=2"
small="--hidden=5 --precision=fp64 --test_fraction=0.8 --lr_scheduler=constant"
run() {
  local name=$1
  shift
  $train $small --output_dir="$name" "$@" > "$name.tsv" 2> "$name.log" || fail "$name, $*: $(cat "$name.log")"
}
same() {
  $diff --rtol=1e-7 --atol=1e-9 "$1/last.safetensors" "$2/last.safetensors" > differences ||
    fail "$1 and $2: $(cat differences)"
}
equal() {
  $diff --rtol=0 --atol=0 "$1/last.safetensors" "$2/last.safetensors" > differences ||
    fail "$1 and $2: $(cat differences)"
}

# Every route to the same neighbors gives the same run.
train=$checked run ref $descriptor $zbl --max_epochs=3 "$tio2"
expect_line 'repulsion.*from 1 to 2.4' ref.log
expect_line 'force_rmse\[eV/' ref.tsv
$cache --cutoff=4 --output=n.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors"
run neighbors $descriptor $zbl --max_epochs=3 n.safetensors
same ref neighbors
train=$checked run none $descriptor $zbl --max_epochs=3 --compile_mode=none "$tio2"
same ref none
run threads $descriptor $zbl --max_epochs=3 --threads=2 "$tio2"
equal ref threads
# Energies alone, from features, which have the positions beside them.
$featurize $descriptor --precision=fp64 --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
train=$checked run energies $descriptor $zbl --force_weight=0 --max_epochs=2 "$tio2"
run features $zbl --max_epochs=2 f.safetensors
same energies features
run bare $descriptor --max_epochs=3 "$tio2"
$diff --rtol=1e-7 --atol=1e-9 ref/last.safetensors bare/last.safetensors > differences &&
  fail "--zbl changes nothing"

# The file says so, in a kind that programs without a repulsion refuse.
$info ref/last.safetensors > info || fail "info"
expect_line 'potential/2' info
expect_line 'repulsion_outer' info
$info bare/last.safetensors > info || fail "info"
expect_line 'potential/1' info

# Predictions are whole: of text, neighbors and features, with finite differences of their own energy.
succeeds "$evaluate" --check ref/last.safetensors "$tio2"
for data in "$tio2" n.safetensors f.safetensors; do
  $evaluate --forces=false ref/last.safetensors "$data" > "whole.tsv" 2> log || fail "evaluate $data: $(cat log)"
  [ -e first.tsv ] || cp whole.tsv first.tsv
  diff first.tsv whole.tsv > lines || fail "evaluate $data: $(cat lines)"
done
$evaluate --output_dir=report ref/last.safetensors "$tio2" > report.tsv 2> log || fail "report: $(cat log)"
expect_line 'switched off from 1 to 2.4' report/report.html
# What training measured of its test set is what evaluate finds.
run saved $descriptor $zbl --max_epochs=2 --save_energies --save_forces "$tio2"
$evaluate --frames=saved/test_frames.txt --output_dir=again saved/best.safetensors "$tio2" > /dev/null 2> log ||
  fail "evaluate of the test set: $(cat log)"
cut -f 1-8 saved/energies-test.tsv > saved.tsv
cut -f 1-8 again/predictions.tsv | diff saved.tsv - > lines || fail "saved energies are not evaluate's: $(cat lines)"
cut -f 2-9 saved/forces-test.tsv > saved.tsv
cut -f 2-9 again/predictions_forces.tsv | diff saved.tsv - > lines || fail "saved forces: $(cat lines)"

# Two atoms nearer than any in the data are pushed apart.
printf '2\nProperties=species:S:1:pos:R:3 pbc="F F F"\nTi 0 0 0\nO 0.3 0 0\n' > dimer.xyz
$evaluate --output_xyz=squeezed.xyz ref/last.safetensors dimer.xyz > /dev/null 2> log || fail "dimer: $(cat log)"
python3 - << 'PYTHON' || fail "the squeezed dimer: $(cat squeezed.xyz)"
import re
lines = open("squeezed.xyz").read().split("\n")
energy = float(re.search(r"energy=(\S+)", lines[1]).group(1))
columns = re.search(r"Properties=(\S+)", lines[1]).group(1).split(":")
names, at = {}, 0
for i in range(0, len(columns), 3):
    names[columns[i]] = at
    at += int(columns[i + 2])
forces = [float(line.split()[names["forces"]]) for line in lines[2:4]]
assert energy > 1000, energy
assert forces[0] < -1000 and abs(forces[0] + forces[1]) < 1e-6 * abs(forces[0]), forces
PYTHON

# Stopped after an epoch, and gone on: to the bit. Other radii are another run.
run part $descriptor $zbl --max_epochs=1 "$tio2"
run part $descriptor $zbl --max_epochs=3 --resume "$tio2"
equal ref part
# Neither --override nor --init_from can do it, and neither is offered.
refuses 'zbl is "1,2", but the run to resume has "1,2.4"; .*networks learned what it left; give what the run had, or' \
  $train $small $descriptor --zbl=1,2 --max_epochs=4 --resume --output_dir=part "$tio2"
expect_no_line 'override' err
expect_line 'start a new run without it, as --init_from needs the same, too' err
refuses 'zbl' $train $small $descriptor --max_epochs=4 --resume --output_dir=part "$tio2"
refuses 'zbl' $train $small $descriptor $zbl --max_epochs=4 --resume --output_dir=bare "$tio2"
refuses 'zbl' $train $small $descriptor --zbl=1,2 --override=zbl --max_epochs=4 --resume --output_dir=part "$tio2"

# Fine-tuning starts from what the model learned, which is what its repulsion left.
$evaluate ref/last.safetensors "$tio2" > before.tsv 2> log || fail "evaluate: $(cat log)"
run moved $descriptor --max_epochs=1 --learning_rate=1e-30 --init_from=ref/last.safetensors --test_fraction=0.1 "$tio2"
$evaluate moved/last.safetensors "$tio2" > after.tsv 2> log || fail "evaluate: $(cat log)"
diff before.tsv after.tsv > lines || fail "--init_from changes predictions: $(cat lines)"
refuses '--zbl=1,2.4' $train $small $descriptor --zbl=auto --init_from=ref/last.safetensors --output_dir=x "$tio2"
refuses 'no repulsion' $train $small $descriptor $zbl --init_from=bare/last.safetensors --output_dir=x "$tio2"

# Committees, and influence, whose gradients are those of the labels that were learned.
run committee $descriptor $zbl --committee=2 --max_epochs=1 "$tio2"
$evaluate 'committee/member-*/best.safetensors' "$tio2" > committee.tsv 2> log || fail "committee: $(cat log)"
succeeds "$tracin" --verify=4 --train="$tio2" --test="$tio2" --test_indices=3 --top_k=2 \
  ref/checkpoints/*.safetensors

# Many-body potentials, with radii by element.
train=$checked run many $moments --channels=6 --zbl=auto --max_epochs=2 "$tio2"
expect_line 'repulsion.*Ti-Ti 1.28 to 2.56, Ti-O 0.904 to 1.808, O-O 0.528 to 1.056' many.log
run stopped $moments --channels=6 --zbl=auto --max_epochs=1 "$tio2"
run stopped $moments --channels=6 --zbl=auto --max_epochs=2 --resume "$tio2"
equal many stopped
succeeds "$evaluate" --check many/last.safetensors "$tio2"

refuses 'zbl=1,4.5.*cutoff of 4' $train $small $descriptor --zbl=1,4.5 --output_dir=x "$tio2"
refuses 'zbl.*auto' $train $small $descriptor --zbl=2,1 --output_dir=x "$tio2"
refuses '--zbl' $evaluate --export_aenet=e ref/last.safetensors
[ ! -e e ] || fail "a refused export left a directory"
finish
