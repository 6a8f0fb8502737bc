#!/usr/bin/env bash
# A model knows by which names the labels of its training data were read, and evaluate reads those of other structures
# likewise.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
train="$PWD/tools/train/train --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --hidden=4 --threads=1 --plot=false
  --progress=false --validation_fraction=0 --max_epochs=1 --check_gradient=false"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# Each frame has energies and forces under the usual names and, with other values, under names of its own.
awk '/^ *[0-9]+ *$/ { ++n } n > 12 { exit } { print }' "$tio2" |
  awk 'NF == 1 { print; next }
       /Lattice/ { sub(/forces:R:3/, "forces:R:3:F:R:3"); print $0 " E=" (-40 - NR / 1000); next }
       { print $0, $5 + 0.1, $6, $7 }' > both.extxyz
sed 's/ energy=/ note=/; s/:forces:R:3:F:R:3/:x:R:3:F:R:3/' both.extxyz > own.extxyz
sed 's/ E=/ note=/; s/:F:R:3/:x:R:3/' both.extxyz > usual.extxyz
keys="--energy_key=E --force_key=F"
succeeds $train $keys --force_weight=0.1 --output_dir=run both.extxyz
model=run/best.safetensors

# What is read by default is what is read by the run's flags, beside the model and away from it.
mkdir away && cp $model away/m.safetensors
succeeds $evaluate $keys $model both.extxyz && mv stdout asked.tsv
succeeds $evaluate $model both.extxyz && mv stdout taken.tsv
cmp asked.tsv taken.tsv || fail "other labels than those of the run: $(cat asked.tsv taken.tsv)"
expect_text 'by --energy_key=E --force_key=F, where a frame has them' log
expect_line 'both.extxyz:2: E=.*, but energy=.*; the former is used' log
expect_line 'F=.*, but forces=.*; the former is used' log
succeeds $evaluate away/m.safetensors own.extxyz && mv stdout own.tsv
cmp asked.tsv own.tsv || fail "other labels in a file without the usual names"
# Flags win, one by one.
succeeds $evaluate --energy_key=energy --force_key=forces $model both.extxyz && mv stdout plain.tsv
expect_no_line 'where a frame has them' log
cmp -s plain.tsv taken.tsv && fail "the flags have no effect"
succeeds $evaluate --energy_key= $model both.extxyz && mv stdout mixed.tsv
expect_text 'by --force_key=F, where' log
for quantity in energy:plain force:taken; do
  row() { awk -F'\t' -v q="${quantity%:*}" '$1 == "all" && $3 == q' "$1"; }
  [ "$(row mixed.tsv)" = "$(row "${quantity#*:}.tsv")" ] || fail "--energy_key= alone: $quantity: $(cat mixed.tsv)"
done
# A file without the model's names is read by the usual ones, and evaluate says so.
succeeds $evaluate $model usual.extxyz && mv stdout usual.tsv
cmp plain.tsv usual.tsv || fail "the usual names"
expect_line 'usual.extxyz: 12 of 12 frames have no E, the energy that the model learned from; energy is read' log
# Structures are grouped as the run grouped them, where they have its key.
awk '/Lattice/ { $0 = $0 " kind=" (NR % 2 ? "odd" : "even") } { print }' both.extxyz > kinds.extxyz
succeeds $train --config_key=kind --output_dir=kinds kinds.extxyz
succeeds $evaluate kinds/best.safetensors kinds.extxyz
cp stdout kinds.tsv
expect_line 'structures are grouped by kind' log
expect_line '^config_type	odd	energy' stdout
expect_line '^config_type	even	energy' stdout
succeeds $evaluate '--config_type=ev*' kinds/best.safetensors kinds.extxyz && mv stdout even.tsv
[ "$(grep '^config_type	even	energy	' kinds.tsv | cut -f 4-)" = "$(grep '^all		energy	' even.tsv | cut -f 4-)" ] ||
  fail "--config_type takes others: $(cat even.tsv)"
succeeds $evaluate kinds/best.safetensors both.extxyz
expect_no_line '^config_type	\(odd\|even\)' stdout
succeeds $evaluate $model kinds.extxyz
expect_no_line 'grouped by' log
expect_no_line '^config_type	\(odd\|even\)' stdout
# In parts, by a list, as text on standard input.
succeeds $evaluate --shard=1/2 --output_dir=parts $model both.extxyz
succeeds $evaluate --shard=2/2 --output_dir=parts $model both.extxyz
succeeds $evaluate $model parts/predictions-*-of-00002.safetensors && cmp stdout taken.tsv || fail "parts"
succeeds $evaluate --frames=run/train_frames.txt $model - < both.extxyz && cmp stdout taken.tsv || fail "a list"

# Prepared files tell it to the model.
$featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --energy_key=E --output=f.safetensors own.extxyz 2> log &&
  $cache --energy_key=E --force_key=F --cutoff=4 --output=n.safetensors both.extxyz 2> log || fail "prepare: $(cat log)"
succeeds $featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --output=fn.safetensors n.safetensors
for file in f n fn; do
  succeeds $train --force_weight=0 --output_dir=of-$file $file.safetensors
  succeeds $evaluate of-$file/best.safetensors both.extxyz && mv stdout text.tsv
  expect_text 'labels are read as those that the model learned from, by --energy_key=E' log
  succeeds $evaluate of-$file/best.safetensors $file.safetensors
  expect_no_line 'labels are read' log
  for t in text.tsv stdout; do awk -F'\t' '$1 == "all" && $3 == "energy"' $t > $t.energy; done
  cmp text.tsv.energy stdout.energy || fail "text and $file: $(cat text.tsv stdout)"
done

# Members that learned from other labels, and a run that starts from such a model.
succeeds $train --force_weight=0.1 --output_dir=other both.extxyz
refuses 'other/best.*: records labels of no --energy_key.*, and run/best.*--energy_key=E' \
  $evaluate run/best.safetensors,other/best.safetensors both.extxyz
succeeds $evaluate --energy_key=E --force_key=F run/best.safetensors,other/best.safetensors both.extxyz
succeeds $evaluate run/best.safetensors,other/best.safetensors n.safetensors
succeeds $train --init_from=$model --force_weight=0.1 --output_dir=tuned both.extxyz
expect_line 'warning: --init_from: the model learned from labels of --energy_key=E --force_key=F, and this' log
succeeds $train $keys --init_from=$model --force_weight=0.1 --output_dir=again both.extxyz
expect_no_line 'learned from labels' log
# Units are of a file: those that are given count, and those of the training set do not.
printf 'begin\natom 0 0 0 Ti 0 0 0 0 0\natom 1.9 0 0 O 0 0 0 0 0\nenergy -100\ncharge 0\nend\n' > input.data
succeeds $train --runner_units=angstrom_ev --force_weight=0 --output_dir=runner input.data
for m in $model runner/best.safetensors; do
  refuses 'does not say its units' $evaluate $m input.data
  succeeds $evaluate --runner_units=angstrom_ev $m input.data
done
# What is chosen to be computed is read like the rest, and prepared files of other labels are named.
succeeds $evaluate --select=2 --select_by=farthest --select_output=chosen.extxyz $model own.extxyz
expect_line ' E=-40' chosen.extxyz
expect_line ':pos:R:3:F:R:3 ' chosen.extxyz
expect_no_line ' energy=\|forces' chosen.extxyz
succeeds $train $keys --force_weight=0.1 --output_dir=of-chosen chosen.extxyz own.extxyz
expect_no_line 'have no' log
# Prepared files have no names: the model's own are written.
succeeds $evaluate --select=1 --select_by=farthest --select_output=of-n.extxyz $model n.safetensors
expect_line ':pos:R:3:F:R:3 E=-40' of-n.extxyz
# Under the usual names, what was read by them.
succeeds $evaluate --select=1 --select_by=farthest --select_output=of-usual.extxyz $model usual.extxyz
expect_line ':pos:R:3:forces:R:3 energy=' of-usual.extxyz
succeeds $featurize --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --output=usual.safetensors usual.extxyz
succeeds $evaluate --forces=false $model usual.safetensors
expect_text 'usual.safetensors: its labels were read by the usual names' log
expect_text 'learned from labels of --energy_key=E' log
# Labels of a file have its names, not those of the model.
succeeds $evaluate --forces=false --select=1 --select_by=farthest --select_output=of-usual.extxyz $model \
  usual.safetensors
expect_line ' energy=' of-usual.extxyz

finish
