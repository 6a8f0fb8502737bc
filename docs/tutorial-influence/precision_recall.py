#!/usr/bin/env python3
"""Computes how well rankings find the errors that corrupt.py made, as a mean over seeds.

    precision_recall.py DIRECTORY...

Each directory holds spoilt.tsv and METHOD.rank files: numbers of frames, the most suspicious first. Prints a block for
each method, as gnuplot reads them: recall, mean precision where that recall is reached. The average precision, by kind of
error, goes to standard error. Needs no package.
"""

import glob
import os
import statistics
import sys


def main():
    precision = {}  # method: for each directory, the precision at each frame that is found
    average = {}    # method: kind: for each directory
    for directory in sys.argv[1:]:
        with open(f'{directory}/spoilt.tsv') as file:
            rows = [line.split('\t') for line in file.read().splitlines()[1:]]
        kinds = {int(row[0]): row[1] for row in rows}
        for path in sorted(glob.glob(f'{directory}/*.rank')):
            with open(path) as file:
                ranking = [int(line) for line in file]
            method = os.path.basename(path)[:-len('.rank')]
            for kind in ('any', 'energy', 'forces'):
                wanted = {f for f, k in kinds.items() if kind in ('any', k) and f in set(ranking)}
                places = [place for place, frame in enumerate(ranking, 1) if frame in wanted]
                at = [found / place for found, place in enumerate(places, 1)]
                average.setdefault(method, {}).setdefault(kind, []).append(sum(at) / len(at))
                if kind == 'any':
                    precision.setdefault(method, []).append(at)
    for number, (method, curves) in enumerate(precision.items()):
        print(('\n\n' if number > 0 else '') + f'"{method}"')
        steps = min(map(len, curves))
        for i in range(steps):
            # Interpolates curves of other lengths (if frames were left out) at the same recall.
            values = [curve[round((i + 1) * len(curve) / steps) - 1] for curve in curves]
            print(f'{(i + 1) / steps:.4f}\t{statistics.mean(values):.4f}')
        cells = [f'{kind} {statistics.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})'
                 for kind, values in average[method].items()]
        print(f'{method:16}', '  '.join(cells), file=sys.stderr)


if __name__ == '__main__':
    main()
