"""Wavefronts of shared memory as the hardware counts them: accesses of one warp, each in a launch of its own.

    python tests/bench/gpu_wavefronts.py FILE.json    # where a GPU, nvcc and ncu are

The file has [operation, bits of a lane's access, bytes at which the lanes access (-1 for a lane that does not),
wavefronts]; tests/data/gpu/wavefronts.json is one of them.
"""

import ctypes
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import hardware_counters
from gpu_conversions import COUNTERS, Driver

LANES = 32
WIDTHS = (32, 64, 128)
#: Shared memory is of 16 KiB; ld and st are volatile, so that none is left out.
KERNEL = """
extern "C" __global__ void kernel_main(const int* at, unsigned* out) {{
  __shared__ __align__(16) unsigned memory[4096];
  const int mine = at[threadIdx.x];
  unsigned v[{words}] = {{}};
  const unsigned place = unsigned(__cvta_generic_to_shared(memory)) + mine;
  if (mine >= 0) asm volatile("{text}" : {outs} : "r"(place){ins} : "memory");
  for (int k = 0; k < {words}; ++k) out[threadIdx.x * {words} + k] = v[k];
}}
"""


def kernel(operation, bits):
    """The text of a kernel of one access."""
    words = bits // 32
    shape = f".v{words}" if words > 1 else ""
    count = iter(range(9))
    if operation == "ld":
        values = [f"%{next(count)}" for _ in range(words)]
        text = f"ld.shared{shape}.b32 {{{', '.join(values)}}}, [%{words}];"
        outs, ins = ", ".join(f'"=r"(v[{k}])' for k in range(words)), ""
    else:
        text = f"st.shared{shape}.b32 [%0], {{{', '.join(f'%{k + 1}' for k in range(words))}}};"
        outs, ins = "", "".join(f', "r"(v[{k}])' for k in range(words))
    return KERNEL.format(words=words, text=text.replace("{%0}", "%0").replace("{%1}", "%1"), outs=outs, ins=ins)


def linear(columns):
    """The place of each lane, from what each bit of its number changes."""
    places = [0] * LANES
    for lane in range(LANES):
        for k, column in enumerate(columns):
            places[lane] ^= column * (lane >> k & 1)
    return places


def patterns(rng):
    """Places of 32 lanes, in accesses: neighbours with bits of the lane left out, random linear maps, lanes that go
    together in pairs, random ones, and some that do nothing."""
    straight = [1, 2, 4, 8, 16]
    for left_out in range(32):
        yield linear([column * (not left_out >> k & 1) for k, column in enumerate(straight)])
    for _ in range(40):
        yield linear(
            [0 if rng.random() < 0.3 else rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)]) for _ in range(5)]
        )
    for together in (1, 2, 4, 8, 16, 3):
        for most in (32, 256):
            places = [rng.randrange(most) for _ in range(LANES)]
            yield [places[min(lane, lane ^ together)] for lane in range(LANES)]
            yield [places[min(lane, lane ^ together)] if lane < 16 else places[lane] for lane in range(LANES)]
            yield [places[min(lane, lane ^ together)] if lane != 5 else 7 for lane in range(LANES)]
            yield [places[lane] if lane & -lane & together == 0 else -1 for lane in range(LANES)]
            yield [places[lane] if not lane & together else -1 for lane in range(LANES)]
            yield [lane if lane & together or lane > 15 else -1 for lane in range(LANES)]
    for most in (1, 2, 3, 4, 8, 16):
        yield [rng.randrange(most) for _ in range(LANES)]
        yield [rng.randrange(most) if rng.random() < 0.7 else -1 for _ in range(LANES)]
        yield [rng.randrange(256) if rng.random() < most / 17 else -1 for _ in range(LANES)]


def cases():
    rng = random.Random(1)
    for operation in ("ld", "st"):
        for bits in WIDTHS:
            for places in patterns(rng):
                yield operation, bits, [p if p < 0 else p * bits // 8 for p in places]


def execute(folder):
    """A launch for each case."""
    driver = Driver()
    for operation, bits, places in cases():
        cubin = (folder / f"{operation}{bits}.cubin").read_bytes()
        driver.launch(cubin, LANES, bytes((ctypes.c_int * LANES)(*places)), LANES * bits // 8)


def main():
    if sys.argv[1] == "execute":
        return execute(Path(sys.argv[2]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for operation in ("ld", "st"):
            for bits in WIDTHS:
                made = folder / f"{operation}{bits}.cu"
                made.write_text(kernel(operation, bits))
                subprocess.run(["nvcc", "-arch=native", "-cubin", "-o", made.with_suffix(".cubin"), made], check=True)
        launches = hardware_counters.counted([sys.executable, __file__, "execute", folder], COUNTERS)
    rows = [[*case, sum(launch.values())] for case, launch in zip(cases(), launches, strict=True)]
    Path(sys.argv[1]).write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    print(f"{len(rows)} accesses")
    return None


if __name__ == "__main__":
    main()
