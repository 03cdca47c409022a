"""Tiles of an instruction or a block, grown or cut to the shape of a tensor: what all of Triton's layouts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.errors import RangeError, RankError
from .. import bits
from ..linear_layout import LinearLayout
from ..value import power_of_two

Vector = tuple[int, ...]
identity_1d, zeros_1d = LinearLayout.identity_1d, LinearLayout.zeros_1d


def dim_names(rank: int) -> list[str]:
    """
    >>> dim_names(2)
    ['dim0', 'dim1']
    """
    return [f"dim{k}" for k in range(rank)]


def checked_shape(where: str, shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """The shape of a tensor: one power of two for each dimension."""
    sizes = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if len(sizes) != rank:
        what = f"{where}: a shape of {len(sizes)} dimensions for a layout of {rank}"
        raise RankError(what, f"{rank} sizes", "give one for each")
    return tuple(power_of_two(f"{where}: size {k} of the shape", n) for k, n in enumerate(sizes))


def matrix_order(rank: int, row_major: bool = True) -> list[int]:
    """The dimensions of a batch of matrices, fastest first."""
    order = [*range(rank - 1, -1, -1)]
    if not row_major and rank > 1:
        order[:2] = order[1], order[0]
    return order


def operand_order(operand_index: int, rank: int) -> list[int]:
    """The dimensions of an operand of a dot, fastest first: along k, then the other, then the batch."""
    return matrix_order(rank, row_major=operand_index == 0)


def k_of(operand_index: int, rank: int) -> int:
    """The dimension of an operand that a dot sums over."""
    return rank - 1 if operand_index == 0 else rank - 2


def trivial(order: Sequence[int]) -> LinearLayout:
    """The layout of one element in registers, its dimensions in an order: what multiplies it grows in that order."""
    return identity("register", (1,) * len(order), order)


def identity(in_dim: str, shape: Sequence[int], order: Sequence[int], shared: int | None = None) -> LinearLayout:
    """The elements of a box, one by one, in an order of its dimensions; all along dimension `shared` hold the same."""
    layout = LinearLayout({in_dim: ()}, {})
    for d in order:
        layout = layout * (zeros_1d if d == shared else identity_1d)(shape[d], in_dim, f"dim{d}")
    return layout


def ordered(layout: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """The same layout, with its outputs in an order of dimensions."""
    return layout.transpose_outs([f"dim{d}" for d in order])


def not_smaller(layout: LinearLayout, shape: Mapping[str, int]) -> LinearLayout:
    """Repeated by its first input along each dimension, in the order of its outputs, until it covers the shape."""
    first = layout.get_in_dim_names()[0]
    for name, size in layout.out_dims.items():
        if size < shape[name]:
            layout = layout * identity_1d(shape[name] // size, first, name)
    return layout


def not_larger(layout: LinearLayout, shape: Mapping[str, int], drop: str = "") -> LinearLayout:
    """Cut to the shape: bits that lead out of it lead nowhere, or are dropped if they are bits of `drop`, an input."""
    outs = {name: min(size, shape[name]) for name, size in layout.out_dims.items()}
    sizes = [*outs.values()]
    ins: dict[str, list[Vector]] = {}
    for name, vectors in layout.bases.items():
        inside = [v for v in vectors if name != drop or all(x < n for x, n in zip(v, sizes))]
        ins[name] = [tuple(x if x < n else 0 for x, n in zip(v, sizes)) for v in inside]
    return LinearLayout(ins, outs)


def blocks(where: str, cga_layout: Sequence[Vector], shape: Sequence[int]) -> LinearLayout:
    """The parts of a tensor that thread blocks have: a basis, in blocks, for each bit of the block's number."""
    names = dim_names(len(shape))
    for v in cga_layout:
        if len(v) != len(shape):
            what = f"{where}: the basis {list(v)} of cga_layout"
            raise RankError(what, f"{len(shape)} integers", "give one for each dimension")
    sizes = least_shape(cga_layout, len(shape))
    return not_larger(LinearLayout({"block": list(cga_layout)}, dict(zip(names, sizes))), dict(zip(names, shape)))


def combine(where: str, tile: LinearLayout, cga_layout: Sequence[Vector], shape: Sequence[int]) -> LinearLayout:
    """A tile grown or cut to what one block has of a shape, and then repeated over the blocks."""
    cga = blocks(where, cga_layout, shape)
    part = {d: n // cga.get_out_dim_size(d) for d, n in zip(dim_names(len(shape)), shape)}
    tile = not_larger(not_smaller(tile, part), part)
    whole = (tile * cga.transpose_outs(tile.get_out_dim_names())).transpose_outs(dim_names(len(shape)))
    inputs = ["offset", "block"] if tile.has_in_dim("offset") else ["register", "lane", "warp", "block"]
    return LinearLayout({d: whole.bases.get(d, ()) for d in inputs}, whole.out_dims)


def least_shape(bases: Sequence[Sequence[int]], rank: int) -> list[int]:
    """The least powers of two that hold all bases."""
    return [1 << max((v[k].bit_length() for v in bases), default=0) for k in range(rank)]


def require(where: str, holds: bool, what: str, expected: str, fix: str) -> None:
    """Refuse what a vendor's instruction does not have."""
    if not holds:
        raise RangeError(f"{where}: {what}", expected, fix)


log2 = bits.log2
