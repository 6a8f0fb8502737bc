#!/usr/bin/env python3
"""Measures potentials in LAMMPS: steps of an atom a second, and which part of the time is outside librutile.so.

    lammps.py [--lmp=lmp] [--mpirun=mpirun] [--plugin=rutileplugin.so] [--processes=N] [--cells=9,9,10] [--steps=100] MODEL...

Rutile TiO2 of 6 atoms a cell, NVE at 300 K from the perfect crystal, 0.5 fs. With --plugin by pair_style rutile, else by KIM
(models of KIM are made in a temporary directory by bazel-bin/tools/kim/rutile-kim). Each figure is the best of three runs:
`wall` of LAMMPS' loop, and `cpu`, the processor time of a run less that of a run of no steps, which other programs on the
machine disturb less. `outside` is the part of the loop that LAMMPS does not spend in its pair style: neighbor lists,
communication, integration. The load of the machine is printed first.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

INPUT = """
units metal
atom_style atomic
{before}
lattice custom 1.0 a1 4.65 0 0 a2 0 4.65 0 a3 0 0 2.97 basis 0 0 0 basis 0.5 0.5 0.5 &
  basis 0.305 0.305 0 basis 0.695 0.695 0 basis 0.195 0.805 0.5 basis 0.805 0.195 0.5
region box block 0 {x} 0 {y} 0 {z}
create_box 2 box
create_atoms 2 box basis 1 1 basis 2 1
mass 1 47.867
mass 2 15.999
{after}
velocity all create 300 12345 loop geom
timestep 0.0005
fix 1 all nve
run {steps}
"""


def run(options, potential, steps, environment, directory):
    """Processor seconds of a run, and what LAMMPS printed."""
    x, y, z = options.cells.split(",")
    path = os.path.join(directory, "in.lmp")
    with open(path, "w", encoding="ascii") as file:
        file.write(INPUT.format(before=potential[0], after=potential[1], x=x, y=y, z=z, steps=steps))
    command = [options.mpirun, "-n", str(options.processes)] if options.processes > 1 else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = subprocess.run(command + [options.lmp, "-in", path, "-log", "none"], env=environment, text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=directory)
    if result.returncode != 0:
        sys.exit("lammps.py: %s failed:\n%s" % (options.lmp, result.stdout))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lmp", default="lmp")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--plugin", help="rutileplugin.so; without it, by KIM")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--cells", default="9,9,10", help="unit cells along x, y, z")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    if shutil.which(options.lmp) is None:
        sys.exit("lammps.py: %s is missing (apt-get install lammps, or --lmp=PATH)" % options.lmp)
    print("load %s" % " ".join("%.1f" % load for load in os.getloadavg()))
    print("model\tatoms\tprocesses\twall[atom-steps/s]\tcpu[atom-steps/s]\toutside[%]")
    for number, model in enumerate(options.models):
        with tempfile.TemporaryDirectory() as directory:
            environment = dict(os.environ, OMP_NUM_THREADS="1", KIM_API_PORTABLE_MODELS_DIR=directory,
                               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            potential = ("plugin load %s\npair_style rutile" % os.path.abspath(options.plugin or ""),
                         "pair_coeff * * %s Ti O" % os.path.abspath(model))
            if not options.plugin:
                name = "Model_%d" % number
                subprocess.run(["bazel-bin/tools/kim/rutile-kim", "--name=" + name, "--output_dir=" + directory, model],
                               check=True, stdout=subprocess.DEVNULL)
                potential = "kim init %s metal" % name, "kim interactions Ti O"
            start = min(run(options, potential, 0, environment, directory)[0] for _ in range(3))
            best_wall = best_cpu = atoms = 0
            outside = 100.0
            for _ in range(3):
                cpu, said = run(options, potential, options.steps, environment, directory)
                wall, steps, atoms = re.search(r"Loop time of (\S+) on \d+ procs for (\d+) steps with (\d+) atoms", said).groups()
                work = int(steps) * int(atoms)
                pair = float(re.search(r"^Pair .*\|\s*(\S+)\s*$", said, re.M).group(1))
                best_wall, best_cpu = max(best_wall, work / float(wall)), max(best_cpu, work / max(cpu - start, 1e-9))
                outside = min(outside, 100 - pair)
            print("%s\t%s\t%d\t%.0f\t%.0f\t%.1f" % (model, atoms, options.processes, best_wall, best_cpu, outside), flush=True)


if __name__ == "__main__":
    main()
