#!/usr/bin/env bash
# neighbor_benchmark measures files of a user, from any directory, and refuses what it cannot read.
set -uo pipefail
benchmark=$PWD/benchmarks/neighbor_benchmark
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
head -n 400 "$tio2" > some.extxyz
head -n "$(($(grep -n Lattice some.extxyz | tail -n 1 | cut -d : -f 1) - 2))" some.extxyz > my.extxyz
succeeds "$benchmark" --benchmark_min_time=0.001 my.extxyz
for row in Read Images/4 Cells/6 Fastest/8; do expect_line "^$row .*items_per_second" stdout; done
expect_no_line '^BM_' stdout
refuses '^neighbor_benchmark: none.xyz: No such file' "$benchmark" none.xyz
printf '1\nLattice="1 0 0 0 1 0 0 0 1"\nXx 0 0 0\n' > bad.xyz
refuses '^neighbor_benchmark: bad.xyz:3: ' "$benchmark" bad.xyz
finish
