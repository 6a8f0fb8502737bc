"""A calculator for ASE 3.22 and later.

    from rutile.ase import RutileCalculator
    atoms.calc = RutileCalculator("run/best.safetensors")
"""

from ase.calculators.calculator import Calculator, all_changes

from rutile.potential import Potential

_VOIGT = [0, 4, 8, 5, 2, 1]  # xx yy zz yz xz xy
_OF_MODEL = ("path", "precision", "curvature", "deviations")
_OF_ASE = ("atoms", "label", "directory")


def _unknown(function, keyword):
    return "%s has no keyword %r, expected one of %s" % (function, keyword, ", ".join(_OF_MODEL + _OF_ASE))


class RutileCalculator(Calculator):
    """Energy, forces and stress of a potential that rutile's train wrote, or of a committee.

    path, precision: as of Potential. results also has energy_spread (eV) and forces_spread ([N] eV/Å) of a committee, and
    outside: [N], True for atoms unlike all in the training data, whose energies and forces are extrapolated. stresses, which
    are computed when asked for, add up to the stress, as those of ASE's own calculators do: each is half of each pair of an
    atom, by the volume of the cell. curvature: a file of tracin --mode=curvature; results then has energy_deviation (eV), and
    what else `deviations` names of "energies" and "forces" (energies_deviation, forces_deviation; eV and eV/Å). atoms, label
    and directory are those of ASE's Calculator. What a calculator was made with cannot be set later.
    """

    implemented_properties = ["energy", "free_energy", "energies", "forces", "stress", "stresses"]

    def __init__(self, path, precision=None, curvature=None, deviations=None, **kwargs):
        for keyword in kwargs:
            if keyword not in _OF_ASE:
                raise TypeError(_unknown("RutileCalculator", keyword))
        super().__init__(**kwargs)
        if curvature is None and deviations is not None:
            raise ValueError("deviations=%r needs curvature, a file of tracin --mode=curvature" % (deviations,))
        self.potential = Potential(path, precision, curvature)
        if deviations is None:
            deviations = [] if curvature is None else ["energy"]
        self.deviations = [deviations] if isinstance(deviations, str) else list(deviations)

    def set(self, **kwargs):
        """Refuses all keywords, which ASE would keep without an effect."""
        for keyword, value in kwargs.items():
            if keyword not in _OF_MODEL + _OF_ASE:
                raise TypeError(_unknown("RutileCalculator.set", keyword))
            raise ValueError("RutileCalculator.set(%s=%r): a calculator keeps what it was made with; make another" %
                             (keyword, value))
        return super().set()

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        atoms = self.atoms
        stresses = "stresses" in properties
        result = self.potential.compute(atoms.get_chemical_symbols(), atoms.positions, atoms.cell.array, atoms.pbc,
                                        virials=stresses, deviations=self.deviations)
        # There is no electronic entropy: the free energy, which optimizers ask for, is the energy.
        self.results = {"free_energy": result["energy"]}
        for name in ["energy", "energies", "forces", "energy_spread", "forces_spread", "outside"]:
            self.results[name] = result[name]
        for name in self.deviations:
            self.results[name + "_deviation"] = result[name + "_deviation"]
        if result["stress"] is not None:
            self.results["stress"] = result["stress"].reshape(9)[_VOIGT]
            if stresses:
                symmetric = (result["virials"] + result["virials"].transpose(0, 2, 1)) / 2
                self.results["stresses"] = symmetric.reshape(-1, 9)[:, _VOIGT] / atoms.get_volume()
