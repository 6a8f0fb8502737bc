"""Standard deviations of Potential.compute and of the calculator against evaluate's, by a curvature that tracin makes."""

import copy
import os
import subprocess
import sys
import unittest

from rutile import Potential, read_tensors
from python_testing import DATA, EVALUATE, MODEL, TEMPORARY, read_frames

COUNT = 3
FRAMES = read_frames(COUNT)
CURVATURE = os.path.join(TEMPORARY, "curvature.safetensors")


def setUpModule():
    with open(DATA, encoding="utf-8") as data, open(os.path.join(TEMPORARY, "few.extxyz"), "w", encoding="utf-8") as few:
        for _ in range(40):
            n = int(next(data))
            few.write("%d\n" % n + "".join(next(data) for _ in range(n + 1)))
    subprocess.run([sys.argv[2], "--mode=curvature", "--term_weights=1,0.1", "--train=" + few.name, "--test=" + few.name,
                    "--output=" + CURVATURE, MODEL], check=True)  # yapf: disable


def expected():
    numbers = os.path.join(TEMPORARY, "frames.txt")
    with open(numbers, "w", encoding="utf-8") as file:
        file.write("".join("%d\n" % k for k in range(COUNT)))
    directory = os.path.join(TEMPORARY, "report")
    subprocess.run([EVALUATE, "--frames=" + numbers, "--output_dir=" + directory, "--uncertainty=" + CURVATURE,
                    "--uncertainty_of=all", MODEL, DATA], check=True, stdout=subprocess.DEVNULL)  # yapf: disable
    return read_tensors(os.path.join(directory, "predictions.safetensors"))[0]


class DeviationsTest(unittest.TestCase):

    def assert_equal(self, found, tensor):
        found = [x for row in found for x in (row if hasattr(row, "__iter__") else [row])]
        tensor = [x for row in tensor for x in (row if hasattr(row, "__iter__") else [row])]
        self.assertEqual(len(found), len(tensor))
        for a, b in zip(found, tensor):
            self.assertLessEqual(abs(a - b), 1e-9 * max(tensor))

    def test_are_those_of_evaluate(self):
        potential = Potential(MODEL, curvature=CURVATURE)
        tensors = expected()
        for s, (symbols, positions, cell) in enumerate(FRAMES):
            begin, end = tensors["atom_offset"][s], tensors["atom_offset"][s + 1]
            result = potential.compute(symbols, positions, cell, deviations=["energy", "energies", "forces"])
            self.assert_equal([result["energy_deviation"]], [tensors["energy_std"][s]])
            self.assert_equal(result["energies_deviation"], tensors["atom_energy_std"][begin:end])
            self.assert_equal(result["forces_deviation"], tensors["force_std"][begin:end])
            self.assertGreater(result["energy_deviation"], 0)
            self.assertNotIn("energy_deviation", potential.compute(symbols, positions, cell))

    def test_says_what_is_missing(self):
        symbols, positions, cell = FRAMES[0]
        with self.assertRaisesRegex(ValueError, "opened without its curvature"):
            Potential(MODEL).compute(symbols, positions, cell, deviations="energy")
        with self.assertRaisesRegex(ValueError, "expected 'energy', 'energies' or 'forces'"):
            Potential(MODEL, curvature=CURVATURE).compute(symbols, positions, cell, deviations=["stress"])
        with self.assertRaises(FileNotFoundError):
            Potential(MODEL, curvature="nowhere.safetensors")

    def test_the_calculator_has_them(self):
        try:
            import ase  # pylint: disable=import-outside-toplevel
            from rutile.ase import RutileCalculator  # pylint: disable=import-outside-toplevel
        except ImportError as error:
            self.skipTest(str(error))
        symbols, positions, cell = FRAMES[0]
        atoms = ase.Atoms(symbols, positions, cell=cell, pbc=True)
        atoms.calc = RutileCalculator(MODEL, curvature=CURVATURE, deviations=["energy", "forces"])
        atoms.get_potential_energy()
        self.assertEqual(RutileCalculator(MODEL, curvature=CURVATURE).deviations, ["energy"])
        with self.assertRaisesRegex(TypeError, "'curvatures'.*curvature"):
            RutileCalculator(MODEL, curvatures=CURVATURE)
        with self.assertRaisesRegex(ValueError, "needs curvature"):
            RutileCalculator(MODEL, deviations=["energy"])
        result = Potential(MODEL, curvature=CURVATURE).compute(symbols, positions, cell, deviations=["energy", "forces"])
        self.assertEqual(atoms.calc.results["energy_deviation"], result["energy_deviation"])
        copied = copy.deepcopy(atoms)
        copied.calc.reset()
        copied.get_potential_energy()
        self.assertEqual(copied.calc.results["energy_deviation"], result["energy_deviation"])
        self.assert_equal(atoms.calc.results["forces_deviation"], result["forces_deviation"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
