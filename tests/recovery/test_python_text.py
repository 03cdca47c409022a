"""Statements of Python and Triton before an address: against Python's own execution of the same text."""

import itertools
import random
import re

import numpy as np
import pytest

from tla import ParseError, TlaError, layout_of, offsets
from tla.recovery.evaluate import table_of
from tla.recovery.texts import coordinates_of, read

from night import amount

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


FUNCTIONS = [
    "def f(i, j):\n    return i * 8 + j",
    "import math\n\ndef half(x):\n    y = x // 2\n    return y\n\ndef f(i, j):\n    y = half(j)\n    return half(i) * "
    "8 + y + half(half(i + y))",
    'def f(i: int, j: int) -> int:\n    """A table (of\n    8."""\n    assert i >= 0, "not ("\n    if j > 9:\n        raise ValueError(\'no\')\n    return (i\n            + j)',
    "f = lambda i, j: i * 2**j + 3**2",
    "g = lambda x: x**3\nh = lambda x, y: g(x) - g(y)\ndef f(i, j):\n    i, j = j, i\n    i += 1\n    return h(i, j)",
    "def f(i, j):\n    if i > 3:\n        return i\n    return j * 8",
    "def f(i, j):\n    if i > 3: return i\n    elif j > 2: x = j\n    else:\n        x = 3\n        x += i\n    return "
    "x * 4",
    "def f(i, j):\n    x = i\n    if j & 1:\n        if i & 1:\n            x = 7\n        x += j\n    else:\n        "
    "return 5\n    return x",
    "def f(i, j):\n    if i:\n        q, r = divmod(j * 8, i)\n    else:\n        q, r = 1, 2\n    return q * 100 + r",
    "def g(x, n=3, m=1 << 2):\n    row: int = x * n\n    return row + m\ndef f(i, j):\n    return g(i) + g(j, 5) + "
    "g(i, 1, 2)",
    "def f(i, j):\n    # a remark\n    if i >= 4 \\\n            and j:  # another\n        return -1\n\n    return i "
    "* 8 + j",
    "N = 5\ndef f(i, j):\n    i, j = i * N, \\\n        j + N\n    return i % 4, j",
]


def some_statements(rng, names, depth, indent):
    """Random lines of a function: assignments, branches and returns, of names that may have no value."""
    lines = []
    value = lambda: f"{rng.choice(names)} {rng.choice('+-*^&|')} {rng.choice([*names, '3', '5'])}"  # noqa: E731
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(("assign", "assign", "change", "if", "if")) if depth else "assign"
        if kind == "if":
            lines.append(
                f"{indent}if {rng.choice(names)} % {rng.choice('235')} {rng.choice(('==', '<', '!='))} "
                f"{rng.choice('012')}:"
            )
            lines += some_statements(rng, names, depth - 1, indent + "    ")
            for head in rng.choice(([], [], ["else:"], ["elif i < 3:"], ["elif j > i:", "else:"])):
                lines += [indent + head, *some_statements(rng, names, depth - 1, indent + "    ")]
        else:
            lines.append(
                f"{indent}{rng.choice(names)} {'=' if kind == 'assign' else rng.choice(('+=', '^='))} {value()}"
            )
    if rng.random() < 0.3 or indent == "    ":
        lines.append(f"{indent}return {value()}")
    return lines


def test_random_functions_are_those_of_python():
    """With branches; what has no value at some coordinate, in Python, is refused."""
    rng, answered = random.Random(33), 0
    for _ in range(amount(400, 20_000)):
        names = ["i", "j", "x"]
        body = [*rng.choice(([], ["    x = 1"])), *some_statements(rng, names, 2, "    ")]
        text = "def f(i, j):\n" + "\n".join(body)
        given = {}
        exec(text, given)  # our own texts
        try:
            wanted = [given["f"](i, j) for i in range(5) for j in range(4)]
        except NameError:
            wanted = None
        code = None
        try:
            code = read(text, "python")
            found = table_of(code, coordinates_of(code, None, 2, {}), (5, 4), {}, "int64").ravel().tolist()
        except TlaError as error:
            assert (
                wanted is None
                or None in wanted
                or re.search("has no range|no value|for 2 extents|return|a side effect: .= *", str(error))
            ), text
            continue
        answered += 1
        assert found == wanted, text
    assert answered > 100


