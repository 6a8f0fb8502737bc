#!/usr/bin/env bash
# The helpers of tool_test.sh notice what they are for: each is called where it holds and where it does not.
set -uo pipefail
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

wrong=0
# holds HELPER...: it counts no failure. notices HELPER...: it counts one, or more.
holds() {
  failures=0
  "$@" > said
  [ $failures = 0 ] || { echo "not held: $*: $(cat said)"; wrong=1; }
}
notices() {
  failures=0
  "$@" > said
  [ $failures != 0 ] || { echo "not noticed: $*"; wrong=1; }
}
# program STATUS TEXT [LINE]: says the line, if there is one, and the text on standard error, and has this status.
program() {
  [ -z "${3-}" ] || echo "$3" >&2
  echo "$2" >&2
  return "$1"
}

printf 'one\ntwo.three\n' > file
holds expect_line '^one$' file
notices expect_line '^on$' file
notices expect_line one missing 2> /dev/null
holds expect_no_line '^on$' file
notices expect_no_line 'two.' file
holds expect_text 'two.' file
notices expect_text 't.o' file
holds expect_line '--flag\|one' file

holds succeeds program 0 well
[ "$(cat log)" = well ] || { echo "log: $(cat log)"; wrong=1; }
notices succeeds program 3 ill

holds refuses 'too large$' program 1 'x: too large' 'x: starts'
notices refuses 'too large$' program 2 'x: too large'
notices refuses 'too large$' program 0 'x: too large'
notices refuses 'starts' program 1 'x: too large' 'x: starts'

holds expect_error 2 'too large' program 2 'x: too large' 'x: warning: odd'
notices expect_error 2 'too large' program 1 'x: too large'
notices expect_error 2 'too small' program 2 'x: too large'
notices expect_error 2 'too large' program 2 'x: too large' 'x: starts'

holds makes_nothing gone 'too large' program 1 'x: too large'
notices makes_nothing gone 'too large' program 2 'x: too large'
leaves() { touch kept; program 1 'x: too large'; }
notices makes_nothing kept 'too large' leaves
[ $wrong = 0 ]
