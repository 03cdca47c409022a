"""Layouts as text of the libraries whose numbers are known: FlyDSL's types, constructors in Python and Mojo, axes with
names, views of an arange, and relations of isl. `parse` reads these back, and `layout_of` what isl has.

Source: lib/Dialect/Fly/IR/FlyAttrDefs.cpp of FlyDSL; pycute/layout.py of NVlabs/CuTe; tensor-layouts 0.3.2;
max/kernels/src/layout of Modular; python/tvm/tirx/layout.py of TVM; the isl manual, "Sets and relations".
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from ...algebra.codomain import coshape
from ...core.arrays import INT64_MAX
from ...core.basis import Basis, E, ScaledBasis, steps_of
from ...core.composed import ComposedLayout, gives_coordinates, innermost
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import leaves, modes_of, shown
from ...core.ints import Int, IntLike, IntTupleLike, Leaf, known
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.swizzle import CoordSwizzle, Swizzle
from .sizes import not_in

_1 = Int[1]()


def _number(n: IntLike, system: str) -> str:
    if known(n) is None:
        raise not_in(system, shown(n), "numbers that are known", "give it a value first: .at(M=128)")
    return str(int(n))


def _plain(x: object, system: str, fix: str) -> Layout:
    if isinstance(x, Layout):
        return x
    raise not_in(system, shown(x), "a plain layout: it has no other", fix)


# ------------------------------------------------------------------------------------------------------- FlyDSL


def flydsl(x: object) -> str:
    """A layout, swizzle or IntTuple as a type of FlyDSL: a static number bare, any other `?`."""
    if isinstance(x, ComposedLayout):
        return f"!fly.composed_layout<{_fly_chain(x)}>"
    kinds = {Layout: "layout", Swizzle: "swizzle", CoordSwizzle: "coord_swizzle"}
    return f"!fly.{kinds.get(type(x), 'int_tuple')}<{_fly_chain(x)}>"


def _fly_chain(x: object) -> str:
    if isinstance(x, ComposedLayout):
        inner, offset = _fly_chain(x.inner), x.offset
        if gives_coordinates(x.inner) and not isinstance(offset, tuple):
            offset = tuple(Int[0]() for _mode in modes_of(coshape(innermost(x.inner))))
        return (
            f"{_fly_chain(x.outer)} o {_fly_tuple(offset)} o "
            f"{f'[{inner}]' if isinstance(x.inner, ComposedLayout) else inner}"
        )
    if isinstance(x, Layout):
        return f"{_fly_tuple(x.shape)}:{_fly_tuple(x.stride)}"
    return str(x).replace("Sw<", "S<") if isinstance(x, (Swizzle, CoordSwizzle)) else _fly_tuple(x)


def _fly_tuple(x: object) -> str:
    if isinstance(x, tuple):
        if not x:
            raise not_in("FlyDSL", "()", "a tuple that is not empty", "write an extent of 1")
        return f"({','.join(map(_fly_tuple, x))})"
    if isinstance(x, Basis):
        first, *more = x.terms
        if more:
            raise not_in("FlyDSL", f"the stride {x}", "a stride along one mode", "compose it with the layout outside")
        return _fly_tuple(first.value) + "".join(f"E{i}" for i in first.path)
    return str(int(x)) if type(x) is Int else "?"


# -------------------------------------------------------------------------------------------------- constructors


def pycute(x: object) -> str:
    """A layout as PyCuTe, NVIDIA's pycute and tensor-layouts make it: `Layout((4, 8), (1, 4))`."""
    layout = _plain(x, "PyCuTe", "write tla.linear.to_xor_strides(layout) for a swizzle")
    return f"Layout({_python(layout.shape)}, {_python(layout.stride)})"


def _python(x: IntTupleLike) -> str:
    if isinstance(x, tuple):
        return f"({', '.join(map(_python, x))}{',' if len(x) == 1 else ''})"
    return " + ".join(map(_python_element, x.terms)) if isinstance(x, Basis) else _number(x, "PyCuTe")


def _python_element(x: ScaledBasis) -> str:
    factor, element = _number(x.value, "PyCuTe"), f"E({', '.join(map(str, x.path))})"
    return element if factor == "1" else f"{factor}*{element}"


