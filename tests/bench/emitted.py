"""Emitted relayouts beside hand-written C and memcpy, in one run: milliseconds of the best of several
rounds, and ratios.

    python tests/bench/emitted.py

`by hand` is the best of several loops that one writes for that one pair of layouts; all is compiled in one file by gcc.
Times are for ratios: machines are noisy.
"""

import ctypes
import math
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = 9
N = 4096
FLAGS = ["-O3", "-march=native", "-std=c11"]

#: What is written by hand: in the order of the target's blocks, of the source's, and in blocks of several sizes.
BY_HAND = """
#define BOTH uint16_t *restrict d, const uint16_t *restrict s
void zN_0(BOTH) { for (int j = 0; j < 256; ++j) for (int i = 0; i < 4096; ++i) memcpy(d + j * 65536 + i * 16, s + i * 4096 + j * 16, 32); }
void zN_1(BOTH) { for (int i = 0; i < 4096; ++i) for (int j = 0; j < 256; ++j) memcpy(d + j * 65536 + i * 16, s + i * 4096 + j * 16, 32); }
void zN_2(BOTH) {
    for (int b = 0; b < 4096; b += 16) for (int j = 0; j < 256; ++j) for (int i = b; i < b + 16; ++i)
        memcpy(d + j * 65536 + i * 16, s + i * 4096 + j * 16, 32);
}
void tiles_0(BOTH) {
    for (int a = 0; a < 512; ++a) for (int b = 0; b < 32; ++b) for (int i = 0; i < 4; ++i) for (int j = 0; j < 128; ++j) for (int p = 0; p < 2; ++p)
        d[a * 32768 + b * 1024 + i * 256 + j * 2 + p] = s[(a * 8 + i * 2 + p) * 4096 + b * 128 + j];
}
void tiles_1(BOTH) {
    for (int a = 0; a < 512; ++a) for (int b = 0; b < 32; ++b) for (int i = 0; i < 4; ++i) {
        uint16_t *o = d + a * 32768 + b * 1024 + i * 256;
        const uint16_t *p = s + (a * 8 + i * 2) * 4096 + b * 128;
        for (int j = 0; j < 128; ++j) { o[2 * j] = p[j]; o[2 * j + 1] = p[j + 4096]; }
    }
}
#define TRANSPOSE(B) void transpose_##B(BOTH) { \\
    for (int a = 0; a < 4096; a += B) for (int b = 0; b < 4096; b += B) for (int i = a; i < a + B; ++i) for (int j = b; j < b + B; ++j) \\
        d[i * 4096 + j] = s[j * 4096 + i]; }
TRANSPOSE(8) TRANSPOSE(16) TRANSPOSE(32) TRANSPOSE(64)
void whole(BOTH) { memcpy(d, s, 2 * 4096 * 4096); }
"""
HANDS = {
    "zN": ["zN_0", "zN_1", "zN_2"],
    "T(8,128)(2,1)": ["tiles_0", "tiles_1"],
    "transpose": [f"transpose_{b}" for b in (8, 16, 32, 64)],
}


def layouts():
    from tla import MakeLayout, ascend, parse, xla

    return {
        "zN": MakeLayout[ascend.half, ascend.zN](N, N),
        "T(8,128)(2,1)": xla.lower(f"bf16[{N},{N}]{{1,0:T(8,128)(2,1)}}"),
        "transpose": parse(f"(_{N},_{N}):(_1,_{N})"),
    }


def build(folder):
    """A library of the emitted functions, and of those by hand."""
    from tla import parse
    from tla.codegen import emit_copy

    rows = parse(f"(_{N},_{N}):(_{N},_1)")
    texts = [emit_copy(rows, layout, element=16, name=f"emitted_{k}") for k, layout in enumerate(layouts().values())]
    source, library = Path(folder) / "copies.c", Path(folder) / "copies.so"
    source.write_text("\n".join(texts) + BY_HAND)
    subprocess.run(
        ["gcc", *FLAGS, "-Dstatic=", "-Dinline=", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
    )
    return ctypes.CDLL(str(library))


def best(calls):
    """The milliseconds of each call, in turns, so that all of them meet the same noise."""
    times = dict.fromkeys(calls, math.inf)
    for _round in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - start)
    return {name: 1e3 * t for name, t in times.items()}


def main():
    a, b = np.arange(N * N).astype(np.uint16), np.zeros(N * N, np.uint16)
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)

        def call(name):
            return lambda: getattr(library, name)(ctypes.c_void_p(b.ctypes.data), ctypes.c_void_p(a.ctypes.data))

        print(
            f"{N} by {N} of 16 bits".ljust(26)
            + "emitted ms".rjust(12)
            + "by hand".rjust(10)
            + "ratio".rjust(8)
            + "to memcpy".rjust(11)
        )
        for k, (kind, hands) in enumerate(HANDS.items()):
            made = []
            for name in (f"emitted_{k}", *hands):
                b[:] = 0
                call(name)()
                made.append(b.copy())
            assert all(np.array_equal(made[0], other) for other in made[1:]), kind
            times = best({name: call(name) for name in (f"emitted_{k}", *hands, "whole")})
            ours, theirs = times[f"emitted_{k}"], min(times[name] for name in hands)
            print(f"row-major -> {kind:13}{ours:12.2f}{theirs:10.2f}{ours / theirs:8.2f}{ours / times['whole']:11.2f}")


if __name__ == "__main__":
    main()
