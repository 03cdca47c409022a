"""tla.compat.pycute: by definition, beside pycute where it is installed, and by CUTLASS's own tests where TLA_CUTLASS
is its checkout."""

import dataclasses
import importlib
import importlib.util
import itertools
import os
import random
import re
import sys
import unittest
from pathlib import Path
from typing import Any

import pytest

from tla import LeafTypeError, TlaError, right_inverse
from tla.compat import pycute as ours

from night import amount

SUITE = Path(os.environ.get("TLA_CUTLASS", "cutlass")) / "test" / "python" / "pycute"


def offset(index, shape, stride):
    """The definition: an index goes through the modes, the first fastest; the last takes what is left."""
    if not isinstance(shape, tuple):
        return index * stride
    total = 0
    for k, (s, d) in enumerate(zip(shape, stride)):
        n = ours.product(s)
        total += offset(index % n if k < len(shape) - 1 else index, s, d)
        index //= n
    return total


def values(layout):
    return [offset(i, layout.shape, layout.stride) for i in range(layout.size())]


def some(rng):
    """The shape and the strides of a layout of at most 96 places: nested, most of them compact, in any order."""
    while True:
        shape = tuple(
            rng.choice((1, 2, 3, 4, 6, 8)) if rng.random() < 0.7 else (rng.choice((2, 3, 4)), 2)
            for _ in range(rng.randint(1, 3))
        )
        flat = ours.flatten(shape)
        if ours.product(shape) <= 96:
            break
    strides, d = [0] * len(flat), 1
    for k in rng.sample(range(len(flat)), len(flat)):
        strides[k] = d
        d *= flat[k] * rng.choice((1, 1, 1, 2))
    left = iter(strides)
    return shape, tuple(tuple(next(left) for _ in s) if isinstance(s, tuple) else next(left) for s in shape)


CASES = [(some(rng), some(rng)) for rng in [random.Random(7)] for _ in range(amount(150, 3000))]


@dataclasses.dataclass(frozen=True)
class Frozen(ours.Layout):
    """A layout as torch's DeviceMesh makes it of this class."""

    shape: Any
    stride: Any


def test_a_class_of_layouts_may_be_frozen():
    a = Frozen((4, 2), (2, 1))
    assert (a[0].shape, a[0].stride, a.size(), a(3)) == (4, 2, 8, 6)
    assert [a(i) for i in range(8)] == [ours.Layout((4, 2), (2, 1))(i) for i in range(8)]


def test_operations_by_definition():
    found = refused = 0
    for one, two in CASES:
        a, b = ours.Layout(*one), ours.Layout(*two)
        at = values(a)
        assert [a(i) for i in range(a.size())] == at
        assert values(ours.coalesce(a)) == at
        assert a.cosize() == max(at) + 1
        right, left = ours.right_inverse(a), ours.left_inverse(a)
        assert [at[i] for i in values(right)] == [*range(right.size())]
        assert [left(x) for x in at] == [*range(len(at))]
        rest = ours.complement(a, 96)
        reached = {x + y for x, y in itertools.product(at, values(rest))}
        assert len(reached) == a.size() * rest.size()
        assert reached >= {*range(96)}
        try:
            c = ours.composition(a, b)
        except TlaError:
            refused += 1
            continue
        found += 1
        assert values(c) == [offset(x, a.shape, a.stride) for x in values(b)]
    assert found > 2 * refused


def test_beside_pycute():
    """The same texts, or the same functions; left inverses differ where the layout has no place, and what is refused is
    not compared."""
    theirs = pytest.importorskip("pycute", reason="needs pycute: pip install nvidia-cutlass")
    same = 0
    for one, two in CASES:
        a, b = (m.Layout(*one) for m in (ours, theirs))
        assert [str(getattr(ours, name)(a)) for name in ("coalesce", "filter")] == [
            str(getattr(theirs, name)(b)) for name in ("coalesce", "filter")
        ]
        assert str(ours.complement(a, 96)) == str(theirs.complement(b, 96))
        assert str(ours.right_inverse(a)) == str(theirs.right_inverse(b))
        for name in (
            "composition",
            "logical_divide",
            "zipped_divide",
            "tiled_divide",
            "logical_product",
            "zipped_product",
        ):
            try:
                found = getattr(ours, name)(a, ours.Layout(*two))
                wanted = getattr(theirs, name)(b, theirs.Layout(*two))
            except (TlaError, AssertionError):
                continue
            same += str(found) == str(wanted)
            if str(found) != str(wanted) and [wanted(i) for i in range(found.size())] != values(found):
                inner = [offset(x, *two) for x in range(ours.product(two[0]))]
                assert "product" not in name  # past the places of a, where its last mode goes on; or pycute is wrong
                assert max(inner) >= a.size() or values(found)[: len(inner)] == [offset(x, *one) for x in inner]
    assert same > 3 * len(CASES)


def test_tuples():
    assert (ours.flatten((1, (2, (3,)))), ours.flatten(5), ours.product((2, (3, 4))), ours.tuple_max((1, (9, 2)))) == (
        (1, 2, 3),
        (5,),
        24,
        9,
    )
    assert (ours.shape_div((3, 4), 6), ours.shape_div(12, (3, 2)), ours.elem_scale(3, (2, 2))) == ((1, 2), 2, 12)
    assert (ours.idx2crd(5, (2, 4)), ours.crd2crd(5, (2, 4)), ours.crd2crd((1, 2), 8, (2, 4))) == ((1, 2), (1, 2), 5)
    assert (ours.inner_product((1, (2, 3)), (4, (5, 6))), ours.prefix_product((2, (3, 4)), 5)) == (32, (5, (10, 30)))
    assert (ours.slice_((None, (1, None)), (2, (3, 4))), ours.has_none((1, (None,))), ours.signum(-3)) == (
        (2, 4),
        True,
        -1,
    )
    assert [isinstance(x, ours.Integer) for x in (1, True, 1.0, "1")] == [True, False, False, False]


