#!/usr/bin/env python3
"""Writes compile_commands.json, with which clangd and clang-tidy understand rutile.

    tools/dev/compile_commands.py [TARGETS]     # default //...; again when BUILD files have changed

It asks Bazel which commands it would run and builds nothing: seconds. The file goes to the root of the checkout, where
editors look for it, and git ignores it. Flags that only gcc knows are left out, and so are precompiled headers,
which only a build makes.
"""

import json
import os
import subprocess
import sys

# What gcc is asked for and clang 14 would complain about, or what makes every warning in an editor an error.
LEFT_OUT = {'-fno-canonical-system-headers', '-Wno-free-nonheap-object', '-Werror', '-MD', '-std=c++0x'}
# The same, with the argument that follows.
LEFT_OUT_WITH_VALUE = {'-MF', '-o', '-include'}
# Highway compiles a file once for each instruction set, by including it in itself, which clangd cannot follow. Where
# this is defined, it compiles the file once. Highway 1.0.3 looks for this name, but clangd defines another (__clangd__).
ADDED = ['-D__CLANGD__']


def bazel(*arguments):
    """Standard output of a bazel command; its messages go to standard error as they come."""
    result = subprocess.run(['bazel', *arguments], stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.exit(f'compile_commands.py: bazel {arguments[0]} failed with exit status {result.returncode}')
    return result.stdout.decode()


def clang_arguments(arguments, output_base):
    """The arguments of gcc, as clang takes them in the root of the checkout, from whose view external/ is elsewhere."""
    result = ['clang++', *ADDED]
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in LEFT_OUT or argument.startswith('-frandom-seed='):
            continue
        if argument in LEFT_OUT_WITH_VALUE:
            next(rest)
            continue
        if argument in ('-iquote', '-isystem', '-I'):
            directory = next(rest)
            if directory.startswith('bazel-out/'):  # holds nothing before a build
                continue
            if directory.startswith('external/'):
                directory = os.path.join(output_base, directory)
            result += [argument, directory]
            continue
        result.append(argument)
    return result


def compile_commands(actions, workspace, output_base):
    """One entry for each source of this repository, in the order of their names."""
    commands = {}
    for action in actions:
        arguments = action['arguments']
        source = arguments[arguments.index('-c') + 1]
        # A file that is compiled as a header is a precompiled one.
        if source.startswith(('external/', 'bazel-out/')) or 'c++-header' in arguments or source in commands:
            continue
        commands[source] = {
            'directory': workspace,
            'file': source,
            'arguments': clang_arguments(arguments, output_base),
        }
    return [commands[source] for source in sorted(commands)]


def main():
    targets = sys.argv[1:] or ['//...']
    if any(target.startswith('-') for target in targets):
        sys.exit(__doc__.strip())
    info = dict(line.split(': ', 1) for line in bazel('info', 'workspace', 'output_base').splitlines())
    # --include_artifacts would list every header of every action: 50 times the output.
    actions = json.loads(bazel('aquery', '--output=jsonproto', '--include_artifacts=false', '--noshow_progress',
                               f'mnemonic("CppCompile", {" + ".join(targets)})')).get('actions', [])
    commands = compile_commands(actions, info['workspace'], info['output_base'])
    path = os.path.join(info['workspace'], 'compile_commands.json')
    with open(path + '.new', 'w', encoding='utf-8') as file:
        json.dump(commands, file, indent=1)
        file.write('\n')
    os.replace(path + '.new', path)
    print(f'{path}: {len(commands)} files')


if __name__ == '__main__':
    main()
