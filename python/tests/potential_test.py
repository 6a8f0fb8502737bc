"""Potential.compute against evaluate, against differences of its energy, and with what it must refuse.

run_test.sh runs this with numpy and without.
"""

import copy
import math
import os
import pickle
import sys
import unittest

import rutile
from rutile import Potential
from python_testing import MODEL, TEMPORARY, VECTORS, evaluate, read_frames, write_fp64

FRAMES = read_frames(3)


def flat(values):
    """The numbers in nested sequences."""
    return [x for row in values for x in flat(row)] if hasattr(values, "__iter__") else [float(values)]


class PotentialTest(unittest.TestCase):

    def assert_near(self, found, expected, bound):
        found, expected = flat(found), flat(expected)
        self.assertEqual(len(found), len(expected))
        scale = max([1.0] + [abs(x) for x in expected])
        for a, b in zip(found, expected):
            self.assertLessEqual(abs(a - b), bound * scale)

    def compare(self, models, bound):
        potential = Potential(models)
        expected = evaluate(models, len(FRAMES))
        for s, (symbols, positions, cell) in enumerate(FRAMES):
            begin, end = expected["atom_offset"][s], expected["atom_offset"][s + 1]
            result = potential.compute(symbols, positions, cell)
            self.assert_near(result["energy"], expected["predicted_energy"][s], bound)
            self.assert_near(result["energies"], expected["predicted_atom_energy"][begin:end], bound)
            self.assert_near(result["forces"], expected["predicted_force"][begin:end], bound)
            self.assert_near(result["stress"], expected["predicted_stress"][s], bound)
            self.assertEqual(sum(map(bool, result["outside"])), expected["atoms_outside"][s])
            if len(models) > 1:
                self.assert_near(result["energy_spread"], expected["energy_spread"][s], bound * abs(result["energy"]))
                self.assert_near(result["forces_spread"], expected["force_spread"][begin:end], bound)
                self.assertEqual(result["spread"], max(result["forces_spread"]))
                self.assertGreater(result["spread"], 0)
            else:
                self.assertEqual((result["energy_spread"], result["spread"]), (0, 0))

    def test_is_what_evaluate_predicts(self):
        one, two = [write_fp64(os.path.join(TEMPORARY, "%g.safetensors" % f), f) for f in (1, 1.1)]
        self.compare([one], 1e-12)
        self.compare([one, two], 1e-12)
        # The arithmetic is the same in fp32, too.
        self.compare([MODEL], 1e-12)
        self.compare([VECTORS], 1e-12)
        one, two = [write_fp64(os.path.join(TEMPORARY, "vectors-%g.safetensors" % f), f, VECTORS) for f in (1, 1.02)]
        self.compare([one], 1e-12)
        self.compare([one, two], 1e-12)

    def test_says_what_the_model_is(self):
        potential = Potential(MODEL)
        self.assertEqual(potential.species, ["Ti", "O"])
        self.assertEqual((potential.precision, potential.num_members), ("fp32", 1))
        self.assertTrue(potential.has_training_range)
        self.assertGreater(potential.cutoff, 1)
        self.assertEqual(Potential(MODEL, precision="fp64").precision, "fp64")
        self.assertEqual(rutile.__version__, rutile.version())

    def test_forces_and_stress_are_finite_differences(self):
        for model in (MODEL, VECTORS):
            self.check_finite_differences(Potential(write_fp64(os.path.join(TEMPORARY, "fd.safetensors"), model=model)))

    def check_finite_differences(self, potential):
        symbols, positions, cell = FRAMES[0]
        result = potential.compute(symbols, positions, cell)
        step = 1e-5
        energy = lambda r, c: potential.compute(symbols, r, c, forces=False)["energy"]
        for atom, axis in [(0, 0), (3, 1), (5, 2)]:
            moved = [[list(r) for r in positions] for _ in range(2)]
            moved[0][atom][axis] += step
            moved[1][atom][axis] -= step
            difference = (energy(moved[0], cell) - energy(moved[1], cell)) / (2 * step)
            self.assertAlmostEqual(result["forces"][atom][axis], -difference, delta=1e-5)
        volume = result["virial"][0][0] / result["stress"][0][0]
        for a, b in [(0, 0), (1, 2), (0, 1)]:
            sides = []
            for strain in (step, -step):
                strained = lambda vectors, s=strain: [[x + (s * v[b] if k == a else 0) for k, x in enumerate(v)] for v in vectors]
                sides.append(energy(strained(positions), strained(cell)))
            self.assertAlmostEqual(result["stress"][a][b] * volume, (sides[0] - sides[1]) / (2 * step), delta=1e-4)

    def test_virials_of_atoms_add_up(self):
        potential = Potential(write_fp64(os.path.join(TEMPORARY, "virials.safetensors")))
        symbols, positions, cell = FRAMES[0]
        result = potential.compute(symbols, positions, cell, virials=True)
        self.assertEqual(len(result["virials"]), len(symbols))
        for a in range(3):
            for b in range(3):
                self.assert_near(sum(v[a][b] for v in result["virials"]), result["virial"][a][b], 1e-10)
        self.assertNotIn("virials", potential.compute(symbols, positions, cell))
        # Both pairs of two atoms, of each as the center, have both.
        pair = potential.compute(["Ti", "O"], [[0, 0, 0], [1.9, 0, 0]], virials=True)
        self.assert_near(pair["virials"][1][0][0], pair["virial"][0][0] / 2, 1e-12)

    def test_cells_of_all_kinds(self):
        potential = Potential(MODEL)
        symbols, positions, cell = FRAMES[0]
        molecule = potential.compute(["Ti", "O"], [[0, 0, 0], [1.9, 0, 0]])
        self.assertIsNone(molecule["stress"])
        self.assert_near(molecule["virial"][0][0], -1.9 * molecule["forces"][1][0], 1e-5)
        slab = potential.compute(symbols, positions, cell, pbc=[True, True, False])
        self.assertIsNone(slab["stress"])
        self.assert_near(potential.compute(["Ti"], [[0, 0, 0]], [3, 4, 5])["energy"],
                         potential.compute(["Ti"], [[0, 0, 0]], [[3, 0, 0], [0, 4, 0], [0, 0, 5]], True)["energy"], 0)
        alone = potential.compute(["Ti"], [[0, 0, 0]], cell, pbc=False)
        self.assert_near(alone["energy"], potential.compute(["Ti"], [[0, 0, 0]])["energy"], 0)
        without = potential.compute(symbols, positions, cell, forces=False)
        self.assertEqual([without[k] for k in ("forces", "stress", "virial", "spread")], [None] * 4)
        self.assertEqual(potential.compute([], [])["energy"], 0)

    def test_copies_open_the_files_again(self):
        symbols, positions, cell = FRAMES[0]
        two = write_fp64(os.path.join(TEMPORARY, "copied.safetensors"), 1.1)
        potential = Potential([MODEL, two], precision="fp64")
        expected = potential.compute(symbols, positions, cell)
        pickled = pickle.dumps(potential)
        copies = [copy.copy(potential), copy.deepcopy(potential), pickle.loads(pickled)]
        potential.close()
        here = os.getcwd()
        try:  # paths are those of where the files were opened
            os.chdir(TEMPORARY)
            copies.append(pickle.loads(pickled))
        finally:
            os.chdir(here)
        for other in copies:
            self.assertEqual((other.num_members, other.precision), (2, "fp64"))
            result = other.compute(symbols, positions, cell)
            self.assertEqual((result["energy"], flat(result["forces"])), (expected["energy"], flat(expected["forces"])))
            other.close()
        self.refuses(ValueError, ["closed", MODEL], lambda: copy.deepcopy(potential))
        os.remove(two)
        self.refuses(FileNotFoundError, ["copied.safetensors"], lambda: pickle.loads(pickled))

    def refuses(self, kind, facts, function):
        with self.assertRaises(kind) as context:
            function()
        for fact in facts:
            self.assertIn(fact, str(context.exception))

    def test_refuses(self):
        potential = Potential(MODEL)
        compute = potential.compute
        self.refuses(ValueError, ["atom 2", "'Au'", "Ti, O"], lambda: compute(["Ti", "Au"], [[0, 0, 0], [2, 0, 0]]))
        self.refuses(ValueError, ["atom 2", "nan"], lambda: compute(["Ti", "O"], [[0, 0, 0], [math.nan, 0, 0]]))
        self.refuses(ValueError, ["atoms 1 and 2", "0.1"], lambda: compute(["Ti", "O"], [[0, 0, 0], [0.01, 0, 0]]))
        self.refuses(ValueError, ["positions", "1 rows", "expected 2 rows"], lambda: compute(["Ti", "O"], [[0, 0, 0]]))
        # Three rows of N are as many numbers as N rows of three.
        self.refuses(ValueError, ["positions", "3 rows", "expected 2 rows"],
                     lambda: compute(["Ti", "O"], [[0, 1.9], [0, 0], [0, 0]]))
        self.refuses(ValueError, ["positions", "3 rows"], lambda: compute(["Ti"], [0, 0, 0]))
        self.refuses(ValueError, ["positions", "2 numbers in row 2"], lambda: compute(["Ti", "O"], [[0, 0, 0], [1, 2]]))
        self.refuses(ValueError, ["cell", "2 numbers in row 1"],
                     lambda: compute(["Ti"], [[0, 0, 0]], [[1, 2], [3, 4], [5, 6]]))
        self.refuses(ValueError, ["cell", "9 rows"], lambda: compute(["Ti"], [[0, 0, 0]], [9, 0, 0, 0, 9, 0, 0, 0, 9]))
        self.refuses(ValueError, ["pbc"], lambda: compute(["Ti"], [[0, 0, 0]], [9, 9, 9], [True]))
        for pbc in ("FFF", "T", ["T", "T", "F"], b"FFF"):
            self.refuses(ValueError, ["pbc is " + repr(pbc), "True or False"],
                         lambda value=pbc: compute(["Ti"], [[0, 0, 0]], [9, 9, 9], value))
        self.refuses(ValueError, [], lambda: compute(["Ti"], [[0, 0, 0]], pbc=True))
        self.refuses(ValueError, ["virials", "forces"],
                     lambda: compute(["Ti"], [[0, 0, 0]], forces=False, virials=True))
        self.refuses(FileNotFoundError, ["no/such"], lambda: Potential("no/such"))
        self.refuses(ValueError, [], lambda: Potential([]))
        self.refuses(ValueError, ["fp16"], lambda: Potential(MODEL, precision="fp16"))
        self.refuses(ValueError, ["tio2-pbe.extxyz"], lambda: Potential("data/tio2-pbe/tio2-pbe.extxyz"))
        potential.close()
        self.refuses(ValueError, ["closed", MODEL], lambda: compute(["Ti"], [[0, 0, 0]]))
        potential.close()

    def test_numpy_changes_nothing(self):
        try:
            import numpy  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("numpy is not installed (apt-get install python3-numpy)")
        symbols, positions, cell = FRAMES[1]
        potential = Potential(MODEL)
        result = potential.compute(symbols, positions, cell)
        transposed = numpy.asfortranarray(positions)  # not contiguous, as C has it
        again = potential.compute(symbols, transposed, numpy.array(cell), numpy.array([True] * 3))
        self.assertEqual(result["energy"], again["energy"])
        self.assertTrue((result["forces"] == again["forces"]).all())
        self.refuses(ValueError, ["positions", "shape (3, 6)", "expected (6, 3)"],
                     lambda: potential.compute(symbols, numpy.array(positions).T, cell))
        self.refuses(ValueError, ["positions", "shape (18,)"],
                     lambda: potential.compute(symbols, numpy.array(positions).reshape(-1), cell))
        self.assertEqual(potential.compute([], numpy.zeros((0, 3)))["energy"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
