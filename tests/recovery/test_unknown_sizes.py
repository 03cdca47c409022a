"""Index expressions whose sizes are names, read back: against Python's own values of them at many sizes."""

import itertools
import random
import time

import pytest

from tla import (
    LeafTypeError,
    ParseError,
    RangeError,
    RankError,
    Unproven,
    assuming,
    at,
    dim,
    dims,
    index,
    layout_of,
    parse,
)
from tla.codegen import emit

from night import amount


def value_of(layout, *coordinates):
    """The offset of a layout of numbers at coordinates: the definition."""
    offset = 0
    if hasattr(layout, "outer"):
        assert not layout.outer.bits
        offset, layout = int(layout.offset), layout.inner
    modes = layout.shape if len(coordinates) > 1 else (layout.shape,)
    strides = layout.stride if len(coordinates) > 1 else (layout.stride,)
    for c, extents, steps in zip(coordinates, modes, strides):
        for n, d in zip(leaves(extents), leaves(steps)):
            offset += c % n * d
            c //= n
    return offset


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [int(x)]


NAMES = ("A", "B", "N", "ld")


def some_text(rng):
    """An index expression in C and in Python, its extents, as a layout of random modes."""
    terms, shape = [], []
    for c in "ij"[: rng.choice([1, 2, 2])]:
        place, extent = [], []
        for last in [False] * rng.choice([0, 1, 1, 2]) + [True]:
            n = rng.choice(["2", "4", "6", "16", "A", "B"])
            digit = c if not place else f"({c}{{d}}({'*'.join(place)}))"
            digit = digit if last else f"({digit}%{n})"
            stride = rng.choice(["1", "8", "N", "ld", "8*N", "N*A", "(ld+16)", "-N", "A*B*N"])
            terms.append(f"{digit}*{stride}" if rng.random() < 0.5 else f"{stride}*{digit}")
            place.append(n)
            extent.append(n)
        shape.append("*".join(extent))
    terms += rng.choice([[], [], ["5"], ["3*N"]])
    rng.shuffle(terms)
    text = " + ".join(terms)
    return text.replace("{d}", "/"), text.replace("{d}", "//"), tuple(shape)


def test_random_expressions_are_equal_at_random_sizes():
    rng, times = random.Random(33), []
    given = dict(zip(NAMES, dims(" ".join(NAMES))))
    for _ in range(amount(60, 10_000)):
        c, python, shape = some_text(rng)
        began = time.perf_counter()
        text, language = (
            (c, rng.choice(["c", "cuda"])) if rng.random() < 0.5 else (python, rng.choice(["python", "triton"]))
        )
        found = layout_of(text, shape=shape, coords="i,j"[: 2 * len(shape) - 1], language=language, values=given)
        times.append(time.perf_counter() - began)
        program = compile(python, "an index expression", "eval")
        for _ in range(3):
            sizes = {name: rng.randint(1, 12) for name in NAMES}
            numbers = at(found, sizes)
            extents = [eval(n, {}, sizes) for n in shape]
            for _ in range(8):
                where = [rng.randrange(n) for n in extents]
                assert value_of(numbers, *where) == eval(program, {}, {**sizes, **dict(zip("ij", where))}), (
                    text,
                    shape,
                    str(found),
                )
    times.sort()
    assert times[len(times) // 2] < 0.05
    assert times[-1] < 5  # on a machine that does other things too; docs/recovery.md has its numbers


@pytest.mark.parametrize("language", ["c", "cuda", "opencl", "python", "numpy", "triton"])
@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("(M,N):(N,_1)", ("M", "N")),
        ("((_8,M),N):((N,9*N),_1)", ("8*M", "N")),
        ("((_16,M),(_16,N)):((_16,_512),(_1,512*M))", ("16*M", "16*N")),
        ("((M,_4),(N,_2),_64):((_1,512*M*N),(M,_64),_3)", ("4*M", "2*N", 64)),
    ],
)
def test_what_emit_writes_is_read_back(text, shape, language):
    layout = parse(text, symbols=dims("M N"))
    assert layout_of(emit(layout, language), shape=shape, language=language) == layout


@pytest.mark.parametrize(
    ("text", "shape", "wanted"),
    [
        ("(i/8)*8*64*K + (j/64)*512 + (i%8)*64 + (((j%64)/8) ^ (i%8))*8 + j%8", ("8*M", "64*K"), "Sw<3,3,3>"),
        ("(i/8*K + j/8)*64 + (i%8)*8 + ((j ^ i) & 7)", ("8*M", "8*K"), "Sw<3,0,3>"),
        ("(i/4*K + j/16)*64 + (((i%4)*16 + j%16) ^ ((i%4) << 2)) + 64*K", ("4*M", "16*K"), "Sw<2,2,2>"),
        ("(i ^ (i >> 3 & 7)) ^ (i >> 6 & 3) << 4", ("256*M",), "Sw<"),
    ],
)
def test_swizzles_inside_of_tiles_are_found(text, shape, wanted):
    found = layout_of(text, shape=shape, values={"K": "K", "M": "M"})
    assert wanted in str(found)
    program = compile(text.replace("/", "//"), "an index expression", "eval")
    for sizes in ({"M": 1, "K": 1}, {"M": 3, "K": 2}, {"M": 2, "K": 5}):
        numbers = at(found, sizes)
        extents = [eval(n, {}, sizes) for n in shape]
        for where in itertools.product(*map(range, extents)):
            assert int(numbers(*where)) == eval(program, {}, {**sizes, **dict(zip("ij", where))})