def mojo(x: object) -> str:
    """A layout as Mojo makes it: `Layout(IntTuple(4, 8), IntTuple(1, 4))`. One integer is a tuple of one there."""
    layout = _plain(x, "Mojo", 'write source(x.inner, "mojo"): swizzles are functions there')
    if gives_coordinates(layout):
        raise not_in("Mojo", shown(layout), "a layout of offsets", "write each mode of the coordinates by itself")
    return f"Layout({', '.join(_int_tuple(modes_of(side)) for side in (layout.shape, layout.stride))})"


def _int_tuple(x: IntTupleLike) -> str:
    return f"IntTuple({', '.join(map(_int_tuple, x))})" if isinstance(x, tuple) else _number(x, "Mojo")


def axe(x: object, axes: Sequence[str] = (), replicas: bool = False) -> str:
    """A layout as TVM's Axe writes it: `S[(8,4):(4@a0,1@a1)]`, mode k of coordinates the axis axes[k], a<k> where there
    is none; offsets without a name. replicas: the last mode is what counts the places of an element."""
    _require_names(axes)
    if isinstance(x, ComposedLayout) and isinstance(x.inner, Layout):
        text = axe(x.inner, axes, replicas)
        starts = x.offset if isinstance(x.offset, tuple) else (x.offset,)
        basis = (_1,) if starts is not x.offset else tuple(E[k] for k in range(len(starts)))
        names = [f"@{_name(k, axes)}" if starts is x.offset else "" for k in range(len(starts))]
        text += "".join(f" + {_number(n, 'Axe')}{name}" for n, name in zip(starts, names) if n != 0)
        if isinstance(x.outer, Swizzle):
            bits, base, shift = x.outer.bits, x.outer.base, x.outer.shift
            return (
                f"ComposeLayout({base}, {bits}, {abs(shift)}, "
                f"TileLayout({text}){', swizzle_inner=False' if shift < 0 else ''})"
            )
        if (
            isinstance(x.outer, Layout)
            and modes_of(x.outer.stride) == basis
            and all(n == 1 for n in modes_of(x.outer.shape))
        ):
            return text
    layout = _plain(x, "Axe", 'write source(x.inner, "axe"): it has one swizzle, after all else')
    shape, stride = modes_of(layout.shape), modes_of(layout.stride)
    if not replicas:
        return _box("S", shape, stride, axes)
    if len(shape) != 2:
        what = f"{shown(layout)} as source of Axe, with replicas"
        raise RankError(what, "2 modes: elements and places", "write make_layout(elements, places)")
    return " + ".join(_box(kind, modes_of(n), modes_of(d), axes) for kind, n, d in zip("SR", shape, stride))


def _box(kind: str, shape: tuple[Leaf, ...], stride: tuple[Leaf, ...], axes: Sequence[str]) -> str:
    if any(isinstance(n, tuple) for n in shape):
        raise not_in("Axe", shown(shape), "extents that are not nested", "write flatten(layout)")
    return f"{kind}[({','.join(_number(n, 'Axe') for n in shape)}):({','.join(_axis(d, axes) for d in stride)})]"


def _axis(d: Leaf, axes: Sequence[str]) -> str:
    if not isinstance(d, Basis):
        return _number(d, "Axe")
    first, *more = d.terms
    axis, *inside = first.path
    if more or inside:
        raise not_in("Axe", f"the stride {d}", "a stride along one axis", "give each axis a mode of its own")
    return f"{_number(first.value, 'Axe')}@{_name(axis, axes)}"


def _name(axis: int, axes: Sequence[str]) -> str:
    name = axes[axis] if axis < len(axes) else f"a{axis}"
    if name in axes[:axis]:
        raise RangeError(f"axis {axis} as source of Axe: {name} is another one", "a name for each axis", "name it too")
    return name


def _require_names(axes: object) -> None:
    """Refuse what are no names of axes, or one name twice, which would be one axis."""
    if not isinstance(axes, (list, tuple)) or not all(
        isinstance(a, str) and a.isascii() and a.isidentifier() for a in axes
    ):
        raise not_in("Axe", f"axes={axes!r:.60}", "a list of names", 'write axes=["laneid", "m"]')
    if len({*axes}) < len(axes):
        raise RangeError(f"axes={axes!r:.60} as source of Axe", "names that differ", "rename one of them")


# --------------------------------------------------------------------------------------------- views of an arange


def torch(x: object) -> str:
    """The layout as a view of an arange in torch: the tensor of its offsets."""
    return _view(x, "torch", "torch.arange({})", "view", "permute")


