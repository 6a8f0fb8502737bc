# Sourced by the tests of tools from the shell. Counts failures; a test ends with `finish`.
#
# Runs of `train` in tests have --check_gradient=false: the check of the first batch starts LibTorch, which takes 0.6 s
# of a processor, where many of these runs take 0.02 s. Tests in tools/train/tests check one run of each kind of
# potential, model, loss and precision: there `checked` is `train` as users start it.
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
finish() {
  ls ./*.tmp.* 2> /dev/null && fail "temporary files are left"
  [ $failures = 0 ]
}
# expect_line PATTERN FILE: a line of the file matches; expect_no_line: none does; expect_text: a line holds this text.
expect_line() {
  grep -q -e "$1" -- "$2" || fail "no line '$1' in $2: $(cat "$2")"
}
expect_no_line() {
  if grep -q -e "$1" -- "$2"; then fail "a line '$1' in $2: $(cat "$2")"; fi
}
expect_text() {
  grep -qF -e "$1" -- "$2" || fail "no text '$1' in $2: $(cat "$2")"
}
# succeeds COMMAND...: with status 0. Its standard output is in the file stdout, its standard error in the file log.
succeeds() {
  "$@" > stdout 2> log || fail "status $? of: $*: $(cat log)"
}
# refuses PATTERN COMMAND...: status 1, and the last line of standard error, in the file err, says why.
refuses() {
  local pattern=$1 status
  shift
  "$@" > stdout 2> err
  status=$?
  [ $status = 1 ] || fail "status $status of: $*: $(cat err)"
  tail -n 1 err | grep -q -e "$pattern" || fail "no '$pattern' in the last line of: $*: $(cat err)"
}
# expect_error STATUS PATTERN COMMAND...: one line on standard error, but for warnings and progress, that holds the
# pattern, and nothing on standard output.
expect_error() {
  local expected=$1 pattern=$2 status
  shift 2
  "$@" > stdout 2> err
  status=$?
  [ $status = "$expected" ] || fail "status $status of: $*: $(cat err)"
  [ "$(grep -Evc ': warning: |: epoch [0-9]' err)" = 1 ] || fail "not one line of: $*: $(cat err)"
  grep -q -- "$pattern" err || fail "no '$pattern' in: $(cat err)"
  [ ! -s stdout ] || fail "standard output of: $*: $(cat stdout)"
}
# makes_nothing FILE PATTERN COMMAND...: status 1, as by expect_error, and the file is not there afterward.
makes_nothing() {
  local file=$1
  shift
  rm -f "$file"
  expect_error 1 "$@"
  [ ! -e "$file" ] || fail "output left by: ${*:2}"
}
