#!/usr/bin/env python3
"""Prints the numbers of the structures of a predictions file, largest loss first: the baseline of find_spoilt.sh.

    rank_by_loss.py PREDICTIONS INFLUENCE

The loss of a structure is what tracin differentiates (without Huber): w_E (dE / N)^2 + w_F sum |dF|^2, with the weights
that INFLUENCE took from its last checkpoint. Needs no package.
"""

import array
import json
import struct
import sys


def read(path):
    with open(path, 'rb') as file:
        header = json.loads(file.read(struct.unpack('<Q', file.read(8))[0]))
        data = file.read()
    tensors = {}
    metadata = header.pop('__metadata__')
    for name, entry in header.items():
        if entry['dtype'] in ('F64', 'I64'):
            tensors[name] = array.array('d' if entry['dtype'] == 'F64' else 'q')
            tensors[name].frombytes(data[slice(*entry['data_offsets'])])
    return metadata, tensors


def main():
    _, predictions = read(sys.argv[1])
    metadata, _ = read(sys.argv[2])
    last = len(json.loads(metadata['checkpoints'])) - 1
    energy_weight, force_weight = map(float, json.loads(metadata['settings'])[f'term_weights.{last}'].split(','))
    offset = predictions['atom_offset']
    losses = []
    for s, atoms in enumerate(predictions['num_atoms']):
        begin, end = 3 * offset[s], 3 * offset[s + 1]
        energy = (predictions['predicted_energy'][s] - predictions['reference_energy'][s]) / atoms
        forces = sum((p - r)**2 for p, r in zip(predictions['predicted_force'][begin:end],
                                                predictions['reference_force'][begin:end]))
        losses.append(energy_weight * energy**2 + force_weight * forces)
    for s in sorted(range(len(losses)), key=lambda s: -losses[s]):
        print(s)


if __name__ == '__main__':
    main()
