"""Linear layouts as they are built: from bases, columns, one dimension, by the direct product, from other names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import shown
from ..core.value import new_value
from . import bits
from .arguments import checked
from .value import Bases, Ins, Outs, checked_ins, checked_names, pairs, power_of_two

L = TypeVar("L", bound="Built")


class Built(Bases):
    """The ways to make a linear layout, of its parts or of another's bits, in the class that is asked."""

    __slots__ = ()

    @classmethod
    def _make(cls: type[L], ins: Ins, outs: Outs) -> L:
        """The layout of parts that are proved to fit."""
        return new_value(cls, _ins=ins, _outs=outs, _columns=None)

    @classmethod
    def _of_columns(cls: type[L], ins: Sequence[tuple[str, int]], outs: Outs, columns: Iterable[int]) -> L:
        """The layout of a matrix: for each input its name and how many of the columns are its bits."""
        it = iter(columns)
        return cls._make(tuple((name, tuple(unpack(next(it), outs) for _ in range(n))) for name, n in ins), outs)

    @classmethod
    def from_bases(
        cls: type[L],
        bases: object,
        out_dim_names: Sequence[str],
        out_dim_sizes: Sequence[int] | None = None,
        require_surjective: bool = True,
    ) -> L:
        """The layout of bases, as a dict or pairs of a name and vectors; sizes by default the least that hold them.

        Raises     RangeError where it does not reach every output and that is required, or for sizes left open
                   where it is not

        >>> from tla.linear import LinearLayout
        >>> LinearLayout.from_bases([("i", [[1], [2]])], ["dim0"]).out_dims
        {'dim0': 4}
        """
        if out_dim_sizes is None and not require_surjective:
            what = "from_bases: sizes left open of a layout that need not be surjective"
            raise RangeError(what, "out_dim_sizes", "give one for each output")
        for names in (out_dim_names, () if out_dim_sizes is None else out_dim_sizes):
            if not isinstance(names, (list, tuple)):
                what = f"from_bases: {shown(names)[:80]}"
                raise LeafTypeError(what, "a list of names, and one of sizes", "write ['dim0'], [64]")
        checked_names("output", out_dim_names)
        ins = checked_ins(dict(pairs("bases", bases)).items(), out_dim_names)
        if out_dim_sizes is None:
            vectors = [v for _, vectors in ins for v in vectors]
            count = len(out_dim_names)
            out_dim_sizes = [1 << max((v[k].bit_length() for v in vectors), default=0) for k in range(count)]
        if len(out_dim_sizes) != len(out_dim_names):
            what = f"from_bases: {len(out_dim_sizes)} sizes for {len(out_dim_names)} outputs"
            raise RankError(what, "one for each", "give them all")
        new = cls(dict(ins), dict(zip(out_dim_names, out_dim_sizes)))
        if require_surjective and not new.is_surjective():
            reached, size = bits.rank(new.columns), new.get_total_out_dim_size_log2()
            what = f"from_bases: it reaches 2^{reached} of the 2^{size} outputs"
            expected = "a layout that reaches all of them"
            raise RangeError(what, expected, "give smaller sizes, or require_surjective=False")
        return new

    @classmethod
    def empty(cls: type[L]) -> L:
        """The layout of no inputs and no outputs."""
        return cls._make((), ())

    @classmethod
    @checked
    def strided_1d(cls: type[L], size: int, stride: int, in_dim: str, out_dim: str) -> L:
        """One input of `size` to one output, x to x * stride, powers of two; the output has size * stride elements. Of
        size 0: empty.

        >>> from tla.linear import LinearLayout
        >>> LinearLayout.strided_1d(4, 2, "offset", "dim0").bases
        {'offset': ((2,), (4,))}
        """
        if size == 0:
            return cls.empty()
        size, stride = power_of_two("strided_1d: the size", size), power_of_two("strided_1d: the stride", stride)
        return cls({in_dim: [(stride << k,) for k in range(bits.log2(size))]}, {out_dim: size * stride})

    @classmethod
    @checked
    def identity_1d(cls: type[L], size: int, in_dim: str, out_dim: str) -> L:
        """One input of `size` to one output, x to x."""
        return cls.strided_1d(size, 1, in_dim, out_dim)

    @classmethod
    @checked
    def zeros_1d(cls: type[L], size: int, in_dim: str, out_dim: str, out_dim_size: int = 1) -> L:
        """One input of `size` to one output, every x to 0. Of size 0: empty."""
        if size == 0:
            return cls.empty()
        count = bits.log2(power_of_two("zeros_1d: the size", size))
        return cls({in_dim: [(0,)] * count}, {out_dim: out_dim_size})

    def __mul__(self: L, other: L) -> L:
        """The direct product: this layout inside, the other outside, its bits above this one's wherever they
        share a name.

        The names are in an order that both have, or as the inner layout has them.

        >>> from tla.linear import LinearLayout
        >>> one = LinearLayout.identity_1d(2, "register", "dim0") * LinearLayout.identity_1d(4, "lane", "dim0")
        >>> one.bases, one.out_dims
        ({'register': ((1,),), 'lane': ((2,), (4,))}, {'dim0': 8})
        """
        if not isinstance(other, Built):
            return NotImplemented
        mine, theirs = dict(self._outs), dict(other._outs)
        names = merged(list(mine), list(theirs))
        outs = tuple((name, mine.get(name, 1) * theirs.get(name, 1)) for name in names)
        ins = []
        for name in merged(self.get_in_dim_names(), other.get_in_dim_names()):
            inner = [dict(zip(mine, v)) for v in dict(self._ins).get(name, ())]
            outer = [{out: x * mine.get(out, 1) for out, x in zip(theirs, v)} for v in dict(other._ins).get(name, ())]
            ins.append((name, tuple(tuple(v.get(out, 0) for out in names) for v in [*inner, *outer])))
        return type(self)(dict(ins), dict(outs))

    # ----------------------------------------------------------------- the same bits under other names, in other orders

    @checked
    def transpose_ins(self: L, names: Sequence[str]) -> L:
        """The same map, its inputs in this order."""
        self._same_names("transpose_ins", "names", list(names), "the inputs", self.get_in_dim_names())
        table = dict(self._ins)
        return self._make(tuple((name, table[name]) for name in names), self._outs)

    @checked
    def transpose_outs(self: L, names: Sequence[str]) -> L:
        """The same map, its outputs in this order."""
        self._same_names("transpose_outs", "names", list(names), "the outputs", self.get_out_dim_names())
        mine = self.get_out_dim_names()
        places = [mine.index(name) for name in names]
        ins = tuple((name, tuple(tuple(v[k] for k in places) for v in vectors)) for name, vectors in self._ins)
        return self._make(ins, tuple(self._outs[k] for k in places))

    @checked
    def reshape_ins(self: L, dims: Mapping[str, int]) -> L:
        """The same bits of input under other names and sizes, the first name lowest.

        >>> from tla.linear import LinearLayout
        >>> LinearLayout.identity_1d(8, "offset", "dim0").reshape_ins({"register": 2, "lane": 4}).bases
        {'register': ((1,),), 'lane': ((2,), (4,))}
        """
        counts = [(name, bits.log2(power_of_two(f"reshape_ins: {name}", size))) for name, size in dims.items()]
        self._same_bits("reshape_ins", sum(n for _, n in counts), self.get_total_in_dim_size_log2())
        checked_names("input", list(dims))
        return self._of_columns(counts, self._outs, self.columns)

    @checked
    def reshape_outs(self: L, dims: Mapping[str, int]) -> L:
        """The same bits of output under other names and sizes, the first name lowest."""
        outs = tuple((name, power_of_two(f"reshape_outs: {name}", size)) for name, size in dims.items())
        self._same_bits("reshape_outs", sum(bits.log2(size) for _, size in outs), self.get_total_out_dim_size_log2())
        checked_names("output", list(dims))
        return self._of_columns([(name, len(v)) for name, v in self._ins], outs, self.columns)

    @staticmethod
    def _same_bits(where: str, given: int, has: int) -> None:
        if given != has:
            what = f"{where}: sizes of 2^{given} in all"
            raise RangeError(what, f"2^{has}, as many as it has", "give sizes whose product is that")

    def flatten_ins(self: L) -> L:
        """All inputs as one, of the first one's name, the first lowest."""
        size = 1 << self.get_total_in_dim_size_log2()
        return self.reshape_ins({self.get_in_dim_names()[0]: size}) if self._ins else self

    def flatten_outs(self: L) -> L:
        """All outputs as one, of the first one's name, the first lowest."""
        size = 1 << self.get_total_out_dim_size_log2()
        return self.reshape_outs({self.get_out_dim_names()[0]: size}) if self._outs else self

    @checked
    def concat_ins(self: L, other: L) -> L:
        """Both layouts' inputs beside each other; the outputs of both are the same."""
        if self._outs != other._outs:
            what = "concat_ins of layouts of other outputs"
            raise RankError(what, f"{self.out_dims}", "use resize_out_dim and transpose_outs on one of them")
        checked_names("input", [*self.get_in_dim_names(), *other.get_in_dim_names()])
        return self._make((*self._ins, *other._ins), self._outs)

    @checked
    def concat_outs(self: L, other: L) -> L:
        """Both layouts' outputs beside each other; the inputs of both are the same."""
        sizes = [[(name, len(v)) for name, v in layout._ins] for layout in (self, other)]
        if sizes[0] != sizes[1]:
            what = "concat_outs of layouts of other inputs"
            raise RankError(what, f"{sizes[0]}", "use resize_in_dim and transpose_ins on one of them")
        checked_names("output", [*self.get_out_dim_names(), *other.get_out_dim_names()])
        both = zip(self._ins, other._ins)
        ins = tuple((name, tuple((*v, *w) for v, w in zip(vs, ws))) for (name, vs), (_, ws) in both)
        return self._make(ins, (*self._outs, *other._outs))

    @checked
    def rename(self: L, names: Mapping[str, str]) -> L:
        """The same map with some inputs and outputs named otherwise."""
        new_ins = tuple((names.get(name, name), v) for name, v in self._ins)
        new_outs = tuple((names.get(name, name), size) for name, size in self._outs)
        checked_names("input", [name for name, _ in new_ins])
        checked_names("output", [name for name, _ in new_outs])
        return self._make(new_ins, new_outs)

    @checked
    def resize_in_dim(self: L, name: str, size: int) -> L:
        """An input of another size: bits cut off at the top, or added that go to 0."""
        n = bits.log2(power_of_two("resize_in_dim", size))
        self.get_in_dim_size(name)
        zeros = ((0,) * len(self._outs),) * n
        ins = tuple((d, (v + zeros[len(v) :])[:n] if d == name else v) for d, v in self._ins)
        return self._make(ins, self._outs)

    @checked
    def resize_out_dim(self: L, name: str, size: int) -> L:
        """An output of another size; RangeError where a basis does not fit."""
        self.get_out_dim_size(name)
        return type(self)(self.bases, {d: size if d == name else n for d, n in self._outs})

    @checked
    def remove_zero_bases_along_dim(self: L, name: str) -> L:
        """An input without the bits that go to 0."""
        self.get_in_dim_size(name)
        ins = tuple((d, tuple(v for v in vs if any(v)) if d == name else vs) for d, vs in self._ins)
        return self._make(ins, self._outs)

    @staticmethod
    def _same_names(where: str, what: str, mine: list[str], whose: str, theirs: list[str]) -> None:
        if {*mine} != {*theirs}:
            own, other = (", ".join(names) or "none" for names in (mine, theirs))
            raise RankError(f"{where}: {what} {own}, and {whose} are {other}", "the same names", "rename one")


def unpack(x: int, outs: Outs) -> tuple[int, ...]:
    """One value for each output, of all their bits as one integer."""
    vector = []
    for _, size in outs:
        vector.append(x & size - 1)
        x >>= bits.log2(size)
    return tuple(vector)


def merged(a: list[str], b: list[str]) -> list[str]:
    """All names in an order that both lists have; where it is open, or there is none, those of the first
    list come first.

    >>> merged(["a", "c"], ["b", "c", "d"]), merged(["a", "b"], ["b", "a"])
    (['a', 'b', 'c', 'd'], ['a', 'b'])
    """
    found: list[str] = []
    x, y = [*a], [*b]
    while x or y:
        shared = x and y and x[0] in y and y[0] in x
        take_y = b.index(x[0]) > a.index(y[0]) if shared else not x or (x[0] in y and x[0] != y[0])
        name = y[0] if take_y else x[0]
        x, y = [n for n in x if n != name], [n for n in y if n != name]
        found.append(name)
    return found
