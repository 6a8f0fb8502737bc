#!/usr/bin/env python3
"""Runs whole tools on damaged inputs and checks how they end.

  mutate_inputs.py --bin=DIRECTORY [--runs=N] [--seed=N] [--keep=DIRECTORY] [--only=NAME]

For each command of COMMANDS, valid inputs are made by the tools themselves from data of the repository. A run damages
one input (bytes flipped, set, cut off, inserted, removed or repeated; numbers of a header changed; lines swapped) and
checks the command's outcome:

- the exit status is 0, 1 or 2, not that of a signal, a CHECK or a time limit;
- standard error holds no report of a sanitizer, no stack trace and no control character;
- where the status is 1, the last line names the tool, and no line is longer than 4100 bytes.

The damage depends on the seed and the number of the run alone. A failure is printed with what repeats it, and its input
is kept with --keep. The exit status is 1 if any run failed. The table on standard output has a row for each command.
docs/reliability.md has figures.
"""

import argparse
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPU_SECONDS = 60  # of computing, so that a busy machine does not look like a program without end
SECONDS = 600  # on the clock, for a program that waits for ever
MEMORY = 4 << 30  # bytes of address space beyond which a damaged input has asked for too much
LONGEST_LINE = 4100
TROUBLE = ("Sanitizer", "runtime error:", "Check failed", "*** Check failure", "    @ ", "terminate called",
           "internal error")

# Each command: its name, the tool, its arguments, the inputs that may be damaged (files of the work directory).
COMMANDS = [
    ("featurize-extxyz", "featurize", "--species=Ti,O --output=out.safetensors s.extxyz", ["s.extxyz"]),
    ("featurize-xsf", "featurize", "--species=Ti,O --output=out.safetensors s.xsf", ["s.xsf"]),
    ("featurize-runner", "featurize",
     "--runner_units=bohr_hartree --species=H,Na,Cl --output=out.safetensors input.data",
     ["input.data"]),
    ("featurize-gzip", "featurize", "--species=Ti,O --output=out.safetensors s.extxyz.gz", ["s.extxyz.gz"]),
    ("featurize-stp", "featurize", "--fingerprints=Ti.stp,O.stp --output=out.safetensors s.extxyz",
     ["Ti.stp", "O.stp"]),
    ("featurize-list", "featurize", "--species=Ti,O --output=out.safetensors list:inputs.txt", ["inputs.txt"]),
    ("featurize-flagfile", "featurize", "--flagfile=flags.txt s.extxyz", ["flags.txt"]),
    ("featurize-neighbors", "featurize",
     "--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --output=out.safetensors n.safetensors",
     ["n.safetensors"]),
    ("featurize-triples", "featurize",
     "--output=out.safetensors train.txt valid.txt test.txt",
     ["train.txt", "valid.txt", "test.txt"]),
    ("cache-neighbors", "cache-neighbors",
     "--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --output=out.safetensors s.extxyz",
     ["s.extxyz"]),
    ("cache-known", "cache-neighbors", "--output=out.safetensors t.safetensors", ["t.safetensors"]),
    ("train-features", "train",
     "--plot=false --threads=1 --max_epochs=1 --hidden=3 --overwrite --output_dir=out f.safetensors",
     ["f.safetensors"]),
    ("train-neighbors", "train",
     "--plot=false --threads=1 --max_epochs=1 --hidden=3 --force_weight=0.1 --overwrite --output_dir=out "
     "n.safetensors",
     ["n.safetensors"]),
    ("train-triples", "train",
     "--plot=false --threads=1 --max_epochs=1 --kge_model=distmult --embedding_dim=4 --overwrite "
     "--output_dir=out t.safetensors",
     ["t.safetensors"]),
    ("train-resume", "train",
     "--plot=false --threads=1 --max_epochs=3 --hidden=3 --resume --output_dir=run f.safetensors",
     ["run/checkpoints/last.safetensors"]),
    ("train-init", "train",
     "--plot=false --threads=1 --max_epochs=1 --hidden=3 --init_from=run/best.safetensors --overwrite "
     "--output_dir=out f.safetensors",
     ["run/best.safetensors"]),
    ("evaluate-model", "evaluate",
     "--forces=false run/best.safetensors s.extxyz",
     ["run/best.safetensors", "s.extxyz"]),
    ("evaluate-forces", "evaluate", "run/best.safetensors n.safetensors", ["run/best.safetensors", "n.safetensors"]),
    ("evaluate-predictions", "evaluate", "run/best.safetensors p.safetensors", ["p.safetensors"]),
    ("evaluate-log", "evaluate",
     "--forces=false --train_log=run/log.tsv --output_dir=out run/best.safetensors s.extxyz",
     ["run/log.tsv"]),
    ("evaluate-frames", "evaluate",
     "--forces=false --frames=frames.txt run/best.safetensors s.extxyz",
     ["frames.txt"]),
    ("evaluate-kge", "evaluate", "kge/best.safetensors t.safetensors", ["kge/best.safetensors", "t.safetensors"]),
    ("evaluate-known", "evaluate", "kge/best.safetensors t.safetensors k.safetensors", ["k.safetensors"]),
    ("evaluate-export", "evaluate", "--export_embeddings=out.tsv kge/best.safetensors", ["kge/best.safetensors"]),
    ("tracin", "tracin",
     "--train=f.safetensors --test=f.safetensors --output=out.safetensors run/checkpoints/last.safetensors",
     ["run/checkpoints/last.safetensors", "f.safetensors"]),
]


