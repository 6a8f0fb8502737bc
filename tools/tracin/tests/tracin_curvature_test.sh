#!/usr/bin/env bash
# Gauss-Newton influence and errors of structures left out, as users run them, against training again.
set -uo pipefail
tracin=$PWD/tools/tracin/tracin
train="$PWD/tools/train/train --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v n="$1" '/^ *[0-9]+ *$/ { if (++count > n) exit } { print }' "$tio2"; }
frames 60 > s.extxyz
awk '/^ *[0-9]+ *$/ { ++n } n > 60 && n < 63 { print }' "$tio2" > t.extxyz
ok() {
  local out=$1
  shift
  $tracin "$@" > "$out" 2> log || fail "$*: $(cat log)"
}
refuses() { expect_error 1 "$1" "$tracin" "${@:2}"; }
column() { awk -F'\t' -v c="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i; next } { print $at }' "$2"; }
# near A B RELATIVE: both files have the same numbers, one a line, to a share of the largest.
near() {
  paste "$1" "$2" | awk -v limit="$3" '
    { a[NR] = $1; d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d
      s = $1 < 0 ? -$1 : $1; if (s > largest) largest = s; n = NF }
    END { if (n != 2 || !(worst <= limit * largest) || largest == 0) { print "off by", worst, "of", largest; exit 1 } }'
}

# A linear model of energies, at its minimum: leaving out is exact, and influence is its first order.
linear="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=2 --ang_order=1 --hidden= --optimizer=lbfgs
  --learning_rate=1 --precision=fp64 --loss=mse --force_weight=0 --validation_fraction=0 --max_epochs=400 --plot=false
  --progress=false"
succeeds $train $linear --output_dir=whole s.extxyz
ok loo.tsv --mode=leave-one-out --train=s.extxyz --damping=1e-9 --term_weights=1 whole/last.safetensors
expect_line 'Gauss-Newton matrix of .* from 60 outputs of 60 structures.*; the data decide' log
expect_line 'leave-one-out: energy rmse: .* eV/atom; of the training set: ' log
[ "$(head -n 1 loo.tsv | tr '\t' ' ')" = "train structure config_type atoms energy_error[eV/atom] \
energy_error_left_out[eV/atom] loss leverage cooks_distance self_influence" ] || fail "header: $(head -n 1 loo.tsv)"
[ "$(wc -l < loo.tsv)" = 61 ] || fail "rows: $(wc -l < loo.tsv)"
decided=$(sed -n 's/.*the data decide \([0-9.]*\) parameters.*/\1/p' log)
column leverage loo.tsv | awk -v d="$decided" '{ s += $1 } END { exit !(s > d - 0.06 && s < d + 0.06) }' ||
  fail "leverages do not add up to $decided"
: > left; : > said
for i in 3 17 40; do
  awk -v i="$i" '/^ *[0-9]+ *$/ { ++n } n - 1 != i { print }' s.extxyz > without.extxyz
  awk -v i="$i" '/^ *[0-9]+ *$/ { ++n } n - 1 == i { print }' s.extxyz > one.extxyz
  rm -rf again
  succeeds $train $linear --output_dir=again without.extxyz
  $evaluate again/last.safetensors one.extxyz > one.tsv 2> log || fail "evaluate: $(cat log)"
  awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    $at["quantity"] == "energy" { print $at["rmse"] / 1000; exit }' one.tsv >> left
  awk -F'\t' -v i="$i" 'NR > 1 && $1 == i { print $6 < 0 ? -$6 : $6 }' loo.tsv >> said
done
near left said 0.001 || fail "left out, and trained again without: $(paste said left)"

# Networks: both losses, the damping of the run, several routes to the same numbers.
short="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --hidden=4 --max_epochs=6 --keep_every_epochs=3 --plot=false
  --progress=false"
for loss in rmse mse huber; do
  succeeds $train $short --loss=$loss --force_weight=0.1 --stress_weight=0.01 --output_dir=$loss s.extxyz
  gn="--precondition=gauss-newton --train=s.extxyz --test=t.extxyz --top_k=0"
  ok $loss.tsv $gn $loss/checkpoints/last.safetensors
  expect_line 'last.safetensors: Gauss-Newton matrix of .*; mean damping .*, mean curvature .*; the data decide' log
  head -n 1 $loss.tsv | grep -q 'score\[eV\]' || fail "the predicted energy: $(head -n 1 $loss.tsv)"
  ok one.tsv $gn --threads=1 $loss/checkpoints/last.safetensors
  cmp one.tsv $loss.tsv || fail "$loss: threads"
  ok loo.tsv --mode=leave-one-out --train=s.extxyz $loss/checkpoints/last.safetensors
  expect_line 'leave-one-out: force_rmse over all components: ' log
done
last=mse/checkpoints/last.safetensors
ok two.tsv $gn --num_processes=2 $last && cmp two.tsv huber.tsv && fail "other runs have other scores"
ok whole.tsv $gn $last && cmp two.tsv whole.tsv || fail "processes"
ok blocks.tsv $gn --blocks $last
awk -F'\t' \
  'NR > 1 { d = $10 - $11 - $12; if (d < 0) d = -d; if (!(d <= 1e-6 * ($10 < 0 ? -$10 : $10) + 1e-12)) exit 1 }' \
  blocks.tsv || fail "blocks do not add up"
ok self.tsv --self --precondition=gauss-newton --train=s.extxyz --top_k=0 $last
head -n 1 self.tsv | grep -q 'self_influence\[loss\]' || fail "self-influence is of losses: $(head -n 1 self.tsv)"
# Self-influence is the score on the structure's own loss, where the loss couples structures, too.
for loss in rmse mse huber; do
  for kind in gauss-newton ek-fac; do
    ok own.tsv --self --precondition=$kind --train=s.extxyz --top_k=0 $loss/checkpoints/last.safetensors
    ok score.tsv --precondition=$kind --train=s.extxyz --test=s.extxyz --test_quantity=loss --top_k=0 \
      $loss/checkpoints/last.safetensors
    awk -F'\t' 'NR > 1 { print $2 "\t" $NF }' own.tsv | sort -n | cut -f 2 > own
    awk -F'\t' 'NR > 1 && $1 == $6 { print $6 "\t" $NF }' score.tsv | sort -n | cut -f 2 > score
    [ "$(wc -l < own)" -gt 40 ] && [ "$(wc -l < own)" = "$(wc -l < score)" ] || fail "rows: $(head -n 3 score.tsv)"
    near own score 1e-7 || fail "$loss $kind: self-influence: $(paste own score | head -n 5)"
  done
done
ok stiff.tsv --self --precondition=gauss-newton --damping=trace:10 --train=s.extxyz --top_k=0 $last
paste <(sort -k 2n self.tsv) <(sort -k 2n stiff.tsv) |
  awk -F'\t' '$2 ~ /^[0-9]+$/ && !($NF < $(NF / 2)) { exit 1 }' || fail "more damping, and no smaller squares"
ok mean.tsv $gn mse/checkpoints/epoch-00003.safetensors mse/checkpoints/epoch-00006.safetensors
ok params.tsv $gn --params='network.Ti.*' $last
expect_line 'Gauss-Newton matrix of ' log
ok probes.tsv $gn --probes=4 --seed=1 $last
expect_line ' probes)' log
# In blocks of layers and species: of all losses, by the same routes.
ek="--precondition=ek-fac --train=s.extxyz --test=t.extxyz --top_k=0"
for loss in rmse mse huber; do
  ok ek.tsv $ek $loss/checkpoints/last.safetensors
  expect_line 'last.safetensors: Gauss-Newton matrix of .*, by EK-FAC in 4 blocks; mean damping .*; the data decide' log
  cmp ek.tsv $loss.tsv > /dev/null && fail "$loss: EK-FAC is the whole matrix"
done
ok ek.tsv $ek $last
head -n 1 ek.tsv | grep -q 'score\[eV\]' || fail "EK-FAC: the predicted energy: $(head -n 1 ek.tsv)"
ok one.tsv $ek --threads=1 $last && cmp one.tsv ek.tsv || fail "EK-FAC: threads"
ok two.tsv $ek --num_processes=2 $last && cmp two.tsv ek.tsv || fail "EK-FAC: processes"
ok blocks.tsv $ek --blocks $last
awk -F'\t' \
  'NR > 1 { d = $10 - $11 - $12; if (d < 0) d = -d; if (!(d <= 1e-6 * ($10 < 0 ? -$10 : $10) + 1e-12)) exit 1 }' \
  blocks.tsv || fail "EK-FAC: blocks do not add up"
ok mean.tsv $ek --probes=4 --params='network.Ti.*' mse/checkpoints/epoch-00003.safetensors $last
expect_line 'probes), by EK-FAC in 2 blocks' log
ok forces.tsv $ek --test_quantity=force-component --test_atom=0 $last
# The last layer has one output, whose block is whole: of one species it is the matrix.
for kind in gauss-newton ek-fac; do
  ok $kind.tsv --precondition=$kind --params='network.Ti.1.*' --train=s.extxyz --test=t.extxyz --top_k=0 \
    --damping=trace:0.1 $last
done
paste gauss-newton.tsv ek-fac.tsv | awk -F'\t' 'NR > 1 { d = $10 - $20; if (d < 0) d = -d
  if ($6 != $16 || !(d <= 1e-7 * ($10 < 0 ? -$10 : $10) + 1e-12)) exit 1; ++n } END { exit !(n > 40) }' ||
  fail "EK-FAC: one block: $(head -n 3 gauss-newton.tsv ek-fac.tsv)"
