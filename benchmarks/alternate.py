#!/usr/bin/env python3
"""Two commands in turns: processor time, wall time and memory of whole runs, and the ratio of their times.

    alternate.py [--rounds=15] 'COMMAND A' 'COMMAND B'

Each round runs both, in an order that changes, so that what drifts does not favor a side. Quoted is the median of the
rounds' ratios B/A, and in brackets half of them (the quartiles): processor time (user and system), which other work on
the machine changes little, and wall time. Memory is the peak resident set, at least Python's own 15 MB. A shell takes the commands; their output is thrown away, unless one fails.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time


def run(command):
    """(processor seconds, wall seconds, peak memory in MB)."""
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(['sh', '-c', f'exec {command}'], stdout=log, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = status
        if status:
            log.seek(0)
            sys.exit(f'alternate.py: {command} failed:\n{log.read().decode(errors="replace")}')
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1e3


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method='inclusive')
    return first, third


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=15, help='runs of each command (15)')
    parser.add_argument('commands', nargs=2, metavar='COMMAND')
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error('--rounds must be at least 1')
    runs = ([], [])
    for turn in range(arguments.rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            runs[side].append(run(arguments.commands[side]))
    print('\tA\tB\tB/A\tquartiles')
    for what, index, unit in (('processor', 0, 's'), ('wall', 1, 's'), ('memory', 2, 'MB')):
        values = [[measured[index] for measured in side] for side in runs]
        ratios = [b / a for a, b in zip(*values) if a > 0]
        low, high = quartiles(ratios)
        print(f'{what}\t{statistics.median(values[0]):.4g} {unit}\t{statistics.median(values[1]):.4g} {unit}'
              f'\t{statistics.median(ratios):.3f}\t{low:.3f} to {high:.3f}', flush=True)


if __name__ == '__main__':
    main()
