"""The values of layouts: their span, of numbers and of sizes that may be 0."""

import itertools

import pytest

import tla
from tla import Int, Layout, RangeError, Unproven, dim, dims, parse

import oracle

M, N = dims("M N")
Z, Y = dim("Z", at_least=0), dim("Y", at_least=0, multiple_of=4)
SIZES = [dict(zip("MNZY", n)) for n in itertools.product((1, 2, 5), (1, 3), (0, 1, 4), (0, 8))]


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("(Z,M):(_1,Z)", "_0"),
        ("(M,Z):(_1,M)", "_0"),
        ("(Z,2):(_1,0)", "_0"),
        ("(Z,4):(4,_1)", "_0"),
        ("Z:_1", "_0"),
        ("(Z,Y):(_1,Z)", "_0"),
        ("(M,4):(_1,M)", "_0"),
        ("(M,N):(-1,1)", "_0"),
        ("(_0,Z):(_1,_4)", "_0"),
        ("(M,_0):(_1,_4)", "_0"),
        ("(Z,0):(1,Z)", "_0"),
        ("(M):(_0)", "_0"),
        ("(M,4):(1@0,2@1)", "(_0,_0)"),
        ("(M,4):(1@0,1@0)", "(_0)"),
        ("(M,_0):(_1@0,_1@1)", "(_0,_0)"),
        ("(M,4):(1@0@1,-2@0)", "(_0,(_0))"),
    ],
)
def test_the_span_at_every_size(text, profile):
    a = parse(text, symbols=[M, N, Z, Y])
    spans, whole = tla.coshape(a), tla.cosize(a)
    assert str(tla.coprofile(a)) == profile
    for sizes in SIZES:
        shape, strides = oracle.plain(tla.at(a.shape, sizes)), [*oracle.leaves(tla.at(a.stride, sizes))]
        empty = 0 in oracle.leaves(shape)
        of_mode = {}
        for s, d in zip(oracle.leaves(shape), strides):
            path = getattr(d, "path", ())
            of_mode[path] = of_mode.get(path, 1) + (s - 1) * abs(int(getattr(d, "value", d)))
        wanted = [0 if empty else of_mode[path] for path in sorted(of_mode)]
        assert [*map(int, oracle.leaves(tla.at(spans, sizes)))] == wanted, sizes
        assert tla.at(whole, sizes) == tla.product(tuple(wanted))


@pytest.mark.parametrize("text", ["(Z,4):(_1,M)", "(Z,4):(8,_1)", "(Z,4):(1@0,2@1)", "Z:2", "(Z):(_0)", "(Z,Y):(_1,8)"])
def test_a_span_that_has_no_one_expression(text):
    a = parse(text, symbols=[M, N, Z, Y])
    with pytest.raises(Unproven, match="1 <= "):
        tla.coshape(a)
    with tla.assuming() as conditions:
        tla.coshape(a)
    assert str(conditions[0]) == "1 <= Z"


def test_the_span_of_every_small_layout_of_either_kind():
    kinds = (int, lambda n: Int[n]())
    for s, d in itertools.product(itertools.product((0, 1, 3), repeat=2), itertools.product((-2, 0, 5), repeat=2)):
        for k in itertools.product(kinds, repeat=4):
            a = Layout((k[0](s[0]), k[1](s[1])), (k[2](d[0]), k[3](d[1])))
            static = a.is_static or any(type(n) is Int and n == 0 for n in a.shape)
            try:
                span = tla.cosize(a)
            except RangeError:  # a number that a dynamic 0 must not change
                assert 0 in s
                assert not any(type(n) is Int and n == 0 for n in a.shape)
                assert tla.is_static(tla.cosize(Layout(tuple(n if n else 7 for n in a.shape), a.stride)))
                continue
            image = oracle.offsets(s, d)
            assert span == (max(image) - min(image) + 1 if image else 0), a
            assert not static or tla.is_static(span), a
