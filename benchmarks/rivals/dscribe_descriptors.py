#!/usr/bin/env python3
"""Descriptors: dscribe's ACSF and SOAP against rutile's Chebyshev descriptor. THEY ARE DIFFERENT DESCRIPTORS.

The same structures, cutoff and about the same purpose: features of atoms for a potential of Ti and O. rutile:
Chebyshev, moments, radial order 10 and angular order 3 with one cutoff for both, 30 features, fp64. ACSF: 1 + 9 G2 and
4 G4 functions, 32 features of two elements (G4 is a sum over triplets as aenet's angular sum is). SOAP: 6 radial
functions, l up to 3 (gto), 312 features. rutile reads text, finds neighbors and writes a file; dscribe is given ASE's
Atoms and its results stay in memory. data/tio2-pbe (403 structures, 2484 atoms), and cells of 216 atoms that are
generated.
"""

import tempfile

import rivals

ase = rivals.load('ase')
descriptors = rivals.load('dscribe.descriptors')
import ase.io  # noqa: E402


def main():
    arguments = rivals.parse_arguments(__doc__)
    table = rivals.Table('microseconds per atom', [rivals.version('dscribe'), rivals.version('ase')])
    with tempfile.TemporaryDirectory() as scratch:
        generated = f'{scratch}/cells.extxyz'
        rivals.write_extxyz(generated, [rivals.titania_like(6, seed) for seed in range(40)])
        for data, path, limit in (('tio2-pbe', rivals.TIO2, 403), ('216 atoms', generated, 4)):
            structures = ase.io.read(path, index=f':{limit}')
            atoms = sum(len(s) for s in structures)
            all_atoms = sum(len(s) for s in ase.io.read(path, index=':'))
            for cutoff in (4.0, 6.0):
                rivals_of = {
                    'ACSF': descriptors.ACSF(species=['Ti', 'O'], r_cut=cutoff, periodic=True,
                                             g2_params=[[0.1 * 1.5 ** k, 0] for k in range(9)],
                                             g4_params=[[0.01, z, s] for z in (1, 4) for s in (1, -1)]),
                    'SOAP': descriptors.SOAP(species=['Ti', 'O'], r_cut=cutoff, n_max=6, l_max=3, periodic=True),
                }
                for name, descriptor in rivals_of.items():
                    def run():
                        for structure in structures:
                            descriptor.create(structure)

                    table.measure(f'{data}, {cutoff:g} A, {name} ({descriptor.get_number_of_features()} features)',
                                  arguments.rounds,
                                  lambda: rivals.cpu_of(['featurize', '--species=Ti,O', f'--rad_cutoff={cutoff}',
                                                         '--rad_order=10', f'--ang_cutoff={cutoff}', '--ang_order=3',
                                                         '--precision=fp64', '--threads=1', '--output=/dev/null',
                                                         path]) / all_atoms * 1e6,
                                  lambda: rivals.cpu_of_call(run) / atoms * 1e6)


main()
