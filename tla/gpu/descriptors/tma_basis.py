"""The box of a TMA copy, derived from the layouts of global and shared memory, and the tensor map that it needs.

The inverse of the shared layout tells which coordinates of the tile lie one after another in shared memory. As far as
these run along modes of the global tensor with step 1, one box copies them; boxes have 256 elements a mode at most. The
swizzle is left to the map.

Source: CuTe include/cute/atom/copy_traits_sm90_tma.hpp, construct_tma_gbasis and make_tma_copy_desc.
"""

from __future__ import annotations

from typing import Any

from ...algebra.coalesce import coalesce
from ...algebra.composition import composition
from ...algebra.inverse import right_inverse
from ...core.arithmetic import gcd
from ...core.basis import E, MakeBasisLike, ScaledBasis
from ...core.element import Element
from ...core.errors import DivisibilityError, Unproven
from ...core.int_tuple import get, leaves, like, modes_of, product_each, shown
from ...core.ints import Int, IntTree, Leaf, is_constant, known, static
from ...core.layout import Layout
from ...core.strides import Shape, Stride
from .canonical import Mode
from .tensor_map import MAX_BOX, MAX_RANK, TensorMap, swizzle_name

_0, _1 = static(0), static(1)


def tma_basis(gmem: Layout, smem: Layout, vectors: Layout) -> Layout:
    """The box of one TMA instruction as coordinates of the global tensor: TMA mode -> mode of the tensor.

    gmem     the layout of the global tensor;  smem  of shared memory, without its swizzle
    vectors  the tile as coordinates of the tensor

    Source: CuTe `construct_tma_gbasis`.
    """
    parts: list[list[tuple[Any, ScaledBasis]]] = []  # the modes of each TMA mode
    count = first = Int[0]()  # of the last one the extent, and the step in global memory
    for extent, e in runs_of(vectors, smem):
        step = get[e.path](gmem.stride)
        if parts and count * first == step and type(first) is type(step) is Int and count * extent <= MAX_BOX:
            parts[-1].append((extent, e))
            count *= extent
        else:
            parts.append([(extent, e)])
            count, first = extent, step
    used = {e.path for mode in parts for _, e in mode}
    others = (e for e in leaves(MakeBasisLike(gmem.shape)) if e.path not in used)
    parts += [[(_1, e)] for e in others if not _is_fixed(gmem, e.path)]
    last = [piece for mode in parts[MAX_RANK - 1 :] for piece in mode]
    parts = parts[: MAX_RANK - 1] + ([last] if last else [])
    shapes, strides = (tuple(tuple(piece[i] for piece in mode) for mode in parts) for i in (0, 1))
    return Layout(Shape(*map(_unwrapped, shapes)), Stride(*map(_unwrapped, strides)))


def _unwrapped(mode: tuple[Any, ...]) -> IntTree:
    return mode[0] if len(mode) == 1 else mode


def runs_of(vectors: Layout, smem: Layout) -> list[tuple[Any, ScaledBasis]]:
    """The first modes of shared memory that go along a mode of the tensor with step 1: extent and mode."""
    layout = coalesce(composition(vectors, right_inverse(smem)))
    found = []
    for extent, step in zip(leaves(layout.shape), leaves(layout.stride)):
        if not (isinstance(step, ScaledBasis) and is_constant(1, step.value)):
            break
        found.append((extent, step))
    if not found:
        what = f"make_tma_copy: shared memory goes along no mode of the tensor with step 1: {layout}"
        raise DivisibilityError(what, "a first mode like _64:_1@1", "give shared memory the order of gmem")
    return found


def _is_fixed(gmem: Layout, path: tuple[int, ...]) -> bool:
    return bool(is_constant(1, get[path](gmem.shape)) or is_constant(0, get[path](gmem.stride)))


