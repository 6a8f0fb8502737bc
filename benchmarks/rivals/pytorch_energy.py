#!/usr/bin/env python3
"""Training on energies: PyTorch, eager, in Python, against rutile's train.

data/tio2-pbe (403 structures, 2484 atoms), 30 Chebyshev features made by featurize and standardized, a network of two
hidden layers for each species, tanh, batches of 32 structures, the root mean square error of the energy per atom, Adam,
fp32, one thread. PyTorch's loop is what a careful user writes: atoms of a batch are gathered with index tensors that
were made before, each species' atoms go through their network at once, index_add sums them. An epoch of rutile is the
difference of a long and a short run (no validation between).
"""

import tempfile

import rivals

torch = rivals.load('torch')
import numpy  # noqa: E402


def batches_of(data, size):
    """[(features by species, structures by species, energies, atom counts)], of one order; shuffled by batch."""
    offset, species = data['atom_offset'], data['species']
    order = numpy.random.default_rng(1).permutation(len(offset) - 1)
    feature = data['feature']
    feature = (feature - feature.mean(0)) / feature.std(0)
    energy = data['energy'] / numpy.diff(offset)
    energy = (energy - energy.mean()) / energy.std() * numpy.diff(offset)
    batches = []
    for first in range(0, len(order), size):
        some = order[first:first + size]
        atoms = numpy.concatenate([numpy.arange(offset[s], offset[s + 1]) for s in some])
        owner = numpy.repeat(numpy.arange(len(some)), [offset[s + 1] - offset[s] for s in some])
        parts = []
        for k in (0, 1):
            own = species[atoms] == k
            parts.append((torch.tensor(feature[atoms[own]], dtype=torch.float32), torch.tensor(owner[own])))
        batches.append((parts, torch.tensor(energy[some], dtype=torch.float32),
                        torch.tensor(numpy.diff(offset)[some], dtype=torch.float32)))
    return batches


def network(width):
    return torch.nn.Sequential(torch.nn.Linear(30, width), torch.nn.Tanh(), torch.nn.Linear(width, width),
                               torch.nn.Tanh(), torch.nn.Linear(width, 1))


def main():
    arguments = rivals.parse_arguments(__doc__, epochs=(20, "PyTorch's epochs in each round"))
    rivals.one_torch_thread(torch)
    table = rivals.Table('milliseconds per epoch', [rivals.version('torch')])
    with tempfile.TemporaryDirectory() as scratch:
        features = f'{scratch}/features.safetensors'
        rivals.cpu_of(['featurize', '--species=Ti,O', '--rad_cutoff=6', '--rad_order=10', '--ang_cutoff=4',
                       '--ang_order=3', '--threads=1', f'--output={features}', rivals.TIO2])
        data = rivals.read_safetensors(features)
        for width, size in ((16, 32), (16, 1), (64, 32), (64, 128)):
            batches = batches_of(data, size)
            torch.manual_seed(1)
            networks = [network(width), network(width)]
            optimizer = torch.optim.Adam([p for n in networks for p in n.parameters()], lr=1e-3)

            def run(epochs):
                for _ in range(epochs):
                    for k in torch.randperm(len(batches)).tolist():
                        parts, energy, atoms = batches[k]
                        sums = torch.zeros(len(energy))
                        for net, (x, owner) in zip(networks, parts):
                            if len(x):
                                sums = sums.index_add(0, owner, net(x).squeeze(1))
                        loss = (((sums - energy) / atoms) ** 2).mean().sqrt()
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()

            run(1)
            epochs = arguments.epochs if size > 1 else max(1, arguments.epochs // 10)
            flags = [f'--hidden={width},{width}', f'--batch_size={size}', '--validation_fraction=0.0025', '--loss=rmse']
            long = 40000 // width if size > 1 else 300
            table.measure(f'{width}-{width}, batches of {size}', arguments.rounds,
                          lambda: rivals.train_epochs(features, 10, long, flags, scratch) * 1e3,
                          lambda: rivals.cpu_of_call(run, epochs) / epochs * 1e3)


main()
