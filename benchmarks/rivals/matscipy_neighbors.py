#!/usr/bin/env python3
"""matscipy's neighbor lists against rutile's; --help says what is compared."""

import rivals

matscipy = rivals.load('matscipy.neighbours')
import neighbors  # noqa: E402


def make_finder(cutoff):
    def find(numbers, positions, cell):
        return len(matscipy.neighbour_list('ijdDS', cutoff=cutoff, positions=positions, cell=cell,
                                           pbc=[True, True, True])[0])

    return find


neighbors.compare('matscipy', [rivals.version('matscipy')], make_finder)
