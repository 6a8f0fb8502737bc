"""LAMMPS with a portable model against Potential.compute: energies, forces, pressures, on 1, 2 and 4 processes; and errors.

Arguments: rutile-kim.
"""

import os
import shutil
import subprocess
import sys
import unittest

if shutil.which("lmp") is None or shutil.which("mpirun") is None:
    print("skipped: LAMMPS is not installed (apt-get install lammps openmpi-bin)")
    sys.exit(0)

from python_testing import TEMPORARY, write_fp64
from rutile import Potential

RUTILE_KIM = os.path.abspath(sys.argv[1])
BAR = 1.6021765e6  # of 1 eV/Å³ in LAMMPS' metal units, which is not CODATA's
ENVIRONMENT = dict(os.environ, KIM_API_PORTABLE_MODELS_DIR=TEMPORARY, OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMP_NUM_THREADS="1")

START = """
units metal
atom_style atomic
boundary %s
kim init TiO2_fp64 metal
lattice custom 1.0 a1 4.65 0 0 a2 0 4.65 0 a3 0 0 2.97 basis 0 0 0 basis 0.5 0.5 0.5 &
  basis 0.305 0.305 0 basis 0.695 0.695 0 basis 0.195 0.805 0.5 basis 0.805 0.195 0.5
%s
mass 1 47.867
mass 2 15.999
kim interactions %s
displace_atoms all random 0.05 0.05 0.05 4 units box
compute s all stress/atom NULL
compute t all reduce sum c_s[1] c_s[2] c_s[3] c_s[6] c_s[5] c_s[4]
thermo_style custom step pe pxx pyy pzz pyz pxz pxy etotal c_t[*]
thermo_modify format float %%.16g norm no
"""
DUMP = """
dump 1 all custom 1 dump.out type x y z fx fy fz
dump_modify 1 sort id format float %.16g
run 0
"""
BOX = "region box block 0 3 0 3 0 4\ncreate_box 2 box\ncreate_atoms 2 box basis 1 1 basis 2 1"
# Six atoms in a cell that is thinner than the cutoff of 5 Å, tilted.
ONE_CELL = BOX.replace("block 0 3 0 3 0 4", "prism 0 1 0 1 0 1 0.2 -0.15 0.1")
# Atoms at one end of the box: of two processes along x, one has none.
CORNER = ("region box block 0 9 0 3 0 4\nregion corner block 1 3 1 2 1 3\ncreate_box 2 box\n"
          "create_atoms 2 region corner basis 1 1 basis 2 1")