@pytest.mark.parametrize("masked", [lambda x: x & 7, lambda x: x % 8])
def test_a_function_that_masks_a_xor(masked):
    N, K = dims("N K")
    found = layout_of(lambda i, j: (i // 8 * K + j // 8) * 64 + i % 8 * 8 + masked(j ^ i), shape=(8 * N, 8 * K))
    assert "Sw<3,0,3>" in str(found)
    for sizes in ({"N": 1, "K": 1}, {"N": 3, "K": 2}):
        numbers = at(found, sizes)
        for i, j in itertools.product(range(8 * sizes["N"]), range(8 * sizes["K"])):
            assert int(numbers(i, j)) == (i // 8 * sizes["K"] + j // 8) * 64 + i % 8 * 8 + ((j ^ i) & 7)


@pytest.mark.parametrize("text", ["(i*N + j) ^ (i%8)*8", "i*N + (j ^ i)", "i*N + j + (i & j)"])
def test_what_is_no_swizzle_of_offsets_at_all_sizes_is_refused(text):
    """A row that is xored where rows have no known length: what the swizzle reads is not the row."""
    with pytest.raises(RangeError, match="no layout is known"):
        layout_of(text, shape=("8*M", dim("N", multiple_of=64)))


def test_facts_decide():
    assert str(layout_of("i / 8 * 8 * N + i % 8 * N + j", shape=("M", "N"))) == "(M,N):(N,_1)"
    K = dim("K", multiple_of=16)
    assert str(layout_of("(i*K + j) / 16 * 16 + j % 16", shape=("M", K))) == "(M,K):(K,_1)"
    assert (
        str(layout_of("((i*N + j) / N) * ld + (i*N + j) % N", shape=("M", "N"), values={"ld": "ld"})) == "(M,N):(ld,_1)"
    )
    assert str(layout_of("i < M && j < N ? i*N + j : -1", shape=("M", "N"))) == "(M,N):(N,_1)"
    assert str(layout_of("i == i + 1 ? 0 : i", shape="M")) == "M:_1"
    with pytest.raises(Unproven, match=r"8 divides M") as error:
        layout_of("i / 8 + i % 8 * N", shape=("M",), values={"N": "N"})
    assert 'dim("M", multiple_of=8)' in str(error.value)
    assert (
        str(layout_of("i / 8 + i % 8 * N", shape=(dim("M", multiple_of=8),), values={"N": "N"})) == "(_8,M//8):(N,_1)"
    )
    with assuming() as conditions:
        found = layout_of("i / 8 + i % 8 * N", shape=("M",), values={"N": "N"})
    assert [*map(str, conditions)] == ["8 divides M"]
    assert value_of(at(found, M=64, N=5), 43) == 43 // 8 + 43 % 8 * 5


def test_functions_are_traced():
    M, N = dims("M N")
    assert str(layout_of(lambda i, j: i * N + j, shape=(M, N))) == "(M,N):(N,_1)"
    assert str(layout_of(lambda i: (i % 4) * N + i // 4, shape=("4*M",))) == "(_4,M):(N,_1)"
    block = index("block", below=8)
    assert str(layout_of(lambda i: block * 128 + i, shape=(M,))) == "Sw<0,0,0> o 128*block o M:_1"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("i * j", RangeError, "i times j"),
        ("(i + j) / 8", RangeError, r"\(i\+j\)//8"),
        ("i/4 + i/6", RangeError, "i divided by 4 and 6"),
        ("i < 5 ? i*N + j : 0", ParseError, "depends on the coordinate, at position 2"),
        ("i == j ? 0 : 1", ParseError, "depends on the coordinate, at position 2"),
        ("(unsigned)i*N + j - 1", ParseError, r"i\*N\+j-1 in uint32"),
        ("(i - j) / 4", ParseError, "at position 8"),
        ("i / (N - 1)", ParseError, "at position 2"),
        ("(char)i", ParseError, "a cast of i to int8"),
        ("i << (j - 1)", ParseError, "a shift by j-1"),
        ("table[i] + j", ParseError, "depends on data"),
        ("i + j + other", RangeError, "the names i, j, other for 2 extents"),
    ],
)
def test_refused(text, error, message):
    with pytest.raises(error, match=message):
        layout_of(text, shape=("M", "N"))


def test_bad_sizes():
    with pytest.raises(LeafTypeError, match="only a text or a function"):
        layout_of([0, 1, 2], shape=("M",))
    with pytest.raises(RankError, match="without a shape"):
        layout_of("i*N + j", values={"N": "N"})
    with pytest.raises(LeafTypeError, match=r"the size 'M N'"):
        layout_of("i", shape=("M N",))
    with pytest.raises(LeafTypeError):
        layout_of("i", shape=("M", 2.5))
    with pytest.raises(LeafTypeError, match="language"):
        layout_of("i", shape=("M",), language="cobol")
