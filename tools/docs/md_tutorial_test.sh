#!/usr/bin/env bash
# md_tutorial_test.sh WHEEL RUTILE_KIM TOOL...: the tutorial on molecular dynamics runs, at a small size. What needs ASE
# or LAMMPS is left out where they are not installed.
set -euo pipefail
wheel=$PWD/$1 kim=$PWD/$2
shift 2
mkdir -p "$TEST_TMPDIR/bin"
for tool in "$@"; do ln -s "$PWD/$tool" "$TEST_TMPDIR/bin/"; done
export PATH=$TEST_TMPDIR/bin:$PATH
tutorial=$PWD/docs/tutorial-md data=$PWD/data/tio2-pbe/tio2-pbe.extxyz python=/usr/bin/python3
cd "$TEST_TMPDIR"
$python -m zipfile -e "$wheel" site
export PYTHONPATH=$PWD/site PYTHONDONTWRITEBYTECODE=1
run() {
  make -f "$tutorial/Makefile" DATA="$data" OUT="$PWD/out" MEMBERS=2 CELLS=2 STEPS=100 KIM="$kim" PYTHON="$python" \
    TRAINING="--max_epochs=60 --force_weight=0.3 --stress_weight=10 --seed=1 --plot=false" "$@"
}
run "$PWD/out/trained"
[ -s out/run/member-01/best.safetensors ]

if $python -c 'import ase, numpy' 2> /dev/null; then
  run crystal
  run crystal --question
  [ "$(cut -f 1 out/crystal.tsv | paste -sd' ')" = 'quantity a c u B from E(V) C11 C12 C13 C33 C44 C66' ]
  # A potential of a minute's training is within a tenth of the lattice, and stable.
  awk -F'\t' '$1 == "a" && $5 > 4.2 && $5 < 5.1 { good = 1 } END { exit !good }' out/crystal.tsv
  awk -F'\t' '/^B|^C/ && !($5 > 0) { exit 1 }' out/crystal.tsv
else
  echo "skipped: crystal.py, as ASE is not installed (apt-get install python3-ase)"
fi

if command -v lmp > /dev/null; then
  run nvt
  run nvt --question
  [ "$(grep -vc '^#' out/nvt/thermo.txt)" = 101 ]
  [ "$(awk '!/^#/ && NF == 8' out/nvt/rdf.txt | wc -l)" = 160 ]
  # No two atoms come closer than 1.2 Å, and Ti has its six neighbors within 2.5 Å.
  awk '!/^#/ && NF == 8 && $2 < 1.2 && $3 + $5 + $7 > 0 { exit 1 }' out/nvt/rdf.txt
  awk '!/^#/ && NF == 8 && $2 < 2.5 { n = $6 } END { exit !(n > 5 && n < 7) }' out/nvt/rdf.txt
  for file in thermo.svg rdf.svg spread/report.html; do [ -s "out/nvt/$file" ]; done
  [ "$(tail -n +2 out/nvt/spread/predictions.tsv | wc -l)" = 21 ]
else
  echo "skipped: nvt.lammps, as LAMMPS is not installed (apt-get install lammps)"
fi
