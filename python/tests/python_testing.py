"""What the tests of the package share: structures, models in fp64, and what evaluate says of them."""

import json
import os
import struct
import subprocess
import sys

from rutile import read_tensors

MODEL = "testdata/md/tio2.safetensors"
VECTORS = "testdata/md/tio2-vectors.safetensors"  # two layers, with messages that are vectors
DATA = "data/tio2-pbe/tio2-pbe.extxyz"
EVALUATE = sys.argv[1] if len(sys.argv) > 1 else ""
TEMPORARY = os.environ["TEST_TMPDIR"]


def read_frames(count):
    """The first structures of the data: (symbols, positions, cell) each."""
    frames = []
    with open(DATA, encoding="utf-8") as file:
        while len(frames) < count:
            n = int(next(file))
            comment = next(file)
            cell = [float(x) for x in comment.split('Lattice="')[1].split('"')[0].split()]
            rows = [next(file).split() for _ in range(n)]
            frames.append(([row[0] for row in rows], [[float(x) for x in row[1:4]] for row in rows],
                           [cell[0:3], cell[3:6], cell[6:9]]))
    return frames


def write_fp64(path, factor=1.0, model=MODEL, repulsion=None):
    """Writes a model with networks in fp64, whose parameters are multiplied by a factor, and returns the path. repulsion:
    the inner and outer radius in Angstrom of train --zbl."""
    with open(model, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        data = file.read()
    content = b""
    for name, entry in sorted(header.items()):
        if name == "__metadata__":
            header[name] = {key: text for key, text in entry.items() if not key.startswith("crc32c.")}
            continue
        begin, end = entry["data_offsets"]
        values = data[begin:end]
        if name.startswith(("network.", "moments.", "message.", "second.")):  # its parameters
            assert entry["dtype"] == "F32", "the model is expected to be of fp32"
            numbers = struct.unpack("<%df" % (len(values) // 4), values)
            values = struct.pack("<%dd" % len(numbers), *[factor * x for x in numbers])
            entry["dtype"] = "F64"
        entry["data_offsets"] = [len(content), len(content) + len(values)]
        content += values
    for name, radius in zip(("repulsion_inner", "repulsion_outer"), repulsion or ()):
        header["__metadata__"]["kind"] = "potential/2"
        header[name] = {"dtype": "F64", "shape": [2, 2], "data_offsets": [len(content), len(content) + 32]}
        content += struct.pack("<4d", *[radius] * 4)
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)
    return path


def evaluate(models, frames):
    """What evaluate predicts for the first structures of the data, as tensors."""
    directory = os.path.join(TEMPORARY, "report-%d-%d" % (len(models), frames))
    numbers = os.path.join(TEMPORARY, "frames.txt")
    with open(numbers, "w", encoding="utf-8") as file:
        file.write("".join("%d\n" % k for k in range(frames)))
    subprocess.run([EVALUATE, "--frames=" + numbers, "--output_dir=" + directory,
                    ",".join(models), DATA], check=True, stdout=subprocess.DEVNULL)  # yapf: disable
    return read_tensors(os.path.join(directory, "predictions.safetensors"))[0]
