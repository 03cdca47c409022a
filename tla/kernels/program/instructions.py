"""Instructions of several threads, and asynchronous copies, as what a target writes: registers by number, and rows of
shared memory.

Source: CuTe's atoms; the PTX manual, "ldmatrix", "mma", "cp.async".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError
from ...core.int_tuple import _, leaves, product_each, size
from ...core.ints import IntLike, Leaf
from ...core.layout import Layout
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...tensors.tensor import Tensor
from ..block.lines import Line
from .multicast import Multicast


class Registers(NamedTuple):
    """A thread's registers of an instruction: the name of their array, the elements of it, and its element type
    in the text.

    >>> from tla.kernels.program.instructions import Registers
    >>> Registers("r0", "float", (4, 5)).elements
    (4, 5)
    """

    name: str
    kind: str
    elements: tuple[int, ...]


class Tile(NamedTuple):
    """An operand that an instruction reads from shared memory by a descriptor: a tile of a partition.

    name         the name of the array that it is in
    kind         its element type in the text
    start        the element that the partition begins at, as text
    descriptor   the bits of the descriptor of a tile at byte 0
    step         from the partition's beginning to this tile [16 bytes]
    tensor       its elements

    Source: the PTX manual, "Matrix descriptor format".
    """

    name: str
    kind: str
    start: str
    descriptor: int
    step: int
    tensor: Tensor


class Part(NamedTuple):
    """An operand of products by vector registers: a thread's elements, which begin at one place and lie at known
    distances from it.

    place     the first element as text
    kind      its element type in the text
    offsets   of each element from there, in order

    >>> from tla.kernels.program.instructions import Part
    >>> Part("r0[tid][8]", "float", (0, 1, 2, 3)).offsets[-1]
    3
    """

    place: str
    kind: str
    offsets: tuple[int, ...]


class Cells(NamedTuple):
    """A part of tensor memory that an instruction reads or adds to.

    name     the name of the allocation
    start    the address where it begins, as text
    element  gives the address of an element by its index, which may be a symbol

    Source: the PTX manual, "Tensor Memory Addressing".
    """

    name: str
    start: str
    element: Callable[[IntLike], Leaf]


class Element(NamedTuple):
    """An element of a tile that TMA moves: its offsets in shared and global memory, pairs c < n that hold inside."""

    shared: Leaf
    outside: Leaf
    inside: list[tuple[Leaf, Leaf]]


class MovedTile(NamedTuple):
    """A tile that TMA loads or stores.

    map      the name of its tensor map
    boxes    of each box its first element in shared memory, and its coordinate in the tensor
    barrier  of a load its mbarrier; None of a store
    arrays   the names of the arrays, that in shared memory first
    zero     what is loaded where the tensor has no element
    size     the elements of the tile
    element  gives one by its index, which may be a symbol
    mask     the blocks of the cluster that it comes to; None for this one alone. mask_text: the same as text
    of_pairs whether the mbarrier of the first block of a pair counts the bytes

    Source: the PTX manual, "cp.async.bulk.tensor".
    """

    map: str
    boxes: list[tuple[str, list[str]]]
    barrier: str | None
    arrays: tuple[str, str]
    zero: str
    size: int
    element: Callable[[IntLike], Element]
    mask: Multicast | None
    mask_text: str
    of_pairs: bool


class Instructions:
    """The instructions that a target has. Each gives lines of the text, and keeps the functions that these call.

    has_addresses   whether it has addresses, of tensor memory and of tiles for descriptors
    counts_bytes    whether loops count the bytes that their stages add to addresses in shared memory
    has_wide_sums   whether one instruction adds a multiple of 32 bits to an address of 64

    Source: ours.
    """

    has_addresses, counts_bytes, has_wide_sums = True, False, False

    def __init__(self) -> None:
        self.functions: dict[str, list[str]] = {}

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether the target has an instruction; None for what orders asynchronous ones."""
        return False

    def barrier(self) -> str:
        """The line by which the threads of a block wait for each other."""
        return "__syncthreads();"

    def cluster_sync(self) -> str:
        """The line by which the threads of a cluster wait for each other."""
        raise _missing("cluster_sync")

    def require(self, condition: str) -> str:
        """The line that stops all where a condition does not hold."""
        raise _missing("read_index")

    def copied(self, atom: CopyAtom, source: str, target: str, width: int, condition: str) -> list[str]:
        """An asynchronous copy of `width` bytes, where a condition holds; of none where it is empty."""
        raise _missing(atom.name)

    def behind(self, place: str, bytes_added: str) -> str:
        """The element that lies so many bytes behind another one, where `counts_bytes`."""
        raise _missing("an address in bytes")

    def order(self, word: str, pending: int, accumulators: list[Registers]) -> list[str]:
        """An order of asynchronous instructions, those that add to registers before and behind; pending: of Order."""
        raise _missing(word)

    def signal(self, word: str, barrier: str, count: int, number: str, mask: str) -> tuple[list[str], bool]:
        """A statement about an mbarrier, or of `count` of them: lines, and whether they are of each thread.

        number, mask   of Signal
        """
        raise _missing(word)

    def move(self, tile: MovedTile) -> tuple[list[str], bool]:
        """A load or a store by TMA: lines, and whether they are of each thread."""
        raise _missing("a copy by TMA")

    def reserve(self, word: str, name: str, address: str, columns: int, sms: int) -> list[str]:
        """A thread's lines about tensor memory, of an allocation's name, its address in shared memory and its columns.

        word, sms   of Reserve
        """
        raise _missing("tensor memory")

    def cells(self, atom: CopyAtom, cells: list[Cells], held: list[Registers]) -> tuple[list[str], bool]:
        """Loads of tensor memory, each to registers: lines, and whether they are of each thread."""
        raise _missing(atom.name)

    def sums(
        self, atom: MMAAtom, tiles: list[dict[str, Tile]], cells: list[Cells], accumulates: str
    ) -> tuple[list[str], bool]:
        """Products of tiles that add to tensor memory where a condition holds: lines, and whether of each thread."""
        raise _missing(atom.name)

    def matrices(self, atom: CopyAtom, rows: list[str], held: list[Registers]) -> Iterator[tuple[list[str], bool]]:
        """Loads or stores of matrices, one for each address of a row: lines, and whether they are of each thread."""
        raise _missing(atom.name)

    def product(
        self, atom: MMAAtom, operands: list[dict[str, Registers]], tiles: list[dict[str, Tile]]
    ) -> Iterator[tuple[list[str], bool]]:
        """Matrix products by the operands D, A, B, C of each, registers or tiles: lines, and whether of each thread."""
        raise _missing(atom.name)

    def by_vectors(self, atom: MMAAtom, extents: tuple[int, int, int], parts: dict[str, Part]) -> list[str]:
        """Products by a vector register, repeated M, N and K times; the operands are D, A, B and C."""
        raise _missing(atom.name)


