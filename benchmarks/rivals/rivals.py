"""What the scripts beside this file share: data that are generated or shipped, rutile's programs, and the table.

Times are CPU seconds (user and system) of one thread: unlike wall time they hardly depend on what else runs. The two
programs take turns, and the ratio of each turn's two times is what is quoted: median, least and largest.
"""

import argparse
import importlib
import json
import os
import pathlib
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

for _variable in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS'):
    os.environ[_variable] = '1'  # before numpy and torch are loaded, and for rutile's programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIO2 = ROOT / 'data/tio2-pbe/tio2-pbe.extxyz'
ELEMENTS = [ROOT / 'data/elements' / name for name in ('train.txt', 'valid.txt', 'test.txt')]


def parse_arguments(description, rounds=5, **numbers):
    """--rounds, and an option for each of `numbers`: name=(default, help)."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=rounds, help=f'turns of each program ({rounds})')
    for name, (default, text) in numbers.items():
        parser.add_argument('--' + name, type=type(default), default=default, help=f'{text} ({default})')
    return parser.parse_args()


def load(name):
    """The module, or the end of the script, which is no failure."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if '--help' in sys.argv:
            print(sys.modules['__main__'].__doc__)
        print(f'skipped: {name} cannot be loaded ({error}); benchmarks/rivals/README.md says how to install it')
        sys.exit(0)


def one_torch_thread(torch):
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)


def version(package):
    from importlib import metadata
    try:
        return f'{package} {metadata.version(package)}'
    except metadata.PackageNotFoundError:
        return f'{package} {getattr(importlib.import_module(package), "__version__", "of unknown version")}'


def program(name):
    """The path of one of rutile's programs, from PATH or bin/."""
    path = shutil.which(name) or shutil.which(name, path=str(ROOT / 'bin'))
    if path is None:
        sys.exit(f'{name}: neither on PATH nor in bin/; tools/quickstart.sh builds bin/')
    return path


def rutile_version():
    words = subprocess.run([program('train'), '--version'], capture_output=True, text=True).stdout.split()
    return 'rutile ' + (words[1] if len(words) > 1 else '(of unknown version)')


def cpu_of(arguments):
    """CPU seconds of one of rutile's programs; its messages are shown where it fails."""
    arguments = [program(arguments[0])] + [str(a) for a in arguments[1:]]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            log.seek(0)
            sys.exit(f'{" ".join(arguments)} failed:\n{log.read().decode()}')
    return usage.ru_utime + usage.ru_stime


def cpu_of_call(function, *arguments):
    begin = time.process_time()
    function(*arguments)
    return time.process_time() - begin


class Table:
    """Rows of rutile against a rival, each of several rounds."""

    def __init__(self, unit, versions):
        load_average = os.getloadavg()[0] if hasattr(os, 'getloadavg') else float('nan')
        print('# ' + ', '.join([rutile_version()] + versions + ['Python ' + platform.python_version()]))
        print(f'# {processor()}; load average {load_average:.1f} at the start; one thread, {unit}; ratio: the rival\'s '
              'CPU time over rutile\'s, below 1 rutile loses')
        print('case\trutile\trival\tratio\tleast\tlargest', flush=True)

    def measure(self, case, rounds, rutile, rival):
        """rutile() and rival() give CPU seconds for the unit of work."""
        own, other = [], []
        for turn in range(rounds):  # in turns: what drifts does not favor a side
            for times, measured in ((own, rutile), (other, rival))[::1 if turn % 2 == 0 else -1]:
                times.append(measured())
        ratios = [b / a for a, b in zip(own, other)]
        print(f'{case}\t{statistics.median(own):.4g}\t{statistics.median(other):.4g}\t{statistics.median(ratios):.3g}'
              f'\t{min(ratios):.3g}\t{max(ratios):.3g}', flush=True)


def processor():
    try:
        for line in open('/proc/cpuinfo', encoding='utf-8'):
            if line.startswith('model name'):
                return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


