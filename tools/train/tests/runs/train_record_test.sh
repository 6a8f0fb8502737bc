#!/usr/bin/env bash
# The record of a run: config.json and flags.txt repeat it; both log formats, the curve, and their flags.
set -uo pipefail
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
diff=$PWD/lib/tensorfile/diff
cp data/tio2-pbe/tio2-pbe.extxyz "$TEST_TMPDIR/set one.extxyz"
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
config() { python3 -c "import json, sys; c = json.load(open('$1/config.json')); print(($2))"; }

# config.json's flagfile, flags.txt, and a file with flags before and after it give the same bits.
printf '# a file of flags\n--hidden=6,6\n  --noshuffle\n\nset one.extxyz\n' > settings
succeeds $train --species=Ti,O --rad_cutoff=4 --flagfile=settings --max_epochs=3 --seed=5 --log_every_n_steps=4 \
  --output_dir=a && mv stdout metrics
[ -s a/flags.txt ] || fail "no flags.txt"
succeeds $train --flagfile=<(config a "c['flagfile']") --output_dir=b && mv stdout metrics_b
succeeds $train --flagfile=a/flags.txt --overwrite --output_dir=c
for run in b c; do
  $diff a/best.safetensors $run/best.safetensors || fail "$run/best.safetensors differs"
  $diff a/last.safetensors $run/last.safetensors || fail "$run/last.safetensors differs"
  cut -f 1-6 a/log.tsv > log_a && cut -f 1-6 $run/log.tsv | cmp - log_a || fail "$run/log.tsv differs"
done
cmp metrics metrics_b || fail "metrics differ"
# A resumed run leaves a file of flags that repeats it in one go.
$train --flagfile=a/flags.txt --max_epochs=1 --output_dir=d > /dev/null 2>&1 || fail "first part"
succeeds $train --flagfile=a/flags.txt --resume --output_dir=d
$diff a/last.safetensors d/last.safetensors || fail "the resumed run differs"
grep -qE 'resume|overwrite' c/flags.txt d/flags.txt && fail "flags.txt is about the directory"
for file in log steps; do  # but for times
  cut -f 1-5 a/$file.tsv > rows_a && cut -f 1-5 d/$file.tsv | cmp - rows_a ||
    fail "$file.tsv of the resumed run differs"
  [ "$(wc -l < a/$file.jsonl)" = "$(wc -l < d/$file.jsonl)" ] || fail "$file.jsonl of the resumed run differs"
done

# config.json has every flag with its origin, versions and hardware, and all members of older versions.
[ "$(config a "c['flags']['hidden']")" = "{'value': '6,6', 'origin': 'flagfile settings'}" ] ||
  fail "$(config a "c['flags']['hidden']")"
[ "$(config a "c['flags']['seed']['origin'], c['flags']['beta1']['origin']")" = "('command line', 'default')" ] ||
  fail "origins"
[ "$(config a "c['flags']['precision']['value'], c['flags']['shuffle']['value']")" = "('fp32', 'false')" ] ||
  fail "effective values"
[ "$(config a "len(c['flags'])")" = "$($train --help=all | grep -cE '^  --' | awk '{print $1 - 3}')" ] ||
  fail "not every flag"
[ "$(config a "c['optimizer'], c['max_epochs'], 'provenance' in c")" = "('adam', 3, True)" ] || fail "older members"
config a "c['versions']['rutile'], c['versions']['libtorch'], c['versions']['compiler'], c['versions']['kernel']" \
  > /dev/null || fail "versions"
config a "c['hardware']['cpu'], c['hardware']['memory_bytes']" > /dev/null || fail "hardware"
grep -q -- "$(id -un)@\|$TEST_TMPDIR" a/config.json a/flags.txt && fail "config.json names a user or a place"

