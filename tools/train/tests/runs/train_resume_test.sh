#!/usr/bin/env bash
# Resuming: forms of --resume, options that may change or need --override, other data, damaged checkpoints, full disks,
# read-only and busy directories, signals; and starting from a model. lib/train tests the details.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
short="--hidden=6,6 --batch_size=16 --seed=3 --plot=false --progress=false"
run() { # run DIRECTORY FLAGS...
  local directory=$1
  shift
  succeeds $train $short --output_dir="$directory" "$@"
}
same() { $diff "$1/best.safetensors" "$2/best.safetensors" && $diff "$1/last.safetensors" "$2/last.safetensors"; }
damage() { head -c 3000 "$1" > cut && cat cut > "$1"; }

train=$checked run whole --max_epochs=6 f.safetensors
# auto starts a new run first and resumes it later, in each form of the flag that resumes.
run a --max_epochs=2 --resume=auto f.safetensors
expect_line 'a: no checkpoint to resume, a new run starts' log
run a --max_epochs=3 --resume=auto f.safetensors
expect_line 'goes on from a/checkpoints/last.safetensors: epoch 3, step 46' log
run a --max_epochs=4 --resume f.safetensors
run a --max_epochs=5 --resume=true f.safetensors
run a --max_epochs=6 --resume=a/checkpoints/last.safetensors f.safetensors
same whole a > out || fail "a resumed run differs: $(cat out)"
run a --max_epochs=6 --noresume --overwrite f.safetensors
# If the checkpoint is damaged, the previous one is offered, or taken.
run a --max_epochs=3 --overwrite f.safetensors
run a --max_epochs=4 --resume f.safetensors
damage a/checkpoints/last.safetensors
refuses 'a/recovery/previous.safetensors is whole, of epoch 4, step 69:' \
  $train $short --output_dir=a --max_epochs=6 --resume f.safetensors
expect_text 'step 69: --resume=a/recovery/previous.safetensors goes on' err
cp -r a b
run a --max_epochs=6 --resume=auto f.safetensors
expect_line 'warning: .*last.safetensors: .* it is kept as a/recovery/replaced.safetensors' log
same whole a > out || fail "a run from the previous checkpoint differs: $(cat out)"
run b --max_epochs=6 --resume=b/recovery/previous.safetensors f.safetensors
same whole b > out || fail "a run from the offered checkpoint differs: $(cat out)"
refuses 'none.safetensors: no such file' $train $short --output_dir=b --resume=none.safetensors f.safetensors
refuses 'holds another run than that of' \
  $train $short --output_dir=b --resume=a/checkpoints/last.safetensors f.safetensors
refuses 'nothing to resume' $train $short --output_dir=none --resume f.safetensors
refuses 'exclude each other' $train $short --output_dir=a --resume --overwrite f.safetensors
[ ! -e none ] || fail "a run that could not start left something"

# Changed settings.
run a --max_epochs=7 --resume --learning_rate=0.002 f.safetensors
expect_line 'learning_rate is 0.002 from here on, was 0.001' log
refuses 'seed is 4, but the run to resume has 3; batch_size is 8, but the run to resume has 16; give the same' \
  $train ${short/seed=3/seed=4} --batch_size=8 --learning_rate=0.002 --output_dir=a --max_epochs=8 --resume \
  f.safetensors
expect_text 'give the same, or --override=seed,batch_size' err
run a --max_epochs=8 --resume --learning_rate=0.002 --batch_size=8 --override=batch_size f.safetensors
expect_line 'batch_size is 8 from here on, was 16' log
run a --max_epochs=9 --resume --learning_rate=0.002 --batch_size=8 --loss=mse --override=all f.safetensors
[ "$(wc -l < a/log.tsv)" = 2 ] || fail "a log in other units: $(cat a/log.tsv)"
[ "$(wc -l < a/recovery/log.tsv)" = 9 ] || fail "a log in other units: $(cat a/log.tsv)"
# The run is over and has no validation set: the new loss of its model is unknown, so no model is judged by it.
run n --validation_fraction=0 --max_epochs=2 f.safetensors
cp n/best.safetensors n-best.safetensors
run n --validation_fraction=0 --max_epochs=2 --resume --loss=mse --override=loss f.safetensors
expect_line 'no epoch has been judged, so no best model is written; last -> n/last.safetensors' log
cmp n/best.safetensors n-best.safetensors || fail "a best model of no loss"
refuses 'override: "bach_size" is no option' $train $short --output_dir=a --resume --override=bach_size f.safetensors
refuses 'override has no effect without --resume' $train $short --output_dir=c --override=all f.safetensors
refuses 'made for another model: .* start a new run, with init_from' \
  $train ${short/6,6/5,5} --output_dir=b --max_epochs=9 --resume --override=all f.safetensors
