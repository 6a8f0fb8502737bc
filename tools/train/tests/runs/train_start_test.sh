#!/usr/bin/env bash
# Which of train's two programs runs: LibTorch is loaded where the flags ask for what it alone does, and beside train
# for the check of the first batch. The results are the same bits with and without.
set -uo pipefail
train=$PWD/tools/train/train
libtorch=$PWD/tools/train/train-libtorch
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

libraries() { ldd "$1" | grep -c 'libtorch\|libc10\|libgloo'; }
[ "$(libraries "$train")" = 0 ] || fail "train links LibTorch: $(ldd "$train")"
[ "$(libraries "$libtorch")" != 0 ] || fail "train-libtorch has no LibTorch"

# Users see one tool.
for flags in --help --help=all --version; do
  $train $flags > with && $libtorch $flags | cmp - with || fail "another $flags"
done

# What the kernels do alone needs no other program, and is what the other does.
mkdir alone
cp -L "$train" alone/train
alone=$PWD/alone/train
$featurize --species=Ti,O --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
$featurize --output=t.safetensors --train="$elements/train.txt" --valid="$elements/valid.txt" 2> /dev/null ||
  fail "featurize, triples"
few="--hidden=6 --max_epochs=2 --plot=false"
many_body="--potential=many-body --channels=4 --hidden=4 --cutoff=3 --max_epochs=1 --plot=false"
awk 'NR > last {last = NR + $1 + 1; ++n} n > 40 {exit} {print}' "$tio2" > few.xyz  # frames
same() {  # same NAME FLAG...: without LibTorch, with it, and with the check of the first batch
  local name=$1
  shift
  succeeds "$alone" --check_gradient=false --output_dir="$name" "$@"
  succeeds "$libtorch" --check_gradient=false --output_dir="$name-libtorch" "$@"
  succeeds "$train" --output_dir="$name-checked" "$@"
  for other in libtorch checked; do
    $diff "$name/last.safetensors" "$name-$other/last.safetensors" || fail "$name differs: $other"
  done
}
same energies $few f.safetensors
same forces $few --species=Ti,O --rad_cutoff=3 --rad_order=4 --ang_cutoff=2.5 --ang_order=2 few.xyz
same moments $many_body --species=Ti,O few.xyz
same conve --embedding_dim=32 --embedding_height=8 --embedding_width=4 --max_epochs=2 t.safetensors
same distmult --kge_model=distmult --embedding_dim=8 --max_epochs=2 --precision=fp64 t.safetensors

# A run goes on without LibTorch from what one with it has written, and the other way around.
succeeds "$alone" --check_gradient=false $few --max_epochs=4 --resume --output_dir=energies-checked f.safetensors
succeeds "$train" $few --max_epochs=4 --resume --output_dir=energies f.safetensors
$diff energies/last.safetensors energies-checked/last.safetensors || fail "resumed runs differ"

# While it trains, nothing of LibTorch is in its memory.
"$train" --hidden=6 --max_epochs=1000000 --output_dir=long f.safetensors > /dev/null 2> log &
pid=$!
for i in $(seq 300); do [ -s long/log.tsv ] && break || sleep 0.1; done
[ -s long/log.tsv ] || fail "no epoch: $(cat log)"
if grep 'libtorch\|libc10' /proc/$pid/maps; then fail "LibTorch is loaded"; fi
for i in $(seq 300); do pgrep -P $pid > others && sleep 0.1 || break; done
[ ! -s others ] || fail "the process that checks the first batch does not end"
kill -TERM $pid
wait $pid
status=$?
[ $status = 143 ] || fail "status $status after SIGTERM"

# Whatever asks for LibTorch says so where the program that has it is missing, and nothing is written.
missing='needs LibTorch, .*/alone/train-libtorch does not exist; install train-libtorch in the same directory as train'
needs() {  # needs WHAT FLAG...
  refuses "$1 $missing" "$alone" "${@:2}" --output_dir=h f.safetensors
}
needs '--check_gradient, which is on unless it is set to false,'
for flag in compile_mode=none compile_mode=script optimizer=lbfgs num_processes=2 \
  float32_matmul_precision=high precision=fp16-mixed precision=bf16-mixed; do
  needs "--$flag" --check_gradient=false "--$flag"
done
RUTILE_PROFILE_DIR=. needs --operators --check_gradient=false --operators
needs --mixed_precision --check_gradient=false --mixed_precision
RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 \
  needs 'a run of several processes (torchrun)' --check_gradient=false
# GPUs have kernels of train's own, if it was built with nvcc; what these lack needs LibTorch.
if "$train" --version | grep -q 'kernels for GPUs: yes'; then
  refuses 'device cuda:1000: ' "$alone" --check_gradient=false --device=cuda:1000 --output_dir=h f.safetensors
else
  needs --device=cuda:1 --check_gradient=false --device=cuda:1
fi
needs --precision=fp16-mixed --check_gradient=false --device=cuda --precision=fp16-mixed
# With --device=cpu, bf16-mixed is the kernels' own, where the processor has it.
"$alone" --check_gradient=false --device=cpu --precision=bf16-mixed $few --output_dir=bf16 f.safetensors \
  > /dev/null 2> err || expect_line 'bf16-mixed needs a CPU with' err
[ ! -e h ] || fail "a run that could not start left something"

# Errors that are seen at once are reported without it.
refuses 'needs structures' "$alone"
refuses 'nowhere.xyz' "$alone" --check_gradient=false --output_dir=h nowhere.xyz
refuses 'no such flag\|unknown flag' "$alone" --nosuch f.safetensors