@pytest.mark.parametrize(
    ("text", "by_definition"),
    [
        ("T.index_map(lambda i, j: (i // 4, j, i % 4))", lambda i, j: (i // 4 * 8 + j) * 4 + i % 4),
        ("tvm.tir.IndexMap.from_func(lambda i, j: [j, i], ndim=None, index_dtype='int32')", lambda i, j: j * 8 + i),
        ("m = T.index_map(lambda i, j: i * 8 + (i ^ j), inverse_index_map=None)", lambda i, j: i * 8 + (i ^ j)),
        (
            "tl.Layout([8, 8], lambda i, j: [i, (j // 2 ^ i % 4) * 2 + j % 2])",
            lambda i, j: i * 8 + (j // 2 ^ i % 4) * 2 + j % 2,
        ),
    ],
)
def test_index_maps_of_tvm_and_tilelang(text, by_definition):
    found = layout_of(text, shape=(8, 8), language="tvm")
    assert np.asarray(offsets(found)).ravel("F").tolist() == [by_definition(i, j) for j in range(8) for i in range(8)]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions_are_those_of_python(text):
    names = {}
    exec(text, names)  # our own texts
    code = read(text, "python")
    found = table_of(code, coordinates_of(code, None, 2, {}), (7, 6), {}, "int64").tolist()
    wanted = [[names["f"](i, j) for j in range(6)] for i in range(7)]
    if isinstance(wanted[0][0], tuple):
        width = max(value[1] for row in wanted for value in row) + 1
        wanted = [[value[0] * width + value[1] for value in row] for row in wanted]
    assert found == wanted


def test_a_function_of_jax_computes_as_jax_does():
    jnp = pytest.importorskip("jax.numpy")
    text = """
def div(a, b):
    a, b = jnp.broadcast_arrays(jnp.asarray(a, jnp.int32), jnp.asarray(b, jnp.int32))
    return lax.div(a, b) + lax.rem(a, b) * 100
def offset(i, j):
    return div(i - 5, j + 1) + (i - 5) // (j + 1) * 7
"""
    names = {"jnp": jnp, "lax": pytest.importorskip("jax.lax")}
    exec(text, names)  # our own text
    i, j = np.ogrid[:12, :4]
    code = read(text, "jax")
    found = table_of(code, coordinates_of(code, None, 2, {}), (12, 4), {}, "int32")
    assert (found == np.asarray(names["offset"](jnp.asarray(i), jnp.asarray(j)))).all()


def test_aranges_are_coordinates_in_the_order_of_their_axes():
    text = (
        "k = tl.arange(0, 8)\nm = tl.program_id(axis=0) * 16 + tl.arange(0, 16)\na_ptr + m[:, None] * 40 + k[None, :]"
    )
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
        ("for i in range(3): pass", "python", "the text ends"),
        ("def f(i):\n    if i > 3:\n        return 1", "python", "a function that ends without a value"),
        ("def f(i):\n    if i > 3:\n        x = 1\n    return x", "python", "x, which has no range"),
        ("def f(i):\n    if i > 3:\n        return A[i]\n    return 1", "python", "an element here and a value there"),
        ("def f(i):\n    if i > 3:\n        i 3\n    return 1", "python", "the end of a statement"),
        ("def f(i):\n    return 1\n    x = 3", "python", "the end of the function behind return"),
        ("def f(i, a=1, b): return i", "python", "the parameter b without a default"),
        ("if i > 3:\n    return 1\nelse:\n    x = 1\nx", "python", "unexpected 'return'"),
        ("q, r = divmod(i)\nq", "python", "divmod of 1 values for 2 names"),
        ("else: i", "python", "unexpected"),
        ("def f(i):\n    return A[i]\nf(i) * 2", "python", "f[...]: an index that depends on data"),
        ("def f(i):\n    x = i", "python", "the text ends"),
        ("def f(i): return i\nf(i, 2)", "python", "2 arguments of f"),
        ("def f(i): return i + ()", "python", "unexpected ')'"),
        ("lambda i: []", "python", "unexpected ']'"),
        ("T.index_map(lambda i: i, i)", "tvm", "expected  ')' behind an index map"),
        ("a, b = i, 2, 3\na", "python", "3 values for 2 names"),
        ("f = lambda i, i: i", "python", "two parameters of one name"),
        ("def f(i): return f(i)", "python", "a call of f"),
        ("i * 2\nx = 3", "python", "expected  the end of the text"),
        ("tl.arange()", "triton", "tl.arange: 0 arguments"),
        ("tl.arange(4, 8)", "triton", "an arange from 0"),
        ("tl.arange(0, 32)", "triton", "32 values of arange0 for an extent of 8"),
        ("Piecewise((i, i < 4))", "sympy", "a function that ends without a value"),
    ],
)
def test_what_is_refused_of_statements(text, language, said):
    with pytest.raises(ParseError) as info:
        layout_of(text, shape=8, coords="arange0" if "arange" in text else "i", language=language)
    assert said in str(info.value)
