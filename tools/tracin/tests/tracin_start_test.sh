#!/usr/bin/env bash
# Which of tracin's two binaries runs: LibTorch is loaded for --verify alone.
. tools/tracin/tests/kge_testing.sh

libraries() { ldd "$1" | grep -c 'libtorch\|libc10'; }
[ "$(libraries "$tracin")" = 0 ] || fail "tracin links LibTorch: $(ldd "$tracin")"
[ "$(libraries "$tracin-verify")" != 0 ] || fail "tracin-verify has no LibTorch"

# Users see one tool.
$tracin --help > help && "$tracin-verify" --help | cmp - help || fail "another --help"
$tracin --version > version && "$tracin-verify" --version | cmp - version || fail "another --version"

# Without the other binary everything but --verify works, which reports what is missing.
mkdir alone
cp -L "$tracin" alone/tracin
ok expected.tsv $data --precision=fp64 --loss=1n $saved
tracin=$PWD/alone/tracin
ok alone.tsv $data --precision=fp64 --loss=1n $saved && cmp alone.tsv expected.tsv || fail "alone"
refuses '--verify needs LibTorch, .*/alone/tracin-verify does not exist; install tracin-verify in the same directory' \
  $data --verify=1 $saved

# The other binary is found through links, gets the parsed command in the same process, and its status is the tool's.
mkdir links
ln -s ../alone/tracin links/tracin
printf '#!/bin/sh\necho "$$:$*"\n[ -z "${WAIT:-}" ] || sleep 30\nexit 7\n' > alone/tracin-verify
chmod +x alone/tracin-verify
printf -- '--verify=1\n--top_k=3\n' > flags.txt
links/tracin $data --flagfile=flags.txt "run/a b.safetensors" > said 2> log &
pid=$!
wait $pid
status=$?
[ $status = 7 ] || fail "status $status: $(cat log)"
[ "$(cat said)" = "$pid:$data --verify=1 --top_k=3 run/a b.safetensors" ] || fail "$pid: command: $(cat said)"
# Errors in flags are reported without it.
refuses '--top_k=-1: expected' $data --verify=1 --top_k=-1 $saved
refuses 'no such flag\|unknown flag' $data --verify=1 --nosuch $saved
# A signal reaches it.
WAIT=1 links/tracin $data --verify=1 x.safetensors > said 2> log &
pid=$!
for i in $(seq 100); do [ -s said ] && break || sleep 0.1; done
kill -TERM $pid
wait $pid
status=$?
[ $status = 143 ] || fail "status $status after SIGTERM"
finish
