"""static and dynamic: plain integers as known ones, and back; the same answers as those of layouts that were written with Int[n]()."""

import itertools

import numpy as np
import pytest

import tla
from tla import (
    Int,
    LeafTypeError,
    Swizzle,
    Unproven,
    complement,
    composition,
    dim,
    dynamic,
    left_inverse,
    make_layout,
    parse,
    right_inverse,
    static,
)

TEXTS = ["(_4,_2):(_1,_4)", "((_2,_3),_4):((_12,_4),_1)", "(_4,_4):(_1@0,_1@1)", "Sw<2,0,3> o _8 o (_8,_8):(_8,_1)", "(_4,_0):(_0,_-3)"]


@pytest.mark.parametrize("text", TEXTS)
def test_there_and_back(text):
    known = parse(text)
    plain = dynamic(known)
    assert "_" not in str(plain).replace("Sw<", "")
    assert str(static(plain)) == text == str(static(known))
    assert str(dynamic(plain)) == str(plain)
    assert static(plain) == known


def test_what_else_has_integers():
    n = dim("N")
    assert str(static((4, (2, n), None, tla._))) == str((Int[4](), (Int[2](), n), None, tla._))
    assert type(static(np.int32(4))) is type(Int[4]())
    assert type(dynamic(Int[4]())) is int
    assert static(Swizzle[3, 0, 3]()) == Swizzle[3, 0, 3]()
    tiler = static((make_layout(4, 2), 8))
    assert str(tiler[0]) == "_4:_2"
    for bad in ("4", 1.5, object(), [4]):
        with pytest.raises(LeafTypeError):
            static(bad)


def test_what_is_valid_stays():
    padded = tla.Layout((8, 8), (1, 8), (5, 6))
    assert static(padded).origin_shape == (5, 6)
    assert str(dynamic(static(padded)).origin_shape) == "(5,6)"


def test_answers_are_those_of_static_integers():
    """Every pair of small layouts: plain integers, made known, answer as those that were written static."""
    shapes = [(s, d) for s in itertools.product((2, 4), (2, 3)) for d in ((1, 4), (3, 1), (4, 1), (1, 2))]
    for s, d in shapes:
        plain = make_layout(s, d)
        written = make_layout(tuple(Int[n]() for n in s), tuple(Int[n]() for n in d))
        assert str(right_inverse(static(plain))) == str(right_inverse(written))
        for (t, e), f in itertools.product(shapes, (composition, complement)):
            two = [written, make_layout(tuple(Int[n]() for n in t), tuple(Int[n]() for n in e)) if f is composition else 48]
            given = [static(plain), static(make_layout(t, e)) if f is composition else 48]
            answers = []
            for x in (two, given):
                try:
                    answers.append(str(f(*x)))
                except tla.TlaError as error:
                    answers.append(str(error))
            assert answers[0] == answers[1]


@pytest.mark.parametrize("operation", [lambda x: complement(x, 16), left_inverse])
def test_errors_of_plain_integers_name_it(operation):
    plain = make_layout((2, 2), (4, 1))
    with pytest.raises(Unproven, match=r"write static\(layout\)"):
        operation(plain)
    operation(static(plain))
