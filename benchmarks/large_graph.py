#!/usr/bin/env python3
"""How long a large graph takes, and how much memory: featurize, an epoch of train, evaluate of a sample.

    large_graph.py FOLDER [--entities=N] [--triples=N] [--relations=N] [FLAG OF TRAIN...]

Generates a graph into FOLDER (unless it is there), runs the tools with two threads, and prints a table of seconds,
seconds of the processor, the peak of resident memory in GB, and what evaluate says of the model. rutile's programs come
from PATH or bin/.

The graph has something to learn. Each entity has one of 50 types, one of a number of communities, and a place in the
group of both. A relation leads from a type to a type; a triple's tail is of its type and, four times in five, of the
head's community. Places, communities and relations are drawn by power laws, x = n u^3 with u uniform, so that the
degrees of entities fall like x^(-2/3).
"""

import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / 'rivals'))
from rivals import program  # noqa: E402

TYPES = 50
GROUP = 100  # entities of a type and a community
HELD_OUT = 5000  # triples of validation, and of test
THREADS = 2
# What the flags say that are not given: a run of a graph of millions of entities.
TRAIN = ['--kge_model=complex', '--kge_recipe=plain', '--embedding_dim=100', '--kge_loss=1vsAll',
         '--negatives_per_batch=1024', '--optimizer=adagrad', '--learning_rate=0.1', '--batch_size=1024', '--input_dropout=0',
         '--rank_sample=500', '--max_epochs=1', '--check_gradient=false', '--precision=fp32',
         '--save_interval=100000']


def write_graph(folder, entities, triples, relations):
    """Writes train.txt, valid.txt and test.txt, as featurize reads them."""
    rng = random.Random(1)
    uniform = rng.random
    communities = max(1, entities // (TYPES * GROUP))
    sides = [(rng.randrange(TYPES), rng.randrange(TYPES)) for _ in range(relations)]

    def entity(kind, community):
        return kind + TYPES * (community + communities * int(GROUP * uniform() ** 3))

    def lines(count):
        for _ in range(count):
            relation = int(relations * uniform() ** 3)
            head, tail = sides[relation]
            community = int(communities * uniform() ** 3)
            other = community if uniform() < 0.8 else int(communities * uniform())
            yield f'e{entity(head, community)}\tr{relation}\te{entity(tail, other)}\n'

    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (('train', triples), ('valid', HELD_OUT), ('test', HELD_OUT)):
        with open(folder / f'{name}.part', 'w', encoding='ascii', buffering=1 << 20) as out:
            out.writelines(lines(count))
        os.replace(folder / f'{name}.part', folder / f'{name}.txt')


def run(name, arguments, output=None):
    """Runs a program, prints its row of the table, and returns the seconds. It ends the script if the program fails."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        if output is not None:
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
        os.execv(program(arguments[0]), [str(a) for a in arguments])
    _, status, usage = os.wait4(child, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f'{name}: status {os.waitstatus_to_exitcode(status)}')
    processor = usage.ru_utime + usage.ru_stime
    print(f'{name}\t{seconds:.1f} s\t{processor:.1f} s\t{usage.ru_maxrss / 1e6:.2f} GB', flush=True)
    return seconds


def main():
    sizes = {'entities': 5_000_000, 'triples': 20_000_000, 'relations': 200}
    paths, flags = [], []
    for argument in sys.argv[1:]:
        name, _, value = argument.removeprefix('--').partition('=')
        if argument.startswith('--') and name in sizes:
            sizes[name] = int(value)
        else:
            (flags if argument.startswith('--') else paths).append(argument)
    if len(paths) != 1:
        sys.exit(__doc__)
    folder = pathlib.Path(paths[0])
    texts = [folder / f'{name}.txt' for name in ('train', 'valid', 'test')]
    if not all(text.exists() for text in texts):
        start = time.monotonic()
        write_graph(folder, **sizes)
        print(f'generate\t{time.monotonic() - start:.1f} s')
    triples = folder / 'graph.safetensors'
    if not triples.exists():
        run('featurize', ['featurize', f'--output={triples}', *texts])
    given = {flag.partition('=')[0] for flag in flags}
    train = [flag for flag in TRAIN if flag.partition('=')[0] not in given] + flags
    if '--threads' not in given:
        train.append(f'--threads={THREADS}')
    run('train', ['train', '--overwrite', f'--output_dir={folder}/run', *train, triples], folder / 'train.tsv')
    metrics = folder / 'metrics.tsv'
    run('evaluate', ['evaluate', f'--threads={THREADS}', '--rank_sample=500', f'{folder}/run/best.safetensors', triples],
        metrics)
    print(metrics.read_text(encoding='ascii'), end='')


if __name__ == '__main__':
    main()
