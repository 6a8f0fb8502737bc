#!/usr/bin/env bash
# The data check: featurize --check_data, and the warnings of featurize and cache-neighbors.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# frames N COMMENT [COLUMN]: up to 13 cells of Ti and O with energies -50 - i/100 and forces that do no work.
frames() {
  awk -v n="$1" -v comment="$2" -v column="${3-forces}" 'BEGIN {
    for (i = 0; i < n; ++i) {
      printf "2\nLattice=\"4 0 0 0 4 0 0 0 4\" Properties=species:S:1:pos:R:3:%s:R:3 ", column
      printf "energy=%s %s\n", -50 - i / 100, comment
      printf "Ti 0 0 0 0.1 %s 0\nO 2 %s 0 -0.1 0 0\n", i / 10, (i * 7 % 13) / 6.5
    }
  }'
}

# Plausible data, ours and a real set, have no findings, and nothing is written without --check_dir.
succeeds $featurize --check_data "$tio2"
[ "$(cat stdout)" = "$(printf 'check\tstructures\tfound\tremedy')" ] || fail "findings in tio2: $(cat stdout)"
expect_line '^featurize: 403 structures, .*403 with energy.*; 0 findings$' log
[ "$(ls)" = "$(printf 'log\nstdout')" ] || fail "files: $(ls)"

# The report has a line for each structure and a page.
frames 12 'config_type=a' > good.xyz
(cat good.xyz && frames 1 'config_type=a' | sed 's/energy=-50/energy=950/; s/Ti 0/Ti 0.3/') > bad.xyz
succeeds $featurize --check_data --check_dir=report bad.xyz
expect_line '^energy	1	bad.xyz#12: its energy, 950.0000 eV, is 500.* eV per atom above ' stdout
expect_line 'featurize: 13 structures, .* 1 finding -> report/data_check.html$' log
[ "$(wc -l < report/data_check.tsv)" = 14 ] || fail "lines: $(cat report/data_check.tsv)"
expect_line '^bad.xyz#12	2	OTi	950.000000	.*	energy$' report/data_check.tsv
expect_text 'bad.xyz#12: its energy' report/data_check.html
expect_text '<svg' report/data_check.html
expect_text 'featurize --check_data' report/data_check.html

# Fractional coordinates in the place of Cartesian ones.
printf '2\nLattice="4.2 0 0 0 4.2 0 0 0 4.2" Properties=species:S:1:pos:R:3 energy=-9\n' > fractional.xyz
printf 'Ti 0 0 0\nO 0.5 0.5 0\n' >> fractional.xyz
succeeds $featurize --check_data fractional.xyz
expect_line '^distance	1	1 of 1 structures have all coordinates between 0 and 1 .*Ti and O at 0.71 Angstrom' stdout
expect_line 'fractional.*multiply them by the cell$' stdout
# What makes features warns, too.
for tool in featurize cache-neighbors; do
  command=$featurize
  [ $tool = featurize ] || command=$cache
  succeeds $command --species=Ti,O --output=out.safetensors fractional.xyz
  expect_line "^$tool: warning: data check (distance): .*fractional" log
done

# Duplicates, forces in another column, and labels of other names in one set.
(cat good.xyz && head -n 4 good.xyz) > twice.xyz
succeeds $featurize --species=Ti,O --output=out.safetensors twice.xyz
expect_line 'data check (duplicate): 1 of 13 structures repeat others exactly, as twice.xyz#12 repeats twice.xyz#0' log
(cat good.xyz && frames 3 '' vasp_forces | sed 's/Ti 0/Ti 0.4/; s/energy/REF_energy/') > mixed.xyz
succeeds $featurize --species=Ti,O --output=out.safetensors mixed.xyz
expect_line 'mixed.xyz: 3 of 15 frames have no forces .*vasp_forces in 3; --force_key=vasp_forces reads that' log
expect_line 'data check (coverage): 3 of 15 structures have no forces: mixed.xyz#12' log
expect_line 'data check (keys): energies have different names .*REF_energy in 3 structures (mixed.xyz#12)' log

# Forces of XSF: the format has Hartree/Angstrom, aenet eV/Angstrom.
xsf() {
  printf '# total energy = -9 eV\nCRYSTAL\nPRIMVEC\n4 0 0\n0 4 0\n0 0 4\nPRIMCOORD\n2 1\n'
  printf '%s 0 0 0 0.1 0 0\n%s 2 0 0 -0.1 0 0\n' "$1" "$2"
}
xsf Ti O > aenet.xsf
xsf 22 8 > ase.xsf
force_of() { cut -f 6 check/data_check.tsv | tail -n 1; }
check="$featurize --check_data --check_dir=check"
succeeds $check aenet.xsf
expect_no_line 'xsf_forces' log
[ "$(force_of)" = 0.100000 ] || fail "aenet: $(force_of)"
succeeds $check ase.xsf
expect_line 'warning: ase.xsf: elements are atomic numbers.*Hartree/Angstrom.*--xsf_forces=Hartree or eV' log
[ "$(force_of)" = 2.721139 ] || fail "ASE: $(force_of)"
succeeds $check --xsf_forces=eV ase.xsf
expect_no_line 'xsf_forces' log
[ "$(force_of)" = 0.100000 ] || fail "numbers in eV: $(force_of)"
succeeds $check --xsf_forces=Hartree aenet.xsf
[ "$(force_of)" = 2.721139 ] || fail "symbols in Hartree: $(force_of)"
expect_error 1 'xsf_forces' $check --xsf_forces=kcal ase.xsf

# Flags without effect, and errors.
expect_error 1 'check_dir has no effect without --check_data' \
  $featurize --check_dir=x --species=Ti,O --output=o good.xyz
for flag in --output=o --species=Ti,O --rad_cutoff=4 --precision=fp64 --shard=1/2; do
  expect_error 1 "${flag%%=*} has no effect with --check_data" $featurize --check_data $flag good.xyz
done
printf 'a\tr\tb\n' > triples.txt
expect_error 1 'check_data has no effect with a knowledge graph' $featurize --check_data --train=triples.txt
expect_error 1 'none.xyz' $featurize --check_data none.xyz
finish
