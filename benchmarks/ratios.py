#!/usr/bin/env python3
"""How many times as fast as their references the fast kernels are, and the lines "fast" of baselines.tsv.

Each row is a pair of benchmarks of one program, run in one process: the ratio of their items per second (where they do
not count items, of their times), or the ratio that the benchmark itself counts. Runs are repeated; quoted is the median
ratio, and the least and largest. A ratio holds on other machines of the kind, where times do not.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# What is compared: name, program, reference, fast. The reference is "" where the fast benchmark counts the ratio itself.
PAIRS = (
    ('image search over brute force, 24 atoms, 4 A', 'neighbor', 'BM_Reference/24/4', 'BM_Images/24/4'),
    ('image search over brute force, 24 atoms, 6 A', 'neighbor', 'BM_Reference/24/6', 'BM_Images/24/6'),
    ('image search over brute force, 24 atoms, 8 A', 'neighbor', 'BM_Reference/24/8', 'BM_Images/24/8'),
    ('cell list over brute force, 5184 atoms, 6 A', 'neighbor', 'BM_Reference/5184/6', 'BM_Cells/5184/6'),
    ('pairs from a file over the search, 8 A', 'neighbor_file', 'BM_SearchAgain/8', 'BM_FromFile/8'),
    ('descriptor, moments fp64 over the reference, 4.0/5, 3.0/3', 'descriptor', 'BM_Reference/0', 'BM_Moments<double>/0'),
    ('descriptor, moments fp64 over the reference, 6.0/10, 4.0/3', 'descriptor', 'BM_Reference/1', 'BM_Moments<double>/1'),
    ('descriptor, moments fp64 over the reference, 8.0/16, 6.5/4', 'descriptor', 'BM_Reference/4', 'BM_Moments<double>/4'),
    ('descriptor, triplets fp64 over the reference, 8.0/16, 6.5/4', 'descriptor', 'BM_Reference/4', 'BM_Triplets<double>/4'),
    ('forces of features, moments fp64 over the reference, 4.0/5, 3.0/3', 'derivative', 'BM_Reference/0/2', 'BM_Moments<double>/0/2'),
    ('forces of features, moments fp64 over the reference, 8.0/16, 6.5/4', 'derivative', 'BM_Reference/4/2', 'BM_Moments<double>/4/2'),
    ('tangents of features, moments fp64 over the reference, 8.0/16, 6.5/4', 'derivative', 'BM_Reference/4/4', 'BM_Moments<double>/4/4'),
    ('energy step, kernel fp32 over LibTorch, 1 structure', 'potential', 'BM_AutogradStep<float>/1', 'BM_KernelStep<float>/1'),
    ('energy step, kernel fp32 over LibTorch, 32 structures', 'potential', 'BM_AutogradStep<float>/32', 'BM_KernelStep<float>/32'),
    ('energy step, kernel fp64 over LibTorch, 32 structures', 'potential', 'BM_AutogradStep<double>/32', 'BM_KernelStep<double>/32'),
    ('second order, kernel fp32 over LibTorch, 32 structures', 'potential', 'BM_AutogradSecondOrder<float>/32/20', 'BM_SecondOrder<float, Part::kAll>/32/20'),
    ('energy step, kernel fp32 over LibTorch, width 64', 'network', 'BM_StepLibTorch<float>/32/64', 'BM_Step<float>/32/64'),
    ('energy step, kernel fp32 over LibTorch, width 200', 'network', 'BM_StepLibTorch<float>/32/200', 'BM_Step<float>/32/200'),
    ('force step, kernel fp32 over LibTorch, 4.0/5, 3.0/3', 'force', 'BM_ReferenceStep<float>', 'BM_ForceEpoch<float>/0'),
    ('Adam, one pass over separate, 1500 parameters', 'train', 'BM_Adam<SeparatePasses>/1500', 'BM_Adam<Fused>/1500'),
    ('Adam, one pass over separate, 3 million parameters', 'train', 'BM_Adam<SeparatePasses>/3000000', 'BM_Adam<Fused>/3000000'),
    ('RMSprop, one pass over separate, 1500 parameters', 'optimizer', 'BM_Update<SeparateRmsprop>/1500', 'BM_Update<FusedRmsprop>/1500'),
    ('Adagrad, one pass over separate, 1500 parameters', 'optimizer', 'BM_Update<SeparateAdagrad>/1500', 'BM_Update<FusedAdagrad>/1500'),
    ('schedule-free AdamW, one pass over separate, 1500 parameters', 'optimizer', 'BM_Update<SeparateScheduleFree>/1500', 'BM_Update<FusedScheduleFree>/1500'),
    ('ConvE, kernel fp32 over LibTorch, 135 entities', 'conve', 'BM_PlainLibTorch/135/200/128', 'BM_Kernel/135/200/128'),
    ('ConvE, kernel fp32 over LibTorch, 14541 entities', 'conve', 'BM_PlainLibTorch/14541/200/128', 'BM_Kernel/14541/200/128'),
    ('ConvE, kernel bf16 over LibTorch fp32, 14541 entities', 'conve', 'BM_PlainLibTorch/14541/200/128', 'BM_KernelBf16/14541/200/128'),
    ('ranking over product and mask, 4096 queries, 40943 entities', 'ranking', 'BM_Masked/4096/40943/200', 'BM_RankTargets/4096/40943/200'),
    ('TracIn of ConvE over one gradient at a time, 200, 1 test', 'kge_influence', '', 'BM_TripleLoss/dim:200/tests:1/bf16:0'),
    ('TracIn of ConvE over one gradient at a time, 32, 100 tests', 'kge_influence', '', 'BM_TripleLoss/dim:32/tests:100/bf16:0'),
    ('TracIn of potentials over one gradient at a time, fp32', 'potential_influence', '', 'BM_AllPairs<float>/0'),
    ('top scores over a heap for each, 100 tests', 'influence', 'BM_HeapForEachScore<false>/100/1/10', 'BM_TopScores<false>/100/1/10'),
    ('numbers of 8 decimals over strtod', 'structure', 'BM_Number<WithCLibrary>/8', 'BM_Number<ParseDouble>/8'),
    ('numbers of 17 digits over strtod', 'structure', 'BM_Number<WithCLibrary>/17', 'BM_Number<ParseDouble>/17'),
    ('CRC32C over bytewise, 1 MB', 'tensorfile', 'BM_Crc32c<ExtendCrc32cReference>/1048576', 'BM_Crc32c<ExtendCrc32c>/1048576'),
)  # yapf: disable


def exactly(names):
    """A regular expression of Google Benchmark for these benchmarks alone."""
    return '^(' + '|'.join(re.sub(r'([].[*+?(){}|^$\\])', r'\\\1', name) for name in names) + ')$'


def command_of(program, reference, fast, min_time):
    names = [name for name in (reference, fast) if name]
    if not reference:  # its naive loop is a benchmark, too, which must come first
        names = [fast, fast.replace('BM_TripleLoss', 'BM_NaiveLoop')] if 'TripleLoss' in fast else [fast]
    return [f'{program}_benchmark', f'--benchmark_filter={exactly(names)}', f'--benchmark_min_time={min_time:g}']


def ratio_of(directory, words, reference, fast):
    """The ratio of one run, or None where this build lacks one of the two."""
    run = subprocess.run([str(directory / words[0])] + words[1:] + ['--benchmark_format=json'], cwd=HERE.parent,
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f'ratios.py: {words[0]} failed:\n{run.stderr}')
    if not run.stdout.strip():
        return None
    rows = {row['name']: row for row in json.loads(run.stdout)['benchmarks'] if not row.get('error_occurred')}
    if fast not in rows or (reference and reference not in rows):
        return None
    if not reference:
        return rows[fast].get('ratio')
    a, b = rows[reference], rows[fast]
    if 'items_per_second' in a and 'items_per_second' in b:
        return b['items_per_second'] / a['items_per_second']
    unit = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}
    return a['cpu_time'] * unit[a['time_unit']] / (b['cpu_time'] * unit[b['time_unit']])


def digits(value):
    """Three digits, without an exponent."""
    return f'{float(f"{value:.3g}"):g}'


def processor():
    try:
        for line in open('/proc/cpuinfo', encoding='utf-8'):
            if line.startswith('model name'):
                return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return os.uname().machine


def update(path, rows):
    """Replaces the lines "fast" of these names, keeps all others, and adds what is new at the end."""
    lines = path.read_text(encoding='utf-8').splitlines()
    names = {row.split('\t')[1] for row in rows}
    kept = [line for line in lines if not (line.startswith('fast\t') and line.split('\t')[1] in names)]
    path.write_text('\n'.join(kept + rows) + '\n', encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--programs', type=pathlib.Path, default=HERE.parent / 'bazel-bin/benchmarks',
                        help='where the benchmark programs are (bazel-bin/benchmarks); those that are missing are skipped')
    parser.add_argument('--rounds', type=int, default=5, help='runs of each pair (5)')
    parser.add_argument('--min_time', type=float, default=0.2, help='seconds that each benchmark runs at least (0.2)')
    parser.add_argument('--only', default='', help='a regular expression of names')
    parser.add_argument('--update', type=pathlib.Path, help='a baselines.tsv whose lines are replaced')
    parser.add_argument('--machine', default=processor(), help='what to call this machine')
    parser.add_argument('--commit', default='', help='of the programs (the one checked out)')
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.min_time <= 0:
        parser.error('--rounds and --min_time must be above 0')
    commit = arguments.commit or subprocess.run(['git', '-C', str(HERE), 'rev-parse', '--short', 'HEAD'],
                                                capture_output=True, text=True).stdout.strip()
    rows = []
    for name, program, reference, fast in PAIRS:
        if not re.search(arguments.only, name):
            continue
        if not os.access(arguments.programs / f'{program}_benchmark', os.X_OK):
            print(f'{name}: no {program}_benchmark in {arguments.programs}', file=sys.stderr)
            continue
        words = command_of(program, reference, fast, arguments.min_time)
        ratios = [ratio_of(arguments.programs, words, reference, fast) for _ in range(arguments.rounds)]
        if None in ratios:
            print(f'{name}: this {program}_benchmark has not both of them', file=sys.stderr)
            continue
        rows.append('\t'.join(('fast', name, digits(statistics.median(ratios)),
                               f'{digits(min(ratios))}..{digits(max(ratios))}', arguments.machine, commit,
                               f'{words[0]} {shlex.quote(words[1])}')))
        print(rows[-1], flush=True)
    if not rows:
        sys.exit('ratios.py: nothing to compare')
    if arguments.update:
        update(arguments.update, rows)


if __name__ == '__main__':
    main()