def _missing(what: str) -> LeafTypeError:
    of_cuda = "ldmatrix, stmatrix, mma.sync, wgmma, tcgen05, cp.async, TMA"
    known = f"{of_cuda} in CUDA, AMD's products in HIP, both and a CPU's vectors in C"
    fix = "copy by UniversalCopy, multiply by UniversalFMA, or use run"
    return LeafTypeError(f"{what} in this target's text", known, fix)


def require_written(line: Line, instructions: Instructions, atom: CopyAtom | MMAAtom | None) -> None:
    """LeafTypeError for an instruction that a target's text does not have, with the line of its statement."""
    if not (_is_written(atom) and instructions.has(atom)):
        raise _missing(f"{line}: {'an asynchronous instruction' if atom is None else f'the instruction {atom.name}'}")


def _is_written(atom: CopyAtom | MMAAtom | None) -> bool:
    """Whether some target's text has an instruction: loads and stores of matrices or tensor memory, dense products."""
    if atom is not None and is_of_tensor_memory(atom):
        return _is_written_of_tensor_memory(atom)
    if atom is None or (isinstance(atom, CopyAtom) and atom.asynchronous):
        return True
    if isinstance(atom, CopyAtom):
        known = {atom.reads.memory, atom.writes.memory} == {"smem", "registers"} and atom.cells is None
    else:
        is_dense = atom.val_SF is None and atom.sparsity is None and atom.blocks == 1
        known = is_dense and (all(atom.memory(x) == "registers" for x in "ABCD") or is_asynchronous(atom))
    return known and bool(atom.instruction)