# What the check finds in its own process ends a run that is new, and leaves nothing of it.
checks() {  # checks SCRIPT: what train-libtorch does
  printf '#!/bin/sh\n%s\n' "$1" > alone/train-libtorch
  chmod +x alone/train-libtorch
}
# The program that train becomes learns when train started, for --max_time, and that this is of its own process.
checks 'echo "$$ $RUTILE_START"'
"$alone" --check_gradient=false --compile_mode=none --output_dir=h f.safetensors > start
awk 'NF != 3 || $1 != $2 || $3 < 1e18 {exit 1}' start || fail "the start is passed on as $(cat start)"
few_steps="--hidden=6 --max_epochs=2 --plot=false --save_interval=0"
checks 'printf "\0363\036example 3 is odd" >&2'
refuses 'example 3 is odd$' "$alone" $few_steps --output_dir=odd f.safetensors
[ -z "$(find odd -type f ! -name lock)" ] || fail "left: $(find odd -type f)"
# A run that was there stays.
sum=$(cat energies/*.safetensors energies/log.tsv | cksum)
refuses 'example 3 is odd$' "$alone" $few_steps --overwrite --output_dir=energies f.safetensors
refuses 'example 3 is odd$' "$alone" $few --max_epochs=5 --resume --output_dir=energies f.safetensors
mkdir -p kept/checkpoints
cp energies/checkpoints/last.safetensors kept/checkpoints/epoch-00002.safetensors
refuses 'example 3 is odd$' "$alone" $few --max_epochs=5 --resume=kept/checkpoints/epoch-00002.safetensors \
  --output_dir=kept f.safetensors
[ -e kept/checkpoints/epoch-00002.safetensors ] || fail "a checkpoint to resume from is gone"
# It ends a run at once, not when there is something to save, and is bad input, whoever finds it.
checks 'sleep 1; printf "\0369\036the gradients differ" >&2'
refuses 'the gradients differ$' timeout 60 "$alone" $few_steps --max_epochs=100000000 --save_interval=1000 \
  --output_dir=odd f.safetensors
refuses 'the gradients differ$' "$alone" $few_steps --overwrite --output_dir=energies f.safetensors
checks 'printf "\0363\036example 3 is odd" >&2'
[ "$(cat energies/*.safetensors energies/log.tsv | cksum)" = "$sum" ] || fail "the old run is another"
# Steps that fail meanwhile do not hide it.
refuses 'example 3 is odd$' "$alone" $few_steps --learning_rate=1e30 --output_dir=odd f.safetensors
checks 'echo "some words" >&2; echo train: no memory >&2; echo "a table" >&2; exit 4'
refuses 'first batch, ended with status 4 before it had done so, and said last: train: no memory; --check_gradient' \
  "$alone" $few_steps --output_dir=odd f.safetensors
checks 'kill -9 $$'
refuses 'ended by signal 9 before' "$alone" $few_steps --output_dir=odd f.safetensors
checks 'printf "\0360\036" >&2'
succeeds "$alone" $few_steps --output_dir=even f.safetensors
"$alone" $few_steps --output_dir=closed f.safetensors <&- 2>&- > /dev/null || fail "closed standard streams"
# It ends with train, whatever ends that.
checks 'echo $$ > checker; sleep 100'
"$alone" $few_steps --output_dir=killed f.safetensors > /dev/null 2> log &
for i in $(seq 300); do [ -s checker ] && break || sleep 0.1; done
kill -9 $!
wait $! 2> /dev/null
for i in $(seq 300); do kill -0 "$(cat checker)" 2> /dev/null && sleep 0.1 || break; done
if kill -0 "$(cat checker)" 2> /dev/null; then fail "the process that checks is left"; fi
# Programs of two builds do not work together.
RUTILE_BUILD=0.0.9.00000000 refuses 'train was started by a program of another build (0.0.9.00000000, this one: ' \
  "$libtorch" $few_steps --output_dir=h f.safetensors

# The other program is found through links, gets the parsed command in the same process, and its status is the tool's.
mkdir links
ln -s ../alone/train links/train
printf '#!/bin/sh\necho "$$:$*"\nexit 7\n' > alone/train-libtorch
printf -- '--seed=3\n--max_epochs=1\n' > flags.txt
links/train --flagfile=flags.txt --compile_mode=none --output_dir="a b" f.safetensors > said 2> log &
pid=$!
wait $pid
status=$?
[ $status = 7 ] || fail "status $status: $(cat log)"
words="--seed=3 --max_epochs=1 --compile_mode=none --output_dir=a b f.safetensors"
[ "$(cat said)" = "$pid:$words" ] || fail "$pid: command: $(cat said)"
# Structures and names of files by a pipe are there for it.
printf '#!/bin/sh\ncat > piped\n' > alone/train-libtorch
for input in - list:-; do
  "$alone" --output_dir=h "$input" < few.xyz
  cmp few.xyz piped || fail "$input: standard input was read before"
done
# So are pipes by name, and several models are checked where they are trained.
printf '#!/bin/sh\necho "$$"\n' > alone/train-libtorch
"$alone" --output_dir=h list:<(echo few.xyz) > said &
wait $! 2> /dev/null
[ "$(cat said)" = $! ] || fail "a list by a pipe is read twice"
"$alone" --output_dir=h <(cat few.xyz) > said &
wait $! 2> /dev/null
[ "$(cat said)" = $! ] || fail "a pipe by name is read twice"
"$alone" --committee=2 --output_dir=h few.xyz > said &
wait $! 2> /dev/null
[ "$(cat said)" = $! ] || fail "a committee is checked beside"
finish
