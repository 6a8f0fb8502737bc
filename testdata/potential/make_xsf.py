#!/usr/bin/env python3
"""make_xsf.py: writes tio2_pbe_*.xsf beside itself, six structures of data/tio2-pbe as aenet's XSF. Plain Python."""
import os, re

HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = (0, 1, 2, 3, 5, 8)

lines = open(os.path.join(HERE, "../../data/tio2-pbe/tio2-pbe.extxyz")).read().split("\n")
at = 0
while lines[at]:
    n, header, atoms = int(lines[at]), lines[at + 1], lines[at + 2:at + 2 + int(lines[at])]
    at += 2 + n
    index = int(re.search(r"\bindex=(\d+)", header).group(1))
    if index not in WANTED:
        continue
    cell = [float(x) for x in re.search(r'Lattice="([^"]*)"', header).group(1).split()]
    energy = re.search(r"\benergy=(\S+)", header).group(1)
    with open(os.path.join(HERE, "tio2_pbe_%05d.xsf" % index), "w") as out:
        out.write("# total energy = %s eV\n\nCRYSTAL\nPRIMVEC\n" % energy)
        for k in range(3):
            out.write(" ".join("%16.8f" % x for x in cell[3 * k:3 * k + 3]) + "\n")
        out.write("PRIMCOORD\n%d 1\n" % n)
        for atom in atoms:  # species, position, force: the digits as they are
            symbol, *numbers = atom.split()
            out.write("%-2s %s\n" % (symbol, " ".join(numbers)))
