"""Portable models in LAMMPS against Potential.compute, on 1, 2 and 4 processes; derivatives, dynamics, and errors.

Arguments: rutile-kim.
"""

import os
import shutil
import subprocess
import sys
import unittest

import lammps_testing
from lammps_testing import CORNER, MOTION, ONE_CELL, Lammps, check_derivatives, compare, drift, fails, start

if shutil.which("lmp") is None or shutil.which("mpirun") is None:
    lammps_testing.skip("LAMMPS is not installed (apt-get install lammps openmpi-bin)")

from python_testing import MODEL, TEMPORARY, write_fp64

RUTILE_KIM = os.path.abspath(sys.argv[1])
MANY_BODY = "testdata/md/tio2-many-body.safetensors"
TWO_LAYERS = "testdata/md/tio2-two-layers.safetensors"
VECTORS = "testdata/md/tio2-vectors.safetensors"
# Of mace-torch, with weights that nothing was fitted to: O and H stand at the places of Ti and O.
MACE = {"MaceOneLayer": "testdata/mace/one-layer.safetensors", "MaceTwoLayers": "testdata/mace/two-layers.safetensors"}
LAMMPS = Lammps("lmp", "mpirun", KIM_API_PORTABLE_MODELS_DIR=TEMPORARY)


def portable(name, elements="Ti O"):
    """A potential of KIM: its name before the box, elements of types after it."""
    return "kim init %s metal" % name, "kim interactions " + elements


def make(name, *models):
    subprocess.run([RUTILE_KIM, "--name=" + name, "--output_dir=" + TEMPORARY, *models], check=True, stdout=subprocess.DEVNULL)


class KimTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.models = {"Chebyshev": write_fp64(os.path.join(TEMPORARY, "fp64.safetensors")),
                      "ManyBody": write_fp64(os.path.join(TEMPORARY, "many.safetensors"), model=MANY_BODY),
                      "TwoLayers": write_fp64(os.path.join(TEMPORARY, "two.safetensors"), model=TWO_LAYERS),
                      "Vectors": write_fp64(os.path.join(TEMPORARY, "vectors.safetensors"), model=VECTORS)}  # yapf: disable
        for name, path in {**cls.models, **MACE}.items():
            make(name, path)
        make("Single", MODEL)

    def test_equals_compute(self):
        for name, model in self.models.items():
            for processes in (1, 2, 4):
                compare(self, LAMMPS, portable(name), model, processes)
            for processes in (1, 2):
                compare(self, LAMMPS, portable(name), model, processes, box=ONE_CELL)
            compare(self, LAMMPS, portable(name), model, 2, boundary="p p s")
            compare(self, LAMMPS, portable(name), model, 2, box=CORNER, boundary="f f f")
            compare(self, LAMMPS, portable(name), model, 2, run=MOTION)

    def test_models_of_mace(self):
        for name, model in MACE.items():
            for processes in (1, 4):
                compare(self, LAMMPS, portable(name, "O H"), model, processes, symbols=("O", "H"))
            compare(self, LAMMPS, portable(name, "H O"), model, 2, box=ONE_CELL, symbols=("H", "O"))
            compare(self, LAMMPS, portable(name, "O H"), model, 2, box=CORNER, boundary="f f f", symbols=("O", "H"))
            check_derivatives(self, LAMMPS, portable(name, "O H"))
        make("MaceCommittee", *MACE.values())
        compare(self, LAMMPS, portable("MaceCommittee", "O H"), list(MACE.values()), 2, symbols=("O", "H"))

    def test_committee_and_other_order_of_elements(self):
        other = write_fp64(os.path.join(TEMPORARY, "other.safetensors"), factor=1.01)
        make("Committee", self.models["Chebyshev"], other)
        compare(self, LAMMPS, portable("Committee", "O Ti"), [self.models["Chebyshev"], other], 2, symbols=("O", "Ti"))

    def test_derivatives(self):
        for name in self.models:
            check_derivatives(self, LAMMPS, portable(name))

    def test_dynamics_keep_the_energy(self):
        # Verlet's error is of second order if forces are the gradient of the energy: a quarter at half the step.
        for name, steps in (("ManyBody", 200), ("TwoLayers", 80), ("Vectors", 80)):
            coarse = drift(self, LAMMPS, portable(name), 1, 0.001, steps)
            fine = drift(self, LAMMPS, portable(name), 1, 0.0005, 2 * steps)
            self.assertLess(abs(fine[1] / coarse[1] - 0.25), 0.05)
        # Over 0.2 ps, against a kinetic energy of 0.04 eV/atom.
        for name in ("Chebyshev", "Single"):
            rise, deviation = drift(self, LAMMPS, portable(name), 1, 0.001, 200)
            self.assertLess(abs(rise), 1e-5)
            self.assertLess(deviation, 1e-5)

    # Energies, pressures and virials of the potential with a repulsion are those without it and of pair_style zbl.
    def test_a_repulsion_is_that_of_lammps(self):
        repels = write_fp64(os.path.join(TEMPORARY, "repels.safetensors"), repulsion=(1.2, 2.5))
        make("Repels", repels)
        whole = compare(self, LAMMPS, portable("Repels"), repels, 2)[-1]
        networks = compare(self, LAMMPS, portable("Chebyshev"), self.models["Chebyshev"], 2)[-1]
        zbl = "", "pair_style zbl 1.2 2.5\npair_coeff 1 1 22 22\npair_coeff 2 2 8 8"
        _, status, said, rows = LAMMPS.run(start(zbl) + "run 0\n")
        self.assertEqual(status, 0, said)
        self.assertGreater(rows[-1][1], 10)
        for k in range(1, len(whole)):
            scale = max(1, abs(networks[k]), abs(rows[-1][k]))
            self.assertLess(abs(whole[k] - networks[k] - rows[-1][k]), 1e-9 * scale)

    @unittest.skipIf(shutil.which("cmake") is None, "cmake is not installed")
    def test_a_model_of_the_driver(self):
        directory = os.path.join(TEMPORARY, "driver")
        collections = {name: os.path.join(TEMPORARY, name)
                       for name in ("KIM_API_PORTABLE_MODELS_DIR", "KIM_API_MODEL_DRIVERS_DIR")}  # yapf: disable
        subprocess.run([RUTILE_KIM, "--name=Driven", "--driver", "--output_dir=" + directory, self.models["ManyBody"]],
                       check=True, stdout=subprocess.DEVNULL)  # yapf: disable
        for path in collections.values():
            os.mkdir(path)
        for item in ("rutile_driver", "Driven"):
            result = subprocess.run(["kim-api-collections-management", "install", "environment", item], cwd=directory,
                                    env=dict(os.environ, **collections), check=False, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)  # yapf: disable
            self.assertEqual(result.returncode, 0, result.stdout)
        compare(self, Lammps("lmp", "mpirun", **collections), portable("Driven"), self.models["ManyBody"], 2)

    def test_says_what_is_wrong(self):
        good = start(portable("Chebyshev"))
        fails(self, LAMMPS, start(portable("Chebyshev", "Ti Au")) + "run 0\n", ["Au"])
        fails(self, LAMMPS, good.replace("metal", "real"), ["unit"])
        fails(self, LAMMPS, start(portable("No_such_model")), ["No_such_model"])
        broken = os.path.join(TEMPORARY, "Cut")
        shutil.copytree(os.path.join(TEMPORARY, "Chebyshev"), broken)
        os.truncate(os.path.join(broken, "model-1.safetensors"), 3000)
        fails(self, LAMMPS, start(portable("Cut")), ["Cut/model-1.safetensors"])

    # Only one of two processes has the atoms that cannot be computed.
    def test_a_step_that_fails_on_one_process_ends_all(self):
        text = start(portable("Chebyshev")) + "set atom 2 x 0.01 y 0.01 z 0.01\nset atom 1 x 0.02 y 0.02 z 0.02\nrun 0\n"
        for processes in (1, 2, 4):
            fails(self, LAMMPS, text, ["Chebyshev", "Angstrom apart"], processes)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
