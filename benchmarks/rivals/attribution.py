#!/usr/bin/env python3
"""Which structures a predicted energy comes from: captum, dattri, kronfluence and TRAK against rutile's tracin.

    attribution.py RUN FEATURES TESTS JUDGE

RUN is a run of train on energies alone (--force_weight=0 --loss=mse, --keep_every_epochs, Chebyshev features), FEATURES
the file of features that it read, TESTS the structures of RUN/test_frames.txt in that order, and JUDGE the folder of
`tracin --judge --test_quantity=energy` with models that were trained again on subsets: the truth for all methods.
docs/influence.md has the commands. The networks are built in PyTorch from RUN's files, and their energies compared with
those of evaluate. Every method then scores each training structure for the energy of each test, and the linear
datamodeling score (LDS) says how well the sums of scores put the retrained models in order: mean over the tests, with a
95 % interval of bootstrap samples of the subsets.

CPU seconds are those of the method, with one thread, without imports; rutile's are of the whole program, with reading
and writing. Memory is the largest resident size of the process, and the row "PyTorch, model and data" says what
PyTorch takes before a method begins. Rivals work in fp32, their default. A rival that is not installed has no rows.
"""

import argparse
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

import rivals

torch = rivals.load('torch')
numpy = rivals.load('numpy')
stats = rivals.load('scipy.stats')
import attribution_methods  # noqa: E402


# ---- the model in PyTorch


class Potential(torch.nn.Module):
    """Energies per atom, eV, without the constants of a structure: the weighted sum of the networks of its atoms.

    feature: [..., S, A, F], standardized, of each species' atoms, padded. weight: [..., S, A], 1 / (N scale) for an
    atom and 0 for padding. Result: [...].
    """

    def __init__(self, sizes, species, activation):
        super().__init__()
        layer = {'silu': torch.nn.SiLU, 'tanh': torch.nn.Tanh}[activation]
        self.network = torch.nn.ModuleDict()
        for name in species:
            layers = []
            for inputs, outputs in zip(sizes, sizes[1:]):
                layers += [torch.nn.Linear(inputs, outputs), layer()]
            self.network[name] = torch.nn.Sequential(*layers[:-1])

    def forward(self, feature, weight):
        energy = [network(feature[..., s, :, :]).squeeze(-1) for s, network in enumerate(self.network.values())]
        return (torch.stack(energy, -2) * weight).sum((-1, -2))


def state_of(tensors, species, layers, prefix=''):
    """The state_dict of Potential from a model file, or from a checkpoint with prefix 'parameters.'."""
    return {f'network.{x}.{2 * layer}.{kind}': torch.tensor(tensors[f'{prefix}network.{x}.{layer}.{kind}'].copy())
            for x in species for layer in range(layers) for kind in ('weight', 'bias')}


class Structures:
    """feature [n, S, A, F], weight [n, S, A], target [n] (eV per atom), constant [n] (eV) and atoms [n]."""

    def __init__(self, features, numbers, model):
        offset, kind = features['atom_offset'], features['species']
        species = len(model['atomic_energy'])
        own = [[[a for a in range(offset[i], offset[i + 1]) if kind[a] == s] for s in range(species)] for i in numbers]
        longest = max(len(atoms) for one in own for atoms in one)
        scale, shift = float(model['energy_scale']), float(model['energy_shift'])
        self.feature = numpy.zeros((len(numbers), species, longest, features['feature'].shape[1]))
        self.weight = numpy.zeros((len(numbers), species, longest))
        self.atoms = numpy.array([sum(map(len, one)) for one in own])
        self.constant = numpy.zeros(len(numbers))
        for k, one in enumerate(own):
            for s, atoms in enumerate(one):
                standardized = (features['feature'][atoms] - model['feature_mean'][s]) * model['feature_scale'][s]
                self.feature[k, s, :len(atoms)] = standardized
                self.weight[k, s, :len(atoms)] = 1 / (self.atoms[k] * scale)
                self.constant[k] += len(atoms) * (shift + model['atomic_energy'][s])
        self.target = (features['energy'][numbers] - self.constant) / self.atoms

    def tensors(self, dtype):
        return [torch.tensor(a, dtype=dtype) for a in (self.feature, self.weight, self.target)]

    def energies(self, model, state):
        """eV, in fp64."""
        model = model.double()
        model.load_state_dict(state)
        with torch.no_grad():
            return model(*self.tensors(torch.float64)[:2]).numpy() * self.atoms + self.constant


