"""Tests pair_style rutile by hand, in a LAMMPS of yours; CI has none that loads plugins.

plugin_test.sh MPIRUN LMP rutileplugin.so runs it.
"""

import os
import shutil
import subprocess
import sys
import unittest

import lammps_testing as lammps_test
from lammps_testing import BOX, CORNER, DUMP, MOTION, ONE_CELL, Lammps, check_derivatives, compare, drift, fails, start
from python_testing import MODEL, TEMPORARY, write_fp64
from rutile import Potential

MPIRUN, LMP, PLUGIN = sys.argv[2:5]
MANY_BODY = "testdata/md/tio2-many-body.safetensors"
TWO_LAYERS = "testdata/md/tio2-two-layers.safetensors"
VECTORS = "testdata/md/tio2-vectors.safetensors"
FORCES = "testdata/compat/unreleased/forces/run/best.safetensors"  # what aenet has, too
MACE = ["testdata/mace/one-layer.safetensors", "testdata/mace/two-layers.safetensors"]
LAMMPS = Lammps(LMP, MPIRUN)


def pair(coefficients, options=""):
    """A potential of the plugin: pair_style before the box, pair_coeff after it."""
    return "plugin load %s\npair_style rutile %s" % (PLUGIN, options), "pair_coeff * * " + coefficients


class PluginTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.model = write_fp64(os.path.join(TEMPORARY, "fp64.safetensors"))
        cls.other = write_fp64(os.path.join(TEMPORARY, "other.safetensors"), factor=1.01)
        cls.many = write_fp64(os.path.join(TEMPORARY, "many.safetensors"), model=MANY_BODY)
        cls.two = write_fp64(os.path.join(TEMPORARY, "two.safetensors"), model=TWO_LAYERS)
        cls.vectors = write_fp64(os.path.join(TEMPORARY, "vectors.safetensors"), model=VECTORS)
        directory = os.path.join(TEMPORARY, "aenet")
        subprocess.run(["bazel-bin/tools/evaluate/evaluate", "--export_aenet=" + directory, FORCES], check=True)
        cls.aenet = [os.path.join(directory, name) for name in ("Ti.nn", "O.nn")]
        cls.other_two = write_fp64(os.path.join(TEMPORARY, "other-two.safetensors"), factor=1.01, model=TWO_LAYERS)

    def test_equals_compute(self):
        for model in (self.model, self.many, self.two, self.vectors):
            potential = pair(model + " Ti O")
            for processes in (1, 2, 4):
                compare(self, LAMMPS, potential, model, processes)
                compare(self, LAMMPS, potential, model, processes, box=ONE_CELL)
            compare(self, LAMMPS, potential, model, 2, boundary="p p s")
            compare(self, LAMMPS, potential, model, 2, box=CORNER, boundary="f f f")
            compare(self, LAMMPS, potential, model, 4, run=MOTION)

    # O and H of models with weights that nothing was fitted to stand at the places of Ti and O.
    def test_models_of_mace(self):
        models = [os.path.abspath(model) for model in MACE]
        for model in models:
            potential = pair(model + " O H")
            for processes in (1, 4):
                compare(self, LAMMPS, potential, model, processes, symbols=("O", "H"))
                compare(self, LAMMPS, potential, model, processes, box=ONE_CELL, symbols=("O", "H"))
            compare(self, LAMMPS, potential, model, 2, box=CORNER, boundary="f f f", symbols=("O", "H"))
            check_derivatives(self, LAMMPS, potential)
        compare(self, LAMMPS, pair(" ".join(models) + " O H", "committee yes"), models, 2, symbols=("O", "H"))
        fails(self, LAMMPS, start(pair(models[1] + " O H", "precision fp32")), ["precision 32", "MACE"])

    def test_elements_in_another_order(self):
        box = BOX.replace("basis 1 1 basis 2 1", "basis 1 2 basis 2 2").replace("create_atoms 2", "create_atoms 1")
        compare(self, LAMMPS, pair(self.model + " O Ti"), self.model, 2, box=box, symbols=("O", "Ti"))

    def test_derivatives(self):
        for model in (self.model, self.many, self.two, self.vectors):
            check_derivatives(self, LAMMPS, pair(model + " Ti O"))

    def test_dynamics_keep_the_energy(self):
        for model, steps in ((self.model, 400), (self.many, 400), (self.two, 80), (self.vectors, 80)):
            coarse = drift(self, LAMMPS, pair(model + " Ti O"), 2, 0.001, steps)
            fine = drift(self, LAMMPS, pair(model + " Ti O"), 2, 0.0005, 2 * steps)
            self.assertLess(abs(fine[0]), 1e-5)
            self.assertLess(abs(fine[1] / coarse[1] - 0.25), 0.05)
        rise, _ = drift(self, LAMMPS, pair(os.path.abspath(MODEL) + " Ti O"), 2, 0.001, 400)
        self.assertLess(abs(rise), 1e-5)

    # Ti and O as before, and two atoms of argon far from them, whose style is another one.
    def test_hybrid_and_null(self):
        for model in (self.model, self.two, self.vectors):
            self.check_hybrid(model)

    def check_hybrid(self, model):
        box = BOX.replace("create_box 2", "create_box 3").replace("block 0 3 0 3 0 4", "block 0 3 0 3 0 9").replace(
            "create_atoms 2 box", "region low block 0 2.9 0 2.9 0 3.9\ncreate_atoms 2 region low")
        box += "\ncreate_atoms 3 single 1.5 1.5 5.5\ncreate_atoms 3 single 2.5 1.5 5.5\nmass 3 40"
        for style in ("hybrid", "hybrid/overlay"):
            before = "plugin load %s\npair_style %s rutile lj/cut 8.5" % (PLUGIN, style)
            after = ("pair_coeff * * rutile %s Ti O NULL\npair_coeff 3 3 lj/cut 0.0103 3.4\n"
                     "pair_coeff 1*2 3 lj/cut 0.0 3.0" % model)
            directory, status, said, rows = LAMMPS.run(start((before, after), box) + DUMP + "run 0\n", 2)
            self.assertEqual(status, 0, said)
            types, positions, forces, cell = lammps_test.read_dump(directory)
            ours = [i for i, t in enumerate(types) if t < 3]
            result = Potential(model).compute([("Ti", "O")[types[i] - 1] for i in ours], [positions[i] for i in ours], cell)
            for i, expected in zip(ours, result["forces"]):
                for a in range(3):
                    self.assertLess(abs(forces[i][a] - expected[a]), 1e-10 * max(1, abs(expected[a])))
            a, b = [r for t, r in zip(types, positions) if t == 3]
            six = (3.4**2 / sum((x - y)**2 for x, y in zip(a, b)))**3
            energy = result["energy"] + 4 * 0.0103 * six * (six - 1)
            self.assertLess(abs(rows[-1][1] / energy - 1), 1e-12)

    def test_committee(self):
        self.check_committee([self.model, self.other])
        self.check_committee([self.two, self.other_two])
        self.check_committee([self.vectors, self.other_two])
        # One of two layers beside one of one, whose descriptors are the same.
        one_layer = write_fp64(os.path.join(TEMPORARY, "beside.safetensors"), model=MANY_BODY)
        self.check_committee([one_layer, self.two])

    def check_committee(self, members):
        potential = pair(" ".join(members) + " Ti O", "committee yes")
        rows = compare(self, LAMMPS, potential, members, 2)
        text = start(potential) + "compute p all pair rutile\nfix s all pair 1 rutile spread 1 extrapolation 0\n"
        text += ("thermo_style custom step pe c_p[1] c_p[2] c_p[3]\nthermo_modify format float %.16g norm no\n"
                 "dump 1 all custom 1 dump.out type x y z f_s[1] f_s[2] type\ndump_modify 1 sort id format float %.16g\nrun 0\n")
        # A hybrid style asks for the size of messages before coefficients are known.
        hybrid = text.replace("pair_style rutile committee yes", "pair_style hybrid/overlay rutile committee yes zero 6.0").replace(
            "pair_coeff * * ", "pair_coeff * * zero\npair_coeff * * rutile ")
        for processes, text in ((1, text), (4, text), (2, hybrid)):
            directory, status, said, spread = LAMMPS.run(text, processes)
            self.assertEqual(status, 0, said)
            types, positions, values, cell = lammps_test.read_dump(directory)
            expected = Potential(members).compute([("Ti", "O")[t - 1] for t in types], positions, cell)
            self.assertLess(abs(spread[-1][1] / rows[-1][1] - 1), 1e-12)
            self.assertEqual(spread[-1][2], sum(expected["outside"]))
            self.assertLess(abs(spread[-1][3] - expected["energy_spread"]), 1e-10 * abs(expected["energy"]))
            self.assertLess(abs(spread[-1][4] - expected["spread"]), 1e-10)
            for value, force, outside in zip(values, expected["forces_spread"], expected["outside"]):
                self.assertLess(abs(value[0] - force), 1e-10)
                self.assertEqual(value[1], outside)

    def test_warns_of_extrapolation(self):
        potential = pair(self.model + " Ti O", "extrapolation warn 5")
        text = start(potential) + "displace_atoms all random 0.3 0.3 0.3 9 units box\nfix 1 all nve\ntimestep 1e-5\nrun 10\n"
        _, status, said, _ = LAMMPS.run(text, 2)
        self.assertEqual(status, 0, said)
        self.assertEqual(said.count("outside the training range"), 3, said)
        fails(self, LAMMPS, text.replace("warn 5", "stop 0"), ["outside the training range", "more than 0"])

    def test_networks_of_aenet_are_one_model(self):
        files = self.aenet
        for processes in (1, 2):
            compare(self, LAMMPS, pair(" ".join(self.aenet) + " Ti O"), files, processes)

    def test_refuses(self):
        good = self.model + " Ti O"
        run = "run 0\n"
        cases = [
            (start(pair(self.model + " Ti Au")), ["type 2", "Au", "Ti O"]),
            (start(pair("no/such Ti O")), ["no/such"]),
            (start(pair(self.model + " Ti")), ["2 atom types"]),
            (start(pair(self.model + " " + self.other + " Ti O")), ["2 files", "2 models", "committee"]),
            (start(pair(good, "committee yes")), ["1 files", "1 model,", "committee"]),
            (start(pair(" ".join(self.aenet) + " Ti O", "committee yes")), ["2 files", "1 model,", "committee"]),
            (start(pair(self.model + " NULL NULL")), ["NULL"]),
            (start(pair(good, "cutoff 5")), ["cutoff"]),
            (start(pair(good, "precision fp16")), ["fp16"]),
            (start(pair(good, "extrapolation warn")), ["needs a value"]),
            (start(pair(good)).replace("units metal", "units real") + run, ["real", "units metal"]),
            (start(pair(good)).replace("units metal", "units metal\nnewton off") + run, ["newton on"]),
            (start(pair(good)) + "neigh_modify exclude type 1 1\n" + run, ["neigh_modify exclude"]),
            (start(pair(good)).replace("atom_style atomic", "atom_style full") + run, ["special_bonds"]),
            (start(pair(good)) + "set atom 2 x 0.01 y 0.01 z 0.01\nset atom 1 x 0 y 0 z 0\n" + run, ["Angstrom apart"]),
            (start(pair(good)) + "pair_style rutile precision fp32\n" + run, ["coeff"]),
            (start(pair(good)) + "fix s all pair 1 rutile spread 0\n" + run, ["spread", "committee"]),
        ]
        parted = start(pair(good)).replace("pair_style rutile", "pair_style hybrid rutile zero 6.0").replace(
            "pair_coeff * * " + good, "pair_coeff * * rutile %s\npair_coeff 1 1 zero" % good)
        cases.append((parted + run, ["types 1 and 1"]))
        cut = os.path.join(TEMPORARY, "cut.safetensors")
        shutil.copy(self.model, cut)
        os.truncate(cut, 3000)
        cases.append((start(pair(cut + " Ti O")), [cut]))
        for text, facts in cases:
            with self.subTest(facts=facts):
                fails(self, LAMMPS, text, ["ERROR"] + facts, processes=2)
        text = start(pair(good)).replace("atom_style atomic", "atom_style full\nspecial_bonds lj/coul 1 1 1")
        self.assertEqual(LAMMPS.run(text + run, 2)[1], 0)

    def test_restart_needs_the_coefficients_again(self):
        text = start(pair(self.model + " Ti O")) + "run 0\nwrite_restart r\nclear\nplugin load %s\nread_restart r\n" % PLUGIN
        again = "pair_style rutile\npair_coeff * * %s Ti O\nrun 0\n" % self.model
        self.assertEqual(LAMMPS.run(text + again, 2)[1], 0)
        fails(self, LAMMPS, text + "run 0\n", ["ERROR"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
