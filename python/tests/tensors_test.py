"""read_tensors against what evaluate and train write, and with files that are broken."""

import json
import os
import struct
import sys
import unittest

from python_testing import MODEL, TEMPORARY, evaluate
from rutile import read_tensors


def nested(values):
    """numpy's array as lists."""
    return values.tolist() if hasattr(values, "tolist") else values


def write(header, data=b""):
    path = os.path.join(TEMPORARY, "written.safetensors")
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path


class TensorsTest(unittest.TestCase):

    def test_reads_models_and_predictions(self):
        tensors, metadata = read_tensors(MODEL)
        self.assertEqual(metadata["kind"], "potential/1")
        self.assertEqual(len(nested(tensors["atomic_energy"])), 2)
        self.assertIsInstance(nested(tensors["energy_scale"]), float)
        self.assertEqual(len(nested(tensors["network.Ti.0.weight"])), 10)
        predictions = evaluate([MODEL], 2)
        self.assertEqual(nested(predictions["num_atoms"])[0], 6)
        self.assertEqual(len(nested(predictions["predicted_stress"])[1]), 3)

    def test_reads_every_type(self):
        samples = [("F64", "d", 0.1), ("F32", "f", 0.5), ("F16", "e", -2.0), ("I64", "q", -2**60), ("I32", "i", -7), ("I16", "h", -8),
                   ("I8", "b", -9), ("U64", "Q", 2**63), ("U32", "I", 2**31), ("U16", "H", 40000), ("U8", "B", 200), ("BOOL", "?", True)]
        header, data = {"__metadata__": {"a": "b"}}, b""
        for dtype, letter, value in samples:
            content = struct.pack("<2" + letter, value, value)
            header[dtype] = {"dtype": dtype, "shape": [2, 1], "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        bf16 = struct.pack("<f", -1.5)[2:]
        header["BF16"] = {"dtype": "BF16", "shape": [], "data_offsets": [len(data), len(data) + 2]}
        header["none"] = {"dtype": "F32", "shape": [0, 3], "data_offsets": [len(data) + 2, len(data) + 2]}
        tensors, metadata = read_tensors(write(header, data + bf16))
        for dtype, _, value in samples:
            self.assertEqual(nested(tensors[dtype]), [[value], [value]])
        self.assertEqual(nested(tensors["BF16"]), -1.5)
        self.assertEqual(nested(tensors["none"]), [])
        self.assertEqual(metadata, {"a": "b"})

    def refuses(self, fact, header, data=b""):
        path = write(header, data)
        with self.assertRaisesRegex(ValueError, path + ".*" + fact):
            read_tensors(path)

    def test_refuses(self):
        entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
        self.refuses("the header", b"")
        self.refuses("was cut short", {"x": entry}, b"1234567")
        self.refuses("was cut short", {"x": dict(entry, data_offsets=[-8, 0])}, b"12345678")
        self.refuses("F99", {"x": dict(entry, dtype="F99")}, b"12345678")
        self.refuses("expected 12", {"x": dict(entry, shape=[3])}, b"12345678")
        self.refuses("the header", b"{not json")
        self.refuses("the header", {"x": 5})
        path = write({"x": entry}, b"12345678")
        for size in (0, 5, 20):
            os.truncate(path, size) if size else open(path, "wb").close()
            with self.assertRaisesRegex(ValueError, "%d bytes" % size):
                read_tensors(path)
            write({"x": entry}, b"12345678")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
