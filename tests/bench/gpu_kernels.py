"""Kernels on a GPU: the CUDA text of each example, compiled by nvcc, compared with numpy and timed beside CuTe's
tutorials and torch.

    python tests/bench/gpu_kernels.py [--arch sm_90a] [--only NAME ...] [--small COUNT] [--cutlass DIR] [--folder DIR]

Needs a GPU, nvcc and numpy; torch and a checkout of CUTLASS give the peers. Products are of integers stored as floats,
whose sums are exact; they are timed on uniform random numbers. --small compares alone, as compute-sanitizer and
ncu run it.
"""

import argparse
import ctypes
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import hardware_counters
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "examples/kernels"
RUNS = 50
LAUNCH = re.compile(r"kernel_main_launch\((.*), cudaStream_t stream\) \{")


class Half(ctypes.Structure):
    """A __half that is passed by value."""

    _fields_ = (("bits", ctypes.c_uint16),)


C_TYPES = {"int": ctypes.c_int, "float": ctypes.c_float, "__half": lambda x: Half(int(np.float16(x).view(np.uint16)))}


# ---------------------------------------------------------------------------------------------------- the machine


class Device:
    """The CUDA runtime: memory, copies, events."""

    def __init__(self):
        folder = Path(shutil.which("nvcc")).resolve().parents[1]
        self.runtime = ctypes.CDLL(str(next(folder.rglob("libcudart.so"))))

    def call(self, name, *arguments):
        if failed := getattr(self.runtime, name)(*arguments):
            raise SystemExit(f"{name}: CUDA error {failed}")

    def copy_of(self, array):
        address = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 16)))
        self.call("cudaMemcpy", address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 1)
        return address

    def read(self, array, address):
        self.call("cudaMemcpy", ctypes.c_void_p(array.ctypes.data), address, ctypes.c_size_t(array.nbytes), 2)
        self.call("cudaFree", address)

    def milliseconds(self, call):
        """The least of three rounds, in milliseconds a call."""
        begin, end, taken = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for event in (begin, end):
            self.call("cudaEventCreate", ctypes.byref(event))
        call()
        best = float("inf")
        for _round in range(3):
            self.call("cudaEventRecord", begin, None)
            for _run in range(RUNS):
                call()
            self.call("cudaEventRecord", end, None)
            self.call("cudaEventSynchronize", end)
            self.call("cudaEventElapsedTime", ctypes.byref(taken), begin, end)
            best = min(best, taken.value / RUNS)
        return best


def text_of(arch, name, variant):
    """The kernel's text, with a launch that is called from outside."""
    command = [sys.executable, KERNELS / f"{name}.py", "--target", "cuda", "--arch", arch, "--variant", variant]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    parameters = LAUNCH.search(text)[1]
    names = ", ".join(p.split()[-1].lstrip("*") for p in parameters.split(", "))
    return f'{text}\nextern "C" int launch({parameters}) {{ return kernel_main_launch({names}, 0); }}\n'


def compiled(folder, arch, name, variant):
    """The launch of a kernel's text, and the types of its parameters; compiled once for a folder."""
    source, library = folder / f"{name}_{variant}.cu", folder / f"{name}_{variant}.so"
    if not library.exists():
        source.write_text(text_of(arch, name, variant))
        number = arch.removeprefix("sm_")
        code = f"-gencode=arch=compute_{number},code=sm_{number}"
        words = ["nvcc", "-O3", "-std=c++17", "-Werror", "all-warnings", code, "-shared", "-Xcompiler", "-fPIC", source]
        done = subprocess.run([*words, "-o", library], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} {variant}: {done.stdout}{done.stderr}")
    parameters = LAUNCH.search(source.read_text())[1].split(", ")
    return ctypes.CDLL(str(library)).launch, [None if "*" in p else C_TYPES[p.split()[0]] for p in parameters]


# ------------------------------------------------------------------------------------------------------- the cases


class Case(NamedTuple):
    """A kernel with its data.

    made       (random numbers, sizes, whether exact) -> the launch's arguments
    expected   (arguments, sizes) -> what the last array holds
    sizes      random numbers -> small sizes
    large      the sizes that are timed
    work       sizes -> the number of operations, or of bytes where unit is "GB/s"
    peer       sizes -> torch's call of the same
    """

    name: str
    variant: str
    made: object
    expected: object
    sizes: object
    large: tuple
    work: object
    unit: str = "TFLOP/s"
    peer: object = None
    off: float = 0.0


