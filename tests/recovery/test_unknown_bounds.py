"""Index expressions and functions that are -1 past bounds that are names: the box and the offsets inside, at many
sizes, against the condition itself."""

import itertools
import operator
import random
from functools import partial

import numpy as np
import pytest

from tla import RangeError, TlaError, at, dim, dims, layout_of, offsets

from night import amount

#: A text of two bounds, {o} the offset inside, and its language.
BOTH = [
    ("(i < M && j < L) ? {o} : -1", "c"),
    ("i < M ? (j < L ? {o} : -1) : -1", "c"),
    ("!(i < M) || L <= j ? -1 : {o}", "cuda"),
    ("!(i >= M || j > L - 1) ? {o} : -1", "c"),
    ("int f(int i, int j) {{ if (i >= M || j >= L) return -1; return {o}; }}", "c"),
    ("int f(int i, int j) {{ if (i >= M) return -1; if (j >= L) return -1; return {o}; }}", "c"),
    ("int o = -1; if (i < M && M > i && L > j) {{ o = {o}; }} return o;", "c"),
    ("const bool inside = i < M; return inside && j < L ? {o} : -1;", "c"),
    ("-1 if i >= M or j >= L else {o}", "python"),
    ("{o} if i < M and j < L else -1", "python"),
    ("np.where((i < M) & (j < L), {o}, -1)", "python"),
    ("tl.where((i >= M) | (j >= L), -1, {o})", "triton"),
]
OFFSETS = {
    "i*K + j": lambda i, j, K: i * K + j,
    "j*N + i + 7": lambda i, j, K, N: j * N + i + 7,
    "i%4*16 + i//4*K + j*64": lambda i, j, K: i % 4 * 16 + i // 4 * K + j * 64,
    "j": lambda i, j: j,
}


@pytest.mark.parametrize(("text", "language"), BOTH)
def test_the_box_is_where_the_condition_holds(text, language):
    rng = random.Random(text)
    for offset, computed in OFFSETS.items():
        written = text.format(o=offset if language in ("python", "triton") else offset.replace("//", "/"))
        N = dim("N", multiple_of=4)
        found = layout_of(written, shape=(N, "K"), coords="i,j", language=language, values={"M": "M", "L": "L"})
        for _ in range(amount(4, 60)):
            sizes = {
                "N": 4 * rng.randint(1, 5),
                "K": rng.randint(1, 9),
                "M": rng.randint(1, 22),
                "L": rng.randint(1, 11),
            }
            layout = at(found, sizes)
            table = offsets(layout).reshape(sizes["N"], sizes["K"], order="F")
            box = layout.origin_shape
            for i, j in itertools.product(range(sizes["N"]), range(sizes["K"])):
                inside = i < sizes["M"] and j < sizes["L"]
                assert inside == (i < int(box[0]) and j < int(box[1])), (written, sizes)
                given = {name: sizes[name] for name in computed.__code__.co_varnames[2:]}
                assert not inside or int(table[i, j]) == computed(i, j, **given), (written, sizes)


COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
SIZES = "NKML"


def size_of(name):
    """A size or a coordinate as text, and its value of all of them."""
    return name, (lambda given: int(name) if name.isdigit() else given["M"] - 1 if name == "(M-1)" else given[name])


def condition(rng, depth):
    """A random condition as text, and its value of coordinates and sizes."""
    kind = rng.choice(("compare", "compare", "&&", "||", "!", "?")) if depth else "compare"
    if kind == "compare":
        a, b = (
            size_of(x) for x in rng.sample((rng.choice("ij"), rng.choice(["M", "L", "N", "0", "3", "(M-1)", "j"])), 2)
        )
        word = rng.choice([*COMPARED])
        return f"({a[0]} {word} {b[0]})", lambda given: COMPARED[word](a[1](given), b[1](given))
    a, b = condition(rng, depth - 1), condition(rng, depth - 1)
    if kind == "!":
        return f"(!{a[0]})", lambda given: not a[1](given)
    if kind == "?":
        other = rng.randrange(2)
        return f"({a[0]} ? {b[0]} : {other})", lambda given: b[1](given) if a[1](given) else other
    each = {"&&": all, "||": any}[kind]
    return f"({a[0]} {kind} {b[0]})", lambda given: each(x[1](given) for x in (a, b))


