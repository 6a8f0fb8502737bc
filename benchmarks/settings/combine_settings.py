#!/usr/bin/env python3
"""Draws pairs and triples of train's settings and checks what must hold whatever is drawn.

  combine_settings.py --bin=DIRECTORY [--draws=N] [--seed=S] [--first=N] [--only=NAME,...] [--time_limit=SECONDS]
                      [--keep=DIRECTORY]

  --bin         bazel-bin, or any directory with tools/train/train and so on
  --draws       how many draws (default 36); a night's run: --draws=20000 --time_limit=28800
  --seed        of all draws (default 1). A draw depends on the seed and its number alone
  --first       number of the first draw (default 0)
  --only        only these properties; an unknown name is an error
  --time_limit  begin nothing later than this (default: none)
  --keep        where the folders of draws that fail are kept (default: a new one of the system's)

The settings are those of `train --help=all`; drawn_settings.py has their values and says which are not drawn. The
properties are the classes of setting_properties.py, structure_properties.py and graph_properties.py. A draw holds, is
refused (status 1, with a reason), or fails. What is known to fail, and being mended, is in KNOWN below: each entry is
run once at the end, counted as known while it fails, and reported when it holds. Failures come with the commands that
repeat them, which run in the folder that is kept. The exit status is 1 if anything failed, 2 for wrong arguments.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

import drawn_settings
import graph_properties
import setting_properties
import setting_runs as runs
import structure_properties

ROOT = pathlib.Path(os.path.abspath(__file__)).parent.parent.parent
TOOLS = ("train", "featurize", "cache-neighbors", "evaluate", "tracin")
PROPERTIES = setting_properties.ALL + structure_properties.ALL + graph_properties.ALL

# (property, domain, flags that show it, settings whose draws fail for this reason, the reason). Take an entry out when
# the output says that it holds.
KNOWN = []


class Draw:
    """One draw: a property, a domain and the flags that were drawn."""

    def __init__(self, number, seed, settings, chosen, domain, data, texts=None):
        self.random = random.Random("%s/%s" % (seed, number))
        self.number, self.property, self.domain, self.data = number, chosen, domain, data
        self.base = {name: flag for name, flag in {**data.base(domain), **chosen.base}.items() if flag}
        if texts is None:
            self.names, self.flags = drawn_settings.draw(self.random, settings, domain, chosen.allowed, self.base)
        else:
            self.flags = drawn_settings.with_settings(self.base, texts)
            self.names = [name for text in texts for name in drawn_settings.parse(text)]
        self.inputs = data.inputs(domain)

    def predictions(self, work, model, output):
        return self.data.predictions(self.domain, work, model, output)

    def title(self):
        """The property and what was drawn for it."""
        flags = [flag for name, flag in self.flags.items() if self.base.get(name) != flag]
        return "%s (%s) %s" % (self.property.name, "potential" if self.domain == "p" else "graph", " ".join(flags))


class Data:
    """The tiny data sets: 30 structures and a family's graph."""

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.frames = runs.read_frames(ROOT / "data" / "tio2-pbe" / "tio2-pbe.extxyz", 30)
        graph = ROOT / "testdata" / "kg" / "family"
        self.triples = {split: (graph / (split + ".txt")).read_text().strip().split("\n")
                        for split in ("train", "valid", "test")}
        self.triples["train"] = self.triples["train"][::4]
        known = {name for line in self.triples["train"] for name in line.split("\t")}
        for split in ("valid", "test"):
            self.triples[split] = [line for line in self.triples[split] if set(line.split("\t")) <= known][:40]
        per_atom = sorted(frame.values["energy"] / len(frame.atoms) for frame in self.frames)
        largest = sorted(max(abs(x) for atom in frame.atoms for x in atom[2]) for frame in self.frames)
        self.fill = {"ENERGY_LIMIT": "%.4f" % per_atom[22], "FORCE_LIMIT": "%.4f" % (largest[22] + 1e-3)}
        self.flags = {}
        self.prepare()

    def flags_of(self, tool):
        """The names of a tool's flags."""
        if tool not in self.flags:
            groups = drawn_settings.reference.read_help(self.tools[tool])[0]
            self.flags[tool] = {flag[0] for _, flags in groups for flag in flags}
        return self.flags[tool]

    def prepare(self):
        """Models for --init_from."""
        work = self.work("prepared", "p")
        work.train({**self.base("p"), "seed": "--seed=3"}, self.inputs("p"), "p")
        work = self.work("prepared", "g")
        work.train({**self.base("g"), "seed": "--seed=3"}, self.inputs("g"), "g")

    def base(self, domain):
        """Flags of the base command by name."""
        # Defaults that the properties compute with are given, so that others are not mistaken for errors.
        text = "--noplot --max_epochs=4 --precision=fp64 --threads=1 --lr_scheduler=constant --learning_rate=0.003 "
        text += {"p": "--species=Ti,O --rad_cutoff=3 --ang_cutoff=2.6 --rad_order=3 --ang_order=2 --hidden=5 "
                      "--activation=tanh --loss=rmse --force_weight=0 --batch_size=8 "
                      "--validation_key=config_type:valid",
                 "g": "--kge_model=complex --embedding_dim=8 --input_dropout=0 --kge_loss=KvsAll "
                      "--batch_size=64"}[domain]
        return drawn_settings.parse(text)

    def inputs(self, domain):
        return [{"p": "all.extxyz", "g": "graph.safetensors"}[domain]]

    def work(self, name, domain):
        model = {"p": "../prepared/p/last.safetensors", "g": "../prepared/g/last.safetensors"}[domain]
        work = runs.Work(self.tools, self.folder / name, {**self.fill, "MODEL": model})
        if domain == "p":
            work.path("all.extxyz").write_text("".join(frame.text() for frame in self.frames))
            work.path("validation-list.txt").write_text("1\n8\n12\n20\n")
            work.path("test-list.txt").write_text("0\n2\n")
        else:
            for split, lines in self.triples.items():
                work.path(split + ".txt").write_text("\n".join(lines) + "\n")
            work.run("featurize", ["--vocabulary_order=name", "--output=graph.safetensors"]
                     + [split + ".txt" for split in self.triples])
        return work

    def predictions(self, domain, work, model, output):
        if domain == "p":
            return {name: numbers for name, numbers in work.evaluate(model, "all.extxyz", output).items()
                    if name.startswith("predicted")}
        return {name: numbers for name, numbers in runs.tensors(work.path(model)).items() if not name.endswith("names")}


