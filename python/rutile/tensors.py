"""Reads tensor files (safetensors), as all of rutile's tools write them, without other packages."""

import json
import os
import struct

_FORMATS = {"F64": ("d", 8), "F32": ("f", 4), "F16": ("e", 2), "I64": ("q", 8), "I32": ("i", 4), "I16": ("h", 2), "I8": ("b", 1),
            "U64": ("Q", 8), "U32": ("I", 4), "U16": ("H", 2), "U8": ("B", 1), "BOOL": ("?", 1)}  # yapf: disable


def read_tensors(path):
    """Returns (tensors, metadata) of a file.

    tensors: a dict from name to array: numpy's, mapped from the file and read-only; nested lists without numpy (a single
    number is itself). BF16, which neither knows, comes as float32. metadata: a dict of texts; "kind" says what the file
    is (docs/formats.md). ValueError if it is no tensor file or was cut short.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length > size - 8:
            raise ValueError("%s: has %d bytes, expected a tensor file (safetensors), complete" % (path, size))
        try:
            header = json.loads(file.read(length).decode("utf-8"))
            metadata = header.pop("__metadata__", {})
            entries = {name: (e["dtype"], tuple(e["shape"]), *e["data_offsets"]) for name, e in header.items()}
        except (UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError("%s: the header is not that of a tensor file (safetensors): %s" % (path, error)) from error
        for name, (dtype, shape, begin, end) in entries.items():
            _check(path, name, dtype, shape, begin, end, size - 8 - length)
        return _read_all(file, path, entries, 8 + length), metadata


def _check(path, name, dtype, shape, begin, end, available):
    count = 1
    for n in shape:
        count *= n
    width = 2 if dtype == "BF16" else _FORMATS.get(dtype, (None, None))[1]
    if width is None:
        raise ValueError("%s: tensor %s is of type %s, expected one of BF16, %s" % (path, name, dtype, ", ".join(_FORMATS)))
    if not 0 <= begin <= end <= available:
        raise ValueError("%s: tensor %s ends at byte %d of the data, which has %d: the file was cut short" %
                         (path, name, end, available))
    if end - begin != count * width:
        raise ValueError("%s: tensor %s has %d bytes, expected %d for %s %s" %
                         (path, name, end - begin, count * width, dtype, list(shape)))


def _read_all(file, path, entries, start):
    try:
        import numpy  # pylint: disable=import-outside-toplevel
    except ImportError:
        return {name: _as_lists(file, entry, start) for name, entry in entries.items()}
    content = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    return {name: _as_array(numpy, content, entry, start) for name, entry in entries.items()}


def _as_array(numpy, content, entry, start):
    dtype, shape, begin, end = entry
    content = content[start + begin:start + end]
    if dtype == "BF16":
        return (content.view("<u2").astype(numpy.uint32) << 16).view(numpy.float32).reshape(shape)
    return content.view(numpy.dtype(_FORMATS[dtype][0]).newbyteorder("<")).reshape(shape)


def _as_lists(file, entry, start):
    dtype, shape, begin, end = entry
    file.seek(start + begin)
    content = file.read(end - begin)
    if dtype == "BF16":
        content = b"".join(b"\0\0" + content[i:i + 2] for i in range(0, len(content), 2))
        dtype = "F32"
    letter, width = _FORMATS[dtype]
    return _nested(list(struct.unpack("<%d%s" % (len(content) // width, letter), content)), shape)


def _nested(values, shape):
    if not shape:
        return values[0]
    if len(shape) == 1:
        return values
    step = len(values) // shape[0] if shape[0] else 0
    return [_nested(values[k * step:(k + 1) * step], shape[1:]) for k in range(shape[0])]
