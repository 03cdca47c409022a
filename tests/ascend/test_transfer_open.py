"""Transfers of sizes that are not known: proved for all of them, and here at some of them compared with AscendC's
manual, element by element."""

import dataclasses
import itertools
import random

import pytest

from tla import (
    GetTile,
    InjectivityError,
    Int,
    MakeLayout,
    MakeTensor,
    RangeError,
    Unproven,
    ascend,
    assuming,
    at,
    dim,
    index,
    round_up,
)
from tla.ascend import L0C, RowMajor, float as f32, half, int8, transfer, zN
from tla.ascend.architecture import ARCHITECTURES
from tla.ascend.transfers import open_proof
from tla.ascend.transfers.digits import Axis, Digit, Given, merged
from tla.ascend.transfers.side import side_of
from tla.ascend.transfers.steps import Loop, When, steps_at

from night import amount
from transfer_oracle import executed, offset_of

BY_SOURCE = {("GM", "L1"), ("GM", "UB"), ("UB", "UB"), ("UB", "L1"), ("L1", "Bias"), ("L1", "FixBuf")}


def empty(layout, position):
    return MakeTensor(None, layout, position=position)


def require_copied(src, dst, made):
    """Every valid element is in its place; nothing is written or read behind the tile and the tensor but
    what is said."""
    moved = executed(made)
    ends = src.position, dst.position
    for coord in itertools.product(*map(range, map(int, (src if ends in BY_SOURCE else dst).origin_shape))):
        assert moved.pop(offset_of(dst, coord)) == offset_of(src, coord), (src, dst, coord)
    if dst.position == "GM":
        assert not moved


#: Ways with their tags: (from, to, tag there, tag here, architecture). The second is a tile of its own, the first one
#: of a larger tensor.
WAYS = [
    ("GM", "L1", "RowMajor", "zN", "AtlasA2"),
    ("GM", "L1", "ColumnMajor", "nZ", "AtlasA2"),
    ("GM", "L1", "zN", "zN", "AtlasA2"),
    ("GM", "L1", "nZ", "nZ", "AtlasA2"),
    ("GM", "L1", "RowMajor", "zN", "Ascend950"),
    ("GM", "L1", "ColumnMajor", "nZ", "Ascend950"),
    ("GM", "L1", "nZ", "nZ", "Ascend950"),
    ("L1", "L0A", "zN", "zZ", "AtlasA2"),
    ("L1", "L0A", "nZ", "zZ", "AtlasA2"),
    ("L1", "L0B", "zN", "nZ", "AtlasA2"),
    ("L1", "L0B", "nZ", "nZ", "AtlasA2"),
    ("L1", "L0A", "zN", "zN", "Ascend950"),
    ("L1", "L0A", "nZ", "zN", "Ascend950"),
    ("L1", "L0B", "zN", "nZ", "Ascend950"),
    ("L1", "L0B", "nZ", "nZ", "Ascend950"),
    ("L0C", "GM", "L0C", "RowMajor", "AtlasA2"),
    ("L0C", "GM", "L0C", "zN", "AtlasA2"),
    ("L0C", "GM", "L0C", "RowMajor", "Ascend950"),
    ("L0C", "GM", "L0C", "zN", "Ascend950"),
    ("L0C", "UB", "L0C", "RowMajor", "Ascend950"),
    ("GM", "UB", "RowMajor", "RowMajor", "AtlasA2"),
    ("UB", "GM", "RowMajor", "RowMajor", "Ascend950"),
    ("UB", "L1", "RowMajor", "zN", "Ascend950"),
    ("UB", "UB", "RowMajor", "RowMajor", "AtlasA2"),
    ("UB", "UB", "RowMajor", "zN", "Ascend950"),
    ("GM", "L1", "VectorLayout", "VectorLayout", "AtlasA2"),
    ("L1", "Bias", "VectorLayout", "VectorLayout", "AtlasA2"),
    ("GM", "UB", "VectorLayout", "VectorLayout", "Ascend950"),
]


