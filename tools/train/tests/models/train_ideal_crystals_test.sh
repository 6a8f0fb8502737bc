#!/usr/bin/env bash
# Ideal crystals: by symmetry there is nothing but distances to learn from. What is rounding must not become a feature,
# and forces that are printed as next to nothing must not become the unit of energies.
set -uo pipefail
train="$PWD/tools/train/train --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# cell A DISPLACEMENT FORCE: fcc aluminium of the lattice constant, the first atom moved along x; energies of a
# parabola.
cell() {
  awk -v a="$1" -v d="$2" -v f="$3" 'BEGIN {
    printf "4\nLattice=\"%.6f 0 0 0 %.6f 0 0 0 %.6f\" Properties=species:S:1:pos:R:3:forces:R:3 ", a, a, a
    printf "energy=%.8f pbc=\"T T T\"\n", 4 * (-3.36 + 1.2 * (a - 4.04) ^ 2)
    split("0 0 0 0 .5 .5 .5 0 .5 .5 .5 0", r, " ")
    for (i = 0; i < 4; ++i)
      printf "Al %.6f %.6f %.6f %.6f 0 0\n", r[3 * i + 1] * a + (i == 0 ? d : 0), r[3 * i + 2] * a, r[3 * i + 3] * a,
        i == 0 ? f : -f / 3
  }'
}
for a in 3.80 3.85 3.90 3.95 4.00 4.05 4.10 4.15 4.20 4.25 4.30 4.35; do cell $a 0 0.00001; done > ideal.extxyz
for d in 0 0.001 0.01 0.1; do cell 4.07 $d 0; done > moved.extxyz

for layers in "" "--messages=4"; do
  for precision in fp32 fp64; do
    # shellcheck disable=SC2086
    $train --potential=many-body $layers --species=Al --cutoff=5 --channels=8 --hidden=8 --max_epochs=40 \
      --batch_size=2 --precision=$precision --overwrite --output_dir=run ideal.extxyz > train.tsv 2> log ||
      fail "train $layers --precision=$precision: $(cat log)"
    expect_line 'around all training atoms of Al, the moments of degree 1, 2, 3 vanish' log
    $evaluate --output_xyz=answers.xyz run/last.safetensors moved.extxyz > errors.tsv 2> log ||
      fail "evaluate: $(cat log)"
    # Displacements that the data do not have leave the energy where it was, and are said to be outside.
    awk '/energy=/ { for (i = 1; i <= NF; ++i) if (sub(/^energy=/, "", $i)) e[n++] = $i }
         END {
           if (n != 4) exit 1
           for (i = 0; i < n; ++i) if (e[i] + 13.44 > 0.2 || e[i] + 13.44 < -0.2) exit 1
         }' answers.xyz || fail "$layers $precision: $(grep energy answers.xyz)"
    [ "$(grep -c '^Al.* 1$' answers.xyz)" -ge 8 ] || fail "no atom of moved.extxyz is outside: $(cat answers.xyz)"
    $evaluate run/last.safetensors ideal.extxyz > errors.tsv 2> log || fail "evaluate: $(cat log)"
    awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i }
                $1 == "all" && $column["quantity"] == "energy" { ok = $column["rmse"] < 20 }
                END { exit !ok }' errors.tsv || fail "errors: $(cat errors.tsv)"
  done
done
