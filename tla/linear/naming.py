"""Linear layouts under other names, of other shapes, and in other orders of their inputs and outputs: the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ..core.errors import RangeError, RankError
from . import bits
from .arguments import checked
from .building import Built
from .value import checked_names, power_of_two

L = TypeVar("L", bound="Named")


class Named(Built):
    """A change of the names and sizes of inputs and outputs that leaves the map as it is."""

    __slots__ = ()

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
            raise RangeError(f"{where}: sizes of 2^{given} in all", f"2^{has}, as many as it has", "give sizes whose product is that")

    def flatten_ins(self: L) -> L:
        """All inputs as one, of the first one's name, the first lowest."""
        return self.reshape_ins({self.get_in_dim_names()[0]: 1 << self.get_total_in_dim_size_log2()}) if self._ins else self

    def flatten_outs(self: L) -> L:
        """All outputs as one, of the first one's name, the first lowest."""
        return self.reshape_outs({self.get_out_dim_names()[0]: 1 << self.get_total_out_dim_size_log2()}) if self._outs else self

    @checked
    def concat_ins(self: L, other: L) -> L:
        """Both layouts' inputs beside each other; the outputs of both are the same."""
        if self._outs != other._outs:
            raise RankError(
                "concat_ins of layouts of other outputs", f"{self.out_dims}", "use resize_out_dim and transpose_outs on one of them"
            )
        checked_names("input", [*self.get_in_dim_names(), *other.get_in_dim_names()])
        return self._make((*self._ins, *other._ins), self._outs)

    @checked
    def concat_outs(self: L, other: L) -> L:
        """Both layouts' outputs beside each other; the inputs of both are the same."""
        sizes = [[(name, len(v)) for name, v in layout._ins] for layout in (self, other)]
        if sizes[0] != sizes[1]:
            raise RankError("concat_outs of layouts of other inputs", f"{sizes[0]}", "use resize_in_dim and transpose_ins on one of them")
        checked_names("output", [*self.get_out_dim_names(), *other.get_out_dim_names()])
        ins = tuple((name, tuple((*v, *w) for v, w in zip(vs, ws))) for (name, vs), (_, ws) in zip(self._ins, other._ins))
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
        return self._make(tuple((d, tuple(v for v in vs if any(v)) if d == name else vs) for d, vs in self._ins), self._outs)

    @staticmethod
    def _same_names(where: str, what: str, mine: list[str], whose: str, theirs: list[str]) -> None:
        if {*mine} != {*theirs}:
            raise RankError(
                f"{where}: {what} {', '.join(mine) or 'none'}, and {whose} are {', '.join(theirs) or 'none'}",
                "the same names",
                "rename one",
            )
