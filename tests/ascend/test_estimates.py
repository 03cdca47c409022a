"""Estimates of blocks: against the longest path through a core's statements, with costs told anew; and the choice of
tiles, against all."""

import collections
import itertools
import random
from dataclasses import replace

import pytest

from tla.ascend import (
    Ascend950,
    AtlasA2,
    ColumnMajor,
    GemmIdentityBlockSwizzle,
    Rates,
    RowMajor,
    Schedule,
    SplitkGemmIdentityBlockSwizzle,
    block,
    float32,
    fp8_e4m3,
    fp8_e5m2,
    half,
    int8,
    int32,
    nZ,
    plan,
    zN,
)
from tla.ascend.programs import Compute, Multiply, Part, PipeBarrier, SetFlag, WaitFlag, estimate, planning
from tla.ascend.programs.behind import besides
from tla.ascend.programs.estimate import Clock
from tla.core.errors import LeafTypeError, RangeError

from night import amount, some

OF_VECTOR_CORES = tuple(f"AIV{core}.{pipe}" for core in (0, 1) for pipe in ("MTE2", "V", "MTE3"))
PIPES = ("MTE1", "MTE2", "M", "FIX", "V", "MTE3", *OF_VECTOR_CORES)
CUBE = PIPES[:4]
KINDS = (
    {},
    {"a": (half, ColumnMajor)},
    {"b": (half, ColumnMajor), "c": float32},
    {"a": int8, "b": (int8, nZ), "c": int32},
    {"a": float32, "b": float32, "c": float32},
    {"unit_flag": True},
    {"bias": True, "c": float32},
    {"stages": 1},
    {"stages": 3, "b": (half, zN)},
)
#: Blocks with more than matrices in them: each with what it is given besides, the architecture first.
MORE = {
    "channels": (AtlasA2, {"a": int8, "b": (int8, ColumnMajor), "quant": "PER_CHANNEL"}),
    "channels on Ascend950": (Ascend950, {"a": int8, "b": int8, "quant": "PER_CHANNEL", "bias": True}),
    "sparse": (AtlasA2, {"a": int8, "b": (int8, ColumnMajor), "c": int32, "sparse": True}),
    "scales": (Ascend950, {"a": fp8_e4m3, "b": (fp8_e5m2, ColumnMajor), "c": float32, "scales": True}),
    "scales, turned": (Ascend950, {"a": (fp8_e4m3, ColumnMajor), "b": fp8_e5m2, "c": float32, "scales": True}),
    **{way: (Ascend950, {"c": float32, "split": way}) for way in ("NO_SPLIT", "SPLIT_M", "SPLIT_N")},
    "two of UB": (Ascend950, {"c": float32, "split": "SPLIT_M", "stages": {"UB": 2}, "unit_flag": False}),
    "GELU of a workspace": (AtlasA2, {"c": float32, "d": half, "activation": "gelu", "ub": (16, 32)}),
    "SiLU of scaled columns": (AtlasA2, {"a": int8, "b": int8, "quant": "PER_CHANNEL", "activation": "silu"}),
    "sigmoid over UB": (Ascend950, {"c": float32, "split": "SPLIT_N", "activation": "sigmoid", "ub": (8, 64)}),
    "ReLU of a workspace on Ascend950": (Ascend950, {"activation": "relu", "bias": True}),
    "slices": (
        AtlasA2,
        {"c": float32, "splitkFactor": 2, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0]},
    ),
}


def packages(length):
    """The packages of a run, one by one."""
    count = 0
    while length > 0:
        part = next((p for p in (512, 256, 128) if length >= p), length)
        count, length = count + 1, length - part
    return count