def test_an_index_past_the_end_begins_again():
    """A coordinate is within its shape, as there."""
    assert (ours.idx2crd(99, (4, 8)), ours.idx2crd(-1, (4, 8)), ours.idx2crd(9, 4)) == ((3, 0), (3, 7), 1)
    theirs = pytest.importorskip("pycute", reason="needs pycute: pip install nvidia-cutlass")
    for (shape, stride), _ in CASES[: amount(40, 3000)]:
        for i in range(-5, 2 * ours.product(shape) + 5, 3):
            assert ours.idx2crd(i, shape) == theirs.idx2crd(i, shape)
            assert ours.idx2crd(i, shape, stride) == theirs.idx2crd(i, shape, stride)
            assert ours.crd2crd(i, shape) == theirs.crd2crd(i, shape)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ours.prefix_product(3, (1, 2)), "one integer to begin with"),
        (lambda: ours.crd2idx((1, 2), 3), "no deeper than the shape"),
        (lambda: ours.slice_((None, 1), 3), "an integer or None"),
        (lambda: ours.zipped_divide(ours.Layout(8), (2, 2)), "1 at most"),
        (lambda: ours.complement(ours.Layout((2, 3), (1, 1)), 24), "past the reach"),
        (lambda: ours.Swizzle(3, 0, 2), "shift"),
        (lambda: ours.crd2crd((1, 2), 8), "src_shape"),
        (lambda: ours.make_layout(), "make_layout of no layouts"),
        (lambda: ours.make_layout(3, 4), "make_layout of a int"),
        (lambda: ours.make_layout([3]), "make_layout of a int"),
        (lambda: ours.make_layout(3), "make_layout of a int"),
        (lambda: ours.complement("a"), "of a str"),
        (lambda: ours.zipped_divide(3, (2,)), "divide of a int"),
        (lambda: ours.idx2crd(3, (0, 4)), "0"),
    ],
)
def test_what_is_wrong_is_said(make, says):
    with pytest.raises(TlaError, match=says):
        make()


@pytest.mark.skipif(
    not SUITE.is_dir(),
    reason="needs CUTLASS: git clone https://github.com/NVIDIA/cutlass, and its folder in TLA_CUTLASS",
)
@pytest.mark.parametrize("path", sorted(SUITE.glob("test_*.py")), ids=lambda path: path.stem)
def test_cutlass_own_tests(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pycute", ours)
    spec = importlib.util.spec_from_file_location(f"cutlass_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    assert result.testsRun
    assert not result.failures + result.errors


@pytest.mark.parametrize("module", ["pycute", "torch", "tensor_layouts"])
def test_operations_of_tla_say_how_to_give_them_a_layout(module):
    theirs = importlib.import_module(f"tla.compat.{module}").Layout((4, 8))
    with pytest.raises(LeafTypeError) as caught:
        right_inverse(theirs)
    where, _, name = re.fullmatch(r"write ([\w.]+)\(x\)", caught.value.reason.fix)[1].rpartition(".")
    assert str(right_inverse(getattr(importlib.import_module(where), name)(theirs))) == "_32:_1"


@pytest.mark.parametrize("name", ["pycute", "torch", "tensor_layouts"])
def test_what_is_no_layout_is_refused_and_numpys_integers_are_taken(name):
    np = pytest.importorskip("numpy", reason="needs numpy: pip install numpy")
    module = importlib.import_module(f"tla.compat.{name}")
    layout = module.Layout((2, 4))
    for wrong in ((2.0, 4), "ab", None, (True, 4), np.array([2, 4]), (np.float64(2), 4)):
        with pytest.raises(TlaError, match="expected"):
            module.coalesce(module.Layout(wrong))
    for wrong in (
        ((2, 3), (1,)),
        ((2, 3), (1, (2, 6))),
        (2, (1,)),
        ((2, 3), 1),
        (-3,),
        ((2, (3, -4)),),
        ((2, -3), (1, 2)),
    ):
        with pytest.raises(TlaError, match="expected"):
            module.Layout(*wrong)
    for wrong in ((2, "a"), (2, None), (2, 2.5), (2, True)):
        with pytest.raises(TlaError, match="expected"):
            module.size(wrong)
        with pytest.raises(TlaError, match="expected"):
            module.cosize(wrong)
    for operation in (module.logical_divide, module.logical_product, module.zipped_divide, module.zipped_product):
        for wrong in ("x", 2.0, [2], (1, 2, 3), np.array([2])):
            with pytest.raises(TlaError, match="expected"):
                operation(layout, wrong)
    for operation in (module.zipped_divide, module.zipped_product, module.tiled_divide):
        with pytest.raises(TlaError, match="one"):
            operation(layout, ())
    with pytest.raises(TlaError, match="expected"):
        module.logical_divide(layout, 0)
    assert [*layout(np.arange(8))] == [layout(i) for i in range(8)]
    if name != "tensor_layouts":  # which takes int alone
        assert str(module.Layout((np.int64(2), 4))) == str(layout)
        assert str(module.logical_divide(layout, np.int8(2))) == str(module.logical_divide(layout, 2))
