#!/usr/bin/env python3
"""Time to accuracy on acetylacetone: rutile's many-body potentials beside mace-torch, both curves from one command.

    mace_accuracy.py --data=DIR --output=OUT [--mace=two,one] [--epochs=41,61] [--minutes=30] [--rutile=one,two]

DIR has acac.extxyz.gz (BOTNet-datasets; 500 structures at 300 K to learn from, 650 at 300 K and 650 at 600 K for the
test). Every tenth of the 500 validates, for both programs. Both get the energies of isolated atoms, compute in fp32
with one thread, and see neighbors within 5 Angstrom. OUT gets curves.tsv (a row for each tested model: processor
seconds, root mean square errors of total energies in meV and of force components in meV/Angstrom, and the mean
absolute error of the latter) and, with gnuplot, curves.svg.

Seconds are processor time (user and system) of the program that trains, which other programs on the machine change far
less than wall time. rutile is trained anew for each length, since its learning rate falls to zero over a run: a row is
a whole run, with its start, reading and validation. mace-torch trains once by its mace_run_train, and each row is a
model that it validated, with parameters averaged (EMA) as in its own validation; its imports do not count. It has its
recommended settings for molecules: 64 channels (64x0e), max_ell 3, correlation 3, batches of 5, Adam with amsgrad at
0.01, loss weights 1 and 100, EMA 0.99, and in the last quarter of its epochs stage two (rate 0.001, weights 1000 and
100). --mace=vectors is 64x0e+64x1o with two layers. It ends when it has done its --epochs, when its force error at 300
K is below --target, or when --minutes of its processor time are over. Another process, which does not count, tests
models.
"""

import argparse
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import rivals

ENERGIES = {'H': -13.568422178253735, 'C': -1026.8538996116154, 'O': -2037.796869412825}
NUMBERS = {'H': 1, 'C': 6, 'O': 8}
LAYERS = {'one': (1, '64x0e'), 'two': (2, '64x0e'), 'vectors': (2, '64x0e+64x1o')}
RUTILE = {'one': ([], (10, 20, 50, 100, 200, 400)),
          'two': (['--messages=16', '--vector_messages=16'], (5, 10, 20, 50, 100))}


# ---- the child: mace_run_train, which also leaves each validated model, and the processor time until then


def run_mace(models, arguments):
    from mace.cli import run_train
    from mace.tools import checkpoint
    import torch
    rivals.one_torch_thread(torch)
    begin = time.process_time()
    original = checkpoint.CheckpointHandler.save

    def save(handler, state, epochs, keep_last=False):
        original(handler, state, epochs, keep_last)
        path = pathlib.Path(models) / f'{epochs:05d}-{time.process_time() - begin:.2f}.model'
        torch.save(state.model, path.with_suffix('.part'))
        path.with_suffix('.part').rename(path)  # whoever watches the folder finds whole files only

    checkpoint.CheckpointHandler.save = save
    sys.argv = ['mace_run_train'] + arguments
    run_train.main()


# ---- the parent


def split(data, folder):
    """Writes training, validation, test-300K and test-600K, with the names of columns that both programs know."""
    frames = {}
    with gzip.open(pathlib.Path(data) / 'acac.extxyz.gz', 'rt', encoding='utf-8') as lines:
        for count in lines:
            comment = next(lines).replace('forces:R:3', 'REF_forces:R:3').replace('energy=', 'REF_energy=')
            text = count + comment + ''.join(next(lines) for _ in range(int(count)))
            frames.setdefault(comment.split('config_type=')[1].split()[0], []).append(text)
    learned = frames.pop('training-300K')
    frames['validation'] = learned[9::10]
    frames['training'] = [text for k, text in enumerate(learned) if k % 10 != 9]
    paths = {}
    for name, texts in frames.items():
        paths[name] = pathlib.Path(folder) / (name + '.extxyz')
        paths[name].write_text(''.join(texts), encoding='utf-8')
    return paths


