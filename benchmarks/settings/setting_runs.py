"""What the properties of combine_settings.py share: the tiny data sets, running the tools, and reading what they write.

Plain Python, so that nothing but the programs under test computes: no numbers come from a library that they use, too.
"""

import array
import gzip
import json
import math
import os
import pathlib
import struct
import subprocess

SECONDS = 600  # for a command that takes one; more means that it waits for ever, however busy the machine is
TROUBLE = ("Sanitizer", "Check failed", "*** Check failure", "    @ ", "terminate called", "internal error")
CODES = {"F64": "d", "F32": "f", "I64": "q", "U64": "Q", "U8": "B", "I32": "i", "U32": "I", "BF16": "H", "BOOL": "B"}


class Refused(Exception):
    """A tool refused the settings and said why."""


class Failed(Exception):
    """What must hold does not."""


class Work:
    """The folder of a draw, and the commands that ran in it."""

    def __init__(self, tools, folder, fill):
        self.tools, self.folder, self.commands = tools, pathlib.Path(folder), []
        self.folder.mkdir(parents=True, exist_ok=True)
        self.fill = fill  # {NAME: text} for {NAME} in values of settings

    def path(self, name):
        return self.folder / name

    def run(self, tool, arguments, data=None, statuses=(0,)):
        """Standard output of a tool. `data` is a file for its standard input. Raises Refused where its status is 1."""
        words = [tool]
        for word in arguments:
            for name, value in self.fill.items():
                word = word.replace("{%s}" % name, value)
            words.append(word)
        self.commands.append(" ".join("'%s'" % w if set(w) & set(" *?;|&<>{}") else w for w in words)
                             + (" < " + data if data else ""))
        environment = dict(os.environ, LC_ALL="C", OMP_NUM_THREADS="1")
        with open(self.path(data) if data else os.devnull, "rb") as stream:
            try:
                done = subprocess.run([self.tools[tool]] + words[1:], cwd=self.folder, stdin=stream, env=environment,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                raise Failed("%s takes more than %d s" % (tool, SECONDS)) from None
        errors = done.stderr.decode("utf-8", "replace")
        if any(word in errors for word in TROUBLE) or done.returncode not in (0, 1, 2):
            raise Failed("%s ends with status %d: %s" % (tool, done.returncode, errors.strip()[-300:]))
        if done.returncode in statuses:
            return done.stdout.decode("utf-8", "replace")
        last = (errors.strip().split("\n") or [""])[-1]
        if done.returncode == 2 or not last.startswith(tool) or len(last) < len(tool) + 20:
            raise Failed("%s ends with status %d and no reason: %s" % (tool, done.returncode, last))
        raise Refused(last)

    def train(self, flags, inputs, output, data=None):
        """Trains with `flags`, a dictionary by name. A refusal must leave no model."""
        arguments = [flag for flag in flags.values() if flag] + ["--output_dir=" + output] + list(inputs)
        try:
            self.run("train", arguments, data)
        except Refused:
            if not any(word.startswith("--resume") for word in arguments) and self.path(output + "/finished").exists():
                raise Failed("train refuses and leaves %s/finished" % output) from None
            raise

    def evaluate(self, model, data, output, *flags):
        """Predictions of a model: the tensors of predictions.safetensors."""
        self.run("evaluate", ["--output_dir=" + output, *flags, model, *([data] if isinstance(data, str) else data)])
        return tensors(self.path(output + "/predictions.safetensors"))

    def zip(self, name):
        with open(self.path(name), "rb") as plain, open(self.path(name + ".gz"), "wb") as out:
            out.write(gzip.compress(plain.read(), mtime=0))
        self.commands.append("gzip -nk " + name)
        return name + ".gz"


def tensors(path):
    """{name: numbers} of a safetensors file."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    out = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        numbers = array.array(CODES[entry["dtype"]])
        numbers.frombytes(content[8 + size + begin:8 + size + end])
        out[name] = numbers
    return out


def same_bits(a, b, what, but=()):
    """Raises Failed unless both files have the same tensors."""
    left, right = tensors(a), tensors(b)
    if set(left) != set(right):
        raise Failed("%s: tensors differ: %s" % (what, ", ".join(sorted(set(left) ^ set(right)))[:200]))
    for name in left:
        if name not in but and left[name].tobytes() != right[name].tobytes():
            raise Failed("%s: %s differs (%s)" % (what, name, distance_text(left[name], right[name])))


def distance(a, b):
    """The largest difference of two lists, relative to their largest number."""
    if len(a) != len(b):
        return math.inf
    size = max((abs(x) for x in list(a) + list(b) if x == x), default=0)
    worst = 0
    for x, y in zip(a, b):
        if (x == x) != (y == y):
            return math.inf
        if x == x and x != y:
            worst = max(worst, abs(x - y))
    return worst / size if size else 0


def distance_text(a, b):
    return "%d and %d numbers" % (len(a), len(b)) if len(a) != len(b) else "%.2g of its size" % distance(a, b)


def close_files(a, b, bound, what, but=()):
    """Raises Failed unless the tensors of both files agree within `bound` of their largest number."""
    close(tensors(a), tensors(b), bound, what, but)


def close(left, right, bound, what, but=()):
    for name in left:
        if name in but:
            continue
        if name not in right or distance(left[name], right[name]) > bound:
            raise Failed("%s: %s differs by %s, more than %g" % (
                what, name, distance_text(left[name], right[name]) if name in right else "its absence", bound))


def close_numbers(a, b, bound, what):
    if not abs(a - b) <= bound * max(abs(a), abs(b)) and not (a != a and b != b):
        raise Failed("%s: %.12g and %.12g" % (what, a, b))


def table(text):
    """Rows of a table with titles as dictionaries; units in brackets are cut off the titles."""
    lines = [line.split("\t") for line in text.strip().split("\n")]
    titles = [title.split("[")[0] for title in lines[0]]
    return [dict(zip(titles, line)) for line in lines[1:]]


def log_rows(folder):
    """Rows of log.jsonl, else of log.tsv, as dictionaries of numbers (nan: not validated)."""
    lines = folder / "log.jsonl"
    if lines.exists():
        rows = [json.loads(line) for line in lines.read_text().strip().split("\n")]
        rows = [row for row in rows if "units" not in row]
        return [{name: math.nan if value is None else value for name, value in row.items()} for row in rows]
    return [{name: float(value) for name, value in row.items()} for row in table((folder / "log.tsv").read_text())]


class Frame:
    """A structure of the tiny set."""

    def __init__(self, cell, atoms, values):
        self.cell, self.atoms, self.values = cell, atoms, values  # atoms: (element, position, forces, other forces)

    def volume(self):
        a, b, c = self.cell[0:3], self.cell[3:6], self.cell[6:9]
        cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]
        return abs(sum(x * y for x, y in zip(a, cross)))

    def text(self, **changed):
        values = dict(self.values, **changed)
        out = ['%d\nLattice="%s" Properties=species:S:1:pos:R:3:forces:R:3:other_forces:R:3 pbc="T T T" %s' % (
            len(self.atoms), " ".join(map(repr, self.cell)), " ".join(
                '%s="%s"' % (key, " ".join(map(repr, value))) if isinstance(value, list) else "%s=%s" % (key, value)
                for key, value in values.items()))]
        out += ["%s %s" % (element, " ".join(map(repr, position + forces + other)))
                for element, position, forces, other in self.atoms]
        return "\n".join(out) + "\n"


def read_frames(path, count):
    """Some structures of the example data, with a second set of labels, weights and phases."""
    lines, frames, place = path.read_text().split("\n"), [], 0
    while place < len(lines) and lines[place]:
        atoms = int(lines[place])
        frames.append((lines[place + 1], lines[place + 2:place + 2 + atoms]))
        place += 2 + atoms
    out = []
    for number, (title, rows) in enumerate(frames[::len(frames) // count][:count]):
        quoted = title.split('"')
        cell, stress = [[float(x) for x in text.split()] for text in (quoted[1], quoted[3])]
        energy = float(title.split("energy=")[1].split()[0])
        atoms = []
        for row in rows:
            words = row.split()
            position, forces = [float(x) for x in words[1:4]], [float(x) for x in words[4:7]]
            atoms.append((words[0], position, forces, [round(-0.5 * x, 8) for x in forces]))
        group = title.split("config_type=")[1].split()[0]
        frame = Frame(cell, atoms, {
            "energy": energy, "stress": stress, "config_type": "valid" if number % 5 == 4 else group, "phase": group,
            "w": [1, 2, 0.5][number % 3], "other_energy": round(energy + 0.1 * (number % 7), 6),
            "other_stress": [round(0.5 * x, 8) for x in stress], "other_virial": [round(2 * x, 8) for x in stress]})
        out.append(frame)
    return out
