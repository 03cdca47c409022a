"""The layouts that other libraries write, read: their constructors, and what shape operations make of an arange.

    text    = layout | "(" tree ":" tree ")" | chain
    layout  = "Layout" "(" tree [ "," tree ] ")" | ( "Layout.row_major" | "Layout.col_major" ) "(" integer {
            "," integer } ")"
    tree    = leaf | [ "IntTuple" ] "(" [ tree { "," tree } [ "," ] ] ")" as in Python, (4) is 4; IntTuple(4) is (4)
    leaf    = summand { "+" summand }
    summand = integer { "@" integer } | [ integer "*" ] "E" "(" integer { "," integer } ")" [ "*" integer ]
    chain   = arange { "." name [ "(" [ arguments ] ")" ] }
    arange  = ( "torch" | "numpy" | "np" ) ".arange" "(" integer ")" | "ct.arange" "(" integer "," "dtype" "="
            "ct" "." name ")"

    Layout((4, 8), (1, 4))                           PyCuTe, NVIDIA's pycute, tensor-layouts; E(0) is a basis element
    Layout(IntTuple(4, 8), IntTuple(1, 4))           Mojo; it prints ((4, 8):(1, 4))
    torch.arange(32).view(8, 4).permute(1, 0)        the layout that gives the elements of that tensor
    ct.arange(32, dtype=ct.int32).reshape((8, 4))    the same of a tile of cuTile, whose extents are powers of two

All their numbers are known. Source: pycute/layout.py of NVlabs/CuTe; max/kernels/src/layout/layout.mojo of Modular;
the documents of torch.Tensor and numpy.ndarray, and of cuda.tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from ..core.basis import E
from ..core.int_tuple import IntTuple
from ..core.ints import Int, IntTree, IntTupleLike, static
from ..core.kinds import AnyLayout
from ..core.layout import Layout, static_layout
from ..core.reader import Reader, write_nearest
from ..core.strides import compact_col_major, compact_row_major
from .grammar import sum_of_elements

_1 = Int[1]()
#: An array of more dimensions is refused, as by the libraries.
MAX_DIMENSIONS = 64
#: A dimension of an array: its digits, the slowest first, each an extent and how far its step goes.
Digits: TypeAlias = "list[tuple[int, int]]"


class PeerReader(Reader):
    """A reader of what other libraries write. Its layouts are static."""

    tokens = r"-?[0-9]+(?![0-9A-Za-z_.])|[A-Za-z_]\w*|[][():,.+*@=]"
    noun, example = "a layout of another library", "write Layout((4, 8), (1, 4))"
    trailing = True

    def read(self, origin_shape: IntTupleLike | None = None) -> AnyLayout:
        """The value of the whole text; of a layout with what of it is valid."""
        value = self.whole(self.value)
        if origin_shape is None:
            return value
        if not isinstance(value, Layout):
            self.fail("an origin_shape, and no plain layout", "shape:stride", "drop origin_shape", 0)
        return Layout(value.shape, value.stride, origin_shape)

    def value(self) -> AnyLayout:
        if self.token in _CHAINS:
            return self.chain()
        if self.token == "Layout":
            return self.layout()
        shape = self.tree()
        self.expect(":", "and the strides")
        return Layout(shape, self.tree())

    # ---------------------------------------------------------------------------------------------- constructors

    def layout(self) -> Layout:
        self.advance()
        if self.take("."):
            orders = {"row_major": compact_row_major, "col_major": compact_col_major}
            order = orders[self.word(orders, "an order of strides")]
            shape = tuple(self.listed("()", self.static_integer, "extents", empty=False))
            return Layout(shape, order(shape))
        parts = self.listed("()", self.tree, "a shape and its strides", empty=False)
        if len(parts) > 2:
            self.fail(f"a layout of {len(parts)} parts", "a shape and its strides")
        return Layout(parts[0], parts[1] if len(parts) == 2 else compact_col_major(parts[0]))

    def tree(self) -> IntTree:
        """A number, or a tuple of these."""
        is_tuple = self.take("IntTuple")
        if not is_tuple and self.token != "(":
            return self.leaf()
        at = self.at
        modes = self.listed("()", self.tree, "numbers")
        alone = self.text[at : self.at].rstrip().removesuffix(")").rstrip()
        if len(modes) == 1 and not is_tuple and not alone.endswith(","):
            return modes[0]
        return tuple.__new__(IntTuple, modes)

    def static_integer(self) -> Int:
        return static(self.integer("an integer"))

    def leaf(self) -> IntTree:
        return sum_of_elements(self, self.summand)

    def summand(self) -> IntTree:
        factor = None if self.token == "E" else self.static_integer()
        if factor is not None and self.token == "@":
            path = []
            while self.take("@"):
                path.append(self.integer("a mode", 0))
            return E[tuple(reversed(path))] * factor
        if factor is not None and not self.take("*"):
            return factor
        self.expect("E", "as in 2*E(0)")
        element = E[tuple(self.listed("()", lambda: self.integer("a mode", 0), "modes", empty=False))]
        if factor is None:
            factor = self.static_integer() if self.take("*") else _1
        return element * factor

    # ---------------------------------------------------------------------------------------------------- chains

    def chain(self) -> Layout:
        """The layout of the elements that shape operations make of an arange. Rows are fastest at their
        end, as there."""
        library = self.next()
        operations = _CHAINS[library]
        self.expect(".")
        self.expect("arange")
        n = self.enclosed("()", self.elements_of_tile if library == "ct" else self.elements)
        dims: list[Digits] = [[(n, 1)]]
        while self.take("."):
            at, name = self.at, self.next()
            operation = operations.get(name)
            if operation is None:
                self.fail(f"the operation {name[:40]!r}", ", ".join(operations), write_nearest(name, operations), at)
            arguments = self.arguments() if self.token == "(" else None
            if (arguments is None) != (name in ("T", "mT")):
                what = f"{name}{'' if arguments is None else '(...)'}"
                self.fail(what, "T and mT without brackets, all others with them", at=at)
            try:
                dims = operation(dims, *(arguments or ()))
            except (_Refused, TypeError, IndexError) as why:
                reason = str(why) if isinstance(why, _Refused) else f"{name} with these arguments"
                what = f"{reason}, of sizes {[_size(d) for d in dims]}"
                self.fail(what, "dimensions that it has, and sizes that cut them in whole parts", at=at)
            if len(dims) > MAX_DIMENSIONS:
                what = f"an array of {len(dims)} dimensions"
                self.fail(what, f"at most {MAX_DIMENSIONS}", "leave out those of extent 1", at)
        return static_layout([[(s, d) for s, d in reversed(dim) if s != 1] for dim in dims])

    def elements(self) -> int:
        return self.integer("how many elements", 1)

    def elements_of_tile(self) -> int:
        at, n = self.at, self.elements()
        if n & (n - 1):
            self.fail(f"a tile of {n} elements", "a power of two, as cuTile has it", at=at)
        for word in (",", "dtype", "=", "ct", "."):
            self.expect(word, "as in ct.arange(32, dtype=ct.int32)")
        self.next()
        return n

    def arguments(self) -> list[int | tuple[int, ...]]:
        """Integers, and one tuple of them as they are."""
        return self.listed("()", self.argument, "integers")

    def argument(self) -> int | tuple[int, ...]:
        if self.token == "(":
            return tuple(self.listed("()", lambda: self.integer("an integer")))
        return self.integer("an integer")


class _Refused(Exception):
    """An operation that an array of these sizes does not have."""


def _size(dim: Digits) -> int:
    return math.prod(s for s, _d in dim)


def _opened(given: tuple[Any, ...]) -> tuple[int, ...]:
    return given[0] if len(given) == 1 and isinstance(given[0], tuple) else given


def _reshaped(dims: list[Digits], *given: int | tuple[int, ...]) -> list[Digits]:
    """The digits dealt out anew; one that an extent ends inside of is cut."""
    sizes, count = [*_opened(given)], math.prod(map(_size, dims))
    if sizes.count(-1) == 1 and (known := -math.prod(sizes)) > 0 and count % known == 0:
        sizes[sizes.index(-1)] = count // known
    if math.prod(sizes) != count or min(sizes, default=1) < 1:
        raise _Refused(f"a reshape to {sizes}")
    rest = [digit for dim in dims for digit in dim if digit[0] != 1]
    out: list[Digits] = []
    for size in sizes:
        dim: Digits = []
        while size > 1:
            s, d = rest.pop(0)
            if s > size:
                if s % size:
                    raise _Refused(f"a reshape to {sizes}, which cuts {s} into parts of {size}")
                rest.insert(0, (s // size, d))
                s, d = size, d * (s // size)
            if size % s:
                raise _Refused(f"a reshape to {sizes}, which joins {s} into {size}")
            dim.append((s, d))
            size //= s
        out.append(dim or [(1, 0)])
    return out


def _permuted(dims: list[Digits], *given: int | tuple[int, ...]) -> list[Digits]:
    order = [i + len(dims) if i < 0 else i for i in _opened(given)]
    if sorted(order) != [*range(len(dims))]:
        raise _Refused(f"the order {order}")
    return [dims[i] for i in order]


def _swapped(dims: list[Digits], i: int, j: int) -> list[Digits]:
    order = [*range(len(dims))]
    order[i], order[j] = order[j], order[i]
    return _permuted(dims, *order)


def _moved(dims: list[Digits], i: int, j: int) -> list[Digits]:
    order = [*range(len(dims))]
    place, at = order.index(order[i]), order.index(order[j])
    order.insert(at, order.pop(place))
    return _permuted(dims, *order)


def _flattened(dims: list[Digits], start: int = 0, end: int = -1) -> list[Digits]:
    low, high = (range(len(dims))[k] for k in (start, end))
    if low > high:
        raise _Refused(f"dimensions from {low} to {high}")
    return [*dims[:low], [digit for dim in dims[low : high + 1] for digit in dim], *dims[high + 1 :]]


def _unflattened(dims: list[Digits], at: int, sizes: tuple[int, ...]) -> list[Digits]:
    place = range(len(dims))[at]
    return [*dims[:place], *_reshaped([dims[place]], sizes), *dims[place + 1 :]]


def _strided(dims: list[Digits], sizes: tuple[int, ...], steps: tuple[int, ...]) -> list[Digits]:
    """torch's as_strided, of the arange itself: its strides are those of the storage."""
    reach, n = sum((s - 1) * d for s, d in zip(sizes, steps)), _size(dims[0])
    fit = len(sizes) == len(steps) and min(sizes, default=1) >= 1 and min(steps, default=0) >= 0
    if not fit or dims != [[(n, 1)]] or reach >= n:
        raise _Refused(f"sizes {[*sizes]} and steps {[*steps]}")
    return [[(s, d)] for s, d in zip(sizes, steps)]


