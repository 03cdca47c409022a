"""One side of a copy: whether its accesses are ones that the instruction makes.

A layout decides for all accesses at once. Where it does not, as for a start at an odd element, a row of an odd length
under a predicate, or what is composed of several maps, each access is looked at.

Source: the PTX manual, "Addresses as operands"; CuTe include/cute/atom/copy_traits.hpp, copy_unpack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.composed import ComposedLayout, innermost
from ...core.errors import Reason, Unproven
from ...core.int_tuple import leaves, shown
from ...core.ints import is_int, known
from ...core.layout import Layout
from ...core.swizzle import Swizzle
from ...tensors.make import offsets_inside
from ...tensors.tensor import Tensor
from ..descriptors.vectors import Vectors, are_of_one_run, first_values, is_multiple
from .values import places_of

if TYPE_CHECKING:
    import numpy.typing as npt

#: The names of memories that stand for others.
_MEMORIES = {"rmem": "registers", "tmem": "TMEM"}


def memory_of(t: Tensor) -> str | None:
    """The memory that a tensor is said to be in: "gmem", "smem", "registers", "TMEM"; None where it is not said."""
    return _MEMORIES.get(t.position or "", t.position)


def first_mode(t: Tensor) -> Layout:
    """The layout of a tensor's first mode: the values of a thread."""
    inner: Layout = innermost(t.layout)
    return inner[0] if isinstance(inner.shape, tuple) and inner.shape else inner


def threads_of(t: Tensor) -> int | None:
    """The number of threads that a tensor is of; None for a single one, or a symbol that stands for all."""
    return max(
        (int(start.size) for start in (t.offset, *offsets_inside(t.layout)) if hasattr(start, "dtype")), default=None
    )


