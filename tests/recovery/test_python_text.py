"""Statements of Python and Triton before an address: against Python's own execution of the same text."""

import itertools
import re

import numpy as np
import pytest

from tla import ParseError, layout_of, offsets

TEXTS = [
    "row = t // 8\ncol = t % 8\nrow * 64 + (col ^ row % 8) * 8",
    "x = t\nx += 3\nx *= 2\nx",
    "x = t\nx ^= 1",
    "a = (t +\n     3)  # a remark\nb = a * 2\nb - a",
    "t = t * 2\nt + 1",
    "x = 5; y = x * t; y",
    "x = t\n\n\n# a remark with (\ny = x // 4 * 32 + x % 4",
]


@pytest.mark.parametrize("text", TEXTS)
def test_statements_are_those_of_python(text):
    last = re.split(r"[;\n]", text)[-1]
    wanted = []
    for t in range(64):
        names = {"t": t}
        exec(text, names)  # our own texts
        assigned = re.match(r"\s*(\w+) (?:\^|\+)?= ", last)
        wanted.append(names[assigned[1]] if assigned else eval(last, names))
    assert offsets(layout_of(text, shape={"t": 64}, language="python")).ravel("F").tolist() == wanted


def test_aranges_are_coordinates_in_the_order_of_their_axes():
    text = "k = tl.arange(0, 8)\nm = tl.program_id(axis=0) * 16 + tl.arange(0, 16)\na_ptr + m[:, None] * 40 + k[None, :]"
    found = layout_of(text, shape=(16, 8), language="triton", values={"tl.program_id(0)": 3})
    wanted = [(48 + m) * 40 + k for m, k in itertools.product(range(16), range(8))]
    assert np.asarray(offsets(found)).reshape((16, 8), order="F").ravel().tolist() == wanted
    direct = "tl.arange(0, 8)[None, :] + tl.arange(0, 16)[:, None] * 8"
    assert str(layout_of(direct, shape=(16, 8), language="triton")) == "(_16,_8):(_8,_1)"


def test_piecewise_of_sympy():
    sympy = pytest.importorskip("sympy")
    i = sympy.symbols("i", integer=True, nonnegative=True)
    found = layout_of(sympy.Piecewise((i, i < 4), (i + 100, True)), shape=8)
    assert offsets(found).ravel("F").tolist() == [0, 1, 2, 3, 104, 105, 106, 107]


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        ("i += 8", "python", "a side effect: +="),
        ("x = A[i]\nx * 2", "python", "A[...]: an index that depends on data"),
        ("x = i\nx[0] = 3", "python", "a side effect: ="),
        ("for i in range(3): pass", "python", "unexpected 'for'"),
        ("i * 2\nx = 3", "python", "expected  the end of the text"),
        ("tl.arange(4, 8)", "triton", "an arange from 0"),
        ("tl.arange(0, 32)", "triton", "an arange of 32 for an extent of 8"),
        ("Piecewise((i, i < 4))", "sympy", "a function that ends without a value"),
    ],
)
def test_what_is_refused_of_statements(text, language, said):
    with pytest.raises(ParseError) as info:
        layout_of(text, shape=8, coords="arange0" if "arange" in text else "i", language=language)
    assert said in str(info.value)
