"""RadixLayout: a map of named inputs to named outputs that is linear over digits of any extents.

An output is a number in mixed radix, and each of its digits adds modulo its own radix: a digit of radix 2 is a bit that
xors, one digit of the whole size is the plain sum of offsets. So outputs are elements of a product of cyclic groups
Z_m1 x Z_m2 x ..., and an input digit c goes to c times its basis: over bits a digit of extent 4 repeats after 2, and
two bits are two digits. With all radices and extents 2 this is Triton's linear layout; with one radix that no sum
reaches it is CuTe's shape and stride.

One fact carries the algebra. Digits that add modulo m1, m2, ... add as one number modulo m1*m2*... exactly where no
digit but the highest wraps: the first sum that wraps would carry into the next digit. So an input digit is cut where
its multiples first wrap, and what still wraps then is no map of these radices at all (`cut`, `wraps`). Cutting radices,
and joining them, is exact and refuses only that.

Source: Linear Layouts, arXiv 2505.23819, section 6; CuTe, arXiv 2603.02298; digits modulo radices as in
facebookexperimental/triton#1629.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.arrays import computed
from ..core.display import Displayed
from ..core.errors import InjectivityError, LeafTypeError, RangeError, RankError
from ..core.value import Value, new_value, put
from .arguments import checked
from .building import merged
from .digits import (
    Digit,
    Ins,
    Vector,
    aligned,
    blocks,
    composed,
    cut,
    cut_places,
    digits_of,
    ins_of_values,
    listed,
    number,
    radices_of,
    radix_text,
    shortest,
    split,
    taken,
    vector_text,
    wraps,
)
from .groups import back_steps, lattice_of, left_steps, turning
from .value import MAX_BITS, checked_names, input_value, integer, pairs

#: Where no lattice tells what is reached no more inputs than this are looked at.
MAX_COUNTED = 2**20
#: Of no more inputs than this the digits over other radices are looked for in the values.
MAX_READ = 2**8
#: A size, whose values add as one number, or the radices of its digits, the lowest first.
Radices = int | Sequence[int]


class RadixLayout(Value, Displayed):
    """A map, linear over digits of mixed radix, of named inputs to named outputs.

    bases      name -> the digits of this input, the lowest first: pairs of an extent and a basis, one integer
               for each output
    out_dims   name -> its size, whose values add modulo it, or the radices of its digits, the lowest first, each of
               which adds by itself
    Raises     RangeError for extents below 1, bases outside of the outputs, or more than 62 bits; RankError for bases
               of another length

    >>> wide = RadixLayout({"lane": [(4, 1), (3, 16)], "register": [(4, 4)]}, {"column": 48})
    >>> wide.apply({"lane": 5, "register": 2})
    {'column': 25}
    >>> print(wide.invert())
    column=(4,4,3):((1,0),(0,1),(4,0)) -> lane=(4,3), register=4

    Inputs are in their shortest form: digits of extent 1 are left out, and neighbours of which one goes on along the
    other are one digit. There is one such form of each map, so that equal layouts are equal maps of the same radices;
    same_map compares any. radix(x) makes one of a LinearLayout, which is all over bits, of a layout of shape and
    stride, or of a text.
    """

    __slots__ = ("ins", "outs")

    ins: Ins
    outs: tuple[tuple[str, Vector], ...]

    def __init__(
        self, bases: Mapping[str, object] | Iterable[object], out_dims: Mapping[str, Radices] | Iterable[object]
    ) -> None:
        outs = [(name, radices_of(name, n)) for name, n in pairs("out_dims", out_dims, "RadixLayout")]
        ins = [(name, digits_of(name, of, outs)) for name, of in pairs("bases", bases, "RadixLayout")]
        for kind, names in (("input", [name for name, _ in ins]), ("output", [name for name, _ in outs])):
            checked_names(kind, names, "RadixLayout")
            for name in names:
                if not (name.isascii() and name.isidentifier()):
                    what = f"RadixLayout: the {kind} {name!r:.40}"
                    raise LeafTypeError(what, "a name of letters, digits and underscores", "rename it")
        made = _made(ins, outs)
        put(self, "ins", made.ins)
        put(self, "outs", made.outs)
        for kind, sizes in (("inputs", self.in_sizes), ("outputs", self.out_sizes)):
            if math.prod(sizes.values()) >> MAX_BITS:
                raise RangeError(f"RadixLayout: {kind} of {sizes}", f"2^{MAX_BITS} in all", "use smaller sizes")

    def __eq__(self, other: object) -> bool:
        return (self.ins, self.outs) == (other.ins, other.outs) if isinstance(other, RadixLayout) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.ins, self.outs))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.bases, self.outs)

    # ------------------------------------------------------------------------------------------- what it is

    @property
    def bases(self) -> dict[str, list[tuple[int, Vector]]]:
        """name of an input -> pairs of a digit's extent and its basis, the lowest first."""
        return {name: [(d.extent, self._packed(d.step)) for d in digits] for name, digits in self.ins}

    @property
    def out_dims(self) -> dict[str, Vector]:
        """name of an output -> the radices of its digits, the lowest first."""
        return dict(self.outs)

    @property
    def in_sizes(self) -> dict[str, int]:
        """name of an input -> its size."""
        return {name: math.prod(d.extent for d in digits) for name, digits in self.ins}

    @property
    def out_sizes(self) -> dict[str, int]:
        """name of an output -> its size."""
        return {name: math.prod(radices) for name, radices in self.outs}

    @property
    def digits(self) -> list[Digit]:
        """All digits of the inputs, the first input's first."""
        return [d for _, digits in self.ins for d in digits]

    @property
    def radices(self) -> Vector:
        """All radices of the outputs, the first output's first."""
        return tuple(m for _, radices in self.outs for m in radices)

    def _packed(self, step: Sequence[int]) -> Vector:
        it = iter(step)
        return tuple(number([next(it) for _ in radices], radices) for _, radices in self.outs)

    def __str__(self) -> str:
        single = len(self.outs) == 1
        ins = []
        for name, digits in self.bases.items():
            strides = [str(v[0]) if single else vector_text(v) for _, v in digits] or [
                "0" if single else vector_text([0] * len(self.outs))
            ]
            ins.append(f"{name}={listed([str(n) for n, _ in digits] or ['1'])}:{listed(strides)}")
        outs = ", ".join(f"{name}={radix_text(radices)}" for name, radices in self.outs)
        return f"{', '.join(ins)} -> {outs}".strip()

    def __repr__(self) -> str:
        return f"radix({str(self)!r})"

    @checked
    def apply(self, inputs: Mapping[str, object]) -> dict[str, Any]:
        """The outputs of one value for each input: integers, arrays of them, or symbols. Past its size an
        input begins again.

        Raises     RankError for other names than the inputs'

        >>> RadixLayout({"i": [(6, 5)]}, {"o": 6}).apply({"i": 4})                      # 20 modulo 6
        {'o': 2}
        """
        if {*inputs} != {*self.in_sizes}:
            has = ", ".join(self.in_sizes) or "none"
            what = f"apply to inputs {', '.join(map(str, inputs)) or 'none'}"
            raise RankError(what, f"one value for each of {has}", "give them all")
        values: list[Any] = []
        for name, digits in self.ins:
            left = input_value(name, inputs[name])
            for d in digits:
                values.append(computed(operator.mod, left, d.extent))
                left = computed(operator.floordiv, left, d.extent)
        sums = iter([self._digit_of(k, m, values) for k, m in enumerate(self.radices)])
        return {name: number([next(sums) for _ in radices], radices) for name, radices in self.outs}

    def _digit_of(self, k: int, radix: int, values: Sequence[Any]) -> Any:
        """The k-th digit of the outputs: reduced only where it can wrap."""
        total: Any = 0
        for c, d in zip(values, self.digits):
            if d.step[k]:
                total = computed(operator.add, total, computed(operator.mul, c, d.step[k]))
        return computed(operator.mod, total, radix) if wraps(self.digits, k, radix) else total

    @checked
    def same_map(self, other: RadixLayout) -> bool:
        """Whether both take the same integers to the same integers, whatever their radices are.

        >>> bits = RadixLayout({"i": [(2, 1), (2, 2)]}, {"o": (2, 2)})
        >>> plain = RadixLayout({"i": [(4, 1)]}, {"o": 4})
        >>> bits == plain, bits.same_map(plain)
        (False, True)
        """
        if (self.in_sizes, self.out_sizes) != (other.in_sizes, other.out_sizes):
            return False
        for a, b in ((self, other), (other, self)):
            try:
                return a.reshape_outs(b.out_dims) == b
            except RangeError:  # no map of the other's radices, or of digits that wrap both ways
                continue
        return self._values() == other._values()

    # ------------------------------------------------------------------------------------------- other digits

    @checked
    def reshape_outs(self, dims: Mapping[str, Radices]) -> RadixLayout:
        """The same map to outputs of other names, sizes or radices, the first name fastest.

        Raises     RangeError for another size in all, and where the map is not linear over these radices

        >>> print(RadixLayout({"i": [(8, 6)]}, {"o": 48}).reshape_outs({"o": (2, 2, 2, 2, 3)}))
        Traceback (most recent call last):
        tla.core.errors.RangeError: i=8:6 -> o=48 is not linear over digits of radices (2^4,3): digit 2 carries
          expected  radices whose digits do not carry
          fix       keep o=48
        >>> print(RadixLayout({"i": [(8, 6)]}, {"o": 48}).reshape_outs({"column": (2, 3), "row": 8}))
        i=8:(0,1) -> column=(2,3), row=8
        """
        outs = [(name, radices_of(name, n)) for name, n in pairs("out_dims", dims, "reshape_outs")]
        wanted = [m for _, radices in outs for m in radices]
        if math.prod(wanted) != math.prod(self.radices):
            what = f"reshape_outs: sizes of {math.prod(wanted)} in all"
            raise RangeError(what, f"{math.prod(self.radices)}, as many as it has", "give sizes whose product is that")
        found, at = self, 0
        try:
            for old, new in blocks(self.radices, wanted):
                if old != new:
                    found = found._regrouped(at, len(old), [math.prod(new)]) if len(old) > 1 else found
                    found = found._regrouped(at, 1, new) if len(new) > 1 else found
                at += len(new)
        except RangeError:  # it is linear over them, if it is, with its inputs cut at other places
            sizes = self.in_sizes
            few = math.prod(sizes.values()) <= MAX_READ
            ins = ins_of_values([split(x, wanted) for x in self._values()], sizes, wanted) if few else None
            if ins is None:
                raise
            return _made(ins, outs)
        return _made(found.ins, outs)

    def _regrouped(self, at: int, count: int, new: Sequence[int]) -> RadixLayout:
        """The radices from `at` on, `count` of them, as others: one as several, or several as one."""
        here = self.radices
        old = here[at : at + count]
        fine, many = (old, True) if count > 1 else (new, False)
        lower = range(at, at + len(fine) - 1)

        def fine_digits(step: Vector) -> Vector:
            return step if many else (*step[:at], *split(step[at], fine), *step[at + 1 :])

        rooms = {k: fine[k - at] for k in lower}
        ins = [
            (name, [piece for d in digits for piece in cut(d, here, rooms, fine_digits)]) for name, digits in self.ins
        ]
        pieces = [Digit(d.extent, fine_digits(d.step)) for _, digits in ins for d in digits]
        for k in lower:
            if wraps(pieces, k, fine[k - at]):
                what = f"{self} is not linear over digits of radices {radix_text(new)}: digit {k - at} carries"
                outs = ", ".join(f"{name}={radix_text(radices)}" for name, radices in self.outs)
                raise RangeError(what, "radices whose digits do not carry", f"keep {outs}")

        def changed(step: Vector) -> Vector:
            if many:
                return (*step[:at], number(step[at : at + count], old), *step[at + count :])
            return fine_digits(step)

        radices = (*here[:at], *new, *here[at + count :])
        regrouped = [(name, [Digit(d.extent, changed(d.step)) for d in digits]) for name, digits in ins]
        return _made(regrouped, [("", radices)])

    @checked
    def reshape_ins(self, dims: Mapping[str, int]) -> RadixLayout:
        """The same digits of input under other names and sizes, the first name lowest.

        Raises     RangeError for another size in all, and for a size that cuts a digit unevenly

        >>> tiled = RadixLayout({"thread": [(96, 1)]}, {"o": 96})
        >>> print(tiled.reshape_ins({"lane": 32, "warp": 3}))
        lane=32:1, warp=3:32 -> o=96
        """
        dims = {name: integer(f"reshape_ins: the size of {name}", size) for name, size in dims.items()}
        left = self.digits[::-1]
        if (total := math.prod(d.extent for d in left)) != math.prod(dims.values()):
            raise RangeError(f"reshape_ins to {dict(dims)}", f"{total} in all", "give sizes whose product is that")
        ins = []
        for name, size in dims.items():
            ins.append((name, taken(name, size, left, self.radices)))
        checked_names("input", list(dims), "reshape_ins")
        return _made(ins, self.outs)

    @checked
    def resize_out(self, name: str, size: int) -> RadixLayout:
        """The same values in an output of another size, whose values add modulo it.

        Raises     RangeError where values do not fit, or wrapped before

        >>> print(RadixLayout({"i": [(4, 2)]}, {"o": 7}).resize_out("o", 8))
        i=4:2 -> o=8
        """
        plain, k = self._plain(name)
        has, wide = self.out_sizes[name], int(self.out_sizes[name] > 1)
        most = sum((d.extent - 1) * x for _, of in plain for d in of for x in d.step[k : k + wide])
        if most >= min(integer("resize_out: the size", size), has):
            again = "leave it as it is: its values begin again at its size"
            fix = f"give a size of at least {most + 1}" if most < has else again
            what = f"resize_out of {name} to {size}: its values add up to {most}"
            raise RangeError(what, f"sums below {min(size, has)}", fix)
        new = radices_of(name, size)

        def resized(step: Vector) -> Vector:
            return (*step[:k], *(step[k : k + wide] or (0,))[: len(new)], *step[k + wide :])

        ins = [(d, [Digit(x.extent, resized(x.step)) for x in of]) for d, of in plain]
        return _made(ins, [(d, new if d == name else m) for d, m in self.outs])

    def _plain(self, name: str) -> tuple[list[tuple[str, list[Digit]]], int]:
        """The digits where this output adds as one number, cut where they reach its size, and its radix's place."""
        if name not in self.out_dims:
            what = f"no output is named {name!r:.40}"
            raise RankError(what, f"one of {', '.join(self.out_dims)}", "give one of these names")
        plain = self.reshape_outs({d: self.out_sizes[d] if d == name else m for d, m in self.outs})
        k = sum(len(m) for _, m in itertools.takewhile(lambda pair: pair[0] != name, plain.outs))
        rooms = dict.fromkeys(range(k, k + len(plain.out_dims[name])), self.out_sizes[name])
        return [(d, [piece for x in of for piece in cut(x, plain.radices, rooms)]) for d, of in plain.ins], k

    @checked
    def sums(self, name: str) -> list[tuple[str, list[tuple[int, int]]]] | None:
        """The extents and strides of each input whose sum, as integers, is this output; None where wrapping changes it.

        >>> RadixLayout({"i": [(2, 1), (2, 2), (3, 4)]}, {"o": (2, 2, 3)}).sums("o")
        [('i', [(12, 1)])]
        """
        try:
            plain, k = self._plain(name)
        except RangeError:
            return None
        found = [(d, [(x.extent, sum(x.step[k : k + 1])) for x in of]) for d, of in plain]
        return found if sum((n - 1) * x for _, of in found for n, x in of) < self.out_sizes[name] else None

    # ------------------------------------------------------------------------------------------- algebra

    def __mul__(self, other: RadixLayout) -> RadixLayout:
        """The direct product: this layout inside, the other outside, wherever they share a name.

        >>> one = RadixLayout({"register": [(2, 1)]}, {"o": (2,)}) * RadixLayout({"lane": [(3, 1)], "register": [(5, 3)]}, {"o": 15})
        >>> print(one)
        lane=3:2, register=(2,5):(1,6) -> o=(2,15)
        """
        if not isinstance(other, RadixLayout):
            return NotImplemented
        mine, theirs = self.out_dims, other.out_dims
        outs = {name: (*mine.get(name, ()), *theirs.get(name, ())) for name in merged(list(mine), list(theirs))}
        inner, outer = _spread(self, outs, {}), _spread(other, outs, {name: len(of) for name, of in mine.items()})
        ins = [(name, inner.get(name, []) + outer.get(name, [])) for name in merged([*inner], [*outer])]
        return _made(ins, [*outs.items()])

    @checked
    def compose(self, outer: RadixLayout) -> RadixLayout:
        """First this layout, then `outer`, whose inputs are this layout's outputs, of this order or another.

        Raises     RankError for other names, RangeError for other sizes, or where the result is not linear over digits

        >>> swap = RadixLayout({"o": [(3, 4), (4, 1)]}, {"place": 12})                # 12 as 3 rows of 4, rows last
        >>> print(RadixLayout({"lane": [(6, 2)]}, {"o": 12}).compose(swap))
        Traceback (most recent call last):
        tla.core.errors.RangeError: lane=6:2 -> o=12 is not linear over digits of radices (3,4): digit 0 carries
          expected  radices whose digits do not carry
          fix       keep o=12
        >>> print(RadixLayout({"lane": [(4, 3)]}, {"o": 12}).compose(swap))
        lane=4:1 -> place=12
        """
        if {*self.out_dims} != {*outer.in_sizes}:
            mine, theirs = (", ".join(names) for names in (self.out_dims, outer.in_sizes))
            what = f"compose: outputs {mine}, and the inputs of the outer layout are {theirs}"
            raise RankError(what, "the same names", "rename one")
        for name, size in self.out_sizes.items():
            if size != outer.in_sizes[name]:
                what = f"compose: {name} has size {size}, and the outer layout takes {outer.in_sizes[name]} of it"
                raise RangeError(what, "one size", f"write resize_out({name!r}, {outer.in_sizes[name]})")
        outer = _made([(name, dict(outer.ins)[name]) for name in self.out_dims], outer.outs)
        wanted, below = [], []
        for name, radices in self.outs:
            new, digits = aligned(radices, dict(outer.ins)[name], outer.radices)
            wanted.append((name, new))
            below += digits
        inner = self.reshape_outs(dict(wanted))
        found = composed(inner.ins, inner.radices, below, outer.radices)
        if found is None:
            what = f"compose of {self} and {outer}: digits wrap that the outer layout does not repeat"
            expected = "digits that stay below the extents of the outer layout"
            raise RangeError(what, expected, "keep both: apply one after the other")
        return _made(found, outer.outs)

    def is_surjective(self) -> bool:
        """Whether some input reaches every output.

        Raises     RangeError for more than 2^20 inputs where no lattice tells it
        """
        return self._reached() == math.prod(self.radices)

    def is_injective(self) -> bool:
        """Whether no two inputs have the same output.

        Raises     RangeError for more than 2^20 inputs where no lattice tells it
        """
        return self._reached() == math.prod(self.in_sizes.values())

    def _reached(self) -> int:
        """The number of outputs that are reached: by a lattice where the map is one of groups, else counted."""
        for found in self._groupings():
            if all(turning(found.digits, found.radices)):
                return math.prod(found.radices) // lattice_of(found.digits, found.radices).index
        return len({*self._values()})

    def _values(self) -> list[int]:
        """The outputs of all inputs, each as one integer."""
        total = math.prod(self.in_sizes.values())
        if total > MAX_COUNTED:
            what = f"the outputs of {self}: {total} inputs"
            raise RangeError(what, f"{MAX_COUNTED} at most, or whole turns", "look at a part of it")
        flat = self.reshape_ins({"index": total}).reshape_outs({"offset": self.radices})
        return [flat.apply({"index": x})["offset"] for x in range(total)]

    def _groupings(self) -> list[RadixLayout]:
        """This map as it is, and over radices that are cut where its digits begin and end, if it is
        linear over these."""
        radices = iter(enumerate(self.radices))
        parts = {}
        for name, old in self.outs:
            here = itertools.islice(radices, len(old))
            parts[name] = [
                p for k, m in here for p in cut_places(m, [(d.extent, d.step[k]) for d in self.digits if d.step[k]])
            ]
        try:
            return [self, self.reshape_outs(parts)]
        except RangeError:  # some digit carries over these radices
            return [self]

    def invert(self) -> RadixLayout:
        """The layout back, from outputs to inputs.

        Raises     InjectivityError where two inputs share an output, RangeError where an output is never reached, or
                   the way back is not linear over digits
        """
        has, wants = math.prod(self.in_sizes.values()), math.prod(self.radices)
        if has > wants:
            what = f"invert of {self}: {has} inputs, {wants} outputs"
            raise InjectivityError(what, "no two with one output", "use right_inverse()")
        if has < wants:
            raise RangeError(f"invert of {self}: {has} inputs, {wants} outputs", "as many", "use left_inverse()")
        return self._right_inverse("invert")  # of as many inputs as outputs, and each output is reached

    def right_inverse(self) -> RadixLayout:
        """R with self(R(y)) == y for every output y.

        Raises     RangeError where an output is never reached, or the way back is not linear over digits

        >>> doubled = RadixLayout({"lane": [(4, 1)], "warp": [(2, 2)]}, {"o": 4})       # two warps, half a turn apart
        >>> print(doubled.right_inverse())
        o=4:(1,0) -> lane=4, warp=2
        """
        return self._right_inverse("right_inverse")

    def _right_inverse(self, where: str) -> RadixLayout:
        for found in self._groupings():
            if (steps := back_steps(found.digits, found.radices)) is not None:
                return found._back(steps)
        raise self._no_way(where, "a layout that reaches every output, whose digits begin where others end")

    def left_inverse(self) -> RadixLayout:
        """L with L(self(x)) == x for every input x.

        Raises     RangeError where two inputs share an output, or no such map is linear over digits

        >>> print(RadixLayout({"i": [(4, 2)]}, {"o": 8}).left_inverse())
        o=(2,4):(0,1) -> i=4
        """
        # a digit that stays below its radix has a way back only where it is cut off
        for found in reversed(self._groupings()):
            if (steps := left_steps(found.digits, found.radices)) is not None:
                return found._back(steps)
        if math.prod(self.in_sizes.values()) == math.prod(self.radices):
            return self._right_inverse("left_inverse")
        expected = "a layout of which no two inputs share an output, whose digits begin where others end"
        raise self._no_way("left_inverse", expected)

    def _no_way(self, where: str, expected: str) -> RangeError:
        """The error of a layout without an inverse that is linear over digits."""
        what = f"{where} of {self}: there is none that is linear over digits"
        for k, (name, size) in enumerate(self.out_sizes.items()):
            place = math.lcm(*(n * v[k] or 1 for of in self.bases.values() for n, v in of))
            wider = -(-size // place) * place
            if where == "left_inverse" and size < wider < 4 * size:
                return RangeError(what, expected, f"write resize_out({name!r}, {wider})")
        return RangeError(what, expected, "keep a table of its values")

    def _back(self, steps: Sequence[Vector]) -> RadixLayout:
        """The layout from outputs to inputs of which each radix is a digit with this step, one per input digit."""
        digits = iter([Digit(m, step) for m, step in zip(self.radices, steps)])
        ins = [(name, [next(digits) for _ in radices]) for name, radices in self.outs]
        return _made(ins, [(name, tuple(d.extent for d in of)) for name, of in self.ins])


def _spread(of: RadixLayout, outs: Mapping[str, Vector], behind: Mapping[str, int]) -> dict[str, list[Digit]]:
    """The digits of a factor of a product by inputs, over all outputs of the product, behind so many radices each."""

    def wide(step: Vector) -> Vector:
        it = iter(step)
        parts = {name: [next(it) for _ in radices] for name, radices in of.outs}
        found: list[int] = []
        for name, radices in outs.items():
            part = [0] * behind.get(name, 0) + parts.get(name, [])
            found += part + [0] * (len(radices) - len(part))
        return tuple(found)

    return {name: [Digit(d.extent, wide(d.step)) for d in digits] for name, digits in of.ins}


def _made(ins: Iterable[tuple[str, Sequence[Digit]]], outs: Sequence[tuple[str, Vector]]) -> RadixLayout:
    """The layout of parts that are proved to fit, in its shortest form."""
    radices = [m for _, of in outs for m in of]
    digits_of = tuple((name, shortest(digits, radices)) for name, digits in ins)
    return new_value(RadixLayout, ins=digits_of, outs=tuple(outs))
