#!/usr/bin/env python3
"""What aenet would compute from its binary files, written apart from rutile's reader, for evaluate_aenet_test.sh.

    read_aenet.py energies FEATURES NETWORK...   total energies (eV), one a line, of features in double precision
    read_aenet.py compare A B LIMIT              fails unless two files of predictions differ by at most LIMIT
"""

import json
import math
import struct
import sys


def tensors(path):
    """Returns {name: (shape, flat values)} of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    codes = {"F64": "d", "F32": "f", "I64": "q", "U8": "B", "I32": "i", "BOOL": "?"}
    found = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in codes:
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        code = codes[entry["dtype"]]
        found[name] = entry["shape"], struct.unpack("<%d%s" % ((end - begin) // struct.calcsize(code), code),
                                                    data[begin:end])
    return found


class Network:
    """Reads records in aenet's order: load_Network, load_Setup, load_TrnSet_info."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.file = file
            (layers,), _, _, (self.num_values,) = (self.record("i") for _ in range(4))
            self.nodes, self.functions, self.iw, self.iv = (self.record("i") for _ in range(4))
            self.weights = self.record("d")
            assert len(self.nodes) == layers and len(self.functions) == layers - 1
            self.text(1024)
            self.atom = self.text(2)
            environment, = self.record("i")
            self.text(2 * environment)
            self.record("d"), self.record("d")
            assert self.text(100) == "Chebyshev"
            features, = self.record("i")
            for code in "iidii":
                self.record(code)
            _, _, self.mean, self.square = (self.record("d") for _ in range(4))
            assert features == len(self.mean) == len(self.square) == self.nodes[0]
            self.text(1024)
            self.record("i")
            (self.scale,), (self.shift,), (types,) = self.record("d"), self.record("d"), self.record("i")
            names = self.text(2 * types).ljust(2 * types)
            energies = self.record("d")
            own = [names[k:k + 2].strip() for k in range(0, 2 * types, 2)].index(self.atom)
            self.atomic_energy = energies[own]
            self.record("i"), self.record("i")
            assert len(self.record("d")) == 3
            assert not file.read()

    def bytes(self):
        length, = struct.unpack("<i", self.file.read(4))
        content = self.file.read(length)
        assert struct.unpack("<i", self.file.read(4)) == (length,)
        return content

    def record(self, code):
        content = self.bytes()
        return struct.unpack("<%d%s" % (len(content) // struct.calcsize("<" + code), code), content)

    def text(self, length):
        content = self.bytes()
        assert len(content) == length, (len(content), length)
        return content.decode().strip()

    def energy(self, features):
        """As ff_eval: the values of a layer, then 1 for the bias."""
        values = [(g - m) / math.sqrt(s - m * m) for g, m, s in zip(features, self.mean, self.square)]
        for layer, function in enumerate(self.functions):
            values.append(1.0)
            outputs, at = self.nodes[layer + 1], self.iw[layer]
            sums = [sum(self.weights[at + i * outputs + o] * v for i, v in enumerate(values)) for o in range(outputs)]
            values = [[x, math.tanh(x)][function] for x in sums]
        return values[0] / self.scale + self.shift + self.atomic_energy


def energies(path, networks):
    found = tensors(path)
    (_, width), features = found["feature"]
    _, species = found["species"]
    _, offsets = found["atom_offset"]
    for begin, end in zip(offsets[:30], offsets[1:31]):
        print("%.10f" % sum(networks[species[i]].energy(features[i * width:(i + 1) * width])
                            for i in range(begin, end)))


def compare(a, b, limit):
    a, b = tensors(a), tensors(b)
    assert a.keys() == b.keys()
    for name in a:
        for x, y in zip(a[name][1], b[name][1]):
            if abs(x - y) > limit * max(1, abs(x)):
                sys.exit("%s: %r is not %r" % (name, y, x))


if sys.argv[1] == "energies":
    energies(sys.argv[2], [Network(path) for path in sys.argv[3:]])
else:
    compare(sys.argv[2], sys.argv[3], float(sys.argv[4]))
