#!/usr/bin/env python3
"""Does an answer depend on the proponents that tracin lists? Removes them and trains the model again.

    remove_and_retrain.py [--targets=20] [--seeds=5] [--remove=2,5,10] [--epochs=150] GRAPH OUT

GRAPH contains train.txt, valid.txt and test.txt. Targets are drawn from the test triples whose tail a model of seed 1
ranks first. For each target, n training triples are removed, all at once: its highest by tracin, others that share an
entity with it, or random ones. Models of other seeds are trained on the rest, and OUT/removed.tsv has the mean of 1/rank
of the targets' tails. Needs featurize, train, evaluate and tracin on the PATH.
"""

import argparse
import collections
import os
import random
import statistics
import subprocess

MODEL = ['--kge_model=complex', '--kge_loss=KvsAll', '--input_dropout=0.4', '--overwrite']


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def table(text):
    lines = [line.split('\t') for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def triples(path):
    with open(path) as file:
        return [tuple(line.split('\t')) for line in file.read().splitlines()]


def write(path, rows):
    with open(path, 'w') as file:
        file.writelines('\t'.join(row) + '\n' for row in rows)


class Experiment:
    def __init__(self, options):
        self.options = options
        self.graph = [f'{options.graph}/{split}.txt' for split in ('train', 'valid', 'test')]
        self.train = triples(self.graph[0])
        os.makedirs(options.out, exist_ok=True)

    def fit(self, name, train_file, seed):
        """Trains a model on train_file and returns the ranks of the test triples' tails."""
        base = f'{self.options.out}/{name}'
        run('featurize', f'--output={base}.safetensors', train_file, *self.graph[1:])
        run('train', *MODEL, f'--max_epochs={self.options.epochs}', f'--keep_every_epochs={self.options.epochs // 5}',
            f'--seed={seed}', f'--output_dir={base}', f'{base}.safetensors')
        run('evaluate', f'--output_dir={base}/report', f'{base}/best.safetensors', f'{base}.safetensors')
        with open(f'{base}/report/ranks.tsv') as file:
            return {(row['head'], row['relation'], row['tail']): float(row['tail_rank']) for row in table(file.read())}

    def proponents(self, targets):
        """Returns the training triples that tracin lists for each target, in its order."""
        out = self.options.out
        write(f'{out}/targets.tsv', targets)
        checkpoints = sorted(f'{out}/first/checkpoints/{f}' for f in os.listdir(f'{out}/first/checkpoints')
                             if f.startswith('epoch-'))
        listed = collections.defaultdict(list)
        for row in table(run('tracin', f'--train={out}/first.safetensors', f'--test={out}/targets.tsv', '--loss=ce',
                             '--rank=proponents', f'--top_k={max(self.options.remove)}', *checkpoints)):
            target = tuple(row[f'test_{part}'] for part in ('head', 'relation', 'tail'))
            listed[target].append(tuple(row[f'train_{part}'] for part in ('head', 'relation', 'tail')))
        return listed

    def removed(self, how, targets, count, proponents, seed):
        generator = random.Random(f'{how} {count} {seed}')
        gone = set()
        for target in targets:
            if how == 'proponents':
                candidates = proponents[target]
            elif how == 'neighbors':
                candidates = [t for t in self.train if {t[0], t[2]} & {target[0], target[2]}]
                generator.shuffle(candidates)
            else:
                candidates = generator.sample(self.train, count)
            gone.update(candidates[:count])
        return gone


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--targets', type=int, default=20)
    parser.add_argument('--seeds', type=int, default=5)
    parser.add_argument('--remove', type=lambda text: [int(n) for n in text.split(',')], default=[2, 5, 10])
    parser.add_argument('--epochs', type=int, default=150)
    parser.add_argument('graph')
    parser.add_argument('out')
    options = parser.parse_args()

    experiment = Experiment(options)
    ranks = experiment.fit('first', experiment.graph[0], 1)
    known = sorted(triple for triple, rank in ranks.items() if rank == 1)
    targets = random.Random(1).sample(known, min(options.targets, len(known)))
    proponents = experiment.proponents(targets)
    with open(f'{options.out}/removed.tsv', 'w') as file:
        file.write('how\tper_target\tseeds\ttriples_removed\tmrr\tmrr_deviation\thits@1\tother_mrr\n')
        for how, count in [('nothing', 0)] + [(h, n) for n in options.remove
                                              for h in ('proponents', 'neighbors', 'random')]:
            mrr, hits, other, sizes = [], [], [], []
            for seed in range(2, 2 + options.seeds):
                gone = experiment.removed(how, targets, count, proponents, seed) if count else set()
                write(f'{options.out}/train.txt', [t for t in experiment.train if t not in gone])
                ranks = experiment.fit('again', f'{options.out}/train.txt', seed)
                mrr.append(statistics.mean(1 / ranks[t] for t in targets))
                hits.append(statistics.mean(ranks[t] == 1 for t in targets))
                other.append(statistics.mean(1 / rank for t, rank in ranks.items() if t not in targets))
                sizes.append(len(gone))
            deviation = statistics.stdev(mrr) if len(mrr) > 1 else 0
            file.write(f'{how}\t{count}\t{options.seeds}\t{statistics.mean(sizes):.0f}\t{statistics.mean(mrr):.3f}\t'
                       f'{deviation:.3f}\t{statistics.mean(hits):.3f}\t{statistics.mean(other):.3f}\n')
            file.flush()


if __name__ == '__main__':
    main()
