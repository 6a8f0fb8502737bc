"""Energies, forces and stresses of structures."""

import ctypes
import os
import weakref

from rutile import _library
from rutile._library import library


class _Handles:
    """A model and a context of the library. Apart from Potential, so that a finalizer can hold them."""

    def __init__(self, paths, precision, curvature):
        names = (ctypes.c_char_p * len(paths))(*[os.fsencode(path) for path in paths])
        options = _library.Options(ctypes.sizeof(_library.Options), precision,
                                   None if curvature is None else os.fsencode(curvature))
        message = ctypes.create_string_buffer(2000)
        self.model, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        _library.check(
            library.rutile_open(names, len(paths), ctypes.byref(options), ctypes.byref(self.model), message, len(message)),
            message.value.decode(errors="replace"))
        code = library.rutile_context_create(self.model, ctypes.byref(self.context))
        if code != _library.OK:
            self.close()
            _library.check(code, "%s: no memory for computations" % paths[0])

    def close(self):
        library.rutile_context_destroy(self.context)
        library.rutile_close(self.model)
        self.model, self.context = None, None


class Potential:
    """A potential, or a committee of several with one descriptor.

    path: a file that train wrote (run/best.safetensors), or a list of files; aenet's networks of all species, as
    ["Ti.nn", "O.nn"], are one potential. precision: "fp32", "fp64", or None for that
    of the files. curvature: a file that tracin --mode=curvature made for the model, or for one member of the committee, for
    standard deviations. Members: species (symbols), cutoff (Å), num_members, precision, has_training_range. One thread at a time
    may use an object; others need objects of their own. A copy, or an object that comes from a pickle, opens the files again,
    from where they were.
    """

    def __init__(self, path, precision=None, curvature=None):
        self.paths = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
        bits = {None: 0, "fp32": 32, "fp64": 64}
        if precision not in bits:
            raise ValueError("precision is %r, expected 'fp32', 'fp64' or None" % (precision,))
        places = [os.path.abspath(path) for path in self.paths]
        self._arguments = (places, precision, None if curvature is None else os.path.abspath(curvature))
        self._handles = _Handles(self.paths, bits[precision], curvature)
        self._finalizer = weakref.finalize(self, self._handles.close)
        info = _library.ModelInfo(ctypes.sizeof(_library.ModelInfo))
        library.rutile_get_info(self._handles.model, ctypes.byref(info))
        self.species = [library.rutile_species(self._handles.model, k).decode() for k in range(info.num_species)]
        self.cutoff = info.cutoff
        self.num_members = info.num_members
        self.precision = "fp%d" % info.precision
        self.has_training_range = bool(info.has_training_range)
        self._index = {symbol: k for k, symbol in enumerate(self.species)}

    def __reduce__(self):
        if self._handles.context is None:
            raise ValueError("%s: the potential is closed, and cannot be copied" % self.paths[0])
        return type(self), self._arguments

    def close(self):
        """Frees the memory now and not when the object is collected."""
        self._finalizer()

    def compute(self, symbols, positions, cell=None, pbc=None, forces=True, virials=False, deviations=()):
        """Computes everything for N atoms.

        symbols: N symbols such as "Ti". positions: N times x, y, z in Å. cell: three lattice vectors in Å, or three lengths of
        a right-angled cell; None without one. pbc: True or False, or one for each lattice vector; None for True where
        there is a cell. Arguments may be lists or numpy's arrays.

        Returns a dict, of lists, or of numpy's arrays where numpy is installed: energy (eV); energies [N]; forces [N][3]
        (eV/Å); stress [3][3] (eV/Å³, positive in tension) in cells that are periodic in three directions, else None;
        virial [3][3] (eV), the stress times the volume, in any cell; outside [N], True for atoms unlike all in the training
        data; for committees, whose values are means, energy_spread (eV), forces_spread [N] (eV/Å), and spread, the largest
        of forces_spread, which are 0 for one model. With forces=False all that follows from forces is None. With virials=True
        also virials [N][3][3] (eV), each atom's part of the virial: half of each of its pairs.
        deviations: which standard deviations are wanted, of "energy", "energies" (of atoms) and "forces"; they are
        energy_deviation (eV), energies_deviation [N] (eV) and forces_deviation [N][3] (eV/Å), by the curvature that the
        potential was opened with. Those of forces take as long as thousands of forces.
        Raises ValueError for structures that cannot be computed.
        """
        if virials and not forces:
            raise ValueError("virials=True needs forces=True, of which virials are made")
        if self._handles.context is None:
            raise ValueError("%s: the potential is closed" % self.paths[0])
        symbols = list(symbols)
        n = len(symbols)
        species = (ctypes.c_int * n)()
        for i, symbol in enumerate(symbols):
            if symbol not in self._index:
                raise ValueError("atom %d (counted from 1) is %r, which the model does not have; expected %s" %
                                 (i + 1, symbol, ", ".join(self.species)))
            species[i] = self._index[symbol]
        position = _rows(positions, n, "positions", "%d rows of x, y, z, one for each atom" % n)
        lattice, periodic = _lattice(cell, pbc)
        double = ctypes.c_double
        energy, energy_spread = double(), double()
        atom_energy, outside = (double * n)(), (ctypes.c_ubyte * n)()
        force, virial, force_spread = (double * (3 * n))(), (double * 9)(), (double * n)()
        outputs = _library.Outputs(ctypes.sizeof(_library.Outputs))
        outputs.energy, outputs.energy_spread = ctypes.pointer(energy), ctypes.pointer(energy_spread)
        outputs.atom_energy, outputs.outside = _pointer(atom_energy), _pointer(outside)
        if forces:
            outputs.forces, outputs.virial, outputs.force_spread = _pointer(force), _pointer(virial), _pointer(force_spread)
        atom_virial = (double * (9 * n if virials else 0))()
        if virials:
            outputs.atom_virial = _pointer(atom_virial)
        deviation = {name: (double * size)() for name, size in [("energy", 1), ("energies", n), ("forces", 3 * n)]}
        members = {"energy": "energy_deviation", "energies": "atom_energy_deviation", "forces": "force_deviation"}
        deviations = [deviations] if isinstance(deviations, str) else list(deviations)
        for name in deviations:
            if name not in members:
                raise ValueError("deviations has %r, expected 'energy', 'energies' or 'forces'" % (name,))
            setattr(outputs, members[name], _pointer(deviation[name]))
        code = library.rutile_compute_cell(self._handles.context, n, species, position, lattice, periodic,
                                           ctypes.byref(outputs))
        if code != _library.OK:
            _library.check(code, library.rutile_last_error(self._handles.context).decode(errors="replace"))
        result = {"energy": energy.value, "energies": _array(atom_energy), "forces": None, "stress": None, "virial": None,
                  "energy_spread": energy_spread.value, "forces_spread": None, "spread": None,
                  "outside": _array(outside, boolean=True)}  # yapf: disable
        if forces:
            volume = abs(_determinant(lattice))
            result["forces"], result["virial"] = _array(force, 3), _array(virial, 3)
            result["forces_spread"], result["spread"] = _array(force_spread), max(force_spread, default=0.0)
            if all(periodic) and volume > 0:
                result["stress"] = _array((double * 9)(*[v / volume for v in virial]), 3)
        for name in deviations:
            values = deviation[name]
            result[name + "_deviation"] = values[0] if name == "energy" else _array(values, 3 if name == "forces" else 0)
        if virials:
            rows = _array(atom_virial, 3)
            result["virials"] = rows.reshape(n, 3, 3) if _numpy() else [rows[3 * i:3 * i + 3] for i in range(n)]
        return result