def numpy(x: object) -> str:
    """The layout as a view of an arange in numpy: the array of its offsets."""
    return _view(x, "numpy", "numpy.arange({})", "reshape", "transpose")


def cutile(x: object) -> str:
    """The layout as what shape operations of cuTile make of an arange: the tile of its offsets.

    >>> from tla import parse
    >>> print(cutile(parse("(_4,_8):(_1,_4)")))
    ct.arange(32, dtype=ct.int32).reshape((8, 4)).permute((1, 0))
    """
    text = _view(x, "cuTile", "ct.arange({}, dtype=ct.int32)", "reshape", "permute")
    if any(int(n) & (int(n) - 1) for n in leaves(_plain(x, "cuTile", "").shape)):
        raise LeafTypeError(f"{shown(x)} as a tile of cuTile", "extents that are powers of two", "pad them")
    return re.sub(r"\.(reshape|permute)\(([^()]*)\)", lambda m: f".{m[1]}(({m[2]}{'' if ',' in m[2] else ','}))", text)


def _view(x: object, system: str, begin: str, split: str, order: str) -> str:
    layout = _plain(x, system, "write tla.offsets(layout): a swizzle is no view")
    if gives_coordinates(layout):
        what = f"{shown(layout)} as a view in {system}"
        raise LeafTypeError(what, "a layout of offsets", "write each mode of the coordinates by itself")
    sizes = [math.prod(int(_number(s, system)) for s in leaves(mode)) for mode in modes_of(layout.shape)]
    # Rows are fastest at their end there: the digits of a mode stand in reverse order, and are joined.
    given = zip(leaves(layout.shape), leaves(layout.stride))
    modes = [
        [(int(s), int(_number(d, system))) for s, d in itertools.islice(given, len([*leaves(m)]))]
        for m in modes_of(layout.shape)
    ]
    digits = [digit for mode in modes for digit in reversed(mode) if digit[0] != 1]
    if 0 in sizes or any(d < 0 for _s, d in digits):
        raise LeafTypeError(
            f"{shown(layout)} as a view in {system}", "no negative strides, and not empty", "reverse it there"
        )
    places = max(1 + sum((s - 1) * d for s, d in digits), math.prod(sizes))
    if places > INT64_MAX:
        raise RangeError(f"{shown(layout)} as a view in {system}", "less than 2**63 places", "write a tile of it")
    text = _permuted(digits, begin, split, order)
    if text is None and system != "torch":
        as_strided = "write numpy.lib.stride_tricks.as_strided, whose strides are bytes"
        fix = as_strided if system == "numpy" else "fill its gaps"
        raise LeafTypeError(f"{shown(layout)} as a view of {system}'s arange", "each offset from 0 on once", fix)
    if text is None:
        extents, steps = (_python(tuple(column)) for column in zip(*digits))
        text = f"{begin.format(1 + sum((s - 1) * d for s, d in digits))}.as_strided({extents}, {steps})"
    return text if [s for s, _d in digits] == sizes else f"{text}.reshape({', '.join(map(str, sizes))})"


def _permuted(digits: list[tuple[int, int]], begin: str, split: str, order: str) -> str | None:
    """The digits, slowest first, as those of an arange in another order; None where they have not each offset once."""
    moving = sorted(range(len(digits)), key=lambda k: -digits[k][1])
    place = 1
    for s, d in (digits[k] for k in reversed(moving)):
        if d != place:
            return None
        place *= s
    text = begin.format(place)
    if len(moving) > 1:
        text += f".{split}({', '.join(str(digits[k][0]) for k in moving)})"
    permuted = [moving.index(k) for k in range(len(digits))]
    return text if permuted == [*range(len(digits))] else f"{text}.{order}({', '.join(map(str, permuted))})"


# ---------------------------------------------------------------------------------------------------------- isl


def isl(x: AnyLayout) -> str:
    """A layout as a map of isl: `{ [i0, i1] -> [i0 + 4*i1] : 0 <= i0 < 4 and 0 <= i1 < 8 }`, one dimension for each
    mode. The last digit of a mode is not bounded, but the domain is."""
    if not isinstance(x, AnyLayout):
        raise not_in("isl", shown(x), "a layout", "make one with MakeLayout")
    modes = modes_of(x.shape)
    names = [f"i{k}" for k in range(len(modes))]
    sizes = [math.prod(int(_number(s, "isl")) for s in leaves(mode)) for mode in modes]
    bounds = [f"0 <= {name} < {size}" for name, size in zip(names, sizes)]
    fresh = (f"t{k}" for k in itertools.count())
    between: list[str] = []
    results = _isl_values(x, names, fresh, between)
    if not names:
        return f"{{ [] -> [{', '.join(results)}] }}"
    if not between:
        return f"{{ [{', '.join(names)}] -> [{', '.join(results)}] : {' and '.join(bounds)} }}"
    values = [f"o{k}" for k in range(len(results))]
    where = [*between, *(f"{value} = {result}" for value, result in zip(values, results))]
    exists = ", ".join(text.partition(" ")[0] for text in between)
    return f"{{ [{', '.join(names)}] -> [{', '.join(values)}] : {' and '.join(bounds)} and exists {exists} : {' and '.join(where)} }}"


