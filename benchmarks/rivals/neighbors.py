"""Neighbor lists: the same cells and cutoff for rutile's cache-neighbors and a rival's function."""

import itertools
import pathlib
import tempfile

import rivals

CASES = (('27 atoms, 4 A', 3, 4.0, 4000), ('27 atoms, 6 A', 3, 6.0, 2000), ('1000 atoms, 6 A', 10, 6.0, 50),
         ('8000 atoms, 6 A', 20, 6.0, 6))
HELP = """

rutile reads the cells as text (extended XYZ), finds full lists with indices and shifts and writes them as a file
(cache-neighbors --output=/dev/null); the rival is handed arrays in memory and makes full lists of indices i, j, shifts,
distances and vectors, which stay in memory. So rutile does more than the rival. The numbers of pairs are compared."""


def compare(name, versions, make_finder, share=1.0):
    """make_finder(cutoff) gives a function of (numbers, positions, cell) that returns the number of pairs. share: of the
    cells that a slow rival is given; its time is scaled."""
    arguments = rivals.parse_arguments(f'Neighbor lists of {name} and rutile.' + HELP)
    table = rivals.Table('nanoseconds per pair', versions)
    with tempfile.TemporaryDirectory() as scratch:
        for case, points, cutoff, count in CASES:
            structures = [rivals.titania_like(points, seed) for seed in range(count)]
            file = pathlib.Path(scratch) / 'cells.extxyz'
            rivals.write_extxyz(file, structures)
            command = ['cache-neighbors', f'--cutoff={cutoff}', '--threads=1']
            kept = pathlib.Path(scratch) / 'neighbors.safetensors'
            rivals.cpu_of(command + [f'--output={kept}', file])
            tensors = rivals.read_safetensors(kept)
            pairs = int(tensors['pair_offset'][-1])
            find = make_finder(cutoff)
            some = structures[:max(1, round(count * share))]
            atoms = len(some[0][0]) * len(some)
            expected = int(tensors['pair_offset'][atoms])
            found = sum(itertools.starmap(find, some))
            if found != expected:
                raise SystemExit(f'{case}: {name} finds {found} pairs, rutile {expected}')

            def rival():
                return rivals.cpu_of_call(lambda: sum(itertools.starmap(find, some))) / expected * 1e9

            table.measure(case, arguments.rounds,
                          lambda: rivals.cpu_of(command + ['--output=/dev/null', file]) / pairs * 1e9, rival)
