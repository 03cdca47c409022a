"""Conversions run on warps of numpy: each element arrives, in no more rounds than there are registers."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tla import TlaError, parse
from tla.access import Load, Move, Shuffle, Store, convert
from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma
from tla.linear import LinearLayout, bits, linear, triton

from conversions import held, pair, registers, usual
from night import amount


def published(src, dst, element_bits):
    """Rounds by the formula of Linear Layouts, section 5: 2^(registers - V), V what both hold together in 32 bits."""
    a, b = ([x.pack(v) for v in x.bases["register"]] for x in (src, dst))
    together = bits.rank(a) + bits.rank(b) - bits.rank([*a, *b])
    rounds = 1 << max(bits.rank(a), bits.rank(b)) - min(together, {8: 2, 16: 1}.get(element_bits, 0))
    return rounds * -(-element_bits // 32)


def test_each_element_arrives():
    rng, kinds = random.Random(21), set()
    for k in range(amount(150, 2000)):
        src, dst = pair(rng, spread=k % 3 == 0)
        plan = convert(src, dst, rng.choice([8, 16, 32, 64]), through="shuffle")
        assert plan.shuffles <= published(src, dst, plan.element_bits)
        kinds.add(plan.kind)
        assert np.array_equal(plan.run(held(src)), held(dst)), (src, dst)
        if k % 3:
            assert plan.shuffles <= dst.get_in_dim_size("register") * -(-plan.element_bits // 32)
    assert {"shuffles", "registers"} <= kinds


def test_what_every_lane_holds_stays_where_it_is():
    """Lanes that hold the same need no shuffle: 128 were planned for a tile that eight lanes hold four times, from
    itself to itself."""
    rng = random.Random(26)
    for _ in range(amount(40, 1000)):
        src, _ = pair(rng, spread=True)
        order = rng.sample(src.bases["register"], len(src.bases["register"]))
        dst = LinearLayout({**src.bases, "register": order}, src.out_dims)
        plan = convert(src, dst, rng.choice([8, 16, 32, 64]))
        assert plan.kind == "registers", (src, dst)
        assert np.array_equal(plan.run(held(src)), held(dst))
    eight = LinearLayout({"register": [(1,), (2,)], "lane": [(4,), (8,), (16,), (0,), (0,)], "warp": []}, {"dim0": 32})
    assert convert(eight, eight).kind == "registers"


def test_a_lane_keeps_what_it_holds():
    """Two lanes that each need what both hold send half of it, as Triton's code does."""
    lanes = [(1,), (2,), (4,), (8,)]
    src = LinearLayout({"register": [(32,)], "lane": [*lanes, (16,)], "warp": []}, {"dim0": 64})
    dst = LinearLayout({"register": [(16,), (32,)], "lane": [*lanes, (0,)], "warp": []}, {"dim0": 64})
    plan = convert(src, dst, 32, "sm_90", "shuffle")
    assert plan.shuffles == 2
    assert np.array_equal(plan.run(held(src)), held(dst))


def test_registers_that_hold_the_same_behind_shuffles():
    """Two lanes want other words of one lane, and keep them in two registers each: Triton 3.9 shuffles it."""
    src = LinearLayout(
        {"register": [(2, 0)], "lane": [(1, 0), (0, 1), (0, 2), (0, 4), (0, 8)], "warp": [(0, 0)]},
        {"dim0": 4, "dim1": 16},
    )
    dst = LinearLayout(
        {"register": [(0, 0)], "lane": [(1, 0), (2, 0), (0, 1), (0, 2), (0, 4)], "warp": [(0, 8)]},
        {"dim0": 4, "dim1": 16},
    )
    plan = convert(src, dst, 64, through="shuffle")
    assert plan.shuffles == 4
    assert np.array_equal(plan.run(held(src)), held(dst))


def test_through_shared_memory():
    rng = random.Random(22)
    for _ in range(amount(12, 300)):
        n = rng.randrange(6, 9)
        columns = [[1 << k for k in rng.sample(range(n), n)] for _ in range(2)]
        src, dst = (
            LinearLayout(
                {"register": [(c,) for c in cs[6:]], "lane": [(c,) for c in cs[:5]], "warp": [(cs[5],)]},
                {"dim0": 1 << n},
            )
            for cs in columns
        )
        plan = convert(src, dst)
        assert np.array_equal(plan.run(held(src)), held(dst))
        if plan.kind == "shared memory":
            assert plan.bytes == 4 << n
            assert plan.wavefronts >= 2 * (4 << n) // 128


