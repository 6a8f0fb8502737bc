#!/usr/bin/env python3
"""Training throughput with forces: NequIP beside rutile's train. CONTEXT, no like for like: NequIP's equivariant network
is of another class of accuracy, learns from fewer data, and costs some orders of magnitude more for each atom.

data/tio2-pbe (403 structures, 2484 atoms, energies and forces), a cutoff of 4 Angstrom, batches of 8 structures, squared
errors of energies per atom and of forces, Adam, fp32, one thread. NequIP: its usual small network (--layers=2, --l_max=1,
16 features with both parities), eager, its own neighbor lists, made before; what is timed are its steps: forces, loss,
gradients, Adam. rutile: Chebyshev descriptor 4.0/5 and 3.0/3, 16-16; an epoch is the difference of a long and a short
run. Quoted are microseconds for each atom of a training step.
"""

import logging
import tempfile
import warnings

import rivals

torch = rivals.load('torch')
nequip = rivals.load('nequip')
rivals.load('ase')
import ase.io  # noqa: E402
from nequip.data import AtomicDataDict, from_ase  # noqa: E402
from nequip.data.transforms import ChemicalSpeciesToAtomTypeMapper, NeighborListTransform  # noqa: E402
from nequip.model import NequIPGNNModel  # noqa: E402
from nequip.utils.global_state import set_global_state  # noqa: E402

warnings.filterwarnings('ignore')
logging.disable(logging.WARNING)

CUTOFF, BATCH = 4.0, 8


def batches():
    """Batches of NequIP's tensors with neighbors, of the structures in their order."""
    steps = (ChemicalSpeciesToAtomTypeMapper(model_type_names=['Ti', 'O'],
                                             chemical_species_to_atom_type_map={'Ti': 'Ti', 'O': 'O'}),
             NeighborListTransform(r_max=CUTOFF))
    graphs = []
    for atoms in ase.io.read(rivals.TIO2, ':'):
        graph = from_ase(atoms)
        for step in steps:
            graph = step(graph)
        graphs.append({name: value.float() if value.dtype == torch.float64 else value for name, value in graph.items()})
    return [AtomicDataDict.batched_from_list(graphs[first:first + BATCH]) for first in range(0, len(graphs), BATCH)]


def main():
    arguments = rivals.parse_arguments(__doc__, rounds=3, steps=(10, "NequIP's steps in each round"),
                                       layers=(2, "NequIP's interaction blocks"), l_max=(1, "NequIP's highest order"))
    rivals.one_torch_thread(torch)
    set_global_state()  # which also asks for deterministic kernels and 32-bit products without TF32
    table = rivals.Table('microseconds per atom of a training step', [rivals.version('nequip'), rivals.version('torch')])
    data = batches()
    atoms = sum(len(batch['pos']) for batch in data)
    pairs = sum(batch['edge_index'].shape[1] for batch in data)
    model = NequIPGNNModel(seed=1, model_dtype='float32', r_max=CUTOFF, type_names=['Ti', 'O'],
                           num_layers=arguments.layers, l_max=arguments.l_max, num_features=16,
                           avg_num_neighbors=pairs / atoms)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    print(f'# NequIP: {sum(p.numel() for p in model.parameters())} parameters, {pairs / atoms:.1f} neighbors per atom')

    def train(first, count):
        """Atoms of `count` steps."""
        seen = 0
        for k in range(first, first + count):
            batch = data[k % len(data)]
            out = model({name: batch[name] for name in batch if name not in ('total_energy', 'forces', 'stress')})
            number = batch['num_atoms'].to(torch.float32)
            loss = (((out['total_energy'] - batch['total_energy']).reshape(-1) / number) ** 2).mean() + \
                0.1 * ((out['forces'] - batch['forces']) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(batch['pos'])
        return seen

    train(0, 2)
    with tempfile.TemporaryDirectory() as scratch:
        neighbors = f'{scratch}/neighbors.safetensors'
        rivals.cpu_of(['cache-neighbors', '--species=Ti,O', '--rad_cutoff=4', '--rad_order=5', '--ang_cutoff=3',
                       '--ang_order=3', '--threads=1', f'--output={neighbors}', rivals.TIO2])
        flags = ['--hidden=16,16', f'--batch_size={BATCH}', '--force_weight=0.1', '--validation_fraction=0.0025']
        done = [0]

        def rival():
            begin = done[0]
            done[0] += arguments.steps
            seen = []
            return rivals.cpu_of_call(lambda: seen.append(train(begin, arguments.steps))) / seen[0] * 1e6

        table.measure(f'forces, batches of {BATCH}', arguments.rounds,
                      lambda: rivals.train_epochs(neighbors, 20, 200, flags, scratch) / atoms * 1e6, rival)


main()
