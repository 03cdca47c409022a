"""What holds elements: memory that is shared, its own layout, and which elements fit where."""

import array

import numpy as np
import pytest

import tla
from tla import MakeTensor, TlaError, parse, recast

from tensor_model import R


def owners():
    rows = np.arange(24, dtype=np.int16).reshape(4, 6)
    yield "array", rows.copy(), True
    yield "fortran", np.asfortranarray(rows).copy(order="K"), True
    yield "bytearray", bytearray(range(24)), True
    yield "array.array", array.array("h", range(24)), True
    yield "memoryview", memoryview(bytearray(range(24))), True
    yield "bytes", bytes(range(24)), False
    yield (
        "interface",
        type("Owner", (), {"__array_interface__": rows.copy().__array_interface__, "_keep": rows})(),
        True,
    )


@pytest.mark.parametrize(("name", "buffer", "writable"), [*owners()], ids=lambda x: x if isinstance(x, str) else "")
def test_buffers_are_shared(name, buffer, writable):
    if name == "interface":
        keep = np.arange(24, dtype=np.int16)
        buffer = type("Owner", (), {"__array_interface__": keep.__array_interface__})()
    t = MakeTensor(buffer, parse("(4,6):(6,1)"))
    if not writable:
        with pytest.raises(TlaError, match="read-only"):
            t[1, 2] = 99
        return
    t[1, 2] = 99
    flat = keep if name == "interface" else buffer.ravel(order="K") if isinstance(buffer, np.ndarray) else buffer
    assert flat[8] == 99
    t.numpy()[0, 0] = 77
    assert flat[0] == 77


def test_an_array_alone_has_its_own_layout():
    for a in (
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(5),
        np.zeros((2, 0, 3)),
        np.array(5),
    ):
        assert np.array_equal(np.asarray(MakeTensor(a)), a)
        assert np.array_equal(MakeTensor(a).numpy(), a)


@pytest.mark.parametrize("module", ["jax", "torch"])
def test_other_frameworks_share_their_memory(module):
    pytest.importorskip(module, reason=f"{module} is not installed")
    if module == "jax":
        import jax.numpy as jnp

        t = MakeTensor(jnp.arange(24, dtype=jnp.int32).reshape(4, 6), parse("(4,6):(6,1)"))
        assert t[1, 2] == 8
        with pytest.raises(TlaError, match="read-only"):
            t[1, 2] = 1
        narrow = MakeTensor(
            jnp.arange(24, dtype=jnp.bfloat16), parse("(4,6):(6,_1)")
        )  # which numpy's DLPack does not know
        assert np.array_equal(np.asarray(narrow), np.asarray(jnp.arange(24, dtype=jnp.bfloat16)).reshape(4, 6))
        b = MakeTensor(np.asarray(jnp.arange(24, dtype=jnp.bfloat16)), parse("(4,6):(6,_1)"))
        assert np.array_equal(np.asarray(b), np.asarray(jnp.arange(24, dtype=jnp.bfloat16)).reshape(4, 6))
        wide = MakeTensor[np.float32](parse("(4,6):(1,4)"))
        tla.copy(b, wide)
        assert np.array_equal(np.asarray(wide), np.arange(24).reshape(4, 6))
        narrow = MakeTensor[jnp.bfloat16](parse("((2,2),6):((1,12),2)"))
        tla.copy(wide, narrow)
        tla.fill(narrow, 2.5)
        assert narrow[3, 5] == 2.5
        assert recast[np.uint16](b)[1, 0] == np.asarray(b).view(np.uint16)[1, 0]
    else:
        import torch

        x = torch.arange(24, dtype=torch.int32).reshape(4, 6)
        MakeTensor(x, parse("(4,6):(6,1)"))[1, 2] = 99
        assert x[1, 2] == 99


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, ::2],
        lambda a: a[1:3, 2:5],
        lambda a: a[::-1, 1:],
        lambda a: a[::-2, ::-3],
        lambda a: a[:, ::-1],
        lambda a: a.reshape(2, 2, 8).transpose(1, 0, 2),
        lambda a: np.broadcast_to(a[1], (3, 8)),
        lambda a: a[:0, ::2],
        lambda a: a[:, 3],
        lambda a: a.view([("x", "i2"), ("y", "i2")])[::2, ::3],
    ],
)
def test_any_part_of_an_array_alone_has_its_own_layout(view):
    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    part = view(a)
    t = MakeTensor(part)
    assert np.array_equal(np.asarray(t), part)
    assert np.array_equal(t.numpy(), part)
    assert t.data.size <= 32
    if part.flags.writeable and part.size and part.dtype == np.int32:
        assert np.shares_memory(t.numpy(), part)
        truth = a.copy()
        view(truth)[...] = -1 - part
        tla.copy(-1 - part, part)
        assert np.array_equal(a, truth)


def test_steps_that_are_no_elements():
    records = np.zeros(4, [("x", "i2"), ("y", "i4")])
    with pytest.raises(TlaError, match="6 bytes apart"):
        MakeTensor(records["y"])


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        ("S3", "S4", True),
        ("S3", "S2", False),
        ("<U3", "<U2", False),
        ("V4", "V2", False),
        ("M8[s]", "M8[h]", False),
        ([("a", "i1"), ("b", "i4")], [("a", "i1"), ("b", "i4")], True),
        ([("a", "i1"), ("b", "i4")], [("b", "i4"), ("a", "i1")], False),
        ([("a", "i4")], [("a", "i1")], False),
        ("f8", "f2", True),
        ("c16", "c8", True),
        ("i8", "f4", True),
        ("?", "i1", True),
        ("V4", "V4", True),
        ("V4", "V6", True),
        ("i4", "S11", True),
        ("i4", "S3", False),
        ("f4", "U9", False),
        ("u8", "m8[s]", False),
    ],
)
def test_elements_are_never_cut_short(given, wanted, fits):
    """numpy would cut texts, and take the fields of records by place."""
    t = MakeTensor[np.dtype(wanted)](R)
    values = np.zeros((4, 8), np.dtype(given))
    if fits:
        tla.copy(values, t)
        return
    with pytest.raises(TlaError, match="a type that holds every"):
        tla.copy(values, t)


