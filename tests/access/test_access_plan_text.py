"""Conversions as text: the CUDA compiled as C++ and run thread by thread, by nvcc where there is one; Gluon's
by its layouts."""

import dataclasses
import functools
import itertools
import random
import re
from collections import Counter

import numpy as np
import pytest

from tla import TlaError, parse
from tla.access import Load, Store, convert
from tla.linear import LinearLayout, triton

import compiled
from conversions import held, lanes_turned, moved_plan, pair, threads, usual
from night import some

#: A warp in C++: each thread runs from the start to the first shuffle or barrier that not all have reached,
#: until none is left.
WARP = """
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>
struct Stop {};
static unsigned thread_, step_, pass_;
static std::vector<std::vector<unsigned>> sent_;
struct ThreadIdx { operator unsigned() const { return thread_; } };
static struct { ThreadIdx x; } threadIdx;
#define __device__
#define __forceinline__ inline
[[maybe_unused]] static unsigned __popc(unsigned x) { return __builtin_popcount(x); }
[[maybe_unused]] static unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
    uint64_t both = a | uint64_t(b) << 32;
    unsigned out = 0;
    for (int k = 0; k < 4; ++k) out |= unsigned(both >> 8 * (which >> 4 * k & 7) & 255) << 8 * k;
    return out;
}
using std::memcpy;
#define address_space(n)
#define __builtin_amdgcn_fence(...) (void)0
[[maybe_unused]] static unsigned __builtin_amdgcn_perm(unsigned a, unsigned b, unsigned which) {  // ISA manual: the bytes of b are 0 to 3
    uint64_t both = b | uint64_t(a) << 32;
    unsigned out = 0;
    for (int k = 0; k < 4; ++k) out |= unsigned(both >> 8 * (which >> 8 * k & 7) & 255) << 8 * k;
    return out;
}
[[maybe_unused]] static int __builtin_amdgcn_ds_bpermute(int address, int value) {  // waves of 64 lanes
    unsigned k = step_++;
    if (k == pass_) { sent_[k][thread_] = value; throw Stop(); }
    return sent_[k][(thread_ & ~63u) | (address >> 2 & 63)];
}
[[maybe_unused]] static unsigned read_(unsigned value, unsigned lane) {  // of 64 lanes
    unsigned k = step_++;
    if (k == pass_) { sent_[k][thread_] = value; throw Stop(); }
    return sent_[k][(thread_ & ~63u) | lane];
}
[[maybe_unused]] static int __builtin_amdgcn_mov_dpp(int value, int control, int, int, bool) {  // ISA manual: dpp_ctrl
    unsigned lane = thread_ & 63, row = lane & ~15u, at = lane & 15;
    if (control < 0x100) return read_(value, (lane & ~3u) | (control >> 2 * (lane & 3) & 3));
    if (control == 0x128) return read_(value, row | ((at + 16 - 8) & 15));
    if (control == 0x140) return read_(value, row | (15 - at));
    if (control == 0x141) return read_(value, row | (at & 8) | (7 - (at & 7)));
    return control < 0x160 || control > 0x16f ? (abort(), 0) : read_(value, row | (at ^ (control & 15)));
}
[[maybe_unused]] static unsigned __builtin_amdgcn_permlane16(unsigned, unsigned value, unsigned low, unsigned high, bool, bool) {
    unsigned lane = thread_ & 63, at = lane & 15;
    return read_(value, (lane & ~15u) | ((at < 8 ? low : high) >> 4 * (at & 7) & 15));
}
[[maybe_unused]] static unsigned __builtin_amdgcn_permlanex16(unsigned, unsigned value, unsigned low, unsigned high, bool, bool) {
    unsigned lane = thread_ & 63, at = lane & 15;
    return read_(value, ((lane & ~15u) ^ 16) | ((at < 8 ? low : high) >> 4 * (at & 7) & 15));
}
[[maybe_unused]] static unsigned __shfl_sync(unsigned, unsigned value, int source, int width = 32) {
    unsigned k = step_++;
    if (k == pass_) { sent_[k][thread_] = value; throw Stop(); }
    return sent_[k][(thread_ & ~(width - 1)) | (source & (width - 1))];
}
static void __syncthreads() { if (step_++ == pass_) throw Stop(); }
[[maybe_unused]] static void __syncwarp() { __syncthreads(); }
[[maybe_unused]] static void __builtin_amdgcn_wave_barrier() { __syncthreads(); }
template <class F> static void run(unsigned threads, F f) {
    sent_.clear();
    for (pass_ = 0;; ++pass_) {
        sent_.emplace_back(threads);
        bool stopped = false;
        for (thread_ = 0; thread_ < threads; ++thread_) {
            step_ = 0;
            try { f(thread_); } catch (Stop) { stopped = true; }
        }
        if (!stopped) return;
    }
}
"""
TYPES = {8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t"}


@functools.cache
def plans():
    """Conversions of all three kinds, of all widths, with copies and without; accumulators and blocks of Triton's."""
    rng, found = random.Random(31), []
    while len(found) < 24:
        src, dst = pair(rng, spread=len(found) % 4 == 0)
        found.append(
            convert(src, dst, rng.choice([8, 16, 32, 64]), through=rng.choice(["shuffle", "shuffle", None, "memory"]))
        )
    acc = triton.NVMMADistributedLayout([2, 0], [2, 1], [16, 8]).linear([32, 16])
    rows = triton.BlockedLayout([2, 4], [8, 4], [2, 1], [1, 0]).linear([32, 16])
    columns = triton.BlockedLayout([4, 1], [8, 4], [1, 2], [0, 1]).linear([32, 16])
    found += [convert(acc, rows, 16), convert(acc, rows, 32), through := convert(rows, columns, 32)]
    padded = parse("(_32,_16):(_17,_1)")
    return [*found, dataclasses.replace(through, steps=(Store(padded), Load(padded)), bytes=4 * 17 * 32)]


def on_the_host(text):
    """Accesses of shared memory by PTX as copies of so many words, at a place that is a multiple of their size."""
    for op, ends in (("st", "smem + at, v"), ("ld", "v, smem + at")):
        for count in (2, 4):
            copy = f"uintptr_t(smem + at) % {4 * count} ? abort() : (void)memcpy({ends}, {4 * count});"
            text = re.sub(rf'asm volatile\("{op}\.shared\.v{count}.*\);', copy, text)
    assert "asm" not in text
    return text


def program(texts):
    """One function of C++ for each plan and the text of its function `f`."""
    text = WARP
    for k, (plan, function) in enumerate(texts):
        kind, smem = TYPES[plan.element_bits], bool(plan.bytes)
        sizes = plan.src.get_in_dim_size("register"), plan.dst.get_in_dim_size("register")
        text += f"namespace n{k} {{\n{on_the_host(function)}\n}}\n"
        text += f'extern "C" void call{k}(const {kind}* src, {kind}* dst{f", {kind}* smem" if smem else ""}) {{\n'
        memory = ", smem" if smem else ""
        text += f"    run({threads(plan)}, [&](unsigned t) {{ n{k}::f(src + t * {sizes[0]}, dst + t * {sizes[1]}{memory}); }});\n}}\n"
    return text


@functools.cache
def waves():
    """Conversions of waves of 64 lanes."""
    rng = random.Random(32)
    pairs = [pair(rng, spread=k % 3 == 0, most_lanes=6) for k in range(6)] + [usual(rng, wave=64) for _ in range(6)]
    return [convert(src, dst, rng.choice([8, 16, 32, 64]), "gfx942") for src, dst in pairs]


@functools.cache
def moved():
    """Conversions of waves of 64 and of 32 lanes all of whose words that can go by DPP or permlane do."""
    rng = random.Random(33)
    both = [moved_plan(rng, arch, wave) for arch, wave in (("gfx942", 64), ("gfx1100", 32)) for _ in range(6)]
    return [*both, *(convert(*lanes_turned(mask), 32, "gfx1100") for mask in (1, 4, 11, 16, 21))]


@pytest.mark.once
@pytest.mark.parametrize("language", some(["cuda", "hip"], 2))
def test_run_thread_by_thread(tmp_path, language):
    chosen = [*plans(), *((waves() + moved()) if language == "hip" else [])]
    assert {plan.kind for plan in chosen} == {"registers", "shuffles", "shared memory"}
    texts = [(plan, getattr(plan, language)("f")) for plan in chosen]
    library = compiled.build(tmp_path, program(texts), "-Wno-unknown-pragmas", language="c++")
    rng = np.random.default_rng(1)
    for k, plan in enumerate(chosen):
        kind = np.dtype(f"uint{plan.element_bits}")
        elements = rng.integers(0, np.iinfo(kind).max, held(plan.src).max() + 1, kind, endpoint=True)
        given, wanted = elements[held(plan.src)], elements[held(plan.dst)]
        assert np.array_equal(plan.run(given), wanted)
        found, memory = np.zeros_like(wanted), compiled.aligned(plan.bytes, np.uint8)
        buffers = [given, found, memory][: 3 if plan.bytes else 2]
        getattr(library, f"call{k}")(*map(compiled.pointer, buffers))
        assert np.array_equal(found, wanted), plan


@pytest.mark.once
def test_gluon():
    """The layouts that the text names are the plan's; test_access_gluon.py compiles such texts."""
    kinds, rng = Counter(), random.Random(7)
    lanes = [
        LinearLayout({"register": [], "lane": [(n,) for n in order], "warp": []}, {"dim0": 32})
        for order in ((1, 2, 4, 8, 16), (4, 2, 1, 8, 16))
    ]
    others = (convert(*usual(rng), 32) for _ in range(24))
    for plan in [*plans()[:-1], *others, convert(*lanes), convert(lanes[1], lanes[1])]:
        try:
            text = plan.gluon("f")
        except TlaError:
            kinds["refused"] += 1
            continue
        kinds[plan.kind] += 1
        register, lane, warp, block, shape = eval(
            re.search(r"DistributedLinearLayout\((.*)\)", text)[1]
        )  # our own text
        found = triton.DistributedLinearLayout(register, lane, warp, block, shape).linear(shape)
        assert {d: found.bases[d] for d in ("register", "lane", "warp")} == plan.dst.bases
        if plan.kind != "shared memory":
            assert text.endswith("return gl.convert_layout(x, layout)")
            continue
        memory = (
            triton.SharedLinearLayout(eval(re.search(r"SharedLinearLayout\((.*)\)", text)[1])).linear(shape).invert()
        )
        points = some(itertools.product(*map(range, shape)), 7)
        assert all(memory.apply(dict(zip(("dim0", "dim1"), p)))["offset"] == plan.steps[0].layout(*p) for p in points)
    assert min(kinds[k] for k in ("registers", "shuffles", "shared memory", "refused")) > 0, kinds


def test_bad_input():
    wide = LinearLayout({"register": [(64,)], "lane": [(1 << k,) for k in range(6)]}, {"dim0": 128})
    other = LinearLayout({"register": [(32,)], "lane": [(1 << k,) for k in (0, 1, 2, 3, 4, 6)]}, {"dim0": 128})
    with pytest.raises(TlaError, match="32 at most"):
        convert(wide, other, memory="AMD_LDS_GFX942_READ").cuda()
    rows, columns = (triton.BlockedLayout([1, 1], [8, 4], [1, 1], order).linear([64, 16]) for order in ([1, 0], [0, 1]))
    halves = convert(rows, columns, 16, through="memory", scratch_bytes=1024)
    with pytest.raises(TlaError, match="leave out scratch_bytes"):
        halves.gluon()
    with pytest.raises(TlaError, match="1 or more"):
        convert(wide, other, 0)
    for name in ("f()", "", "def", "ä"):
        with pytest.raises(TlaError, match="a name of a function"):
            convert(wide, wide, memory="AMD_LDS_GFX942_READ").gluon(name)
    with pytest.raises(TlaError, match="swizzles"):
        plans()[-1].gluon()
