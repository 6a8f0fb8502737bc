"""What tests of potentials in LAMMPS share: inputs, runs, and the comparison of a run with Potential.compute.

A potential is a pair of texts of an input: what comes before the box, and what comes after it.
"""

import os
import subprocess
import sys
import time

from python_testing import TEMPORARY
from rutile import Potential

BAR = 1.6021765e6  # of 1 eV/Å³ in LAMMPS' metal units, which is not CODATA's
VOIGT = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]  # of the columns of the pressure and of the virial below
PRESSURE, ENERGY, VIRIAL = 2, 8, 9  # first columns of rows: step pe pressure[6] etotal virial[6]

HEAD = """
units metal
atom_style atomic
boundary %s
%s
lattice custom 1.0 a1 4.65 0 0 a2 0 4.65 0 a3 0 0 2.97 basis 0 0 0 basis 0.5 0.5 0.5 &
  basis 0.305 0.305 0 basis 0.695 0.695 0 basis 0.195 0.805 0.5 basis 0.805 0.195 0.5
%s
mass * 15.999
mass 1 47.867
%s
"""
# The virial of atoms is added up, with its sign, which makes it rutile's in bar times Å³.
OUTPUT = """
displace_atoms all random 0.05 0.05 0.05 4 units box
compute s all stress/atom NULL virial
compute t all reduce sum c_s[1] c_s[2] c_s[3] c_s[6] c_s[5] c_s[4]
thermo_style custom step pe pxx pyy pzz pyz pxz pxy etotal c_t[1] c_t[2] c_t[3] c_t[4] c_t[5] c_t[6]
thermo_modify format float %.16g norm no
"""
DUMP = """
dump 1 all custom 1 dump.out type x y z fx fy fz
dump_modify 1 sort id format float %.16g
"""
BOX = "region box block 0 3 0 3 0 4\ncreate_box 2 box\ncreate_atoms 2 box basis 1 1 basis 2 1"
# Dynamics hot enough for atoms to leave the part of the box of their process, and for lists that some steps have aged.
MOTION = "velocity all create 1000 12345 loop geom\ntimestep 0.001\nthermo 25\nfix 1 all nve\nrun 25\n"
# Six atoms in a cell that is thinner than the cutoff of 5 Å, tilted.
ONE_CELL = BOX.replace("block 0 3 0 3 0 4", "prism 0 1 0 1 0 1 0.2 -0.15 0.1")
# Atoms at one end of the box: of two processes along x, one has none.
CORNER = ("region box block 0 9 0 3 0 4\nregion corner block 1 3 1 2 1 3\ncreate_box 2 box\n"
          "create_atoms 2 region corner basis 1 1 basis 2 1")


def start(potential, box=BOX, boundary="p p p"):
    """An input up to its first run."""
    return HEAD % (boundary, potential[0], box, potential[1]) + OUTPUT


