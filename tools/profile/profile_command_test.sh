#!/usr/bin/env bash
# profile -- COMMAND with fake tools, which write a record, a damaged one or none, end well, badly or not at all.
set -uo pipefail
profile=$PWD/tools/profile/profile
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
export XDG_CACHE_HOME=$TEST_TMPDIR/cache

# A tool: what RUTILE_PROFILE_DIR asks for, two stages and two spans. $1: its name, $2: seconds in "search".
cat > tool << 'END'
#!/bin/sh
echo "result of $1"
[ -n "${RUTILE_PROFILE_DIR:-}" ] || exit 9
cat > "$RUTILE_PROFILE_DIR/$1-$$.json" << JSON
{"kind": "rutile.profile/1", "tool": "$1", "version": "0.1.0", "command": ["$1", "data"], "pid": $$, "parent_pid": 1,
 "start_unix_ns": 1700000000000000000, "wall_s": 2.0, "cpu_s": 2.1, "peak_rss_bytes": 50000000, "exit_status": 0,
 "threads": [{"id": 0, "name": "main"}],
 "stages": [{"name": "other", "path": "other", "thread": 0, "calls": 1, "self_s": 0.5, "total_s": 0.5},
            {"name": "search", "path": "search", "thread": 0, "calls": 4, "self_s": $2, "total_s": $2,
             "counters": {"atoms": 3000000, "pairs": 60000000}}],
 "spans": [[0, 0, 0, 500000000], [1, 0, 500000000, 1500000000]], "spans_dropped": 0,
 "machine": {"cpu": "some", "processors": 2, "usable_processors": 2, "memory_bytes": 8000000000}}
JSON
END
chmod +x tool

$profile --peaks=false -- ./tool featurize 1.5 > out 2> page || fail "status $? of a plain run: $(cat page)"
[ "$(cat out)" = "result of featurize" ] || fail "standard output is the command's: $(cat out)"
for text in 'featurize (' '75.0 %' '2 M atoms/s' 'bottleneck: featurize spends 75 %' 'stages add up to 100.0 %'; do
  expect_text "$text" page
done

# Stages that do not add up are told of.
$profile --peaks=false -- ./tool featurize 0.5 > out 2> page || fail "stages that do not add up"
expect_line 'more than 3 % off' page

# A table for scripts; the command's own results then go to standard error.
$profile --tsv --peaks=false -- ./tool featurize 1.5 > out 2> page || fail "tsv"
head -n 1 out | grep -q '^process	tool	pid	thread	stage	calls	self\[s\]' || fail "header: $(head -n 1 out)"
[ "$(wc -l < out)" = 3 ] || fail "rows: $(cat out)"
expect_line 'result of featurize' page

# A pipeline in a shell: each of its tools. Files for people and programs.
$profile --peaks=false --output_dir=files -- sh -c './tool featurize 1.5 && ./tool train 1.5 | cat' > out 2> page ||
  fail "pipeline: $(cat page)"
expect_line '2 processes recorded' page
python3 - << 'END' || fail "the files of --output_dir"
import json, xml.etree.ElementTree as xml
events = json.load(open("files/trace.json"))["traceEvents"]
names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert names == {"featurize", "train"}, events
assert sum(e["ph"] == "X" for e in events) == 4
html = open("files/report.html").read()
xml.fromstring(html[html.index("<html"):])
assert "search" in html and "Timeline" in html
assert len(open("files/stages.tsv").read().splitlines()) == 5
END
[ "$(ls files/records | wc -l)" = 2 ] || fail "records: $(ls files/records)"
# The same from the records that were kept.
$profile --peaks=false --records=files/records 2> again || fail "--records: $(cat again)"
expect_line '2 processes recorded' again
expect_error 1 'no record of a tool' $profile --peaks=false --records=nowhere

# Without -- the command's flags would be profile's.
expect_error 1 'unknown flag --species; .*a command comes after --, .*profile -- train' $profile train --species=Ti,O x

# Status and signals are passed on.
$profile --peaks=false -- sh -c './tool train 1.5; exit 7' > /dev/null 2> page
[ $? = 7 ] || fail "status of the command"
$profile --peaks=false -- sh -c 'kill -9 $$' > /dev/null 2> page
[ $? = 137 ] || fail "status of a command that was killed"
expect_line 'ended by signal 9 (Killed) before' page
$profile --peaks=false -- sh -c 'exit 3' > /dev/null 2> page
[ $? = 3 ] || fail "status of a tool that crashes"
expect_line 'failed with status 3' page
$profile --peaks=false -- true > /dev/null 2> page || fail "a command without record is no failure"
expect_line 'true is no tool of rutile' page
$profile --peaks=false -- sh -c 'trap "exit 43" TERM; while :; do sleep 0.05; done' > /dev/null 2> page &
sleep 1
kill -TERM $!
wait $!
[ $? = 43 ] || fail "SIGTERM is not passed on: $(cat page)"

# --max_time cuts; a tool that then ends as it should is no failure.
$profile --peaks=false --max_time=500ms -- sh -c \
  'trap "./tool train 1.5; trap - TERM; kill -TERM \$\$" TERM; while :; do sleep 0.05; done' > /dev/null 2> page ||
  fail "status $? of a run that was cut: $(cat page)"
expect_line 'cut short by --max_time' page

# Damaged records are named, and others are shown.
damage='cd $RUTILE_PROFILE_DIR; echo "{" > x-1.json; echo "[1]" > y-2.json; : > z-3.json; cd "$OLDPWD"'
$profile --peaks=false -- sh -c "./tool train 1.5; $damage" > /dev/null 2> page || fail "damaged records: $(cat page)"
for text in 'train (' 'record x-1.json is left out' 'record y-2.json is left out' 'record z-3.json is left out'; do
  expect_text "$text" page
done

expect_error 1 'no-such-command' $profile -- no-such-command --flag
expect_error 1 'needs a command' $profile
expect_error 1 'needs a command' $profile --tune
expect_error 1 'runs no command' $profile --machine -- true
expect_error 1 'give one of them' $profile --tune --find_lr -- true
expect_error 1 'flagfile_output has no effect with --find_lr' $profile --find_lr --flagfile_output=x -- true
expect_error 1 'max_time=soon' $profile --max_time=soon -- true
expect_error 1 'is not train' $profile --tune -- true
expect_error 1 'memory_limit=much' $profile --find_batch_size --memory_limit=much -- train x
expect_error 1 'allow=all' $profile --tune --allow=all -- train x
expect_error 1 'min_lr=0' $profile --find_lr --min_lr=0 -- train x
expect_error 1 'max_lr=1e-09' $profile --find_lr --max_lr=1e-9 -- train x
expect_error 1 'lr_steps=5' $profile --find_lr --lr_steps=5 -- train x
touch file
expect_error 1 'file' $profile --output_dir=file -- true

# The machine: facts and rates, and again from the cache.
succeeds $profile --machine && mv stdout machine
for name in cpu usable_processors memory fma_fp32_one memory_read_all; do
  awk -F '\t' -v name=$name '$1 == name && $2 != "" && NF == 3 { found = 1 } END { exit !found }' machine ||
    fail "no $name: $(cat machine)"
done
$profile --machine 2> log | cmp - machine || fail "the second time differs"
# With peaks there is a share of the limit where flop or bytes were counted, and a page all the same where not.
$profile -- ./tool featurize 1.5 > /dev/null 2> page || fail "with peaks"
expect_line '^peaks:' page
finish
