"""LinearLayout: a map of named inputs to named outputs that is linear over bits.

Source: Linear Layouts, arXiv 2505.23819; Triton's LinearLayout, whose conventions these are where there is a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.errors import InjectivityError, RangeError, RankError
from . import bits, views
from .value import Bases, Ins, Outs, checked_ins, checked_names, power_of_two


class LinearLayout(Bases):
    """A map of named inputs to named outputs that is linear over bits: where an input's bit is set, its basis is xored in.

    bases      name -> one basis for each bit of that input, the lowest first; a basis has one integer for each output
    out_dims   name -> size, a power of two; the order of names is that of the integers in a basis
    Raises     RangeError for sizes that are no powers of two, or more than 62 bits, RankError for vectors of another length

    The order of inputs and outputs is from minor to major, as in Triton. Equal layouts have equal names in equal order.
    A value that several inputs reach is one value with several owners: apply() stays a function of the owner.

    >>> mma = LinearLayout({"register": [(0, 1), (8, 0)], "lane": [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]}, {"dim0": 16, "dim1": 8})
    >>> mma.apply({"register": 3, "lane": 5})
    {'dim0': 9, 'dim1': 3}
    >>> mma.invert().apply({"dim0": 9, "dim1": 3})
    {'register': 3, 'lane': 5}

    Source: Linear Layouts, arXiv 2505.23819; Triton `LinearLayout`.
    """

    __slots__ = ()

    # ------------------------------------------------------------------------------------------- building

    @classmethod
    def _make(cls, ins: Ins, outs: Outs) -> LinearLayout:
        """The layout of parts that are proved to fit."""
        new = object.__new__(cls)
        new._set(ins, outs)
        return new

    @classmethod
    def of_columns(cls, ins: Sequence[tuple[str, int]], outs: Outs, columns: Iterable[int]) -> LinearLayout:
        """The layout of a matrix: for each input its name and how many of the columns are its bits."""
        it = iter(columns)
        return cls._make(tuple((name, tuple(unpack(next(it), outs) for _ in range(n))) for name, n in ins), outs)

    @classmethod
    def from_bases(
        cls, bases: Any, out_dim_names: Sequence[str], out_dim_sizes: Sequence[int] | None = None, require_surjective: bool = True
    ) -> LinearLayout:
        """The layout of bases, as a dict or pairs of a name and vectors; sizes by default the least that hold them.

        Raises     RangeError where it does not reach every output and that is required, or for sizes left open where it is not

        >>> LinearLayout.from_bases([("i", [[1], [2]])], ["dim0"]).out_dims
        {'dim0': 4}
        """
        if out_dim_sizes is None and not require_surjective:
            raise RangeError(
                "from_bases: sizes left open of a layout that need not be surjective", "out_dim_sizes", "give one for each output"
            )
        checked_names("output", out_dim_names)
        ins = checked_ins(dict(bases).items(), out_dim_names)
        if out_dim_sizes is None:
            vectors = [v for _, vectors in ins for v in vectors]
            out_dim_sizes = [1 << max((v[k].bit_length() for v in vectors), default=0) for k in range(len(out_dim_names))]
        if len(out_dim_sizes) != len(out_dim_names):
            raise RankError(f"from_bases: {len(out_dim_sizes)} sizes for {len(out_dim_names)} outputs", "one for each", "give them all")
        new = cls(dict(ins), dict(zip(out_dim_names, out_dim_sizes)))
        if require_surjective and not new.is_surjective():
            reached, size = bits.rank(new.columns), new.get_total_out_dim_size_log2()
            what = f"from_bases: it reaches 2^{reached} of the 2^{size} outputs"
            raise RangeError(what, "a layout that reaches all of them", "give smaller sizes, or require_surjective=False")
        return new

    @classmethod
    def empty(cls) -> LinearLayout:
        """The layout of no inputs and no outputs."""
        return cls._make((), ())

    @classmethod
    def strided_1d(cls, size: int, stride: int, in_dim: str, out_dim: str) -> LinearLayout:
        """One input of `size` to one output, x to x * stride, powers of two; the output has size * stride elements. Of size 0: empty.

        >>> LinearLayout.strided_1d(4, 2, "offset", "dim0").bases
        {'offset': ((2,), (4,))}
        """
        if size == 0:
            return cls.empty()
        size, stride = power_of_two("strided_1d: the size", size), power_of_two("strided_1d: the stride", stride)
        return cls({in_dim: [(stride << k,) for k in range(bits.log2(size))]}, {out_dim: size * stride})

    @classmethod
    def identity_1d(cls, size: int, in_dim: str, out_dim: str) -> LinearLayout:
        """One input of `size` to one output, x to x."""
        return cls.strided_1d(size, 1, in_dim, out_dim)

    @classmethod
    def zeros_1d(cls, size: int, in_dim: str, out_dim: str, out_dim_size: int = 1) -> LinearLayout:
        """One input of `size` to one output, every x to 0. Of size 0: empty."""
        if size == 0:
            return cls.empty()
        count = bits.log2(power_of_two("zeros_1d: the size", size))
        return cls({in_dim: [(0,)] * count}, {out_dim: out_dim_size})

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """The direct product: this layout inside, the other outside, its bits above this one's wherever they share a name.

        The names are in an order that both have, or as the inner layout has them.

        >>> one = LinearLayout.identity_1d(2, "register", "dim0") * LinearLayout.identity_1d(4, "lane", "dim0")
        >>> one.bases, one.out_dims
        ({'register': ((1,),), 'lane': ((2,), (4,))}, {'dim0': 8})
        """
        if not isinstance(other, LinearLayout):
            return NotImplemented
        mine, theirs = dict(self._outs), dict(other._outs)
        names = merged(list(mine), list(theirs))
        outs = tuple((name, mine.get(name, 1) * theirs.get(name, 1)) for name in names)
        ins = []
        for name in merged(self.get_in_dim_names(), other.get_in_dim_names()):
            inner = [dict(zip(mine, v)) for v in dict(self._ins).get(name, ())]
            outer = [{out: x * mine.get(out, 1) for out, x in zip(theirs, v)} for v in dict(other._ins).get(name, ())]
            ins.append((name, tuple(tuple(v.get(out, 0) for out in names) for v in [*inner, *outer])))
        return LinearLayout(dict(ins), dict(outs))

    # ------------------------------------------------------------------------------------------- what it maps

    def is_surjective(self) -> bool:
        """Whether some input reaches every output."""
        return bits.rank(self.columns) == self.get_total_out_dim_size_log2()

    def is_injective(self) -> bool:
        """Whether no two inputs have the same output."""
        return bits.rank(self.columns) == self.get_total_in_dim_size_log2()

    def is_invertible(self) -> bool:
        """Whether each output is that of exactly one input."""
        return self.is_injective() and self.is_surjective()

    def sublayout(self, in_dims: Sequence[str], out_dims: Sequence[str]) -> LinearLayout:
        """The layout of some of the inputs and outputs, in this layout's order; the other inputs are 0."""
        ins, outs = self._chosen("input", in_dims), self._chosen("output", out_dims)
        places = [k for k, (name, _) in enumerate(self._outs) if name in outs]
        kept = tuple((name, tuple(tuple(v[k] for k in places) for v in vectors)) for name, vectors in self._ins if name in ins)
        return LinearLayout._make(kept, tuple(self._outs[k] for k in places))

    def _chosen(self, kind: str, names: Sequence[str]) -> set[str]:
        names = [names] if isinstance(names, str) else names
        table = self.get_in_dim_names() if kind == "input" else self.get_out_dim_names()
        for name in names:
            if name not in table:
                raise RankError(f"no {kind} is named {name!r:.40}", f"some of {', '.join(table) or 'none'}", "give these names")
        return {*names}

    def sublayout_is_zero(self, in_dims: Sequence[str], out_dims: Sequence[str]) -> bool:
        """Whether these inputs never change these outputs."""
        return not any(self.sublayout(in_dims, out_dims).columns)

    def is_trivial_over(self, dims: Sequence[str]) -> bool:
        """Whether each of these dimensions is an input and an output, mapped to itself and to nothing else."""
        dims = [dims] if isinstance(dims, str) else list(dims)
        if not all(self.has_in_dim(d) and self.has_out_dim(d) for d in dims):
            return False
        others_in = [d for d in self.get_in_dim_names() if d not in dims]
        others_out = [d for d in self.get_out_dim_names() if d not in dims]
        identity = LinearLayout.empty()
        for d in dims:
            identity = identity * LinearLayout.identity_1d(self.get_in_dim_size(d), d, d)
        here = self.sublayout(dims, dims)
        if here.get_total_in_dim_size_log2() != here.get_total_out_dim_size_log2():
            return False
        same = here.transpose_ins(dims).transpose_outs(dims) == identity
        return same and self.sublayout_is_zero(dims, others_out) and self.sublayout_is_zero(others_in, dims)

    def quotient(self, dims: Sequence[str]) -> LinearLayout | None:
        """This layout without dimensions that it maps to themselves; None where it is not trivial over them."""
        dims = [dims] if isinstance(dims, str) else list(dims)
        if not self.is_trivial_over(dims):
            return None
        return self.sublayout([d for d in self.get_in_dim_names() if d not in dims], [d for d in self.get_out_dim_names() if d not in dims])

    def get_free_variable_masks(self) -> dict[str, int]:
        """name of an input -> the bits of it that are sums of bits before them: changing them changes no set of outputs.

        >>> LinearLayout({"lane": [(1,), (0,), (1,), (2,)]}, {"dim0": 4}).get_free_variable_masks()
        {'lane': 6}
        """
        free, masks, at = {*bits.Echelon(self.columns).free}, {}, 0
        for name, vectors in self._ins:
            masks[name] = sum(1 << k for k in range(len(vectors)) if at + k in free)
            at += len(vectors)
        return masks

    def get_num_consecutive_in_out(self) -> int:
        """The largest power of two n such that n aligned steps of the first input are n steps of the first output.

        >>> LinearLayout({"register": [(1,), (2,), (8,)], "lane": [(4,)]}, {"dim0": 16}).get_num_consecutive_in_out()
        4
        """
        if not self._ins or not self._outs:
            return 1
        first = self._ins[0][1]
        count = 0
        while count < len(first) and first[count] == (1 << count, *(0,) * (len(self._outs) - 1)):
            count += 1
        rest = [v[0] for v in first[count:]] + [v[0] for _, vectors in self._ins[1:] for v in vectors]
        while count and any(x & (1 << count) - 1 for x in rest):
            count -= 1
        return 1 << count

    def get_reps(self, tile: LinearLayout) -> LinearLayout | None:
        """This layout without the bits of `tile`: which repetition of the tile each input is in. None if it is no tile of it.

        The bits of the tile go to 0; with the tile's own they make this layout again. None where a bit of the tile is not a bit
        of this layout, or another bit changes what the tile covers.
        """
        if not all(self.has_in_dim(d) for d in tile.get_in_dim_names()) or not all(self.has_out_dim(d) for d in tile.get_out_dim_names()):
            return None
        names = self.get_out_dim_names()
        covered = [0] * len(names)
        left = {name: list(vectors) for name, vectors in self._ins}
        for name, vectors in tile._ins:
            for v in vectors:
                full = tuple(dict(zip(tile.get_out_dim_names(), v)).get(out, 0) for out in names)
                if full not in left[name]:
                    return None
                left[name][left[name].index(full)] = (0,) * len(names)
                covered = [c | x for c, x in zip(covered, full)]
        if any(x & c for vectors in left.values() for v in vectors for x, c in zip(v, covered)):
            return None
        return LinearLayout._make(tuple((name, tuple(vectors)) for name, vectors in left.items()), self._outs)

    # ------------------------------------------------------------------------------------------- algebra

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this layout, then `outer`: outer's inputs are this layout's outputs, of this order or another.

        Raises     RankError for other names, RangeError where an output is larger than the input that it becomes

        >>> a = LinearLayout({"i": [(1,), (2,)]}, {"x": 4})
        >>> a.compose(LinearLayout({"x": [(2,), (1,)]}, {"y": 4})).bases
        {'i': ((2,), (1,))}
        """
        self._same_names("compose", "outputs", self.get_out_dim_names(), "the inputs of the outer layout", outer.get_in_dim_names())
        for name, size in self._outs:
            if size > outer.get_in_dim_size(name):
                what = f"compose: {name} has size {size}, and the outer layout takes {outer.get_in_dim_size(name)} of it"
                raise RangeError(what, f"an input of at least {size}", f"outer.resize_in_dim({name!r}, {size}) would ignore the rest")
        names = self.get_out_dim_names()
        ins = tuple((name, tuple(tuple(outer.apply(dict(zip(names, v))).values()) for v in vectors)) for name, vectors in self._ins)
        return LinearLayout._make(ins, outer._outs)

    @staticmethod
    def _same_names(where: str, what: str, mine: list[str], whose: str, theirs: list[str]) -> None:
        if {*mine} != {*theirs}:
            raise RankError(
                f"{where}: {what} {', '.join(mine) or 'none'}, and {whose} are {', '.join(theirs) or 'none'}",
                "the same names",
                "rename one",
            )

    def invert(self) -> LinearLayout:
        """The layout back, from outputs to inputs.

        Raises     InjectivityError where two inputs share an output, with both, RangeError where an output is never reached
        """
        if not self.is_injective():
            a = bits.kernel(self.columns)[0]
            at = self._inputs_text(a)
            raise InjectivityError(f"invert: {at} goes where all zeros go", "no two inputs with one output", "use pseudoinvert()")
        if not self.is_surjective():
            missing = unpack(bits.complement(self.columns, self.get_total_out_dim_size_log2())[0], self._outs)
            what = f"invert: nothing reaches ({', '.join(map(str, missing))})"
            raise RangeError(what, "a layout that reaches every output", "make its outputs smaller")
        return self.pseudoinvert()

    def _inputs_text(self, x: int) -> str:
        """The inputs of a mask of bits, as text."""
        parts, at = [], 0
        for name, vectors in self._ins:
            parts.append(f"{name}={x >> at & (1 << len(vectors)) - 1}")
            at += len(vectors)
        return ", ".join(parts)

    def pseudoinvert(self) -> LinearLayout:
        """A layout back, from outputs to inputs, of one that reaches every output: free bits, sums of bits before them, are 0.

        Raises     RangeError where an output is never reached

        Source: Triton's convention, the least squares of its echelon form.
        """
        identity = LinearLayout.empty()
        for name, size in self._outs:
            identity = identity * LinearLayout.identity_1d(size, name, name)
        return LinearLayout._make(identity._ins, identity._outs)._least_squares("pseudoinvert", self)

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """R with outer(R(x)) == self(x): from this layout's inputs to the inputs of `outer` that hold the same.

        An input of one name and of the same bases in both stays as it is; else free bits of outer are 0.

        Raises     RankError for other outputs, RangeError where `outer` does not reach what this layout does

        >>> lanes = LinearLayout({"lane": [(1,), (2,)]}, {"dim0": 4})
        >>> memory = LinearLayout({"offset": [(2,), (1,)]}, {"dim0": 4})
        >>> lanes.invert_and_compose(memory).bases
        {'lane': ((2,), (1,))}
        """
        names = self.get_out_dim_names()
        self._same_names("invert_and_compose", "outputs", names, "those of the outer layout", outer.get_out_dim_names())
        outer_there = outer.transpose_outs(names)
        for name, size in self._outs:
            if size > outer.get_out_dim_size(name):
                what = f"invert_and_compose: {name} has size {size}, and {outer.get_out_dim_size(name)} in the outer layout"
                raise RangeError(what, f"an output of at least {size} there", "make the outer layout larger")
        both = [d for d in outer.get_in_dim_names() if self.has_in_dim(d) and dict(self._ins)[d] == dict(outer_there._ins)[d]]
        rest = self.sublayout([d for d in self.get_in_dim_names() if d not in both], names)
        found = rest._least_squares(
            "invert_and_compose", outer_there.sublayout([d for d in outer.get_in_dim_names() if d not in both], names)
        )
        ins = {d: dict(found._ins).get(d, ()) for d in self.get_in_dim_names()}
        outs = {d: outer.get_in_dim_size(d) for d in outer.get_in_dim_names()}
        full = {d: [tuple(dict(zip(found.get_out_dim_names(), v)).get(o, 0) for o in outs) for v in vectors] for d, vectors in ins.items()}
        for d in both:
            full[d] = [tuple(1 << k if o == d else 0 for o in outs) for k in range(len(dict(self._ins)[d]))]
        return LinearLayout(full, outs)

    def _least_squares(self, where: str, outer: LinearLayout) -> LinearLayout:
        """R with outer(R(x)) == self(x), free bits of outer being 0; outputs of both are of one order."""
        matrix = bits.Echelon(outer.columns)
        columns = []
        for v in (v for _, vectors in self._ins for v in vectors):
            found = matrix.solve(outer.pack(v))
            if found is None:
                raise RangeError(
                    f"{where}: nothing reaches ({', '.join(map(str, v))})", "a layout that reaches it", "add bases, or broadcast"
                )
            columns.append(found)
        outs = tuple((name, 1 << len(vectors)) for name, vectors in outer._ins)
        return LinearLayout.of_columns([(name, len(vectors)) for name, vectors in self._ins], outs, columns)

    def divide_left(self, divisor: LinearLayout) -> LinearLayout | None:
        """C with divisor * C == self: what is outside of `divisor`. None if there is none. Names all stay, some of size 1."""
        return self._divided(divisor, left=True)

    def divide_right(self, divisor: LinearLayout) -> LinearLayout | None:
        """C with C * divisor == self: what is inside of `divisor`. None if there is none. Names all stay, some of size 1.

        >>> a = LinearLayout.identity_1d(8, "i", "o")
        >>> a.divide_right(LinearLayout.identity_1d(2, "i", "o")) == LinearLayout.identity_1d(4, "i", "o")
        True
        """
        return self._divided(divisor, left=False)

    def _divided(self, divisor: LinearLayout, left: bool) -> LinearLayout | None:
        theirs = dict(divisor._outs)
        if not all(self.has_out_dim(d) for d in theirs) or not all(self.has_in_dim(d) for d in divisor.get_in_dim_names()):
            return None
        outs = {d: size // theirs.get(d, 1) for d, size in self._outs}
        ins = {}
        for name, vectors in self._ins:
            n = len(dict(divisor._ins).get(name, ()))
            if n > len(vectors) or not all(outs.values()):
                return None
            kept = vectors[n:] if left else vectors[: len(vectors) - n]
            ins[name] = [tuple(x // theirs.get(d, 1) if left else x for x, d in zip(v, outs)) for v in kept]
        if any(x >= size for vectors in ins.values() for v in vectors for x, size in zip(v, outs.values())):
            return None
        found = LinearLayout(ins, outs)
        product = divisor * found if left else found * divisor
        fits = product.transpose_ins(self.get_in_dim_names()).transpose_outs(self.get_out_dim_names()) == self
        return found if fits else None

    # ------------------------------------------------------------------------------------------- names and shapes

    def transpose_ins(self, names: Sequence[str]) -> LinearLayout:
        """The same map, its inputs in this order."""
        self._same_names("transpose_ins", "names", list(names), "the inputs", self.get_in_dim_names())
        table = dict(self._ins)
        return LinearLayout._make(tuple((name, table[name]) for name in names), self._outs)

    def transpose_outs(self, names: Sequence[str]) -> LinearLayout:
        """The same map, its outputs in this order."""
        self._same_names("transpose_outs", "names", list(names), "the outputs", self.get_out_dim_names())
        mine = self.get_out_dim_names()
        places = [mine.index(name) for name in names]
        ins = tuple((name, tuple(tuple(v[k] for k in places) for v in vectors)) for name, vectors in self._ins)
        return LinearLayout._make(ins, tuple(self._outs[k] for k in places))

    def reshape_ins(self, dims: Mapping[str, int]) -> LinearLayout:
        """The same bits of input under other names and sizes, the first name lowest.

        >>> LinearLayout.identity_1d(8, "offset", "dim0").reshape_ins({"register": 2, "lane": 4}).bases
        {'register': ((1,),), 'lane': ((2,), (4,))}
        """
        counts = [(name, bits.log2(power_of_two(f"reshape_ins: {name}", size))) for name, size in dims.items()]
        self._same_bits("reshape_ins", sum(n for _, n in counts), self.get_total_in_dim_size_log2())
        checked_names("input", list(dims))
        return LinearLayout.of_columns(counts, self._outs, self.columns)

    def reshape_outs(self, dims: Mapping[str, int]) -> LinearLayout:
        """The same bits of output under other names and sizes, the first name lowest."""
        outs = tuple((name, power_of_two(f"reshape_outs: {name}", size)) for name, size in dims.items())
        self._same_bits("reshape_outs", sum(bits.log2(size) for _, size in outs), self.get_total_out_dim_size_log2())
        checked_names("output", list(dims))
        return LinearLayout.of_columns([(name, len(v)) for name, v in self._ins], outs, self.columns)

    @staticmethod
    def _same_bits(where: str, given: int, has: int) -> None:
        if given != has:
            raise RangeError(f"{where}: sizes of 2^{given} in all", f"2^{has}, as many as it has", "give sizes whose product is that")

    def flatten_ins(self) -> LinearLayout:
        """All inputs as one, of the first one's name, the first lowest."""
        return self.reshape_ins({self.get_in_dim_names()[0]: 1 << self.get_total_in_dim_size_log2()}) if self._ins else self

    def flatten_outs(self) -> LinearLayout:
        """All outputs as one, of the first one's name, the first lowest."""
        return self.reshape_outs({self.get_out_dim_names()[0]: 1 << self.get_total_out_dim_size_log2()}) if self._outs else self

    def concat_ins(self, other: LinearLayout) -> LinearLayout:
        """Both layouts' inputs beside each other; the outputs of both are the same."""
        if self._outs != other._outs:
            raise RankError("concat_ins of layouts of other outputs", f"{self.out_dims}", "resize and transpose one of them")
        checked_names("input", [*self.get_in_dim_names(), *other.get_in_dim_names()])
        return LinearLayout._make((*self._ins, *other._ins), self._outs)

    def concat_outs(self, other: LinearLayout) -> LinearLayout:
        """Both layouts' outputs beside each other; the inputs of both are the same."""
        sizes = [[(name, len(v)) for name, v in layout._ins] for layout in (self, other)]
        if sizes[0] != sizes[1]:
            raise RankError("concat_outs of layouts of other inputs", f"{sizes[0]}", "resize and transpose one of them")
        checked_names("output", [*self.get_out_dim_names(), *other.get_out_dim_names()])
        ins = tuple((name, tuple((*v, *w) for v, w in zip(vs, ws))) for (name, vs), (_, ws) in zip(self._ins, other._ins))
        return LinearLayout._make(ins, (*self._outs, *other._outs))

    def rename(self, names: Mapping[str, str]) -> LinearLayout:
        """The same map with some inputs and outputs named otherwise."""
        new_ins = tuple((names.get(name, name), v) for name, v in self._ins)
        new_outs = tuple((names.get(name, name), size) for name, size in self._outs)
        checked_names("input", [name for name, _ in new_ins])
        checked_names("output", [name for name, _ in new_outs])
        return LinearLayout._make(new_ins, new_outs)

    def resize_in_dim(self, name: str, size: int) -> LinearLayout:
        """An input of another size: bits cut off at the top, or added that go to 0."""
        n = bits.log2(power_of_two("resize_in_dim", size))
        self.get_in_dim_size(name)
        zeros = ((0,) * len(self._outs),) * n
        ins = tuple((d, (v + zeros[len(v) :])[:n] if d == name else v) for d, v in self._ins)
        return LinearLayout._make(ins, self._outs)

    def resize_out_dim(self, name: str, size: int) -> LinearLayout:
        """An output of another size; RangeError where a basis does not fit."""
        self.get_out_dim_size(name)
        return LinearLayout(self.bases, {d: size if d == name else n for d, n in self._outs})

    def remove_zero_bases_along_dim(self, name: str) -> LinearLayout:
        """An input without the bits that go to 0."""
        self.get_in_dim_size(name)
        return LinearLayout._make(tuple((d, tuple(v for v in vs if any(v)) if d == name else vs) for d, vs in self._ins), self._outs)

    # ------------------------------------------------------------------------------------------- seen

    def get_matrix_view(self) -> list[list[int]]:
        """The matrix over bits, row by row: a row for each bit of output, the first output's lowest first.

        >>> LinearLayout({"i": [(2,), (1,)]}, {"o": 4}).get_matrix_view()
        [[0, 1], [1, 0]]
        """
        return [[c >> k & 1 for c in self.columns] for k in range(self.get_total_out_dim_size_log2())]

    def get_distributed_view(self, use_hw_view: bool) -> str:
        """Who holds each element, as Triton prints it; with use_hw_view the elements that each lane of each warp holds."""
        return views.distributed(self, use_hw_view)

    def get_shared_view(self, use_hw_view: bool) -> str:
        """The offset of each element in shared memory, as Triton prints it; with use_hw_view the element at each offset."""
        return views.shared(self, use_hw_view)


def unpack(x: int, outs: Outs) -> tuple[int, ...]:
    """One value for each output, of all their bits as one integer."""
    vector = []
    for _, size in outs:
        vector.append(x & size - 1)
        x >>= bits.log2(size)
    return tuple(vector)


def merged(a: list[str], b: list[str]) -> list[str]:
    """All names in an order that both lists have; where it is open, or there is none, those of the first list come first.

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
