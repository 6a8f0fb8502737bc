#!/usr/bin/env python3
"""Interrupts the tools at many moments of their work and checks how they end.

  interrupt_stages.py --bin=DIRECTORY [--times=N] [--signal=INT] [--only=NAME] [--start=NAME] [--atoms=FILE]
                      [--graph=DIRECTORY]

Each command of COMMANDS first runs to its end, which says how long it takes. Then it starts N times more, in a process
group of its own, and the group gets the signal at N moments spread over that time. A run passes if

- it ends with status 128 + signal, or with 0 if it was done anyway;
- it computes for less than SECONDS more, in processor time of all its threads;
- standard error names the signal in its last lines, once, and holds no stack trace; a run of train that can go on
  names --resume;
- no output file is there, nor a part of one, but for the folder of a run, which --resume continues.

The table on standard output has a row for each command; what is wrong goes to standard error. The exit status is 1 if
any run failed. atoms: extended XYZ, large enough that reading it takes seconds. graph: a folder with train.txt,
valid.txt and test.txt. docs/reliability.md has figures.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 2.0
LONGEST = 40.0  # seconds on the clock after which a command counts as one without end, and is interrupted within
PATIENCE = 200.0  # on the clock of a busy machine, until a run that does not end is killed
TROUBLE = ("Check failed", "    @ ", "terminate called", "internal error")

FEATURES = "--species=Ti,O --rad_cutoff=6 --ang_cutoff=4,3"
RUN = "--plot=false --threads=1 --overwrite --output_dir=out"
BODY = "--potential=many-body --species=Ti,O"
CHEBYSHEV = "--potential=chebyshev --species=Ti,O"
TRACIN = "tracin --threads=1 --train=small.extxyz --output=out.safetensors --test=few.extxyz"

# Name and command of each stage. `out` is what it makes.
COMMANDS = [
    ("featurize", f"featurize {FEATURES} --threads=1 --output=out.safetensors atoms.extxyz"),
    ("featurize-check", f"featurize {FEATURES} --threads=1 --check_data atoms.extxyz"),
    ("featurize-graph", "featurize --output=out.safetensors --train=train.txt --valid=valid.txt --test=test.txt"),
    ("neighbors", "cache-neighbors --cutoff=7 --threads=1 --output=out.safetensors atoms.extxyz"),
    ("known", "cache-neighbors --output=out.safetensors t.safetensors"),
    ("train-forces", f"train {BODY} {RUN} --max_epochs=2 small.extxyz"),
    ("train-chebyshev", f"train {CHEBYSHEV} {RUN} --max_epochs=2 --force_weight=0.1 small.extxyz"),
    ("train-energies", f"train {RUN} --force_weight=0 --max_epochs=3 f.safetensors"),
    ("train-autotune", f"train {RUN} --compile_preset=max-autotune --force_weight=0 --max_epochs=2 f.safetensors"),
    ("train-lbfgs", f"train {RUN} --optimizer=lbfgs --force_weight=0 --max_epochs=3 f.safetensors"),
    ("train-graph", f"train {RUN} --max_epochs=1 --embedding_dim=64 t.safetensors"),
    ("train-conve", f"train {RUN} --kge_model=conve --max_epochs=1 t.safetensors"),
    ("train-committee", f"train {RUN} --committee=3 --force_weight=0 --max_epochs=2 f.safetensors"),
    ("train-processes", f"train {RUN} --num_processes=2 --force_weight=0 --max_epochs=3 f.safetensors"),
    ("train-save", f"train {RUN} --save_energies --save_forces --max_epochs=1 --force_weight=0 {CHEBYSHEV} "
                   "small.extxyz"),
    ("evaluate", "evaluate --threads=1 --output_dir=out body/best.safetensors small.extxyz"),
    ("evaluate-check", "evaluate --check --threads=1 body/best.safetensors small.extxyz"),
    ("evaluate-xyz", "evaluate --threads=1 --output_xyz=out.extxyz body/best.safetensors small.extxyz"),
    ("evaluate-select", "evaluate --threads=1 --select=300 --select_by=farthest --select_output=out.extxyz "
                        "chebyshev/best.safetensors small.extxyz"),
    ("evaluate-graph", "evaluate --threads=1 --output_dir=out kge/best.safetensors t.safetensors"),
    ("evaluate-export", "evaluate --export_embeddings=out.tsv kge/best.safetensors"),
    ("tracin", f"{TRACIN} chebyshev/checkpoints/last.safetensors"),
    ("tracin-body", f"{TRACIN} body/checkpoints/last.safetensors"),
    ("tracin-curvature", f"{TRACIN} --mode=curvature chebyshev/checkpoints/last.safetensors"),
    ("tracin-left-out", f"{TRACIN} --mode=leave-one-out chebyshev/checkpoints/last.safetensors".replace(
        "--test=few.extxyz", "")),
    ("tracin-unrolled", f"{TRACIN} --unrolled chebyshev/checkpoints/last.safetensors"),
    ("tracin-graph", "tracin --threads=1 --train=t.safetensors --test=t.safetensors --output=out.safetensors "
                     "kge/checkpoints/last.safetensors"),
    ("tracin-judge", "tracin --judge=out --plan_subsets=3 --threads=1 --train=f.safetensors --test=few.extxyz energies "
                     "scores.safetensors"),
    ("profile", f"profile --output_dir=out -- train {RUN.replace('=out', '=run')} {BODY} --max_epochs=2 small.extxyz"),
    ("profile-machine", "profile --machine"),
    ("profile-find-lr", f"profile --find_lr -- train {RUN.replace('=out', '=run')} {CHEBYSHEV} small.extxyz"),
    ("profile-find-batch", f"profile --find_batch_size -- train {RUN.replace('=out', '=run')} f.safetensors"),
    ("profile-tune", f"profile --tune -- train {RUN.replace('=out', '=run')} f.safetensors"),
]


def binaries(directory):
    """Returns {tool: program} of DIRECTORY/TOOL or of Bazel's folders."""
    tools = {}
    for tool in ("featurize", "cache-neighbors", "train", "evaluate", "tracin", "profile"):
        for path in (directory / tool, directory / "tools" / tool / tool):
            if path.is_file():
                tools.setdefault(tool, path.resolve())
    return tools


