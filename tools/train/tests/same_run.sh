# Compares two runs; sourced by the tests of several processes, after tools/common/tool_test.sh.
# same A B: all numbers of two logs except times agree to 1e-8, relative, and only rank 0 has printed anything
# (but for lines of progress, which a slow machine brings about).
same() {
  python3 - "$1" "$2" << 'PYTHON' || fail "$2 is another run than $1"
import sys
a, b = ([line.rstrip("\n").split("\t") for line in open(f"{run}/log.tsv")] for run in sys.argv[1:])
assert a[0] == b[0] and len(a) == len(b), (len(a), len(b))
for x, y in zip(a[1:], b[1:]):
    for name, u, v in zip(a[0], x, y):
        if "_s" in name or "time" in name: continue
        assert abs(float(u) - float(v)) <= 1e-8 * abs(float(u)), (name, u, v)
PYTHON
  local by_time=': goes on from|: epoch [0-9]'
  [ "$(grep -Evc "$by_time" "$1.err")" = "$(grep -Evc "$by_time" "$2.err")" ] ||
    fail "$2 says more than $1: $(cat "$2.err")"
  cmp "$1.out" "$2.out" || fail "$2 prints other errors than $1"
}
