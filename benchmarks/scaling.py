#!/usr/bin/env python3
"""How the cost of each stage grows: with atoms, neighbors, orders, widths, entities, batch and training set.

    scaling.py OUTPUT_DIR [CURVE...]      writes OUTPUT_DIR/scaling.tsv and, with gnuplot, OUTPUT_DIR/scaling.svg

Data are generated; rutile's programs come from PATH or bin/. Times are those of the stages in the programs' own records
(RUTILE_PROFILE_DIR), one thread, the least of three runs: start, reading and writing do not count. The exponent is the
slope of the last half of a curve in logarithms.
"""

import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / 'rivals'))
from rivals import program  # noqa: E402

RUNS = 3


def cells(path, structures, repeats, spacing=2.1):
    """Rock salt of TiO in repeats^3 cells of 8 atoms, shaken, with made-up energies and forces."""
    rng = random.Random(1)
    edge = 2 * spacing * repeats
    with open(path, 'w', encoding='ascii') as out:
        for _ in range(structures):
            n = (2 * repeats) ** 3
            out.write(f'{n}\nLattice="{edge} 0 0 0 {edge} 0 0 0 {edge}" pbc="T T T" energy={-8.0 * n + rng.gauss(0, 1)} '
                      'Properties=species:S:1:pos:R:3:forces:R:3\n')
            for x in range(2 * repeats):
                for y in range(2 * repeats):
                    for z in range(2 * repeats):
                        name = 'Ti' if (x + y + z) % 2 else 'O'
                        position = ' '.join(f'{spacing * k + rng.gauss(0, 0.1):.4f}' for k in (x, y, z))
                        force = ' '.join(f'{rng.gauss(0, 1):.3f}' for _ in range(3))
                        out.write(f'{name} {position} {force}\n')


def graph(folder, entities, triples, relations=20):
    """Random triples; each entity is the head of one to train on."""
    rng = random.Random(1)
    count = max(triples, entities) + 320
    lines = [f'e{k % entities}\tr{rng.randrange(relations)}\te{rng.randrange(entities)}\n' for k in range(count)]
    lines = list(dict.fromkeys(lines))
    folder.mkdir(exist_ok=True)
    for name, part in (('train', lines[:-320]), ('valid', lines[-320:-256]), ('test', lines[-256:])):
        (folder / f'{name}.txt').write_text(''.join(part))
    return [str(folder / f'{name}.txt') for name in ('train', 'valid', 'test')]


