#!/usr/bin/env python3
"""vesin's neighbor lists against rutile's; --help says what is compared."""

import rivals

vesin = rivals.load('vesin')
import neighbors  # noqa: E402


def make_finder(cutoff):
    calculator = vesin.NeighborList(cutoff=cutoff, full_list=True)

    def find(numbers, positions, cell):
        return len(calculator.compute(points=positions, box=cell, periodic=True, quantities='ijSdD')[0])

    return find


neighbors.compare('vesin', [rivals.version('vesin')], make_finder)
