"""LinearLayout: a map of named inputs to named outputs that is linear over bits.

Source: Linear Layouts, arXiv 2505.23819; Triton's LinearLayout, whose conventions these are where there is a choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..core.display import Displayed
from ..core.errors import InjectivityError, RangeError, RankError
from . import bits, views
from .arguments import checked
from .building import Built, unpack


class LinearLayout(Built, Displayed):
    """A map, linear over bits, of named inputs to outputs: the xor of the bases of the set input bits.

    bases      name -> one basis for each bit of that input, the lowest first; a basis has one integer for each output
    out_dims   name -> size, a power of two; the order of names is that of the integers in a basis
    Raises     RangeError for sizes that are no powers of two, or more than 62 bits, RankError for vectors
               of another length

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

    # ------------------------------------------------------------------------------------------- what it maps

    @checked
    def sublayout(self, in_dims: Sequence[str], out_dims: Sequence[str]) -> LinearLayout:
        """The layout of some of the inputs and outputs, in this layout's order; the other inputs are 0."""
        ins, outs = self._chosen("input", in_dims), self._chosen("output", out_dims)
        places = [k for k, (name, _) in enumerate(self._outs) if name in outs]
        kept = tuple(
            (name, tuple(tuple(v[k] for k in places) for v in vectors)) for name, vectors in self._ins if name in ins
        )
        return LinearLayout._make(kept, tuple(self._outs[k] for k in places))

    def _chosen(self, kind: str, names: Sequence[str]) -> set[str]:
        names = [names] if isinstance(names, str) else names
        table = self.get_in_dim_names() if kind == "input" else self.get_out_dim_names()
        for name in names:
            if name not in table:
                what = f"no {kind} is named {name!r:.40}"
                raise RankError(what, f"some of {', '.join(table) or 'none'}", "use names among these")
        return {*names}

    @checked
    def sublayout_is_zero(self, in_dims: Sequence[str], out_dims: Sequence[str]) -> bool:
        """Whether these inputs never change these outputs."""
        return not any(self.sublayout(in_dims, out_dims).columns)

    @checked
    def is_trivial_over(self, dims: Sequence[str]) -> bool:
        """Whether each of these dimensions is an input and an output, mapped to itself and to nothing else."""
        dims = [dims] if isinstance(dims, str) else list(dims)
        if not all(self.has_in_dim(d) and self.has_out_dim(d) for d in dims):
            return False
        others_in = [d for d in self.get_in_dim_names() if d not in dims]
        others_out = [d for d in self.get_out_dim_names() if d not in dims]
        identity = _identity({d: self.get_in_dim_size(d) for d in dims})
        here = self.sublayout(dims, dims)
        if here.get_total_in_dim_size_log2() != here.get_total_out_dim_size_log2():
            return False
        same = here.transpose_ins(dims).transpose_outs(dims) == identity
        return same and self.sublayout_is_zero(dims, others_out) and self.sublayout_is_zero(others_in, dims)

    @checked
    def quotient(self, dims: Sequence[str]) -> LinearLayout | None:
        """This layout without dimensions that it maps to themselves; None where it is not trivial over them."""
        dims = [dims] if isinstance(dims, str) else list(dims)
        if not self.is_trivial_over(dims):
            return None
        ins = [d for d in self.get_in_dim_names() if d not in dims]
        return self.sublayout(ins, [d for d in self.get_out_dim_names() if d not in dims])

    def get_free_variable_masks(self) -> dict[str, int]:
        """name of an input -> the bits of it that are sums of bits before them: changing them changes no
        set of outputs.

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

    @checked
    def get_reps(self, tile: LinearLayout) -> LinearLayout | None:
        """This layout without the bits of `tile`: which repetition of the tile each input is in. None if it is
        no tile of it.

        The bits of the tile go to 0; with the tile's own they make this layout again. None where a bit of the tile is
        not a bit of this layout, or another bit changes what the tile covers.
        """
        if not self._has_dims_of(tile):
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

    @checked
    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this layout, then `outer`: outer's inputs are this layout's outputs, of this order or another.

        Raises     RankError for other names, RangeError where an output is larger than the input that it becomes

        >>> a = LinearLayout({"i": [(1,), (2,)]}, {"x": 4})
        >>> a.compose(LinearLayout({"x": [(2,), (1,)]}, {"y": 4})).bases
        {'i': ((2,), (1,))}
        """
        names = self.get_out_dim_names()
        self._same_names("compose", "outputs", names, "the inputs of the outer layout", outer.get_in_dim_names())
        for name, size in self._outs:
            if size > (takes := outer.get_in_dim_size(name)):
                what = f"compose: {name} has size {size}, and the outer layout takes {takes} of it"
                fix = f"write compose(outer.resize_in_dim({name!r}, {size})): it ignores the rest"
                raise RangeError(what, f"an input of at least {size}", fix)
        ins = tuple((d, tuple(tuple(outer.apply(dict(zip(names, v))).values()) for v in vs)) for d, vs in self._ins)
        return LinearLayout._make(ins, outer._outs)

    def invert(self) -> LinearLayout:
        """The layout back, from outputs to inputs.

        Raises     InjectivityError where two inputs share an output, with both, RangeError where an output
                   is never reached
        """
        if not self.is_injective():
            a = bits.kernel(self.columns)[0]
            at = self._inputs_text(a)
            what = f"invert: {at} goes where all zeros go"
            raise InjectivityError(what, "no two inputs with one output", "use pseudoinvert()")
        if not self.is_surjective():
            missing = unpack(bits.complement(self.columns, self.get_total_out_dim_size_log2())[0], self._outs)
            what = f"invert: nothing reaches ({', '.join(map(str, missing))})"
            expected = "a layout that reaches every output"
            raise RangeError(what, expected, "add bases that reach it, or make its outputs smaller")
        return self.pseudoinvert()

    def _inputs_text(self, x: int) -> str:
        """The inputs of a mask of bits, as text."""
        parts, at = [], 0
        for name, vectors in self._ins:
            parts.append(f"{name}={x >> at & (1 << len(vectors)) - 1}")
            at += len(vectors)
        return ", ".join(parts)

    def pseudoinvert(self) -> LinearLayout:
        """An inverse of a layout that reaches every output; input bits whose basis is a sum of earlier ones are 0.

        Raises     RangeError where an output is never reached

        Source: Triton's convention, the least squares of its echelon form.
        """
        return _identity(self.out_dims)._least_squares("pseudoinvert", self)

    @checked
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
            if size > (takes := outer.get_out_dim_size(name)):
                what = f"invert_and_compose: {name} has size {size}, and {takes} in the outer layout"
                expected = f"an output of at least {size} there"
                raise RangeError(what, expected, f"write outer.resize_out_dim({name!r}, {size})")
        mine, theirs = dict(self._ins), dict(outer_there._ins)
        both = [d for d in theirs if d in mine and mine[d] == theirs[d]]
        rest = self.sublayout([d for d in mine if d not in both], names)
        outer_rest = outer_there.sublayout([d for d in theirs if d not in both], names)
        found = rest._least_squares("invert_and_compose", outer_rest)
        ins = {d: dict(found._ins).get(d, ()) for d in mine}
        outs, reached = {d: outer.get_in_dim_size(d) for d in theirs}, found.get_out_dim_names()
        full = {d: [tuple(dict(zip(reached, v)).get(o, 0) for o in outs) for v in vs] for d, vs in ins.items()}
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
                what = f"{where}: nothing reaches ({', '.join(map(str, v))})"
                raise RangeError(what, "a layout that reaches it", "add bases, or broadcast")
            columns.append(found)
        outs = tuple((name, 1 << len(vectors)) for name, vectors in outer._ins)
        return LinearLayout._of_columns([(name, len(vectors)) for name, vectors in self._ins], outs, columns)

    @checked
    def divide_left(self, divisor: LinearLayout) -> LinearLayout | None:
        """C with divisor * C == self: what is outside of `divisor`; else None. Names all stay, some of size 1."""
        return self._divided(divisor, left=True)

    @checked
    def divide_right(self, divisor: LinearLayout) -> LinearLayout | None:
        """C with C * divisor == self: what is inside of `divisor`. None if there is none. Names all stay, some
        of size 1.

        >>> a = LinearLayout.identity_1d(8, "i", "o")
        >>> a.divide_right(LinearLayout.identity_1d(2, "i", "o")) == LinearLayout.identity_1d(4, "i", "o")
        True
        """
        return self._divided(divisor, left=False)

    def _has_dims_of(self, other: LinearLayout) -> bool:
        return {*dict(other._ins)} <= {*dict(self._ins)} and {*dict(other._outs)} <= {*dict(self._outs)}

    def _divided(self, divisor: LinearLayout, left: bool) -> LinearLayout | None:
        """The other factor, where this layout is the product of it and the divisor; None where it is not."""
        theirs = dict(divisor._outs)
        if not self._has_dims_of(divisor):
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

    # ------------------------------------------------------------------------------------------- seen

    def get_matrix_view(self) -> list[list[int]]:
        """The matrix over bits, row by row: a row for each bit of output, the first output's lowest first.

        >>> LinearLayout({"i": [(2,), (1,)]}, {"o": 4}).get_matrix_view()
        [[0, 1], [1, 0]]
        """
        return [[c >> k & 1 for c in self.columns] for k in range(self.get_total_out_dim_size_log2())]

    @checked
    def get_distributed_view(self, use_hw_view: bool) -> str:
        """Who holds each element, as Triton prints it; with use_hw_view the elements that each warp's lanes hold."""
        return views.distributed(self, use_hw_view)

    @checked
    def get_shared_view(self, use_hw_view: bool) -> str:
        """The offset of each element in shared memory, as Triton prints it; with use_hw_view each offset's element."""
        return views.shared(self, use_hw_view)


def _identity(sizes: Mapping[str, int]) -> LinearLayout:
    """The layout of these names from each to itself."""
    parts = (LinearLayout.identity_1d(size, name, name) for name, size in sizes.items())
    return math.prod(parts, start=LinearLayout.empty())