def cost(s, program=None):
    """The pipe and the cycles of a transfer, a product or a computation, from the fields."""
    if isinstance(s, Multiply):
        p, left = s.instruction.parameters, s.instruction.elements[1]
        deep = -(-p["k"] * left.bits // (512 if s.instruction.sparse else 256))
        return "M", -(-p["m"] // 16) * -(-p["n"] // 16) * deep * (2 if left.bits == 32 else 1)
    if s.what.startswith("zeros behind"):
        return "MTE2", sum(-(-p["repeatTimes"] * p["blockNum"] * 32 // 128) for p in (x.parameters for x in s.body))
    if isinstance(s.body[0], Compute):
        core = s.body[0].operands[0][2]
        return f"AIV{core}.V" if core.isdigit() else "V", sum(banked(x, program) for x in s.body)
    moves = [m.instruction for m in s.body]
    if s.what.endswith(("to L1", "to UB")) and not s.src.startswith("l0C"):
        pipe = f"AIV{s.dst[2]}.MTE2" if s.src == "C" else "MTE2"
        return pipe, 210 + sum(runs * packages(length) * 4 for runs, length in map(read, moves))
    if s.src.startswith("ub"):
        pipe = f"AIV{s.src[2]}.MTE3" if s.src[2].isdigit() else "MTE3"
        return pipe, sum(-(-len(written(i)) * i.element.bits // 8 // 128) for i in moves)
    if s.what in ("C to GM", "C to UB"):
        fields = [(i.parameters["mSize"] * i.parameters["nSize"], i.element.bits // 8) for i in moves]
        return "FIX", sum(-(-n * 4 // 256) + -(-n * size // 128) for n, size in fields)
    wide = 256 if s.what.split("scales of ")[-1].startswith("A") else 128
    bits = [i.element.bits + 2 * (s.dst.startswith("l0B") and bool(m.beside)) for i, m in zip(moves, s.body)]
    return ("FIX" if s.dst == "fb" else "MTE1"), 26 + sum(
        -(-len(written(i)) * b // 8 // wide) for i, b in zip(moves, bits)
    )


def banked(s, program):
    """The cycles of a computation: in each repeat the blocks of 32 bytes that one of 16 banks reads, or one of as many
    groups of banks writes, of 8 on Ascend950, at most."""
    total, groups = 0, 16 if program is None or "AtlasA" in program.arch.name else 8
    for i in s.instructions:
        p, count = i.parameters, len(i.elements) - 1
        sides = ("dst", *(["src0", "src1"] if "src0BlkStride" in p else ["src"]), "dst")[: count + 1]
        for r in range(p["repeatTimes"]):
            taken = [set(), set()]
            for number, (side, at, name, e) in enumerate(zip(sides, i.places, s.operands, i.elements)):
                begin = at * e.bits // 256 + (0 if program is None else program.buffers[name].address // 32)
                steps = p[f"{side}BlkStride"], p[f"{side}RepStride"]
                own = range(-(-p["mask"] * e.bits // 256))
                taken[number > 0] |= {begin + j * steps[0] + r * steps[1] for j in own}
            ends = (collections.Counter(b % n for b in own) for own, n in zip(taken, (groups, 16)))
            total += max(max(x.values(), default=1) for x in ends)
    return total


def read(i):
    """The runs that an instruction reads, and their length [bytes]: all of its places, sorted."""
    places = sorted(places_of(i.moved.src))
    runs = 1 + sum(b != a + 1 for a, b in itertools.pairwise(places))
    return runs, len(places) * i.element.bits // 8 // runs


def written(i):
    return places_of(i.moved.dst)


def places_of(layout):
    sizes = [int(n) for n in layout.origin_shape]
    coords = [()]
    for n in sizes:
        coords = [(*c, i) for c in coords for i in range(n)]
    return [int(layout(*c)) for c in coords]


def longest_path(statements, program=None):
    """When the last statement is done: ends are raised until none is before what it waits for."""
    nodes, last, sets, waits, everything = [], dict.fromkeys(PIPES), {}, {}, None
    for s in statements:
        before = []
        if isinstance(s, (SetFlag, WaitFlag)):
            pipe = s.event.split("_")[isinstance(s, WaitFlag)]
            queue = sets if isinstance(s, SetFlag) else waits
            number = len(queue.setdefault((s.event, s.id), []))
            queue[s.event, s.id].append(len(nodes))
            own, flag = 0, (s.event, s.id, number) if isinstance(s, WaitFlag) else None
        elif isinstance(s, PipeBarrier) and s.pipe == "ALL":
            before += [last[pipe] for pipe in CUBE if last[pipe] is not None]
            nodes.append((0, before, None))
            everything, last = len(nodes) - 1, {**last, **dict.fromkeys(CUBE)}
            continue
        elif isinstance(s, Multiply) or (isinstance(s, Part) and s.body):
            (pipe, own), flag = cost(s, program), None
        else:
            continue
        if last.get(pipe) is not None:
            before.append(last[pipe])
        elif everything is not None and pipe in CUBE:
            before.append(everything)
        last[pipe] = len(nodes)
        nodes.append((own, before, flag))
    ends = [0] * len(nodes)
    moved = True
    while moved:
        moved = False
        for n, (own, before, flag) in enumerate(nodes):
            waited = [*before, *([sets[flag[:2]][flag[2]]] if flag else [])]
            end = own + max((ends[w] for w in waited), default=0)
            moved, ends[n] = moved or end != ends[n], end
    return max(ends)


@pytest.mark.parametrize("seed", range(amount(6, 60)))
def test_a_core_takes_its_longest_path(seed):
    rng = random.Random(seed)
    problem = tuple(rng.randint(1, 120) for _ in range(3))
    l0 = (rng.choice((32, 64)), rng.choice((32, 64)), 32)
    more = rng.choice([k for k in KINDS if "unit_flag" not in k])
    made = block(problem, (*l0[:2], 32 * rng.randint(1, 2)), l0, cores=rng.randint(1, 2), **more)
    ends = []
    for program in made.programs:
        ends.append(longest_path(program.body))
    found = made.estimate(Rates(gm=10**9, l2=10**9))
    assert found.cycles == max(ends)
    assert ends[found.core] == found.cycles
    assert made.timeline(found.core)[-1].end == found.cycles


FAST = Rates(gm=10**9, l2=10**9)


@pytest.mark.parametrize("way", MORE)
def test_what_a_block_has_besides_takes_its_time(way):
    """Scales, an index, halves over vector cores: the longest path, with each cost from the fields."""
    arch, more = MORE[way]
    for seed in range(amount(1, 20)):
        rng = random.Random(seed)
        problem = rng.randint(1, 150), rng.randint(1, 150), 8 * rng.randint(1, 25)
        made = block(problem, (64, 64, 128), (64, 64, 64), arch, cores=2, **more)
        ends = [longest_path(program.body, program) for program in made.programs]
        found = made.estimate(FAST)
        assert found.cycles == max(ends), problem
        assert max(s.end for s in made.timeline(found.core, FAST)) == found.cycles
        for core, blocks in enumerate(made.schedule.table):
            assert Clock(made.plan, FAST).cycles(blocks) == ends[core]


@pytest.mark.once
@pytest.mark.parametrize("way", ["PADDING_ND", "PADDING_NZ", "PADDING_BLOCK_ND"])
def test_vector_cores_that_lay_matrices_out_anew_go_before(way):
    """A block with padding= takes what its slowest vector core takes, and then what its slowest core takes."""
    rng = random.Random(way)
    for tags in itertools.product((RowMajor, ColumnMajor), repeat=amount(1, 2)):
        problem = tuple(rng.randint(1, amount(150, 400)) for _ in range(3))
        sides = {"a": (half, tags[0]), "b": (half, tags[-1])}
        made = block(problem, (64, 64, 128), (64, 64, 64), padding=dict.fromkeys("AB", way), cores=2, **sides)
        before = [longest_path(program.body) for program in made.paddings.programs]
        found = made.estimate(FAST)
        assert found.cycles == max(before) + max(longest_path(program.body) for program in made.programs)
        body = made.paddings.programs[before.index(max(before))].body
        busy = collections.Counter()
        for pipe, cycles in (cost(s) for s in body if isinstance(s, Part)):
            busy[pipe] += cycles
        assert dict(busy) == dict(found.vectors)
        assert [*found.vectors] == (["MTE2", "MTE3", "V"] if way == "PADDING_NZ" else ["MTE2", "MTE3"])
        assert sum((collections.Counter(t) for t in found.tiles), collections.Counter()) == busy
        assert all({*t} == {*found.vectors} for t in found.tiles)
        for name in found.vectors:
            assert f"{name} of vector cores {found.vectors[name]} " in str(found)


def test_memory_is_shared_by_what_is_laid_out_anew_too():
    shapes, way = ((512, 256, 512), (128, 128, 128), (128, 128, 64)), {"padding": {"A": "PADDING_ND"}}
    with_, without = (block(*shapes, cores=4, **more).estimate(Rates(gm=1)) for more in (way, {}))
    assert with_.memory["global memory"] - without.memory["global memory"] == 2 * 512 * 512 * 2
    assert with_.cycles - without.cycles == 2 * 512 * 512 * 2
    assert block(*shapes, cores=1, **way).estimate(Rates(load_start=10**5)).bound == "MTE2"
    assert block(*shapes, cores=20, **way).estimate(Rates(store=1)).rows["MTE3 of vector cores"] > 1000


@pytest.mark.parametrize("seed", range(amount(8, 80)))
def test_skipped_blocks_take_what_they_take_one_by_one(seed):
    rng = random.Random(seed)
    l0 = (rng.choice((16, 32)), rng.choice((16, 32)), 32) if seed % 3 else (32, 32, 32)
    more = KINDS[seed % len(KINDS)]
    unit = 32 if "a" in more and more["a"] == int8 else 16
    l0 = tuple(max(unit, n) for n in l0)
    made = block(
        (rng.randint(200, 420), rng.randint(90, 200), rng.randint(1, rng.choice((160, 1500)))),
        (*l0[:2], 64),
        l0,
        cores=rng.randint(1, 3),
        **more,
    )
    clock = Clock(made.plan, Rates(load=rng.choice((16, 128)), store=rng.choice((4, 128)), words=rng.randint(1, 5)))
    for blocks in made.schedule.table:
        assert clock.cycles(blocks) == max((s.end for s in clock.spans(blocks)), default=0)


@pytest.mark.parametrize(
    "more", [{}, {"unit_flag": True}, {"bias": True}, {"stages": {"L1": 1}}, {"stages": {"L1": 3}}]
)
def test_tiles_of_k_that_repeat_are_skipped_and_take_what_they_take(more, monkeypatch):
    made = block((32, 32, 64 * 900 + 7), (32, 32, 64), (32, 32, 32), cores=1, **more)
    (blocks,), taken = made.schedule.table, []
    last = made.timeline()[-1].end
    take = estimate._Pipes.take
    monkeypatch.setattr(estimate._Pipes, "take", lambda *x: taken.append(x) or take(*x))
    assert Clock(made.plan, Rates()).cycles(blocks) == last
    assert len(taken) < 300  # of 900 tiles with eight each


def test_pipes_and_steps_add_up():
    for more in KINDS:
        made = block((100, 90, 200), (64, 64, 64), (64, 64, 32), **more)
        found, spans = made.estimate(), made.timeline()
        assert {s.pipe for s in spans} == {*found.pipes} == {*CUBE}
        for pipe, busy in found.pipes.items():
            own = [s for s in spans if s.pipe == pipe]
            assert all(a.end <= b.begin for a, b in itertools.pairwise(own))
            assert (
                busy
                == sum(s.end - s.begin for s in own)
                == sum(step.get(pipe, 0) for step in found.steps)
                <= found.cycles
            )
        assert len(found.steps) == 2 * 2 * 4
        assert all({"MTE2", "MTE1", "M"} <= {*step} for step in found.steps)


def test_a_unit_flag_lets_stores_and_products_overlap():
    shapes = (256, 256, 128), (128, 128, 128), (128, 128, 64)
    with_, without = (block(*shapes, unit_flag=flag).estimate().cycles for flag in (True, False))
    assert with_ < without
    spans = block(*shapes, unit_flag=True).timeline()
    last = [s for s in spans if s.pipe == "M"]
    stores = [s for s in spans if s.pipe == "FIX"]
    assert stores[0].begin < last[1].end <= stores[0].end


def test_what_all_cores_share_bounds_the_kernel():
    shapes = (512, 512, 512), (128, 128, 128), (128, 128, 64)
    slow = block(*shapes, cores=16).estimate(Rates(gm=1))
    assert slow.bound == "global memory"
    assert slow.cycles == (512 * 512 * 2) * 3
    assert block(*shapes, cores=16).estimate(Rates(gm=10**6, l2=1)).bound == "L2"
    once, waves = (block(*shapes, cores=2).estimate(Rates(gm=1, l2_size=n)).memory["global memory"] for n in (2**30, 1))
    assert waves > once


def test_architectures_without_rates_and_bad_rates_are_refused():
    made = block((64, 64, 64), (64, 64, 64), (64, 64, 64), Ascend950)
    with pytest.raises(LeafTypeError, match=r"rates of Ascend950"):
        made.estimate()
    assert made.estimate(Rates()).cycles > 0
    with pytest.raises(LeafTypeError, match="rates=5"):
        made.estimate(5)
    for wrong in ({"gm": 0}, {"load": 1.5}, {"l2": True}, {"load_start": -1}):
        with pytest.raises(LeafTypeError, match="of Rates"):
            Rates(**wrong)
    with pytest.raises(RangeError, match="core 3 of 1"):
        made.timeline(3, Rates())


@pytest.mark.parametrize("seed", range(amount(3, 40)))
def test_least_costs_are_those_of_all_tiles_and_parts(seed):
    """Of every tile of k and its parts, one by one, whatever is left of them."""
    rng = random.Random(seed)
    made = block((64, 64, 64), (64, 64, 64), (64, 64, 64), **rng.choice(KINDS[:2])).plan
    for _ in range(20):
        k, part = rng.randint(1, 900), 16 * rng.randint(1, 8)
        tile = part * rng.randint(1, 6)
        cost = planning._Costs(made, Rates(words=3), (64, 64, k), (64, 64, tile), (64, 64, part))
        tiles = [min(tile, k - i) for i in range(0, k, tile)]
        parts = [min(part, t - i) for t in tiles for i in range(0, t, part)]
        c0, each = int(made.a.element.C0), 3 if made.a.element.bits == 32 else 1
        assert cost.tiles == collections.Counter(tiles)
        assert cost.starts == 2 * len(parts) * Rates().l0_start
        assert cost.deep == sum(-(-p // c0) for p in parts) * each
        assert cost.ends == (tiles[0], parts[0])
        assert cost.lasts == (-(-parts[-1] // c0) * each, -(-tiles[-1] // c0) * each)


def test_a_plan_goes_through_no_tile_of_k_twice():
    """Of a long k all tiles but a few are skipped: it is planned as soon as a short one."""
    found = plan((64, 64, 2**22), cores=1)
    assert found.estimate.cycles > 2**22 * 64 * 64 // 16**3
    assert found.block.plan.tiling.l0[2] * 10**6 >= 2**22
    with pytest.raises(RangeError, match=r"no tiling|products of a core"):
        plan((64, 64, 2**34), cores=1)


def test_a_plan_of_very_many_blocks_makes_none_of_them_one_by_one(monkeypatch):
    """Their sizes and what they read are counted: of a short k, where memory decides, for most of the tilings."""
    made = []
    one = Schedule.block
    monkeypatch.setattr(Schedule, "block", lambda *x: made.append(x) or one(*x))
    found = plan((2**12, 2**11, 32), cores=20)
    assert found.estimate.bound == "global memory"
    assert len(made) < 10 * found.block.schedule.tasks


def test_problems_too_large_to_go_through_are_refused():
    """By what they are, before anything is gone through."""
    deep = block((16, 16, 2**33), (16, 16, 512), (16, 16, 512))
    for predict in (deep.estimate, deep.timeline, lambda: plan((2**20, 2**20, 2**20)), lambda: plan((16, 16, 2**33))):
        with pytest.raises(RangeError, match=r"products of a core, one by one\n +expected +at most 1000000"):
            predict()
    assert block((16, 16, 2**33), (16, 16, 512), (16, 16, 512)).schedule.tasks == 1
    many = block((2**13, 2**13, 2**13), (128, 256, 256), (128, 256, 64), cores=20)
    assert many.estimate().bound == "M"


# ------------------------------------------------------------------------------------------------------------- plans


SOME_SWIZZLES = ((1, 0), (2, 1))


@pytest.mark.once
@pytest.mark.parametrize("seed", range(amount(1, 40)))
def test_no_tiling_of_the_space_takes_fewer_cycles(seed, monkeypatch):
    """All tilings are predicted, by each swizzle: none takes fewer than the chosen one, or than its own bound."""
    monkeypatch.setattr(planning, "SIZES", (32, 128))
    monkeypatch.setattr(planning, "SWIZZLES", SOME_SWIZZLES)
    rng = random.Random(seed)
    problem = tuple(rng.choice((rng.randint(1, 60), rng.randint(1, 300))) for _ in range(3))
    more = {k: v for k, v in rng.choice(KINDS).items() if k != "stages"}
    cores = rng.choice((1, 2, 5))
    found = plan(problem, cores=cores, **more)
    assert {t.unit_flag for t in found.tried} == ({True} if "unit_flag" in more else {False, True})
    for t in found.tried:
        told = {**more, "unit_flag": t.unit_flag, "stages": {"L1": 2, "L0A": 2, "L0B": 2, "L0C": t.stages}}
        cycles = {
            s: block(problem, t.l1, t.l0, cores=cores, swizzle=GemmIdentityBlockSwizzle[s], **told).estimate().cycles
            for s in SOME_SWIZZLES
        }
        assert t.cycles == cycles[t.swizzle] if t.exact else t.cycles <= min(cycles.values())
        assert found.estimate.cycles <= min(cycles.values())
    assert found.block.estimate() == found.estimate


#: What vector cores have behind a product: over a workspace, and over unified buffers.
BEHIND = {
    "GELU": (AtlasA2, {"c": float32, "d": half, "activation": "gelu"}),
    "ReLU of half": (AtlasA2, {"activation": "relu", "bias": True}),
    "sigmoid over halves of rows": (Ascend950, {"c": float32, "split": "SPLIT_M", "activation": "sigmoid"}),
    "tanh over halves of columns": (Ascend950, {"c": float32, "split": "SPLIT_N", "activation": "tanh", "d": half}),
    "SiLU to one": (Ascend950, {"split": "NO_SPLIT", "activation": "silu"}),
    "a slope": (
        AtlasA2,
        {"a": int8, "b": (int8, ColumnMajor), "quant": "PER_CHANNEL", "activation": ("leaky_relu", 0.1)},
    ),
}


@pytest.mark.once
@pytest.mark.parametrize("way", some(BEHIND, 3))
@pytest.mark.parametrize("seed", range(amount(1, 5)))
def test_no_tile_of_vector_cores_takes_fewer_cycles(way, seed, monkeypatch):
    """All tilings with all tiles of UB are predicted: none takes fewer than the chosen one, or than its own bound."""
    monkeypatch.setattr(planning, "SIZES", (32, 64))
    monkeypatch.setattr(planning, "SWIZZLES", SOME_SWIZZLES)
    (arch, more), rng = BEHIND[way], random.Random(f"{way} {seed}")
    sizes = amount((60, 60, 30), (150, 150, 70))
    problem = tuple(rng.choice((rng.randint(1, most // 4), rng.randint(1, most))) for most in sizes)
    rates, given = Rates(gm=rng.choice((850, 10**9))), {**more, "cores": rng.choice((1, 2, 5))}
    found, ways = plan(problem, arch, rates=rates, **given), 0
    for t in found.tried:
        stages = {"L1": 2, "L0A": 2, "L0B": 2, "L0C": t.stages}
        told = {**given, "unit_flag": t.unit_flag, "stages": stages}
        shape = replace(found.block.plan.tiling, l1=t.l1, l0=t.l0)
        cycles = {}
        for tile, s in itertools.product(besides(replace(found.block.plan, tiling=shape)), SOME_SWIZZLES):
            more_stages = {**stages, **({"UB": tile.stages} if tile.stages else {})}
            made = block(
                problem,
                t.l1,
                t.l0,
                arch,
                swizzle=GemmIdentityBlockSwizzle[s],
                **{**told, "ub": tile.ub, "stages": more_stages},
            )
            cycles[s, tile] = made.estimate(rates).cycles
        ways += len(cycles)
        assert t.cycles == cycles[t.swizzle, t.beside] if t.exact else t.cycles <= min(cycles.values())
        assert found.estimate.cycles <= min(cycles.values())
    assert ways > 2 * len(found.tried)
    assert found.block.estimate(rates) == found.estimate
    assert found.block.check(0).holds


#: The tiles in L1 and L0 that CATLASS's examples have, for types of 2 bytes, of 4, and of one.
TILES_OF_CATLASS = {
    half: (((128, 256, 256), (128, 256, 64)), ((256, 128, 256), (256, 128, 64)), ((128, 128, 256), (128, 128, 64))),
    float32: (((128, 128, 256), (128, 128, 64)), ((128, 256, 128), (128, 256, 32))),
    int8: (((128, 256, 512), (128, 256, 128)), ((256, 128, 512), (256, 128, 128))),
}


@pytest.mark.parametrize("seed", range(amount(3, 100)))
def test_no_tiling_of_catlass_takes_fewer_cycles(seed):
    """With and without unit flags, by each of its swizzles; and what is chosen is right."""
    rng = random.Random(f"catlass {seed}")
    problem = tuple(rng.choice((rng.randint(1, 500), 128 * rng.randint(1, 4))) for _ in range(3))
    kinds = (half, half, half), (half, half, float32), (float32,) * 3, (int8, (int8, ColumnMajor), int32)
    a, b, c = kinds[seed % len(kinds)]
    cores, types = rng.choice((2, 5, 20, 24)), {"a": a, "b": b, "c": c, "bias": a != float32 and rng.random() < 0.3}
    found = plan(problem, cores=cores, **types)
    for l1, l0 in TILES_OF_CATLASS[a]:
        for flag, direction in itertools.product((False, True), (0, 1)):
            how = GemmIdentityBlockSwizzle[3, direction]
            theirs = block(problem, l1, l0, cores=cores, unit_flag=flag, swizzle=how, **types).estimate()
            assert found.estimate.cycles <= theirs.cycles, (problem, types, l1, flag, direction)
    assert found.block.check(rng.randrange(cores)).holds


@pytest.mark.parametrize(
    ("more", "flags"), [({}, "without unit flags or with unit flags"), ({"unit_flag": False}, "without")]
)
def test_the_fastest_swizzle_is_taken_and_the_reason_says_what_was_compared(more, flags, monkeypatch):
    """Not the one by which least is read: CATLASS's has fewer cycles than that one for this problem."""
    monkeypatch.setattr(planning, "SIZES", (128, 256))
    given, problem = {"cores": 24, **more}, (1609, 2048, 256)
    found = plan(problem, **given)
    tiles = found.block.plan.tiling
    for offset, direction in planning.SWIZZLES:
        how = GemmIdentityBlockSwizzle[offset, direction]
        flag = {**given, "unit_flag": found.block.plan.unit_flag, "stages": tiles.stages}
        assert found.estimate.cycles <= block(problem, tiles.l1, tiles.l0, swizzle=how, **flag).estimate().cycles
    text = found.why().splitlines()
    assert f"{found.block.schedule.swizzle}: {found.estimate.cycles} cycles predicted" in text[0]
    assert ("with unit flags" in text[0]) == found.block.plan.unit_flag
    assert text[2].startswith(f"no other of {len(found.tried)} tilings, {flags}")
    assert text[2].endswith(f"takes fewer by any of {len(planning.SWIZZLES)} swizzles")
    assert len(text) == (5 if "unit_flag" not in more else 4)


def test_a_chosen_block_is_checked_and_executed_like_any_other():
    import numpy as np

    made = plan((70, 90, 150), cores=2, b=(half, ColumnMajor)).block
    assert made.check().holds
    x, y = np.ones((70, 150)), np.ones((150, 90))
    assert (made.execute(x, y) == x @ y).all()


def test_the_tiles_of_catlass_are_found():
    """128 by 256 by 256 for half, and 64 of k in L0, are those of CATLASS's examples."""
    found = plan((4096, 4096, 4096), cores=24)
    assert (found.tried[0].l1, found.tried[0].l0) == ((128, 256, 256), (128, 256, 64))


def test_biases_fit_in_their_table_in_what_is_chosen():
    """Tiles of 320 columns or more have no room in the table of biases: 1024 bytes."""
    made = plan((16, 640, 64), cores=2, bias=True, c=float32, unit_flag=False).block
    assert made.plan.tiling.l1[1] <= 256
    assert made.check(0).holds


def test_what_a_plan_chooses_is_not_given():
    with pytest.raises(LeafTypeError, match="plan with l1="):
        plan((64, 64, 64), l1=(64, 64, 64))
    with pytest.raises(LeafTypeError, match="rates of Ascend950"):
        plan((64, 64, 64), Ascend950)
    assert plan((64, 64, 64), Ascend950, rates=Rates()).block.plan.arch is Ascend950
    with pytest.raises(RangeError, match=r"\(0,64,64\)"):
        plan((0, 64, 64))
    gelu = {"c": float32, "activation": "gelu"}
    for match, more in (
        (r"plan with ub=.*what is not chosen", {**gelu, "ub": (8, 64)}),
        (r"plan with split=.*a block without split=", {"split": "SPLIT_M"}),
        (r"plan with padding=.*a block without padding=", {**gelu, "padding": {"A": "PADDING_ND"}}),
        (r"d= of a block without activation=", {"d": half}),
        (r"one of gelu, silu", {"activation": "mish"}),
        (r"split='SPLIT_M' on AtlasA2", {**gelu, "split": "SPLIT_M"}),
    ):
        with pytest.raises(LeafTypeError, match=f"(?s){match}"):
            plan((64, 64, 64), **more)


def test_tiles_of_which_a_unified_buffer_has_no_room_are_left_out(monkeypatch):
    """Of 512 by 128 floats, which L0C holds, a vector core holds none."""
    monkeypatch.setattr(planning, "SIZES", (128, 512))
    found = plan((512, 128, 64), Ascend950, rates=Rates(), c=float32, split="NO_SPLIT", activation="relu", cores=1)
    assert {t.l1[:2] for t in found.tried} == {(128, 128)}
    assert (512, 128) in {t.l1[:2] for t in plan((512, 128, 64), Ascend950, rates=Rates(), c=float32, cores=1).tried}


def test_the_reason_names_the_tile_of_vector_cores(monkeypatch):
    """And what is bound by them says so: of a short k one core's vector cores take longest."""
    monkeypatch.setattr(planning, "SIZES", (64, 128))
    found = plan(
        (128, 128, 32), cores=1, c=float32, d=half, activation="gelu", rates=Rates(gm=10**9, l2=10**9, store=10**9)
    )
    (rows, columns), stages = found.tried[0].beside
    assert found.block.plan.activation.tile == (rows, columns)
    assert stages == 0
    text = found.why().splitlines()
    assert f"({rows},{columns}) in UB, with" in text[0]
    assert text[1].startswith("bound by AIV")
    assert text[2].endswith("swizzles, with any tile in UB that is tried")
    split = plan((64, 64, 64), Ascend950, rates=Rates(), cores=2, c=float32, activation="relu", split="SPLIT_M")
    (rows, columns), stages = split.tried[0].beside
    assert f"({rows},{columns}) in UB with {stages} of C, with" in split.why()
    assert split.block.plan.tiling.stages["UB"] == stages
