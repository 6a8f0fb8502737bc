# Sourced by the tests of tools from the shell. Counts failures; a test ends with `finish`.
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
finish() {
  ls ./*.tmp.* 2> /dev/null && fail "temporary files are left"
  [ $failures = 0 ]
}
# expect_error STATUS PATTERN COMMAND...: one line on standard error that holds the pattern, nothing on standard output.
expect_error() {
  local expected=$1 pattern=$2 status
  shift 2
  "$@" > stdout 2> err
  status=$?
  [ $status = "$expected" ] || fail "status $status of: $*: $(cat err)"
  [ "$(grep -vc ': warning: ' err)" = 1 ] || fail "not one line of: $*: $(cat err)"
  grep -q -- "$pattern" err || fail "no '$pattern' in: $(cat err)"
  [ ! -s stdout ] || fail "standard output of: $*: $(cat stdout)"
}
