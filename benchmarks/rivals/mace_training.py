#!/usr/bin/env python3
"""Training and evaluation by mace-torch beside rutile's many-body potentials of one and two layers, time per atom.

data/tio2-pbe (403 structures, 2484 atoms, energies and forces), a cutoff of 5 Angstrom (51 neighbors), 64 channels,
max_l 3, products of three moments, batches of 8 structures, fp32, one thread. mace-torch: ScaleShiftMACE of 64x0e,
radial MLPs 64-64-64, eager, with neighbor lists made before; a step is energies, forces, loss, gradients and Adam with
amsgrad; an evaluation is energies and forces in batches of 32. rutile: an epoch of train is the difference of a long
and a short run; an evaluation is evaluate of eleven copies of all structures less that of one, with reading and
neighbors. Two layers of rutile have --messages=16. The models of the two programs are of one class, but not the same
function: mace_accuracy.py beside this script measures what each learns in how much time. Quoted are microseconds of
processor time for each atom of a training step or an evaluation.
"""

import os
import pathlib
import tempfile
import warnings

import rivals

os.environ['TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'] = '1'  # e3nn 0.4.4 loads a pickle of its own package
torch = rivals.load('torch')
rivals.load('mace')
import ase.io  # noqa: E402
import numpy  # noqa: E402
from e3nn import o3  # noqa: E402
from mace import data, modules, tools  # noqa: E402
from mace.tools import torch_geometric  # noqa: E402

warnings.filterwarnings('ignore')
CUTOFF, BATCH, EVALUATED = 5.0, 8, 32


def loader(frames, batch):
    return list(torch_geometric.dataloader.DataLoader(frames, batch_size=batch, shuffle=False, drop_last=False))


def mace_model(layers, neighbors):
    return modules.ScaleShiftMACE(
        r_max=CUTOFF, num_bessel=8, num_polynomial_cutoff=5, max_ell=3, num_interactions=layers, num_elements=2,
        interaction_cls=modules.interaction_classes['RealAgnosticResidualInteractionBlock'],
        interaction_cls_first=modules.interaction_classes['RealAgnosticInteractionBlock'],
        hidden_irreps=o3.Irreps('64x0e'), MLP_irreps=o3.Irreps('16x0e'), gate=torch.nn.functional.silu,
        atomic_energies=numpy.zeros(2), avg_num_neighbors=neighbors, atomic_numbers=[8, 22], correlation=3,
        radial_MLP=[64, 64, 64], atomic_inter_scale=1.0, atomic_inter_shift=0.0)


class Mace:
    """A model, its optimizer, and batches that take their turn."""

    def __init__(self, layers, frames):
        self.training, self.evaluated = loader(frames, BATCH), loader(frames, EVALUATED)
        atoms = sum(len(batch.positions) for batch in self.training)
        torch.manual_seed(1)
        self.model = mace_model(layers, sum(batch.edge_index.shape[1] for batch in self.training) / atoms)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, amsgrad=True)
        self.loss = modules.WeightedEnergyForcesLoss(energy_weight=1.0, forces_weight=100.0)
        self.taken = 0

    def turn(self, batches, count, work):
        """Processor microseconds an atom of `count` of the batches."""
        chosen = [batches[(self.taken + k) % len(batches)] for k in range(count)]
        self.taken += count
        atoms = sum(len(batch.positions) for batch in chosen)
        return 1e6 / atoms * rivals.cpu_of_call(lambda: [work(batch) for batch in chosen])

    def step(self, batch):
        self.optimizer.zero_grad(set_to_none=True)
        out = self.model(batch.to_dict(), training=True, compute_force=True)
        self.loss(pred=out, ref=batch).backward()
        self.optimizer.step()

    def evaluate(self, batch):
        self.model(batch.to_dict(), training=False, compute_force=True)


def evaluation(flags, scratch, copies, atoms):
    """A function that gives the processor microseconds an atom of evaluate with a model that is trained here."""
    folder = f'{scratch}/model{len(flags)}'
    rivals.cpu_of(['train', '--threads=1', '--seed=1', '--max_epochs=1', '--plot=false', '--check_gradient=false',
                   f'--output_dir={folder}'] + flags + [rivals.TIO2])
    command = ['evaluate', '--threads=1', f'{folder}/best.safetensors']
    # Eleven copies less one, because one pass over the structures is as short as the start of the program.
    return lambda: 1e6 / (10 * atoms) * (rivals.cpu_of(command + copies) - rivals.cpu_of(command + copies[:1]))


def main():
    arguments = rivals.parse_arguments(__doc__, rounds=3, steps=(6, "mace-torch's batches in each round"),
                                       epochs=(10, "rutile's epochs in each round"))
    rivals.one_torch_thread(torch)
    torch.set_default_dtype(torch.float32)
    table = rivals.Table('microseconds per atom', [rivals.version('mace-torch'), rivals.version('torch')])
    numbers = tools.AtomicNumberTable([8, 22])
    frames, atoms = [], 0
    for structure in ase.io.read(rivals.TIO2, ':'):
        configuration = data.config_from_atoms(structure)
        configuration.properties.update(energy=structure.get_potential_energy(), forces=structure.get_forces())
        configuration.property_weights.update(energy=1.0, forces=1.0)
        frames.append(data.AtomicData.from_config(configuration, z_table=numbers, cutoff=CUTOFF))
        atoms += len(structure)
    with tempfile.TemporaryDirectory() as scratch:
        copies = []
        for k in range(11):
            copies.append(pathlib.Path(scratch) / f'copy{k}.extxyz')
            copies[-1].write_text(pathlib.Path(rivals.TIO2).read_text(encoding='utf-8'), encoding='utf-8')
        for layers in (1, 2):
            rival = Mace(layers, frames)
            flags = ['--potential=many-body', '--species=Ti,O', f'--batch_size={BATCH}', '--precision=fp32']
            flags += ['--messages=16'] if layers == 2 else []
            evaluate = evaluation(flags, scratch, copies, atoms)
            rival.turn(rival.training, 2, rival.step)
            table.measure(f'training step, layers: {layers}', arguments.rounds,
                          lambda: 1e6 / atoms * rivals.train_epochs(
                              rivals.TIO2, 1, arguments.epochs, flags + ['--validation_fraction=0.0025'], scratch),
                          lambda: rival.turn(rival.training, arguments.steps, rival.step))
            rival.turn(rival.evaluated, 1, rival.evaluate)
            table.measure(f'evaluation, layers: {layers}', arguments.rounds, evaluate,
                          lambda: rival.turn(rival.evaluated, max(1, arguments.steps // 3), rival.evaluate))


if __name__ == '__main__':
    main()
