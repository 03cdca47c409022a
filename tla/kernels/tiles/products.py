"""A product of each thread's fragments as one of whole tiles: C (M,N) += A (M,K) * B (N,K)^T, if all threads' are that.

Source: CuTe include/cute/atom/mma_atom.hpp, for the order of fragments; Triton's dot.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from ...core.int_tuple import leaves, size
from ...core.layout import Layout
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...linear.triton import AMDMFMALayout, BlockedLayout, DotOperandLayout, NVMMADistributedLayout
from ...tensors.offsets import offsets
from ..block.lines import Line
from ..program.instructions import matrix_extents
from ..program.statements import Product, Program
from .tiles import WARP, Columns, Memory, Tile, owners, refused, tile_of

#: The extents of the products that Gluon's mma_v2 is of, and the least extent of K of a product of tiles.
_MMA, _LEAST = (16, 8), 8


class Operands(NamedTuple):
    """The tiles of a product: A (M,K), B (K,N), C (M,N), each with its layout."""

    a: Tile
    b: Tile
    c: Tile


def of_tiles(s: Product, a: Tile, b: Tile) -> Operands:
    """The product of tiles that a statement is, of A (M,K) and B (N,K). Raises LeafTypeError where it is none."""
    import numpy as np

    mma, line = s.step.mma, s.line
    threads, group = _groups(s, len(a.at[0]))
    m, n, _k = (int(x) for x in leaves(mma.atom.shape_mnk))
    extents = {x: matrix_extents(s.operands[x].tensor, s.step.one_value) for x in "ABC"}
    rows, k_of_a = (_of_atoms(x, mma.atom.A, m, extents["A"], threads, group) for x in a.at)
    columns, k_of_b = (_of_atoms(x, mma.atom.B, n, extents["B"], threads, group) for x in b.at)
    steps = k_of_a[:1, :1, :, :1]
    same = (rows == rows[:, :, :1, :, :1]).all() and (columns == columns[:, :, :1, :, :1]).all()
    if not same or (k_of_a != steps).any() or (k_of_b != steps).any() or {*steps.ravel()} != {*range(a.shape[1])}:
        what = "a product of other elements than those of two tiles"
        raise refused(line, what, "rows of A and B, and all of K", "partition both alike")
    held = offsets(mma.atom.C).reshape(int(size(mma.atom.thr_id)), -1)[group[0]]  # (thread, value) -> in the atom's C
    each = np.arange(len(held))[:, None]
    values = len(a.at[0]), -1
    of_rows = rows[each, held % m, 0, :, 0]  # (thread, value, repetition along M)
    of_columns = columns[each, held // m, 0, :, 0]
    whole = np.broadcast_arrays(of_rows[:, :, :, None], of_columns[:, :, None, :])
    c = tile_of(line, (x.transpose(0, 3, 2, 1).reshape(values) for x in whole), "C of a product", a.warp)
    if c.shape != (a.shape[0], b.shape[0]):
        what = f"a product of A {a.shape} and B {b.shape} to C {c.shape}"
        raise refused(line, what, "all rows of A and B", "use all of the tiles")
    if a.shape[1] < _LEAST:
        fix = "multiply all of a tile's K by one gemm"
        raise refused(line, f"a product of {a.shape[1]} along K", f"{_LEAST} at least, as Triton's dot has it", fix)
    layout = _accumulator(s, c)
    width = _width(layout, mma.atom)
    if by_descriptors(s):
        return Operands(a, b.turned, c._replace(layout=layout))
    turned = b.turned._replace(layout=DotOperandLayout(1, layout, width))
    return Operands(a._replace(layout=DotOperandLayout(0, layout, width)), turned, c._replace(layout=layout))


def _width(layout: Any, atom: MMAAtom) -> int:
    """The elements of an operand that a thread has one behind the other, as Triton's layouts of operands say it."""
    if isinstance(layout, BlockedLayout):
        return 0
    return int(size(atom.A[1])) if isinstance(layout, AMDMFMALayout) else WARP // atom.element("A").bits


def warp_of(program: Program) -> int:
    """The number of threads of a warp: those of AMD's matrix instructions, if a program has some, else 32."""
    products = [s for s in program.statements() if isinstance(s, Product)]
    return max((int(size(s.step.mma.atom.thr_id)) for s in products if _is_mfma(s)), default=WARP)


def _is_mfma(s: Product) -> bool:
    return s.step.mma.atom.instruction.startswith("v_mfma")


def _groups(s: Product, count: int) -> tuple[Any, tuple[Any, ...]]:
    """(thread of the atom, m, n) -> thread, and of each thread these three."""
    import numpy as np

    layout = s.step.mma.thr_layout_vmnk
    if int(size(layout)) == 1:  # each thread has a product of its own
        return np.arange(count).reshape(1, count, 1), (np.zeros(count, int), np.arange(count), np.zeros(count, int))
    if int(size(layout[3])) != 1 or int(size(layout)) != count:
        what = f"a product by {int(size(layout))} threads of {count}, along K too"
        raise refused(s.line, what, "all threads, along M and N", "use (2, 2, 1)")
    threads = offsets(layout)[..., 0]
    found = np.unravel_index(np.argsort(threads, axis=None), threads.shape)
    return threads, found