class Sizes:
    """The sizes of one case, by its seed: symbols, or the same as numbers where `values` has them."""

    def __init__(self, seed, values=None):
        self.rng, self.values, self.facts = random.Random(seed), values, {}

    def choice(self, options):
        return self.rng.choice(options)

    def _named(self, name, symbol, draw):
        self.facts[name] = draw
        return symbol() if self.values is None else self.values[name]

    def size(self, name, most):
        """A size of 1 to `most`: a symbol, or a number at times."""
        if self.rng.random() < 0.3:
            return self.rng.randint(1, most)
        return self._named(name, lambda: dim(name, at_most=most), lambda rng, _: rng.randint(1, most))

    def room(self, name, below, more):
        """A leading dimension: as much as it holds, or more of a symbol."""
        if self.rng.random() < 0.3:
            return below
        ld = lambda: dim(name, at_least=below, at_most=2**20)  # noqa: E731
        return self._named(name, ld, lambda rng, known: at(below, known) + rng.randint(0, more))

    def start(self, name, unit):
        if self.rng.random() < 0.4:
            return self.rng.choice([0, unit, 3 * unit])
        return self._named(name, lambda: index(name, 4), lambda rng, _: rng.randrange(4)) * unit

    def draw(self, rng):
        """Values for the symbols that keep their facts."""
        found = {}
        for name, draw in self.facts.items():
            found[name] = int(draw(rng, found))
        return found


def tensors(way, element, sizes):
    """The two tensors of a case."""
    begin, end, a, b, _arch = way
    c0 = int(element.C0)
    if a == "VectorLayout":
        n, unit = sizes.size("n", 60), {"Bias": 64}.get(end, 32) * 8 // element.bits
        src = GetTile(empty(MakeLayout(400), begin), (sizes.start("s", max(unit, 32 if begin == "L1" else 1)),), (n,))
        return src, empty(MakeLayout(sizes.choice([n, Int[128]()])), end)
    m, n = sizes.size("m", 40), sizes.size("n", 40)
    if begin == "L0C":
        small = L0C(m, n).layout
        ld = Int[48]() if end == "UB" else sizes.room("ld", n, 30)
        large = MakeLayout[element, RowMajor](m, n, ld=ld) if b == "RowMajor" else MakeLayout[element, zN](m, n)
        return empty(small, begin), empty(large, end)
    if end == "GM":
        return empty(MakeLayout[element, RowMajor](m, n, ld=64), begin), empty(
            MakeLayout[element, RowMajor](m, n, ld=sizes.room("ld", n, 30)), end
        )
    if begin == "GM":
        if a in ("zN", "nZ"):
            M, N = sizes.size("M", 120), sizes.size("N", 120)
            block = (16, c0) if a == "zN" else (c0, 16)
            start = tuple(sizes.start(name, unit) for name, unit in zip("st", block))
            src = GetTile(empty(MakeLayout[element, getattr(ascend, a)](M, N), begin), start, (40, 40))
        else:
            ld = sizes.room("ld", n if a == "RowMajor" else m, 30)
            src = empty(MakeLayout[element, getattr(ascend, a)](m, n, ld=ld), begin)
        big = Int[64](), Int[64]()
        return src, empty(
            MakeLayout[element, getattr(ascend, b)](*big) if end == "L1" else MakeLayout[element, RowMajor](*big), end
        )
    if begin == "UB":
        return empty(MakeLayout[element, RowMajor](m, n, ld=64), begin), empty(
            MakeLayout[element, getattr(ascend, b)](Int[64](), Int[64]()), end
        )
    block = 32 if element is int8 else 16
    start = tuple(sizes.start(name, block) for name in "st")
    src = GetTile(empty(MakeLayout[element, getattr(ascend, a)](Int[192](), Int[192]()), begin), start, (m, n))
    to_16 = element is f32 and (a, b) == ("nZ", "zZ") and sizes.choice([True, True, False])
    return src, empty(MakeLayout[element, getattr(ascend, b)](m, n, **({"ld": round_up(n, 16)} if to_16 else {})), end)


@pytest.mark.once
def test_random_transfers_of_unknown_sizes_move_what_copy_moves_at_all_of_them():
    """Each is proved once, and run at a few of its sizes by the manual's loops; refused ones say what to declare."""
    rng, answered, refused, runs, forms = random.Random(36), 0, 0, 0, set()
    while answered < amount(60, 1000):
        way, seed = rng.choice(WAYS), rng.random()
        element = rng.choice([half, f32] if way[0] == "L0C" or way[1] == "Bias" else [half, f32, int8])
        sizes = Sizes(seed)
        src, dst = tensors(way, element, sizes)
        if not sizes.facts:
            continue
        try:
            with assuming() as conditions:
                made = transfer(src, dst, way[4], element=element)
        except (Unproven, RangeError) as why:
            assert why.reason.fix
            refused += 1
            continue
        answered += 1
        forms |= {type(step).__name__ for step in made}
        for _ in range(3):
            values = sizes.draw(rng)
            if not all(c.at(values) for c in conditions):
                continue
            a, b = tensors(way, element, Sizes(seed, values))
            if 0 in a.origin_shape:  # a corner past the end
                continue
            known, here = transfer(a, b, way[4], element=element), made.at(values)
            assert [str(i) for i in here] == [str(i) for i in known], (src, dst, values)
            assert here.beyond >= known.beyond
            assert here.reads_beyond >= known.reads_beyond
            require_copied(a, b, here)
            runs += 1
    assert forms == {"TransferInstruction", "Loop", "When"}
    assert runs > 2 * answered
    assert refused < answered / 20


