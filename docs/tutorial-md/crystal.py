#!/usr/bin/env python3
"""Lattice, equation of state and elastic constants of rutile TiO2, by ASE, for each member of a committee.

    crystal.py MODEL... > crystal.tsv

Needs ASE and the package rutile (docs/use-potentials.md). A row for each quantity: unit, value of each member, mean,
standard deviation (divided by the number of members), and the values of experiment (README.md has the sources).
"""

import sys

import numpy as np
from ase import units
from ase.constraints import ExpCellFilter
from ase.eos import EquationOfState
from ase.optimize import BFGS
from ase.spacegroup import crystal

from rutile.ase import RutileCalculator

STRAIN = 0.005      # in each direction; the stress is linear to 1 % here
FORCE_LIMIT = 1e-4  # eV/Å, where relaxation ends
EXPERIMENT = {"a": 4.594, "c": 2.959, "u": 0.305, "B from E(V)": 208, "C11": 268, "C12": 175, "C13": 147, "C33": 484,
              "C44": 124, "C66": 190}
STIFFNESSES = {"C11": (0, 0), "C12": (0, 1), "C13": (0, 2), "C33": (2, 2), "C44": (3, 3), "C66": (5, 5)}


def relaxed(atoms, filter_of=lambda atoms: atoms):
    """Moves the atoms, and the cell if there is a filter for it, until no force is left."""
    if not BFGS(filter_of(atoms), logfile=None).run(fmax=FORCE_LIMIT, steps=500):
        sys.exit("crystal.py: a relaxation did not end after 500 steps; the potential may not have a minimum here")
    return atoms


def copy_of(atoms):
    copy = atoms.copy()
    copy.calc = atoms.calc
    return copy


def bulk_modulus(atoms):
    """Birch and Murnaghan's equation of state, fitted to seven volumes; the shape of the cell and atoms relax."""
    volumes, energies = [], []
    for scale in np.linspace(0.97, 1.03, 7):  # of the volume
        scaled = copy_of(atoms)
        scaled.set_cell(atoms.cell * scale ** (1 / 3), scale_atoms=True)
        relaxed(scaled, lambda a: ExpCellFilter(a, constant_volume=True))
        volumes.append(scaled.get_volume())
        energies.append(scaled.get_potential_energy())
    return EquationOfState(volumes, energies, eos="birchmurnaghan").fit()[2] / units.GPa


def stiffness(atoms):
    """Returns C [6, 6] in GPa: differences of the stress over strains of both signs, with relaxed atoms."""
    c = np.zeros((6, 6))
    for k in range(6):
        for sign in (1, -1):
            e = np.zeros(6)
            e[k] = sign * STRAIN
            strain = np.array([[e[0], e[5] / 2, e[4] / 2], [e[5] / 2, e[1], e[3] / 2], [e[4] / 2, e[3] / 2, e[2]]])
            strained = copy_of(atoms)
            strained.set_cell(atoms.cell @ (np.eye(3) + strain), scale_atoms=True)
            c[k] += sign * relaxed(strained).get_stress() / units.GPa / (2 * STRAIN)
    return (c + c.T) / 2


def properties(model):
    atoms = crystal(["Ti", "O"], [(0, 0, 0), (0.305, 0.305, 0)], spacegroup=136, cellpar=[4.65, 4.65, 2.97, 90, 90, 90])
    atoms.calc = RutileCalculator(model, precision="fp64")
    relaxed(atoms, ExpCellFilter)
    c = stiffness(atoms)
    found = {"a": atoms.cell.lengths()[0], "c": atoms.cell.lengths()[2], "u": atoms.get_scaled_positions()[2][0],
             "B from E(V)": bulk_modulus(atoms)}
    found.update({name: c[at] for name, at in STIFFNESSES.items()})
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    members = [properties(model) for model in sys.argv[1:]]
    print("\t".join(["quantity", "unit"] + ["member-%02d" % m for m in range(len(members))] +
                    ["mean", "spread", "experiment"]))
    for name in members[0]:
        values = [member[name] for member in members]
        unit, digits = {"a": ("Å", 3), "c": ("Å", 3), "u": ("", 3)}.get(name, ("GPa", 0))
        row = ["%.*f" % (digits, value) for value in values + [np.mean(values), np.std(values), EXPERIMENT[name]]]
        print("\t".join([name, unit] + row))


main()