def _without(dims: list[Digits], at: int) -> list[Digits]:
    place = range(len(dims))[at]
    return dims if _size(dims[place]) > 1 else [*dims[:place], *dims[place + 1 :]]


def _with_one(dims: list[Digits], at: int) -> list[Digits]:
    place = range(len(dims) + 1)[at]
    return [*dims[:place], [(1, 0)], *dims[place:]]


def _transposed(dims: list[Digits], *order: int | tuple[int, ...]) -> list[Digits]:
    """numpy's transpose: an order of all dimensions, or none for the reverse."""
    return _permuted(dims, *order) if order else dims[::-1]


def _turned(dims: list[Digits], *two: int) -> list[Digits]:
    """cuTile's transpose: of two dimensions, which a tile of two need not name."""
    if not two and len(dims) != 2:
        raise _Refused("a transpose without the two dimensions")
    return _swapped(dims, *(two or (0, 1)))


def _of_two_turned(dims: list[Digits]) -> list[Digits]:
    """torch's t: of two dimensions at most."""
    if len(dims) > 2:
        raise _Refused("t of more than two dimensions")
    return dims[::-1]


_BOTH: dict[str, Callable[..., list[Digits]]] = {
    "reshape": _reshaped,
    "swapaxes": _swapped,
    "squeeze": _without,
    "T": lambda dims: dims[::-1],
    "mT": lambda dims: _swapped(dims, -2, -1),
}
#: The shape operations of each library. torch's transpose swaps two dimensions.
_CHAINS: dict[str, dict[str, Callable[..., list[Digits]]]] = {
    "ct": {
        "reshape": lambda dims, sizes: _reshaped(dims, sizes),
        "permute": lambda dims, order: _permuted(dims, order),
        "transpose": _turned,
    },
    "numpy": {
        **_BOTH,
        "transpose": _transposed,
        "ravel": lambda dims: _flattened(dims),
        "flatten": lambda dims: _flattened(dims),
    },
    "torch": {
        **_BOTH,
        "view": _reshaped,
        "as_strided": _strided,
        "permute": _permuted,
        "transpose": _swapped,
        "t": _of_two_turned,
        "movedim": _moved,
        "flatten": _flattened,
        "unflatten": _unflattened,
        "unsqueeze": _with_one,
        "contiguous": lambda dims: dims,
    },
}
_CHAINS["np"] = _CHAINS["numpy"]