def environment(tools, work):
    """Returns an environment in which the tools find each other, and cores are not dumped."""
    links = work / "bin"
    links.mkdir()
    for tool, path in tools.items():
        for sibling in path.parent.glob(f"{tool}*"):
            if sibling.is_file() and os.access(sibling, os.X_OK) and sibling.suffix == "":
                shutil.copy(sibling, links / sibling.name)
    return dict(os.environ, PATH=f"{links}:{os.environ['PATH']}")


def frames(path, count):
    """Yields the text of the first frames of an extended XYZ file."""
    with open(path) as file:
        for _ in range(count):
            line = file.readline()
            if not line:
                return
            yield line + "".join(file.readline() for _ in range(int(line) + 1))


def make_inputs(tools, work, atoms, graph, env):
    """Makes the inputs of all commands in `work`."""
    structures = list(frames(atoms, 1000))
    (work / "small.extxyz").write_text("".join(structures[:1000]))
    (work / "few.extxyz").write_text("".join(structures[:5]))
    with open(work / "atoms.extxyz", "w") as file:
        for _ in range(8):
            file.write("".join(structures))
    for split in ("train", "valid", "test"):
        shutil.copy(graph / f"{split}.txt", work)
    for command in (
            f"featurize {FEATURES} --output=f.safetensors small.extxyz",
            "featurize --output=t.safetensors --train=train.txt --valid=valid.txt --test=test.txt",
            f"train {BODY} --plot=false --max_epochs=1 --channels=4 --output_dir=body small.extxyz",
            f"train {CHEBYSHEV} --plot=false --force_weight=0.1 --max_epochs=1 --output_dir=chebyshev small.extxyz",
            "train --plot=false --force_weight=0 --max_epochs=3 --output_dir=energies f.safetensors",
            "tracin --train=f.safetensors --test=few.extxyz --output=scores.safetensors "
            "energies/checkpoints/last.safetensors",
            "train --plot=false --max_epochs=1 --embedding_dim=8 --output_dir=kge t.safetensors"):
        tool, *arguments = command.split()
        done = subprocess.run([tools[tool], *arguments], cwd=work, env=env, capture_output=True, check=False)
        if done.returncode != 0:
            print(f"inputs: {command}: {done.stderr.decode()[-500:]}", file=sys.stderr)


def processor_time(group):
    """Returns the processor seconds of the living processes of a group."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            total += sum(int(fields[k]) for k in (11, 12, 13, 14)) / ticks
    return total


def wait(process, seconds):
    """Waits for the end and returns the processor seconds of the process and its children, or None after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status, used = os.wait4(process.pid, os.WNOHANG)
        if done:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_utime + used.ru_stime
        time.sleep(0.01)
    return None


