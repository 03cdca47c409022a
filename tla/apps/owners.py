"""Who accesses a layout, from a text: the name of an instruction or access, an atom, a tiled copy, or a layout."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NamedTuple

from ..algebra.codomain import MakeIdentityLayout
from ..algebra.composition import composition
from ..core.element import Width
from ..core.errors import LeafTypeError, RankError
from ..core.int_tuple import product_each, size
from ..core.kinds import AnyLayout
from ..core.on_demand import OnDemand
from ..xla import ArrayShape
from . import expressions

if TYPE_CHECKING:
    from .. import access as accesses, gpu, linear
    from ..access import pattern as patterns
    from ..linear import triton
else:
    accesses, patterns = OnDemand("tla.access"), OnDemand("tla.access.pattern")
    gpu, linear, triton = OnDemand("tla.gpu"), OnDemand("tla.linear"), OnDemand("tla.linear.triton")


class Owners(NamedTuple):
    """Who accesses a layout.

    held     as access() and best_swizzle() take them: a Pattern, or a layout
    width    of an element, where the text says it
    vector   the bits that a lane takes at once; None for the widest, or that of a Pattern
    """

    held: Any
    width: Width | None = None
    vector: int | None = None


def owners(text: str, tile: tuple[int, ...] | None) -> Owners:
    """The owners that a text says.

    text     of PATTERNS, such as 'ldmatrix.x4'; a copy atom, by its vendor's name or as Copy_Atom[...]; a tiled copy; a
             layout of Triton's; or a (thread, value) layout onto the tile
    tile     the extents of the tile, for a layout of Triton's that says none
    Raises   LeafTypeError for what holds nothing, RankError where there are several layouts

    >>> owners("ldmatrix", None).held.name, owners("SM90_U32x4_STSM_N", None).held.name
    ('ldmatrix.x4', 'stmatrix.x4')
    """
    if (usual := patterns.pattern(text)) is not None:
        return Owners(usual)
    if text.lstrip().startswith("#") and tile is not None:
        found = triton.from_type(text)
        held = found.layout if isinstance(found.layout, triton.PaddedSharedLayout) else found.layout.linear(tile)
        return Owners(held, found.element_width)
    _require_known(text)
    program = expressions.closed(text)
    value, width = program.value.value, program.value.element_width
    if isinstance(value, gpu.CopyAtom):
        return Owners(_of_atom(value), width)
    if isinstance(value, gpu.TiledCopy):
        return _of_copy(value)
    if isinstance(value, linear.LinearLayout):
        return Owners(value, width)
    if isinstance(value, (gpu.TiledMMA, gpu.MMAAtom)):
        raise _of_registers(text, value)
    layout = expressions.only(text, program)
    if len(product_each(expressions.layout_of(layout).shape)) != 2 or isinstance(layout, ArrayShape):
        fix = "write 'ldmatrix.x4', or a (thread, value) layout, such as (32,8):(8,1)"
        expected = f"one of {', '.join(patterns.PATTERNS)}, or two modes: thread and value"
        raise RankError(f"an access by {text:.60}", expected, fix)
    return Owners(layout, width)


def _require_known(text: str) -> None:
    """LeafTypeError for a word that is the name of nothing that accesses memory, with the name that it is like."""
    word = text.strip()
    if all(c.isalnum() or c in " ._" for c in word) and not word[:1].isdigit() and gpu.names.entry(word) is None:
        near = difflib.get_close_matches(word.lower(), [*patterns.PATTERNS], 1, 0.5)
        fix = f"write {near[0]!r}" if near else "write 'ldmatrix.x4', or a (thread, value) layout, such as (32,8):(8,1)"
        expected = f"one of {', '.join(patterns.PATTERNS)}, an atom, or a layout of owners"
        raise LeafTypeError(f"an access by {word:.60}", expected, fix)


def _of_registers(text: str, value: Any) -> LeafTypeError:
    """An MMA reads registers: the fix is the copy that fills those of A."""
    atom = value if isinstance(value, gpu.MMAAtom) else value.atom
    tiled = f"make_tiled_mma({text})" if isinstance(value, gpu.MMAAtom) else text
    fix = f"write make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, {atom.element('A')}], {tiled})"
    if not atom.arch.startswith("sm"):
        fix = "write ds_read_b128, or the load that fills its registers"
    return LeafTypeError(f"an access by {text:.60}, which reads registers", "what reads or writes memory", fix)


def memory(text: str, tile: tuple[int, ...] | None) -> tuple[Any, Width | None]:
    """The layout of memory that a text says, of Triton's shared memory too; and the width of an element, or None."""
    if text.lstrip().startswith("#"):
        if tile is None:
            raise RankError(f"{text:.60} without a tile", "the shape of the tensor", "add --tile 64,64")
        return owners(text, tile)[:2]
    program = expressions.closed(text)
    return expressions.layout_of(expressions.only(text, program)), program.value.element_width


def _of_atom(atom: gpu.CopyAtom) -> Any:
    """The pattern of a copy instruction: of one that each thread runs for itself, vectors along the rows."""
    if name := patterns.instruction_pattern(atom.instruction):
        return patterns.PATTERNS[name]
    bits = int(size(atom.src[1]))
    if int(size(atom.thr_id)) != 1 or bits not in accesses.NVIDIA_SHARED.phases:
        what = f"an access by {atom.name}, of {int(size(atom.thr_id))} threads"
        fix = "write 'ldmatrix.x4', or another that reads shared memory"
        raise LeafTypeError(what, "ldmatrix, stmatrix, or a copy of one thread", fix)
    return patterns.PATTERNS["cp.async.16"]._replace(name=atom.name, bits=bits)


def _of_copy(copy: gpu.TiledCopy) -> Owners:
    """The threads of a tiled copy at its side in shared memory, onto the coordinates of its tile."""
    words = copy.atom.instruction
    side = copy.D_TV if words.startswith(("stmatrix", "cp.async")) else copy.S_TV
    shape = tuple(t.shape if isinstance(t, AnyLayout) else t for t in copy.tiler_mn)
    tile = MakeIdentityLayout(tuple(product_each(shape)))
    vector = 128 if patterns.instruction_pattern(words) else int(size(copy.atom.src[1]))
    return Owners(composition(tile, side), copy.element_width, vector)
