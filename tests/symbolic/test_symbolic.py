"""Sizes with facts: operators, proofs, conditions, and layouts over them."""

import contextlib
import copy
import functools
import itertools
import operator
import pickle
import random
import re
import sys
import threading

import numpy as np
import pytest

import tla
from tla import (
    Int,
    LeafTypeError,
    MakeLayout,
    ParseError,
    RangeError,
    SymInt,
    TlaError,
    Unproven,
    _0,
    _1,
    _4,
    assuming,
    dim,
    dims,
    index,
    parse,
    prove,
)
from tla.core import ints
from tla.core.questions import at_most, divides
from tla.symbolic import declare, latex, poly, text
from tla.symbolic.poly import Poly

from expressions import value
from night import amount

M, N = dims("M N")
K = dim("K", multiple_of=16)
i, j = index("i", M), index("j", N)

# ------------------------------------------------------------------------------------------------------- operators

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    operator.xor,
    operator.and_,
    operator.or_,
]


@pytest.mark.parametrize("op", OPERATORS)
def test_operators_with_every_kind_of_integer(op):
    sizes = {"M": 13, "N": 7, "K": 48}
    for a, b in itertools.permutations([M, N, K, M + N, K // 32 + 1, 5, _4, np.int32(3), Int[7]()], 2):
        if isinstance(a, SymInt) or isinstance(b, SymInt):
            assert at(op(a, b), sizes) == op(*(int(at(v, sizes)) for v in (a, b)))


def test_unary_operators_and_powers():
    sizes = {"M": 13, "N": 7}
    for f in (
        operator.neg,
        operator.pos,
        operator.invert,
        abs,
        lambda x: x**3,
        lambda x: x << 4,
        lambda x: x >> 1,
        lambda x: divmod(x, 4)[0],
    ):
        for x in (M, N - M, -M):
            assert f(x).at(sizes) == f(x.at(sizes))
    assert divmod(i * N + j, N) == (i, j)
    assert str(divmod(_4, M)[1]) == "4%M"
    assert (M**0, M**1) == (1, M)
    assert sum([M, N, M]) == 2 * M + N


def test_powers_of_0_to_64_and_absolute_values():
    for n in (0, 1, 2, 5, Int[0](), Int[1](), Int[3]()):
        found = (M - N) ** n
        assert tla.is_static(found) is (type(n) is Int and n == 0)
        assert [at(found, {"M": m, "N": 4}) for m in range(1, 9)] == [(m - 4) ** int(n) for m in range(1, 9)]
    assert (M**64).at(M=2) == 2**64
    for n in (65, -1):
        with pytest.raises(RangeError, match="an exponent from 0 to 64"):
            M**n
    for x, form in (
        (M, "M"),
        (i, "i"),
        (-M, "M"),
        (-i, "i"),
        (i - M, "M-i"),
        (M - N, "max(N-M,M-N)"),
        (3 - M, "max(3-M,M-3)"),
    ):
        assert str(abs(x)) == form
    for d in (-7, -2, -1, 1, 3, 8):
        assert at(divmod(17 * M, d), {"M": 5}) == divmod(85, d)
        assert at(divmod(d, M), {"M": 5}) == divmod(d, 5)


def test_static_rules():
    for x in (M * _0, _0 * M, M % _1, _0 // M, M & _0):
        assert ints.is_constant(0, x)
    assert ints.is_constant(-1, M | Int[-1]())
    for x in (M // _1, M + _0, _0 + M, M * _1, _1 * M, M - _0):
        assert x == M
    assert type(N - N) is type(K % 16) is type(M // M) is int
    assert (N - N, K % 16, M // M) == (0, 0, 1)


ABSORBED = {(operator.mul, 0), (operator.mod, 1), (operator.mod, -1), (operator.and_, 0), (operator.or_, -1)}


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_which_static_numbers_decide_a_result(op):
    """Those are static, and no others: x*_0, x % _1, x & _0, x | _-1."""
    for n in range(-5, 6):
        if n == 0 and op in (operator.floordiv, operator.mod):
            continue
        for y in (n, Int[n]()):
            found = op(N, y)
            assert tla.is_static(found) is (type(y) is Int and (op, n) in ABSORBED), (n, found)
            assert [tla.at(found, {"N": k}) for k in range(1, 9)] == [op(k, n) for k in range(1, 9)]


def test_equality_is_structural_and_hash_agrees():
    assert M + N == N + M
    assert hash(M + N) == hash(N + M)
    assert M != N
    assert (M == "M", M == 3, M == None) == (False, False, False)  # noqa: E711
    assert dim("M") == M
    assert dim("M", at_least=0) != M
    assert len({M, dim("M"), M + 0, 2 * M - M}) == 1
    assert (i * N + j) // N == i


def test_comparisons_are_conditions():
    assert bool(M >= 1)
    assert not M < 1
    assert bool(j < N)
    assert bool(i * N + j < M * N)
    assert bool(4 > j - N)
    assert (M < N).holds is None
    assert (M.equals(N)).holds is None
    assert (2 * M).equals(2 * N + 1).holds is False
    assert K.is_multiple_of(8).holds is True
    assert (K + 8).is_multiple_of(16).holds is False
    assert M.is_multiple_of(16).holds is None
    assert (M * N).is_multiple_of(N).holds is True
    for question in (
        lambda: bool(M < N),
        lambda: bool(i),
        lambda: int(M),
        lambda: [1, 2][M],
        lambda: float(M),
        lambda: range(M),
    ):
        with pytest.raises(Unproven):
            question()
    assert bool(M)


def test_numpy_broadcasts():
    a = np.arange(3) * M + N
    assert [str(x) for x in a] == ["N", "M+N", "2*M+N"]
    assert [str(x) for x in M - np.array([1, 2])] == ["M-1", "M-2"]
    assert isinstance(np.int64(3) * M, SymInt)
    with pytest.raises(LeafTypeError):
        M * 1.5


def test_pickle_copy_and_repr():
    layout = MakeLayout(((_4, M // 8), K), ((_1, i * N + j), 16 * M))
    for x in (M, K, i, j, i * N + j, K // 32, M // 7 % 5, (M ^ 3), tla.min(M, N), layout, layout.shape, M < N):
        assert pickle.loads(pickle.dumps(x)) == x
        assert copy.copy(x) == x
        assert copy.deepcopy(x) == x
    for x in (
        M,
        K,
        i,
        j,
        i * N + j,
        K // 32,
        layout,
        layout.shape,
        dim("S", at_least=0, at_most=64),
        index("t", 8, at_least=-8),
        index("q", N + 1),
    ):
        assert eval(repr(x), {"parse": parse, "dim": dim, "index": index}) == x
    assert repr(K) == "dim('K', multiple_of=16)"
    assert repr(j) == "index('j', below=dim('N'))"


# ----------------------------------------------------------------------------------------------------------- facts


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: dim("N", at_least=5, at_most=3), RangeError, "dim('N'): no integer has 5 <= N <= 3"),
        (lambda: dim("N", multiple_of=16, at_most=15), RangeError, "a multiple of 16"),
        (lambda: dim("N", at_least=M, at_most=M - 1), RangeError, "no integer has M <= N <= M-1"),
        (lambda: dim("N", at_least=-1), RangeError, "at_least=-1"),
        (lambda: dim("N", at_least=i - 1), RangeError, "at_least=i-1"),
        (lambda: dim("N", multiple_of=0), RangeError, "multiple_of=0"),
        (lambda: index("k", below=8, multiple_of=0), RangeError, "multiple_of=0"),
        (lambda: dim("N", multiple_of=M), RangeError, "multiple_of=M"),
        (lambda: dim("N", multiple_of=1.5), LeafTypeError, "1.5 is of type float"),
        (lambda: dim("N", at_most="8"), LeafTypeError, "'8' is of type str"),
        (lambda: dim("N", at_least=True), LeafTypeError, "True is a bool"),
        (lambda: index("i", 0), RangeError, "no integer has 0 <= i <= -1"),
        (lambda: index("i", i - M), RangeError, "no integer has"),
        (lambda: dim("1N"), LeafTypeError, "the name '1N'"),
        (lambda: dim("if"), LeafTypeError, "the name 'if'"),
        (lambda: dim("ceil"), LeafTypeError, "the name 'ceil'"),
        (lambda: dim(3), LeafTypeError, "the name 3"),
        (lambda: dims(["M"]), LeafTypeError, "dims(['M'])"),
        (lambda: SymInt("N"), LeafTypeError, "a name with its facts"),
        (
            lambda: dim("N", multiple_of=16) + N,
            RangeError,
            "two sets of facts for N: dim('N') and dim('N', multiple_of=16)",
        ),
        (lambda: dim("N", at_least=0) < i * N, RangeError, "two sets of facts for N"),
        (lambda: j + dim("N", at_least=2), RangeError, "two sets of facts for N"),
        (lambda: index("i", index("i", 4) + 4), RangeError, "two sets of facts for i"),
        (lambda: M // 0, RangeError, "a divisor that is 0"),
        (lambda: M % (N - N), RangeError, "a divisor that is 0"),
        (lambda: M // i, Unproven, "it is not known whether 1 <= i"),
        (lambda: M % (M - N), Unproven, "it is not known whether 1 <= M-N"),
        (lambda: 7 // (i - M + 1), RangeError, "a divisor that is 0 or may be"),
        (lambda: M / 2, LeafTypeError, "no true division"),
        (lambda: 2 / M, LeafTypeError, "no true division"),
        (lambda: M + 1.5, LeafTypeError, "1.5 is of type float"),
        (lambda: M + True, LeafTypeError, "True is a bool"),
        (lambda: M * None, LeafTypeError, "NoneType"),
        (lambda: M * Int[4], LeafTypeError, "Int[4] is a type"),
        (lambda: "a" * M, TypeError, ""),
        (lambda: M**-1, RangeError, "an exponent from 0 to 64"),
        (lambda: M**N, RangeError, "an exponent from 0 to 64"),
        (lambda: M << N, RangeError, "<< by N"),
        (lambda: M.at(M=0), RangeError, "M = 0"),
        (lambda: K.at(K=17), RangeError, "a multiple of 16"),
        (lambda: j.at(j=5, N=5), RangeError, "j = 5"),
        (lambda: M.at(M=1.0), LeafTypeError, "1.0"),
        (lambda: prove(3), LeafTypeError, "prove of a int"),
    ],
)
def test_bad_input_is_one_clear_error(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
    if error is not TypeError:
        assert isinstance(caught.value, TlaError)
        assert caught.value.reason.fix


def test_the_fixes_work():
    with pytest.raises(Unproven) as caught:
        tla.safe_div(M, 16)
    assert caught.value.reason.fix == 'declare dim("M", multiple_of=16), or go on under assuming()'
    assert tla.safe_div(dim("M", multiple_of=16), 16) * 16 == dim("M", multiple_of=16)
    with pytest.raises(Unproven) as caught:
        bool(M >= 4)
    assert "at_least=4" in caught.value.reason.fix
    assert dim("M", at_least=4) >= 4
    with pytest.raises(Unproven) as caught:
        bool(3 * K < 1000)
    assert "at_most=333" in caught.value.reason.fix
    assert 3 * dim("K", multiple_of=16, at_most=333) < 1000
    with pytest.raises(Unproven) as caught:
        (2 * K - 3) // (2 * K - 90)
    assert "at_least=46" in caught.value.reason.fix
    assert 2 * dim("K", multiple_of=16, at_least=46) - 90 >= 1
    with pytest.raises(Unproven) as caught:
        assert 3 <= 20 - M
    assert "at_most=17" in caught.value.reason.fix
    assert 3 <= 20 - dim("M", at_most=17)
    with pytest.raises(Unproven) as caught:
        M // dim("S", at_least=0)
    assert 'declare dim("S", at_least=1)' in caught.value.reason.fix


UNSETTLED = [
    ({}, lambda n: n.is_multiple_of(16), 'dim("n", multiple_of=16)'),
    ({}, lambda n: (3 * n).is_multiple_of(24), 'dim("n", multiple_of=8)'),
    ({}, lambda n: (6 * n).is_multiple_of(4), 'dim("n", multiple_of=2)'),
    ({}, lambda n: n.is_multiple_of(-4), 'dim("n", multiple_of=4)'),
    ({"multiple_of": 16}, lambda n: n.is_multiple_of(48), 'dim("n", multiple_of=48)'),
    ({"multiple_of": 16}, lambda n: (3 * n).is_multiple_of(64), 'dim("n", multiple_of=64)'),
    ({"multiple_of": 16}, lambda n: (n // 16).is_multiple_of(8), 'dim("n", multiple_of=128)'),
    ({"multiple_of": 4}, lambda n: (n // 4 * 6).is_multiple_of(9), 'dim("n", multiple_of=12)'),
    ({"at_least": 0}, lambda n: n >= 1, 'dim("n", at_least=1)'),
    ({"at_least": 0}, lambda n: n > 3, 'dim("n", at_least=4)'),
    ({}, lambda n: 3 * n >= 10, 'dim("n", at_least=4)'),
    ({"multiple_of": 16}, lambda n: n // 16 >= 3, 'dim("n", at_least=48)'),
    ({}, lambda n: n <= 17, 'dim("n", at_most=17)'),
    ({}, lambda n: n < 17, 'dim("n", at_most=16)'),
    ({}, lambda n: 5 * n < 12, 'dim("n", at_most=2)'),
    ({"multiple_of": 16}, lambda n: 3 * n < 1000, 'dim("n", at_most=333)'),
    ({}, lambda n: 2 * n <= 2, 'dim("n", at_most=1)'),
]


@pytest.mark.parametrize(("facts", "ask", "declared"), UNSETTLED)
def test_the_declaration_that_an_error_names_is_the_weakest_that_settles_it(facts, ask, declared):
    """It settles the condition; the next weaker one, or of a multiple each part of it, does not."""
    condition = ask(dim("n", **facts))
    assert condition.holds is None
    assert condition.settled_by() == f"declare {declared}"
    assert ask(eval(declared, {"dim": dim})).holds is True
    fact, number = re.fullmatch(r'dim\("n", (\w+)=(\d+)\)', declared).groups()
    weaker = {
        "at_least": [int(number) - 1],
        "at_most": [int(number) + 1],
        "multiple_of": [n for n in range(1, int(number)) if int(number) % n == 0],
    }
    assert [ask(dim("n", **{fact: n})).holds for n in weaker[fact]] == [None] * len(weaker[fact])


def test_what_no_declaration_of_one_size_settles_is_said_of_all():
    """Indices below 0 are no sizes; of an index it is what it is below, where that is the condition."""
    s, empty, e = index("s", 8, at_least=-8), dim("Z", at_least=0), index("e", dim("Z", at_least=0) + 1)
    for condition, said in (
        (s >= 0, 'dim("s", at_least=0)'),
        (s >= -3, "facts of s that imply it"),
        (s <= -3, "facts of s that imply it"),
        (empty <= 1, 'dim("Z", at_most=1)'),
        (empty <= 0, "facts of Z that imply it"),
        (M < N, 'index("M", below=N)'),
        (M < N * N - 1, 'index("M", below=N*N-1)'),
        (M <= N, "facts of M, N that imply it"),
        (2 * M < N, "facts of M, N that imply it"),
        (K < N, "facts of K, N that imply it"),
        (K // 16 < N, "facts of K, N that imply it"),
        (M * N < 5, "facts of M, N that imply it"),
        (M + N < 5, "facts of M, N that imply it"),
        (M.equals(N), "facts of M, N that imply it"),
        (M.is_multiple_of(N), "facts of M, N that imply it"),
        ((M * N).is_multiple_of(4), "facts of M, N that imply it"),
        ((M + 1).is_multiple_of(4), "facts of M that imply it"),
        (e < M, 'index("e", below=M)'),
    ):
        assert condition.holds is None, condition
        assert condition.settled_by() == f"declare {said}", condition


def test_a_size_that_may_be_zero_is_declared():
    empty = dim("E", at_least=0)
    assert (empty >= 0).holds
    assert (empty >= 1).holds is None
    assert (M >= 1).holds


# ---------------------------------------------------------------------------------------------------------- proofs


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        (lambda: i * N + j < M * N, True),
        (lambda: i * N + j >= 0, True),
        (lambda: i * N + j <= M * N, True),
        (lambda: i < N, False),
        (lambda: i * N + j < N * N, False),
        (lambda: (i * N + j) // 7 < M * N, True),
        (lambda: index("k", M * N) // N < M, True),
        (lambda: index("k", M * N) % N < N, True),
        (lambda: -(-M // 16) * 16 >= M, True),
        (lambda: M // 16 * 16 <= M, True),
        (lambda: M // 16 * 16 >= M, False),
        (lambda: tla.min(M, N) <= M, True),
        (lambda: tla.max(M, N) >= M, True),
        (lambda: tla.max(M, N) < M + N, True),
        (lambda: (i ^ 3) <= i + 3, True),
        (lambda: M * M >= M, True),
        (lambda: M * N >= M + N - 1, True),
        (lambda: M * N >= M + N, False),
        (lambda: K.is_multiple_of(4), True),
        (lambda: (K * M + 32).is_multiple_of(16), True),
        (lambda: M.is_multiple_of(2), False),
        (lambda: (M // 2 + (M + 1) // 2).equals(M), True),
        (lambda: (3 * M // 4).equals(M - -(-M // 4)), True),
        (lambda: (M % 32 // 4).equals(M // 4 % 8), True),
        (lambda: M.equals(N), False),
    ],
)
def test_proofs_and_counterexamples(condition, answer):
    asked = condition()
    assert prove(asked) is answer
    if answer is False:
        assert asked.at(asked.counterexample()) is False
    assert (prove.why_not(asked) is None) is (answer is not False)


def test_a_proof_is_a_proof():
    """Whatever is proved of random expressions holds at every value of a small domain, and what is refuted
    fails at one."""
    from expressions import random_text

    r = random.Random(3)
    sizes = dim("N", at_most=4)
    domain = [
        dict(zip("Nxyz", v)) for v in itertools.product(range(1, 5), range(4), range(5), range(-2, 3)) if v[1] < v[0]
    ]
    names = {"N": sizes, "x": index("x", sizes), "y": index("y", 5), "z": index("z", 3, at_least=-2)}
    answers = {True: 0, False: 0, None: 0}
    for _ in range(amount(120, 2000)):
        a, b = (eval(random_text(r, 3, ("N", "(2*N)")), {}, names) for _ in "ab")
        for condition in (a <= b, a < b, a == b, SymInt.equals(a, b) if isinstance(a, SymInt) else a == b):
            if isinstance(condition, bool):
                continue
            answers[condition.holds] += 1
            truths = {condition.at(v) for v in domain}
            if condition.holds is not None:
                assert truths == {condition.holds}, condition
            if prove(condition) is False:
                assert False in truths, condition
    assert min(answers.values()) > 30


# -------------------------------------------------------------------------------------------------------- text


def test_text_reads_as_the_same_integer():
    """parse(str(x)) == x also where equal expressions have two normal forms, of which the shortest text reads
    as the other."""
    from expressions import random_text

    x, y, z = dim("x"), dim("y"), dim("z", multiple_of=16)
    names = {"x": x, "y": y, "z": z}
    hard = [(z // y + 79) // 16, ((x - y) // y) // 16, (z * x + x - 3) // x, (x // y) * x + (x + 4) // x]
    hard += [((z + x + y // 16) - (x + 3 + y % 32)) % 6, (-y // 3 // 5 + x // 5 + x + y - 6) // 8]
    r = random.Random(28)
    for n in hard + [tla.parse(random_text(r, 2 + k % 4).replace("-1", "(0-1)"), symbols=names) for k in range(2000)]:
        if isinstance(n, SymInt):
            assert tla.parse(str(n), symbols=names) == n, n
            assert eval(repr(n), vars(tla)) == n, n


# -------------------------------------------------------------------------------------------------------- assuming


def test_assuming_records_conditions():
    with assuming() as conditions:
        assert str(tla.safe_div(M, 16)) == "M//16"
        assert tla.shape_div(N, 16) == N // 16
        assert tla.safe_div(M, 16) == M // 16
        assert str(M // i) == "M//i"
    assert [str(c) for c in conditions] == ["16 divides M", "16 divides N", "1 <= i"]
    assert [c.to_python() for c in conditions] == ["M % 16 == 0", "N % 16 == 0", "1 <= i"]
    assert tla.to_python((2 * M + 1).is_multiple_of(M + N)) == "(2*M + 1) % (M + N) == 0"
    with pytest.raises(Unproven, match="16 divides M"):
        tla.safe_div(M, 16)


def test_assuming_does_not_take_what_is_false():
    with assuming() as conditions:
        with pytest.raises(tla.DivisibilityError):
            tla.safe_div(2 * M + 1, 2)
        with pytest.raises(RangeError):
            M // (i - M + 1)
    assert conditions == []


def test_conditions_that_contradict_each_other_are_listed():
    blocks, rows = N // dim("B", multiple_of=4), 2 // (N * N)  # both are 1 or more nowhere
    with assuming() as conditions:
        assert str(K // blocks // rows + 1).startswith("K//")
    assert [str(c) for c in conditions] == ["1 <= N//B", "1 <= 2//(N*N)"]


def test_a_truth_value_is_not_assumed_and_its_fix_does_not_say_so():
    with assuming() as conditions, pytest.raises(Unproven) as caught:
        bool(M < N)
    assert (conditions, caught.value.reason.fix) == ([], 'declare index("M", below=N)')


def test_nothing_of_a_divisor_that_is_taken_to_be_positive():
    empty = dim("Z", at_least=0)
    with assuming() as conditions:
        x = 0 // empty + empty * 3 // empty
    assert (x, [*map(str, conditions)]) == (3, ["1 <= Z"])


def test_one_name_of_two_sizes_is_refused_by_questions_as_well():
    other = dim("N", multiple_of=16)
    for ask in (
        lambda: N.equals(other),
        lambda: N.is_multiple_of(other),
        lambda: at_most(N, other),
        lambda: divides(N, other),
    ):
        with pytest.raises(RangeError, match="two sets of facts for N"):
            ask()
    with pytest.raises(RangeError, match="two sets of facts for N"):
        parse("min(M,N)", symbols={"M": other, "N": N})


def test_threads_make_one_symbol():
    interval, start, made = sys.getswitchinterval(), threading.Barrier(4), []

    def declare():
        for k in range(300):
            start.wait()
            made.append(dim(f"Th{k}"))

    threads = [threading.Thread(target=declare) for _ in range(4)]
    try:
        sys.setswitchinterval(1e-6)
        for step in (threading.Thread.start, threading.Thread.join):
            for thread in threads:
                step(thread)
    finally:
        sys.setswitchinterval(interval)
    assert len(set(made)) == 300


def test_assuming_nests_and_leaves_nothing_behind():
    with assuming() as outer:
        with assuming() as inner:
            tla.safe_div(M, 8)
        tla.safe_div(M, 4)
    assert ([str(c) for c in inner], [str(c) for c in outer]) == (["8 divides M"], ["4 divides M"])
    with pytest.raises(ZeroDivisionError), assuming():
        raise ZeroDivisionError
    with pytest.raises(Unproven):
        tla.safe_div(M, 4)


def test_what_rests_on_a_condition_is_not_remembered():
    from tla.core.cache import memo

    @memo
    def halves(layout):
        return tla.safe_div(layout.shape[0], 2)

    layout = MakeLayout(M)
    with assuming() as conditions:
        assert halves(layout) == M // 2
    assert len(conditions) == 1
    with pytest.raises(Unproven):
        halves(layout)


# --------------------------------------------------------------------------------------------------------- layouts


def test_layouts_over_sizes_are_the_same_functions():
    sizes = {"M": 12, "N": 10, "K": 48}
    for layout in (
        MakeLayout((M, N)),
        MakeLayout((M, N), tla.LayoutRight),
        MakeLayout(((_4, M), (K, Int[2]()))),
        tla.Layout((M, 4), (N, M)),
        tla.Layout(((16, M), (16, N)), ((16, 256), (1, 256 * M))),
    ):
        numbers = tla.Layout(at(layout.shape, sizes), at(layout.stride, sizes))
        for coord in (0, 7, 55, (3, 2)):
            assert at(layout(coord), sizes) == numbers(coord)
        assert at(layout(index("a", M), index("b", N)), {**sizes, "a": 5, "b": 3}) == numbers(5, 3)
        assert at(layout(index("a", M * N)), {**sizes, "a": 77}) == numbers(77)
        assert at(tla.size(layout), sizes) == tla.size(numbers)
        assert at(tla.cosize(layout), sizes) == tla.cosize(numbers)
        assert at(layout.origin_shape, sizes) == numbers.origin_shape
        assert parse(str(layout), symbols=[M, N, K]) == layout
        assert [str(x) for x in layout(np.arange(3), 2)] == [str(layout(k, 2)) for k in range(3)]


def at(x, sizes):
    return tuple(at(m, sizes) for m in x) if isinstance(x, tuple) else x.at(sizes) if isinstance(x, SymInt) else x


def test_offsets_are_in_simplest_form():
    zN = tla.Layout(
        ((_16, dim("M", multiple_of=16) // 16), (_16, dim("N", multiple_of=16) // 16)),
        ((_16, Int[256]()), (_1, dim("M", multiple_of=16) * 16)),
    )
    rows, columns = index("i", dim("M", multiple_of=16)), index("j", dim("N", multiple_of=16))
    assert str(zN) == "((_16,M//16),(_16,N//16)):((_16,_256),(_1,16*M))"
    assert str(zN(rows, columns)) == "((M-1)*(j//16)+i)*16+j"
    assert str(MakeLayout((M, N))(index("t", M * N))) == "t"


_16 = Int[16]()


def test_swizzles_of_indices():
    swizzled = parse("Sw<3,3,3> o _0 o (8,64):(64,_1)")
    a, b = index("a", 8), index("b", 64)
    assert str(swizzled(a, b)) == "64*a+(b^8*a)"
    for values in ({"a": 3, "b": 41}, {"a": 7, "b": 63}, {"a": 0, "b": 5}):
        assert swizzled(a, b).at(values) == swizzled(values["a"], values["b"])
    composed = tla.ComposedLayout(MakeLayout((M, N)), 0, parse("(4,2):(2,1)"))
    assert eval(repr(composed), {"parse": parse, "dim": dim}) == composed


@pytest.mark.parametrize("mask", [0b111, 0b111000, 0b1011001, ~0b111, -1, 6, 0])
def test_masks(mask):
    x = index("x", 300, at_least=-300)
    for v in range(-300, 300, 7):
        for result, truth in ((x & mask, v & mask), (mask & x, v & mask), (x | mask, v | mask), (x ^ mask, v ^ mask)):
            assert at(result, {"x": v}) == truth
    assert str(x & 0b111000) == "((x//8)%8)*8"


def test_shifts_of_0_to_62():
    x = index("x", 2**63 - 1, at_least=-(2**63))
    for k in (0, 1, 5, 61, 62):
        assert (x << k).at(x=1) == 1 << k
        for v in (11, 2**62 + 1, -1, -(2**62) - 1):
            assert (x >> k).at(x=v) == value(text.python((x >> k).form), {"x": v}) == v >> k
    for k in (63, -1):
        for shift in (operator.lshift, operator.rshift):
            with pytest.raises(RangeError, match="a number from 0 to 62"):
                shift(M, k)


def test_masks_as_they_are_written():
    """One run of bits is a digit in its place; of others the form stands that is found."""
    x = index("x", 200)
    for mask in (*range(1, 65), 96, 112, 120, 160, 248):
        masked = x & mask
        for t in (masked.written, masked.form):
            assert [value(text.python(t), {"x": v}) for v in range(0, 200, 3)] == [
                v & mask for v in range(0, 200, 3)
            ], mask
        low = mask & -mask
        run = f"(x%{mask + 1})" if low == 1 else f"((x//{low}) % {mask // low + 1})*{low}"
        if not mask & (mask + low) and mask < 128:
            assert text.python(masked.written).replace(" ", "") == run.replace(" ", "").removeprefix(
                "(" if low == 1 else ""
            ).removesuffix(")" if low == 1 else "")


def test_sizes_that_a_print_does_not_tell():
    extent, stride = declare.unknown("e", 4, True), declare.unknown("d", 4, False)
    assert [n.at({str(n): v}) for n, v in ((extent, 0), (extent, 2**62), (stride, 2**62 - 4), (stride, -(2**62)))] == [
        0,
        2**62,
        2**62 - 4,
        -(2**62),
    ]
    for n, bad in ((extent, (-4, 6)), (stride, (6, 2**62, -(2**62) - 4))):
        for v in bad:
            with pytest.raises(RangeError):
                n.at({str(n): v})


def test_sizes_of_a_bound_that_do_not_show():
    column = index("c", below=N)
    assert tla.at((column, 2 * column + 1), c=5, N=9) == (5, 11)
    with pytest.raises(RangeError):
        tla.at(column, c=5, N=5)
    with pytest.raises(Unproven):
        tla.at(column, c=5)


def test_latex():
    layout = MakeLayout((M, K // 32), (N % 7 - M, 1))
    assert latex(layout) == (
        r"\left(M, \left\lfloor \frac{K}{32} \right\rfloor\right) : \left(\left(N \bmod 7\right) - M, 1\right)"
    )
    assert latex(-(-N // 4) * 3) == r"3 \, \left\lceil \frac{N}{4} \right\rceil"
    assert (M * dim("n_k")).latex() == r"M \, n_{k}"


# -------------------------------------------------------------------------------------------------------- notation


@pytest.mark.parametrize(
    "text",
    [
        "M",
        "16*M",
        "ceil(N/128)",
        "N//16",
        "(N//16)*8",
        "N%16",
        "M*N",
        "M-1",
        "-M",
        "M*N+N",
        "min(M,N,3)",
        "M^3",
        "(M+N)%7",
        "-(M//3)",
    ],
)
def test_what_prints_reads_back(text):
    value = parse(text, symbols=[M, N])
    assert str(value) == text
    assert parse(str(value), symbols=(M, N)) == value
    nested = parse(f"(({text}),_4,({text}@1,{text}))", symbols=[M, N])
    assert parse(str(nested), symbols=[M, N]) == nested
    assert nested[0][0] == nested[2][1] == value


@pytest.mark.parametrize(
    ("text", "symbols", "where"),
    [
        ("(M,N)", None, 1),
        ("(M,K)", [M], 3),
        ("M+", [M], 2),
        ("M/2", [M], 1),
        ("(M+", [M], 3),
        ("ceil(M)", [M], 6),
        ("ceil(M/2", [M], 8),
        ("M N", [M, N], 2),
        ("M$", [M], 1),
        ("M*99999999999999999999", [M], 2),
        ("M*9223372036854775808", [M], 2),
        ("M*10000000000000000000", [M], 2),
        ("M*" + "9" * 5000, [M], 2),
        ("(" * 100 + "M", [M], 64),
        ("(" * 100 + "M" + ")*1" * 100, [M], 64),
        ("__import__('os')", [M], 0),
        ("M.real", [M], 1),
        ("M**2", [M], 2),
    ],
)
def test_bad_expressions_have_a_place(text, symbols, where):
    with pytest.raises(ParseError) as caught:
        parse(text, symbols=symbols)
    assert caught.value.position == where


@pytest.mark.parametrize("n", [2**63 - 1, 10**18, 10])
def test_numbers_up_to_64_bits_are_read_however_many_zeros_they_begin_with(n):
    for zeros in (0, 1, 19, 20, 5000):
        digits = "0" * zeros + str(n)
        assert parse(f"M*{digits}", symbols=[M]) == M * n
        assert [parse(x) for x in (digits, f"_{digits}", f"-{digits}", f"_-{digits}")] == [n, n, -n, -n]
    assert parse(str(-(2**63))) == -(2**63)
    assert parse("0" * 5000) == 0
    for digits in (2**63, 10**19, 2**64, 10**20, 10**5 * n + 10**22):
        with pytest.raises(ParseError):
            parse(str(digits))
        with pytest.raises(ParseError):
            parse(str(-digits - 1))


@pytest.mark.parametrize(
    "text", ["-M//N", "-M%N", "-7//N*M", "N+-M//3", "-M*N//4", "3-M//N", "-7//2", "-7%4", "-(M)//N%3", "N--M//2"]
)
def test_a_minus_binds_as_in_python(text):
    """-M//N is (-M)//N: what one text means does not depend on who reads it."""
    read = parse(text, symbols=[M, N])
    for m, n in itertools.product(range(1, 9), range(1, 5)):
        assert tla.at(read, {"M": m, "N": n}) == value(text, {"M": m, "N": n})


def test_symbols_of_parse():
    assert parse("(M,2)", symbols=M) == (M, 2)
    assert parse("(M,2)", symbols={"M": 8}) == (8, 2)
    for bad in ([M + 1], 3, ["M"]):
        with pytest.raises(LeafTypeError):
            parse("M", symbols=bad)


# ---------------------------------------------------------------------------------------------------------- limits


def test_sizes_are_limited():
    def grown(step):
        x = M
        for _ in range(100_000):
            x = step(x)

    for step in (
        lambda x: x + x // 3,
        lambda x: x * (x + N),
        lambda x: (x + 1) // 2 % 7 * x + N % 5,
        lambda x: (x ^ 5) * 3,
    ):
        with pytest.raises(RangeError, match="at most"):
            grown(step)
    with pytest.raises(RangeError, match="nodes"):
        sum(dim(f"N{k}") for k in range(100_000))
    x = M
    for _ in range(10_000):
        x = x + 1
    assert str(x) == "M+10000"
    assert pickle.loads(pickle.dumps(x)) == x


def test_up_to_the_limits_all_is_computed():
    """1,000 terms, 10,000 products of terms, 10,000 nodes, divisions 60 deep."""
    sizes = dims(" ".join(f"N{k}" for k in range(1001)))
    most = sum(sizes[:1000])
    with pytest.raises(RangeError, match="an expression of 1001 nodes"):
        most + sizes[1000]
    x = sum(M**a * N**b for a in range(10) for b in range(10))
    assert (x * x).at(M=1, N=1) == 10_000
    with pytest.raises(RangeError, match="an expression of 10100 nodes"):
        x * (x + K)
    long = Poly(
        {tuple([n.poly.atoms[0]] * 9): 1 for n in sizes[:998]} | {(sizes[999].poly.atoms[0],) * 17: 1}
    )  # 9,998 nodes
    assert poly.atom("//", long, poly.number(7)).size == 10_000
    with pytest.raises(RangeError, match="an expression of 10001 nodes"):
        poly.atom("//", long + poly.number(1), poly.number(7))
    deep = M.poly
    for level in range(1, 61):
        deep = poly.one_of(poly.atom("//", deep, poly.number(7)))
        assert deep.level == level
    with pytest.raises(RangeError, match="divisions 61 deep"):
        poly.atom("//", deep, poly.number(7))


def test_exact_quotients_of_polynomials():
    """p * d // d is p, by one term and by sums; of p * d + 1 there is none; nor one of more terms than p
    has and one."""
    factors = [x.poly for x in (M, 3 * M, -2 * N, M - 1, M + N, 2 * M - 3 * N + 1, M * N + 4, M * M - N, K // 32 + M)]
    for p, d in itertools.product(factors, factors):
        assert poly.exact(p * d, d) == p
        assert poly.exact(p * d + poly.number(1), d) is None
        assert poly.exact(p, d * p) is None
    for power, terms in ((2, 2), (3, 3), (4, None)):
        found = poly.exact((M**power - 1).poly, (M - 1).poly)
        assert (found and len(found.terms)) == terms


def test_explain_goes_back_100_operations():
    """First of all is (M*N)//N: two operations, and one for each that is added."""
    for more, known in ((98, True), (99, False)):
        x = M * N // N
        assert tla.explain(x)
        for k in range(more):
            x = x + (k + 2)
        assert bool(tla.explain(x)) is known


def test_printing_a_long_sum_takes_no_time_to_speak_of():
    x = sum(dim(f"N{k}") * (k % 7) // 3 for k in range(60))
    assert len(str(x)) > 300


def test_what_is_used_twice_and_again_takes_no_time_to_speak_of():
    x = y = N
    for _ in range(200):
        x, y = x + x, (y * 3 + y) % 1000
    assert str(x) == f"{1 << 200}*N"
    assert y.at(N=7) == 7 * 4**200 % 1000


def test_extents_that_may_be_negative():
    for extent in (N - 3, index("q", below=5, at_least=-2), M * (N - 2)):
        with pytest.raises(Unproven, match="extent") as caught:
            MakeLayout((extent, 4))
        assert caught.value.reason.fix
        with assuming() as conditions:
            assert MakeLayout((extent, 4)).shape[0] == extent
        assert len(conditions) == 1
    assert MakeLayout((dim("big", at_least=4) - 3, 4))
    with pytest.raises(tla.RangeError):
        MakeLayout((-M, 4))


def needs_16(n):
    return tla.safe_div(n, 16)


def test_assuming_in_a_suspended_generator_is_not_its_callers():
    n, m = tla.dims("n m")

    def suspended():
        with tla.assuming() as conditions:
            needs_16(n)
            yield conditions
            needs_16(m)
        yield conditions

    parts = suspended()
    conditions = next(parts)
    with pytest.raises(tla.Unproven):
        needs_16(m)
    with tla.assuming() as own:  # it begins after the generator's block, and ends after it
        needs_16(m)
        assert [*map(str, next(parts))] == ["16 divides n", "16 divides m"]
        needs_16(n)
    assert [*map(str, own)] == ["16 divides m", "16 divides n"]
    assert len(conditions) == 2
    with pytest.raises(tla.Unproven):
        needs_16(n)


def test_assuming_in_generators_of_contextlib_and_in_calls_is_a_block():
    n, m = tla.dims("n m")

    @contextlib.contextmanager
    def mine():
        with tla.assuming() as conditions:
            yield conditions

    with mine() as conditions, contextlib.ExitStack() as stack:
        needs_16(n)
        inner = stack.enter_context(tla.assuming())
        assert [needs_16(x) for x in (m,)]  # a frame of its own before 3.12

    def all_in_one():
        with tla.assuming() as conditions:
            yield from (needs_16(x) for x in (n, m))
            yield [*conditions]

    assert [str(c) for part in (conditions, inner) for c in part] == ["16 divides n", "16 divides m"]
    assert [*map(str, [*all_in_one()][-1])] == ["16 divides n", "16 divides m"]


def test_a_quotient_has_one_form_whatever_is_added():
    M, N = dims("M N")
    for k in range(-9, 20):
        assert (M + k) // 4 == (M + k % 4) // 4 + k // 4
        assert (2 * M * N + k) // 6 == (2 * M * N + k % 6) // 6 + k // 6


def test_what_may_be_negative_is_not_cancelled():
    M, i, j = dim("M"), index("i", below=0, at_least=-8), index("j", below=0, at_least=-8)
    assert str((M * j) // (i * j)) == "M*j//(i*j)"


@pytest.mark.parametrize("declare", [dim, functools.partial(index, below=8)])
@pytest.mark.parametrize("unit", [0, -1])
def test_a_multiple_of_nothing_is_refused(declare, unit):
    with pytest.raises(RangeError, match="multiple_of"):
        declare("i", multiple_of=unit)


def test_declarations_are_read_as_what_they_declare():
    """Of each lower and upper end, with a unit and without: the text makes the same size, and is dim() of
    what that takes."""
    for unit, low, high in itertools.product((1, 4), (-8, 0, 1, 4, 5, M, M + 1), (None, 8, 9, M + 40)):
        if low == -8:
            size = index("W", 40 if high is None else high + 1, at_least=low, multiple_of=unit)
        elif isinstance(low, SymInt) and isinstance(high, int):
            continue
        else:
            size = dim("W", multiple_of=unit, at_least=low, at_most=high)
        assert eval(repr(size), vars(tla)) == size, (unit, low, high)
        is_dim = low != -8 if high is None else isinstance(low, int) and low > 0 and isinstance(high, int)
        assert repr(size).startswith("dim(" if is_dim else "index("), size
    for size, shortest in (
        (dim("W", at_least=4, multiple_of=4), "dim('W', multiple_of=4)"),
        (dim("W", at_least=5, multiple_of=4), "dim('W', multiple_of=4, at_least=8)"),
        (dim("W", at_least=2, at_most=9), "dim('W', at_least=2, at_most=9)"),
        (dim("W", at_most=9, multiple_of=4), "dim('W', multiple_of=4, at_most=8)"),
        (index("W", 9, multiple_of=4), "index('W', below=9, multiple_of=4)"),
        (index("W", 9, at_least=-1), "index('W', below=9, at_least=-1)"),
        (index("W", M + 1, at_least=1), "index('W', below=parse('M+1', symbols=[dim('M')]), at_least=1)"),
    ):
        assert repr(size) == shortest


def test_declarations_are_the_shortest():
    assert repr(dim("W", at_least=1, at_most=5)) == "dim('W', at_most=5)"
    assert repr(dim("W", at_least=0, at_most=5)) == "index('W', below=6)"
    assert latex(3 * dim("K") * dim("M") * dim("N")) == r"3 \, K \, M \, N"


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_what_is_no_number_has_no_order(compare):
    for pair in ((M, object()), (object(), M)):
        with pytest.raises(TypeError, match="not supported between instances"):
            compare(*pair)
