#!/usr/bin/env bash
# Influence by unrolling a run equals a finite difference of real trainings, and what cannot be unrolled is refused.
set -uo pipefail
tracin=$PWD/tools/tracin/tracin
train="$PWD/tools/train/train --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# weighted N WEIGHT FILE: the first 18 frames, with the weight of number N, from 0, and 1 for the others.
weighted() {
  awk -v n="$1" -v w="$2" '/^ *[0-9]+ *$/ { if (++count > 18) exit; print; head = 1; next }
    head { print $0 " w=" (count - 1 == n ? w : 1); head = 0; next } { print }' "$tio2" > "$3"
}
awk '/^ *[0-9]+ *$/ { ++n } n > 60 && n < 63 { print }' "$tio2" > t.extxyz
weighted 0 1 s.extxyz
energies() {
  rm -rf ev
  $evaluate --forces=false --output_dir=ev "$1" t.extxyz > stdout 2> log || fail "evaluate: $(cat log)"
  awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "predicted_energy[eV]") at = i; next }
    { print $at }' ev/predictions.tsv
}
# near A B RELATIVE: both files have the same numbers, one a line, to a share of the largest.
near() {
  paste "$1" "$2" | awk -v limit="$3" '
    { d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d
      s = $1 < 0 ? -$1 : $1; if (s > largest) largest = s; n = NF }
    END { if (n == 2 && worst <= limit * largest && largest > 0) exit 0; print "off by", worst, "of", largest; exit 1 }'
}
# score TEST TRAIN TABLE
score() {
  awk -F'\t' -v t="$1" -v s="$2" '
    NR == 1 { for (i = 1; i <= NF; ++i) { at[$i] = i; if ($i ~ /^score/) c = i }; next }
    $at["test"] == t && $at["train"] == s { print $c }' "$3"
}

# Scales of features and energies do not depend on the weights here, as they are no part of the derivative.
small="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=1 --hidden=3 --precision=fp64
  --weight_key=w
  --feature_scaling=none --energy_scaling=false --atomic_energies=Ti=-4.9,O=-9.8 --validation_fraction=0
  --batch_size=5
  --max_epochs=4 --plot=false --progress=false"
