#!/usr/bin/env bash
# Runs four processes on two machines: network namespaces with addresses, host names and /etc/hosts of their own. Each
# machine maps its own name to 127.0.1.1, as Debian does. Skipped if users cannot create namespaces.
set -uo pipefail
if [ "${1-}" != inside ]; then
  inside=(unshare --user --map-root-user --net --uts --mount --pid --mount-proc --fork --kill-child)
  if ! "${inside[@]}" ip link add name eth0 type veth peer name eth1; then
    echo "SKIPPED: no namespaces here"
    exit 0
  fi
  exec "${inside[@]}" "$0" inside
fi
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
diff=$PWD/lib/tensorfile/diff
cp data/tio2-pbe/tio2-pbe.extxyz "$TEST_TMPDIR/set.extxyz"
. tools/common/tool_test.sh
. tools/train/tests/same_run.sh
cd "$TEST_TMPDIR" || exit 1
unset RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT OMP_NUM_THREADS
options="--species=Ti,O --rad_cutoff=4 --hidden=6 --precision=fp64 --seed=5 --max_epochs=2"

# This shell is node1; node2 gets its namespaces from a process that only sleeps.
hostname node1
mkfifo ready
unshare --net --uts --mount sh -c 'hostname node2; echo > ready; exec sleep 600' &
node2=$!
read -r < ready
ip link add name eth0 type veth peer name eth0 netns $node2
# on NODE COMMAND...
on() {
  if [ "$1" = 1 ]; then "${@:2}"; else nsenter --target $node2 --net --uts --mount env --chdir="$PWD" "${@:2}"; fi
}
for node in 1 2; do
  on $node ip link set lo up
  on $node ip link set eth0 up
done
# addresses PREFIX: sets the addresses and names of both machines.
addresses() {
  local node
  for node in 1 2; do
    printf '127.0.0.1 localhost\n%s.1 node1\n%s.2 node2\n' "$1" "$1" | sed "s/.* node$node/127.0.1.1 node$node/" \
      > hosts$node
    on $node mount --bind hosts$node /etc/hosts
    on $node ip address add "$1.$node/24" dev eth0
  done
}
# together NAME VARIABLE=VALUE...: runs four processes; @RANK stands for the rank of each.
together() {
  local rank name=$1 status=0 pids=() of=("${@:2}")
  for rank in 3 2 1 0; do
    local node=$((rank / 2))
    # shellcheck disable=SC2086
    on $((node + 1)) env "${of[@]/@RANK/$rank}" SLURM_NODEID=$node \
      $train $options --threads=1 --output_dir="$name" set.extxyz > "$name.out$rank" 2> "$name.err$rank" &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || status=1; done
  mv "$name.out0" "$name.out"
  mv "$name.err0" "$name.err"
  [ $status = 0 ] || fail "$name: $(cat "$name".err*)"
}

# shellcheck disable=SC2086
$train $options --output_dir=one set.extxyz > one.out 2> one.err || fail "one process: $(cat one.err)"
# shellcheck disable=SC2086
if ! $train $options --num_processes=4 --output_dir=four set.extxyz > four.out 2> four.err; then
  grep -q "its LibTorch came without Gloo's headers" four.err && { finish; exit; }
  fail "four processes: $(cat four.err)"
fi
same one four
# Gloo connects from the higher of two addresses: 127.0.1.1 is above the first and below the second.
for prefix in 10.9.9 192.168.9; do
  addresses $prefix
  together "torchrun-$prefix" RANK=@RANK WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=node1
  together "slurm-$prefix" SLURM_PROCID=@RANK SLURM_NTASKS=4 'SLURM_STEP_TASKS_PER_NODE=2(x2)' \
    'SLURM_STEP_NODELIST=node[1-2]'
  for name in "torchrun-$prefix" "slurm-$prefix"; do
    same one "$name"
    $diff four/last.safetensors "$name/last.safetensors" || fail "$name: other bits than four processes of one machine"
  done
done
kill $node2
finish
