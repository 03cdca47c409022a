"""Copies between tensor memory and registers, tcgen05.ld and st by a warpgroup, and into it from shared memory, tcgen05.cp.

Source: the PTX manual, "tcgen05.ld", "tcgen05.cp"; CuTe include/cute/atom/copy_traits_sm100.hpp.
"""

from __future__ import annotations

import re
from typing import Any

from ...algebra.coalesce import coalesce
from ...core.element import Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import shown
from ...core.layout import Layout
from ...tensors.tensor import Tensor
from ..instructions.atom import CopyAtom, tv
from ..instructions.elements import as_element
from ..instructions.names import Copy_Atom
from ..instructions.tmem import PATH_BITS
from .tiled_copy import TiledCopy, make_cotiled_copy

_COPY = re.compile(r"SM100_TMEM_(?:LOAD|STORE)_(\d+)dp(\d+)b(\d+)x(_16b)?$")
_UTCCP = re.compile(r"SM100_UTCCP_(\w+)_([12])cta$")
_WARPS = 4
#: The cells of tcgen05.cp: its modes as (extent, data paths from one to the next); those of no data path are bits of one.
_CELLS = {
    "128dp256bit": ((128, 1), (256, 0)),
    "128dp128bit": ((128, 1), (128, 0)),
    "4dp256bit": ((128, 1), (256, 0)),
    "4x32dp128bit": ((32, 1), (128, 0), (4, 32)),
    "2x64dp128bitlw0213": ((64, 1), (128, 0), (2, 64)),
    "2x64dp128bitlw0123": ((32, 1), (128, 0), (2, 64), (2, 32)),
}


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
        return coalesce(tv((bits // element.bits, paths), (1, path)))
    if element.bits != 16:
        raise LeafTypeError(f"{name} of {element}", "elements of 16 bits, packed in pairs", "leave out _16b")
    return tv((bits // 16, paths), (2, path))


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
    atom, element = _with_type("make_tmem_copy", "SM100_TMEM_LOAD_32dp32b4x", atom, element)
    path = (1 << PATH_BITS) * 32 // element.bits
    threads = tv((32, _WARPS), (0, 32 * path))
    return _cotiled(atom, threads, tmem_values(atom.name, element), tmem)


def make_utccp_copy(atom: Any, tmem: Any, element: Any = None) -> TiledCopy:
    """The copy of tcgen05.cp from shared memory to tensor memory: one thread starts it for an SM, or for two.

    atom      a copy of tcgen05.cp: Copy_Atom[SM100_UTCCP_4x32dp128bit_1cta, uint8], or the operation
    tmem      the tensor of tensor memory or its layout [elements]
    element   the element type, where the atom has none

    >>> from tla import parse
    >>> from tla.gpu import SM100_UTCCP_128dp256bit_1cta, float, make_utccp_copy
    >>> copy = make_utccp_copy(SM100_UTCCP_128dp256bit_1cta, parse("(_128,_64):(_65536,_1)"), float)
    >>> print(copy.TV, *copy.tiler_mn)
    (_1,(_128,_8)):(_0,(_1,_128)) _128:_1 _8:_1

    Raises what make_cotiled_copy raises. Source: CuTe `make_utccp_copy`.
    """
    atom, element = _with_type("make_utccp_copy", "SM100_UTCCP_4x32dp128bit_1cta", atom, element)
    found = _UTCCP.match(atom.name)
    if not found or found[1] not in _CELLS:
        raise LeafTypeError(f"the copy {atom.name}", "one of tcgen05.cp, as SM100_UTCCP_4x32dp128bit_1cta", "take its atom from tla.gpu")
    path, bits = (1 << PATH_BITS) * 32 // element.bits, element.bits
    if 128 % bits:
        raise LeafTypeError(f"{atom.name} of {element}", "elements that fill 128 bits", "copy them as uint8")
    modes = [(n, dp * path) if dp else (n // bits, 1) for n, dp in _CELLS[found[1]]]
    shape, stride = zip(*modes)
    return _cotiled(atom, tv(int(found[2]), 0), coalesce(tv(shape, stride)), tmem)


def _with_type(where: str, example: str, atom: Any, element: Any) -> tuple[CopyAtom, Element]:
    """A copy instruction with its element type."""
    if element is not None:
        atom = Copy_Atom[atom, as_element(element)]
    if not isinstance(atom, CopyAtom) or atom.val_type is None:
        what = f"{where} of {shown(atom)}"
        raise LeafTypeError(what, "a copy instruction with its element type", f"write Copy_Atom[{example}, float]")
    return atom, atom.val_type


def _cotiled(atom: CopyAtom, threads: Layout, values: Layout, tmem: Any) -> TiledCopy:
    """The copy of a tensor of tensor memory by threads and values that have addresses in it."""
    layout = tmem.layout if isinstance(tmem, Tensor) else tmem
    return make_cotiled_copy(atom, Layout((threads.shape, values.shape), (threads.stride, values.stride)), layout)