def numbers(rng, shape, element, exact, order="C"):
    drawn = rng.integers(-1, 2, shape) if exact else rng.uniform(-1, 1, shape)
    return np.asarray(drawn.astype(element), order=order)


def below_300(count):
    """The function that draws so many sizes."""
    return lambda rng: tuple(int(x) for x in rng.integers(1, 300, count))


def product_case(name, variant, element, multiple, contiguous, alpha=1, beta=0):
    """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C, columns contiguous in C; in A and B where `contiguous` is 0."""

    def made(rng, sizes, exact):
        m, n, k = sizes
        order = "F" if contiguous == 0 else "C"
        a, b = numbers(rng, (m, k), element, exact, order), numbers(rng, (n, k), element, exact, order)
        c = numbers(rng, (m, n), element, exact, "F")
        lda, ldb = (m, n) if contiguous == 0 else (k, k)
        return [m, n, k, alpha if not exact else 2, a, lda, b, ldb, beta if not exact else -1, c, m]

    def expected(given, sizes):
        a, b, c = (x.astype(np.float32) for x in given if isinstance(x, np.ndarray))
        return (2 * (a @ b.T) - c).astype(element)

    def sizes(rng):
        m, n, k = below_300(3)(rng)
        if contiguous == 0:
            return -(-m // multiple) * multiple, -(-n // multiple) * multiple, k
        return m, n, -(-k // multiple) * multiple

    return Case(
        name,
        variant,
        made,
        expected,
        sizes,
        (5120, 5120, 4096),
        lambda s: 2 * s[0] * s[1] * s[2],
        peer=product_peer(element),
    )


def product_peer(element):
    def peer(torch, sizes):
        m, n, k = sizes
        kind = torch.float16 if element is np.float16 else torch.float32
        a, b = (
            torch.rand(shape, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(kind) for shape in ((m, k), (k, n))
        )
        return lambda: a @ b

    return peer


def copy_case(name, multiples, peer):
    def made(rng, sizes, exact):
        s = rng.random(sizes, np.float32).T.copy().T
        return [*sizes, s, np.zeros_like(s)]

    def sizes(rng):
        return tuple(int(rng.integers(1, 5)) * x if x > 4 else int(rng.integers(1, 200)) * x for x in multiples)

    return Case(name, name, made, lambda g, s: g[2], sizes, (8192, 8192), lambda s: 8 * s[0] * s[1], "GB/s", peer)


def transpose_case(variant):
    def made(rng, sizes, exact):
        return [*sizes, rng.random(sizes, np.float32), np.zeros(sizes[::-1], np.float32)]

    def peer(torch, sizes):
        s, d = torch.rand(sizes, device="cuda"), torch.empty(sizes[::-1], device="cuda")
        return lambda: d.copy_(s.T)

    return Case(
        "transpose",
        variant,
        made,
        lambda g, s: g[2].T,
        below_300(2),
        (8192, 8192),
        lambda s: 8 * s[0] * s[1],
        "GB/s",
        peer,
    )


def softmax_case():
    def made(rng, sizes, exact):
        x = rng.normal(size=sizes).astype(np.float32)
        return [*sizes, x, np.zeros_like(x)]

    def expected(given, sizes):
        e = np.exp(given[2].astype(np.float64) - given[2].max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def peer(torch, sizes):
        x = torch.randn(sizes, device="cuda")
        return lambda: torch.softmax(x, 1)

    return Case(
        "softmax", "softmax", made, expected, below_300(2), (8192, 8192), lambda s: 8 * s[0] * s[1], "GB/s", peer, 1e-6
    )


def attention_case():
    def made(rng, sizes, exact):
        length, keys, heads = sizes
        q, k, v = (rng.normal(size=(n, heads, 64)).astype(np.float16) for n in (length, keys, keys))
        return [*sizes, q, k, v, np.zeros_like(q)]

    def expected(given, sizes):
        q, k, v = (x.astype(np.float32) for x in given[3:6])
        weights = np.exp(np.einsum("qhd,khd->hqk", q, k) / 8)
        return np.einsum("hqk,khd->qhd", weights / weights.sum(axis=2, keepdims=True), v)

    def peer(torch, sizes):
        length, keys, heads = sizes
        q, k, v = (torch.randn((1, heads, n, 64), device="cuda", dtype=torch.float16) for n in (length, keys, keys))
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)

    def small(rng):
        return (int(rng.integers(1, 200)), int(rng.integers(1, 300)), int(rng.integers(1, 4)))

    def work(s):
        return 4 * s[0] * s[1] * s[2] * 64

    return Case(
        "flash_attention", "flash_attention", made, expected, small, (4096, 4096, 32), work, "TFLOP/s", peer, 2e-3
    )


def linear_case(variant):
    def made(rng, sizes, exact):
        m, n, k = sizes
        x, w, bias = (numbers(rng, shape, np.float32, exact) for shape in ((m, k), (n, k), (n,)))
        return [m, n, k, x, w, bias, np.zeros((m, n), np.float32)]

    def expected(given, sizes):
        y = given[3].astype(np.float64) @ given[4].T + given[5]
        return (
            np.maximum(y, 0) if variant == "relu" else y / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        )

    def peer(torch, sizes):
        m, n, k = sizes
        x, w, b = (torch.rand(shape, device="cuda") for shape in ((m, k), (n, k), (n,)))
        f = torch.relu if variant == "relu" else lambda y: torch.nn.functional.gelu(y, approximate="tanh")
        return lambda: f(torch.nn.functional.linear(x, w, b))

    def work(s):
        return 2 * s[0] * s[1] * s[2]

    return Case("epilogue", variant, made, expected, below_300(3), (4096, 4096, 1024), work, "TFLOP/s", peer, 1e-4)


def atoms_case(variant):
    def made(rng, sizes, exact):
        m, n, k = sizes
        return [
            m,
            n,
            k,
            *(numbers(rng, shape, np.float16, exact) for shape in ((m, k), (n, k))),
            np.ones((m, n), np.float32),
        ]

    def expected(given, sizes):
        return given[3].astype(np.float32) @ given[4].T.astype(np.float32) + 1

    def small(rng):
        return (int(rng.integers(1, 300)), int(rng.integers(1, 300)), 8 * int(rng.integers(1, 40)))

    return Case(
        "gemm_atoms",
        variant,
        made,
        expected,
        small,
        (4096, 4096, 4096),
        lambda s: 2 * s[0] * s[1] * s[2],
        peer=product_peer(np.float16),
    )


def im2col_case():
    def out(sizes):
        _b, h, w, _c = sizes
        return ((h - 3) // 2 + 1, (w - 3) // 2 + 1)

    def made(rng, sizes, exact):
        b, _h, _w, c = sizes
        p, q = out(sizes)
        return [*sizes, rng.random(sizes, np.float32), np.zeros(b * p * q * 9 * c, np.float32)]

    def expected(given, sizes):
        windows = np.lib.stride_tricks.sliding_window_view(given[4], (3, 3), (1, 2))[:, ::2, ::2]
        return windows.transpose(0, 1, 2, 4, 5, 3).ravel()

    def small(rng):
        return (int(rng.integers(1, 4)), int(rng.integers(3, 40)), int(rng.integers(3, 40)), int(rng.integers(1, 20)))

    def work(s):
        return 8 * s[0] * out(s)[0] * out(s)[1] * 9 * s[3]

    return Case("im2col", "im2col", made, expected, small, (32, 128, 128, 64), work, "GB/s")


def tiles_case():
    def made(rng, sizes, exact):
        m, n = sizes
        return [
            m,
            n,
            rng.integers(0, 2**16, sizes).astype(np.uint16),
            np.zeros((m + -m % 8) * (n + -n % 128), np.uint16),
        ]

    def expected(given, sizes):
        x = np.pad(given[2], [(0, -sizes[0] % 8), (0, -sizes[1] % 128)])
        return x.reshape(x.shape[0] // 8, 4, 2, x.shape[1] // 128, 128).transpose(0, 3, 1, 4, 2).ravel()

    return Case(
        "pack_tiles", "pack_tiles", made, expected, below_300(2), (8192, 8192), lambda s: 4 * s[0] * s[1], "GB/s"
    )


def copied_by_torch(torch, sizes):
    s, d = torch.rand(sizes, device="cuda"), torch.empty(sizes, device="cuda")
    return lambda: d.copy_(s)


CASES = [
    *(product_case(name, f"gemm_{x}", np.float32, 1, x == "tn") for name in ("sgemm_1",) for x in ("nt", "tn")),
    *(
        product_case(name, f"gemm_{x}", np.float32, 4, x == "tn")
        for name in ("sgemm_2", "sgemm_sm70")
        for x in ("nt", "tn")
    ),
    product_case("sgemm_sm80", "gemm_tn", np.float16, 8, 1),
    *(
        product_case(name, f"gemm_{x}", np.float16, 8, x == "tn")
        for name in ("wgmma_sm90", "wgmma_tma_sm90")
        for x in ("nt", "tn")
    ),
    atoms_case("mma_sync"),
    *(linear_case(x) for x in ("gelu", "relu")),
    attention_case(),
    softmax_case(),
    copy_case("tiled_copy", (128, 64), copied_by_torch),
    copy_case("tiled_copy_if", (4, 1), copied_by_torch),
    *(transpose_case(x) for x in ("transpose", "padded")),
    im2col_case(),
    tiles_case(),
]


# -------------------------------------------------------------------------------------------------------- the runs


def ran(device, launch, kinds, given):
    """What the last array holds after a launch."""
    held = [device.copy_of(x) if isinstance(x, np.ndarray) else None for x in given]
    arguments = [h if h is not None else kind(x) for h, kind, x in zip(held, kinds, given)]
    device.call("cudaDeviceSynchronize")
    if failed := launch(*arguments):
        raise SystemExit(f"the launch answers {failed}")
    device.call("cudaDeviceSynchronize")
    last = max(k for k, x in enumerate(given) if isinstance(x, np.ndarray))
    out = np.empty_like(given[last])
    device.read(out, held[last])
    for k, h in enumerate(held):
        if h is not None and k != last:
            device.call("cudaFree", h)
    return out


def wrong(case, given, sizes, out):
    """How many elements are off, of sizes that are small."""
    expected = case.expected(given, sizes)
    return int((~(np.abs(out.astype(np.float64) - expected) <= case.off)).sum())


def compare(device, case, launch, kinds, count):
    rng = np.random.default_rng(0)
    for _case in range(count):
        sizes = case.sizes(rng)
        given = case.made(rng, sizes, True)
        if bad := wrong(case, given, sizes, ran(device, launch, kinds, given)):
            print(f"{case.name} {case.variant} {sizes}: {bad} elements WRONG", flush=True)
            return
        if count == 1:
            print(sizes, end=" ")
    print(f"{case.name} {case.variant}: {count} sizes equal to numpy", flush=True)


def timed(device, case, launch, kinds):
    given = case.made(np.random.default_rng(1), case.large, False)
    held = [device.copy_of(x) if isinstance(x, np.ndarray) else None for x in given]
    arguments = [h if h is not None else kind(x) for h, kind, x in zip(held, kinds, given)]
    best = device.milliseconds(lambda: launch(*arguments))
    for h in held:
        if h is not None:
            device.call("cudaFree", h)
    return best


def of_torch(case):
    """torch's time for the same [ms], None where there is no torch or no such call."""
    try:
        import torch
    except ImportError:
        return None
    if case.peer is None:
        return None
    call = case.peer(torch, case.large)
    call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = float("inf")
    for _round in range(3):
        begin.record()
        for _run in range(RUNS):
            call()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / RUNS)
    torch.cuda.empty_cache()
    return best


def of_cutlass(folder, cutlass, name):
    """CuTe's own program, compiled."""
    source = next((cutlass / "examples/cute/tutorial").rglob(f"{name}.cu"))
    program, includes = folder / f"cute_{name}", [f"-I{cutlass / p}" for p in ("include", "tools/util/include")]
    if program.exists():
        return program
    words = [
        "nvcc",
        "-O3",
        "-std=c++17",
        "--expt-relaxed-constexpr",
        "-gencode=arch=compute_90a,code=sm_90a",
        *includes,
        source,
        "-o",
        program,
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return program if done.returncode == 0 else print(name, done.stderr[-500:])


def cute_milliseconds(program, case):
    letters = ("N", "T") if case.variant == "gemm_nt" else ("T", "N")
    out = subprocess.run([program, *map(str, case.large), *letters], capture_output=True, text=True, check=False).stdout
    found = re.search(r"CUTE_GEMM:.*\(\s*([\d.]+)\)ms", out)
    return float(found[1]) if found else None


#: What the hardware counts of a launch: wavefronts of shared memory by instructions, and sectors of global memory.
COUNTERS = {
    **{f"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum": "shared read" for op in ("ld", "ldsm")},
    **{
        f"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum": "shared written"
        for op in ("st", "stsm", "ldgsts")
    },
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global read",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "global written",
}


def counted(case):
    """What `check` counts of a case's first sizes."""
    sys.path[:0] = [str(ROOT), str(KERNELS)]
    kernel, _arguments, parameters = importlib.import_module(case.name).VARIANTS[case.variant]
    rng = np.random.default_rng(0)
    sizes = case.sizes(rng)
    given = case.made(rng, sizes, True)
    order = {name: k for k, name in enumerate(parameters.split())}
    arrays, scalars = (
        [x for x in given if isinstance(x, np.ndarray)],
        [given[order[n]] for n in ("alpha", "beta") if n in order],
    )
    found = Counter()
    for row in kernel.check(*arrays, *scalars).conflicts:
        found[f"{row.memory.split()[0]} {'written' if row.writes else 'read'}"] += row.wavefronts
    return found


def beside_hardware(folder, arch):
    """Each kernel's table of accesses beside ncu's counters; what a compiler makes one access of several has fewer."""
    cases = [c for c in CASES if c.name not in ("flash_attention", "im2col", "pack_tiles")]
    command = [
        sys.executable,
        __file__,
        "--small",
        "1",
        "--arch",
        arch,
        "--folder",
        folder,
        "--only",
        *{c.name for c in cases},
    ]
    for case, launch in zip(cases, hardware_counters.counted(command, COUNTERS)):
        found = Counter()
        for name, number in launch.items():
            found[COUNTERS[name]] += number
        stated = counted(case)
        for kind in sorted({*COUNTERS.values()}):
            if stated[kind] or found[kind]:
                mark = "" if stated[kind] == found[kind] else "  DIFFERS"
                print(
                    f"{case.name} {case.variant}: {kind}: check {stated[kind]:,}, hardware {found[kind]:,}{mark}",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--small", type=int, help="compare so many sizes, and time nothing")
    parser.add_argument("--cutlass", type=Path)
    parser.add_argument("--folder", type=Path, help="where what is compiled is kept")
    parser.add_argument("--counters", action="store_true", help="compare the counts of check with ncu's")
    chosen = parser.parse_args()
    if chosen.counters:
        beside_hardware(chosen.folder, chosen.arch)
        return
    cases = [c for c in CASES if not chosen.only or c.name in chosen.only]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = chosen.folder or Path(name)
        peers = (
            {c.name: None for c in cases if c.unit == "TFLOP/s" and "gemm_" in c.variant}
            if chosen.cutlass and not chosen.small
            else {}
        )
        peers = {n: pool.submit(of_cutlass, folder, chosen.cutlass, n) for n in peers}
        built = [pool.submit(compiled, folder, chosen.arch, c.name, c.variant) for c in cases]
        device = Device()
        for case, job in zip(cases, built):
            launch, kinds = job.result()
            compare(device, case, launch, kinds, chosen.small or 50)
        if chosen.small:
            return
        print(f"{'':28} {'':8} {'ms':>8} {'':>9} {'CuTe ms':>8} {'ratio':>6} {'torch ms':>8} {'ratio':>6}")
        for case, job in zip(cases, built):
            launch, kinds = job.result()
            own = timed(device, case, launch, kinds)
            program = peers[case.name].result() if case.name in peers else None
            others = [cute_milliseconds(program, case) if program else None, of_torch(case)]
            rate = case.work(case.large) / own / (1e9 if case.unit == "TFLOP/s" else 1e6)
            shown = " ".join(f"{x:8.3f} {x / own:6.2f}" if x else f"{'':8} {'':6}" for x in others)
            print(f"{case.name + ' ' + case.variant:28} {own:8.3f} {rate:8.1f} {case.unit:8} {shown}", flush=True)


if __name__ == "__main__":
    main()