def attempt(draw, data):
    """('held' | 'refused' | 'failed', message, work)."""
    work = None
    try:
        work = data.work("draw-%s" % draw.number, draw.domain)
        draw.property.check(work, draw)
        return "held", "", work
    except runs.Refused as refusal:
        return "refused", str(refusal), work
    except runs.Failed as failure:
        return "failed", str(failure), work
    except (OSError, KeyError, ValueError, IndexError) as error:
        return "failed", "what a tool wrote cannot be read: %s: %s" % (type(error).__name__, error), work


def known_reason(draw):
    for name, domain, _, settings, reason in KNOWN:
        if draw.property.name == name and draw.domain == domain and settings & set(draw.flags) - set(
                n for n in draw.base if draw.base[n] == draw.flags.get(n)):
            return reason
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--draws", type=int, default=36)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--time_limit", type=float, default=float("inf"))
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    names = {kind().name: kind() for kind in PROPERTIES}
    only = [name for name in options.only.split(",") if name]
    for name in only:
        if name not in names:
            parser.error("--only=%s is no property; there are %s" % (name, ", ".join(names)))
    tools = {tool: os.path.abspath(os.path.join(options.bin, "tools", tool, tool)) for tool in TOOLS}
    for path in tools.values():
        if not os.access(path, os.X_OK):
            parser.error("%s is no program: build //tools/..." % path)
    try:
        settings = drawn_settings.read_settings(tools["train"])
    except ValueError as error:
        print("combine_settings.py: %s" % error, file=sys.stderr)
        return 1
    # By turns: each property on each kind of data.
    turns = [(names[name], domain) for name in (only or names) for domain in names[name].domains]
    keep = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="combine-settings-")).resolve()
    keep.mkdir(parents=True, exist_ok=True)
    data, start = Data(tools, keep), time.monotonic()
    counts, refusals, failures = collections.defaultdict(collections.Counter), collections.Counter(), 0

    def report(draw):
        nonlocal failures
        outcome, message, work = attempt(draw, data)
        reason = known_reason(draw)
        if outcome == "failed" and reason:
            outcome = "known"
        if outcome == "refused":
            refusals[message[:110]] += 1
        if outcome == "failed":
            failures += 1
            print("FAILED draw %s: %s: %s" % (draw.number, draw.title(), message))
            for command in work.commands if work else ():
                print("    " + command)
            print("    # in %s; again: --seed=%d --first=%s --draws=1%s" % (
                work.folder if work else "-", options.seed, draw.number, " --only=" + ",".join(only) if only else ""))
        elif work:
            shutil.rmtree(work.folder, ignore_errors=True)
        counts[draw.property.name][outcome] += 1
        return outcome

    def late():
        return time.monotonic() - start > options.time_limit

    done = 0
    for number in range(options.first, options.first + options.draws):
        if late():
            print("stopped by --time_limit=%g before draw %d" % (options.time_limit, number))
            break
        chosen, domain = turns[number % len(turns)]
        report(Draw(number, options.seed, settings, chosen, domain, data))
        done += 1
    for entry, (name, domain, text, _, reason) in enumerate(KNOWN):
        if name not in (only or names) or late():
            continue
        outcome = report(Draw("known-%d" % entry, options.seed, settings, names[name], domain, data, text.split("  ")))
        print("known: %s (%s) %s: %s" % (name, domain, text, reason) if outcome == "known" else
              "KNOWN %s (%s) %s is %s now: take it out of KNOWN" % (name, domain, text, outcome))
    print("property\tdrawn\theld\trefused\tknown\tfailed")
    total = collections.Counter()
    for name in names:
        if name in counts:
            total += counts[name]
            print("\t".join([name, str(sum(counts[name].values()))] + [
                str(counts[name][outcome]) for outcome in ("held", "refused", "known", "failed")]))
    print("\t".join(["all", str(sum(total.values()))] + [
        str(total[outcome]) for outcome in ("held", "refused", "known", "failed")]))
    for message, count in refusals.most_common():
        print("refused %d: %s" % (count, message))
    print("%d draws with seed %d in %.0f s" % (done, options.seed, time.monotonic() - start))
    if not failures and not options.keep:
        shutil.rmtree(keep, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
