"""GPU kernels' atoms: matrix and copy instructions as data.

>>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN
>>> print(SM80_16x8x16_F32F16F16F32_TN.C)
((_4,_8),(_2,_2)):((_32,_1),(_16,_8))
"""

from typing import TYPE_CHECKING

from . import names
from .atom import CopyAtom, Family, Major, MMAAtom
from .canonical import GMMA, UMMA, CanonicalAtom, tile_to_mma_shape
from .descriptor import Descriptor, descriptor_steps, read_descriptor, umma_descriptor, wgmma_descriptor
from .elements import half
from .tma import TensorMap, TMACopy, make_tma_copy, tma_partition
from .names import Copy_Atom, MMA_Atom, atom, atoms

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
    "atom",
    "atoms",
]

if not TYPE_CHECKING:  # a name that is not there is an error for type checkers too

    def __getattr__(name):
        """The atoms and element types by their names: there are some thousands, made when they are first asked for."""
        from . import elements

        found = names.entry(name)
        if found is None:
            found = getattr(elements, name, None) or elements.CPP.get(name)
            found = found if isinstance(found, elements.Element) else None
        if found is None:
            raise AttributeError(f"module 'tla.gpu' has no attribute {name!r}: {names._nearest(name)}")
        return found

    def __dir__():
        return [*globals(), *names.names()]
