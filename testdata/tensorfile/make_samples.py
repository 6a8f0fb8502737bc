"""Writes the tensor files of this directory, right and wrong ones: python3 make_samples.py DIRECTORY

Only Python's standard library, and nothing of rutile: reference.safetensors is laid out as the reference
implementation does it (sorted by width and name, header padded to 8 bytes).
"""

import json
import os
import struct
import sys

directory = sys.argv[1]


def write(name, content):
    with open(os.path.join(directory, name + ".safetensors"), "wb") as file:
        file.write(content)


def document(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# ---- right
tensors = {
    "energy": ("F64", [2], struct.pack("<2d", -1.5, 1 / 3)),
    "offset": ("I64", [3], struct.pack("<3q", 0, 2, -(2**62))),
    "feature": ("F32", [2, 3], struct.pack("<6f", 0, 1, 2, 3, 4, 0.5)),
    "index": ("I32", [], struct.pack("<i", -7)),
    "half": ("F16", [2], struct.pack("<2e", 1, -0.5)),
    "shift": ("I16", [1, 3], struct.pack("<3h", -1, 0, 1)),
    "mask": ("BOOL", [2], b"\1\0"),
    "none": ("U8", [0, 4], b""),
}
header, data = {"__metadata__": {"kind": "test/1", "note": "Käfer \"quoted\"\n"}}, b""
for name, (dtype, shape, content) in tensors.items():
    header[name] = entry(dtype, shape, len(data), len(data) + len(content))
    data += content
text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
reference = document(text + b" " * (-len(text) % 8), data)
write("reference", reference)
write("nothing", document({}))
write("misaligned", document(document({"a": entry("F64", [1], 0, 8)})[8:] + b" " * 3, struct.pack("<d", 1)))
write("checksum", document({"__metadata__": {"crc32c.t": "e3069283"}, "t": entry("U8", [9], 0, 9)}, b"123456789"))

# ---- wrong
write("bad_empty", b"")
write("bad_text", b"CRYSTAL\nPRIMVEC\n")
write("bad_cut_in_length", reference[:5])
write("bad_cut_in_header", reference[:100])
write("bad_cut_in_data", reference[:-1])
write("bad_trailing_byte", reference + b"\0")
write("bad_header_too_long", document({}, length=100_000_001))
write("bad_header_longer_than_file", document({}, length=1000))
write("bad_start", document(b" {}"))
write("bad_nul_padding", document(b"{}\0\0"))
write("bad_not_json", document(b"{\"a\":}"))
write("bad_not_utf8", document(b"{\"\xff\":{}}"))
write("bad_deep", document(b"{\"a\":" + b"[" * 1000 + b"]" * 1000 + b"}"))
write("bad_name_twice", document(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}}'))
write("bad_metadata_twice", document(b'{"__metadata__":{"a":"1","a":"2"}}'))
write("bad_metadata_number", document({"__metadata__": {"a": 1}}))
write("bad_unknown_key", document({"a": dict(entry("U8", [1], 0, 1), strides=[1])}, b"\0"))
write("bad_dtype", document({"a": entry("F8_E4M3", [1], 0, 1)}, b"\0"))
write("bad_negative_shape", document({"a": entry("U8", [-1], 0, 0)}))
write("bad_shape_overflow", document({"a": entry("F32", [2**32, 2**32], 0, 0)}))
write("bad_size", document({"a": entry("F32", [3], 0, 8)}, b"\0" * 8))
write("bad_overlap", document({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, b"\0" * 3))
write("bad_hole", document({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, b"\0" * 3))
write("bad_bool", document({"a": entry("BOOL", [1], 0, 1)}, b"\2"))
write("bad_checksum", document({"__metadata__": {"crc32c.t": "00000000"}, "t": entry("U8", [1], 0, 1)}, b"1"))