# ---- data


def read_safetensors(path):
    """{name: array}, of little-endian safetensors."""
    import numpy
    types = {'F64': '<f8', 'F32': '<f4', 'I64': '<i8', 'U64': '<u8', 'I32': '<i4', 'I16': '<i2', 'U16': '<u2', 'U8': 'u1', 'BOOL': '?'}
    data = pathlib.Path(path).read_bytes()
    begin = 8 + struct.unpack('<Q', data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name != '__metadata__':
            first, last = entry['data_offsets']
            values = numpy.frombuffer(data[begin + first:begin + last], dtype=types[entry['dtype']])
            tensors[name] = values.reshape(entry['shape'])
    return tensors


def read_metadata(path):
    """{key: text} of a safetensors file."""
    with open(path, 'rb') as file:
        return json.loads(file.read(struct.unpack('<Q', file.read(8))[0]))['__metadata__']


def titania_like(points, seed):
    """(numbers, positions, cell): a lattice of points^3 atoms at the density of TiO2, every third Ti, displaced."""
    import numpy
    random = numpy.random.default_rng(seed)
    spacing = (1 / 0.086) ** (1 / 3)
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(points)] * 3, indexing='ij'), axis=-1).reshape(-1, 3)
    positions = (grid + 0.5) * spacing + random.uniform(-0.3, 0.3, grid.shape)
    numbers = numpy.where(numpy.arange(len(grid)) % 3 == 0, 22, 8)
    return numbers, positions, numpy.eye(3) * points * spacing


def write_extxyz(path, structures):
    """Frames without energies, with as many digits as the rival is given."""
    with open(path, 'w', encoding='utf-8') as file:
        for numbers, positions, cell in structures:
            lattice = ' '.join(repr(float(x)) for x in cell.reshape(-1))
            file.write(f'{len(numbers)}\nLattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"\n')
            for number, row in zip(numbers, positions.tolist()):
                file.write(f'{"Ti" if number == 22 else "O"} {row[0]!r} {row[1]!r} {row[2]!r}\n')


def write_graph(directory, entities, relations, triples, seed=1):
    """train.txt, valid.txt and test.txt: 90, 5 and 5 % of random triples whose tails have a skewed distribution."""
    import numpy
    random = numpy.random.default_rng(seed)
    head = random.integers(0, entities, triples)
    relation = random.integers(0, relations, triples)
    tail = (entities * random.random(triples) ** 2).astype(int)
    rows = sorted({(int(h), int(r), int(t)) for h, r, t in zip(head, relation, tail)})
    rows = [rows[k] for k in random.permutation(len(rows))]
    first = [(e, 0, (e + 1) % entities) for e in range(entities)] + [(0, r, 1) for r in range(relations)]  # all in train
    known = set(first)
    rows = [row for row in rows if row not in known]
    held = len(rows) // 20
    paths = []
    for name, part in (('train', sorted(known) + rows[2 * held:]), ('valid', rows[:held]), ('test', rows[held:2 * held])):
        paths.append(pathlib.Path(directory) / (name + '.txt'))
        paths[-1].write_text(''.join(f'e{h}\tr{r}\te{t}\n' for h, r, t in part))
    return paths


def read_triples(path):
    return [tuple(line.split('\t')) for line in pathlib.Path(path).read_text().splitlines() if line]


def train_epochs(features, first, more, flags, scratch):
    """CPU seconds of one epoch of `train`: the difference of two lengths, so that starting and ending do not count."""
    seconds = []
    for epochs in (first, first + more):
        seconds.append(cpu_of(['train', '--threads=1', '--seed=1', '--overwrite', '--check_val_every_n_epoch=1000000',
                               '--check_gradient=false', f'--max_epochs={epochs}', f'--output_dir={scratch}/run']
                              + flags + [features]))
    return (seconds[1] - seconds[0]) / more
