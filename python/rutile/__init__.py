"""Runs potentials that rutile's train wrote.

    from rutile import Potential
    result = Potential("run/best.safetensors").compute(symbols, positions, cell, pbc)

rutile.ase has a calculator for ASE.
"""

from rutile._library import Error, version
from rutile.potential import Potential
from rutile.tensors import read_tensors

__all__ = ["Error", "Potential", "read_tensors", "version"]
__version__ = version()