def frames_of(path):
    return [int(line.split()[0]) for line in pathlib.Path(path).read_text().splitlines()
            if line.strip() and not line.startswith('#')]


class Run:
    """The networks, data, checkpoints and retrained models of one run."""

    def __init__(self, run, features_path, judge):
        run = pathlib.Path(run)
        self.last = rivals.read_safetensors(run / 'last.safetensors')
        metadata = rivals.read_metadata(run / 'last.safetensors')
        features = rivals.read_safetensors(features_path)
        self.species = json.loads(metadata['descriptor'])['species']
        self.sizes = [features['feature'].shape[1]] + [int(h) for h in metadata['hidden'].split(',')] + [1]
        self.activation = metadata['activation']
        self.train = Structures(features, frames_of(run / 'train_frames.txt'), self.last)
        self.test = Structures(features, frames_of(run / 'test_frames.txt'), self.last)
        kept = sorted((run / 'checkpoints').glob('epoch-*.safetensors'))
        checkpoints = [rivals.read_safetensors(path) for path in kept]
        sums = [0.0] + [float(c['rate_sum']) for c in checkpoints]
        self.rates = [b - a for a, b in zip(sums, sums[1:])]
        self.checkpoints = [self.state(c, 'parameters.') for c in checkpoints]
        self.kept = rivals.read_safetensors(pathlib.Path(judge) / 'subsets.safetensors')['kept'].astype(float)
        self.outcome = self.outcomes(pathlib.Path(judge))

    def model(self):
        return Potential(self.sizes, self.species, self.activation)

    def state(self, tensors, prefix=''):
        return state_of(tensors, self.species, len(self.sizes) - 1, prefix)

    def outcomes(self, judge):
        """[subsets, tests]: energies of the tests by the retrained models, means over the seeds."""
        model, rows = self.model(), []
        for k in range(len(self.kept)):
            paths = sorted(judge.glob(f'subset-{k:05d}-seed-*/last.safetensors'))
            if not paths:
                sys.exit(f'{judge}: no model of subset {k}; tracin --judge trains them')
            rows.append(numpy.mean([self.test.energies(model, self.state(rivals.read_safetensors(path)))
                                    for path in paths], axis=0))
        return numpy.array(rows)


# ---- the table