def map_of(gmem: Layout, basis: Layout, mode: Mode, element: Element, cluster: int, l2_promotion: str) -> TensorMap:
    """The tensor map of a basis: extents and strides of the global tensor, and the box of one CTA of a cluster."""
    shape, strides = zip(*(_extent_and_step(gmem, [*leaves(m)]) for m in modes_of(basis.stride)))
    in_bytes = (_first_bytes(strides[0], element), *(bytes_of("make_tma_copy", d, element) for d in strides[1:]))
    box, swizzle = tuple(_shared([int(n) for n in product_each(basis.shape)], cluster)), swizzle_name(mode)
    return TensorMap(
        element=element, shape=shape, strides=in_bytes, box=box, swizzle=swizzle, l2_promotion=l2_promotion
    )


def _first_bytes(step: Leaf, element: Element) -> Leaf:
    """The bytes of a step along the first mode: of elements that are parts of bytes 0, from one to the next."""
    if element.bits % 8 and known(step) != 1:
        what = f"make_tma_copy: elements of {element.bits} bits {shown(step)} apart"
        fix = "give shared memory the contiguous mode of gmem first"
        raise DivisibilityError(what, "next to each other in gmem", fix)
    return element.bits // 8 if element.bits % 8 else step * (element.bits // 8)


def bytes_of(where: str, step: Leaf, element: Element) -> Leaf:
    """The bytes of a step of elements; refused where it is no whole bytes, or not known to be."""
    if element.bits % 8 == 0:
        return step * (element.bits // 8)
    n = known(step)
    if n is None or n * element.bits % 8:
        what = f"{where}: a step of {shown(step)} elements of {element.bits} bits"
        kind = Unproven if n is None else DivisibilityError
        raise kind(what, "known whole bytes", "pad the rows of gmem to a multiple of 32 elements")
    return int(n) * element.bits // 8


def _extent_and_step(gmem: Layout, mode: list[ScaledBasis]) -> tuple[Any, Any]:
    """Extent and step of a TMA mode [elements]; of several modes of the tensor, those of all offsets they reach."""
    sizes = [(_plain(get[e.path](gmem.shape)), _plain(get[e.path](gmem.stride))) for e in mode]
    if len(sizes) == 1:
        return sizes[0]
    extent, step = 1, 0
    for n, d in sizes:
        if not (type(n) is int and type(d) is int):
            what = f"make_tma_copy: a mode of {shown(gmem)} that shares a TMA mode with others"
            expected = f"known extents and strides past {MAX_RANK} modes"
            raise Unproven(what, expected, "give its symbols values: at(x, N=128)")
        common = int(gcd(step, d))
        extent = ((extent - 1) * (step // common) + (n - 1) * (d // common) + 1) if common else n
        step = common
    return extent, step


def _plain(x: Leaf) -> Leaf:
    """A known integer as a plain one; a symbol as it is."""
    n = known(x)
    return x if n is None else int(n)


def _shared(box: list[int], cluster: int) -> list[int]:
    """The box that each CTA of a cluster copies: the slowest modes are cut."""
    for i in reversed(range(len(box))):
        if cluster > 1:
            if box[i] % cluster and cluster % box[i]:
                what = f"a box of {tuple(box)} over {cluster} CTAs"
                raise DivisibilityError(what, "a mode that divides evenly", "use another cluster size")
            box[i], cluster = -(-box[i] // cluster), -(-cluster // box[i])
    return box


def coordinates_of(gmem: Layout, basis: Layout, m: TensorMap) -> Layout:
    """The tensor of TMA coordinates: for each leaf of gmem the TMA mode that it moves along."""
    strides: dict[tuple[int, ...], Any] = {}
    for j, mode in enumerate(modes_of(basis.stride)):
        several = isinstance(mode, tuple)
        for e in leaves(mode):
            d = get[e.path](gmem.stride)
            scale = d if j == 0 else _1 if not several else int(d) * m.element.bits // 8 // max(m.strides[j], 1)
            strides[e.path] = E[j] * scale
    each = (strides.get(e.path, _0) for e in leaves(MakeBasisLike(gmem.shape)))
    return Layout(gmem.shape, like(gmem.shape, each, Stride))
