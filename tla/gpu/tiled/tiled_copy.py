"""TiledCopy: a copy atom laid out over the threads and values of a tile; a thread's parts of source and destination.

Source: CuTe include/cute/atom/copy_atom.hpp, TiledCopy and ThrCopy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...algebra.coalesce import coalesce, filter as keep_steps
from ...algebra.composition import composition, with_shape
from ...algebra.divide import logical_product, raked_product, zipped_divide
from ...algebra.inverse import left_inverse, right_inverse
from ...algebra.recast import upcast
from ...core.cache import memo
from ...core.display import Displayed
from ...core.element import Width
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ...core.int_tuple import _, product_each, shown, size
from ...core.ints import Int, IntLike, IntTree, Leaf
from ...core.kinds import AnyLayout, on
from ...core.layout import Layout, join
from ...core.leaf_arithmetic import mul
from ...core.make_layout import MakeLayout, shape
from ...core.questions import at_most, divides
from ...core.strides import Shape
from ...tensors.tensor import Tensor
from ..instructions.atom import CopyAtom, as_cute_prints, as_types
from ..instructions.entries import Family
from .partition import cut, part_of, with_valid
from .refusals import require_whole_atoms
from .tiled import ONE, as_thread, as_threads, rank_of, require_kind, thread_coordinate, vector
from .tiled_mma import MODES, TiledMMA

_0, _1 = Int[0](), Int[1]()


@dataclass(frozen=True, repr=False)
class TiledCopy(Displayed):
    """A copy atom laid out over the threads and values of a tile. make_tiled_copy makes one.

    atom       the instruction, with its element type
    TV         (thread, value) -> index in the tile, for the atom's reference: whichever side it is that threads hold
    tiler_mn   the tile: of each mode an extent, or a layout

    `copy[t]` is thread t's view; S_TV and D_TV say of a whole tile which thread reads and which one
    writes which element.
    Source: CuTe `TiledCopy`.

    >>> from tla.gpu import Copy_Atom, UniversalCopy, half, make_tiled_copy, uint128
    >>> copy = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (32, 8), (8, 1))
    >>> print(copy.tiler_mn, copy.TV)
    (_256,_8) (_256,_8):(_8,_1)
    """

    atom: CopyAtom
    TV: Layout
    tiler_mn: Any

    def __repr__(self) -> str:
        return f"TiledCopy({self.atom!r}, {self.TV}, {shown(self.tiler_mn)})"

    def __str__(self) -> str:
        """The fields as CuTe prints a TiledCopy, and then its atom."""
        return f"{as_cute_prints('TiledCopy', {'Tiler_MN': self.tiler_mn, 'TiledLayout_TV': self.TV}, 16)}\n{self.atom}"

    @property
    def threads(self) -> int:
        """The number of threads."""
        return int(size(self.TV[0]))

    @property
    def element_width(self) -> Width | None:
        """The width of an element, and its type, as the atom says it."""
        return self.atom.element_width

    @property
    def S_TV(self) -> Layout:
        """(thread, value) -> index in the tile, of the elements that a thread reads."""
        return self._tv("src")

    @property
    def D_TV(self) -> Layout:
        """(thread, value) -> index in the tile, of the elements that a thread writes."""
        return self._tv("dst")

    def _tv(self, side: str) -> Layout:
        tile = join([MakeLayout(_shape_of(self.tiler_mn)), ONE])
        cut_ = self._of_tile(tile, side)
        return join([cut_[0], cut_[1]])

    def __getitem__(self, t: Any) -> ThrCopy:
        t = as_thread(t)
        thread_coordinate(repr(self), vector(size(self.TV[0])), t)
        return ThrCopy(self, t)

    def get_slice(self, t: IntLike) -> ThrCopy:
        """copy[t], as CuTe writes it."""
        return self[t]

    get_thread_slice = get_slice

    def tidfrg_S(self, t: AnyLayout | Tensor) -> Any:
        """A layout or tensor (M,N,...) as (Thr,(FrgV,FrgX),(RestM,RestN,...)), by who reads."""
        return self.tidfrg("src", t)

    def tidfrg_D(self, t: AnyLayout | Tensor) -> Any:
        """A layout or tensor (M,N,...) as (Thr,(FrgV,FrgX),(RestM,RestN,...)), by who writes."""
        return self.tidfrg("dst", t)

    def tidfrg(self, side: str, t: AnyLayout | Tensor) -> Any:
        """As tidfrg_S for the side "src", tidfrg_D for "dst"."""
        modes = len(self.tiler_mn)
        if rank_of(t) < modes:
            what = f"{side} of {self!r}: {shown(t) if isinstance(t, Layout) else repr(t)}"
            raise RankError(what, f"{modes} modes at least", "group or append modes")
        return cut(lambda layout: self._tidfrg(side, layout), t, self.tiler_mn)

    @memo
    def _tidfrg(self, side: str, layout: Layout) -> Layout:
        return self._of_tile(zipped_divide(layout, self.tiler_mn), side)

    def _of_tile(self, tiled: Layout, side: str) -> Layout:
        """((TileM,...),(RestM,...)) as (Thr,(FrgV,FrgX),(RestM,...))."""
        values = composition(tiled[0], self._thread_values(side))
        return join([values[0], values[1], tiled[1]])

    @memo
    def _thread_values(self, side: str) -> Layout:
        """(thread, (atom's value, atom)) -> index in the tile, for a side."""
        ref = self.atom.val_ref
        among = composition(right_inverse(ref), self.atom.val_src if side == "src" else self.atom.val_dst)
        atoms = zipped_divide(self.TV, tuple(product_each(ref.shape)))
        own = composition(atoms[0], among)
        zipped = join([join([own[0], atoms[1][0]]), join([own[1], atoms[1][1]])])
        return coalesce(zipped, (_1, (_1, _1)))

    def retile(self, t: AnyLayout | Tensor) -> Any:
        """Registers of another partition, (V,M,N,...), as this copy's values: ((AtomV,AtomX),RestM,RestN,...).

        The first mode's elements are taken for the first values of this copy's threads.
        """
        if rank_of(t) < (least := 1 + len(self.tiler_mn)):
            what = f"retile of {shown(t) if isinstance(t, Layout) else repr(t)} by {self!r}"
            expected = f"{least} modes at least: a thread's values, then the rest of each"
            raise RankError(what, expected, "partition it with a tiled MMA or copy")
        return cut(self._retiled, t)

    def _retiled(self, layout: Layout) -> Layout:
        v, tile = size(layout[0]), _shape_of(self.tiler_mn)
        threads, values_of_thread = size(self.TV[0]), size(self.TV[1])
        if divides(values_of_thread, v):  # all values of the copy, once or more: the mode is cut into atoms alone
            whole = zipped_divide(layout, (v, *[_1] * len(tile)))
            atoms = zipped_divide(vector(v), vector(size(self.atom.val_ref[1])))
            return join([composition(whole[0], atoms), *list(whole[1])[1:]])
        if not divides(v, values_of_thread):
            what = f"retile of {layout} by {self!r}: a first mode of {v} values"
            expected = f"one that the {values_of_thread} values of a thread of this copy divide, or that divides them"
            raise DivisibilityError(what, expected, f"use a copy whose threads have {v} values")
        by_value = upcast[int(mul(threads, v))](with_shape(right_inverse(self.TV), tile))
        values = zipped_divide(logical_product(vector(v), right_inverse(by_value)), vector(size(self.atom.val_ref[1])))
        tiled = zipped_divide(layout, (v, *product_each(by_value.shape)))
        own = composition(tiled[0], values)
        return join([own, *list(tiled[1])[1:]])


@on(TiledCopy, size)
def _threads(x: TiledCopy) -> Leaf:
    return Int[x.threads]()  # as CuTe's size(tiled) is, which a launch is given


def _shape_of(tiler: Any) -> Shape:
    """The shape of a tiler's tiles."""
    return Shape(*(shape(x) if isinstance(x, Layout) else x for x in tiler))


@dataclass(frozen=True, repr=False)
class ThrCopy:
    """Thread t's view of a tiled copy: its parts of source and destination.

    t   an integer, a numpy array of them (then offsets are arrays), or a symbol (then they are expressions)

    >>> from tla import parse
    >>> from tla.gpu import Copy_Atom, UniversalCopy, half, make_tiled_copy, uint128
    >>> copy = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (32, 8), (8, 1))
    >>> print(copy[33].partition_S(parse("(_256,_32):(_1,_256)")))
    Tensor(None at 264, ((_8,_1),_1,_4):((_1,_0),_0,_2048))

    Source: CuTe `ThrCopy`.
    """

    copy: TiledCopy
    thread: Any

    def __repr__(self) -> str:
        return f"{self.copy!r}[{self.thread}]"

    def __str__(self) -> str:
        """The fields as CuTe prints a ThrCopy, and then the tiled copy."""
        return f"{as_cute_prints('ThrCopy', {'ThrIdx': self.thread}, 8)}\n{self.copy}"

    def partition_S(self, t: AnyLayout | Tensor) -> Tensor:
        """The part of a source that the thread reads, ((FrgV,FrgX), RestM, RestN, ...), over its elements."""
        return self._partition("src", t)

    def partition_D(self, t: AnyLayout | Tensor) -> Tensor:
        """The part of a destination that the thread writes, ((FrgV,FrgX), RestM, RestN, ...), over its elements."""
        return self._partition("dst", t)

    def _partition(self, side: str, t: AnyLayout | Tensor) -> Tensor:
        whole = with_valid(t)
        frg = self.copy.tidfrg(side, whole)
        rest = (_,) * rank_of(t) if rank_of(t) > 1 else _  # of one mode CuTe keeps its level: ((FrgV,FrgX),(RestM))
        return part_of(whole, frg, self.thread, self.thread, _, rest)

    def retile_S(self, t: AnyLayout | Tensor) -> Any:
        """Registers of another partition as this copy's source: the same elements."""
        return self.copy.retile(t)

    def retile_D(self, t: AnyLayout | Tensor) -> Any:
        """Registers of another partition as this copy's destination: the same elements."""
        return self.copy.retile(t)


# ---------------------------------------------------------------------------------------------------- making one


def _tiled_copy(where: str, atom: CopyAtom, tv: Layout, tiler: Any) -> TiledCopy:
    """A TiledCopy whose threads and values its atom divides."""
    threads, values = product_each(_typed(where, atom).val_ref.shape)
    for what, have, need in (("threads", size(tv[0]), threads), ("values", size(tv[1]), values)):
        if not divides(need, have):
            given = f"{where} of {atom.name} for {atom.val_type}: {have} {what}"
            raise DivisibilityError(given, f"a multiple of the atom's {need}", f"use {need} or a multiple of it")
    copy = TiledCopy(atom, tv, tiler)
    require_whole_atoms(where, copy)
    return copy


def _typed(where: str, atom: Any) -> CopyAtom:
    if not isinstance(atom, CopyAtom):
        example = "write Copy_Atom[UniversalCopy[uint128], half]"
        fix = f"write {atom!r} with its arguments" if isinstance(atom, Family) else example
        raise LeafTypeError(f"{where} of {shown(atom)}", "a copy instruction's atom", fix)
    if atom.val_type is None:
        what = f"{where} of {atom.name} without an element type"
        raise LeafTypeError(what, "the type of what it copies", f'write Copy_Atom["{atom.name}", half]')
    return atom


def make_tiled_copy(atom: CopyAtom, thr_layout: object = None, val_layout: object = None) -> TiledCopy:
    """A copy atom laid out by threads and values over a tile.

    atom         a CopyAtom with its element type: Copy_Atom[UniversalCopy[uint128], half]
    thr_layout   (m, n, ...) -> thread: a static layout, or a shape for the compact one; one thread by default
    val_layout   (m, n, ...) -> value of a thread, likewise
    Raises       LeafTypeError for no atom or what is dynamic, DivisibilityError where its threads or values
                 are not whole atoms

    >>> from tla.gpu import Copy_Atom, UniversalCopy, float, make_tiled_copy
    >>> print(make_tiled_copy(Copy_Atom[UniversalCopy[float], float], (32, 8)).TV)
    (_256,_1):(_1,_0)

    Source: CuTe `make_tiled_copy`.
    """
    _typed("make_tiled_copy", atom)
    tiler, tv = _layout_tv("make_tiled_copy", thr_layout, val_layout)
    return _tiled_copy("make_tiled_copy", atom, tv, tiler)


def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[Any, Layout]:
    """The tile that threads cover with their values, and the layout from (thread, value) to the index in it.

    Arguments and errors are those of make_tiled_copy.

    >>> from tla import parse
    >>> tile, tv = make_layout_tv(parse("(_16,_8):(_8,_1)"), parse("(_1,_8):(_0,_1)"))
    >>> print(tile, tv)
    (_16,_64) ((_8,_16),_8):((_128,_1),_16)

    Source: the CuTe DSL's `cute.make_layout_tv`.
    """
    return _layout_tv("make_layout_tv", thr_layout, val_layout)


def _layout_tv(where: str, thr_layout: Any, val_layout: Any) -> tuple[Any, Layout]:
    r = max(_rank_given(thr_layout), _rank_given(val_layout))
    threads, values = (as_threads(where, as_types(x), r) for x in (thr_layout, val_layout))
    layout_mn = raked_product(threads, values)
    inverse = right_inverse(layout_mn)
    if size(inverse) != size(layout_mn):
        what = f"{where} with the threads {threads} and values {values}"
        expected = "layouts onto 0, 1, 2, ...: each thread and value once"
        raise RangeError(what, expected, "use a compact layout, (2,4):(4,1)")
    return product_each(layout_mn.shape), with_shape(inverse, (size(threads), size(values)))


def _rank_given(x: Any) -> int:
    s = shape(x) if isinstance(x, Layout) else x
    return len(s) if isinstance(s, tuple) else 1


def make_tiled_copy_A(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """A copy whose threads hold what a tiled MMA's threads hold of A: shared memory to its registers.

    >>> from tla.gpu import Copy_Atom, SM75_U32x4_LDSM_N, SM80_16x8x16_F32F16F16F32_TN, half, make_tiled_copy_A, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
    >>> print(make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, half], mma).tiler_mn)
    (_32,_16)

    Raises what make_tiled_copy raises. Source: CuTe `make_tiled_copy_A`.
    """
    return _of_mma("make_tiled_copy_A", atom, mma, "A")


def make_tiled_copy_B(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """A copy whose threads hold what a tiled MMA's threads hold of B; see make_tiled_copy_A.

    >>> from tla.gpu import Copy_Atom, SM75_U32x4_LDSM_N, SM80_16x8x16_F32F16F16F32_TN, half, make_tiled_copy_B, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
    >>> print(make_tiled_copy_B(Copy_Atom[SM75_U32x4_LDSM_N, half], mma).tiler_mn)
    (_32,_16)

    Source: CuTe `make_tiled_copy_B`.
    """
    return _of_mma("make_tiled_copy_B", atom, mma, "B")


def make_tiled_copy_C(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """A copy whose threads hold what a tiled MMA's threads hold of C: its accumulators to memory.

    >>> from tla.gpu import Copy_Atom, SM80_16x8x16_F32F16F16F32_TN, UniversalCopy, float, make_tiled_copy_C, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2))
    >>> print(make_tiled_copy_C(Copy_Atom[UniversalCopy[float], float], mma).tiler_mn)
    (_32,_16)

    Source: CuTe `make_tiled_copy_C`.
    """
    return _of_mma("make_tiled_copy_C", atom, mma, "C")


def _of_mma(where: str, atom: CopyAtom, mma: Any, operand: str) -> TiledCopy:
    sizes = require_kind(where, mma, TiledMMA, "a tiled MMA").tile_size
    i, j = MODES[operand]
    return _tiled_copy(where, atom, getattr(mma, f"{operand}_TV"), Shape(sizes[i], sizes[j]))


def make_tiled_copy_S(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:
    """A copy whose threads hold what another one's threads read.

    >>> from tla.gpu import Copy_Atom, UniversalCopy, half, make_tiled_copy, make_tiled_copy_S, uint32
    >>> other = make_tiled_copy(Copy_Atom[UniversalCopy[uint32], half], (32, 1), (2, 1))
    >>> print(make_tiled_copy_S(Copy_Atom[UniversalCopy[uint32], half], other).TV)
    (_32,(_2,_1)):(_2,(_1,_0))

    Source: CuTe `make_tiled_copy_S`.
    """
    tiled_copy = require_kind("make_tiled_copy_S", tiled_copy, TiledCopy, "a tiled copy")
    return _tiled_copy("make_tiled_copy_S", atom, tiled_copy.S_TV, tiled_copy.tiler_mn)


def make_tiled_copy_D(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:
    """A copy whose threads hold what another one's threads write.

    >>> from tla.gpu import Copy_Atom, UniversalCopy, half, make_tiled_copy, make_tiled_copy_D, uint32
    >>> other = make_tiled_copy(Copy_Atom[UniversalCopy[uint32], half], (32, 1), (2, 1))
    >>> print(make_tiled_copy_D(Copy_Atom[UniversalCopy[uint32], half], other).TV)
    (_32,(_2,_1)):(_2,(_1,_0))

    Source: CuTe `make_tiled_copy_D`.
    """
    tiled_copy = require_kind("make_tiled_copy_D", tiled_copy, TiledCopy, "a tiled copy")
    return _tiled_copy("make_tiled_copy_D", atom, tiled_copy.D_TV, tiled_copy.tiler_mn)


def make_tiled_copy_C_atom(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """The smallest copy of a tiled MMA's accumulators: as many of a thread's first values as the atom stores at once.

    >>> from tla.gpu import Copy_Atom, SM80_16x8x16_F32F16F16F32_TN, UniversalCopy, float, make_tiled_copy_C_atom, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
    >>> print(make_tiled_copy_C_atom(Copy_Atom[UniversalCopy[float], float], mma).TV)
    ((_4,_8,_2,_2),_1):((_16,_1,_8,_64),_0)

    Source: CuTe `make_tiled_copy_C_atom`.
    """
    count = size(_typed("make_tiled_copy_C_atom", atom).val_src[1])
    mma = require_kind("make_tiled_copy_C_atom", mma, TiledMMA, "a tiled MMA")
    tv = mma.C_TV
    if at_most(count, size(tv[1])) is not True:
        what = f"make_tiled_copy_C_atom: {atom.name} stores {count} values"
        raise RangeError(what, f"at most the {size(tv[1])} of a thread", "take a narrower atom, or a larger tile")
    sizes = mma.tile_size
    some = composition(tv, MakeLayout((size(tv[0]), count)))
    return _cotiled("make_tiled_copy_C_atom", atom, some, Shape(sizes[0], sizes[1]))


def _cotiled(where: str, atom: CopyAtom, tv: Layout, whole: IntTree) -> TiledCopy:
    """A copy of what (thread, value) -> index of a tile of extents `whole` reaches, picked out by the tiler."""
    strides = [tuple(_1 if i == j else _0 for j in range(len(whole))) for i in range(len(whole))]
    tiler = tuple(keep_steps(composition(Layout(whole, s), tv)) for s in strides)
    to_whole = composition(MakeLayout(whole), tiler)
    return _tiled_copy(where, atom, composition(left_inverse(to_whole), tv), tiler)


def make_cotiled_copy(atom: CopyAtom, atom_tv: Layout, data_layout: Layout) -> TiledCopy:
    """A copy by where threads' values lie in memory, not by coordinates: vectors and the offsets between them.

    atom_tv       (thread, value) -> offset in the data
    data_layout   coordinate -> offset in the data
    Raises        RangeError where atom_tv reaches offsets that data_layout does not have, and
                  what make_tiled_copy raises

    >>> from tla import parse
    >>> from tla.gpu import Copy_Atom, UniversalCopy, float, make_cotiled_copy
    >>> data = parse("(_8,_16):(_1,_8)")
    >>> print(make_cotiled_copy(Copy_Atom[UniversalCopy[float], float], parse("(_8,_4):(_4,_1)"), data).TV)
    ((_2,_4),_4):((_1,_8),_2)

    Source: CuTe `make_cotiled_copy`.
    """
    for what, x in (("the threads and values", atom_tv), ("the data", data_layout)):
        if not isinstance(x, Layout) or not x.is_static:
            given = f"make_cotiled_copy: {what}, {shown(x)}"
            raise LeafTypeError(given, "a static layout", "write static(...) around it")
    if rank_of(atom_tv) != 2:
        given = f"make_cotiled_copy: the threads and values {atom_tv}"
        raise RankError(given, "two modes: (thread, value)", "write (32,2):(2,1)")
    whole = product_each(data_layout.shape)
    back = join([left_inverse(data_layout), ONE])
    tv = composition(back, atom_tv)
    reached = composition(join([data_layout, ONE]), tv[1])
    if coalesce(reached) != coalesce(atom_tv[1]):
        what = f"make_cotiled_copy: {atom_tv} in the data {data_layout}"
        raise RangeError(what, "offsets that the data has", "lay the threads out over the data's own offsets")
    return _cotiled("make_cotiled_copy", atom, tv, whole)