def linear_datamodeling_score(scores, kept, outcome, samples=1000):
    """(LDS, low, high) of scores [train, tests], the rises without an example; kept [subsets, train]."""
    predicted = -kept @ scores

    def mean_correlation(rows):
        a, b = (stats.rankdata(x[rows], axis=0) for x in (predicted, outcome))
        a, b = a - a.mean(0), b - b.mean(0)
        return (((a * b).sum(0)) / numpy.sqrt((a * a).sum(0) * (b * b).sum(0))).mean()

    random = numpy.random.default_rng(0)
    drawn = sorted(mean_correlation(random.integers(0, len(kept), len(kept))) for _ in range(samples))
    return mean_correlation(numpy.arange(len(kept))), drawn[samples // 40], drawn[-samples // 40 - 1]


def apart(function):
    """(result, CPU seconds of the call, largest MB) of function() in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / 'result'
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.chdir(scratch)
                log = os.open('log', os.O_WRONLY | os.O_CREAT)
                os.dup2(log, 1)
                os.dup2(log, 2)
                begin = time.process_time()
                result = function()
                file.write_bytes(pickle.dumps((result, time.process_time() - begin)))
                status = 0
            except BaseException:  # pylint: disable=broad-except
                import traceback
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, status, usage = os.wait4(child, 0)
        if status:
            return pathlib.Path(scratch, 'log').read_text().strip().splitlines()[-1], None, None
        result, seconds = pickle.loads(file.read_bytes())
        return result, seconds, usage.ru_maxrss / 1024


# A program's largest size counts the process that started it, which has to be small.
LAUNCHER = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
sys.exit(bool(status))
"""


def of_tracin(arguments, flags, checkpoints):
    """(scores [train, tests], CPU seconds, MB) of one call of tracin."""
    with tempfile.TemporaryDirectory() as scratch:
        file = f'{scratch}/scores.safetensors'
        command = [rivals.program('tracin'), '--threads=1', '--progress=false', '--top_k=0', '--test_quantity=energy',
                   f'--train={arguments.features}', f'--test={arguments.tests}', f'--output={file}']
        command += flags + checkpoints
        ran = subprocess.run([sys.executable, '-S', '-c', LAUNCHER] + command, capture_output=True, text=True,
                             check=False)
        if ran.returncode:
            sys.exit(f'{" ".join(command)} failed:\n{ran.stderr}')
        seconds, megabytes = map(float, ran.stdout.split())
        influence = rivals.read_safetensors(file)
    offset = influence['offset']
    scores = numpy.zeros((len(influence['train_order']), len(offset) - 1))
    place = {int(number): k for k, number in enumerate(influence['train_order'])}
    for test in range(len(offset) - 1):
        rows = slice(offset[test], offset[test + 1])
        scores[[place[int(t)] for t in influence['train'][rows]], test] = influence['score'][rows]
    return scores, seconds, megabytes


def rows_of_tracin(arguments):
    last = [str(pathlib.Path(arguments.run) / 'checkpoints/last.safetensors')]
    all_of_them = sorted(map(str, (pathlib.Path(arguments.run) / 'checkpoints').glob('epoch-*.safetensors')))
    for name, flags, checkpoints in (
            ('TracIn', [], all_of_them), ('TracIn, cosine', ['--normalize=cosine'], all_of_them), ('GradDot', [], last),
            ('TracIn, precondition=adam', ['--precondition=adam'], all_of_them),
            ('ek-fac', ['--precondition=ek-fac'], last),
            ('ek-fac, damping=trace:0.1', ['--precondition=ek-fac', '--damping=trace:0.1'], last),
            ('gauss-newton', ['--precondition=gauss-newton'], last),
            ('gauss-newton, damping=trace:0.1', ['--precondition=gauss-newton', '--damping=trace:0.1'], last),
            ('unrolled', ['--unrolled'], all_of_them)):
        yield f'rutile\t{name}', lambda f=flags, c=checkpoints: of_tracin(arguments, f, c)


def check_energies(run, arguments):
    """Ends the script unless PyTorch's energies of the tests are those of evaluate."""
    with tempfile.TemporaryDirectory() as scratch:
        rivals.cpu_of(['evaluate', '--threads=1', f'--output_dir={scratch}/out',
                       f'{arguments.run}/last.safetensors', arguments.tests])
        expected = rivals.read_safetensors(f'{scratch}/out/predictions.safetensors')['predicted_energy']
    energies = run.test.energies(run.model(), run.state(run.last))
    difference = numpy.max(numpy.abs(energies - expected) / run.test.atoms)
    print(f'# energies of PyTorch and of evaluate differ by at most {difference:.1e} eV per atom', flush=True)
    if difference > 1e-6:
        sys.exit('that is more than 1e-6: the models are not the same, or TESTS are not those of RUN/test_frames.txt')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('run', 'features', 'tests', 'judge'):
        parser.add_argument(name)
    parser.add_argument('--only', default='', help='only rows whose names contain this')
    arguments = parser.parse_args()
    rivals.one_torch_thread(torch)
    run = Run(arguments.run, arguments.features, arguments.judge)
    packages = ['torch', *attribution_methods.installed()]
    print('# ' + ', '.join([rivals.rutile_version()] + [rivals.version(package) for package in packages]))
    check_energies(run, arguments)
    parameters = sum(p.numel() for p in run.model().parameters())
    print(f'# {len(run.train.atoms)} training structures, {parameters} parameters, {len(run.test.atoms)} tests, '
          f'{len(run.kept)} subsets; {rivals.processor()}')
    print('program\tmethod\tlds\tlds_low\tlds_high\tcpu_seconds\tmegabytes', flush=True)
    _, seconds, megabytes = apart(lambda: attribution_methods.Problem(run) and None)
    print(f'\tPyTorch, model and data\t\t\t\t{seconds:.2f}\t{megabytes:.0f}', flush=True)
    of_others = [(name, lambda call=call: apart(call)) for name, call in attribution_methods.rows(run)]
    for name, measured in [*rows_of_tracin(arguments), *of_others]:
        if arguments.only not in name:
            continue
        scores, seconds, megabytes = measured()
        if seconds is None:
            print(f'{name}\tfailed: {scores}', flush=True)
            continue
        lds = linear_datamodeling_score(numpy.asarray(scores, dtype=float), run.kept, run.outcome)
        print(f'{name}\t' + '\t'.join(f'{x:.3f}' for x in lds) + f'\t{seconds:.2f}\t{megabytes:.0f}', flush=True)


main()