table="--unrolled --top_k=0 --train=s.extxyz --test=t.extxyz"
# equals_training NAME FLAGS...: scores of a run with these flags are what trainings with other weights change. The
# difference of 0.02 in a weight leaves 1e-5 of the change to higher orders. The 8 decimals that evaluate prints are
# 5e-7 of a difference, and the largest difference of each run is 6e-3 or more.
equals_training() {
  local name=$1 s t
  shift
  rm -rf run high low
  succeeds $train $small --keep_every_steps=1 "$@" --output_dir=run s.extxyz
  succeeds $tracin $table --threads=1 run/checkpoints/*.safetensors
  mv stdout one.tsv
  cp log unrolled.log
  expect_line 'steps unrolled; taken again, they differ from the run.s by at most' log
  succeeds $tracin $table --threads=2 run/checkpoints/*.safetensors
  cmp stdout one.tsv || fail "$name: threads"
  : > said; : > seen
  for s in 2 13; do
    weighted $s 1.01 high.extxyz
    weighted $s 0.99 low.extxyz
    rm -rf high low
    succeeds $train $small "$@" --output_dir=high high.extxyz
    succeeds $train $small "$@" --output_dir=low low.extxyz
    energies high/last.safetensors > high.txt
    energies low/last.safetensors > low.txt
    paste high.txt low.txt | awk '{ printf "%.12g\n", -($1 - $2) / 0.02 }' >> seen
    for t in 0 1; do score $t $s one.tsv >> said; done
  done
  near said seen 2e-4 || fail "$name: unrolled and by training: $(paste said seen)"
}
energy=--force_weight=0
force=--force_weight=0.3
equals_training sgd $energy --loss=mse --optimizer=sgd --learning_rate=0.01
equals_training momentum $energy --loss=huber --huber_delta=0.2 --optimizer=sgd --learning_rate=0.01 --momentum=0.8 \
  --nesterov --weight_decay=0.01
equals_training both $force --loss=mse --optimizer=sgd --learning_rate=0.005 --momentum=0.5
equals_training adam $energy --loss=mse --optimizer=adam --learning_rate=0.01 --epsilon=1e-4 --weight_decay=0.01
equals_training adamw $force --loss=huber --huber_delta_force=0.5 --huber_delta=0.5 --optimizer=adamw \
  --learning_rate=0.01 --epsilon=1e-4 --weight_decay=0.1
# The largest mean of squares is that of the first steps for most parameters, and the last one's for some.
equals_training amsgrad $energy --loss=mse --optimizer=adamw --amsgrad --beta2=0.9 --learning_rate=0.02 --epsilon=1e-4 \
  --keep_every_steps=3
equals_training roots $force --loss=rmse --optimizer=adam --learning_rate=0.005 --epsilon=1e-3 --noshuffle \
  --accumulate_grad_batches=2 --lr_scheduler=constant

# Gradients of a length of 2.2 at first and of about 1 at the end, so that some steps are clipped.
equals_training by_norm $force --loss=mse --optimizer=sgd --learning_rate=0.01 --momentum=0.5 --gradient_clip_val=1.5 \
  --log_every_n_steps=1
awk -F'\t' 'NR > 1 { ++n[$5 > 1.5] } END { exit !(n[0] > 3 && n[1] > 3) }' run/steps.tsv ||
  fail "lengths of gradients: $(cut -f5 run/steps.tsv)"
equals_training by_value $energy --loss=mse --optimizer=adam --learning_rate=0.01 --epsilon=1e-4 \
  --gradient_clip_val=0.2 --gradient_clip_algorithm=value
# The moving average is what the models of such a run hold.
equals_training average $energy --loss=mse --optimizer=adam --learning_rate=0.01 --epsilon=1e-4 --ema --ema_decay=0.8
expect_line 'quantities are of the moving average' unrolled.log
equals_training exp $energy --loss=mse --optimizer=sgd --learning_rate=0.01 --ema --ema_decay_type=exp \
  --ema_start_step=3 --ema_update_every_n_steps=2
# Checkpoints of every third step, of 16, with a schedule, an average and batches that are accumulated between them.
equals_training sparse $force --loss=mse --optimizer=adamw --learning_rate=0.03 --epsilon=1e-4 --keep_every_steps=3 \
  --lr_scheduler=cosine --lr_interval=step --warmup_steps=4 --lr_cooldown_steps=3 --ema --ema_decay=0.5 \
  --gradient_clip_val=2
expect_line '16 steps unrolled' unrolled.log
[ "$(ls run/checkpoints | wc -l)" = 6 ] || fail "checkpoints: $(ls run/checkpoints)"
equals_training epochs $force --loss=mse --optimizer=sgd --learning_rate=0.01 --accumulate_grad_batches=3 \
  --keep_every_epochs=2 --keep_every_steps=0 --lr_scheduler=step --lr_period=2
expect_line '8 steps unrolled' unrolled.log

# A run of one epoch, which knows no weights of terms yet.
epochs=$small
small=${small/--max_epochs=4/--max_epochs=1}
equals_training epoch $energy --loss=mse --optimizer=sgd --learning_rate=0.05
expect_error 1 'step-000000004.*--test_quantity=loss: what errors count.*train longer' \
  "$tracin" $table --test_quantity=loss run/checkpoints/step-*.safetensors
small=$epochs

# The same run in fp32, whose steps are those of the run to its rounding; the influence file keeps how scores were made.
rm -rf run
succeeds $train $small $energy --precision=fp32 --keep_every_steps=1 --output_dir=run s.extxyz
succeeds $tracin $table --output=u.safetensors run/checkpoints/step-*.safetensors
expect_line '16 steps unrolled' log
grep -qa 'steps 1-16' u.safetensors || fail "steps are not recorded"
# Scores of the loss of a test are proportional to those of its energy, as its error is all that the loss knows.
succeeds $tracin $table run/checkpoints/step-*.safetensors
mv stdout energy.tsv
succeeds $tracin $table --test_quantity=loss run/checkpoints/step-*.safetensors
: > by_energy; : > by_loss
factor=$(awk -v a="$(score 0 4 stdout)" -v b="$(score 0 4 energy.tsv)" 'BEGIN { printf "%.15g", a / b }')
for s in 1 7 16; do
  score 0 $s stdout >> by_loss
  awk -v f="$factor" -v e="$(score 0 $s energy.tsv)" 'BEGIN { printf "%.12g\n", f * e }' >> by_energy
done
near by_energy by_loss 1e-4 || fail "losses: $(paste by_energy by_loss)"
# The end of a run alone: influence through its last steps.
succeeds $tracin $table run/checkpoints/step-00000001[0-6].safetensors
expect_line '6 steps unrolled' log

refuse() { expect_error 1 "$1" "$tracin" $table "${@:2}"; }
# The run's last checkpoint alone: all steps from its seed are taken again, in fp64, where the run had fp32.
succeeds $tracin $table run/checkpoints/last.safetensors
expect_line '16 steps unrolled' log
succeeds $tracin $table run/checkpoints/step-00000000[259].safetensors run/checkpoints/last.safetensors
expect_line '16 steps unrolled' log
succeeds $tracin $table run/checkpoints/step-0000000{09,12,15}.safetensors
expect_line '6 steps unrolled' log
refuse 'step-000000013.*4 steps after.*--max_bytes=10000:.*--keep_every_steps' --max_bytes=10000 \
  run/checkpoints/step-00000000[579].safetensors run/checkpoints/step-000000013.safetensors
refuse 'models' run/best.safetensors
refuse '--precondition' --precondition=adam run/checkpoints/step-*.safetensors
refuse '--normalize' --normalize=cosine run/checkpoints/step-*.safetensors
refuse '--num_processes' --num_processes=2 run/checkpoints/step-*.safetensors
expect_error 1 'unrolled' "$tracin" --judge=j --unrolled --train=s.extxyz --test=t.extxyz run
refuse '--blocks' --blocks run/checkpoints/step-*.safetensors
expect_error 1 '--unrolled: is of tests' "$tracin" --unrolled --self --train=s.extxyz run/checkpoints/step-*.safetensors
# A run that began with a model is not the run of its seed: steps count from its first checkpoint on.
succeeds $train $small $energy --precision=fp32 --keep_every_steps=1 --init_from=run/last.safetensors \
  --output_dir=more s.extxyz
succeeds $tracin $table more/checkpoints/step-*.safetensors
expect_line 'step-000000001.*began with the model run/last.safetensors .--init_from.*cover the steps after' log
expect_line '15 steps unrolled' log
refuse 'last.safetensors.*--init_from.*give an earlier checkpoint' more/checkpoints/last.safetensors
# Other labels than those of the run are found by its steps.
sed 's/energy=-2/energy=-3/' s.extxyz > other.extxyz
cmp -s s.extxyz other.extxyz && fail "no label was changed"
expect_error 2 'step-0000000[0-9]*.*taken again.*differs by' "$tracin" --unrolled --train=other.extxyz --test=t.extxyz \
  --train_frames=all run/checkpoints/step-*.safetensors
# refuses_run PATTERN FLAGS...: a run with these flags is refused by name.
refuses_run() {
  local pattern=$1
  shift
  rm -rf no
  succeeds $train $small --precision=fp32 "$energy" --max_steps=5 --keep_every_steps=1 --output_dir=no "$@" s.extxyz
  refuse "$pattern" no/checkpoints/step-*.safetensors
}
# Rates that follow from validations between two checkpoints are not known.
rm -rf run
succeeds $train $small $energy --validation_fraction=0.2 --max_epochs=8 --optimizer=sgd --learning_rate=1e-5 \
  --lr_scheduler=plateau --lr_patience=0 --lr_threshold=0.5 --keep_every_steps=6 --output_dir=run s.extxyz
refuse 'step-0000000[0-9]*.*its last rate is .*plateau.*--keep_every_steps=1' run/checkpoints/step-*.safetensors
refuses_run 'optimizer=rmsprop' --optimizer=rmsprop
refuses_run 'limit_train_batches=2' --limit_train_batches=2
refuses_run 'parameter_groups' --parameter_groups='network.Ti.*:lr_scale=0.1'
refuses_run 'bucket_window' --bucket_by_size
refuses_run 'sampling_policy=energy_weighted' --sampling_policy=energy_weighted
refuses_run 'force_fraction=0.5' --force_weight=0.3 --force_fraction=0.5
finish
