#!/usr/bin/env python3
"""ASE's neighbor lists against rutile's; --help says what is compared."""

import rivals

ase = rivals.load('ase.neighborlist')
import neighbors  # noqa: E402


def make_finder(cutoff):
    def find(numbers, positions, cell):
        return len(ase.primitive_neighbor_list('ijdDS', pbc=[True, True, True], cell=cell, positions=positions,
                                               cutoff=cutoff)[0])

    return find


neighbors.compare('ASE', [rivals.version('ase')], make_finder, share=0.02)
