#!/usr/bin/env bash
# trained.sh and folds.py with programs that pretend: what is pooled, what is dealt out, what fails.
set -uo pipefail
trained=$(realpath "$1")
folds=$(realpath "$2")
scratch=${TEST_TMPDIR:-$(mktemp -d)}/trained
rm -rf "$scratch" && mkdir -p "$scratch/bin" && cd "$scratch" || exit 1

failures=0
expect() { # expect WHAT COMMAND...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what" >&2; cat out errors >&2; failures=$((failures + 1)); }
}
cat > bin/train << 'PROGRAM'
#!/usr/bin/env bash
echo "$@" >> trained
[[ "$*" != *broken* ]] || { echo "this is why" >&2; exit 1; }
printf 'set\ttriples\tmrr\tmr\thits@1\thits@3\thits@10\ntest\t8\t0.5\t2\t0.25\t0.4\t0.75\n'
PROGRAM
# Of a first file one structure with an error of 3, of others four with errors of 4.
cat > bin/evaluate << 'PROGRAM'
#!/usr/bin/env bash
echo "$@" >> evaluated
n=4 e=4
[[ "$*" != *d0.extxyz* ]] || n=1 e=3
printf 'grouping\tgroup\tquantity\tunit\tcount\trmse\tmae\tmax\nall\t\tenergy\tmeV/atom\t%s\t%s\t1\t%s\nall\t\tforce\teV/A\t%s\t0.5\t1\t2\nconfig_type\ta\tforce\teV/A\t9\t9\t9\t9\n' $n $e $e 3
PROGRAM
chmod +x bin/*
export PATH=$PWD/bin:$PATH
frame() { printf '1\nenergy=%s config_type=%s pbc="T T T"\nSi 0 0 0\n' "$1" "$2"; }
for k in 0 1 2 3; do frame $k training-A; [ $k != 1 ] || { frame 9 training-B; frame 8 test-A; }; done > all.extxyz

python3 "$folds" all.extxyz 2 d > out 2> errors
expect "no test set among the folds" [ "$(cat d?.extxyz | grep -c 'energy=8')" = 0 ]
expect "every structure in each" [ "$(grep -c '^Si' d0.extxyz) $(grep -c '^Si' d1.extxyz)" = "5 5" ]
expect "by turns within a type" [ "$(grep -ho 'energy=[0-9]* config_type=test-[AB]' d0.extxyz | paste -sd,)" = "energy=0 config_type=test-A,energy=9 config_type=test-B,energy=2 config_type=test-A" ]
expect "the others" [ "$(grep -ho 'energy=[0-9]* config_type=test-[AB]' d1.extxyz | paste -sd,)" = "energy=1 config_type=test-A,energy=3 config_type=test-A" ]
frame 1 other > none.extxyz
python3 "$folds" none.extxyz 2 n > out 2> errors && expect "a file without training structures" false
expect "why" grep -q 'no structure has a config_type that begins with' errors

"$trained" folds d --seed=1 > out 2> errors
# sqrt((1 * 9 + 4 * 16) / 5), the largest of both.
expect "pooled by counts" grep -qP '^3.82\t4\t0.5\t2\t[0-9.]+$' out
expect "each file by itself" grep -q -- '--seed=1 d1.extxyz' trained
"$trained" potential d0.extxyz --frames=f best --seed=2 > out 2> errors
expect "errors of one" grep -qP '^3\t3\t0.5\t2\t[0-9.]+$' out
expect "what is evaluated" grep -qx -- '--frames=f run/best.safetensors d0.extxyz' evaluated
"$trained" triples t.safetensors --seed=0 > out 2> errors
expect "ranks" grep -qP '^0.5000\t0.2500\t0.7500\t[0-9.]+$' out
"$trained" triples t.safetensors --broken > out 2> errors && expect "a run that fails" false
expect "its words" grep -q 'this is why' errors
"$trained" folds nothing > out 2> errors && expect "no folds" false
expect "which" grep -q 'no file nothing0.extxyz' errors
[ $failures = 0 ]
