#!/usr/bin/env bash
# Installs what is missing, builds, runs every test; the last line is "N passed, N failed". Arguments go to bazel test.
set -uo pipefail
cd "$(dirname "$0")/.."
tools/bootstrap.sh test || exit 1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
bazel test --keep_going --test_summary=short --noshow_progress "$@" -- //... 2>&1 | tee "$log" |
  grep -vE '^(INFO|Loading|Analyzing):? '
status=${PIPESTATUS[0]}

passed=$(grep -cE '^//.* PASSED' "$log")
failed=$(grep -cE '^//.* (FAILED|TIMEOUT|NO STATUS|FLAKY)' "$log")
# Something that is not a test did not build, or Bazel itself failed: that is a failure too.
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
