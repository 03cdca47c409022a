"""Kernels of CuTe's DSL, compiled without a GPU, as test data: tests/data/ttgir/cute.json.gz.

    python tests/bench/cute_programs.py       # needs nvidia-cutlass-dsl

Of each kernel there is the textual IR (CUTE_DSL_KEEP_IR), and how often its PTX has each memory instruction.
"""

import gzip
import json
import os
import re
import tempfile
from collections import Counter
from pathlib import Path

FOLDER = tempfile.mkdtemp()
os.environ |= {
    "CUTE_DSL_KEEP_IR": "1",
    "CUTE_DSL_KEEP_PTX": "1",
    "CUTE_DSL_DUMP_DIR": FOLDER,
    "CUTE_DSL_ARCH": "sm_80",
    "CUTE_DSL_NO_CACHE": "1",
}

import cutlass  # noqa: E402
from cutlass import cute  # noqa: E402
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync, warp  # noqa: E402
from cutlass.cute.runtime import make_fake_compact_tensor  # noqa: E402

PATH = Path(__file__).parents[1] / "data" / "ttgir" / "cute.json.gz"
_COUNTED = re.compile(r"\b(ldmatrix|cp\.async\.c[ag]|(?:ld|st)\.(?:shared|global))\b")


class Product:
    """A tile of a matrix product: cp.async to swizzled shared memory, ldmatrix, mma.

    tile      m, n, k; stages: buffers in shared memory
    swizzle   of 8 rows of k elements; column: whether a lies along m, so that ldmatrix transposes
    """

    def __init__(self, tile, swizzle, kind, stages=1, column=False):
        self.tile, self.swizzle, self.kind, self.stages, self.column = tile, swizzle, kind, stages, column

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        m, n, k = self.tile
        rows = cute.make_composed_layout(cute.make_swizzle(*self.swizzle), 0, cute.make_layout((8, k), stride=(k, 1)))
        columns = cute.make_composed_layout(
            cute.make_swizzle(*self.swizzle), 0, cute.make_layout((m, 8), stride=(1, m))
        )
        of_a = cute.tile_to_shape(columns if self.column else rows, (m, k, self.stages), (0, 1, 2))
        of_b = cute.tile_to_shape(rows, (n, k, self.stages), (0, 1, 2))
        atom = cute.make_copy_atom(
            cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), self.kind, num_bits_per_copy=128
        )
        row = k // 8
        by_rows = cute.make_tiled_copy_tv(
            atom, cute.make_layout((128 // row, row), stride=(row, 1)), cute.make_layout((1, 8))
        )
        by_columns = cute.make_tiled_copy_tv(atom, cute.make_layout((m // 8, 1024 // m)), cute.make_layout((8, 1)))
        mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(self.kind, cutlass.Float32, (16, 8, 16)),
            cute.make_layout((2, 2, 1)),
            permutation_mnk=(32, 32, 16),
        )
        copy_a = by_columns if self.column else by_rows
        self.kernel(a, b, c, of_a, of_b, copy_a, by_rows, mma).launch(grid=(1, 1, 1), block=(128, 1, 1))

    @cute.kernel
    def kernel(
        self,
        a,
        b,
        c,
        of_a: cute.ComposedLayout,
        of_b: cute.ComposedLayout,
        copy_a: cute.TiledCopy,
        copy_b: cute.TiledCopy,
        mma: cute.TiledMma,
    ):
        m, n, k = self.tile
        thread, _, _ = cute.arch.thread_idx()
        memory = cutlass.utils.SmemAllocator()
        shared_a, shared_b = memory.allocate_tensor(self.kind, of_a, 16), memory.allocate_tensor(self.kind, of_b, 16)
        mine_a, mine_b = copy_a.get_slice(thread), copy_b.get_slice(thread)
        from_a, to_a = mine_a.partition_S(cute.local_tile(a, (m, k), (0, None))), mine_a.partition_D(shared_a)
        from_b, to_b = mine_b.partition_S(cute.local_tile(b, (n, k), (0, None))), mine_b.partition_D(shared_b)
        mine = mma.get_slice(thread)
        register_a = mma.make_fragment_A(mine.partition_A(shared_a)[None, None, None, 0])
        register_b = mma.make_fragment_B(mine.partition_B(shared_b)[None, None, None, 0])
        to_c = mine.partition_C(cute.local_tile(c, (m, n), (0, 0)))
        acc = mma.make_fragment_C(to_c)
        acc.fill(0.0)
        load_a = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(self.column, 4), self.kind), mma)
        load_b = cute.make_tiled_copy_B(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), self.kind), mma)
        part_a, part_b = load_a.get_slice(thread), load_b.get_slice(thread)
        for tile in cutlass.range(cute.size(from_a, mode=[3])):
            stage = tile % self.stages
            cute.copy(copy_a, from_a[None, None, None, tile], to_a[None, None, None, stage])
            cute.copy(copy_b, from_b[None, None, None, tile], to_b[None, None, None, stage])
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(0)
            cute.arch.sync_threads()
            source_a, source_b = part_a.partition_S(shared_a), part_b.partition_S(shared_b)
            whole_a, whole_b = part_a.retile(register_a), part_b.retile(register_b)
            for kk in cutlass.range_constexpr(cute.size(register_a, mode=[2])):
                cute.copy(load_a, source_a[None, None, kk, stage], whole_a[None, None, kk])
                cute.copy(load_b, source_b[None, None, kk, stage], whole_b[None, None, kk])
                cute.gemm(mma, acc, register_a[None, None, kk], register_b[None, None, kk], acc)
            cute.arch.sync_threads()
        cute.copy(cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32), acc, to_c)


