"""LinearLayout as a value: its names, sizes and bases, what it is equal to, and its text."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.arrays import computed, require_held
from ..core.coord import coord_leaf
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import shown
from ..core.ints import value_of
from ..core.value import Value, put
from . import bits
from .arguments import checked

if TYPE_CHECKING:
    import numpy.typing as npt

#: More bits of input, or of output, than this are refused: offsets are 64-bit integers.
MAX_BITS = 62

Basis = tuple[int, ...]
Ins = tuple[tuple[str, tuple[Basis, ...]], ...]
Outs = tuple[tuple[str, int], ...]


class Bases(Value):
    """The bases of named input dimensions over named outputs, checked once, and immutable."""

    __slots__ = ("_columns", "_ins", "_outs")

    _ins: Ins
    _outs: Outs
    _columns: tuple[int, ...] | None

    def __init__(
        self, bases: Mapping[str, Sequence[Any]] | Iterable[tuple[str, Sequence[Any]]], out_dims: Mapping[str, int]
    ) -> None:
        outs = checked_outs(pairs("out_dims", out_dims))
        ins = checked_ins(pairs("bases", bases), [name for name, _ in outs])
        for name, vectors in ins:
            for k, vector in enumerate(vectors):
                for value, (out, size) in zip(vector, outs):
                    if value >= size:
                        what = f"LinearLayout: {name}={1 << k} goes to {value} of {out}, which has size {size}"
                        raise RangeError(what, f"0 to {size - 1}", f"make the size of {out} {1 << value.bit_length()}")
        put(self, "_ins", ins)
        put(self, "_outs", outs)
        put(self, "_columns", None)

    @property
    def bases(self) -> dict[str, tuple[Basis, ...]]:
        """name of an input dimension -> a basis for each of its bits, the lowest first; in order."""
        return dict(self._ins)

    @property
    def out_dims(self) -> dict[str, int]:
        """name of an output dimension -> its size; in order."""
        return dict(self._outs)

    def get_in_dim_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return [name for name, _ in self._ins]

    def get_out_dim_names(self) -> list[str]:
        """The names of the outputs, in order."""
        return [name for name, _ in self._outs]

    @property
    def num_in_dims(self) -> int:
        """The number of inputs."""
        return len(self._ins)

    @property
    def num_out_dims(self) -> int:
        """The number of outputs."""
        return len(self._outs)

    @checked
    def has_in_dim(self, name: str) -> bool:
        """Whether an input has this name."""
        return name in self.get_in_dim_names()

    @checked
    def has_out_dim(self, name: str) -> bool:
        """Whether an output has this name."""
        return name in self.get_out_dim_names()

    @checked
    def get_in_dim_size(self, name: str) -> int:
        """The size of an input: 2 to the number of its bases."""
        return 1 << len(_named("input", dict(self._ins), name))

    @checked
    def get_out_dim_size(self, name: str) -> int:
        """The size of an output."""
        return _named("output", dict(self._outs), name)  # type: ignore[no-any-return]

    @checked
    def get_basis(self, name: str, bit: int) -> Basis:
        """The image of a bit of an input."""
        vectors = _named("input", dict(self._ins), name)
        if not 0 <= bit < len(vectors):
            raise RangeError(f"bit {bit} of {name}", f"0 to {len(vectors) - 1}", "ask for one of these bits")
        return vectors[bit]  # type: ignore[no-any-return]

    def get_total_in_dim_size_log2(self) -> int:
        """The number of bits of all inputs."""
        return sum(len(vectors) for _, vectors in self._ins)

    def get_total_out_dim_size_log2(self) -> int:
        """The number of bits of all outputs."""
        return sum(bits.log2(size) for _, size in self._outs)

    @property
    def columns(self) -> tuple[int, ...]:
        """The matrix over bits: a column for each input bit, in order; the first output's bits are lowest in it."""
        if self._columns is None:
            columns = tuple(self.pack(vector) for _, vectors in self._ins for vector in vectors)
            put(self, "_columns", columns)
        return self._columns  # type: ignore[return-value]  # it is set above

    def pack(self, coordinate: Iterable[int]) -> int:
        """One value of each output as one integer, the first output's bits lowest."""
        given = coordinate if isinstance(coordinate, (list, tuple)) else ()
        values = [x if type(x) is int else value_of(x) for x in given]
        total = shift = 0
        if len(values) != len(self._outs) or None in values:
            what = f"pack of {shown(coordinate)[:80]}"
            raise RankError(what, f"{len(self._outs)} integers, one for each output", "give them all")
        for value, (_, size) in zip(values, self._outs):
            total |= (value or 0) << shift
            shift += bits.log2(size)
        return total

    def is_surjective(self) -> bool:
        """Whether some input reaches every output."""
        return bits.rank(self.columns) == self.get_total_out_dim_size_log2()

    def is_injective(self) -> bool:
        """Whether no two inputs have the same output."""
        return bits.rank(self.columns) == self.get_total_in_dim_size_log2()

    def is_invertible(self) -> bool:
        """Whether each output is that of exactly one input."""
        return self.is_injective() and self.is_surjective()

    @checked
    def apply(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs of one value for each input: integers, or arrays of them. Bits past an input's size
        are not looked at.

        Raises     RankError for other names than the inputs'
        """
        if {*inputs} != {*self.get_in_dim_names()}:
            have = f"{', '.join(self.get_in_dim_names()) or 'none'}"
            what, expected = f"apply to inputs {', '.join(map(str, inputs)) or 'none'}", f"one value for each of {have}"
            raise RankError(what, expected, f"write apply({dict.fromkeys(self.get_in_dim_names(), 0)})")
        totals: list[Any] = [0] * len(self._outs)
        most = max((size for _, size in self._outs), default=1) - 1
        for name, vectors in self._ins:
            x = input_value(name, inputs[name])
            require_held(f"outputs of {', '.join(self.get_out_dim_names())}", x, 0, most)
            for k, vector in enumerate(vectors):
                bit = computed(operator.and_, computed(operator.rshift, x, k), 1)
                for i, v in enumerate(vector):
                    if v:
                        totals[i] = computed(operator.xor, totals[i], computed(operator.mul, bit, v))
        return dict(zip(self.get_out_dim_names(), totals))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bases):
            return NotImplemented
        return self._ins == other._ins and self._outs == other._outs

    def __hash__(self) -> int:
        return hash((self._ins, self._outs))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.bases, self.out_dims)

    def __repr__(self) -> str:
        ins = ", ".join(f"{name!r}: [{', '.join(map(repr, vectors))}]" for name, vectors in self._ins)
        return f"LinearLayout({{{ins}}}, {self.out_dims!r})"

    def __str__(self) -> str:
        lines = []
        for name, vectors in self._ins:
            rows = [f"{name}={1 << k} -> ({', '.join(map(str, v))})" for k, v in enumerate(vectors)]
            rows = rows or [f"{name} is a size 1 dimension"]
            lines += [f" - {rows[0]}", *(f"   {row}" for row in rows[1:])]
        if not self._ins:
            return "(empty layout)"
        outs = ", ".join(f"{name} (size {size})" for name, size in self._outs)
        return "\n".join([*lines, f"where out dims are: [{outs}]"])


def input_value(name: str, x: object) -> int | npt.NDArray[Any]:
    """The value of an input: an integer, or an array of integers in 64 bits; a tracer as it is."""
    if isinstance(x, (str, bytes, list, tuple, dict, float)) or x is None:
        raise LeafTypeError(f"apply: {name} is {shown(x)[:80]}", "an integer, or an array of them", "give its value")
    return x if type(x) is int else coord_leaf(x)


def _named(kind: str, table: Mapping[str, Any], name: str) -> Any:
    if name not in table:
        what = f"no {kind} is named {name!r:.40}"
        raise RankError(what, f"one of {', '.join(table) or 'none'}", "give one of these names")
    return table[name]


def integer(what: str, x: Any) -> int:
    """x as a plain int of 0 or more, of at most MAX_BITS bits."""
    n = value_of(x)
    if n is None:
        raise LeafTypeError(f"{what} is {shown(x)}", "a known integer", "give its value")
    if n < 0:
        raise RangeError(f"{what} is {n}", "an integer of 0 or more", "leave the sign out")
    if n.bit_length() > MAX_BITS + 1:
        raise RangeError(f"{what} is {shown(x)}", f"at most {MAX_BITS} bits", "use a smaller one")
    return n


def power_of_two(what: str, x: object) -> int:
    """x as a plain int that is a power of two."""
    n = integer(what, x)
    if not bits.is_power_of_two(n):
        raise RangeError(f"{what} is {n}", "a power of two", f"pad it to {1 << n.bit_length()}" if n else "use 1")
    return n


def checked_names(kind: str, names: Sequence[Any], where: str = "LinearLayout") -> None:
    for name in names:
        if not isinstance(name, str):
            raise LeafTypeError(f"{where}: the {kind} {shown(name)}", "a name, as text", "write 'register', or 'dim0'")
    if len({*names}) != len(names):
        raise RankError(f"{where}: {kind}s {', '.join(names)}", "names that differ", "rename one of them")


def pairs(what: str, x: Any, where: str = "LinearLayout") -> list[tuple[Any, Any]]:
    """A dict, or a list of pairs, as pairs."""
    found = [*x.items()] if isinstance(x, Mapping) else x
    is_list = isinstance(found, (list, tuple))
    if not is_list or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in found):
        expected = "a dict, or a list of pairs"
        raise LeafTypeError(f"{where}: {what} {shown(x)}", expected, "write {'lane': [(1,)]}, and {'dim0': 2}")
    for name, _ in found:
        if not isinstance(name, str):
            expected = "a name, as text"
            raise LeafTypeError(f"{where}: {what}: the name {shown(name)}", expected, "write 'register', or 'dim0'")
    return [(name, value) for name, value in found]


def checked_outs(pairs: Iterable[Any]) -> Outs:
    outs = tuple((name, power_of_two(f"LinearLayout: the size of {name}", size)) for name, size in pairs)
    checked_names("output", [name for name, _ in outs])
    if sum(bits.log2(size) for _, size in outs) > MAX_BITS:
        what = "LinearLayout: outputs of more bits than integers have"
        raise RangeError(what, f"{MAX_BITS} bits in all", "use smaller sizes")
    return outs


def checked_ins(pairs: Iterable[Any], names: Sequence[str]) -> Ins:
    ins = []
    for name, vectors in pairs:
        if not isinstance(vectors, (list, tuple)):
            what = f"LinearLayout: the bases of {name} are a {type(vectors).__name__}"
            raise LeafTypeError(what, "a list of vectors, one for each bit", f"write [{(0,) * len(names)}]")
        for v in vectors:
            if not isinstance(v, (list, tuple)) or len(v) != len(names):
                what = f"LinearLayout: the basis {shown(v)} of {name}"
                expected = f"{len(names)} integers, one for each of {', '.join(names) or 'no outputs'}"
                raise RankError(what, expected, "give one for each output")
        ins.append((name, tuple(tuple(integer(f"LinearLayout: a basis of {name}", x) for x in v) for v in vectors)))
    checked_names("input", [name for name, _ in ins])
    if sum(len(vectors) for _, vectors in ins) > MAX_BITS:
        what = "LinearLayout: inputs of more bits than integers have"
        raise RangeError(what, f"{MAX_BITS} bits in all", "use fewer bases")
    return tuple(ins)