def _of_atoms(at: Any, layout: Layout, m: int, extents: tuple[int, int], threads: Any, group: tuple[Any, ...]) -> Any:
    """A coordinate of A or B for each thread, row and column of its atom, whichever thread has it, and repetition."""
    import numpy as np

    count = len(threads)
    held = offsets(layout).reshape(count, -1)
    who = np.argsort(held, axis=None)  # of atoms that several threads of hold an element, the first
    thread, value = np.unravel_index(who[np.unique(held.ravel()[who], return_index=True)[1]], held.shape)
    values = held.shape[1]
    rest, k = extents
    each = at.reshape(len(at), k, rest, values)
    owner = threads[thread[None, :], group[1][:, None], group[2][:, None]]  # (thread, element of the atom)
    found = each[owner, :, :, value[None, :]]  # (thread, element, k, rest)
    return found.reshape(len(at), -1, m, k, rest).transpose(0, 2, 1, 4, 3)


def _accumulator(s: Product, c: Tile) -> Any:
    """Gluon's layout of the accumulators: that of mma.sync, or a blocked one of multiply-adds."""
    atom = s.step.mma.atom
    shape = tuple(int(x) for x in leaves(atom.shape_mnk))
    if shape == (1, 1, 1) and not atom.val_SF:
        found = blocked(s.line, c)
        if found is None:
            what = "accumulators that no blocked layout has"
            raise refused(s.line, what, "one: dot_fma asks for it", "lay the threads out in one order")
        return found
    warps = [int(size(s.step.mma.thr_layout_vmnk[k])) for k in (1, 2)]
    of_warpgroups = by_descriptors(s)
    if _is_mfma(s) and atom.blocks == 1 and not (atom.sparsity or atom.val_SF):
        return AMDMFMALayout(int(atom.arch.removeprefix("cdna")), [*shape], False, warps)
    if (not of_warpgroups and shape[:2] != _MMA) or not atom.instruction.startswith(("mma.sync", "wgmma")):
        fix = "use an SM80 instruction of 16 by 8, SM90's of operands in shared memory, MFMA, or UniversalFMA"
        expected = "a product of mma.sync, wgmma, MFMA, or multiply-adds"
        raise refused(s.line, f"the instruction {atom.name}", expected, fix)
    if atom.sparsity or atom.val_SF:
        raise refused(s.line, f"the instruction {atom.name}", "dense operands", "use another target")
    if of_warpgroups:
        return NVMMADistributedLayout([3, 0], [4 * warps[0], warps[1]], [16, shape[1], shape[2]])
    return NVMMADistributedLayout([2, 0], warps, [*_MMA])


def by_descriptors(s: Product) -> bool:
    """Whether a product is a warpgroup's, whose operands are both in shared memory."""
    atom = s.step.mma.atom
    return atom.instruction.startswith("wgmma") and {atom.memory(x) for x in "AB"} == {"smem"}


def blocked(line: Line, tile: Tile) -> BlockedLayout | None:
    """The blocked layout whose elements have a tile's owners, in any order of registers; None if there is none.

    What a thread has one behind the other along a mode ends where another thread's begins.
    """
    found = owners(line, tile, "the tile")
    rank, sizes = len(tile.shape), []
    others = [*found.bases["lane"], *found.bases["warp"]]
    sizes = [[min([v[d] for v in others if v[d]], default=n) for d, n in enumerate(tile.shape)]]
    sizes += [[1 << sum(1 for v in found.bases[who] if v[d]) for d in range(rank)] for who in ("lane", "warp")]
    along = [d for v in (*found.bases["register"], *others) for d in range(rank) if v[d]]
    for order in itertools.permutations(dict.fromkeys([*along, *reversed(range(rank))])):
        made = BlockedLayout(sizes[0], sizes[1], sizes[2], order)
        bases = made.linear(tile.shape).bases
        registers = [sorted(v for v in x["register"] if any(v)) for x in (bases, found.bases)]
        if registers[0] == registers[1] and all(bases[who] == found.bases[who] for who in ("lane", "warp")):
            return made
    return None


def loaded(line: Line, atom: CopyAtom, source: Memory) -> Memory:
    """The elements that each thread gets of shared memory by an instruction of a warp, which hands out others'."""
    import numpy as np

    if int(size(atom.thr_id)) != WARP or atom.transposes:
        fix = "use ldmatrix that does not transpose, or copy by UniversalCopy"
        raise refused(line, f"the copy {atom.name}", "a copy of each thread, or ldmatrix", fix)
    reads, writes = (offsets(x).reshape(WARP, -1) for x in (atom.val_src, atom.val_dst))
    lane, value = (x[writes] for x in np.unravel_index(np.argsort(reads, axis=None), reads.shape))
    found = []
    for x in source.at:
        each = x.reshape(-1, WARP, x.shape[1] // reads.shape[1], reads.shape[1])  # (warp, lane, repetition, value)
        found.append(each[:, lane, :, value].transpose(2, 0, 3, 1).reshape(len(x), -1))
    return source._replace(at=tuple(found))


def from_tensor_memory(line: Line, atom: CopyAtom, source: Columns) -> Columns:
    """The elements that each thread gets of tensor memory by a load of a warp, whose lanes all name the same."""
    writes = offsets(atom.val_dst).reshape(WARP, -1)
    count = int(size(atom.val_src[1]))
    found = []
    for x in source.at:
        each = x.reshape(-1, WARP, x.shape[1] // count, count)  # (warp, lane, repetition, element)
        if (each != each[:, :1]).any() or int(size(atom.thr_id)) != WARP:
            what = f"the copy {atom.name}"
            raise refused(line, what, "a load of a warp from its data paths", "use SM100_TMEM_LOAD_32dp32b...")
        handed_out = each[:, 0][:, :, writes]  # (warp, repetition, lane, value)
        found.append(handed_out.transpose(0, 2, 1, 3).reshape(len(x), -1))
    return source._replace(at=tuple(found))
