"""The calculator in ASE: numerical derivatives, dynamics that keep the energy, relaxation."""

import copy
import os
import pickle
import sys
import unittest

try:
    import numpy
    from ase import Atoms, units
    from ase.constraints import ExpCellFilter
    from ase.md.velocitydistribution import MaxwellBoltzmannDistribution
    from ase.md.verlet import VelocityVerlet
    from ase.optimize import BFGS
except ImportError as missing:
    print("skipped: %s (apt-get install python3-ase python3-numpy)" % missing)
    sys.exit(0)

from python_testing import MODEL, TEMPORARY, VECTORS, evaluate, read_frames, write_fp64
from rutile.ase import RutileCalculator

FRAMES = read_frames(3)


def structure(frame, calculator, repeat=1):
    symbols, positions, cell = FRAMES[frame]
    atoms = Atoms(symbols, positions=positions, cell=cell, pbc=True).repeat(repeat)
    atoms.calc = calculator
    return atoms


class AseTest(unittest.TestCase):

    def setUp(self):
        self.fp64 = write_fp64(os.path.join(TEMPORARY, "ase.safetensors"))

    def test_is_what_evaluate_predicts(self):
        expected = evaluate([self.fp64], len(FRAMES))
        calculator = RutileCalculator(self.fp64)
        for s in range(len(FRAMES)):
            atoms = structure(s, calculator)
            begin, end = expected["atom_offset"][s], expected["atom_offset"][s + 1]
            numpy.testing.assert_allclose(atoms.get_potential_energy(), expected["predicted_energy"][s], rtol=1e-12)
            numpy.testing.assert_allclose(atoms.get_forces(), expected["predicted_force"][begin:end], rtol=0, atol=1e-10)
            numpy.testing.assert_allclose(atoms.get_stress(voigt=False), expected["predicted_stress"][s], rtol=0, atol=1e-11)
            self.assertEqual(atoms.get_potential_energy(force_consistent=True), atoms.get_potential_energy())
            self.assertAlmostEqual(atoms.get_potential_energies().sum(), atoms.get_potential_energy())

    def test_stresses_of_atoms_add_up(self):
        atoms = structure(0, RutileCalculator(self.fp64))
        stress = atoms.get_stress()
        self.assertNotIn("stresses", atoms.calc.results)
        numpy.testing.assert_allclose(atoms.get_stresses().sum(axis=0), stress, rtol=0, atol=1e-12)
        self.assertEqual(atoms.get_stresses().shape, (len(atoms), 6))

    def test_numerical_derivatives_agree(self):
        for model in (self.fp64, write_fp64(os.path.join(TEMPORARY, "vectors.safetensors"), model=VECTORS)):
            calculator = RutileCalculator(model)
            atoms = structure(0, calculator)
            forces, stress = atoms.get_forces(), atoms.get_stress()
            numpy.testing.assert_allclose(calculator.calculate_numerical_forces(atoms, d=1e-4), forces, rtol=0, atol=1e-5)
            numpy.testing.assert_allclose(calculator.calculate_numerical_stress(atoms, d=1e-5), stress, rtol=0, atol=1e-6)

    def drift(self, path, step, count):
        """Deviation and drift of the total energy in eV per atom: its root mean square about a line, and the line's rise."""
        atoms = structure(1, RutileCalculator(path), repeat=2)
        MaxwellBoltzmannDistribution(atoms, temperature_K=300, rng=numpy.random.RandomState(1))
        energies = []
        dynamics = VelocityVerlet(atoms, step * units.fs, logfile=None)
        dynamics.attach(lambda: energies.append(atoms.get_total_energy() / len(atoms)))
        dynamics.run(count)
        times = numpy.arange(len(energies))
        slope, start = numpy.polyfit(times, energies, 1)
        deviation = numpy.sqrt(numpy.mean((energies - start - slope * times)**2))
        kinetic = atoms.get_kinetic_energy() / len(atoms)
        print("%s, %g fs: %d steps of %d atoms, deviation %.2e, drift %.2e, kinetic %.2e eV/atom" %
              (os.path.basename(path), step, count, len(atoms), deviation, slope * count, kinetic))
        return deviation, abs(slope * count)

    def test_dynamics_keep_the_energy(self):
        coarse, drift = self.drift(self.fp64, 1.0, 400)
        fine, _ = self.drift(self.fp64, 0.5, 800)
        # Verlet's error is of second order if forces are the gradient of the energy: a quarter at half the step.
        self.assertLess(abs(fine / coarse - 0.25), 0.03)
        # Over 0.4 ps, against a kinetic energy of 0.04 eV/atom.
        self.assertLess(drift, 1e-5)
        single, drift = self.drift(MODEL, 1.0, 400)
        self.assertLess(drift, 1e-5)
        self.assertLess(single, 1.1 * coarse)

    def test_relaxation_ends_where_forces_and_stress_vanish(self):
        atoms = structure(1, RutileCalculator(self.fp64))
        before = atoms.get_potential_energy()
        self.assertTrue(BFGS(ExpCellFilter(atoms), logfile=None).run(fmax=0.01, steps=300))
        self.assertLess(atoms.get_potential_energy(), before)
        self.assertLess(abs(atoms.get_forces()).max(), 0.01)
        self.assertLess(abs(atoms.get_stress()).max(), 0.01)

    def test_committee(self):
        other = write_fp64(os.path.join(TEMPORARY, "other.safetensors"), 1.1)
        atoms = structure(0, RutileCalculator([self.fp64, other]))
        members = [structure(0, RutileCalculator(path)) for path in (self.fp64, other)]
        energies = [member.get_potential_energy() for member in members]
        self.assertAlmostEqual(atoms.get_potential_energy(), sum(energies) / 2)
        self.assertAlmostEqual(atoms.calc.results["energy_spread"], abs(energies[0] - energies[1]) / 2)
        difference = (members[0].get_forces() - members[1].get_forces()) / 2
        numpy.testing.assert_allclose(atoms.calc.results["forces_spread"], numpy.linalg.norm(difference, axis=1), atol=1e-12)

    def test_refuses_keywords_without_an_effect(self):
        for keyword in ("curvatures", "precison", "restart"):
            with self.assertRaisesRegex(TypeError, "%r.*path, precision, curvature, deviations, atoms" % keyword):
                RutileCalculator(self.fp64, **{keyword: "fp32"})
        calculator = RutileCalculator(self.fp64, label="name", directory=TEMPORARY)
        self.assertEqual(calculator.directory, TEMPORARY)
        with self.assertRaisesRegex(ValueError, "precision='fp32'.*make another"):
            calculator.set(precision="fp32")
        with self.assertRaisesRegex(TypeError, "'precison'.*expected one of path"):
            calculator.set(precison="fp32")
        self.assertEqual(calculator.set(), {})

    def test_atoms_with_a_calculator_are_copied_and_pickled(self):
        atoms = structure(0, RutileCalculator(self.fp64))
        energy, forces = atoms.get_potential_energy(), atoms.get_forces()
        for other in (copy.deepcopy(atoms), pickle.loads(pickle.dumps(atoms))):
            self.assertIsNot(other.calc, atoms.calc)
            self.assertEqual(other.get_potential_energy(), energy)  # as it was computed
            other.rattle(0.01)
            self.assertNotEqual(other.get_potential_energy(), energy)
            other.positions = atoms.positions
            numpy.testing.assert_array_equal(other.get_forces(), forces)
        self.assertEqual(atoms.get_potential_energy(), energy)

    def test_changes_are_noticed(self):
        calculator = RutileCalculator(self.fp64)
        atoms = structure(0, calculator)
        before = atoms.get_potential_energy()
        del atoms[0]
        self.assertNotAlmostEqual(atoms.get_potential_energy(), before)
        self.assertEqual(atoms.get_forces().shape, (len(atoms), 3))
        atoms.pbc = (True, True, False)
        with self.assertRaises(NotImplementedError):  # there is no volume
            atoms.get_stress()
        atoms.symbols[0] = "Au"
        with self.assertRaisesRegex(ValueError, "'Au'.*Ti, O"):
            atoms.get_potential_energy()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")  # ASE 3.22 leaves files open