def run(arguments, paths=None):
    """Seconds of the stages whose path begins so, of one run; nothing without paths."""
    with tempfile.TemporaryDirectory() as records:
        command = [program(arguments[0])] + [str(a) for a in arguments[1:]]
        done = subprocess.run(command, env={**os.environ, 'RUTILE_PROFILE_DIR': records}, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(' '.join(command) + '\n' + done.stderr)
        seconds = 0
        for record in pathlib.Path(records).glob('*.json'):
            for stage in json.loads(record.read_text())['stages']:
                if paths and stage['path'].split('/')[0] in paths:
                    seconds += stage['self_s']
        return seconds


def least(arguments, paths):
    return min(run(arguments, paths) for _ in range(RUNS))


TRAIN = ('step', 'optimizer', 'make_batch', 'wait_for_data')
QUIET = ['--plot=false', '--check_gradient=false', '--threads=1', '--overwrite', '--validation_fraction=0']
SPECIES = ['--species=Ti,O']


def curves(work):
    """(name, unit of x, expected exponent, points) with points as (x, function that gives seconds)."""
    def neighbors(repeats, structures, cutoff, extra=()):
        data, output = work / 'c.extxyz', work / 'n.safetensors'
        cells(data, structures, repeats)
        return ['cache-neighbors', '--threads=1', *extra, f'--cutoff={cutoff}', f'--output={output}', data], output

    def search(repeats, cutoff):
        return least(neighbors(repeats, 1, cutoff)[0], ('search',))

    def features(order, cutoff=6.0, ang_cutoff=4.0):
        command, output = neighbors(3, 4, cutoff)
        run(command)
        return least(['featurize', '--threads=1', *SPECIES, '--rad_order=8', f'--rad_cutoff={cutoff}',
                      f'--ang_order={order}', f'--ang_cutoff={ang_cutoff}', f'--output={work / "f.safetensors"}', output],
                     ('features',))

    def train(structures, hidden, forces, batch=32, epochs=2):
        data = work / 't.extxyz'
        cells(data, structures, 1)
        command = ['cache-neighbors', *SPECIES, '--threads=1', '--rad_cutoff=5', '--ang_cutoff=4',
                   f'--output={work / "n.safetensors"}', data]
        run(command)
        inputs = work / 'n.safetensors'
        if not forces:
            run(['featurize', '--threads=1', f'--output={work / "f.safetensors"}', inputs])
            inputs = work / 'f.safetensors'
        return least(['train', *QUIET, f'--hidden={hidden}', f'--batch_size={batch}', f'--max_epochs={epochs}',
                      f'--force_weight={0.1 if forces else 0}', f'--output_dir={work / "run"}', inputs], TRAIN)

    def conve(entities, batch, steps=6):
        triples = work / 'g.safetensors'
        run(['featurize', f'--output={triples}', *graph(work / 'graph', entities, max(2 * batch, 4000))])
        quiet = [flag for flag in QUIET if 'fraction' not in flag]
        return least(['train', *quiet, '--kge_model=conve', f'--batch_size={batch}', f'--max_steps={steps}',
                      '--limit_val_batches=1', f'--output_dir={work / "kg"}', triples], TRAIN) / steps

    def rank(entities):
        triples = work / 'g.safetensors'
        run(['featurize', f'--output={triples}', *graph(work / 'graph', entities, 4000)])
        quiet = [flag for flag in QUIET if 'fraction' not in flag]
        run(['train', *quiet, '--kge_model=distmult', '--max_steps=1', '--limit_val_batches=1',
             f'--output_dir={work / "kg"}', triples])
        return least(['evaluate', '--threads=1', work / 'kg/last.safetensors', triples], ('rank',))

    yield 'search', 'atoms in a cell, 6 Å', 1, [(8 * r ** 3, lambda r=r: search(r, 6.0)) for r in (2, 4, 8, 16)]
    yield 'search', 'cutoff, Å', 3, [(c, lambda c=c: search(6, c)) for c in (3.0, 4.5, 6.0, 8.0, 10.0)]
    yield 'features', 'angular order + 1', 2, [(n + 1, lambda n=n: features(n)) for n in (1, 3, 7, 11, 15)]
    yield 'features', 'both cutoffs, Å', 3, [(c, lambda c=c: features(3, c, c)) for c in (3.0, 4.5, 6.0, 8.0, 10.0)]
    yield 'energy epoch', 'structures', 1, [(s, lambda s=s: train(s, '16,16', False)) for s in (125, 500, 2000)]
    yield 'energy epoch', 'width of two layers', 2, [(w, lambda w=w: train(200, f'{w},{w}', False))
                                                     for w in (16, 64, 256, 512)]
    yield 'force epoch', 'structures', 1, [(s, lambda s=s: train(s, '16,16', True)) for s in (60, 250, 1000)]
    yield 'force epoch', 'batch', 0, [(b, lambda b=b: train(256, '16,16', True, batch=b)) for b in (1, 4, 16, 64, 256)]
    yield 'ConvE step', 'entities', 1, [(n, lambda n=n: conve(n, 128)) for n in (1000, 4000, 16000, 64000)]
    yield 'ConvE step', 'batch', 1, [(b, lambda b=b: conve(4000, b)) for b in (32, 128, 512)]
    yield 'ranking', 'entities', 1, [(n, lambda n=n: rank(n)) for n in (4000, 16000, 64000)]


def slope(points):
    """Of the last half of the points, at least two."""
    last = points[-max(2, len(points) // 2):]
    xs, ys = [math.log(x) for x, _ in last], [math.log(y) for _, y in last]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)


def draw(output, table):
    names = list(table)
    columns = 4
    rows = -(-len(names) // columns)
    script = [f'set terminal svg size {300 * columns},{230 * rows} font "sans,11"', f'set output "{output}"',
              f'set multiplot layout {rows},{columns}', 'set logscale xy', 'set format y "%.0e"', 'unset key',
              'set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05']
    for name in names:
        expected, points = table[name]
        block = '$data << END\n' + '\n'.join(f'{x} {y}' for x, y in points) + '\nEND'
        x, y = points[-1]
        script += [block, f'set title "{name[0]}"', f'set xlabel "{name[1]}"', 'set ylabel "s"',
                   f'plot $data with linespoints lw 2 pt 7 ps 0.6, {y} * (x / {x}) ** {expected} with lines dt 2 lc "gray"']
    subprocess.run(['gnuplot'], input='\n'.join(script), text=True, check=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    output = pathlib.Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    table = {}
    with tempfile.TemporaryDirectory() as work, open(output / 'scaling.tsv', 'w', encoding='utf-8') as out:
        out.write('stage\tx\tvalue\tseconds\n')
        for name, unit, expected, points in curves(pathlib.Path(work)):
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            measured = [(x, seconds()) for x, seconds in points]
            table[(name, unit)] = (expected, measured)
            out.writelines(f'{name}\t{unit}\t{x}\t{y:.6g}\n' for x, y in measured)
            print(f'{name:14} {unit:22} exponent {slope(measured):5.2f}, expected {expected}; '
                  + ', '.join(f'{x:g}: {1e3 * y:.3g} ms' for x, y in measured), flush=True)
    if shutil.which('gnuplot') and table:
        draw(output / 'scaling.svg', table)


if __name__ == '__main__':
    main()
