#!/usr/bin/env python3
"""folds.py STRUCTURES.extxyz[.gz] FOLDS PREFIX: PREFIX0.extxyz and so on, for cross-validation by config_type.

Structures of a config_type `training-NAME` are dealt out by turns within their type: in file k every FOLDS-th of them,
from the k-th on, is of type `test-NAME` instead. Structures whose type is another are left out, test sets above all.
"""

import collections
import gzip
import re
import sys


def frames(path):
    """Number of atoms, comment and lines of atoms of each structure."""
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', encoding='utf-8') as lines:
        for count in lines:
            if count.strip():
                yield count, next(lines), [next(lines) for _ in range(int(count))]


def main():
    if len(sys.argv) != 4 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 2:
        sys.exit(__doc__.splitlines()[0])
    structures, folds, prefix = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    files = [open(f'{prefix}{k}.extxyz', 'w', encoding='utf-8') for k in range(folds)]
    seen = collections.Counter()
    for count, comment, atoms in frames(structures):
        kind = re.search(r'config_type=(training-\S+)', comment)
        if kind is None:
            continue
        for k, file in enumerate(files):
            held_out = seen[kind[1]] % folds == k
            named = comment.replace('config_type=training-', 'config_type=test-') if held_out else comment
            file.writelines([count, named, *atoms])
        seen[kind[1]] += 1
    for file in files:
        file.close()
    if not seen:
        sys.exit(f'{structures}: no structure has a config_type that begins with "training-"')


if __name__ == '__main__':
    main()