class Transpose:
    """A tile through shared memory, written by rows and read by columns, in copies of tiles."""

    def __init__(self, stride, bits):
        self.stride, self.bits = stride, bits

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        v = self.bits // 32
        shared = cute.make_layout((64, 64), stride=(self.stride, 1))
        atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=self.bits)
        one = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
        rows = cute.make_tiled_copy_tv(
            atom, cute.make_layout((2 * v, 64 // v), stride=(64 // v, 1)), cute.make_layout((1, v))
        )
        columns = cute.make_tiled_copy_tv(one, cute.make_layout((64, 2)), cute.make_layout((1, 1)))
        self.kernel(x, y, shared, rows, columns).launch(grid=(1, 1, 1), block=(128, 1, 1))

    @cute.kernel
    def kernel(self, x, y, shared: cute.Layout, rows: cute.TiledCopy, columns: cute.TiledCopy):
        thread, _, _ = cute.arch.thread_idx()
        memory = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, shared, 16)
        mine = rows.get_slice(thread)
        source, target = mine.partition_S(x), mine.partition_D(memory)
        held = cute.make_fragment_like(target)
        cute.copy(rows, source, held)
        cute.copy(rows, held, target)
        cute.arch.sync_threads()
        mine = columns.get_slice(thread)
        source, target = mine.partition_S(memory), mine.partition_D(y)
        held = cute.make_fragment_like(source)
        cute.copy(columns, source, held)
        cute.copy(columns, held, target)


class Sum:
    """The sum of two matrices: of single elements, of vectors of 4, or of tiles of a layout of threads and values."""

    def __init__(self, by):
        self.by = by

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        tiler, owners = cute.make_layout_tv(
            cute.make_ordered_layout((4, 32), (1, 0)), cute.make_ordered_layout((4, 4), (1, 0))
        )
        if cutlass.const_expr(self.by == "elements"):
            self.elements(a, b, c).launch(grid=(32, 1, 1), block=(128, 1, 1))
        elif cutlass.const_expr(self.by == "vectors"):
            self.vectors(*(cute.zipped_divide(x, (1, 4)) for x in (a, b, c))).launch(grid=(8, 1, 1), block=(128, 1, 1))
        else:
            self.tiles(*(cute.zipped_divide(x, tiler) for x in (a, b, c)), owners).launch(
                grid=(16, 1, 1), block=(128, 1, 1)
            )

    @cute.kernel
    def elements(self, a, b, c):
        i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
        n = a.shape[1]
        c[i // n, i % n] = a[i // n, i % n] + b[i // n, i % n]

    @cute.kernel
    def vectors(self, a, b, c):
        i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
        n = a.shape[1][1]
        at = (None, (i // n, i % n))
        c[at] = a[at].load() + b[at].load()

    @cute.kernel
    def tiles(self, a, b, c, owners: cute.Layout):
        at, mine = ((None, None), cute.arch.block_idx()[0]), (cute.arch.thread_idx()[0], None)
        a, b, c = (cute.composition(x[at], owners)[mine] for x in (a, b, c))
        c.store(a.load() + b.load())


def tensor(kind, m, n, order=(1, 0)):
    return make_fake_compact_tensor(kind, (m, n), stride_order=order, assumed_align=16)


def product(tile, swizzle, kind=cutlass.Float16, stages=1, column=False):
    m, n, k = tile
    a = tensor(kind, m, 8 * k, (0, 1) if column else (1, 0))
    return Product(tile, swizzle, kind, stages, column), (a, tensor(kind, n, 8 * k), tensor(cutlass.Float32, m, n))


FLOATS = (tensor(cutlass.Float32, 64, 64), tensor(cutlass.Float32, 64, 64, (0, 1)))
PROGRAMS = {
    "product": product((128, 128, 32), (2, 3, 3)),
    "product_plain": product((128, 128, 32), (0, 3, 3)),
    "product_k64": product((128, 64, 64), (3, 3, 3)),
    "product_k64_short_swizzle": product((128, 64, 64), (2, 3, 3)),
    "product_bf16_3_stages": product((64, 64, 64), (3, 3, 3), cutlass.BFloat16, 3),
    "product_column": product((64, 128, 32), (3, 3, 3), column=True),
    "product_column_plain": product((64, 128, 32), (0, 3, 3), column=True),
    "transpose_plain": (Transpose(64, 128), FLOATS),
    "transpose_64": (Transpose(64, 64), FLOATS),
    "transpose_padded": (Transpose(65, 32), FLOATS),
    "sum_of_elements": (Sum("elements"), (tensor(cutlass.Float32, 8, 512),) * 3),
    "sum_of_vectors": (Sum("vectors"), (tensor(cutlass.Float16, 8, 512),) * 3),
    "sum_of_tiles": (Sum("tiles"), (tensor(cutlass.Float16, 64, 512),) * 3),
    "sum_of_wide_tiles": (Sum("tiles"), (tensor(cutlass.Float32, 64, 512),) * 3),
}


def compiled(function, arguments):
    """The IR and the PTX of a kernel."""
    for path in Path(FOLDER).iterdir():
        path.unlink()
    cute.compile(function, *arguments)
    (ir,), (ptx,) = (list(Path(FOLDER).glob(f"*.{kind}")) for kind in ("mlir", "ptx"))
    return ir.read_text(), ptx.read_text()


def main():
    rows = []
    for name, (function, arguments) in PROGRAMS.items():
        ir, ptx = compiled(function, arguments)
        rows.append({"name": name, "ir": ir, "ptx": Counter(_COUNTED.findall(ptx))})
        print(name, rows[-1]["ptx"], flush=True)
    PATH.write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":"), sort_keys=True).encode(), mtime=0))


if __name__ == "__main__":
    main()