def chosen(rng, depth):
    """A random choice between offsets and -1 as text, and its value."""
    if not depth:
        return rng.choice(
            [
                ("-1", lambda given: -1),
                ("i*K + j", lambda given: given["i"] * given["K"] + given["j"]),
                ("j*N + i", lambda given: given["j"] * given["N"] + given["i"]),
            ]
        )
    asked, value = condition(rng, rng.randrange(3)), chosen(rng, depth - 1)
    other = chosen(rng, 0 if rng.random() < 0.7 else depth - 1)
    return f"({asked[0]} ? {value[0]} : {other[0]})", lambda given: (value if asked[1](given) else other)[1](given)


def value_at(value, sizes, i, j):
    return value({"i": i, "j": j, **sizes})


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_random_conditions_are_bounds_or_refused(seed, traced):
    """As a text, and as a function that is called with symbols."""
    rng, answered, names = random.Random(seed), 0, dict(zip(SIZES, dims(" ".join(SIZES))))
    for _ in range(amount(160, 40_000) >> traced):
        text, value = chosen(rng, rng.choice((1, 2, 3)))
        try:
            if traced:
                found = layout_of(partial(value_at, value, names), shape=(names["N"], names["K"]))
            else:
                found = layout_of(text, shape=("N", "K"), coords="i,j", values={"M": "M", "L": "L"})
        except TlaError:
            continue
        answered += 1
        for _sizes in range(3):
            sizes = {name: rng.randint(1, 7) for name in SIZES}
            layout = at(found, sizes)
            table, box = offsets(layout).reshape(sizes["N"], sizes["K"], order="F"), layout.origin_shape
            for i, j in itertools.product(range(sizes["N"]), range(sizes["K"])):
                got = int(table[i, j]) if i < int(box[0]) and j < int(box[1]) else -1
                assert got == value_at(value, sizes, i, j), (text, sizes, i, j)
    assert answered > amount(8, 20)


M, N, K = dims("M N K")


@pytest.mark.parametrize(
    "address",
    [
        lambda i, j: i * K + j if i < M and j < 4 else -1,
        lambda i, j: -1 if M <= i or not j < 4 else K * i + j,
        lambda i, j: np.where((i < M) & ~(j >= 4), i * K + j, -1),
        lambda i, j: np.where((M <= i) | ~(j < 4), -1, j + K * i),
        lambda i, j: i * K + j if 0 <= i < M and j <= np.int64(3) else -1,
        lambda i, j: (i * K + j if j < 4 else -1) if i < M else -1,
    ],
)
def test_functions_with_bounds_that_are_names(address):
    found = layout_of(address, shape=(N, K))
    assert (str(found), str(found.origin_shape)) == ("(N,K):(K,_1)", "(min(M,N),min(K,4))")


def counted(i, j):
    return sum(1 for k in range(9) if i < k) + j


def halved(i, j):
    while i > 0:
        i //= 2
    return j


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (halved, "halved, whose conditions lead more than 64 ways"),
        (lambda i, j: 7 if i == 0 else i * K + j, "<lambda>: i0 == 0: it depends on the coordinate"),
        (lambda i, j: i * K + j if i else 7, "<lambda>: i0 != 0: it depends on the coordinate"),
        (lambda i, j: i * K + j if i != j else 7, "i0 != i1: it depends"),
        (lambda i, j: (i < M) * K + j, "i0 < M: it depends"),
        (lambda i, j: i < M, "i0 < M: it depends"),
        (lambda i, j: i * K + j if i < M else None, "i0 < M: it depends"),
        (lambda i, j: min(i, M) * K + j, "M < i0: it depends|i0 > M: it depends"),
        (lambda i, j: {0: 1}[i], "unhashable"),
        (lambda i, j: [0, 1][i], "list indices"),
        (lambda i, j: i / 2, "unsupported operand"),
        (lambda i, j: i // (i - i), "divi"),
        (lambda i, j: 1 // 0, "ZeroDivisionError"),
        (lambda i, j: 0.5, "0.5, which <lambda> gives"),
        (lambda i: i, "takes 1 positional argument"),
        (counted, "counted, whose conditions lead more than 64 ways"),
    ],
)
def test_functions_that_are_no_layout_are_refused(address, message):
    with pytest.raises(TlaError, match=message):
        layout_of(address, shape=(N, K))


