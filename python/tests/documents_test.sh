#!/usr/bin/env bash
# documents_test.sh WHEEL LIBRARY HEADER MODEL DOCUMENT...: the Python and C of the documents run as they are, in a directory
# with run/best.safetensors. A block of Python that does not make its own `atoms` finds some.
set -euo pipefail
wheel=$1 library=$PWD/$2 header=$PWD/$3 model=$PWD/$4
shift 4
python=/usr/bin/python3
$python -m zipfile -e "$wheel" "$TEST_TMPDIR/site"
mkdir -p "$TEST_TMPDIR/work/run"
cp "$model" "$TEST_TMPDIR/work/run/best.safetensors"
has_ase=yes
$python -c 'import ase, numpy' 2> /dev/null || has_ase=no

# block LANGUAGE N DOCUMENT: the N-th fenced block of that language.
block() {
  awk -v start="\`\`\`$1" -v number="$2" '
    /^```$/ { inside = 0 } inside { print } $0 == start { inside = ++count == number }' "$3"
}
blocks=0
for document in "$@"; do
  for ((n = 1; ; ++n)); do
    block python "$n" "$document" > "$TEST_TMPDIR/block.py"
    [ -s "$TEST_TMPDIR/block.py" ] || break
    blocks=$((blocks + 1))
    if grep -q ase "$TEST_TMPDIR/block.py" && [ $has_ase = no ]; then
      echo "skipped: Python block $n of $document (apt-get install python3-ase python3-numpy)"
      continue
    fi
    if grep -q '^atoms.calc' "$TEST_TMPDIR/block.py" && ! grep -q '^atoms = ' "$TEST_TMPDIR/block.py"; then
      { echo 'from ase.build import bulk; atoms = bulk("TiO", "rocksalt", a=4.2)'; cat "$TEST_TMPDIR/block.py"; } > "$TEST_TMPDIR/whole.py"
      mv "$TEST_TMPDIR/whole.py" "$TEST_TMPDIR/block.py"
    fi
    echo "== Python block $n of $document"
    (cd "$TEST_TMPDIR/work" && PYTHONPATH=$TEST_TMPDIR/site $python "$TEST_TMPDIR/block.py")
  done
  block c 1 "$document" > "$TEST_TMPDIR/program.c"
  [ -s "$TEST_TMPDIR/program.c" ] || continue
  blocks=$((blocks + 1))
  echo "== C of $document"
  # The library is found by its name, beside the program.
  cp "$library" "$TEST_TMPDIR/work/librutile.so"
  gcc -std=c99 -Wall -Wextra -Werror -I"$(dirname "$header")" "$TEST_TMPDIR/program.c" "$TEST_TMPDIR/work/librutile.so" \
    -Wl,-rpath,"$TEST_TMPDIR/work" -o "$TEST_TMPDIR/program"
  (cd "$TEST_TMPDIR/work" && "$TEST_TMPDIR/program") | tee "$TEST_TMPDIR/output"
  grep -qE '^-[0-9.]+ eV, -?[0-9.]+ eV/Angstrom$' "$TEST_TMPDIR/output"
done
[ $blocks -ge 5 ] || { echo "$blocks blocks were found, expected 5 or more"; exit 1; }
