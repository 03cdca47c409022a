"""TiledMMA: an atom laid out over threads and repeated over a tile; a thread's parts of A, B and C.

Source: CuTe include/cute/atom/mma_atom.hpp, TiledMMA and ThrMMA.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...algebra.codomain import cosize
from ...algebra.composition import composition
from ...algebra.divide import logical_divide, tiled_product, zipped_divide
from ...algebra.predicates import is_bijective, is_injective
from ...core.cache import memo
from ...core.display import Displayed
from ...core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError, RankError
from ...core.int_tuple import Underscore, _, shown, size
from ...core.ints import Int, IntLike, IntTree, Leaf, is_int, is_static, known, leaf
from ...core.kinds import AnyLayout, on
from ...core.layout import Layout, join
from ...core.leaf_arithmetic import mul
from ...core.make_layout import MakeLayout
from ...core.questions import divides
from ...symbolic import Condition
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor
from ..descriptors.matrix_descriptor import require_tiles
from ..instructions.atom import MMAAtom, TmemFragment, as_cute_prints
from ..instructions.entries import Family
from .fragments import fragment_like, register_fragment, register_type, tmem_fragment
from .partition import cut, part_of, with_valid
from .refusals import require_layouts
from .tiled import as_thread, as_threads, by_thread, rank_of, require_kind, thread_coordinate, vector

_0, _1 = Int[0](), Int[1]()
#: Of each operand: its two modes among M, N, K.
MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1), "E": (0, 2), "SFA": (0, 2), "SFB": (1, 2)}


@dataclass(frozen=True, repr=False)
class TiledMMA(Displayed):
    """An atom laid out over threads, and its tile permuted. make_tiled_mma makes one.

    atom           the instruction
    thr_layout     (m, n, k) -> which of the atoms' groups of threads, static
    permutations   of the tile's M, N, K: an integer extent, a layout that permutes it, or `_`
    accumulate_    whether it adds to C: False for D = A * B; see `with_`

    `mma[t]` is thread t's view; A_TV, B_TV and C_TV say of a whole tile which thread has which values.
    Source: CuTe `TiledMMA`.

    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
    >>> print(mma.thr_layout_vmnk, mma.tile_size)
    (_32,_2,_2,_1):(_1,_32,_64,_0) (_32,_32,_16)
    >>> print(mma.C_TV)
    ((_4,_8,_2,_2),((_2,_2),(_1,_2))):((_64,_1,_16,_256),((_32,_8),(_0,_512)))
    """

    atom: MMAAtom
    thr_layout: Layout
    permutations: tuple[Any, ...]
    accumulate_: Any = True

    def with_(self, accumulate: object) -> TiledMMA:
        """The tiled MMA that adds to C, or that does not read C, where the instruction chooses: tcgen05.mma.

        accumulate   True or False; of a kernel a comparison too, the same for all threads: `mma.with_(0 < k)`
        Raises       LeafTypeError for another value, and for an instruction that always adds

        >>> from tla.gpu import K, SM100_MMA_F16BF16_SS, float, half, make_tiled_mma
        >>> mma = make_tiled_mma(SM100_MMA_F16BF16_SS[half, half, float, 128, 256, K, K])
        >>> mma.accumulate_, mma.with_(False).accumulate_
        (True, False)

        Source: CuTe `TiledMMA::accumulate_`, `UMMA::ScaleOut`.
        """
        import numpy as np

        if not isinstance(accumulate, (bool, np.bool_, Condition)):
            raise LeafTypeError(f"with_({shown(accumulate)})", "True, False or a comparison", "write mma.with_(0 < k)")
        if self.atom.memory("C") != "TMEM":
            what = f"with_ of {self.atom.name}, which always adds"
            raise LeafTypeError(what, "an instruction of tcgen05.mma", "clear C before")
        known_ = accumulate.holds if isinstance(accumulate, Condition) else bool(accumulate)
        return replace(self, accumulate_=accumulate if known_ is None else known_)

    def __repr__(self) -> str:
        perms = "" if all(isinstance(p, Underscore) for p in self.permutations) else f", {shown(self.permutations)}"
        chosen = "" if self.accumulate_ is True else f".with_({self.accumulate_})"
        return f"make_tiled_mma({self.atom.name}, {self.thr_layout}{perms}){chosen}"

    def __str__(self) -> str:
        """The fields as CuTe prints a TiledMMA, and then its atom."""
        fields = {"ThrLayoutVMNK": self.thr_layout_vmnk, "PermutationMNK": self.permutations}
        return f"{as_cute_prints('TiledMMA', fields, 16)}\n{self.atom}"

    @property
    def thr_layout_vmnk(self) -> Layout:
        """(atom's thread, m, n, k) -> thread."""
        layout: Layout = tiled_product(self.atom.thr_id, self.thr_layout)
        return layout

    @property
    def permutation_mnk(self) -> tuple[Any, ...]:
        """The permutation in force in each of M, N, K: where none was given, the extent of the atoms side by side."""
        vmnk = self.thr_layout_vmnk
        extents = (mul(s, size(vmnk[i + 1])) for i, s in enumerate(self.atom.shape_mnk))
        return tuple(n if isinstance(p, Underscore) else p for n, p in zip(extents, self.permutations))

    @property
    def tile_size(self) -> IntTree:
        """The part of M, N and K that the threads take at once [elements]."""
        return MakeLayout(tuple(map(size, self.permutation_mnk))).shape

    @property
    def threads(self) -> int:
        """The number of threads."""
        return int(size(self.thr_layout_vmnk))

    def __getitem__(self, t: Any) -> ThrMMA:
        t = as_thread(t)
        return ThrMMA(self, t, thread_coordinate(repr(self), self.thr_layout_vmnk, t))

    def get_slice(self, t: IntLike) -> ThrMMA:
        """mma[t], as CuTe writes it."""
        return self[t]

    get_thread_slice = get_slice

    # ------------------------------------------------------------------------------------------------ (thr, frg)

    def thrfrg_A(self, t: AnyLayout | Tensor) -> Any:
        """A layout or tensor (M,K,...) as ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...)))."""
        return self.thrfrg("A", t)

    def thrfrg_B(self, t: AnyLayout | Tensor) -> Any:
        """A layout or tensor (N,K,...) as ((ThrV,(ThrN,ThrK)),(FrgV,(RestN,RestK,...)))."""
        return self.thrfrg("B", t)

    def thrfrg_C(self, t: AnyLayout | Tensor) -> Any:
        """A layout or tensor (M,N,...) as ((ThrV,(ThrM,ThrN)),(FrgV,(RestM,RestN,...)))."""
        return self.thrfrg("C", t)

    def thrfrg(self, operand: str, t: AnyLayout | Tensor) -> Any:
        """An operand of a layout or tensor: its first two modes are cut by the threads, the others stay.

        operand   "A", "B" or "C"; "E", "SFA" or "SFB" of an atom that has metadata or scale factors: a tensor over the
                  coordinates of A or B, with stride 0 where elements share one
        """
        self.atom.operand(operand)
        least = 2 + (self.atom.blocks > 1)
        if rank_of(t) < least:
            what = f"operand {operand} of {self!r}: {shown(t) if isinstance(t, Layout) else repr(t)}"
            expected = f"{'two' if least == 2 else 'three'} modes at least"
            raise RankError(what, expected, "group its modes, or append one")
        i, j = MODES[operand]
        tiles = self.permutation_mnk
        return cut(lambda layout: self._thrfrg(operand, layout), t, (tiles[i], tiles[j]))

    @memo
    def _thrfrg(self, operand: str, layout: Layout) -> Layout:
        i, j = MODES[operand]
        perms, extents, vmnk = self.permutation_mnk, self.atom.shape_mnk, self.thr_layout_vmnk
        permuted = logical_divide(layout, (perms[i], perms[j]))
        blocks = [vector(Int[self.atom.blocks]())] if self.atom.blocks > 1 else []
        atoms = zipped_divide(permuted, (vector(extents[i]), vector(extents[j]), *blocks))
        values = composition(atoms[0], self.atom.operand(operand))
        rest = zipped_divide(atoms[1], (vector(size(vmnk[i + 1])), vector(size(vmnk[j + 1]))))
        return join([join([values[0], rest[0]]), join([values[1], rest[1]])])

    # ----------------------------------------------------------------------------------------------------- TV

    @property
    def A_TV(self) -> Layout:
        """(thread, value) -> index in the tile's (M,K), column-major; threads along N hold the same values."""
        return self._tv("A")

    @property
    def B_TV(self) -> Layout:
        """(thread, value) -> index in the tile's (N,K), column-major; threads along M hold the same values."""
        return self._tv("B")

    @property
    def C_TV(self) -> Layout:
        """(thread, value) -> index in the tile's (M,N), column-major; threads along K hold the same values."""
        return self._tv("C")

    def _tv(self, operand: str) -> Layout:
        i, j = MODES[operand]
        sizes, vmnk = self.tile_size, self.thr_layout_vmnk
        blocks = [Int[self.atom.blocks]()] if self.atom.blocks > 1 else []
        frg = self._thrfrg(operand, MakeLayout((sizes[i], sizes[j], *blocks)))
        threads = composition(_among_all(frg[0], vmnk, operand), by_thread(vmnk))
        return join([threads, frg[1]])


@on(TiledMMA, size)
def _threads(x: TiledMMA) -> Leaf:
    return Int[x.threads]()  # as CuTe's size(tiled) is, which a launch is given


def _among_all(threads: Layout, vmnk: Layout, operand: str) -> Layout:
    """The threads of an operand, (ThrV,(Thr1,Thr2)), counted among all: those along its third mode have the same.

    CuTe does so for A and B. For C it does not, and with several atoms along K its layout runs past the tile.
    """
    m, n, k = (size(mode) for mode in list(vmnk)[1:])
    if operand == "C":
        return threads if k == 1 else join([threads[0], join([*threads[1], Layout(k, _0)])])
    strides = (_1, _0) if operand == "A" else (_0, _1)
    first = composition(threads[1][0], Layout((m, n), strides))
    return join([threads[0], join([first, threads[1][1]])])


def make_tiled_mma(atom: object, thr_layout: object = None, permutations: object = None) -> TiledMMA:
    """An atom laid out over threads and its tile permuted.

    atom           an MMAAtom: SM80_16x8x16_F32F16F16F32_TN
    thr_layout     (m, n, k) -> which group of the atom's threads: a static layout, or a shape for the compact
                   one; one by default
    permutations   of M, N, K: an extent, a multiple of what the atoms cover; a layout that permutes it; or `_`. Last
                   ones may be left out
    Raises         LeafTypeError for no atom or what is dynamic, RankError for more than three modes, InjectivityError
                   for threads that overlap or a permutation that does not permute, DivisibilityError for one that the
                   atoms do not divide

    >>> from tla.gpu import UniversalFMA, make_tiled_mma
    >>> mma = make_tiled_mma(UniversalFMA[float, float, float], (16, 16, 1))
    >>> print(mma.A_TV)
    ((_16,_16),(_1,(_1,_1))):((_1,_0),(_0,(_0,_0)))

    Source: CuTe `make_tiled_mma`.
    """
    if not isinstance(atom, MMAAtom):
        fix = f"write {atom!r} with its arguments" if isinstance(atom, Family) else "write SM80_16x8x16_F32F16F16F32_TN"
        raise LeafTypeError(f"make_tiled_mma of {shown(atom)}", "a matrix instruction's atom", fix)
    threads = as_threads("make_tiled_mma", _static(thr_layout), 3)
    if not is_injective(threads):
        what = f"make_tiled_mma with the threads {threads}: two atoms of the tile have the same"
        raise InjectivityError(what, "threads of its own for each atom", "use a compact layout, (2,2):(2,1)")
    given = () if permutations is None else permutations
    if not isinstance(given, (tuple, list)) or len(given) > 3:
        what = f"make_tiled_mma with the permutations {shown(permutations)}"
        raise RankError(what, "at most three: of M, N, K", "write (32, 32, 16)")
    given = _static(tuple(given))
    mma = TiledMMA(atom, threads, tuple(_ if p is None else p for p in (*given, *[_] * (3 - len(given)))))
    require_layouts(replace(mma, permutations=(_, _, _)))
    for i in range(3):
        _require_permutation(mma, i)
    require_layouts(mma)
    return mma


def _static(x: object) -> Any:
    """Plain integers as static ones: what C++ takes as types; anything else as it is."""
    if isinstance(x, tuple):
        return tuple(map(_static, x))
    return Int[int(leaf(x))]() if is_int(x) and not isinstance(x, Underscore) and isinstance(leaf(x), int) else x


def _require_permutation(mma: TiledMMA, i: int) -> None:
    """Require that the permutation of mode i is a static one of an extent that the atoms divide."""
    p, name = mma.permutations[i], "MNK"[i]
    if isinstance(p, Underscore):
        return
    where = f"make_tiled_mma: the permutation {shown(p)} of {name}"
    if not is_int(p) and not isinstance(p, Layout):
        raise LeafTypeError(where, "an integer, a layout or _", "write 32")
    if not (p.is_static if isinstance(p, Layout) else is_static(p)):
        raise LeafTypeError(where, "static integers: it is a type in C++", "write static(...) around it")
    if is_int(p) and (known(p) or 0) < 1:
        raise RangeError(where, "1 or more", "leave it out, or write _, for what the atoms cover")
    if isinstance(p, Layout) and not is_bijective(p):
        fix = "use a layout of strides that fill each other's gaps, such as (2,2):(2,1)"
        raise InjectivityError(where, f"each of 0 to {size(p) - 1} once", fix)
    covered = mul(mma.atom.shape_mnk[i], size(mma.thr_layout_vmnk[i + 1]))
    if not divides(covered, size(p)):
        fix = f"take {covered}, or fewer threads along {name}"
        raise DivisibilityError(where, f"a multiple of the {covered} that the atoms cover", fix)


@dataclass(frozen=True, repr=False)
class ThrMMA:
    """Thread t's view of a tiled MMA: its parts of tensors, and its registers for them.

    t   an integer, a numpy array of them (then offsets are arrays), or a symbol (then they are expressions)

    >>> from tla import dim, parse
    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
    >>> print(mma[33].partition_A(parse("(_32,_16):(_16,_1)")))
    Tensor(None at 258, ((_2,_2,_2),_1,_1):((_1,_128,_8),_0,_0))

    Source: CuTe `ThrMMA`.
    """

    mma: TiledMMA
    thread: Any
    thr_vmnk: Any

    def __repr__(self) -> str:
        return f"{self.mma!r}[{self.thread}]"

    def __str__(self) -> str:
        """The fields as CuTe prints a ThrMMA, and then the tiled MMA."""
        return f"{as_cute_prints('ThrMMA', {'Thr VMNK': self.thr_vmnk}, 10)}\n{self.mma}"

    def partition_A(self, t: AnyLayout | Tensor) -> Tensor:
        """The thread's part of A, (FrgV, RestM, RestK, ...): a tensor over the same elements."""
        return self.partition("A", t)

    def partition_B(self, t: AnyLayout | Tensor) -> Tensor:
        """The thread's part of B, (FrgV, RestN, RestK, ...): a tensor over the same elements."""
        return self.partition("B", t)

    def partition_C(self, t: AnyLayout | Tensor) -> Tensor:
        """The thread's part of C, (FrgV, RestM, RestN, ...): a tensor over the same elements."""
        return self.partition("C", t)

    def partition_E(self, t: AnyLayout | Tensor) -> Tensor:
        """The thread's part of a sparse A's metadata, over the coordinates (M,K) of A, as compress gives them."""
        return self.partition("E", t)

    def partition_SFA(self, t: Tensor) -> Tensor:
        """The thread's part of A's scale factors, over the coordinates (M,K) of A, as scale_factor_layout has them."""
        return self.partition("SFA", t)

    def partition_SFB(self, t: Tensor) -> Tensor:
        """The thread's part of B's scale factors, over the coordinates (N,K) of B."""
        return self.partition("SFB", t)

    def partition(self, operand: str, t: AnyLayout | Tensor) -> Tensor:
        """The thread's part of an operand: "A", "B" or "C"; "E", "SFA" or "SFB" where the atom has them."""
        whole = with_valid(t)
        frg = self.mma.thrfrg(operand, whole)
        i, j = MODES[operand]
        thread = (self.thr_vmnk[0], (self.thr_vmnk[i + 1], self.thr_vmnk[j + 1]))
        return part_of(whole, frg, self.thread, thread, (_, (_,) * rank_of(t)))

    def partition_fragment_A(self, t: AnyLayout | Tensor) -> Tensor:
        """New registers, or tensor memory, for the thread's part of A; the part itself if A is in shared memory.

        Registers hold the atom's element type, whatever that of the tensor is.
        """
        return self.make_fragment_A(self.partition_A(t))

    def partition_fragment_B(self, t: AnyLayout | Tensor) -> Tensor:
        """New registers for the thread's part of B, in B's order; the part itself if B is in shared memory."""
        return self.make_fragment_B(self.partition_B(t))

    def partition_fragment_C(self, t: AnyLayout | Tensor) -> Tensor:
        """New registers, or tensor memory, for the thread's part of C, of the accumulators' type."""
        return self.make_fragment_C(self.partition_C(t))

    def make_fragment_A(self, part: Tensor) -> Tensor:
        """New registers, or tensor memory, of the shape of a part of A: see partition_fragment_A."""
        return self._fragment("A", as_tensor("make_fragment_A", part))

    def make_fragment_B(self, part: Tensor) -> Tensor:
        """New registers of the shape of a part of B: see partition_fragment_B."""
        return self._fragment("B", as_tensor("make_fragment_B", part))

    def make_fragment_C(self, part: Tensor) -> Tensor:
        """New registers, or tensor memory, of the shape of a part of C."""
        kind, part = self.mma.atom.frg_C, as_tensor("make_fragment_C", part)
        if kind:
            return tmem_fragment(kind, part)
        return register_fragment(part, self.thread, register_type(self.mma.atom.val_C, part, wider=True))

    def _fragment(self, side: str, part: Tensor) -> Tensor:
        """The fragment of A or B: tensor memory, the part itself where descriptors say its tiles, or registers."""
        atom = self.mma.atom
        kind: str | TmemFragment | None = getattr(atom, f"frg_{side}")
        if isinstance(kind, TmemFragment):
            return tmem_fragment(kind, part)
        if atom.memory(side) == "smem":
            require_tiles(f"make_fragment_{side}", atom, side, part)
            return part
        return fragment_like(part, self.thread, register_type(atom.element(side), part))


def partition_shape_A(mma: TiledMMA, shape: tuple[Leaf, ...]) -> IntTree:
    """The shape of a thread's part of A, of a tile of extents (M,K): (FrgV, RestM, RestK, ...). Source: CuTe
    `partition_shape_A`.

    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma, partition_shape_A
    >>> print(partition_shape_A(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2)), (64, 32)))
    ((_2,_2,_2),2,2)

    Raises what partition_A raises.
    """
    return _part(mma, 0, "A", shape).shape


def partition_shape_B(mma: TiledMMA, shape: tuple[Leaf, ...]) -> IntTree:
    """The shape of a thread's part of B, of a tile of extents (N,K): (FrgV, RestN, RestK, ...). Source: CuTe
    `partition_shape_B`.

    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma, partition_shape_B
    >>> print(partition_shape_B(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2)), (64, 32)))
    ((_2,_2),4,2)

    Raises what partition_B raises.
    """
    return _part(mma, 0, "B", shape).shape


def partition_shape_C(mma: TiledMMA, shape: tuple[Leaf, ...] | None) -> IntTree:
    """The shape of a thread's part of C, of a tile of extents (M,N): (FrgV, RestM, RestN, ...). Source: CuTe
    `partition_shape_C`.

    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma, partition_shape_C
    >>> print(partition_shape_C(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2)), (64, 64)))
    ((_2,_2),2,4)

    Raises what partition_C raises.
    """
    return _part(mma, 0, "C", shape).shape


def partition_fragment_C(mma: TiledMMA, shape: object) -> Tensor:
    """New accumulators of all threads for a tile of extents (M,N), registers or tensor memory: what gemm takes for C.

    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma, partition_fragment_C
    >>> total = partition_fragment_C(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2)), (64, 64))
    >>> print(total.layout, total.dtype, total.data.size)
    ((_2,_2),2,4):((_1,_2),_4,8) float32 4096

    `mma[t].partition_fragment_C(tensor)` is that of some threads. Raises what partition_C raises. Source: CuTe
    `partition_fragment_C`.
    """
    import numpy as np

    count = int(cosize(require_kind("partition_fragment_C", mma, TiledMMA, "a tiled MMA").thr_layout_vmnk))
    return mma[np.arange(count)].make_fragment_C(_part(mma, np.arange(count), "C", shape))


def _part(mma: Any, thread: Any, operand: str, shape: Any) -> Tensor:
    """A thread's part of a tile of a shape: only its own shape counts."""
    tiled: TiledMMA = require_kind(f"the part of {operand}", mma, TiledMMA, "a tiled MMA")
    if not is_int(shape) and not isinstance(shape, tuple):
        raise LeafTypeError(f"the part of {operand} of {shown(shape)}", "the extents of a tile", "write (64, 64)")
    return tiled[thread].partition(operand, MakeLayout(shape))
