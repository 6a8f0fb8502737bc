#!/usr/bin/env bash
# What a run is that is told nothing but data and elements, --preset=aenet, and what a resumed run keeps of either.
set -uo pipefail
train=$PWD/tools/train/train
python3 - data/tio2-pbe/tio2-pbe.extxyz "$TEST_TMPDIR/set.extxyz" << 'PYTHON'
import sys
lines = open(sys.argv[1]).read().splitlines(True)
out, at = [], 0
while at < len(lines) and len(out) < 40:
    atoms = int(lines[at])
    out.append("".join(lines[at:at + atoms + 2]))
    at += atoms + 2
open(sys.argv[2], "w").write("".join(out[::2]))
PYTHON
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
value() { python3 -c "import json; print(json.load(open('$1/config.json'))['flags']['$2']['value'])"; }
# has RUN FLAG VALUE: the value in effect.
has() { [ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is $(value "$1" "$2"), expected $3"; }
short="--species=Ti,O --rad_cutoff=4 --plot=false --validation_fraction=0.2"

succeeds $train $short --max_epochs=2 --output_dir=a set.extxyz
expect_line 'forces are learned, too: --force_weight=0.3' log
has a hidden 32,32
has a activation silu
has a batch_size 8
has a learning_rate 0.01
has a lr_scheduler cosine
has a force_weight 0.3
has a energy_weight 0.7
has a ang_cutoff 5,3
has a ang_order 4,4
# A longer run stretches the schedule that nobody asked for.
succeeds $train $short --max_epochs=3 --output_dir=a --resume set.extxyz
expect_line 'lr_period' log

# Over two epochs it falls by steps, if there are 100 of them.
interval() { python3 -c "import json; print(json.load(open('$1/config.json'))['lr_interval'])"; }
last_rate() { awk -F '\t' '{ rate = $3 } END { print rate }' "$1/log.tsv"; }
[ "$(interval a)" = epoch ] || fail "the schedule of six steps counts by $(interval a)"
for ((copy = 0; copy < 4; ++copy)); do cat set.extxyz; done > many.extxyz
energies="$train $short --force_weight=0 --batch_size=1 --check_gradient=false --output_dir=i"
succeeds $energies --max_epochs=2 many.extxyz
[ "$(interval i)" = step ] || fail "the schedule of two epochs counts by $(interval i)"
awk "BEGIN { exit !($(last_rate i) < 0.00001) }" || fail "the last rate is $(last_rate i)"
# A run that goes on counts in what it did, whatever its length, or is told otherwise.
succeeds $energies --max_epochs=4 --resume many.extxyz
[ "$(interval i)" = step ] || fail "resumed for four epochs, the schedule counts by $(interval i)"
refuses 'lr_interval' $energies --max_epochs=5 --resume --lr_interval=epoch many.extxyz
succeeds $energies --max_epochs=3 --overwrite many.extxyz
[ "$(interval i)" = epoch ] || fail "the schedule of three epochs counts by $(interval i)"
succeeds $energies --max_epochs=1 --lr_interval=epoch --overwrite many.extxyz
succeeds $energies --max_epochs=2 --resume many.extxyz
[ "$(interval i)" = epoch ] || fail "resumed, the schedule counts by $(interval i)"
awk "BEGIN { exit !($(last_rate i) > 0.0049) }" || fail "the second of two epochs has the rate $(last_rate i)"

# Energies alone: by flag, by a file that was made for them, and where there are no forces.
succeeds $train $short --force_weight=0 --max_epochs=1 --output_dir=e set.extxyz
expect_no_line 'forces are learned' log
has e force_weight 0
has e energy_weight 1
sed 's/:forces:R:3//; s/^\( *[A-Z][a-z]* .*\)$/\1/' set.extxyz |
  awk 'NF == 7 && $1 ~ /^[A-Z]/ { print $1, $2, $3, $4; next } { print }' > bare.extxyz
succeeds $train $short --max_epochs=1 --output_dir=n bare.extxyz
has n force_weight 0
# A flag that says how forces are learned says that they are.
succeeds $train $short --force_fraction=0.5 --max_epochs=1 --output_dir=f set.extxyz
has f force_weight 0.3

# Without an end in epochs or steps a schedule has nothing to span.
succeeds $train $short --max_epochs=-1 --max_time=1s --output_dir=t set.extxyz
has t lr_scheduler constant
succeeds $train $short --force_weight=0 --optimizer=lbfgs --max_epochs=1 --output_dir=l set.extxyz
has l lr_scheduler constant

# aenet's, which a resumed run keeps without being told.
succeeds $train $short --preset=aenet --max_epochs=1 --output_dir=p set.extxyz
for setting in hidden=15,15 activation=tanh batch_size=32 learning_rate=0.001 lr_scheduler=constant force_weight=0; do
  has p "${setting%%=*}" "${setting#*=}"
done
succeeds $train $short --max_epochs=2 --output_dir=p --resume set.extxyz
has p hidden 15,15
has p batch_size 32
expect_line '^--preset=aenet$' p/flags.txt
refuses 'preset=other' $train $short --preset=other --output_dir=o set.extxyz
[ ! -e o ] || fail "a run was begun"
finish