def test_the_accumulator_is_the_next_operand():
    """triton #3370: registers only, for SM80 and for wgmma."""
    for version, shape in (([2, 0], [16, 8]), ([3, 0], [16, 16, 16])):
        acc = triton.NVMMADistributedLayout(version, [4, 1], shape)
        plan = convert(acc.linear([64, 16]), triton.DotOperandLayout(0, acc, 2).linear([64, 16]))
        assert plan.kind == "registers"
        assert isinstance(plan.steps[0], Move)


def test_a_round_is_what_shfl_can_do():
    """Each lane sends one register; who reads a lane wants that one."""
    rng = random.Random(23)
    for _ in range(40):
        src, dst = pair(rng, spread=False)
        for step in convert(src, dst, through="shuffle").steps:
            if isinstance(step, Shuffle):
                assert len(step.send) == len(step.source) == len(step.into) == src.get_in_dim_size("lane")
                assert all(0 <= s < len(step.send) for s in step.source)
                assert all(0 <= r < src.get_in_dim_size("register") for r in step.send)


def test_cuda():
    a = LinearLayout({"register": [(1,)], "lane": [(2,)]}, {"dim0": 4})
    b = LinearLayout({"register": [(2,)], "lane": [(1,)]}, {"dim0": 4})
    text = convert(a, b).cuda("swap")
    assert "void swap(const T* src, T* dst) {" in text
    assert text.count("__shfl_sync") == convert(a, b).shuffles
    warps = LinearLayout({"register": [], "lane": [(1,)], "warp": [(2,)]}, {"dim0": 4})
    turned = LinearLayout({"register": [], "lane": [(2,)], "warp": [(1,)]}, {"dim0": 4})
    text = convert(warps, turned).cuda()
    assert "__syncthreads();" in text
    assert "T* smem" in text


def test_the_cheaper_way():
    """No plan takes more cycles than the other way; both hold what they should; the reason has the numbers of both."""
    rng, kinds = random.Random(24), []
    for k in range(amount(14, 400)):
        src, dst = usual(rng) if k % 2 else pair(rng, spread=k % 3 == 0)
        if max(map(registers, (src, dst))) > 128:
            continue
        width, machine = rng.choice([8, 16, 32, 64]), rng.choice(["sm_90", "gfx1100"])
        plan, other = convert(src, dst, width, machine), convert(src, dst, width, machine, "memory")
        assert np.array_equal(other.run(held(other.src)), held(other.dst))
        assert other.kind == "shared memory"
        if plan.kind == "registers":
            assert (plan.cycles, plan.instructions) == (0, 0)
            continue
        assert plan.cycles <= other.cycles
        kinds.append(plan.kind)
        if plan.why == "values leave their warps":
            with pytest.raises(TlaError, match="values leave their warps"):
                convert(src, dst, width, machine, "shuffle")
        else:
            shuffles = convert(src, dst, width, machine, "shuffle")
            assert plan.cycles == min(shuffles.cycles, other.cycles)
            assert str(plan.cycles) in plan.why
    assert {*kinds} == {"shuffles", "shared memory"}


def test_bytes_that_lie_apart_go_through_memory():
    """A shuffle moves one byte of a word there, a store and a load all four."""
    acc = triton.NVMMADistributedLayout([2, 0], [4, 1], [16, 8]).linear([64, 16])
    rows = triton.BlockedLayout([2, 4], [8, 4], [4, 1], [1, 0]).linear([64, 16])
    plan = convert(acc, rows, 8)
    assert (plan.kind, plan.why) == (
        "shared memory",
        "24 cycles of NVIDIA_SHARED, predicted; shuffles and their selects take 32",
    )
    assert convert(acc, rows, 8, through="shuffle").cycles == 32


def test_rounds_through_a_smaller_buffer():
    rng, fewer = random.Random(25), 0
    for k in range(amount(14, 300)):
        src, dst = usual(rng) if k % 2 else pair(rng, spread=k % 4 == 0)
        if max(map(registers, (src, dst))) > 128:
            continue
        width = rng.choice([4, 8, 16, 32, 64])
        whole = convert(src, dst, width, through="memory")
        scratch = whole.bytes // rng.choice([1, 2, 3, 4, 8])
        try:
            plan = convert(src, dst, width, through="memory", scratch_bytes=scratch)
        except TlaError as refused:  # the fix works, and nothing smaller does
            least = int(str(refused).split()[-2])
            plan = convert(src, dst, width, through="memory", scratch_bytes=least)
            assert plan.bytes == least > scratch
            scratch = least
        assert plan.bytes <= scratch
        fewer += plan.bytes < whole.bytes
        assert len(plan.steps) == 2 or plan.bytes < whole.bytes
        assert np.array_equal(plan.run(held(plan.src)), held(plan.dst))
        stored = [
            r for step in plan.steps if isinstance(step, Store) for r in step.registers or range(registers(plan.src))
        ]
        assert sorted({*stored}) == sorted(stored)
    assert fewer > 2


