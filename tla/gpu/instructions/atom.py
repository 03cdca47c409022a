"""Atoms: an instruction as data, the element types, the shape, the threads and where each of them holds what.

A thread-value layout takes (thread, value) to the index in the operand's tile, the first mode fastest: A is (M,K), B is
(N,K), C is (M,N). The source and destination of a copy are (thread, value) -> bit.

Source: CuTe include/cute/atom/mma_traits.hpp, copy_traits.hpp, mma_atom.hpp, copy_atom.hpp.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...algebra.recast import recast_layout
from ...core.display import Displayed
from ...core.element import Element, Width
from ...core.errors import DivisibilityError, LeafTypeError
from ...core.int_tuple import shown, size, text
from ...core.ints import IntTree, static
from ...core.layout import Layout
from ...core.strides import Shape
from .arithmetic import PLAIN, Arithmetic
from .elements import as_element, cpp_name


class Major(enum.Enum):
    """The contiguous mode of an operand in shared memory: K, or MN for its other one. Source: CuTe `UMMA::Major`.

    >>> from tla.gpu import K, Major
    >>> K is Major.K
    True
    """

    K = "K"
    MN = "MN"

    def __repr__(self) -> str:
        return self.value

    __str__ = __repr__


def static_tree(x: IntTree) -> IntTree:
    """Nested tuples of integers with every one static."""
    return tuple(map(static_tree, x)) if isinstance(x, tuple) else static(x)


def as_types(x: object) -> Any:
    """Plain integers as static ones, what C++ takes as types; anything else as it is."""
    return tuple(map(as_types, x)) if isinstance(x, tuple) else static(x) if type(x) is int else x


def tv(shape: IntTree, stride: IntTree) -> Layout:
    """The static layout of a shape and its strides."""
    return Layout(static_tree(shape), static_tree(stride))


def beside(*modes: Layout) -> Layout:
    """The layout whose modes are these, all of it valid."""
    return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))


#: Extents, each with its stride.
Modes = list[tuple[int, int]]


def side_by_side(modes: Modes, one_tuple: bool = False) -> tuple[IntTree, IntTree]:
    """The shape and the strides of modes, those of extent 1 left out; a single mode is in a tuple only if one_tuple."""
    kept = [m for m in modes if m[0] != 1] or [(1, 0)]
    return kept[0] if len(kept) == 1 and not one_tuple else (tuple(n for n, _d in kept), tuple(d for _n, d in kept))


def tv_of(threads: Modes, values: Modes, one_tuple: bool = False) -> Layout:
    """(thread, value) -> index, of the modes of both without those of extent 1. one_tuple: as in side_by_side."""
    (s, d), (t, e) = side_by_side(threads), side_by_side(values, one_tuple)
    return tv((s, t), (d, e))


def shape_of(m: int, n: int, k: int) -> Shape:
    return Shape(*static_tree((m, n, k)))


def as_cute_prints(title: str, fields: dict[str, Any], width: int) -> str:
    """The text of a value as CuTe prints it: a line for each field, what it holds from column `width` on."""
    return "\n".join([title, *(f"  {name + ':':<{width}}{text(x)}" for name, x in fields.items())])


class TmemFragment(NamedTuple):
    """A fragment in tensor memory: what it holds, and how it is allocated.

    element      the element type
    storage      the bits that each element takes: 32 of accumulators, those of the type of an A operand
    sms          how many SMs share the instruction
    allocation   "Interleaved", "NonInterleaved" or "Duplicated"
    storage_type  C++'s name of the storage

    Source: CuTe `UMMA::tmem_frg`.
    """

    element: Element
    storage: int
    sms: int
    allocation: str
    storage_type: str

    def __str__(self) -> str:
        return f"tmem_frg<{cpp_name(self.element)}, {self.storage_type}, {self.sms}, {self.allocation}>"


class TmemCells(NamedTuple):
    """The part of tensor memory that an instruction goes over: a warp's tcgen05.ld or st, or tcgen05.cp.

    modes    (extent, data paths from one to the next), the fastest first; those of no data path are bits of one
    packed   whether the lower halves of two columns make a register

    Source: the PTX manual, "tcgen05.ld", "tcgen05.cp"; CuTe's `ValID`.
    """

    modes: tuple[tuple[int, int], ...]
    packed: bool = False


@dataclass(frozen=True)
class MMAAtom(Displayed):
    """A matrix instruction: D = A * B + C for (M,K) by (N,K) tiles, and which thread holds which values of them.

    name            as the vendor's source writes it, template arguments included
    arch            "sm80", "cdna3", "xe", ...
    val_D ... C     element types of the operands
    shape_mnk       the tile: M, N, K [elements]
    thr_id          the atom's thread -> its place among the threads that run it
    A, B, C         (thread, value) -> index in (M,K), (N,K), (M,N), column-major. An operand in shared memory has
                    stride 0 over the threads: its values are the whole tile
    E, SFA, SFB     of the metadata of a sparse A, and of the scale factors of A and B, where registers hold
                    them; else None
    sf_vec          how many elements along K share one scale factor
    sparsity        (how many elements of A are stored as one, how many one byte of metadata is for); None for a dense A
    frg_A ... C     what a fragment is where it is not registers: a descriptor of shared memory, or tensor memory
    major_A, B      which mode is contiguous in shared memory
    instruction     the vendor's own text
    arithmetic      what is computed where it is more than D = A * B + C: bits, clamped sums, negated operands,
                    a scaled C
    kind            of tcgen05.mma: "f16", "tf32", "i8", "f8f6f4", "mxf8f6f4" or "mxf4nvf4"
    blocks          how many matrices are multiplied at once (AMD); then the tiles have a third mode of them
    register_bits   the bits of a register, in which narrower elements lie side by side

    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN as mma
    >>> print(mma.shape_mnk, mma.A, mma.instruction)
    (_16,_8,_16) ((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128)) mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

    Brackets on an atom of wgmma say how its operands lie in shared memory, and their signs:
    `SM90_64x64x16_F32F16F16_SS[MN, K]`.
    Source: CuTe `MMA_Traits`.
    """

    name: str
    arch: str
    val_D: Element
    val_A: Element
    val_B: Element
    val_C: Element
    shape_mnk: Shape
    thr_id: Layout
    A: Layout
    B: Layout
    C: Layout
    instruction: str = ""
    E: Layout | None = None
    SFA: Layout | None = None
    SFB: Layout | None = None
    val_E: Element | None = None
    val_SF: Element | None = None
    sf_vec: int | None = None
    sparsity: tuple[int, int] | None = None
    frg_A: str | TmemFragment | None = None
    frg_B: str | None = None
    frg_C: TmemFragment | None = None
    major_A: Major | None = None
    major_B: Major | None = None
    arithmetic: Arithmetic = PLAIN
    kind: str = ""
    template: Any = field(default=None, compare=False)  # the Entry of an atom whose arguments may all be left out
    types: tuple[Element, ...] = field(default=(), compare=False)  # of the template, where the registers' are wider
    blocks: int = 1
    wave: int = 32
    register_bits: int = 32

    def __repr__(self) -> str:
        return f"atom({self.name!r}, {self.arch!r})"

    def __str__(self) -> str:
        """The fields as CuTe prints an MMA_Atom."""
        fields = {"ThrID": self.thr_id, "Shape_MNK": self.shape_mnk} | {f"Layout{x}_TV": self.operand(x) for x in "ABC"}
        return as_cute_prints("MMA_Atom", fields, 12)

    def __call__(self) -> MMAAtom:
        """The atom: C++ makes a value of its type with braces."""
        return self

    def operand(self, name: str) -> Layout:
        """The thread-value layout of an operand: "A", "B", "C", "E", "SFA" or "SFB".

        Metadata and scale factors that no registers hold are in tensor memory, and reached as A's and B's elements are.
        Raises LeafTypeError for another name, and where the instruction has no such operand.
        """
        names = ["A", "B", "C", *(["E"] if self.sparsity else []), *(["SFA", "SFB"] if self.val_SF else [])]
        if not isinstance(name, str) or name not in names:
            raise LeafTypeError(f"the operand {shown(name)} of {self.name}", f"one of {', '.join(names)}", "write 'A'")
        found: Layout | None = getattr(self, name)
        return found or self.operand("A" if name == "E" else name[-1])

    def memory(self, name: str) -> str:
        """The memory that the instruction has an operand in: "registers", "smem", by a descriptor, or "TMEM".

        name   "A", "B", "C" or "D"; "E", "SFA" or "SFB"

        >>> from tla.gpu import SM90_64x64x16_F32F16F16_RS as mma
        >>> [mma.memory(name) for name in "ABC"]
        ['registers', 'smem', 'registers']
        """
        if name in ("E", "SFA", "SFB"):
            return "TMEM" if isinstance(self.frg_C, TmemFragment) else "registers"
        if isinstance(getattr(self, f"frg_{'C' if name == 'D' else name}"), TmemFragment):
            return "TMEM"
        return "smem" if name in ("A", "B") and "desc" in str(getattr(self, f"frg_{name}")) else "registers"

    def element(self, side: str) -> Element:
        """The type of the elements of "A", "B", "C" or "D", where registers hold several as one that of the one."""
        found: Element = self.types["AB".index(side)] if self.types and side in "AB" else getattr(self, f"val_{side}")
        return found

    def __getitem__(self, arguments: object) -> MMAAtom:
        given: tuple[Any, ...] = arguments if isinstance(arguments, tuple) else (arguments,)
        if self.template is None:
            expected = "nothing: it has no template arguments"
            raise LeafTypeError(f"brackets on {self.name}", expected, f"write {self.name}")
        found: MMAAtom = self.template.atom(*given)
        return found


class CopySide(NamedTuple):
    """One side of a copy: the memory that it is in, and the accesses that a thread makes there.

    memory   "gmem", "smem", "registers" or "TMEM"; "any" that a thread reads and writes by itself, registers included
    bits     of an access, or of a register: elements that lie together, in order, in memory at a multiple of their size

    Source: the vendor's manual; CuTe's `SRegisters` and `DRegisters` of a copy operation.
    """

    memory: str = "any"
    bits: int = 0


ANYWHERE = CopySide()


@dataclass(frozen=True)
class CopyAtom(Displayed):
    """A copy instruction: which thread reads and which one writes which bits.

    name            as the vendor's source writes it, template arguments included
    thr_id          the atom's thread -> its place among the threads that run it
    src, dst        (thread, value) -> bit of what is copied [bits]
    ref             (thread, value) -> bit: whose threads and values a tiled copy's are
    val_type        the element type that it copies, once that is known: `SM75_U32x4_LDSM_N[half]`; None before
    instruction     the vendor's own text
    reads, writes   the memory of source and destination, and the accesses of a thread: a CopySide
    asynchronous    whether it is waited for: cp.async, tcgen05.ld, st and cp
    fills_zeros     whether it writes zeros where its predicate is false
    transposes      whether it transposes the 8x8 matrix besides what its layouts say
    most_bits       of a copy that makes its accesses as wide as the layouts allow, at most so many bits; else None
    cells           of tensor memory: what it goes over at once, TmemCells; else None

    >>> from tla.gpu import SM75_U32x4_LDSM_N, half
    >>> print(SM75_U32x4_LDSM_N.src, SM75_U32x4_LDSM_N[half].val_dst)
    (_32,_128):(_128,_1) (_32,(_2,_4)):(_2,(_1,_64))

    Source: CuTe `Copy_Traits` and `Copy_Atom`.
    """

    name: str
    arch: str
    thr_id: Layout
    src: Layout
    dst: Layout
    ref: Layout
    instruction: str = ""
    val_type: Element | None = None
    reads: CopySide = ANYWHERE
    writes: CopySide = ANYWHERE
    asynchronous: bool = False
    fills_zeros: bool = False
    transposes: bool = False
    most_bits: int | None = None
    cells: TmemCells | None = None

    def __repr__(self) -> str:
        of = "" if self.val_type is None else f"[{self.val_type}]"
        return f"atom({self.name!r}, {self.arch!r}){of}"

    def __str__(self) -> str:
        """The fields as CuTe prints a Copy_Atom; repr where it has no element type."""
        if self.val_type is None:
            return repr(self)
        layouts = {f"ValLayout{side}": self._in_elements(side.lower()) for side in ("Src", "Dst", "Ref")}
        fields = {"ThrID": self.thr_id, **layouts, "ValueType": f"{self.val_type.bits}b"}
        return as_cute_prints("Copy_Atom", fields, 14)

    def __call__(self) -> CopyAtom:
        """The atom: C++ makes a value of its type with braces."""
        return self

    def __getitem__(self, val_type: object) -> CopyAtom:
        element = as_element(val_type)
        typed = dataclasses.replace(self, val_type=element)
        for side in ("src", "dst", "ref"):
            bits = size(getattr(self, side)[1])
            if size(typed._in_elements(side)[0]) != size(self.thr_id) or (bits > 1 and bits % element.bits):
                what = f"{self.name} of {typed.val_type}: its {side} in whole elements is no longer one part a thread"
                expected = "an element no wider than what a thread holds"
                raise DivisibilityError(what, expected, "take a narrower element type")
        return typed

    @property
    def element_width(self) -> Width | None:
        """The width of an element, and its type; None before that is known."""
        return None if self.val_type is None else Width(self.val_type.bits, self.val_type.name)

    @property
    def val_src(self) -> Layout:
        """src in elements: (thread, value) -> element."""
        return self._in_elements("src")

    @property
    def val_dst(self) -> Layout:
        """dst in elements: (thread, value) -> element."""
        return self._in_elements("dst")

    @property
    def val_ref(self) -> Layout:
        """ref in elements: (thread, value) -> element."""
        return self._in_elements("ref")

    def _in_elements(self, side: str) -> Layout:
        if self.val_type is None:
            what = f"{self.name} without an element type"
            raise LeafTypeError(what, "the type of what it copies", f'write Copy_Atom["{self.name}", half]')
        layout: Layout = recast_layout[1, self.val_type.bits](getattr(self, side))
        return layout


Atom = MMAAtom | CopyAtom