def binary(directory, tool):
    """Returns the tool's program: DIRECTORY/TOOL, or that of Bazel's folders."""
    for path in (directory / tool, directory / "tools" / tool / tool):
        if path.is_file():
            return path
    return None


def make_inputs(tools, work):
    """Makes the valid inputs of all commands in `work`."""
    data = ROOT / "data/tio2-pbe/tio2-pbe.extxyz"
    lines = data.read_text().splitlines(keepends=True)
    frames, at = [], 0
    while at < len(lines) and len(frames) < 12:
        count = int(lines[at]) + 2
        frames.append("".join(lines[at:at + count]))
        at += count
    (work / "s.extxyz").write_text("".join(frames))
    structure = ROOT / "testdata/structure"
    potential = ROOT / "testdata/potential"
    shutil.copy(potential / "tio2_pbe_00000.xsf", work / "s.xsf")
    shutil.copy(structure / "input.data", work)
    subprocess.run(["gzip", "-kn", "s.extxyz"], cwd=work, check=True)
    for element in ("Ti", "O"):
        shutil.copy(ROOT / f"testdata/descriptor/{element}.fingerprint.stp", work / f"{element}.stp")
    for split in ("train", "valid", "test"):
        text = (ROOT / f"testdata/kg/family/{split}.txt").read_text().splitlines(keepends=True)
        (work / f"{split}.txt").write_text("".join(text[:200]))
    (work / "inputs.txt").write_text("# structures\ns.extxyz\n\ns.xsf\n")
    (work / "flags.txt").write_text(
        "--species=Ti,O\n--rad_cutoff=4\n# smaller\n--ang_cutoff=3\n--output=out.safetensors\n")
    (work / "frames.txt").write_text("0 1 2\n5\n7 3\n")
    descriptor = "--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=1"
    commands = [
        f"featurize {descriptor} --output=f.safetensors s.extxyz",
        f"cache-neighbors {descriptor} --output=n.safetensors s.extxyz",
        "featurize --output=t.safetensors --train=train.txt --valid=valid.txt --test=test.txt",
        "cache-neighbors --output=k.safetensors t.safetensors",
        "train --plot=false --threads=1 --max_epochs=2 --hidden=3 --output_dir=run f.safetensors",
        "train --plot=false --threads=1 --max_epochs=1 --embedding_dim=6 --embedding_height=2 --embedding_width=3 "
        "--kernel_height=2 --kernel_width=2 --output_channels=2 --output_dir=kge t.safetensors",
        "evaluate --output_dir=report run/best.safetensors s.extxyz",
    ]
    for command in commands:
        tool, *arguments = command.split()
        if tools.get(tool) is None:
            continue
        subprocess.run([tools[tool], *arguments], cwd=work, check=True, capture_output=True)
    if (work / "report/predictions.safetensors").exists():
        shutil.copy(work / "report/predictions.safetensors", work / "p.safetensors")


def without_checksums(content):
    """Renames the checksums of a tensor file, so that damage to tensors reaches their reader."""
    return content.replace(b'"crc32c.', b'"xxc32c.')


EXTREME = [b"\x00" * 8, b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"\x00" * 6 + b"\xf0\x7f", b"\x00" * 6 + b"\xf8\x7f",
           b"\x00\x00\x00\x00\x01\x00\x00\x00", b"\xa0\xc8\xeb\x85\xf3\xcc\xe1\x7f"]
WORDS = [b"nan", b"-inf", b"1e308", b"-1", b"0", b"99999999999999999999", b"9223372036854775807", b"\x1b[31m", b"'",
         b'"', b"\x00", b"\xff\xfe", b"\n", b"\t", b",", b"=", b"[[[[", b"{}", b"a" * 5000]


