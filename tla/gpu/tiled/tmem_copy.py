"""Copies of tensor memory: to and from registers, tcgen05.ld and st, and from shared memory, tcgen05.cp.

Source: the PTX manual, "tcgen05.ld", "tcgen05.cp"; CuTe include/cute/atom/copy_traits_sm100.hpp.
"""

from __future__ import annotations

from typing import Any

from ...algebra.coalesce import coalesce
from ...core.element import Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import shown, size
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...tensors.tensor import Tensor
from ..instructions.atom import CopyAtom, beside, tv
from ..instructions.elements import as_element
from ..instructions.names import Copy_Atom
from ..instructions.tmem import PATH_BITS
from .tiled_copy import TiledCopy, make_cotiled_copy

_WARPS = 4


def tmem_values(atom: CopyAtom, element: Element) -> Layout:
    """The addresses that an instruction goes through in tensor memory [elements]: columns and data paths.

    `16dp256b4x` goes over 16 data paths, 4 times 256 bits of each; 16dp32b has two halves of columns; `_16b` packs two
    columns' lower halves into a register; tcgen05.cp goes over the data paths first. Raises LeafTypeError for other
    copies, and for elements that do not fill its cells. Source: the PTX manual, "tcgen05.ld", "tcgen05.cp",
    and CuTe's `ValID`.
    """
    if atom.cells is None:
        raise _of_no_tensor_memory(atom)
    if atom.cells.packed and element.bits != 16:
        raise LeafTypeError(f"{atom.name} of {element}", "elements of 16 bits, packed in pairs", "leave out _16b")
    if 128 % element.bits:
        raise LeafTypeError(f"{atom.name} of {element}", "elements that fill 128 bits", "copy them as uint8")
    path, column = (1 << PATH_BITS) * 32 // element.bits, 2 if atom.cells.packed else 1
    modes = [(n, paths * path) if paths else (n // element.bits, column) for n, paths in atom.cells.modes]
    return coalesce(tv(*zip(*modes)))


def _of_no_tensor_memory(atom: CopyAtom, wanted: str = "tensor memory, as SM100_TMEM_LOAD_32dp32b4x") -> LeafTypeError:
    return LeafTypeError(f"the copy {atom.name}", f"one of {wanted}", "take its atom from tla.gpu")


def make_tmem_copy(atom: object, tmem: object, element: object = None) -> TiledCopy:
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
    if not {atom.reads.memory, atom.writes.memory} <= {"TMEM", "registers"}:
        raise _of_no_tensor_memory(atom)
    return _cotiled(atom, threads, tmem_values(atom, element), tmem)


def make_utccp_copy(atom: object, tmem: AnyLayout, element: object = None) -> TiledCopy:
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
    if (atom.reads.memory, atom.writes.memory) != ("smem", "TMEM"):
        raise _of_no_tensor_memory(atom, "tcgen05.cp, as SM100_UTCCP_4x32dp128bit_1cta")
    return _cotiled(atom, tv(int(size(atom.thr_id)), 0), tmem_values(atom, element), tmem)


def _with_type(where: str, example: str, atom: object, element: object) -> tuple[CopyAtom, Element]:
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
    return make_cotiled_copy(atom, beside(threads, values), layout)