def _isl_values(x: AnyLayout, names: list[str], fresh: Iterator[str], between: list[str]) -> list[str]:
    """The values of a layout, each an expression of names; what stands between two maps gets a name of its own."""
    if isinstance(x, Layout):
        return _isl_layout(x, names)
    if not isinstance(x, ComposedLayout):
        raise not_in("isl", shown(x), "a layout of known kinds", "write it as a ComposedLayout")
    places = _isl_values(x.inner, names, fresh, between)
    offsets = list(leaves(x.offset))
    sums = [
        f"{p} + {_number(n, 'isl')}" if known(n) != 0 else p
        for p, n in itertools.zip_longest(places, offsets, fillvalue=0)
    ]
    inner = [next(fresh) for _place in sums]
    between += [f"{name} = {total}" for name, total in zip(inner, sums)]
    if isinstance(x.outer, Layout):
        if len(inner) == 1 and not gives_coordinates(x.inner):
            return _isl_layout(Layout((x.outer.shape,), (x.outer.stride,)), inner)
        rank = len(modes_of(x.outer.shape))
        return _isl_layout(x.outer, [*inner, *["0"] * (rank - len(inner))])
    if isinstance(x.outer, CoordSwizzle):
        s = x.outer
        if len(s.row) != 1 or len(s.col) != 1 or max(s.row[0], s.col[0]) >= len(inner):
            raise not_in("isl", s, "modes that are not nested", "flatten the coordinates first")
        row, col = inner[s.row[0]], inner[s.col[0]]
        bits = [(s.row_base + k, s.col_base + k) for k in range(s.bits)]
        return [_xored(name, row, bits) if name == col else name for name in inner]
    shift = x.outer.shift
    low = x.outer.base + max(0, -shift)
    return [_xored(inner[0], inner[0], [(low + shift + k, low + k) for k in range(x.outer.bits)])]


def _xored(changed: str, read: str, bits: list[tuple[int, int]]) -> str:
    """An expression with some bits xored into others: bit b becomes (b + r) mod 2, which is b + r - 2 b r."""
    out = changed
    for reads, changes in bits:
        b, r = (
            f"({name} mod 2)" if k == 0 else f"(floor({name}/{1 << k}) mod 2)"
            for name, k in ((changed, changes), (read, reads))
        )
        out += f" + {1 << changes}*((({b} + {r}) mod 2) - {b})" if changes else f" + (({b} + {r}) mod 2) - {b}"
    return out


def _isl_layout(layout: Layout, names: list[str]) -> list[str]:
    """The values of a plain layout: one, or one for each mode of coordinates."""
    shape, stride = modes_of(layout.shape), modes_of(layout.stride)
    sums: dict[int, list[str]] = {}
    for name, extents, steps in zip(names, shape, stride):
        places = [*itertools.accumulate((int(_number(s, "isl")) for s in leaves(extents)), int.__mul__, initial=1)]
        count = len(places) - 1
        for k, (s, d) in enumerate(zip(leaves(extents), leaves(steps))):
            digit = name if places[k] == 1 else f"floor({name}/{places[k]})"
            digit = digit if k == count - 1 else f"({digit} mod {_number(s, 'isl')})"
            for path, step in steps_of(d):
                if len(path) > 1:
                    raise not_in("isl", f"the stride {d}", "coordinates that are not nested", "flatten them first")
                if known(step) != 0:
                    factor = _number(step, "isl")
                    sums.setdefault(path[0] if path else -1, []).append(digit if factor == "1" else f"{factor}*{digit}")
    if not gives_coordinates(layout):
        return [" + ".join(sums.get(-1, ["0"]))]
    return [" + ".join(sums.get(k, ["0"])) for k in range(max(sums, default=0) + 1)]
