"""The tiled layout of a linear layout: the way back, exact or refused.

The bits of the array are cut off from above, a new dimension for each run of lanes, of warps, or of registers;
registers are taken in the order that Mosaic numbers them in. What was found is compared with the layout that was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...core.errors import LeafTypeError, RangeError, RankError
from .. import bits
from ..linear_layout import LinearLayout
from .layouts import LANES, NAMED_LAYOUTS, WARPS, Dim, Part, Replicated, Tile, TiledLayout, tiled


class Role(NamedTuple):
    """Who goes along a bit of the array: the bit of a register, a lane or a warp."""

    name: str
    bit: int


def tiled_layout(found: LinearLayout) -> TiledLayout:
    """The tiled layout of a linear layout of register, lane and warp: Mosaic's own one if it is one, else
    tiles that make it.

    Raises     RangeError where there is none: bases that are no single bits, elements that several registers hold,
               registers that go through a dimension in another order than from its low bits up

    >>> made = TiledLayout([(64, 8), (16, 8), (8, 8), (2,)], [-7], [-3, -2], -1).linear([64, 64])
    >>> print(tiled_layout(made) == NAMED_LAYOUTS["WGMMA_LAYOUT"])
    True
    """
    if not isinstance(found, LinearLayout):
        raise LeafTypeError(f"tiled_layout of a {type(found).__name__}", "a LinearLayout", "give layout.linear(shape)")
    wanted, shape = _of_warpgroup(found), [*found.out_dims.values()]
    for layout in NAMED_LAYOUTS.values():
        if _is(layout, wanted, shape):
            return layout
    roles = _roles(wanted)
    for vector in range(_longest(wanted), -1, -1):
        for base in ([_reach(dim, vector) for dim in roles], [len(dim) for dim in roles]):
            made = _made(roles, base, vector, wanted)
            if made is not None and _is(made, wanted, shape):
                return made
    what = "tiled_layout: registers whose order no tiles have"
    raise RangeError(what, "registers that go through each dimension upwards", "reorder them")


def _of_warpgroup(found: LinearLayout) -> LinearLayout:
    """The layout of register, lane and warp alone, of 32 lanes and 4 warps."""
    names = {"register": None, "lane": LANES, "warp": WARPS}
    for name in found.get_in_dim_names():
        if name not in names and found.get_in_dim_size(name) > 1:
            raise RankError(f"tiled_layout: the input {name}", "register, lane and warp", "give what one block has")
    for name, size in names.items():
        if size and (not found.has_in_dim(name) or found.get_in_dim_size(name) != size):
            has = found.get_in_dim_size(name) if found.has_in_dim(name) else 1
            fix = f"write tiled_layout(layout.resize_in_dim({name!r}, {size}))"
            raise RangeError(f"tiled_layout: {has} {name}s", f"{size}, of a warpgroup", fix)
    return LinearLayout({name: found.bases.get(name, ()) for name in names}, found.out_dims)


def _is(layout: TiledLayout, wanted: LinearLayout, shape: Sequence[int]) -> bool:
    if len(layout.tiling[0]) > len(shape) or any(n % t for n, t in zip(shape[::-1], layout.tiling[0][::-1])):
        return False
    return layout.linear(shape).columns == wanted.columns


def _roles(wanted: LinearLayout) -> list[list[Role]]:
    """For each bit of each dimension, the lowest first, who goes along it."""
    table: list[dict[int, Role]] = [{} for _ in wanted.out_dims]
    for name, vectors in wanted.bases.items():
        for k, v in enumerate(vectors):
            places = [(dim, bit) for dim, n in enumerate(v) for bit in bits.ones(n)]
            taken = any(bit in table[dim] for dim, bit in places)
            if taken or len(places) > 1 or (not places and name == "register"):
                what = f"tiled_layout: {name}={1 << k} goes to ({', '.join(map(str, v))})"
                expected = "a bit of one dimension that nothing else goes to"
                raise RangeError(what, expected, "keep the LinearLayout: no tiled layout is this map")
            for dim, bit in places:
                table[dim][bit] = Role(name, k)
    for dim, (name, size) in enumerate(wanted.out_dims.items()):
        if len(table[dim]) != bits.log2(size):
            what = f"tiled_layout: nobody holds all of {name}"
            raise RangeError(what, "each element held", "give the layout of the whole array")
    return [[found[k] for k in range(len(found))] for found in table]


def _reach(dim: Sequence[Role], vector: int) -> int:
    """The least number of bits that holds all lanes, warps and the vector: the first tile; registers repeat it."""
    return max((k + 1 for k, role in enumerate(dim) if role.name != "register" or role.bit < vector), default=0)


def _longest(wanted: LinearLayout) -> int:
    """The number of lowest registers that are one run of one dimension."""
    columns = [wanted.pack(v) for v in wanted.bases["register"]]
    count = 0
    while count < len(columns) and columns[count] == columns[0] << count:
        count += 1
    return count


def _made(
    roles: Sequence[Sequence[Role]], base: Sequence[int], vector: int, wanted: LinearLayout
) -> TiledLayout | None:
    """The tiled layout with this first tile [bits] and vector [bits]; None where the registers are not in order."""
    left, tiles = [*base], [tuple(1 << n for n in base)]
    inner = sum(role.name == "register" for dim, n in zip(roles, base) for role in dim[:n]) - 1
    while any(left):
        cuts = []
        for dim, n in enumerate(left):
            count = _chunk(roles[dim][:n], inner, vector)
            if count and roles[dim][n - 1].name == "register" and roles[dim][n - 1].bit >= vector:
                inner -= count
            cuts.append(count)
        if not any(cuts):
            return None
        left = [n - c for n, c in zip(left, cuts)]
        tiles.append(tuple(1 << n for n in left))
    if vector:
        tiles.pop()  # the last dimensions are what the tile before it leaves
    return _assembled(_canonical(tiles), roles, vector, wanted)


def _chunk(dim: Sequence[Role], inner: int, vector: int) -> int:
    """The number of bits, from the highest down, of one new dimension: a run of lanes, warps, vector, or registers."""
    if not dim:
        return 0
    top = dim[-1]
    if top.name == "register" and top.bit >= vector and top.bit != inner:
        return 0
    count = 1
    while count < len(dim) and dim[-count - 1] == Role(top.name, top.bit - count):
        if top.name == "register" and top.bit >= vector > top.bit - count:
            break
        count += 1
    return count


def _canonical(tiles: Sequence[Tile]) -> list[Tile]:
    """Tiles as Mosaic has them: none that cuts nothing, and no 1 in front."""
    found = [tiles[0]]
    for tile in tiles[1:]:
        short = tile[next((k for k, n in enumerate(tile) if n != 1), len(tile) - 1) :]
        if found[-1][-len(short) :] != short:
            found.append(short)
    return found


def _assembled(
    tiles: list[Tile], roles: Sequence[Sequence[Role]], vector: int, wanted: LinearLayout
) -> TiledLayout | None:
    parts = tiled(tiles[0], tiles)[len(tiles[0]) :]
    whose: dict[Role, int] = {}  # the lowest bit of each run -> its dimension
    for k, part in enumerate(parts):
        if part.bits:
            whose[roles[part.dim][part.low]] = k - len(parts)
    empty = (k - len(parts) for k, p in enumerate(parts) if not p.bits)
    vector_dim = whose.get(Role("register", 0)) if vector else next(empty, None)
    dims = {name: _slowest_first(name, wanted, whose, parts) for name in ("warp", "lane")}
    if vector_dim is None or dims["warp"] is None or dims["lane"] is None:
        return None
    return TiledLayout(tiles, dims["warp"], dims["lane"], vector_dim)


def _slowest_first(name: str, wanted: LinearLayout, whose: dict[Role, int], parts: Sequence[Part]) -> list[Dim] | None:
    """The dimensions of lanes, or of warps: a run that holds the same is Replicated."""
    found: list[Dim] = []
    vectors, k = wanted.bases[name], 0
    while k < len(vectors):
        count = next((i for i, v in enumerate(vectors[k:]) if any(v)), len(vectors) - k)
        if count:
            found.append(Replicated(1 << count))
        else:
            dim = whose.get(Role(name, k))
            if dim is None:
                return None
            found.append(dim)
            count = parts[dim].bits
        k += count
    return found[::-1]
