#!/usr/bin/env bash
# frames.sh BOX FRAMES.xyz: prints LAMMPS' frames (dump xyz) as extended XYZ with their box, from a file of three lengths.
set -euo pipefail
read -r x y z < "$1"
sed "s/^ *Atoms. Timestep: *\([0-9]*\).*/Lattice=\"$x 0 0 0 $y 0 0 0 $z\" Properties=species:S:1:pos:R:3 pbc=\"T T T\" step=\1/" "$2"
