#!/usr/bin/env bash
# instruction_counts.sh with a valgrind that pretends: 3 % are let pass, more is not, and --update writes the counts.
# shellcheck disable=SC2016 # what programs are made of
set -uo pipefail
script=$(realpath "$1")
scratch=${TEST_TMPDIR:-$(mktemp -d)}/counts
rm -rf "$scratch" && mkdir -p "$scratch/bin" && cd "$scratch" || exit 1
printf '#!/bin/sh\n[ "$1" = --version ] && echo valgrind-0 && exit\nfor name; do :; done\n. ./counted\n' > bin/valgrind
printf '#!/bin/sh\nprintf "a\\nb\\n"\n' > program
chmod +x bin/valgrind program
export PATH=$scratch/bin:$PATH

failures=0
expect() { # expect STATUS TEXT ARGUMENT...
  local status=$1 text=$2
  shift 2
  "$script" "$@" > out 2>&1
  if [ $? != "$status" ] || ! grep -qF -- "$text" out; then
    echo "FAILED: instruction_counts.sh $*: expected status $status and: $text" >&2
    cat out >&2
    failures=$((failures + 1))
  fi
}
printf 'kind\tname\tvalue\nratio\ta\t5\ninstructions\tgone\t7\n' > baselines
echo '[ $name = a ] && echo "==1== Collected : 1000" || echo "==1== Collected : 2000"' > counted
expect 2 'is in the baselines alone' ./program baselines
"$script" --update ./program baselines || exit 1
expect 0 '+0.00 %' ./program baselines
[ "$(cut -f1-3 baselines | tr '\t\n' ' ,')" = 'kind name value,instructions a 1000,instructions b 2000,ratio a 5,' ] ||
  { echo "FAILED: what --update wrote" >&2; cat baselines >&2; failures=$((failures + 1)); }
echo '[ $name = a ] && echo "==1== Collected : 1029" || echo "==1== Collected : 1945"' > counted
expect 0 '-2.75 %' ./program baselines
echo '[ $name = a ] && echo "==1== Collected : 1031" || echo "==1== Collected : 2000"' > counted
expect 2 '+3.10 %  DIFFERS' ./program baselines
expect 2 'write the new counts with' ./program baselines
expect 0 '+3.10 %' --limit=5 ./program baselines
echo 'exit 3' > counted
expect 0 'no AVX2' ./program baselines
echo 'echo "==1== Collected : 0"' > counted
expect 1 'callgrind counted nothing' ./program baselines
expect 1 'nowhere: cannot be read' ./program nowhere
[ $failures = 0 ]