def _is_written_of_tensor_memory(atom: CopyAtom | MMAAtom) -> bool:
    """Whether texts have an instruction of tensor memory: loads to registers, dense products from shared memory."""
    if isinstance(atom, CopyAtom):
        return atom.writes.memory == "registers" and atom.cells is not None and not atom.cells.packed
    return atom.memory("A") == "smem" and atom.val_SF is None and atom.sparsity is None


def require_load(atom: CopyAtom) -> None:
    """LeafTypeError for a copy to tensor memory: a kernel has loads of it."""
    if atom.writes.memory == "TMEM":
        known = "loads of tensor memory, as SM100_TMEM_LOAD_32dp32b32x"
        what = f"the copy {atom.name} in a kernel"
        raise LeafTypeError(what, known, "let products write there; tla.gpu.copy executes it")


def is_of_tensor_memory(atom: CopyAtom | MMAAtom) -> bool:
    """Whether an instruction reads or writes tensor memory: tcgen05."""
    if isinstance(atom, CopyAtom):
        return "TMEM" in (atom.reads.memory, atom.writes.memory)
    return atom.memory("C") == "TMEM"


def stores_rows(atom: CopyAtom) -> bool:
    """Whether an instruction is one of several threads that write rows of shared memory: stmatrix."""
    return atom.writes.memory == "smem" and int(size(atom.thr_id)) > 1


def lanes_and_rows(atom: CopyAtom) -> tuple[Layout, Layout]:
    """The layouts of what each lane has in registers, and of the rows that lanes have the address of."""
    return (atom.val_src, atom.val_dst) if stores_rows(atom) else (atom.val_dst, atom.val_src)


def is_asynchronous(atom: MMAAtom) -> bool:
    """Whether an instruction is under way until a wait: a warpgroup's, which reads shared memory by descriptors."""
    return atom.memory("B") == "smem" and atom.memory("C") == "registers"


def is_of_vectors(atom: MMAAtom) -> bool:
    """Whether an instruction multiplies a vector register of one thread by one value, and adds."""
    m, n, k = (int(x) for x in leaves(atom.shape_mnk))
    return k == 1 and min(m, n) == 1 < max(m, n) and int(size(atom.thr_id)) == 1


def matrix_extents(t: Tensor, one_value: bool) -> tuple[int, int]:
    """The extents of an operand's repetitions: two, 1 where it has fewer."""
    extents = [int(size(m)) for m in product_each(t.layout.shape)]
    rest = extents if one_value else extents[1:]
    return (rest[0] if rest else 1), (rest[1] if len(rest) > 1 else 1)


def tile_of(part: Tensor, number: int) -> Tensor:
    """The elements that one instruction reads of a partition (MMA, rest ...) of shared memory."""
    at, left = [], number
    for mode in [*product_each(part.layout.shape)][1:]:
        at.append(left % int(size(mode)))
        left //= int(size(mode))
    coord = _, *at
    found: Tensor = part[coord] if at else part
    return found


def products(extents: dict[str, tuple[int, int]], places: dict[str, list[Any]]) -> Iterator[dict[str, list[Any]]]:
    """The places of the operands of each instruction of a product, in order: for each k, for each n, for each m."""
    (m, k), (n, _k) = extents["A"], extents["B"]
    for step in range(k):
        for j in range(n):
            for i in range(m):
                at = {"A": i + m * step, "B": j + n * step, "D": i + m * j, "C": i + m * j}
                of = {x: extents["C" if x == "D" else x] for x in at}
                values = {x: len(places[x]) // (of[x][0] * of[x][1]) for x in at}
                found = {x: places[x][at[x] * values[x] : (at[x] + 1) * values[x]] for x in at}
                yield found if not step else found | {"C": found["D"]}