def run_lammps(text, processes=1):
    """Runs an input in a directory of its own; returns the directory, the process and the last rows of thermo output."""
    directory = os.path.join(TEMPORARY, "lammps-%d" % len(os.listdir(TEMPORARY)))
    os.mkdir(directory)
    with open(os.path.join(directory, "in.lmp"), "w", encoding="utf-8") as file:
        file.write(text)
    result = subprocess.run(["mpirun", "-n", str(processes), "lmp", "-in", "in.lmp"], cwd=directory, env=ENVIRONMENT,
                            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    rows, inside = [], False
    for line in result.stdout.splitlines():
        if line.startswith("Step "):
            inside = True
        elif line.startswith(("Loop time", "ERROR", "WARNING")):
            inside = False
        elif inside:
            rows.append([float(x) for x in line.split()])
    return directory, result, rows


def read_dump(directory):
    """Symbols, positions, forces and cell of the last frame."""
    with open(os.path.join(directory, "dump.out"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    n, bounds = int(lines[3]), [[float(x) for x in line.split()] for line in lines[5:8]]
    xy, xz, yz = [b[2] for b in bounds] if len(bounds[0]) == 3 else (0.0, 0.0, 0.0)
    low_x, high_x = bounds[0][0] - min(0, xy, xz, xy + xz), bounds[0][1] - max(0, xy, xz, xy + xz)
    low_y, high_y = bounds[1][0] - min(0, yz), bounds[1][1] - max(0, yz)
    cell = [[high_x - low_x, 0, 0], [xy, high_y - low_y, 0], [xz, yz, bounds[2][1] - bounds[2][0]]]
    rows = [line.split() for line in lines[9:9 + n]]
    number = lambda row, begin: [float(x) for x in row[begin:begin + 3]]
    return ["Ti" if r[0] == "1" else "O" for r in rows], [number(r, 1) for r in rows], [number(r, 4) for r in rows], cell


class KimTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.model = write_fp64(os.path.join(TEMPORARY, "fp64.safetensors"))
        subprocess.run([RUTILE_KIM, "--name=TiO2_fp64", "--output_dir=" + TEMPORARY, cls.model], check=True)

    def compare(self, box, processes, boundary="p p p"):
        directory, result, rows = run_lammps(START % (boundary, box, "Ti O") + DUMP, processes)
        self.assertEqual(result.returncode, 0, result.stdout)
        symbols, positions, forces, cell = read_dump(directory)
        expected = Potential(self.model).compute(symbols, positions, cell, [b == "p" for b in boundary.split()])
        self.assertLess(abs(rows[-1][1] / expected["energy"] - 1), 1e-10)
        scale = max(1, max(abs(x) for f in forces for x in f))
        worst = max(abs(a - b) for f, e in zip(forces, expected["forces"]) for a, b in zip(f, e))
        self.assertLess(worst, 1e-10 * scale)
        volume = cell[0][0] * cell[1][1] * cell[2][2]
        for k, (a, b) in enumerate([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]):
            self.assertLess(abs(rows[-1][9 + k] / BAR - expected["virial"][a][b]), 1e-8 * max(1, volume / 100))
        if boundary == "p p p":
            for k, (a, b) in enumerate([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]):
                self.assertLess(abs(rows[-1][2 + k] / BAR * volume + expected["virial"][a][b]), 1e-8 * max(1, volume / 100))
        print("%d atoms, %d processes: energy to %.1e, forces to %.1e eV/Å" %
              (len(symbols), processes, abs(rows[-1][1] / expected["energy"] - 1), worst))

    def test_agrees_on_any_number_of_processes(self):
        for processes in (1, 2, 4):
            self.compare(BOX, processes)

    def test_agrees_in_a_tilted_cell_thinner_than_the_cutoff(self):
        for processes in (1, 2):
            self.compare(ONE_CELL, processes)

    def test_agrees_at_surfaces_and_with_a_process_without_atoms(self):
        self.compare(BOX, 2, boundary="p p s")
        self.compare(CORNER, 2, boundary="f f f")

    def test_dynamics_keep_the_energy(self):
        text = START % ("p p p", BOX, "Ti O") + ("velocity all create 300 12345 loop geom\ntimestep 0.0005\nthermo 50\n"
                                                 "fix 1 all nve\nrun 400\n")
        _, result, rows = run_lammps(text, 2)
        self.assertEqual(result.returncode, 0, result.stdout)
        energies = [row[8] / 216 for row in rows]
        print("0.2 ps of 216 atoms: total energy within %.1e eV/atom" % (max(energies) - min(energies)))
        self.assertLess(max(energies) - min(energies), 2e-5)

    def test_a_repulsion_is_that_of_lammps(self):
        repels = write_fp64(os.path.join(TEMPORARY, "repels.safetensors"), repulsion=(1.2, 2.5))
        subprocess.run([RUTILE_KIM, "--name=TiO2_repels", "--output_dir=" + TEMPORARY, repels], check=True)
        plain = START % ("p p p", BOX, "Ti O") + DUMP
        text = plain.replace("TiO2_fp64", "TiO2_repels")
        zbl = "".join(line + "\n" for line in plain.splitlines() if not line.startswith("kim init"))
        zbl = zbl.replace("kim interactions Ti O", "pair_style zbl 1.2 2.5\npair_coeff 1 1 22 22\npair_coeff 2 2 8 8")
        runs = [run_lammps(each, processes) for each, processes in ((text, 1), (text, 2), (plain, 1), (zbl, 1))]
        for _, result, _ in runs:
            self.assertEqual(result.returncode, 0, result.stdout)
        energies = [rows[-1][1] for _, _, rows in runs]
        self.assertGreater(energies[3], 10)
        self.assertLess(abs(energies[1] - energies[0]), 1e-8)
        self.assertLess(abs(energies[0] - energies[2] - energies[3]), 1e-10 * abs(energies[0]))
        forces = [read_dump(directory)[2] for directory, _, _ in runs]
        worst = max(abs(a - b - c) for all3 in zip(forces[0], *forces[2:]) for a, b, c in zip(*all3))
        self.assertLess(worst, 1e-9)
        for k in range(2, 8):
            whole, networks, pairs = [rows[-1][k] for _, _, rows in (runs[0], runs[2], runs[3])]
            self.assertLess(abs(whole - networks - pairs), 1e-6 * max(abs(networks), abs(pairs)))
        symbols, positions, _, cell = read_dump(runs[0][0])
        self.assertLess(abs(Potential(repels).compute(symbols, positions, cell)["energy"] - energies[0]), 1e-7)
        print("with a repulsion: energy to %.1e eV, forces to %.1e eV/Å" %
              (abs(energies[0] - energies[2] - energies[3]), worst))

    def fails(self, text, fact, processes=2):
        directory, result, _ = run_lammps(text, processes)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        log = os.path.join(directory, "kim.log")
        said = result.stdout
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                said += file.read()
        self.assertIn(fact, said)

    def test_says_what_is_wrong(self):
        self.fails(START % ("p p p", BOX, "Ti Au") + DUMP, "Au")
        # On one process: LAMMPS' pair style waits for all to fail when one does.
        self.fails(START % ("p p p", BOX, "Ti O") + "set atom 2 x 0.01 y 0.01 z 0.01\nset atom 1 x 0 y 0 z 0\n" + DUMP,
                   "Angstrom apart", processes=1)
        self.fails((START % ("p p p", BOX, "Ti O")).replace("metal\natom", "real\natom").replace("TiO2_fp64 metal", "TiO2_fp64 real"),
                   "unit")
        self.fails((START % ("p p p", BOX, "Ti O")).replace("TiO2_fp64", "No_such_model"), "No_such_model")
        broken = os.path.join(TEMPORARY, "TiO2_cut")
        shutil.copytree(os.path.join(TEMPORARY, "TiO2_fp64"), broken)
        os.truncate(os.path.join(broken, "model-1.safetensors"), 3000)
        self.fails((START % ("p p p", BOX, "Ti O")).replace("TiO2_fp64", "TiO2_cut"), "TiO2_cut/model-1.safetensors")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