class Lammps:
    """Runs inputs, each in a directory of its own."""

    def __init__(self, lmp, mpirun, **environment):
        self.lmp, self.mpirun = lmp, mpirun
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                                OMP_NUM_THREADS="1", **environment)  # yapf: disable

    def run(self, text, processes=1, timeout=120):
        """Returns the directory, the exit status, all that was printed, and the rows of thermo output."""
        directory = os.path.join(TEMPORARY, "lammps-%d" % len(os.listdir(TEMPORARY)))
        os.mkdir(directory)
        with open(os.path.join(directory, "in.lmp"), "w", encoding="utf-8") as file:
            file.write(text)
        with subprocess.Popen([self.mpirun, "-n", str(processes), self.lmp, "-in", "in.lmp"], cwd=directory,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as process:  # yapf: disable
            try:
                said = process.communicate(timeout=timeout)[0]
            except subprocess.TimeoutExpired:
                process.terminate()  # mpirun then ends what it started
                raise
        rows, inside = [], False
        for line in said.splitlines():
            words = line.split()
            if words and words[0] == "Step":
                inside = True
            elif line.startswith("Loop time"):
                inside = False
            elif inside and words and words[0].isdigit():
                rows.append([float(x) for x in words])
        log = os.path.join(directory, "kim.log")
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                said += file.read()
        return directory, process.returncode, said, rows


def read_dump(directory):
    """Types, positions, forces and cell of the last frame."""
    with open(os.path.join(directory, "dump.out"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    del lines[:max(k for k, line in enumerate(lines) if line == "ITEM: TIMESTEP")]
    n, bounds = int(lines[3]), [[float(x) for x in line.split()] for line in lines[5:8]]
    xy, xz, yz = [b[2] for b in bounds] if len(bounds[0]) == 3 else (0.0, 0.0, 0.0)
    low_x, high_x = bounds[0][0] - min(0, xy, xz, xy + xz), bounds[0][1] - max(0, xy, xz, xy + xz)
    low_y, high_y = bounds[1][0] - min(0, yz), bounds[1][1] - max(0, yz)
    cell = [[high_x - low_x, 0, 0], [xy, high_y - low_y, 0], [xz, yz, bounds[2][1] - bounds[2][0]]]
    rows = [line.split() for line in lines[9:9 + n]]
    number = lambda row, begin: [float(x) for x in row[begin:begin + 3]]
    return [int(r[0]) for r in rows], [number(r, 1) for r in rows], [number(r, 4) for r in rows], cell


def compare(test, lammps, potential, model, processes=1, box=BOX, boundary="p p p", symbols=("Ti", "O"), run="run 0\n"):
    """Expects the last step of a run to give what Potential.compute gives for the dumped positions. symbols: of types."""
    directory, status, said, rows = lammps.run(start(potential, box, boundary) + DUMP + run, processes)
    test.assertEqual(status, 0, said)
    types, positions, forces, cell = read_dump(directory)
    expected = Potential(model).compute([symbols[t - 1] for t in types], positions, cell, [b == "p" for b in boundary.split()])
    energy = abs(rows[-1][1] / expected["energy"] - 1)
    test.assertLess(energy, 1e-12)
    scale = max(1, max(abs(x) for f in forces for x in f))
    worst = max(abs(a - b) for f, e in zip(forces, expected["forces"]) for a, b in zip(f, e))
    test.assertLess(worst, 1e-10 * scale)
    volume = cell[0][0] * cell[1][1] * cell[2][2]
    virial = 0.0
    for k, (a, b) in enumerate(VOIGT):
        virial = max(virial, abs(rows[-1][VIRIAL + k] / BAR - expected["virial"][a][b]))
        if boundary == "p p p" and run == "run 0\n":  # the pressure of atoms in motion has their momentum, too
            virial = max(virial, abs(rows[-1][PRESSURE + k] / BAR * volume + expected["virial"][a][b]))
    test.assertLess(virial, 1e-10 * max(1, max(abs(x) for row in expected["virial"] for x in row)))
    print("%d atoms, %d processes: energy to %.1e, forces to %.1e eV/Å, virial to %.1e eV" %
          (len(types), processes, energy, worst, virial))
    return rows


def check_derivatives(test, lammps, potential):
    """Expects LAMMPS' forces and pressure to be differences of its energies."""
    step, strain = 1e-4, 3e-5  # the energy of all 216 atoms bends more along a strain
    text = start(potential) + DUMP + "run 0\nundump 1\ngroup one id 7\n"
    for axis in range(3):
        for factor in (1, -2, 1):
            move = ["0", "0", "0"]
            move[axis] = "%.17g" % (factor * step)
            text += "displace_atoms one move %s units box\nrun 0\n" % " ".join(move)
    text += "change_box all triclinic\n"
    for change in ("x scale", "xy delta"):
        one = 1.0 if "scale" in change else 0.0
        factors = (1 + strain, (1 - strain) / (1 + strain), 1 / (1 - strain)) if one else (strain, -2 * strain, strain)
        for factor in factors:
            text += "change_box all %s %.17g remap units box\nrun 0\n" % (change, factor)
    directory, status, said, rows = lammps.run(text)
    test.assertEqual(status, 0, said)
    _, _, forces, cell = read_dump(directory)
    energies = [row[1] for row in rows]
    found = [-(energies[3 * a + 1] - energies[3 * a + 2]) / (2 * step) for a in range(3)]
    for a in range(3):
        test.assertLess(abs(found[a] - forces[6][a]), 1e-6, "force %d" % a)
    volume = cell[0][0] * cell[1][1] * cell[2][2]
    # The shear of the box by a length is a strain of that length by the height of the box.
    for begin, width, column in ((10, 1.0, 0), (13, cell[1][1], 5)):
        difference = (energies[begin] - energies[begin + 1]) / (2 * strain) * width
        virial = -rows[0][PRESSURE + column] / BAR * volume
        test.assertLess(abs(difference - virial), 1e-5 * max(1, abs(virial)),
                        "strain, column %d: %g, %g" % (column, difference, virial))  # yapf: disable
    print("forces and pressures are differences of energies")


def drift(test, lammps, potential, processes, timestep, steps):
    """Runs NVE from 300 K; returns the rise of a line through the total energies, and the deviation from it, eV/atom."""
    every = steps // 40
    text = start(potential) + ("velocity all create 300 12345 loop geom\ntimestep %g\nthermo %d\nfix 1 all nve\nrun %d\n" %
                               (timestep, every, steps))
    begin = time.monotonic()
    _, status, said, rows = lammps.run(text, processes)
    test.assertEqual(status, 0, said)
    energies = [row[ENERGY] / 216 for row in rows]
    n = len(energies)
    mean_t, mean_e = (n - 1) / 2, sum(energies) / n
    slope = sum((t - mean_t) * (e - mean_e) for t, e in enumerate(energies)) / sum((t - mean_t)**2 for t in range(n))
    deviation = (sum((e - mean_e - slope * (t - mean_t))**2 for t, e in enumerate(energies)) / n)**0.5
    rise = slope * (n - 1)
    print("%d steps of %g ps, 216 atoms: the energy rises by %.1e and deviates by %.1e eV/atom (%.1f s)" %
          (steps, timestep, rise, deviation, time.monotonic() - begin))
    return rise, deviation


def fails(test, lammps, text, facts, processes=2):
    """Expects a run to end, with a status other than 0 and one message that has the facts."""
    _, status, said, _ = lammps.run(text, processes, timeout=30)
    test.assertNotEqual(status, 0, said)
    for fact in facts:
        test.assertIn(fact, said)


def skip(what):
    """Ends a test that cannot run here."""
    print("skipped: %s" % what)
    sys.exit(0)