# A file of influence says which curvature it is of.
ok shard.tsv $ek --shard=1/2 --output=e1.safetensors $last
ok shard.tsv $gn --shard=2/2 --output=g2.safetensors $last
refuses 'not of one computation.*settings' --merge --model=mse/best.safetensors --train=s.extxyz --test=t.extxyz \
  e1.safetensors g2.safetensors
ok shard.tsv $ek --shard=2/2 --output=e2.safetensors $last
merge="--merge --model=mse/best.safetensors --train=s.extxyz --test=t.extxyz e1.safetensors e2.safetensors"
ok merged.tsv $merge
[ "$(head -n 1 merged.tsv)" = "$(head -n 1 ek.tsv)" ] || fail "--merge has another header: $(head -n 1 merged.tsv)"
refuses '--test_quantity=loss, but the scores are of energy: leave it out' --test_quantity=loss $merge
# The difference of two energies is the difference of the scores.
printf '1 -1\n' > w
ok difference.tsv $gn --test_weights=w $last
awk -F'\t' 'NR == FNR { if (FNR > 1) { at = $1 == 0 ? 1 : -1; s[$6] += at * $10 } next }
  FNR > 1 { d = s[$4] - $8; if (d < 0) d = -d; if (d > worst) worst = d; ++n } END { exit !(n > 40 && worst < 1e-9) }' \
  whole.tsv difference.tsv || fail "a difference: $(head -n 3 difference.tsv)"