def run(words, work, env, delay, number):
    """Runs a command in `work` and signals it after `delay` seconds, or at LONGEST without `delay`.

    Returns (status, standard error, seconds until the signal, seconds of computing after it, seconds on the clock).
    """
    with open(work / "stderr", "wb") as error:
        process = subprocess.Popen(words, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=error, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        begin = time.monotonic()
        used = wait(process, LONGEST if delay is None else delay)
        reached, before, after = time.monotonic() - begin, 0.0, 0.0
        if used is None:
            before = processor_time(process.pid)
            os.killpg(process.pid, number)
            sent = time.monotonic()
            used = wait(process, PATIENCE)
            after = time.monotonic() - sent
            if used is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                used = float("inf")
    return process.returncode, (work / "stderr").read_text(errors="replace"), reached, max(0.0, used - before), after


def verdict(words, status, error, computed, left, number):
    """Returns what is wrong with the end of an interrupted run, or ''."""
    if status == 0:
        return ""
    if status != 128 + number:
        return f"status {status}"
    if any(text in error for text in TROUBLE):
        return "a stack trace"
    said = re.findall(rf"signal {int(number)}\b", error)
    if len(said) != 1:
        return f"the signal is named {len(said)} times"
    if computed > SECONDS:
        return f"{computed:.1f} s of computing after the signal"
    is_judge = "--judge=out" in words  # the same command goes on
    is_train = words[0].endswith("train") or is_judge
    unnamed = [name for name in left if name not in error and not (is_train and name.startswith("out/"))]
    if unnamed:
        return f"left {' '.join(sorted(unnamed))}"
    if ("the checkpoint is" in error or left and not is_train) and "--resume" not in error and not is_judge:
        return "does not name --resume"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of the tools, or bazel-bin")
    parser.add_argument("--times", type=int, default=5, help="interruptions of each command")
    parser.add_argument("--signal", default="INT", help="INT, TERM or USR1")
    parser.add_argument("--only", default="", help="commands whose name holds this text")
    parser.add_argument("--start", default="", help="the command to begin with")
    parser.add_argument("--atoms", type=pathlib.Path, default=ROOT / "data/tio2-pbe/tio2-pbe.extxyz")
    parser.add_argument("--graph", type=pathlib.Path, default=ROOT / "testdata/kg/family")
    options = parser.parse_args()
    number = signal.Signals[f"SIG{options.signal}"]
    tools = binaries(options.bin.resolve())
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        env = environment(tools, work)
        make_inputs(tools, work, options.atoms, options.graph, env)
        inputs = {path.name for path in work.iterdir()} | {"stderr"}

        def clean():
            left = {path for path in work.iterdir() if path.name not in inputs}
            files = {str(file.relative_to(work)) for path in left for file in [path, *path.rglob("*")]
                     if file.is_file() and path.name != "run"}
            for path in left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return files

        started = not options.start
        print("command\tseconds\tinterrupted\tended before\tmost seconds of computing\ton the clock\tfailures")
        for name, command in COMMANDS:
            started = started or name == options.start
            if options.only not in name or not started:
                continue
            tool, *arguments = command.split()
            words = [str(work / "bin" / tool), *arguments]
            # A tool that is killed cannot end the programs that it has started.
            status, error, whole, _, _ = run(words, work, env, None, signal.SIGTERM)
            clean()
            if status not in (0, 128 + signal.SIGTERM):
                print(f"{name}: status {status}: {error[-400:]}", file=sys.stderr)
                failures += 1
                continue
            interrupted = done = failed = 0
            most = longest = 0.0
            for k in range(options.times):
                delay = whole * (k + 0.5) / options.times
                status, error, reached, computed, clock = run(words, work, env, delay, number)
                left = clean()
                wrong = verdict(words, status, error, computed, left, number)
                if status == 0:
                    done += 1
                else:
                    interrupted += 1
                    most, longest = max(most, computed), max(longest, clock)
                if wrong:
                    failed += 1
                    print(f"{name}: after {reached:.2f} of {whole:.2f} s: {wrong}: {error[-300:]!r}", file=sys.stderr)
            failures += failed
            figures = [f"{whole:.1f}", interrupted, done, f"{most:.2f}", f"{longest:.2f}", failed]
            print(name, *figures, sep="\t", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
