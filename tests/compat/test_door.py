"""What functions of tla.compat cannot take: one error of ours, of the class that Python raises."""

import importlib
import itertools
import random

import pytest

from tla import TlaError
from tla.compat import pycute, tensor_layouts, torch
from tla.compat.door import ASKED_OFTEN

from night import amount

MODULES = [
    importlib.import_module(f"tla.compat.{name}")
    for name in ("pycute", "torch", "tensor_layouts.layouts", "tensor_layouts.analysis", "tensor_layouts.layout_utils")
]
FUNCTIONS = [
    (module, name)
    for module in MODULES
    for name in getattr(module, "__all__", None) or [x for x in vars(module) if not x.startswith("_") and x != "guard"]
    if callable(getattr(module, name)) and getattr(module, name).__module__.startswith("tla.")
    if not isinstance(getattr(module, name), type) and name not in ASKED_OFTEN
]


@pytest.mark.parametrize("count", range(4))
def test_nonsense_is_answered_or_refused(count):
    """None, texts, floats, lists, layouts and functions as any argument: an answer or a TlaError."""
    rng, refused = random.Random(count), 0
    for module, name in FUNCTIONS:
        layout = getattr(module, "Layout", tensor_layouts.Layout)((4, 6), (6, 1))
        kinds = [None, "ab", 1.5, 4, -3, 0, (2, 3), (), layout, [2, 3], ((2, None), "x"), object(), len]
        every = [*itertools.product(kinds, repeat=count)]
        for args in every if len(every) < 20 else rng.sample(every, amount(40, 400)):
            try:
                getattr(module, name)(*args)
            except TlaError as error:
                refused += 1
                assert all(error.reason), (module.__name__, name, args)
    assert len(FUNCTIONS) > 100
    assert refused > len(FUNCTIONS) / 2


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("name", ASKED_OFTEN)
def test_what_is_asked_often_needs_no_door_of_its_own(module, name):
    for x in (None, "ab", 1.5, 0, (2, None), [2, "x"], object(), len) if hasattr(module, name) else ():
        try:
            getattr(module, name)(x)
        except TlaError as error:
            assert all(error.reason), x


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: pycute.hier_unzip(None, pycute.Layout(8), 2), AttributeError, r"hier_unzip\(None, Layout\(8,1\), 2\)"),
        (lambda: pycute.composition(pycute.Layout(8)), TypeError, r"expected  composition\(layoutA, layoutB\)"),
        (lambda: pycute.complement(1, 2, 3), TypeError, r"complement\(1, 2, 3\)"),
        (lambda: pycute.tuple_max(()), ValueError, r"tuple_max\(\(\)\)"),
        (lambda: torch.suffix_product([2, 3]), TypeError, r"suffix_product\(\[2, 3\]\)"),
        (lambda: tensor_layouts.shape_div(tensor_layouts.Layout(8), 2), TypeError, r"shape_div\(Layout\(8, 1\), 2\)"),
        (lambda: tensor_layouts.fold(None, 0, None), TypeError, r"fold\(None, 0, None\)"),
    ],
)
def test_nonsense_is_told_in_the_class_of_python(make, kind, says):
    with pytest.raises(TlaError, match=says) as refusal:
        make()
    assert isinstance(refusal.value, kind)


def test_an_error_of_a_function_that_is_given_stays():
    def mine(*_):
        raise ValueError("of mine")

    with pytest.raises(ValueError, match=r"^of mine$") as raised:
        pycute.hier_unzip(mine, pycute.Layout((4, 6)), (2, 3))
    assert not isinstance(raised.value, TlaError)
    with pytest.raises(ValueError, match=r"^of mine$"):
        tensor_layouts.transform_tuple((1, 2), mine)
