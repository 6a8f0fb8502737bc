"""A calculator for ASE 3.22 and later.

    from rutile.ase import RutileCalculator
    atoms.calc = RutileCalculator("run/best.safetensors")
"""

from ase.calculators.calculator import Calculator, all_changes

from rutile.potential import Potential


class RutileCalculator(Calculator):
    """Energy, forces and stress of a potential that rutile's train wrote, or of a committee.

    path, precision: as of Potential. results also has energy_spread (eV) and forces_spread ([N] eV/Å) of a committee, and
    outside: [N], True for atoms unlike all in the training data, whose energies and forces are extrapolated.
    """

    implemented_properties = ["energy", "free_energy", "energies", "forces", "stress"]

    def __init__(self, path, precision=None, **kwargs):
        super().__init__(**kwargs)
        self.potential = Potential(path, precision)

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        atoms = self.atoms
        result = self.potential.compute(atoms.get_chemical_symbols(), atoms.positions, atoms.cell.array, atoms.pbc)
        # There is no electronic entropy: the free energy, which optimizers ask for, is the energy.
        self.results = {"free_energy": result["energy"]}
        for name in ["energy", "energies", "forces", "energy_spread", "forces_spread", "outside"]:
            self.results[name] = result[name]
        if result["stress"] is not None:
            self.results["stress"] = result["stress"].reshape(9)[[0, 4, 8, 5, 2, 1]]