class Side(NamedTuple):
    """The source or the target of a copy.

    where     the copy, for messages
    tensor    (values of a thread, rest ...), of one thread, of an array of them, or of a symbol
    values    how many of them an instruction has
    memory    where it is: that of the tensor, or of the instruction; "any" where neither says it
    vectors   its accesses: the values are those of one instruction, the others are what it is repeated over
    """

    where: str
    tensor: Tensor
    values: int
    memory: str
    vectors: Vectors

    @property
    def has_addresses(self) -> bool:
        """Whether its elements lie at addresses: registers do not, and tensor memory has its own."""
        return self.memory not in ("registers", "TMEM")

    @property
    def is_symbolic(self) -> bool:
        """Whether the thread, an extent or a stride is a symbol."""
        t, inner = self.tensor, innermost(self.tensor.layout)
        numbers = [*leaves(inner.shape), *leaves(inner.stride), *t.coord, t.offset, *offsets_inside(t.layout)]
        return any(is_int(n) and known(n) is None for n in numbers)

    def why_not_together(self) -> Reason | None:
        """The reason why elements of an access do not lie together, in order; None where they do."""
        if not self._is_plain:
            return self._why_not_together_by_values()
        if not self._moves_inside:
            return self.vectors.why_not_together(self._named)
        inside = f"inside of {self.vectors.bits // 8} bytes of {shown(self.vectors.layout)}"
        what = f"{self.tensor.layout.outer} moves elements {inside}"
        return Reason(what, self.vectors.expected, self.vectors.fix)

    def why_not_aligned(self, admitted: npt.NDArray[Any] | None) -> Reason | None:
        """The reason why an access begins at no multiple of its size; None where all do.

        admitted   the accesses that are made, as an array of (thread, access, rest); None for all
        """
        remainder, modulus = self.tensor.memory.address(self.tensor.data)
        if not self.has_addresses:
            return None
        if (reason := self._why_not_buffer_aligned(remainder, modulus)) is not None:
            return reason
        if self.is_symbolic:
            return self._why_not_aligned_of_symbols()
        return None if self._is_aligned_by_layout(remainder) else self._why_not_aligned_by_values(remainder, admitted)

    def why_not_start_aligned(self) -> Reason | None:
        """The reason why the tensor begins at no multiple of an access; None where it does."""
        remainder, modulus = self.tensor.memory.address(self.tensor.data)
        if not self.has_addresses:
            return None
        reason = self._why_not_buffer_aligned(remainder, modulus)
        for start in self._starts(remainder) if reason is None else ():
            if not is_multiple(self.vectors.elements, start, self._named):
                return self.vectors.no_units(f"it begins at {shown(start)}")
        return reason

    def _why_not_buffer_aligned(self, remainder: int, modulus: int) -> Reason | None:
        if modulus * 8 % self.vectors.bits:
            what = f"{self.tensor!r}: its buffer begins at a multiple of {modulus} bytes"
            least = self.vectors.bits // 8
            return Reason(what, f"a multiple of {least}", f"align it, and write MakeTensor(..., alignment={least})")
        if remainder * 8 % self.vectors.element.bits:
            return self.vectors.no_units(f"its buffer begins at byte {remainder}")
        return None

    # --------------------------------------------------------------------------------------------- by the layout

    @property
    def _moves_inside(self) -> bool:
        """Whether a swizzle may change the order of an access's elements, of longer extents too: CuTe asks its type."""
        swizzle = getattr(self.tensor.layout, "outer", None)
        return swizzle is not None and bool(swizzle.changes & (self.vectors.elements - 1))

    @property
    def _is_plain(self) -> bool:
        """Whether a layout, or a swizzle over one, says where everything is."""
        layout = self.tensor.layout
        outer, inner = (layout.outer, layout.inner) if isinstance(layout, ComposedLayout) else (None, layout)
        starts_at_0 = all(known(c) == 0 for c in self.tensor.coord)
        return starts_at_0 and isinstance(inner, Layout) and (outer is None or isinstance(outer, Swizzle))

    def _starts(self, remainder: int) -> list[Any]:
        """The offsets that have to be multiples of an access [elements]: before a swizzle, and in the buffer."""
        element = self.vectors.element.bits
        return [*offsets_inside(self.tensor.layout), self.tensor.offset + remainder * 8 // element]

    def _is_aligned_by_layout(self, remainder: int) -> bool:
        if not self._is_plain:
            return False
        starts = (is_multiple(self.vectors.elements, start, self._named) for start in self._starts(remainder))
        return all(starts) and self.vectors.why_not_aligned(self._named) is None

    def _why_not_aligned_of_symbols(self) -> Reason | None:
        if not self._is_plain:
            what = f"{self._named()}: {shown(self.tensor.layout)} with symbols"
            fix = "give its symbols values, or copy element by element"
            raise Unproven(what, "a layout, or a swizzle over one", fix)
        return self.why_not_start_aligned() or self.vectors.why_not_aligned(self._named)

    def _named(self) -> str:
        return f"{self.where}, {self.vectors.bits // 8} bytes at once"

    # --------------------------------------------------------------------------------------------- by each access

    def accesses(self) -> Any:
        """The offset of every element by (thread, access, place in it, rest) [elements]."""
        places = places_of(self.tensor)
        return places.reshape(places.shape[0], -1, self.vectors.elements, *places.shape[2:])

    def _why_not_together_by_values(self) -> Reason | None:
        import numpy as np

        places = self.accesses()
        place = np.arange(self.vectors.elements).reshape(-1, *(1,) * (places.ndim - 3))
        apart = (places != places[:, :, :1] + place).any(2)
        if not apart.any():
            return None
        thread, *_rest = np.argwhere(apart)[0]
        values = f"{self.vectors.bits // 8} bytes along mode 0 of {shown(self.vectors.layout)}"
        what = f"{values} are not contiguous, those of thread {thread}"
        return Reason(what, self.vectors.expected, self.vectors.fix)

    def _why_not_aligned_by_values(self, remainder: int, admitted: npt.NDArray[Any] | None) -> Reason | None:
        import numpy as np

        bits = remainder * 8 + self.accesses()[:, :, 0] * self.vectors.element.bits
        wrong = bits % self.vectors.bits != 0
        wrong &= True if admitted is None else admitted
        if not wrong.any():
            return None
        thread, *_rest = at = np.argwhere(wrong)[0]
        reason = self.vectors.why_not_aligned(self._named) if self._is_plain else None
        begins = f"thread {thread} begins at byte {int(bits[tuple(at)]) / 8:g}"
        return self.vectors.no_units(begins if reason is None else f"{reason.what.rpartition(': ')[2]}, {begins}")


def are_moved_as_they_lie(a: Side, b: Side) -> bool:
    """Whether accesses of two sides have their elements in one order, whichever: then each comes where it belongs."""
    cuts = [first_values(side.vectors.values, side.vectors.elements) for side in (a, b)]
    if None in cuts or not (a._is_plain and b._is_plain) or a.vectors.elements != b.vectors.elements:
        return False
    return not (a._moves_inside or b._moves_inside) and are_of_one_run(*(cut[0] for cut in cuts if cut))