# Both logs have the same content, also for steps.
python3 - a << 'PYTHON' || fail "logs differ"
import json, sys
for name in "log", "steps":
    rows = [line.rstrip("\n").split("\t") for line in open(f"{sys.argv[1]}/{name}.tsv")]
    lines = [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl")]
    units = json.load(open(f"{sys.argv[1]}/config.json"))["log_units"]
    for line in lines:  # rows and nothing else, all with the same keys: what pandas.read_json(lines=True) wants
        assert [c + (f"[{units[c]}]" if units[c] else "") for c in line] == rows[0], rows[0]
    assert [[float(v) for v in line.values()] for line in lines] == [[float(v) for v in row] for row in rows[1:]]
    if name == "steps":
        assert [row[1] for row in rows[1:]] == [str(4 * (i + 1)) for i in range(len(rows) - 1)]
        assert rows[0][:5] == ["epoch", "step", "loss[eV/atom]", "learning_rate", "gradient_norm"], rows[0]
PYTHON

# The curve is drawn at the end, during training, or never; without gnuplot the run reports it once and goes on.
if command -v gnuplot > /dev/null; then
  expect_line '</svg>' a/learning_curve.svg
  succeeds $train --flagfile=a/flags.txt --plot_every=1 --output_dir=e
  expect_line '</svg>' e/learning_curve.svg
  $diff a/last.safetensors e/last.safetensors || fail "--plot_every changes the run"
fi
PATH=/nowhere $train --flagfile=a/flags.txt --plot_every=1 --output_dir=f > /dev/null 2> log ||
  fail "without gnuplot: $(cat log)"
[ "$(grep -c gnuplot log)" = 1 ] || fail "without gnuplot: $(cat log)"
succeeds $train --flagfile=a/flags.txt --plot=false --logger=jsonl --log_every_n_steps=0 --output_dir=g
[ -s g/log.jsonl ] || fail "jsonl alone: $(ls g)"
[ ! -e g/log.tsv ] || fail "jsonl alone: $(ls g)"
[ ! -e g/steps.jsonl ] || fail "jsonl alone: $(ls g)"
[ ! -e g/learning_curve.svg ] || fail "jsonl alone: $(ls g)"
succeeds $train --flagfile=a/flags.txt --log_every_n_steps=0 --overwrite --output_dir=c
[ ! -e c/steps.tsv ] || fail "--overwrite leaves the old run's steps"
expect_line 'best epoch .* -> c/best.safetensors' log

# A log gets lines by time, for each epoch with --verbose, and the last line alone with --quiet.
succeeds $train --flagfile=a/flags.txt --log_interval=1ns --overwrite --output_dir=c
expect_line '^train: epoch 3/3, 100 %: loss .* eV/atom, val_loss .* eV/atom, energy_rmse .* meV/atom, lr .* left' log
succeeds $train --flagfile=a/flags.txt --log_interval=0 --verbose --committee=2 --output_dir=members
[ "$(grep -c ': epoch ./3, ' log)" = 6 ] || fail "not a line for each epoch: $(cat log)"
expect_line '^train: member-01 (2 of 2): epoch 3/3' log
# A member's flags make it again, as a single run with its own seed, or go on with it in its place.
expect_no_line '^--committee' members/member-01/flags.txt
expect_line '^--output_dir=members/member-01$' members/member-01/flags.txt
[ "$(config members/member-01 "c['seed'], c['flags']['seed']['value']")" = "(6, '6')" ] || fail "the seed of a member"
succeeds $train --flagfile=members/member-01/flags.txt --output_dir=again
$diff members/member-01/last.safetensors again/last.safetensors || fail "a member that is made again differs"
succeeds $train --flagfile=members/member-01/flags.txt --max_epochs=4 --resume
expect_line ' -> members/member-01/best.safetensors' log
$diff members/member-01/last.safetensors again/last.safetensors > /dev/null && fail "the member did not go on"

# --max_time is the process's: the first member makes the one step that every run makes, and the second does not begin.
succeeds $train --flagfile=a/flags.txt --committee=2 --max_time=1ms --output_dir=late
expect_line 'max_time=1ms is over before member-01' log
# It counts from the start of train, which a program that train becomes finds in the environment of its own process and
# of no other (train_start_test has what train passes on).
started() {
  succeeds bash -c "export RUTILE_START=\"$1 0\"; exec \"\$@\"" - $train --flagfile=a/flags.txt --max_time=100h \
    --overwrite --output_dir=begun
}
# shellcheck disable=SC2016
started '$$'
expect_line 'max_time=100h after' log
started 1
expect_no_line 'max_time' log
[ -s late/member-00/best.safetensors ] || fail "no member-00: $(ls late)"
[ ! -e late/member-01/best.safetensors ] || fail "member-01 is trained late"
succeeds $train --flagfile=a/flags.txt --committee=2 --resume --output_dir=late
$diff again/last.safetensors late/member-01/last.safetensors || fail "the late member differs"
succeeds $train --flagfile=a/flags.txt --log_interval=0 --overwrite --output_dir=c
[ "$(grep -c ': epoch ' log)" = 0 ] || fail "lines without an interval: $(cat log)"
succeeds $train --flagfile=a/flags.txt --quiet --overwrite --output_dir=c
[ "$(wc -l < log)" = 1 ] || fail "--quiet: $(cat log)"
expect_line '^train: best epoch .* -> c/best.safetensors' log
expect_line '^validation' stdout

base="--species=Ti,O --max_epochs=1"
expect_error 1 'log_interval=often: expected seconds' $train $base --log_interval=often --output_dir=h 'set one.extxyz'
expect_error 1 'verbose has no effect with --quiet' $train $base --quiet --verbose --output_dir=h 'set one.extxyz'
expect_error 1 'log_interval has no effect with --progress=false' \
  $train $base --progress=false --log_interval=5 --output_dir=h 'set one.extxyz'
expect_error 1 'verbose has no effect with --barebones' \
  $train $base --barebones --verbose --output_dir=h 'set one.extxyz'
expect_error 1 'found "csv"' $train $base --logger=csv --output_dir=h 'set one.extxyz'
expect_error 1 'log_every_n_steps has no effect with --logger=none' \
  $train $base --logger=none --log_every_n_steps=5 --output_dir=h 'set one.extxyz'
expect_error 1 'log_every_n_steps is -1, expected 0' $train $base --log_every_n_steps=-1 --output_dir=h 'set one.extxyz'
expect_error 1 'plot_every=-1' $train $base --plot_every=-1 --output_dir=h 'set one.extxyz'
expect_error 1 'plot_every has no effect with --plot=false' \
  $train $base --plot=false --plot_every=2 --output_dir=h 'set one.extxyz'
expect_error 1 'plot_every has no effect with --logger=jsonl' \
  $train $base --logger=jsonl --plot_every=2 --output_dir=h 'set one.extxyz'
expect_error 1 'logger has no effect with --barebones' \
  $train $base --barebones --logger=tsv --output_dir=h 'set one.extxyz'
expect_error 1 'plot has no effect with --fast_dev_run' $train --species=Ti,O --fast_dev_run=1 --plot 'set one.extxyz'
printf -- '--species=Ti,O\n--hiden=4\n' > wrong
expect_error 1 'wrong:2: no flag "--hiden=4"' $train --flagfile=wrong --output_dir=h 'set one.extxyz'
expect_error 1 'no/file' $train --flagfile=no/file --output_dir=h 'set one.extxyz'
[ ! -e h ] || fail "a run that could not start left something: $(ls -R h)"
finish
