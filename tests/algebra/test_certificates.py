"""Certificates: the checker, which knows nothing of tla, accepts those of every answer, and none that is damaged.

tests/project/test_proofs.py has the checker itself against the one that is extracted from Coq.
"""

import copy
import importlib
import json
import math
import random
import re
import subprocess
import sys

import pytest

import tla
from tla import (
    DivisibilityError,
    InjectivityError,
    Int,
    Layout,
    LeafTypeError,
    MakeLayout,
    TlaError,
    composition,
    dims,
    parse,
)
from tla.algebra import checker
from tla.algebra.checker import check

import oracle
from corpus import made
from laws import plain
from night import NIGHT, amount, some
from places import ROOT
from truth import rows

sys.path.insert(0, str(ROOT / "tests" / "bench"))
exact = importlib.import_module("exact")  # whose right answers these are

OPERATIONS = (
    "coalesce",
    "composition",
    "complement",
    "right_inverse",
    "left_inverse",
    "logical_divide",
    "logical_product",
)


def values(certificate):
    """The offsets of a composition, read off its certificate alone."""
    modes = [[(n, t) for n, _x, t in pieces] for pieces in certificate["cut"]]
    shape, stride = (tuple(tuple(m[k] for m in mode) for mode in modes) for k in (0, 1))
    return oracle.offsets(shape, stride)


def test_every_small_composition_has_one_and_so_has_every_refusal():
    """The 39,436 right answers of tests/bench/exact.py, by day of each tenth pair; what is refused there has a witness
    that no layout is the composition."""
    right = refused = 0
    for a, b, truth in some(exact.pairs(), 10):
        c = composition.certificate(made(a), made(b))
        if c["of"] == "composition":
            right += 1
            assert c["by_bounds"]  # one pass over the modes is enough
            assert values(c) == truth
        else:
            refused += 1
            assert not exact.is_layout(b, truth)
    if NIGHT:
        assert (right, refused) == (39_436, 7_994)
    assert right > 3_800


@pytest.mark.parametrize("name", OPERATIONS)
def test_answers_to_what_cute_was_asked(name):
    """Every row of CuTe's own answers that is answered here: those of plain layouts, dynamic ones by their values."""
    found = 0
    for row in rows("cute/accepted.json"):
        if row["op"] != name or not all(isinstance(x, str) and re.fullmatch("[0-9_,():-]+", x) for x in row["args"]):
            continue
        given = [parse(x) for x in row["args"]]
        if not all(isinstance(x, Layout) for x in given[: 1 if name == "complement" else 2]):
            continue
        try:
            getattr(tla, name)(*given)
        except TlaError:
            continue
        if name == "coalesce" and not given[0].is_static:
            continue
        if name in ("left_inverse", "logical_divide") and any(
            d == 0 and s > 1 for s, d in zip(*map(oracle.leaves, plain(given[-1])))
        ):
            continue  # with a mode of stride 0 the claim is another one
        assert check(getattr(tla, name).certificate(*given)) is None, given
        found += 1
    assert found > 20


def factors(rng, n):
    """Extents in some order whose product is n."""
    out = []
    while n > 1:
        k = rng.choice([k for k in (2, 3, 4, 5, 6, 8, 16, 32, 64, n) if n % k == 0])
        out.append(k)
        n //= k
    return out or [1]


def kernel_sized(rng):
    """Two layouts of up to 2^17 elements: compact in some order, perhaps padded; the inner one goes through
    digits of the outer."""
    n = rng.choice((4096, 6144, 8192, 128 * 64, 128 * 96, 1 << 17))
    extents = factors(rng, n)
    order, strides, d = rng.sample(range(len(extents)), len(extents)), {}, 1
    for k in order:
        strides[k] = d
        d = d * extents[k] + rng.choice((0, 0, 0, 8))
    inner = factors(rng, n)
    places = [math.prod(inner[:k]) for k in range(len(inner))]
    picked = rng.sample(range(len(inner)), rng.randint(1, min(4, len(inner))))
    b = [(inner[k], places[k]) for k in picked]
    a = [(e, strides[k]) for k, e in enumerate(extents)]
    return tuple(MakeLayout(tuple(Int[s]() for s, _d in m), tuple(Int[d]() for _s, d in m)) for m in (a, b))


def test_kernel_sized_compositions():
    rng = random.Random(34)
    right = 0
    while right < amount(1_000, 10_000):
        a, b = kernel_sized(rng)
        c = composition.certificate(a, b)
        right += c["of"] == "composition"
        assert c.get("by_bounds", True)  # none takes more than a pass over its modes
        if c["of"] == "composition":
            (shape, stride), r = plain(b), composition(a, b)
            assert [n for pieces in c["cut"] for n, _x, _t in pieces] == [*oracle.leaves(plain(r)[0])]
            for _ in range(20):
                coordinate = [rng.randrange(s) for s in oracle.leaves(shape)]
                place = sum(k * d for k, d in zip(coordinate, oracle.leaves(stride)))
                said = sum(checker.at([(n, t) for n, _x, t in pieces], k) for pieces, k in zip(c["cut"], coordinate))
                assert (
                    said
                    == oracle.offset(place, *plain(a))
                    == r(tuple(coordinate) if len(coordinate) > 1 else coordinate[0])
                )


