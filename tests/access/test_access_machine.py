"""Conversions as machine code: NVRTC compiles them, their PTX is executed and its accesses counted, the machine code's instructions too."""

import random
from dataclasses import replace

import numpy as np
import pytest

from tla import parse
from tla.access import Load, Store, access, convert
from tla.linear import LinearLayout, triton

import nvrtc
import ptx
from conversions import held, pair, registers, threads, usual
from night import amount

TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long", 128: "Wide"}
#: More words than this in a thread leave too few of its 255 registers.
MOST_WORDS = 64


def kernel(plan):
    """A kernel that loads each thread's registers, converts them, and stores what it has then."""
    kind, given, wanted, n = TYPES[plan.element_bits], registers(plan.src), registers(plan.dst), threads(plan)
    memory = f"__shared__ __align__(16) {kind} smem[{plan.bytes * 8 // plan.element_bits}];" if plan.bytes else ""
    return f"""struct alignas(16) Wide {{ unsigned x, y, z, w; }};
{plan.cuda("f")}
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


def values(layout, count, element_bits):
    """An array [register, thread] of bytes that differ between elements."""
    index = held(layout).reshape(count, -1).T.astype(np.uint64)
    parts = [(index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(7 + k) for k in range(-(-element_bits // 64))]
    return np.stack([p.astype(f"u{min(8, element_bits // 8)}") for p in parts], -1)


def require_true(plan, folder):
    """The compiled code does what the definition says, with the instructions and the wavefronts that the plan states."""
    text, cubin = nvrtc.compiled(kernel(plan))
    wanted = values(plan.dst, threads(plan), plan.element_bits)
    block = ptx.Block(threads(plan), values(plan.src, threads(plan), plan.element_bits), wanted.nbytes)
    assert block.run(text).tobytes() == wanted.tobytes(), plan
    assert block.wavefronts == plan.wavefronts, plan
    found = nvrtc.opcodes(cubin, folder)
    counts = {name: sum(n for op, n in found.items() if op.split(".")[0] in ops) for name, ops in COUNTED.items()}
    assert counts == {"shuffles": plan.shuffles, "memory": plan.instructions - plan.shuffles, "local": 0}, (counts, plan)


COUNTED = {"shuffles": ["SHFL"], "memory": ["LDS", "STS"], "local": ["LDL", "STL"]}


def small(plan):
    return max(registers(plan.src), registers(plan.dst)) * max(32, plan.element_bits) <= 32 * MOST_WORDS


def plans(rng, count):
    kinds = {"registers": 0, "shuffles": 0, "shared memory": 0}
    while sum(kinds.values()) < count:
        src, dst = usual(rng) if rng.random() < 0.7 else pair(rng, spread=rng.random() < 0.4)
        plan = convert(src, dst, rng.choice([8, 16, 32, 64]))
        if small(plan) and kinds[plan.kind] <= count // 2:
            kinds[plan.kind] += 1
            yield plan


def test_the_machine_code_is_the_plan(tmp_path):
    for plan in plans(random.Random(41), amount(12, 500)):
        require_true(plan, tmp_path)


def test_an_epilogue_takes_what_it_states(tmp_path):
    """An accumulator of 128 by 64 halves to rows of 16 bytes: it took 2,048 wavefronts for 256."""
    acc = triton.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]).linear([128, 64])
    plan = convert(acc, triton.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]).linear([128, 64]), 16)
    assert (plan.wavefronts, plan.instructions) == (256, 16)
    require_true(plan, tmp_path)


@pytest.mark.parametrize(
    ("layout", "vector", "element_bits"),
    [
        ("Sw<2,0,4> o 0 o (_32,_16):(_16,_1)", 4, 16),  # lanes have the values of a vector in other orders
        ("Sw<3,0,4> o 0 o (_32,_16):(_16,_1)", 8, 8),
        ("Sw<1,0,4> o 0 o (_32,_16):(_16,_1)", 2, 64),
        ("(_32,_16):(_20,_1)", 4, 32),  # padding: a sum of what thread and register say
        ("(_32,_16):(_17,_1)", 1, 16),
    ],
)
def test_memory_as_it_is_given(tmp_path, layout, vector, element_bits):
    last, warp = ((0, 4), (16, 0)) if vector == 8 else ((16, 0), (0, 4))  # vectors that lie together are joined by the compiler
    owners = LinearLayout(
        {"register": [(0, 1), (0, 2), last], "lane": [(1, 0), (2, 0), (4, 0), (8, 0), (0, 8)], "warp": [warp]}, {"dim0": 32, "dim1": 16}
    )
    memory = parse(layout)
    found = access(owners, memory, element_bits, vector * element_bits)
    plan = convert(owners, owners, element_bits)
    steps = Store(memory, vector), Load(memory, vector)
    size = 32 * 20 * element_bits // 8
    counts = {"wavefronts": 2 * found.total, "instructions": found.instructions}  # of two warps, to and fro
    require_true(replace(plan, kind="shared memory", steps=steps, bytes=size, shuffles=0, **counts), tmp_path)


def test_wide_values(tmp_path):
    src, dst = pair(random.Random(5), spread=False)
    plan = convert(src, dst, 128)
    assert plan.shuffles % 4 == 0
    require_true(plan, tmp_path)
