#!/usr/bin/env python3
"""Corrupts energies and forces of an extended XYZ file, drawn with a seed, and lists them.

    corrupt.py [--share=0.02] [--seed=1] INPUT OUTPUT TABLE

A share of the frames gets an energy that is off by 20 to 200 meV per atom (uniform in the logarithm, either sign), as
if computed with other settings. The same number of other frames gets forces of the wrong sign, as from a program that
writes gradients. TABLE has a row for each: frame (from 0), quantity, and deviation. Needs no package.
"""

import argparse
import math
import random
import re


def frames(lines):
    at = 0
    while at < len(lines):
        count = int(lines[at])
        yield at, count
        at += 2 + count


def force_columns(comment):
    """Returns the index of the first of the three force columns."""
    column = 0
    properties = re.search(r'Properties=(\S+)', comment).group(1).split(':')
    for name, _, width in zip(properties[::3], properties[1::3], properties[2::3]):
        if name in ('forces', 'force'):
            return column
        column += int(width)
    raise SystemExit('corrupt.py: frames have no forces')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--share', type=float, default=0.02, help='of the frames: energies, and as many forces')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('input')
    parser.add_argument('output')
    parser.add_argument('table')
    options = parser.parse_args()

    with open(options.input) as file:
        lines = file.read().splitlines()
    starts = list(frames(lines))
    count = max(1, round(options.share * len(starts)))
    generator = random.Random(options.seed)
    chosen = generator.sample(range(len(starts)), 2 * count)

    rows = []
    for frame in chosen[:count]:
        at, atoms = starts[frame]
        shift = math.exp(generator.uniform(math.log(0.02), math.log(0.2))) * generator.choice((-1, 1))
        energy = float(re.search(r'\benergy=(\S+)', lines[at + 1]).group(1))
        lines[at + 1] = re.sub(r'\benergy=\S+', f'energy={energy + shift * atoms:.8f}', lines[at + 1])
        rows.append((frame, 'energy', f'{1000 * shift:.1f} meV/atom'))
    for frame in chosen[count:]:
        at, atoms = starts[frame]
        column = force_columns(lines[at + 1])
        square = 0
        for i in range(at + 2, at + 2 + atoms):
            words = lines[i].split()
            force = [-float(word) for word in words[column:column + 3]]
            square += sum(x * x for x in force)
            words[column:column + 3] = [f'{x:.8f}' for x in force]
            lines[i] = ' '.join(words)
        rows.append((frame, 'forces', f'sign, {math.sqrt(square / (3 * atoms)):.3f} eV/A rms'))

    with open(options.output, 'w') as file:
        file.write('\n'.join(lines) + '\n')
    with open(options.table, 'w') as file:
        file.write('frame\twhat\tby\n')
        for row in sorted(rows):
            file.write('\t'.join(map(str, row)) + '\n')


if __name__ == '__main__':
    main()
