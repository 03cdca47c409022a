"""Kernels in C on one core beside numpy, in one run: processor time of the best of several rounds in turn, and ratios.

    OPENBLAS_NUM_THREADS=1 python tests/bench/cpu_kernels.py [gcc|clang ...]

A ratio above 1 is faster than numpy: its `@` of one thread, and numpy.copyto. Every result is compared with numpy's.
"""

import ctypes
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "kernels"))
import gemm_cpu
import im2col
import transpose

ROUNDS = 15
#: The fewest elements that a measurement moves: smaller copies are made several times.
LEAST = 200_000
#: Transposes: squares, powers of two, odd, long and thin, and more than a cache holds.
MATRICES = [
    *((n, n) for n in (16, 32, 64, 256, 300, 512, 1024, 2000, 2048, 3000)),
    *((127, 129), (255, 257), (1000, 1500), (333, 4001), (4001, 333), (4096, 1000), (4000, 4001)),
    *((8, 20000), (20000, 8), (16, 30000), (30000, 16), (100, 10000), (10000, 100)),
    *((31, 33), (97, 33), (3, 30000), (5, 1000), (1000, 5), (1, 10000)),
]
#: Images: their number, rows, columns and channels.
IMAGES = [
    *((4, 200, 200, 1), (2, 112, 113, 3), (1, 224, 224, 3), (1, 20, 20, 3), (8, 40, 40, 16), (16, 30, 31, 17)),
    *((8, 64, 64, 17), (4, 65, 65, 32), (4, 112, 112, 32), (8, 56, 56, 64), (32, 56, 56, 64), (1, 7, 9, 64)),
    *((2, 33, 35, 128), (16, 28, 28, 128)),
]


def built(folder, compiler, kernel, arguments, parameters):
    source, library = folder / "kernel.c", folder / f"{len([*folder.iterdir()])}.so"
    source.write_text(kernel.source("c", *arguments, parameters=parameters).text)
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(str(library)).kernel_main


def compared(name, call, given, peer, work, unit, times=1):
    """A row: work of a round, which does all so many times, by the best time of each."""
    best, work, given = [float("inf")] * 2, work * times, [ctypes.c_int(x) if isinstance(x, int) else x for x in given]
    for _round in range(ROUNDS):
        for k, (f, arguments) in enumerate(((call, given), (peer, ()))):
            begin = time.thread_time()
            for _time in range(times):
                f(*arguments)
            best[k] = min(best[k], time.thread_time() - begin)
    own, other = (work / t / 1e9 for t in best)
    print(f"{name:44} {own:7.2f} {other:7.2f} {unit:9} {own / other:5.2f}", flush=True)


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def products(folder, compiler, rng):
    sizes = {"": [(1024, 1024, 1024), (1000, 1000, 1000)]}
    sizes["_small"] = [(32, 32, 32), (64, 64, 64), (128, 128, 128), (97, 33, 45), (300, 70, 90)]
    for order, tile in itertools.product(("nn", "nt", "tn", "tt"), sizes):
        call = built(folder, compiler, *gemm_cpu.VARIANTS[f"avx2_{order}{tile}"])
        for m, n, k in sizes[tile]:
            a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (k, n)))
            a, b = (np.asarray(x, order="C" if o == "n" else "F") for x, o in zip((a, b), order))
            d = np.zeros((m, n), np.float32)
            given = m, n, k, *map(pointer, (a, b, d))
            call(*given)
            assert (d == a @ b).all()
            name, times = f"gemm_cpu avx2_{order}{tile} {m} {n} {k}", max(1, 10 * LEAST // (m * n * k))
            compared(name, call, given, lambda x=a, y=b, z=d: np.matmul(x, y, out=z), 2 * m * n * k, "GFLOP/s", times)


def transposes(folder, compiler, rng):
    call = built(folder, compiler, *transpose.VARIANTS["vectors"])
    for m, n in MATRICES:
        s, d = rng.random((m, n), np.float32), np.zeros((n, m), np.float32)
        given = m, n, pointer(s), pointer(d)
        call(*given)
        assert (d == s.T).all()
        name, times = f"transpose {m} {n}", max(1, LEAST // d.size)
        compared(name, call, given, lambda x=s.T, y=d: np.copyto(y, x), d.nbytes, "GB/s", times)


def windows(folder, compiler, rng):
    call = built(folder, compiler, *im2col.VARIANTS["whole_rows"])
    for b, h, w, c in IMAGES:
        images = rng.random((b, h, w, c), np.float32)
        views = np.lib.stride_tricks.sliding_window_view(images, (3, 3), (1, 2))[:, ::2, ::2].transpose(
            0, 1, 2, 4, 5, 3
        )
        d = np.zeros(views.shape, np.float32)
        given = b, h, w, c, pointer(images), pointer(d)
        call(*given)
        assert (d == views).all()
        name, times = f"im2col {b} {h} {w} {c}", max(1, LEAST // d.size)
        compared(name, call, given, lambda x=views, y=d: np.copyto(y, x), d.nbytes, "GB/s", times)


if __name__ == "__main__":
    for compiler in sys.argv[1:] or ["gcc"]:
        print(f"{compiler:44}     tla   numpy           ratio")
        with tempfile.TemporaryDirectory() as folder:
            for measured in (products, transposes, windows):
                measured(Path(folder), compiler, np.random.default_rng(0))