def test_barriers():
    """A warp waits for itself where no value leaves it; in rounds for all, for one that is ahead writes to where
    another reads."""
    columns, lanes = [(1,), (2,), (4,)], [(8 << k,) for k in range(5)]
    for warps, whole, halves in (([], "__syncwarp", "__syncwarp"), ([(0,)], "__syncwarp", "__syncthreads")):
        a = LinearLayout({"register": columns, "lane": lanes, "warp": warps}, {"dim0": 256})
        b = LinearLayout({"register": columns[::-1], "lane": lanes, "warp": warps}, {"dim0": 256})
        for scratch, wanted, count in ((None, whole, 1), (512, halves, 3)):
            text = convert(a, b, 32, through="memory", scratch_bytes=scratch).cuda()
            assert text.count(wanted) == text.count("__sync") == count


def test_thread_value_layouts():
    """CuTe's layouts of threads go as the linear layouts that are split by hand; beside one onto coordinates, both are
    onto the index."""
    mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (4, 1))
    rows, tile = parse("((_2,_64),_4):((_256,_1),_64)"), {"dim0": 64, "dim1": 8}
    by_hand = [
        linear(x, ["lane", "register"], tile).reshape_ins({"lane": 32, "warp": 4, "register": 4})
        for x in (mma.C_TV, rows)
    ]
    wanted = held(by_hand[1].transpose_ins(["register", "lane", "warp"]))
    pairs = [(mma.C_TV, rows), (by_hand[0], rows), (mma.C_TV, by_hand[1]), by_hand]
    for src, dst in pairs:
        plan = convert(src, dst)
        assert (plan.kind, plan.shuffles) == ("shuffles", 4)
        assert np.array_equal(plan.run(held(plan.src)), wanted)
    with pytest.raises(TlaError, match="two modes, thread and value"):
        convert(parse("(2,4,8):(1,2,8)"), rows)
    assert convert(parse("(32,3):(3,1)"), parse("(32,3):(1,32)")).kind == "shared memory"  # over digits
    with pytest.raises(TlaError, match=r"as mma\.C_TV"):
        convert(triton.BlockedLayout([1, 1], [8, 4], [1, 1], [0, 1]), rows)


def test_a_plan_in_words():
    """Memory is one form to read, also where it is a chain of swizzles, or a part of a tile at a time."""
    acc = triton.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]).linear([128, 64])
    rows = triton.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]).linear([128, 64])
    plan = convert(acc, rows, 16)
    store = "store 128 bits at once, load 128 bits at once"
    counts = "16 instructions of each warp, 256 wavefronts of all"
    assert str(plan).splitlines()[:2] == ["shared memory: values leave their warps", f"{store}: {counts}"]
    assert str(plan).endswith(f"16384 bytes of memory: {plan.steps[0].layout}")
    half = (
        "store 128 bits at once, load 64 bits at once in 2 rounds: 24 instructions of each warp, 256 wavefronts of all"
    )
    assert half in str(convert(acc, rows, 16, scratch_bytes=8192))
    chain = parse("Sw<1,0,1> o 0 o Sw<1,1,1> o 0 o (4,8):(1,4)")
    assert str(replace(plan, steps=(Store(chain), Load(chain)))).endswith(": ((2,2),(2,4)):((F1,F3),(F7,F8))")


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda a: convert(a, LinearLayout({"lane": [(1,)]}, {"dim0": 2})), "layouts of one tile"),
        (lambda a: convert(a, LinearLayout({"lane": [(1,), (2,)]}, {"dim0": 4})), "as many"),
        (lambda a: convert(LinearLayout({"register": [(1,)], "lane": [(0,)]}, {"dim0": 4}), a), "nobody holds element"),
        (lambda a: convert(a, LinearLayout({"offset": [(1,)]}, {"dim0": 4})), "register, lane, warp"),
        (lambda a: convert(a, a.concat_ins(LinearLayout({"block": [(1,)]}, {"dim0": 4}))), "leave their block"),
        (lambda a: convert(a, a, through="smem"), "'shuffle', 'memory' or None"),
        (lambda a: convert(a, a, scratch_bytes=0), "1 or more"),
        (lambda a: convert(a, a, memory="gfx941"), "one of sm_70"),
        (lambda a: convert(a, a, through="memory", scratch_bytes=4), "8 at least"),
        (lambda a: convert(a, a).run(np.zeros((1, 2, 3))), "give one value for each"),
    ],
)
def test_bad_input(f, says):
    with pytest.raises(TlaError, match=says):
        f(LinearLayout({"register": [(1,)], "lane": [(2,)]}, {"dim0": 4}))