def damaged(rng, certificate):
    """One integer of the answer changed, an extent, a place or a value, and whether the answer is right even so."""
    bad = copy.deepcopy(certificate)
    name = rng.choice([n for n in ("cut", "pieces", "r", "woven") if bad.get(n)])
    lists = bad[name] if name == "cut" else [bad[name]]
    pieces = rng.choice([p for p in lists if p])
    k = rng.randrange(len(pieces))
    piece = list(pieces[k])
    i = rng.randrange(len(piece))
    piece[i] += rng.choice((-1, 1, 2, 7))
    pieces[k] = tuple(piece)
    return bad, piece[0] == 1 or (bad["of"] in STILL_RIGHT and STILL_RIGHT[bad["of"]](bad))


def _left(c):
    offsets = oracle.image(*zip(*c["a"]))
    return (oracle.at(offsets, *zip(*c["r"])) == range(len(offsets))).all()


def _right(c):
    places = oracle.image(*zip(*[(n, x) for n, x, _t in c["pieces"]]))
    return (oracle.at(places, *zip(*c["a"])) == range(len(places))).all()


#: A layout has many inverses: one that is shorter, or goes on past the domain, is right too.
STILL_RIGHT = {"left_inverse": _left, "right_inverse": _right}


def test_seeded_faults_are_rejected():
    rng, faults = random.Random(7), 0
    while faults < 1_000:
        a, b = kernel_sized(rng)
        name, given = rng.choice(
            [
                ("composition", (a, b)),
                ("coalesce", (a,)),
                ("right_inverse", (a,)),
                ("left_inverse", (b,)),
                ("complement", (b,)),
                ("logical_divide", (a, b)),
            ]
        )
        try:
            c = getattr(tla, name).certificate(*given)
        except TlaError:
            continue
        if c["of"] not in OPERATIONS:
            continue
        bad, harmless = damaged(rng, c)
        if not harmless:
            faults += 1
            assert check(bad) is not None, bad


def test_it_is_plain_data_that_the_shell_checks(tmp_path):
    c = composition.certificate(parse("(_6,_2):(_8,_2)"), parse("(_4,_3):(_3,_1)"))
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    right.write_text(json.dumps(c))
    wrong.write_text(json.dumps({**c, "b": [[4, 3], [3, 2]]}))
    said = [
        subprocess.run([sys.executable, checker.__file__, x], capture_output=True, text=True, check=False)
        for x in (right, wrong)
    ]
    assert [(x.returncode, x.stdout.split()[0]) for x in said] == [(0, "accepted"), (1, "the")]


@pytest.mark.parametrize(
    ("name", "given", "kind", "fix"),
    [
        ("composition", (MakeLayout(dims("n")), parse("_2:_1")), LeafTypeError, "give numbers"),
        ("composition", (parse("(_4,_4):(_1,_4)"), (Int[2](), Int[2]())), LeafTypeError, "each mode"),
        ("composition", (parse("(_4,_4):(_1@0,_1@1)"), 2), LeafTypeError, "give numbers"),
        ("coalesce", (parse("(4,2):(1,4)"),), LeafTypeError, "write static(layout)"),
        ("left_inverse", (parse("(_4,_2):(_0,_1)"),), LeafTypeError, "filter_zeros"),
        ("logical_divide", (parse("_8:_1"), parse("_2:_0")), LeafTypeError, "filter_zeros"),
        ("complement", (parse("(_2,_2):(_1,_1)"),), InjectivityError, ""),
        ("composition", (3, 4), LeafTypeError, "MakeLayout"),
    ],
)
def test_refusals_say_what_to_give(name, given, kind, fix):
    with pytest.raises(kind) as error:
        getattr(tla, name).certificate(*given)
    assert fix in str(error.value)


def test_a_refusal_has_a_witness():
    c = composition.certificate(parse("(_3,_2):(_5,_1)"), parse("(_2,_2):(_1,_2)"))
    assert (c["of"], c["coordinate"]) == ("no composition", [1, 1])
    c = composition.certificate(parse("(_3,_2):(_5,_1)"), parse("_4:_1"))
    assert (c["of"], c["mode"]) == ("no mode", 0)
    with pytest.raises(DivisibilityError):
        composition(parse("(_3,_2):(_5,_1)"), parse("_4:_1"))