def faults(steps, rng):
    """The steps with one field, or place, of one instruction changed."""
    (step,) = steps
    if isinstance(step, When):
        body, otherwise = step.body, step.otherwise
        return (
            [step._replace(body=tuple(faults(body, rng)))]
            if rng.random() < 0.5
            else [step._replace(otherwise=tuple(faults(otherwise, rng)))]
        )
    if isinstance(step, Loop):
        if rng.random() < 0.3:
            turns, name = step.turns + rng.choice([1, -1]), str(step.variable)
            i = index(name, 1 << 20)  # one that says nothing of how many turns there are
            return [step._replace(variable=i, turns=turns, body=tuple(steps_at(step.body, {name: i})))]
        return [step._replace(body=tuple(faults(step.body, rng)))]
    name = rng.choice(["dst", "src", *step.parameters])
    change = rng.choice([lambda x: x + 1, lambda x: x + 16, lambda x: 2 * x + 16, lambda x: x - 1])
    if name in ("dst", "src"):
        return [dataclasses.replace(step, **{name: change(getattr(step, name))})]
    value = step.parameters[name]
    value = 1 - value if step.name != "Nd2Nz" and value in (0, 1) and name in FLAGS else change(value)
    return [dataclasses.replace(step, parameters={**step.parameters, name: value})]


FLAGS = {"ifTranspose", "enTranspose", "fMatrixCtrl", "channelSplit", "nz2ndEn"}


@pytest.mark.once
def test_a_wrong_field_is_not_proved():
    """One field of one instruction is changed: the proof refuses it, or the elements are where they were at every size
    that is tried."""
    rng, refused, accepted = random.Random(7), 0, 0
    while refused + accepted < amount(120, 1500):
        way, seed = rng.choice(WAYS), rng.random()
        element = rng.choice([half, f32] if way[0] == "L0C" or way[1] == "Bias" else [half, f32, int8])
        sizes = Sizes(seed)
        src, dst = tensors(way, element, sizes)
        try:
            with assuming():
                made = transfer(src, dst, way[4], element=element)
                if not sizes.facts or len(made) != 1:
                    continue
                wrong = faults(made, rng)
                sides = side_of(src, element), side_of(dst, element)
                open_proof.require_lawful_for_all(wrong, (src.position, dst.position), *sides, ARCHITECTURES[way[4]])
        except (Unproven, RangeError, InjectivityError):
            refused += 1
            continue
        accepted += 1
        for _ in range(8):
            values = sizes.draw(rng)
            a, b = tensors(way, element, Sizes(seed, values))
            if 0 not in a.origin_shape and transfer(a, b, way[4], element=element):
                require_copied(a, b, [*steps_at(wrong, values)])
    assert refused > 5 * accepted


def test_what_is_given_proves_no_more_than_it_says():
    """M < N, of sizes of 1 to 9: whatever is said to be proved holds for all of them, and what the condition
    says is proved."""
    m, n = dim("M"), dim("N")
    given, every = Given([m < n]), [{"M": i, "N": j} for i in range(1, 10) for j in range(i + 1, 10)]
    assert [given.at_most(a, n) for a in (m, m + 1)] == [True, True]
    for a, b in itertools.product((m - 1, m, m + 1, m + 2, n, n + 1, 2 * m, m + n), (m, n, n - 1, n - 2, m + 1, 2 * n)):
        holds = [int(a.at(sizes)) <= int(b.at(sizes)) for sizes in every]
        assert given.at_most(a, b) is not True or all(holds), (a, b)
        assert given.at_most(a, b) is not False or not any(holds), (a, b)


def test_an_axis_that_ends_before_its_last_digit_begins():
    """Digits of 4 and 3 places: of 12 and of 8 all blocks are whole, of 3 the first has 3, of 6 a part stays."""
    digits = Digit(4, 1, 1), Digit(3, 16, 4)
    for limit, whole, parts in (
        (12, [(4, 1, 1), (3, 16, 4)], 0),
        (8, [(4, 1, 1), (2, 16, 4)], 0),
        (3, [(3, 1, 1)], 0),
        (6, [], 1),
    ):
        found, left = merged([Axis(digits, limit)], Given())
        assert ([tuple(d) for d in found], len(left)) == (whole, parts)