def damage(content, rng):
    """Returns `content` after one to three random edits."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 3])):
        if not content:
            return bytes(content)
        # The first bytes, where headers are, are hit half of the time.
        end = len(content) if rng.random() < 0.5 else min(len(content), 2000)
        at = rng.randrange(end)
        kind = rng.randrange(9)
        if kind == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[at] = rng.randrange(256)
        elif kind == 2:
            del content[at:]
        elif kind == 3:
            del content[at:at + rng.randrange(1, 200)]
        elif kind == 4:
            content[at:at] = rng.choice(WORDS)
        elif kind == 5:
            at -= at % 8
            content[at:at + 8] = rng.choice(EXTREME)
        elif kind == 6:
            content[at:at] = content[at:at + rng.randrange(1, 200)]
        elif kind == 7:
            digits = [i for i in range(min(len(content), 4000)) if 48 <= content[i] <= 57]
            if digits:
                content[rng.choice(digits)] = rng.randrange(48, 58)
        else:
            lines = bytes(content).split(b"\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            content = bytearray(b"\n".join(lines))
    return bytes(content)


def limit_resources():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if "Sanitizer" not in os.environ.get("MUTATE_BUILD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def verdict(process):
    """Returns what is wrong with the end of a run, or ''."""
    error = process.stderr
    if process.returncode not in (0, 1, 2):
        return f"exit status {process.returncode}"
    for text in TROUBLE:
        if text.encode() in error:
            return f"standard error holds '{text}'"
    if any(byte < 32 and byte != 10 for byte in error):
        return "standard error holds control characters"
    lines = error.rstrip(b"\n").split(b"\n")
    if max(len(line) for line in lines) > LONGEST_LINE:
        return "a line of standard error is too long"
    if process.returncode == 1 and b": " not in lines[-1]:
        return "the last line of standard error names nothing"
    return ""


def run_once(command, tool, whole, scratch, rng):
    """Damages one input of the command in a fresh copy of the inputs, or none without `rng`.

    Returns (process, what is wrong, damaged file).
    """
    _, _, arguments, inputs = command
    name = rng.choice(inputs) if rng else inputs[0]
    for path in list(scratch.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(whole, scratch, dirs_exist_ok=True)
    if rng:
        content = (scratch / name).read_bytes()
        if name.endswith(".safetensors") and rng.random() < 0.8:
            content = without_checksums(content)
        (scratch / name).write_bytes(damage(content, rng))
    try:
        process = subprocess.run([tool, *arguments.split()], cwd=scratch, capture_output=True, stdin=subprocess.DEVNULL,
                                 timeout=SECONDS, preexec_fn=limit_resources, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no end after {SECONDS} s", scratch / name
    return process, verdict(process), scratch / name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of the tools, or bazel-bin")
    parser.add_argument("--runs", type=int, default=20, help="runs of each command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for inputs that failed")
    parser.add_argument("--only", default="", help="commands whose name holds this text")
    options = parser.parse_args()
    tools = {tool: binary(options.bin.resolve(), tool) for tool in {command[1] for command in COMMANDS}}
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        whole, scratch = pathlib.Path(temporary, "whole"), pathlib.Path(temporary, "scratch")
        whole.mkdir()
        scratch.mkdir()
        make_inputs(tools, whole)
        print("command\truns\tstatus_0\tstatus_1\tstatus_2\tfailures")
        for command in COMMANDS:
            name, tool = command[0], tools[command[1]]
            if options.only not in name or tool is None or not all((whole / path).exists() for path in command[3]):
                continue
            process, _, _ = run_once(command, tool, whole, scratch, None)
            if process is None or process.returncode != 0:
                print(f"{name}: refused without damage: {process.stderr.decode() if process else ''}", file=sys.stderr)
                failures += 1
                continue
            counts = {0: 0, 1: 0, 2: 0}
            failed = 0
            for run in range(options.runs):
                rng = random.Random(f"{options.seed} {name} {run}")
                process, wrong, path = run_once(command, tool, whole, scratch, rng)
                if not wrong:
                    counts[process.returncode] += 1
                    continue
                failed += 1
                said = process.stderr[-300:].decode(errors="replace") if process else ""
                print(f"{name}: run {run} of seed {options.seed}, {path.name}: {wrong}: {said!r}", file=sys.stderr)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, options.keep / f"{name}-{options.seed}-{run}-{path.name}")
            failures += failed
            print(name, options.runs, counts[0], counts[1], counts[2], failed, sep="\t", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