def test_warps_that_hold_more_than_they_need():
    """Values that all warps hold need no memory: each warp takes others of them, from other registers and lanes."""
    blocked, found = triton.BlockedLayout, []
    whole = blocked([1, 16], [32, 1], [1, 2], [1, 0]).linear([128, 16])  # both warps hold all
    for wanted in (
        blocked([1, 16], [32, 1], [2, 1], [1, 0]),  # other registers of each warp: selects alone
        blocked([1, 8], [32, 1], [1, 2], [1, 0]),
        blocked([1, 4], [16, 2], [2, 1], [1, 0]),  # two lanes want other words of one lane: twice as many shuffles
    ):
        for width in (8, 16, 32, 64):
            plan = convert(whole, wanted.linear([128, 16]), width)
            assert np.array_equal(plan.run(held(plan.src)), held(plan.dst))
            found.append((plan.kind, plan.shuffles, plan.alone))
    assert found[:4] == found[4:8] == [("shuffles", 0, True)] * 4
    assert found[8:] == [("shuffles", n, True) for n in (16, 32, 64, 128)]  # Triton 3.9 has 64 shfl of 32 bits


def warps_hold(src, dst):
    """Whether each warp has before all that it has after."""
    warps = src.get_in_dim_size("warp")
    before, after = (held(x).reshape(warps, -1) for x in (src, dst))
    return all({*a} >= {*b} for a, b in zip(before, after))


def test_lanes_that_need_many_words_of_one():
    """Every warp holds all; of eight lanes each wants other words of the same lane."""
    tile = {"dim0": 64, "dim1": 64}
    columns, rows = ([(0, 1 << k) for k in range(6)], [(1 << k, 0) for k in range(6)])
    src = LinearLayout({"register": [rows[0], *columns], "lane": rows[1:], "warp": [(0, 0), (0, 0)]}, tile)
    register, lane = [columns[0], rows[3], *columns[3:]], [*columns[1:3], *rows[:3]]
    dst = LinearLayout({"register": register, "lane": lane, "warp": rows[4:]}, tile)
    assert warps_hold(src, dst)
    with pytest.raises(TlaError, match="lanes need many words of one lane at once"):
        convert(src, dst, 16, through="shuffle")
    plan = convert(src, dst, 16)
    assert (plan.kind, plan.why) == ("shared memory", "lanes need many words of one lane at once")
    assert np.array_equal(plan.run(held(plan.src)), held(plan.dst))


def test_random_warps_that_hold_more():
    rng, seen = random.Random(51), Counter()
    while seen["turned"] < amount(6, 300):
        wave = rng.choice([32, 64])
        src, dst = usual(rng, wave)
        if src.bases["warp"] == dst.bases["warp"]:
            continue
        try:
            plan = convert(src, dst, rng.choice([8, 16, 32, 64]), "sm_90" if wave == 32 else "gfx942", "shuffle")
        except TlaError as error:
            seen["refused"] += 1
            assert ("values leave their warps" in str(error)) != warps_hold(src, dst), error
            continue
        seen["turned"] += 1
        assert np.array_equal(plan.run(held(plan.src)), held(plan.dst)), plan
    assert seen["refused"] > seen["turned"] // 4


def test_registers_that_are_not_sent_are_not_exchanged():
    """Of a source that has each value in four registers two words are selected, not eight: shuffles are the cheaper
    way, as Triton's."""
    lanes = ([(0, 0), (0, 0), (1, 0), (2, 0), (4, 0)], [(0, 1), (0, 0), (0, 0), (0, 0), (1, 0)])
    out = {"dim0": 8, "dim1": 2}
    src = LinearLayout({"register": [(0, 1), (0, 0), (0, 0)], "lane": lanes[0], "warp": [(0, 0), (0, 0)]}, out)
    dst = LinearLayout({"register": [(4, 0)], "lane": lanes[1], "warp": [(0, 0), (2, 0)]}, out)
    plan = convert(src, dst, 16, "sm_80")
    assert (plan.kind, plan.shuffles, plan.cycles) == ("shuffles", 2, 8)
    assert np.array_equal(plan.run(held(src)), held(dst))
    assert plan.cuda().count("exchange(") == 2  # one pair before, one behind