NUMBERS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")


@pytest.mark.parametrize("given", NUMBERS)
def test_integers_go_where_each_of_them_fits_and_floats_are_rounded(given):
    """Between all types of numbers of numpy: an integer type into one that has its ends, any real
    number into floats."""
    given = np.dtype(given)
    for wanted in map(np.dtype, NUMBERS):
        if wanted.kind == "b" or given.kind == "b":
            holds = given.kind == "b"
        elif wanted.kind in "iu":
            held = np.iinfo(wanted)
            holds = given.kind in "iu" and held.min <= np.iinfo(given).min and np.iinfo(given).max <= held.max
        else:
            holds = given.kind != "c" or wanted.kind == "c"
        source, target = np.ones(3, given), np.zeros(3, wanted)
        if holds:
            tla.copy(source, target)
            assert (target == 1).all()
        else:
            with pytest.raises(tla.LeafTypeError, match=f"elements of {given} into {wanted}"):
                tla.copy(source, target)


@pytest.mark.parametrize(("given", "wanted", "fits"), [
    ("int4", "i1", True), ("int4", "u1", False), ("uint4", "i1", True), ("uint4", "int4", False), ("i1", "int4", False), ("?", "int4", True),
    ("float8_e4m3fn", "int4", False), ("f4", "bfloat16", True), ("f4", "float8_e4m3fn", True), ("bfloat16", "i4", False),
    ("i4", "bfloat16", True), ("c8", "bfloat16", False), ("c16", "float8_e4m3fn", False),
])  # fmt: skip
def test_so_are_the_narrow_types_of_ml_dtypes(given, wanted, fits):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source, target = (np.ones(3, getattr(ml_dtypes, name, name)) for name in (given, wanted))
    target[...] = 0
    if fits:
        tla.copy(source, target)
        assert (target == 1).all()
    else:
        with pytest.raises(tla.LeafTypeError, match="a type that holds every"):
            tla.copy(source, target)


def test_a_sum_has_to_fit_and_one_of_nothing_does():
    ends = np.array([[120, 7], [120, 8], [-120, -8], [-120, -9]], np.int8)
    out = np.zeros(1, np.int8)
    for row, sum_ in zip(ends, (127, None, -128, None)):
        if sum_ is None:
            with pytest.raises(tla.RangeError, match="-128 to 127"):
                tla.reduce(row[None, :], out, 1)
        else:
            tla.reduce(row[None, :], out, 1)
            assert out[0] == sum_
    tla.reduce(np.zeros((0, 3), np.int8), np.zeros(0, np.int8), 1)


def test_an_array_without_axes_is_shared():
    a = np.array(5)
    MakeTensor(a).data[0] = 7
    assert a == 7


def test_packed_memory_has_two_elements_in_a_byte():
    for n in (1, 3):
        packed = tla.Packed(np.zeros(n, np.int8))
        assert packed.size == 2 * n
        MakeTensor(packed, tla.MakeLayout(2 * n))
        with pytest.raises(tla.RangeError, match=f"0 to {2 * n} - 1"):
            MakeTensor(packed, tla.MakeLayout(2 * n + 1))
    for dtype in (np.bool_, "S1", np.uint16, np.int16):
        with pytest.raises(tla.LeafTypeError, match="expected  bytes"):
            tla.Packed(np.zeros(4, dtype))


def test_an_integer_is_an_element_if_its_value_fits():
    t = MakeTensor(np.zeros(2, np.int8))
    for value in (5, np.int64(5), tla.Int[5]()):
        t[0] = value
        assert t[0] == 5
    for nothing in (np.zeros((2, 3), "V0"), np.zeros((2, 3), "V0")[:, ::2]):
        with pytest.raises(tla.LeafTypeError, match="elements of plain bytes"):
            MakeTensor(nothing)
    wide = MakeTensor(np.zeros(2, np.uint64))
    wide[0] = 2**64 - 1
    assert wide[0] == 2**64 - 1
    half = MakeTensor(np.zeros(2, np.float16))
    half[0] = np.int64(5)
    assert half[0] == 5
    with pytest.raises(TlaError, match="a number that numpy has"):
        half[0] = None
    for value in (-128, 127):
        t[0] = value
        assert t[0] == value
    for value in (128, np.int64(128), -129):
        with pytest.raises(TlaError, match="-128 to 127"):
            t[0] = value
    with pytest.raises(TlaError, match="000 as float16"):
        half[0] = 10**30


def test_a_mask_is_not_lost():
    masked = np.ma.masked_array(np.arange(4), [0, 1, 0, 0])
    for make in (
        lambda: MakeTensor(masked),
        lambda: MakeTensor(masked, parse("4:1")),
        lambda: tla.copy(masked, np.zeros(4, int)),
    ):
        with pytest.raises(TlaError, match="a masked array"):
            make()
    assert MakeTensor(masked.filled(0))[1] == 0