# A model file does not say how its run was damped.
ok model.tsv $gn --term_weights=1,0.1 mse/best.safetensors
expect_line 'a model file does not say how its run was damped: --damping=trace:0.1 is taken' log
ok model.tsv $gn --term_weights=1,0.1 --damping=trace:1 mse/best.safetensors
expect_no_line 'is taken' log
# Nor what its errors count, which --mode=curvature says of a checkpoint in the form of the flag.
ok again.tsv --mode=curvature --train=s.extxyz --output=curvature.safetensors $last
weights=$(sed -n 's/.*count as with --term_weights=\([-0-9.e,]*\)$/\1/p' log)
[ -n "$weights" ] || fail "no weights: $(cat log)"
ok model.tsv $gn --term_weights="$weights" mse/best.safetensors
# The message about a model file without them has the same numbers.
refuses "checkpoints/last.safetensors are --term_weights=$weights\$" $gn mse/best.safetensors
cp mse/best.safetensors alone.safetensors
refuses 'give --term_weights.*per atom.*summed over a structure.*--mode=curvature' $gn --train_frames=all \
  alone.safetensors

# Rates by interval are sums over the steps since the checkpoint before: here six steps of one rate.
succeeds $train $short --loss=mse --force_weight=0 --validation_fraction=0 --batch_size=20 --lr_scheduler=constant \
  --learning_rate=0.001 --max_epochs=2 --keep_every_epochs=2 --output_dir=even s.extxyz
for rates in interval checkpoint; do
  ok $rates.tsv --train=s.extxyz --test=t.extxyz --top_k=0 --rates=$rates even/checkpoints/epoch-00002.safetensors
done
paste interval.tsv checkpoint.tsv | awk -F'\t' 'NR > 1 { d = $10 - 6 * $20; if (d < 0) d = -d
  if (!(d <= 1e-5 * ($10 < 0 ? -$10 : $10) + 1e-12)) exit 1; ++n } END { exit n != 120 }' ||
  fail "six steps of one rate"
ok interval.tsv --train=s.extxyz --test=t.extxyz --top_k=0 --output=i.safetensors mse/checkpoints/epoch-*.safetensors
ok rates.tsv --train=s.extxyz --test=t.extxyz --top_k=0 --rates=checkpoint mse/checkpoints/epoch-*.safetensors
cmp interval.tsv rates.tsv > /dev/null && fail "--rates has no effect"

refuses 'expected auto, trace:C or a number above 0' $gn --damping=0 $last
refuses 'expected auto, trace:C or a number above 0' $gn --damping=trace $last
refuses '--probes=-1: expected' $gn --probes=-1 $last
refuses '--probes has no effect with --mode=leave-one-out' --mode=leave-one-out --train=s.extxyz --probes=8 $last
refuses '--damping has no effect without' --train=s.extxyz --test=t.extxyz --damping=1 $last
refuses '--learning_rate has no effect with --precondition=gauss-newton' $gn --learning_rate=1 $last
refuses '--verify has no effect with --precondition=gauss-newton' $gn --verify=1 $last
refuses '--precision=fp64' $gn --precision=fp32 $last
refuses '--precondition=ek-fac: needs --precision=fp64' $ek --precision=fp32 $last
refuses '--rates has no effect with --precondition=ek-fac' $ek --rates=interval $last
refuses '--precondition has no effect with --mode=leave-one-out' --mode=leave-one-out --precondition=ek-fac \
  --train=s.extxyz $last
refuses '--precondition has no effect with --mode=curvature' --mode=curvature --precondition=ek-fac --train=s.extxyz \
  --output=c.safetensors $last
refuses 'EK-FAC .* take .* GB, and .* are allowed' $ek --max_bytes=10000 $last
refuses 'takes .* GB, and .* are allowed' $gn --max_bytes=100000 $last
refuses 'is of one checkpoint or model, and there are 2' --mode=leave-one-out --train=s.extxyz \
  mse/checkpoints/epoch-*.safetensors
refuses '--test has no effect with --mode=leave-one-out' --mode=leave-one-out --train=s.extxyz --test=t.extxyz $last
refuses '--rates has no effect with model files' --rates=interval --term_weights=1 --train=s.extxyz \
  --test=t.extxyz mse/best.safetensors
finish