# The data differ, but have as many examples.
sed '2s/energy=-51.2/energy=-51.3/' "$tio2" > other.extxyz
$featurize --species=Ti,O --output=other.safetensors other.extxyz 2> /dev/null
cmp -s f.safetensors other.safetensors && fail "the other data are the same"
refuses 'the inputs are not the files that the run to resume had, though they hold as many examples; give the same' \
  $train $short --output_dir=b --max_epochs=7 --resume other.safetensors
expect_text 'give the same, or --override=data' err
run b --max_epochs=7 --resume --override=data other.safetensors
expect_line 'what is best is judged anew' log
# The files are the same, but flags change what is made of them.
succeeds $train $short --species=Ti,O --config_weights=rutile=2 --output_dir=w --max_epochs=1 "$tio2"
refuses 'rad_cutoff is "5", but the run to resume has not set; config_weights is not set, but the run' \
  $train $short --species=Ti,O --rad_cutoff=5 --output_dir=w --max_epochs=2 --resume "$tio2"
expect_text 'config_weights is not set, but the run to resume has "rutile=2"; with another rad_cutoff' err
expect_text 'give what the run had' err
run w --species=Ti,O --config_weights=rutile=2 --max_epochs=2 --resume "$tio2"
cp f.safetensors moved.safetensors
run b --max_epochs=8 --resume other.safetensors
run whole --max_epochs=7 --resume moved.safetensors # the same content in another place

# A run that goes on with other data, filters, weights or scales is the same model, to rounding.
model_errors() { $evaluate "$1/last.safetensors" f.safetensors 2> /dev/null; }
carried() { # carried FLAGS...: goes on from a fresh run with other flags, at a rate of nothing
  rm -rf carried
  run carried $also --learning_rate=0.01 --max_epochs=8 --precision=fp64 f.safetensors
  model_errors carried > before
  [ -s before ] || fail "no errors to compare"
  run carried $also --learning_rate=1e-30 --max_epochs=9 --precision=fp64 --resume --override=all "$@"
  model_errors carried | cmp - before || fail "$*: another model after resuming: $(model_errors carried; cat before)"
}
also=
carried --feature_scaling=pooled f.safetensors
expect_line 'layers are rewritten, and predictions stay what they were' log
expect_line 'the optimizer begins without memory' log
expect_text '# does not make this run again' carried/flags.txt
expect_text 'feature_scaling is "pooled", was "species"' carried/flags.txt
expect_no_line 'makes this run again' carried/config.json
run carried --learning_rate=1e-30 --max_epochs=10 --precision=fp64 --feature_scaling=pooled --resume f.safetensors
expect_text '# does not make this run again' carried/flags.txt
carried --max_forces=3 f.safetensors
carried --config_weights=anatase=0 f.safetensors
carried --atomic_energies=Ti=-1000,O=-300 --noenergy_scaling f.safetensors
carried other.safetensors
also="--optimizer=schedule-free-adamw"
carried --feature_scaling=pooled f.safetensors
expect_text 'makes this run again' whole/flags.txt
$featurize --species=O,Ti --output=ot.safetensors "$tio2" 2> /dev/null || fail "featurize"
refuses 'its species are Ti,O, those here O,Ti' \
  $train $short --output_dir=whole --max_epochs=9 --resume --override=all ot.safetensors
refuses 'its networks are 6,6 tanh, asked for are 6,6 silu' \
  $train $short --output_dir=whole --max_epochs=9 --resume --override=all --activation=silu f.safetensors

# After a signal the step is finished, a checkpoint written, and the status is 128 + n.
for signal in USR1 TERM INT; do
  rm -rf e
  set -m # or a shell's background process ignores INT
  $train $short --max_epochs=1000000 --output_dir=e f.safetensors > /dev/null 2> log &
  process=$!
  set +m
  for _ in $(seq 200); do [ -s e/log.tsv ] && [ "$(wc -l < e/log.tsv)" -gt 2 ] && break; sleep 0.1; done
  # Meanwhile another run in the same directory is refused.
  [ $signal != USR1 ] || refuses "another run is training here (e/lock: held by process $process)" \
    $train $short --max_epochs=1 --resume=auto --output_dir=e f.safetensors
  kill -$signal $process
  wait $process
  [ $? = $((128 + $(kill -l $signal))) ] || fail "status after $signal: $(cat log)"
  expect_line 'the checkpoint is e/checkpoints/last.safetensors' log
  expect_line 'to go on: train --flagfile=e/flags.txt --resume$' log
  [ ! -e e/lock ] || fail "the lock is left after $signal"
  run e --max_steps=1 --resume f.safetensors