def rutile_errors(model, test):
    """RMSE of the energy in meV, RMSE and MAE of force components in meV/Angstrom."""
    said = subprocess.run([rivals.program('evaluate'), '--threads=1', model, test], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rows = {tuple(line.split('\t')[:3]): line.split('\t') for line in said.splitlines()}
    energy, force = rows[('all', '', 'energy_total')], rows[('all', '', 'force')]
    return 1e3 * float(energy[5]), 1e3 * float(force[5]), 1e3 * float(force[6])


class MaceTest:
    """Errors of models of mace-torch by its own code; neighbors are found once."""

    def __init__(self, path):
        import ase.io
        from mace import data, tools
        from mace.tools import torch_geometric
        self.energies, self.forces, configurations = [], [], []  # energies: above those of the isolated atoms
        for atoms in ase.io.read(path, ':'):
            self.energies.append(atoms.info['REF_energy'] - sum(ENERGIES[symbol] for symbol in atoms.symbols))
            self.forces.append(atoms.arrays['REF_forces'])
            configurations.append(data.config_from_atoms(atoms))
        table = tools.AtomicNumberTable(sorted(NUMBERS.values()))
        frames = [data.AtomicData.from_config(c, z_table=table, cutoff=5.0) for c in configurations]
        loader = torch_geometric.dataloader.DataLoader
        self.batches = list(loader(frames, batch_size=25, shuffle=False, drop_last=False))

    def errors(self, model):
        import numpy
        energies, forces = [], []
        for batch in self.batches:
            out = model(batch.to_dict(), training=False, compute_force=True)
            # Total energies in fp32 would have rounding errors of 1 meV.
            energies.append(out['interaction_energy'].detach().double().numpy())
            forces.append(out['forces'].detach().double().numpy())
        energy = 1e3 * (numpy.concatenate(energies) - numpy.array(self.energies))
        force = 1e3 * (numpy.concatenate(forces) - numpy.concatenate(self.forces))
        return float(numpy.sqrt((energy ** 2).mean())), float(numpy.sqrt((force ** 2).mean())), float(abs(force).mean())


def mace_command(name, epochs, paths, models, folder):
    layers, irreps = LAYERS[name]
    atoms = '{' + ', '.join(f'{NUMBERS[element]}: {energy!r}' for element, energy in ENERGIES.items()) + '}'
    flags = ['--name=acac', '--seed=1', '--device=cpu', '--default_dtype=float32', '--model=MACE',
             f'--work_dir={folder}', f'--train_file={paths["training"]}', f'--valid_file={paths["validation"]}',
             f'--E0s={atoms}', '--energy_key=REF_energy', '--forces_key=REF_forces', '--r_max=5.0',
             f'--num_interactions={layers}', f'--hidden_irreps={irreps}', '--max_ell=3', '--correlation=3',
             '--batch_size=5', '--valid_batch_size=25', '--lr=0.01', '--loss=weighted', '--energy_weight=1',
             '--forces_weight=100', '--ema', '--ema_decay=0.99', '--swa', f'--start_swa={epochs - epochs // 4}',
             f'--max_num_epochs={epochs}', f'--eval_interval={max(1, (epochs - 1) // 5)}', '--save_all_checkpoints',
             '--error_table=PerAtomRMSE']
    return [sys.executable, os.path.abspath(__file__), '--child', str(models)] + flags


def mace_curve(name, epochs, options, paths, report):
    """Starts mace_run_train and tests its models as they appear."""
    import torch
    rivals.one_torch_thread(torch)
    torch.set_default_dtype(torch.float32)
    test_300, last = MaceTest(paths['test-300K']), None
    with tempfile.TemporaryDirectory() as folder, open(options.output / f'mace-{name}.log', 'wb') as log:
        models = pathlib.Path(folder) / 'models'
        models.mkdir()
        child = subprocess.Popen(mace_command(name, epochs, paths, models, folder), stdout=log, stderr=log, cwd=folder)
        try:
            ended = False
            while not ended:
                ended = child.poll() is not None  # before the look, so that the last models are seen
                for path in sorted(models.glob('*.model')):
                    epoch, seconds = (float(word) for word in path.stem.split('-'))
                    model = torch.load(path, weights_only=False)
                    errors = test_300.errors(model)
                    last = int(epoch) + 1, seconds, model
                    report('mace', name, *last[:2], '300 K', errors)
                    path.unlink()
                    # After the last epoch, mace_run_train has long tests of its own, which nothing here needs.
                    ended = (ended or int(epoch) + 1 == epochs or errors[1] < options.target or
                             seconds > 60 * options.minutes)
                time.sleep(0.5)
            if child.poll() not in (None, 0):
                sys.exit(f'mace_run_train failed: {options.output}/mace-{name}.log')
        finally:
            child.terminate()
            child.wait()
    if last:
        report('mace', name, *last[:2], '600 K', MaceTest(paths['test-600K']).errors(last[2]))


def rutile_curve(name, paths, report):
    flags, lengths = RUTILE[name]
    atoms = ','.join(f'{element}={energy!r}' for element, energy in ENERGIES.items())
    for epochs in lengths:
        with tempfile.TemporaryDirectory() as folder:
            seconds = rivals.cpu_of(['train', '--potential=many-body', '--species=C,O,H', f'--max_epochs={epochs}',
                                     f'--validation_data={paths["validation"]}', f'--atomic_energies={atoms}',
                                     '--threads=1', '--seed=1', '--plot=false', f'--output_dir={folder}/run'] + flags +
                                    [paths['training']])
            best = f'{folder}/run/best.safetensors'
            for test in ('300 K', '600 K'):
                errors = rutile_errors(best, paths['test-' + test.replace(' ', '')])
                report('rutile', name, epochs, seconds, test, errors)


def draw(output, rows):
    """Force errors at 300 K over processor seconds, both in logarithms."""
    script = ['set terminal svg size 640,400 font "sans,12"', f'set output "{output / "curves.svg"}"',
              'set logscale xy', 'set grid', 'set xlabel "processor seconds of training"', 'set key below maxcols 2',
              'set ylabel "force error at 300 K, RMSE, meV/Å"', 'set ytics (10,15,20,30,50,100,200,500)']
    lines, programs = [], {'rutile': 'rutile', 'mace': 'mace-torch'}
    for number, curve in enumerate(dict.fromkeys(row[:2] for row in rows)):
        script.append(f'$curve{number} << EOD')
        script += [f'{row[3]} {row[5][1]}' for row in rows if row[:2] == curve and row[4] == '300 K'] + ['EOD']
        layers = {'one': 'one layer', 'two': 'two layers', 'vectors': 'two layers, vectors'}[curve[1]]
        lines.append(f'$curve{number} with linespoints lw 2 pt 7 ps 0.6 title "{programs[curve[0]]}, {layers}"')
    script.append('plot 20 with lines dt 2 lc "gray" notitle, ' + ', '.join(lines))
    subprocess.run(['gnuplot'], input='\n'.join(script), text=True, check=True)


def words(text, known, flag):
    """The comma-separated words of a flag; an empty flag has none."""
    found = [word for word in text.split(',') if word]
    for word in found:
        if word not in known:
            sys.exit(f'--{flag}={text}: "{word}" is unknown, expected some of {", ".join(known)}')
    return found


def main():
    if sys.argv[1:2] == ['--child']:
        run_mace(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', required=True, help='folder of acac.extxyz.gz')
    parser.add_argument('--output', required=True, type=pathlib.Path, help='folder for curves.tsv and curves.svg')
    parser.add_argument('--mace', default='two,one', help='models of mace-torch: one, two, vectors; empty: none')
    parser.add_argument('--epochs', default='41,61', help='epochs of each of them')
    parser.add_argument('--minutes', type=float, default=30, help='processor minutes after which each of them ends')
    parser.add_argument('--target', type=float, default=20, help='force error, meV/Angstrom, at which they end')
    parser.add_argument('--rutile', default='one,two', help="rutile's models: one, two; empty: none")
    options = parser.parse_args()
    maces, epochs = words(options.mace, LAYERS, 'mace'), options.epochs.split(',')
    if len(epochs) < len(maces):
        sys.exit(f'--epochs={options.epochs}: {len(epochs)} numbers for {len(maces)} models of --mace')
    if not os.path.exists(os.path.join(options.data, 'acac.extxyz.gz')):
        sys.exit(f'--data={options.data}: has no acac.extxyz.gz, the data set of BOTNet-datasets in extended XYZ')
    os.environ['TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'] = '1'  # e3nn 0.4.4 loads a pickle of its own package
    if maces:
        rivals.load('mace')
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder, open(options.output / 'curves.tsv', 'w', encoding='utf-8') as table:
        versions = [rivals.version('mace-torch'), rivals.version('torch')] if maces else []
        table.write('# ' + ', '.join([rivals.rutile_version()] + versions + [rivals.processor()]) + '\n')
        table.write('program\tlayers\tepochs\tseconds\ttest\tenergy[meV]\tforce[meV/Å]\tforce_mae[meV/Å]\n')

        def report(program, name, epochs, seconds, test, errors):
            rows.append((program, name, epochs, seconds, test, errors))
            line = f'{program}\t{name}\t{epochs}\t{seconds:.1f}\t{test}\t' + '\t'.join(f'{x:.1f}' for x in errors)
            print(line, flush=True)
            table.write(line + '\n')
            table.flush()

        paths = split(options.data, folder)
        for name in words(options.rutile, RUTILE, 'rutile'):
            rutile_curve(name, paths, report)
        for name, count in zip(maces, epochs):
            mace_curve(name, int(count), options, paths, report)
    if shutil.which('gnuplot') and rows:
        draw(options.output, rows)


if __name__ == '__main__':
    main()