def _numpy():
    """numpy, or None where it is not installed."""
    try:
        import numpy  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None
    return numpy


def _pointer(array):
    return ctypes.cast(array, ctypes.POINTER(array._type_))


def _rows(values, count, name, expected):
    """A C array of the numbers of `count` rows of three. Other shapes are refused, as three rows of N are not N of three."""
    numpy = _numpy()
    if numpy is not None and isinstance(values, numpy.ndarray):
        if values.shape != (count, 3) and (count, values.size) != (0, 0):
            raise ValueError("%s has the shape %s, expected (%d, 3): %s" % (name, values.shape, count, expected))
        flat = numpy.ascontiguousarray(values, dtype=float).reshape(-1)
        return (ctypes.c_double * flat.size).from_buffer_copy(flat) if flat.size else (ctypes.c_double * 0)()
    rows = [list(row) if hasattr(row, "__iter__") else [row] for row in values]
    if len(rows) != count:
        raise ValueError("%s has %d rows, expected %s" % (name, len(rows), expected))
    for k, row in enumerate(rows):
        if len(row) != 3:
            raise ValueError("%s has %d numbers in row %d, expected %s" % (name, len(row), k + 1, expected))
    return (ctypes.c_double * (3 * count))(*[float(x) for row in rows for x in row])


def _lattice(cell, pbc):
    """C arrays of nine numbers and three flags."""
    if cell is None:
        vectors = (ctypes.c_double * 9)()
    else:
        cell = list(getattr(cell, "array", cell))  # ASE's Cell, too
        if len(cell) == 3 and not any(hasattr(row, "__iter__") for row in cell):
            cell = [[cell[0], 0, 0], [0, cell[1], 0], [0, 0, cell[2]]]
        vectors = _rows(cell, 3, "cell", "three vectors of x, y, z, or three lengths")
    if pbc is None:
        pbc = cell is not None
    flags = list(pbc) if hasattr(pbc, "__iter__") else [pbc] * 3
    if any(isinstance(value, (str, bytes)) for value in [pbc] + flags):  # "F" is true
        raise ValueError("pbc is %r, expected True or False, or three of them" % (pbc,))
    if len(flags) != 3:
        raise ValueError("pbc has %d values, expected one, or three" % len(flags))
    return vectors, (ctypes.c_int * 3)(*[bool(flag) for flag in flags])


def _determinant(m):
    return (m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]))


def _array(values, columns=0, boolean=False):
    """numpy's array of a C array, of rows of so many columns if it has columns; a list without numpy."""
    numpy = _numpy()
    if numpy is not None:
        array = numpy.array(values, dtype=bool if boolean else float)
        return array.reshape(-1, columns) if columns else array
    flat = [bool(v) for v in values] if boolean else list(values)
    return [flat[i:i + columns] for i in range(0, len(flat), columns)] if columns else flat