done

# The disk is full in the middle of a run: the old checkpoint is whole until there is room, and the run ends well.
# The disk stays full for a time, not for a number of epochs, which a fast machine finishes before there is room.
if mkdir -p disk && mount -t tmpfs -o size=64m none disk 2> /dev/null; then
  $train $short --max_epochs=1000000 --max_time=8s --save_interval=0.01 --output_dir=disk/run f.safetensors \
    > /dev/null 2> log &
  process=$!
  for _ in $(seq 200); do [ -s disk/run/recovery/previous.safetensors ] && break; sleep 0.05; done
  cat /dev/zero > disk/filling 2> /dev/null
  for _ in $(seq 200); do grep -q 'training goes on' log && break; sleep 0.05; done
  expect_line 'warning: cannot write disk/run/.*: No space left on device; training goes on' log
  expect_line 'No space left on device; training goes on, the checkpoint of epoch .* is whole' log
  is_whole=$($diff disk/run/checkpoints/last.safetensors disk/run/checkpoints/last.safetensors 2>&1) ||
    fail "the old checkpoint: $is_whole"
  rm disk/filling
  wait $process || fail "the run on a full disk: $(cat log)"
  [ "$(grep -c 'No space left' log)" = 1 ] || fail "not told once: $(cat log)"
  expect_line 'could not be written while training; now all are whole' log
  umount disk
fi
# A directory that cannot be written is refused before data are read.
mkdir -p readonly && chmod 555 readonly
user=
[ "$(id -u)" != 0 ] || user="setpriv --reuid=65534 --clear-groups"
chmod a+rx . 2> /dev/null
if $user test -x "${train%% *}" && $user test -r f.safetensors && ! $user test -w readonly; then
  refuses 'cannot write in the directory readonly: Permission denied; name another output directory' \
    $user $train $short --output_dir=readonly/run none.safetensors
fi

# Start from a model: initial errors are the model's, on its own data and on half of them; then it is an ordinary run.
errors() { sed -n 's/^validation\t//p' stdout; }
run model --max_epochs=20 --precision=fp64 f.safetensors
before=$(errors)
run tuned --init_from=model/last.safetensors --precision=fp64 --learning_rate=1e-300 --max_epochs=1 f.safetensors
expect_line 'a new run starts from model/last.safetensors: networks of Ti, O' log
succeeds $train --precision=fp64 --init_from=model/best.safetensors --learning_rate=1e-300 --max_epochs=1 --seed=3 \
  --plot=false --feature_scaling=pooled --noenergy_scaling --atomic_energies=Ti=-1000,O=-300 --output_dir=tuned2 \
  f.safetensors
[ "$(errors)" = "$before" ] || fail "not the model's errors: $(errors), expected $before"
succeeds $train --init_from=model/best.safetensors --max_epochs=2 --validation_fraction=0.5 --plot=false \
  --output_dir=tuned3 f.safetensors
succeeds $train --init_from=model/best.safetensors --max_epochs=3 --validation_fraction=0.5 --plot=false \
  --output_dir=tuned3 --resume=auto f.safetensors
expect_line 'goes on from' log
expect_no_line 'starts from' log
refuses 'its networks are --hidden=6,6' \
  $train --hidden=5 --init_from=model/best.safetensors --output_dir=h f.safetensors
refuses 'init_from has no effect with --resume' \
  $train --init_from=model/best.safetensors --resume --output_dir=tuned3 f.safetensors
$featurize --species=Ti,O --rad_cutoff=5 --output=g.safetensors "$tio2" 2> /dev/null
refuses 'all but the species must be the same' $train --init_from=model/best.safetensors --output_dir=h g.safetensors
# With another set of elements, networks of the common elements are taken.
$featurize --species=Ti,O,Zr --output=z.safetensors "$tio2" 2> /dev/null
succeeds $train --init_from=model/best.safetensors --max_epochs=1 --plot=false --output_dir=zr z.safetensors
expect_line 'networks of Ti, O; from random numbers: Zr' log
[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
