#!/usr/bin/env bash
# tracin --mode=curvature, evaluate --uncertainty and evaluate --select, as users run them.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
cache=$PWD/tools/cache-neighbors/cache-neighbors
tracin=$PWD/tools/tracin/tracin
train="$PWD/tools/train/train --check_gradient=false"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v from="$1" -v to="$2" '/^ *[0-9]+ *$/ { ++n } n > from && n <= to { print }' "$tio2"; }
frames 0 60 > s.extxyz
frames 60 72 > t.extxyz
# The pool has no labels.
frames 60 72 | sed 's/ energy=[^ ]*//; s/:forces:R:3//; s/ stress="[^"]*"//; s/ virial="[^"]*"//' |
  awk 'NF == 7 && /^(Ti|O) / { print $1, $2, $3, $4; next } { print }' > pool.extxyz
column() { awk -F'\t' -v c="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i; next } { print $at }' "$2"; }
numbers() { sed -n 's/.* structure_number=\([0-9]*\).*/\1/p' "$1"; }

short="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --hidden=4 --loss=mse --force_weight=0.1 --max_epochs=6 --plot=false
  --progress=false"
for seed in 1 2; do
  succeeds $train $short --seed=$seed --output_dir=run$seed s.extxyz
done
model=run1/last.safetensors
curvature="$tracin --mode=curvature --train=s.extxyz"
succeeds $curvature --output=c.safetensors run1/checkpoints/last.safetensors
expect_line 'Gauss-Newton matrix of .* parameters from .* outputs of .* structures; .*; the data decide' log
expect_line 'calibrated on validation structures of run1/validation_frames.txt: energy: rmse .* meV/atom, root mean' log
expect_line 'calibrated on .*: force: rmse' log
expect_line 'scales: energies .*, forces .*; by the training errors alone' log
succeeds $curvature --threads=1 --output=c1.safetensors run1/checkpoints/last.safetensors
succeeds $curvature --test=t.extxyz --output=ct.safetensors run1/checkpoints/last.safetensors
expect_line 'calibrated on the structures of --test: energy: .* of 12 errors' log
# A model file is calibrated, too.
succeeds $curvature --term_weights=1,0.1 --output=cm.safetensors $model
expect_line 'a model file does not say how its run was damped: --damping=trace:0.1 is taken' log
# With all structures in training none is left to calibrate on.
succeeds $train $short --validation_fraction=0 --output_dir=all s.extxyz
succeeds $curvature --output=all.safetensors all/checkpoints/last.safetensors
expect_line 'uncertainties have the size that the training errors suggest' log

# The same with one thread, in another order, and from parts.
uncertain="$evaluate --uncertainty=c.safetensors --uncertainty_of=all"
succeeds $uncertain --output_dir=out --output_xyz=out.extxyz $model t.extxyz
mv stdout out.tsv
for quantity in energy_std force_std; do
  grep -q "^all		$quantity	" out.tsv || fail "no row of $quantity: $(cat out.tsv)"
done
expect_line 'evaluate: energy: rmse .* meV/atom, root mean square uncertainty' log
expect_line 'evaluate: force: rmse .* eV/Å, root mean square uncertainty' log
expect_line ':energies:R:1:energies_std:R:1:forces_std:R:3:outside:I:1:' out.extxyz
expect_line ' energy_std=[0-9.e-]* ' out.extxyz
expect_text 'Errors beside the standard deviations' out/report.html
[ "$(column 'energy_std[meV/atom]' out/predictions.tsv | awk '$1 > 0' | wc -l)" = 12 ] ||
  fail "deviations: $(cat out/predictions.tsv)"
[ "$(column 'std_fx[eV/Å]' out/predictions_forces.tsv | grep -c '[1-9]')" -gt 20 ] || fail "deviations of forces"
succeeds $evaluate --uncertainty=c1.safetensors --uncertainty_of=all --threads=1 --output_dir=one $model t.extxyz
for file in predictions.tsv predictions_forces.tsv metrics.tsv; do
  cmp out/$file one/$file || fail "$file depends on the number of threads"
done
for i in 1 2; do
  succeeds $uncertain --shard=$i/2 --output_dir=parts $model t.extxyz
done
succeeds $evaluate --output_dir=merged $model parts/predictions-*
cmp out/predictions_forces.tsv merged/predictions_forces.tsv || fail "parts"
cmp out.tsv stdout || fail "metrics of parts"
awk '/^ *[0-9]+ *$/ { ++n } { frame[n] = frame[n] $0 "\n" } END { for (; n > 0; --n) printf "%s", frame[n] }' \
  t.extxyz > reversed.extxyz
succeeds $uncertain --output_dir=reversed $model reversed.extxyz
cmp <(column 'energy_std[meV/atom]' out/predictions.tsv) \
  <(column 'energy_std[meV/atom]' reversed/predictions.tsv | tac) || fail "the order of structures"
# Predictions do not change, and energies alone have the same deviation.
succeeds $evaluate --output_dir=plain $model t.extxyz
cmp <(cut -f 1-6 plain/predictions.tsv) <(cut -f 1-6 out/predictions.tsv) || fail "predictions"
expect_no_line energy_std plain/predictions.tsv
succeeds $evaluate --uncertainty=c.safetensors --forces=false --output_dir=energies $model t.extxyz
cmp <(column 'energy_std[meV/atom]' out/predictions.tsv) <(column 'energy_std[meV/atom]' energies/predictions.tsv) ||
  fail "energies alone"
# A member of a committee, beside its spread.
succeeds $uncertain $model,run2/last.safetensors t.extxyz
expect_line '--uncertainty is that of run1/last.safetensors; predictions are the mean' log
expect_line 'evaluate: energy: rmse .*, root mean square spread' log

# Choosing from a pool without labels.
select="$evaluate --progress=false --select=4"
for threads in 1 2; do
  succeeds $select --threads=$threads --uncertainty=c.safetensors --select_output=u$threads.extxyz $model pool.extxyz
done
cmp u1.extxyz u2.extxyz || fail "another choice with two threads"
expect_line 'uncertainty of the energies of 12 structures in the root mean square: .* meV/atom, and .* with' log
expect_line 'wrote u2.extxyz: 4 of 12 structures by uncertainty' log
[ "$(numbers u1.extxyz | sort -u | wc -l)" = 4 ] || fail "numbers: $(numbers u1.extxyz)"
expect_line ' select_rank=1 select_score=[0-9.e-]* structure_name="pool.extxyz#[0-9]*"' u1.extxyz
expect_no_line ' energy=' u1.extxyz
# Learning of a structure lowers the uncertainty of all; that of others is another aim.
succeeds $select --uncertainty=c.safetensors --select_for=s.extxyz --select_output=f.extxyz $model pool.extxyz
expect_line 'uncertainty of the energies of 60 structures' log
succeeds $select --select_by=spread --select_output=s4.extxyz $model,run2/last.safetensors pool.extxyz
succeeds $evaluate --output_dir=spread $model,run2/last.safetensors pool.extxyz
cmp <(numbers s4.extxyz) <(column 'force_spread_max[eV/Å]' spread/predictions.tsv | awk '{ print $1, NR - 1 }' |
  sort -k 1,1gr -k 2,2n | head -n 4 | cut -d ' ' -f 2) || fail "by spread"
succeeds $select --select_by=farthest --select_output=far.extxyz $model pool.extxyz
[ "$(numbers far.extxyz | sort -u | wc -l)" = 4 ] || fail "farthest: $(numbers far.extxyz)"
succeeds $select --select_by=outside --select_output=o.extxyz $model pool.extxyz
succeeds $evaluate --output_dir=outside $model pool.extxyz
[ "$(column atoms_outside outside/predictions.tsv | awk '$1 > 0 && n < 4 { ++n } END { print n + 0 }')" = \
  "$(grep -c select_rank o.extxyz)" ] || fail "outside"
# Of a selection and further outputs, numbers count over all inputs, and labels stay.
seq 3 11 > frames.txt
succeeds $select --frames=frames.txt --uncertainty=c.safetensors --select_output=n.extxyz --output_xyz=x.extxyz $model \
  t.extxyz
numbers n.extxyz | awk '$1 < 3 { exit 1 }' || fail "--frames: $(numbers n.extxyz)"
expect_line ' energy=' n.extxyz
expect_no_line "own predictions" log
# A pool whose labels are what the model itself predicts, as of a simulation in ASE; and such frames among others.
succeeds $evaluate --output_xyz=own.extxyz $model pool.extxyz
expect_line ' energy=' own.extxyz
succeeds $evaluate $model own.extxyz
expect_line "warning: the labels of 12 of 12 structures are the model's own predictions .*first is own.extxyz#0" log
succeeds $select --select_by=farthest --select_output=mine.extxyz $model own.extxyz
expect_line "warning: the labels of 12 of 12 structures are the model's own predictions" log
expect_line "the labels of 4 of them are the model's own predictions and were left out" log
expect_line 'Properties=species:S:1:pos:R:3 pbc=.* select_rank=1 ' mine.extxyz
expect_no_line ' energy=\| stress=\|forces' mine.extxyz
succeeds $evaluate --select=24 --select_by=farthest --select_output=both.extxyz $model t.extxyz own.extxyz
expect_line "warning: the labels of 12 of 24 structures are the model's own predictions .*first is own.extxyz#0" log
[ "$(grep -c ' energy=' both.extxyz)" = 12 ] || fail "labels of others: $(grep Prop both.extxyz)"

# Many-body potentials of one layer, and files made of the structures; of two layers there are no gradients.
body="--species=Ti,O --cutoff=4 --potential=many-body --channels=4 --hidden=4 --max_epochs=2 --plot=false
  --progress=false"
succeeds $train $body --output_dir=body s.extxyz
succeeds $curvature --output=body.safetensors body/checkpoints/last.safetensors
uncertain="$evaluate --uncertainty=body.safetensors --uncertainty_of=atoms"
succeeds $uncertain --output_dir=body_out body/last.safetensors t.extxyz
succeeds $cache --cutoff=5 --output=n.safetensors t.extxyz
succeeds $uncertain --output_dir=cached_out body/last.safetensors n.safetensors
cmp <(column 'energy_std[meV/atom]' body_out/predictions.tsv) \
  <(column 'energy_std[meV/atom]' cached_out/predictions.tsv) || fail "from neighbors"
succeeds $train $body --messages=2 --output_dir=two s.extxyz
succeeds $curvature --output=two.safetensors two/checkpoints/last.safetensors
succeeds $evaluate --uncertainty=two.safetensors --uncertainty_of=forces --output_dir=two_out two/last.safetensors \
  t.extxyz
expect_error 1 'atoms of such a potential' $evaluate --uncertainty=two.safetensors --uncertainty_of=atoms \
  two/last.safetensors t.extxyz
makes_nothing no.extxyz 'features turn with the structure' $select --select_by=farthest --select_output=no.extxyz \
  body/last.safetensors pool.extxyz

# Refused, with nothing left.
nothing() { makes_nothing no.extxyz "$1" "${@:2}"; }
nothing 'needs --uncertainty' $select --select_output=no.extxyz $model pool.extxyz
nothing 'needs a committee' $select --select_by=spread --select_output=no.extxyz $model pool.extxyz
nothing 'expected uncertainty, spread' $select --select_by=chance --select_output=no.extxyz $model pool.extxyz
nothing 'there are 12 structures' $evaluate --select=13 --select_by=farthest --select_output=no.extxyz $model \
  pool.extxyz
nothing '--select has no effect with --shard' $select --select_by=farthest --shard=1/2 --output_dir=p \
  --select_output=no.extxyz $model pool.extxyz
nothing '--select has no effect on predictions' $select --select_by=farthest --select_output=no.extxyz $model \
  out/predictions.safetensors
nothing '--select_for has no effect with' $select --select_by=farthest --select_for=s.extxyz --select_output=no.extxyz \
  $model pool.extxyz
nothing 'standard input' $select --select_by=farthest --select_output=no.extxyz $model -
expect_error 1 'needs --select_output' $select --select_by=farthest $model pool.extxyz
expect_error 1 'select_output=pool.extxyz: would take the place of' $select --select_by=farthest \
  --select_output=pool.extxyz $model pool.extxyz
expect_error 1 '--select_by has no effect without' $evaluate --select_by=farthest $model pool.extxyz
expect_error 1 '--uncertainty_of has no effect without' $evaluate --uncertainty_of=all $model t.extxyz
expect_error 1 'expected energy, atoms, forces or all' $evaluate --uncertainty=c.safetensors --uncertainty_of=stress \
  $model t.extxyz
expect_error 1 'c.safetensors: is not of run2/last.safetensors' $evaluate --uncertainty=c.safetensors \
  run2/last.safetensors t.extxyz
expect_error 1 'is of none of the 2 members' $evaluate --uncertainty=c.safetensors \
  run2/last.safetensors,all/last.safetensors t.extxyz
expect_error 1 'potential/1.*expected curvature/1' $evaluate --uncertainty=$model $model t.extxyz
expect_error 1 '--uncertainty has no effect on predictions' $evaluate --uncertainty=c.safetensors $model \
  out/predictions.safetensors
last=run1/checkpoints/last.safetensors
expect_error 1 '--mode=curvature needs --output' $curvature $last
expect_error 1 '--top_k has no effect with --mode=curvature' $curvature --top_k=1 --output=no $last
expect_error 1 'takes .* GB, and .* are allowed' $curvature --max_bytes=100000 --output=no $last
[ ! -e no ] || fail "a file is left"
finish
