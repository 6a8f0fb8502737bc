"""Loads librutile.so, which lies beside this file, and declares what lib/md/rutile.h declares."""

import ctypes
import os

ABI_VERSION = 1
OK, INVALID_ARGUMENT, NOT_FOUND, OUT_OF_MEMORY, FAILED = range(5)

DOUBLES = ctypes.POINTER(ctypes.c_double)
INTS = ctypes.POINTER(ctypes.c_int)


class Error(RuntimeError):
    """What librutile.so says when it cannot do what it was asked for, other than by a bad argument (ValueError), a missing
    file (FileNotFoundError) or for lack of memory (MemoryError)."""


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("precision", ctypes.c_int), ("curvature", ctypes.c_char_p)]


class ModelInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("cutoff", ctypes.c_double), ("num_species", ctypes.c_int),
                ("num_members", ctypes.c_int), ("precision", ctypes.c_int), ("has_training_range", ctypes.c_int)]


class Outputs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("add_forces", ctypes.c_int), ("energy", DOUBLES),
                ("atom_energy", DOUBLES), ("forces", DOUBLES), ("virial", DOUBLES), ("energy_spread", DOUBLES),
                ("force_spread", DOUBLES), ("member_energy", DOUBLES), ("member_forces", DOUBLES),
                ("outside", ctypes.POINTER(ctypes.c_ubyte)), ("atom_virial", DOUBLES),
                ("energy_deviation", DOUBLES), ("atom_energy_deviation", DOUBLES), ("force_deviation", DOUBLES)]


def check(code, message):
    """Raises what fits the code, with the message; nothing if it is OK."""
    if code == OK:
        return
    kind = {INVALID_ARGUMENT: ValueError, NOT_FOUND: FileNotFoundError, OUT_OF_MEMORY: MemoryError}.get(code, Error)
    raise kind(message)


def _load():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "librutile.so")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("%s cannot be loaded: %s; expected the library of a wheel built on a Linux of this age or an "
                          "older one (bazel build //python:wheel)" % (path, error)) from error
    found = library.rutile_abi_version()
    if found != ABI_VERSION:
        raise ImportError("%s has the interface version %d, this package needs %d: install both from one wheel" %
                          (path, found, ABI_VERSION))
    handle, text = ctypes.c_void_p, ctypes.c_char_p
    for name, result, arguments in [
            ("version", text, []),
            ("open", ctypes.c_int, [ctypes.POINTER(text), ctypes.c_int, ctypes.POINTER(Options), ctypes.POINTER(handle),
                                    text, ctypes.c_size_t]),
            ("close", None, [handle]),
            ("get_info", ctypes.c_int, [handle, ctypes.POINTER(ModelInfo)]),
            ("species", text, [handle, ctypes.c_int]),
            ("context_create", ctypes.c_int, [handle, ctypes.POINTER(handle)]),
            ("context_destroy", None, [handle]),
            ("last_error", text, [handle]),
            ("compute_cell", ctypes.c_int, [handle, ctypes.c_int, INTS, DOUBLES, DOUBLES, INTS,
                                            ctypes.POINTER(Outputs)]),
    ]:  # yapf: disable
        function = getattr(library, "rutile_" + name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()


def version():
    """The version of rutile, such as "1.2.0"."""
    return library.rutile_version().decode()
