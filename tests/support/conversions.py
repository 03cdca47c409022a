"""Pairs of layouts to convert between, and what each thread holds."""

import dataclasses

import numpy as np

from tla import RangeError
from tla.access import Shuffle, convert
from tla.access.lane_moves import lane_move
from tla.access.machines import MACHINES
from tla.linear import LinearLayout, bits, triton

_ACC = triton.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
#: Layouts of a tile of 64 by 64 in four warps.
USUAL = {
    "rows of 8": triton.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]),
    "columns of 8": triton.BlockedLayout([8, 1], [8, 4], [1, 4], [0, 1]),
    "rows of 4": triton.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0]),
    "rows of 1": triton.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0]),
    "mma, 4 by 1": triton.NVMMADistributedLayout([2, 0], [4, 1], [16, 8]),
    "mma, 2 by 2": _ACC,
    "wgmma": triton.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]),
    "operand A": triton.DotOperandLayout(0, _ACC, 2),
    "operand B": triton.DotOperandLayout(1, _ACC, 2),
}


def held(layout):
    """The index of the element that each (warp, lane, register) holds, from the bases."""
    names = ("warp", "lane", "register")
    sizes = [layout.get_in_dim_size(d) if layout.has_in_dim(d) else 1 for d in names]
    columns = {d: [layout.pack(v) for v in layout.bases.get(d, ())] for d in names}
    out = np.zeros(sizes, int)
    for at in np.ndindex(*sizes):
        out[at] = (
            bits.apply(columns["warp"], at[0])
            ^ bits.apply(columns["lane"], at[1])
            ^ bits.apply(columns["register"], at[2])
        )
    return out


def pair(rng, spread, most_lanes=5):
    """Two owners of 2^n elements in the same warps; with `spread`, some values have several owners."""
    n = rng.randrange(3, 9)
    lanes, warps = rng.choice([2, 3, most_lanes]), rng.choice([0, 0, 1])
    count = max(n, lanes + warps) + (rng.randrange(3) if spread else 0)
    columns = [1 << k for k in range(n)] + [rng.randrange(1 << n) if spread else 0 for _ in range(count - n)]
    rng.shuffle(columns)
    other = columns[warps:]
    rng.shuffle(other)
    for _ in range(rng.randrange(4)):
        a, b = rng.sample(range(len(other)), 2)
        other[a] ^= other[b]
    made = []
    for chosen in (columns, [*columns[:warps], *other]):
        warp, lane, register = chosen[:warps], chosen[warps : warps + lanes], chosen[warps + lanes :]
        parts = {"register": register, "lane": lane, "warp": warp}
        made.append(LinearLayout({d: [(c,) for c in cs] for d, cs in parts.items()}, {"dim0": 1 << n}))
    return made


def usual(rng, wave=32):
    """Two layouts of Triton's of one tile: blocks, accumulators, operands; some values have several owners."""
    shape, warps = (
        rng.choice([(16, 16), (32, 32), (64, 16), (16, 64), (64, 64), (32, 128), (128, 32)]),
        rng.choice([1, 2, 4]),
    )
    return tuple(_usual(rng, shape, warps, wave) for _ in range(2))


def _usual(rng, shape, warps, wave):
    rows = rng.choice([n for n in (1, 2, 4) if n <= warps])
    split, kind = [rows, warps // rows], rng.randrange(4)
    if kind < 2:
        lanes = rng.choice([n for n in (1, 2, 4, 8, 16, 32, 64) if n <= wave])
        held = [rng.choice([1, 2, 4]), rng.choice([1, 2, 4, 8])]
        return triton.BlockedLayout(held, [lanes, wave // lanes], split, rng.choice([[0, 1], [1, 0]])).linear(shape)
    if wave == 32:
        accumulator = triton.NVMMADistributedLayout([2, 0], split, [16, 8])
    else:
        accumulator = triton.AMDMFMALayout(3, rng.choice([[16, 16, 16], [32, 32, 8]]), rng.random() < 0.5, split)
    if kind == 2:
        return accumulator.linear(shape)
    return triton.DotOperandLayout(
        rng.randrange(2), accumulator, rng.choice([1, 2, 4] if wave == 32 else [4, 8])
    ).linear(shape)


def lanes_turned(mask):
    """A register of each of 32 lanes, and two, of which the lanes that differ by the mask have exchanged one."""
    lanes = [(1 << k,) for k in range(5)]
    low = mask & -mask
    turned = [(32,) if (1 << k) == low else (1 << k,) for k in range(5)]
    return (
        LinearLayout({"register": [(32,)], "lane": lanes, "warp": []}, {"dim0": 64}),
        LinearLayout({"register": [(mask,)], "lane": turned, "warp": []}, {"dim0": 64}),
    )


def moved_plan(rng, arch, wave):
    """A conversion by shuffles of which each word that one instruction can move otherwise is moved so; some are."""
    while True:
        src, dst = usual(rng, wave) if rng.random() < 0.3 else pair(rng, False, wave.bit_length() - 1)
        try:
            plan = convert(src, dst, rng.choice([8, 16, 32, 64]), arch, through="shuffle")
        except RangeError:
            continue
        known = MACHINES[arch].lane_moves
        rounds = [
            s._replace(move=lane_move(s.source, known)) if isinstance(s, Shuffle) and s.crosses else s
            for s in plan.steps
        ]
        count = sum(isinstance(s, Shuffle) and s.move is not None for s in rounds)
        words = -(-plan.element_bits // 32)
        if count and (registers(src) + registers(dst)) * words < 256:  # more than threads have are spilled
            return dataclasses.replace(plan, steps=tuple(rounds), lane_moves=count * words)


def registers(layout):
    return layout.get_in_dim_size("register")


def threads(plan):
    return plan.src.get_in_dim_size("lane") * plan.src.get_in_dim_size("warp")


TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long", 128: "Wide"}


def kernel(plan, text):
    """A kernel of CUDA or HIP that loads each thread's registers, converts them by the function `f`, and stores
    what it has then."""
    kind, given, wanted, n = TYPES[plan.element_bits], registers(plan.src), registers(plan.dst), threads(plan)
    memory = f"__shared__ __align__(16) {kind} smem[{plan.bytes * 8 // plan.element_bits}];" if plan.bytes else ""
    return f"""struct alignas(16) Wide {{ unsigned x, y, z, w; }};
{text}
extern "C" __global__ void kernel_main(const {kind}* a, {kind}* b) {{
  {memory}
  {kind} src[{given}], dst[{wanted}];
  #pragma unroll
  for (int r = 0; r < {given}; ++r) src[r] = a[r * {n} + threadIdx.x];
  f(src, dst{", smem" if memory else ""});
  #pragma unroll
  for (int r = 0; r < {wanted}; ++r) b[r * {n} + threadIdx.x] = dst[r];
}}
"""
