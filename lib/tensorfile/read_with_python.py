"""Prints a safetensors file with Python's standard library alone, as users without our code would read it."""

import json
import struct
import sys

FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I",
           "U16": "H", "U8": "B", "BOOL": "?"}

content = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", content[:8])[0]
header = json.loads(content[8:8 + length])
data = content[8 + length:]
print(json.dumps(header.pop("__metadata__", {}), sort_keys=True))
assert (8 + length) % 64 == 0, "data does not start at a multiple of 64"
assert max([0] + [tensor["data_offsets"][1] for tensor in header.values()]) == len(data)
for name, tensor in header.items():
    begin, end = tensor["data_offsets"]
    letter = FORMATS[tensor["dtype"]]
    values = struct.unpack("<%d%s" % ((end - begin) // struct.calcsize(letter), letter), data[begin:end])
    print(name, tensor["dtype"], tensor["shape"], *values)
