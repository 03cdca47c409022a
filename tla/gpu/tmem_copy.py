"""Copies between tensor memory and registers: tcgen05.ld and st by a warpgroup.

Source: the PTX manual, "tcgen05.ld"; CuTe include/cute/atom/copy_traits_sm100.hpp.
"""

from __future__ import annotations

import re
from typing import Any

from ..algebra.coalesce import coalesce
from ..core.element import Element
from ..core.errors import LeafTypeError
from ..core.int_tuple import shown
from ..core.layout import Layout
from ..tensors.tensor import Tensor
from .atom import CopyAtom
from .elements import as_element
from .names import Copy_Atom
from .tiled_copy import TiledCopy, make_cotiled_copy
from .tmem import PATH_BITS, of_pair

_COPY = re.compile(r"SM100_TMEM_(?:LOAD|STORE)_(\d+)dp(\d+)b(\d+)x(_16b)?$")
_WARPS = 4


def tmem_values(name: str, element: Element) -> Layout:
    """The addresses that one warp's tcgen05.ld or st goes through, value after value, in elements: columns, then data paths.

    `16dp256b4x` goes over 16 data paths, 4 times 256 bits of each; 16dp32b has two halves of columns; `_16b` packs two columns'
    lower halves into a register. Source: the PTX manual, "tcgen05.ld", and CuTe's `ValID`.
    """
    found = _COPY.match(name)
    if not found:
        raise LeafTypeError(f"the copy {name}", "one of tensor memory, as SM100_TMEM_LOAD_32dp32b4x", "take its atom from tla.gpu")
    paths, width, times = map(int, found.groups()[:3])
    bits = width * times * (2 if (paths, width) == (16, 32) else 1)
    path = (1 << PATH_BITS) * 32 // element.bits
    if not found[4]:
        return coalesce(of_pair(((bits // element.bits, paths), (1, path))))
    if element.bits != 16:
        raise LeafTypeError(f"{name} of {element}", "elements of 16 bits, packed in pairs", "leave out _16b")
    return of_pair(((bits // 16, paths), (2, path)))


def make_tmem_copy(atom: Any, tmem: Any, element: Any = None) -> TiledCopy:
    """The copy of a warpgroup between tensor memory and registers: each warp has the 32 data paths that it may reach.

    atom      a copy of tensor memory: Copy_Atom[SM100_TMEM_LOAD_32dp32b4x, float], or the operation
    tmem      the tensor or its layout, as tmem_layout gives it
    element   the element type, where the atom has none

    >>> from tla import _1, _128
    >>> from tla.gpu import SM100_TMEM_LOAD_32dp32b4x, float, make_tmem_copy, tmem_layout
    >>> c = tmem_layout(((_128, _128), _1, _1), float)[0]
    >>> copy = make_tmem_copy(SM100_TMEM_LOAD_32dp32b4x, c, float)
    >>> print(copy.TV, copy.D_TV)
    ((_32,_4),(_4,_32)):((_0,_1),(_128,_4)) ((_32,_4),(_4,_1)):((_4,_1),(_128,_0))

    Raises what make_cotiled_copy raises. Source: CuTe `make_tmem_copy`.
    """
    if element is not None:
        atom = Copy_Atom[atom, as_element(element)]
    if not isinstance(atom, CopyAtom) or atom.val_type is None:
        fix = "write Copy_Atom[SM100_TMEM_LOAD_32dp32b4x, float]"
        raise LeafTypeError(f"make_tmem_copy of {shown(atom)}", "a copy instruction with its element type", fix)
    element = atom.val_type
    path = (1 << PATH_BITS) * 32 // element.bits
    threads = of_pair(((32, _WARPS), (0, 32 * path)))
    values = tmem_values(atom.name, element)
    layout = tmem.layout if isinstance(tmem, Tensor) else tmem
    tv = Layout((threads.shape, values.shape), (threads.stride, values.stride))
    return make_cotiled_copy(atom, tv, layout)
