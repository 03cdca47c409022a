"""GPU kernels' atoms: matrix and copy instructions as data.

>>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN
>>> print(SM80_16x8x16_F32F16F16F32_TN.C)
((_4,_8),(_2,_2)):((_32,_1),(_16,_8))
"""

from typing import TYPE_CHECKING

from ..core import element
from . import names
from .algorithms import axpby, clear, copy, copy_if, fill, gemm, transform, values_of
from .atom import CopyAtom, Family, Major, MMAAtom
from .elements import CPP
from .names import Copy_Atom, MMA_Atom, atom, atoms
from .tiled_copy import (
    ThrCopy,
    TiledCopy,
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_C_atom,
    make_tiled_copy_D,
    make_tiled_copy_S,
)
from .tiled_mma import ThrMMA, TiledMMA, make_tiled_mma

K, MN = Major.K, Major.MN

__all__ = [
    "MN",
    "CopyAtom",
    "Copy_Atom",
    "Family",
    "K",
    "MMAAtom",
    "MMA_Atom",
    "Major",
    "ThrCopy",
    "ThrMMA",
    "TiledCopy",
    "TiledMMA",
    "atom",
    "atoms",
    "axpby",
    "clear",
    "copy",
    "copy_if",
    "fill",
    "gemm",
    "make_cotiled_copy",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_C_atom",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_mma",
    "transform",
    "values_of",
]

if not TYPE_CHECKING:  # a name that is not there is an error for type checkers too

    def __getattr__(name):
        """The atoms and element types by their names: there are some thousands, made when they are first asked for."""
        found = names.entry(name)
        if found is None:
            found = vars(element).get(name) or CPP.get(name)
            found = found if isinstance(found, element.Element) else None
        if found is None:
            raise AttributeError(f"module 'tla.gpu' has no attribute {name!r}: {names._nearest(name)}")
        return found

    def __dir__():
        return [*globals(), *names.names()]