def test_bounds_of_names_and_of_numbers():
    def shown(text, shape, **values):
        found = layout_of(text, shape=shape, coords="i,j"[: 2 * len(shape) - 1], values=values)
        return str(found), str(tuple(map(str, found.origin_shape)))

    assert shown("i < 5 ? i*64 + j : -1", ("M", 64)) == ("(M,_64):(_64,_1)", "('min(M,5)', '_64')")
    assert shown("i <= M ? i : -1", ("N",), M="M") == ("(N):(_1)", "('min(M+1,N)',)")
    assert shown("i < M ? i*64 + j : -1", (128, 64), M=dim("M", at_most=128)) == ("(_128,_64):(_64,_1)", "('M', '_64')")
    assert shown("i < M ? i : -1", ("M",)) == ("M:_1", "('M',)")  # no bound at all


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i + j < M ? i*K + j : -1", "the condition i\\+j < M"),
        ("i < j ? i*K + j : -1", "the condition i < j"),
        ("i > 2 ? i*K + j : -1", "the condition i > 2"),
        ("i < M - 5 ? i*K + j : -1", "the bound M-5, which may be negative"),
        ("(i < M ? i*K + j : -1) * 2", "i < M: it depends on the coordinate, at position 3"),
        ("(i < M) * K + j", "i < M: it depends on the coordinate"),
        ("i < M", "i < M: it depends on the coordinate"),
        ("i < M ? i*K + j : 0", "i < M: it depends on the coordinate"),
        ("i < M ? i*K + j : -2", "i < M: it depends on the coordinate"),
        ("(i < M || j < L) ? i*K + j : -1", "i < M: it depends on the coordinate"),
        ("(i < M && j < L || j < 2) ? i*K + j : -1", "i < M: it depends on the coordinate"),
        ("i < M ? (j < L ? i*K + j : 3) : -1", "j < L: it depends on the coordinate"),
        ("min(i < M, 1) + j", "i < M: it depends on the coordinate"),
        ("(char)(i < M ? 1 : -1)", "i < M: it depends on the coordinate"),
        ("int f(int i, int j) { if (i < M) return i*K + j; }", "a function that may end without a value"),
        (
            "int f(int i, int j) { if (i < M) return i*K + j; if (j < L) return -1; }",
            "i < M: it depends on the coordinate",
        ),
    ],
)
def test_what_is_no_bound_is_refused(text, message):
    with pytest.raises(TlaError, match=message):
        layout_of(text, shape=("N", "K"), coords="i,j", values={"M": "M", "L": "L"})


def test_many_conditions_are_refused_at_once():
    text = "int f(int i) { " + "".join(f"if (i >= M - {k}) return -1; " for k in range(2000)) + "return i; }"
    with pytest.raises(TlaError, match="more than 300 operations"):
        layout_of(text, shape=("N",), values={"M": "M"})


def test_numbers_are_bounds_as_names_are():
    text = "-1 if i >= 3 or j >= 4 else i*8 + j"
    found = layout_of(text, shape=(5, 8), coords="i,j", language="python")
    assert (str(found), str(found.origin_shape)) == ("(_5,_8):(_8,_1)", "(_3,_4)")
    with pytest.raises(RangeError, match="no box"):
        layout_of("i + j < 4 ? i*8 + j : -1", shape=(5, 8), coords="i,j")
