"""Other shapes for an array: sizes against the definition, nothing that changes the map without a word."""

import io
import itertools
import math
import random

import pytest

from tla import RangeError, xla


def random_shape(seed):
    r = random.Random(seed)
    dims = tuple(r.choice((1, 2, 3, 7, 8, 13, 100, 128, 256, 1000)) for _ in range(r.randrange(1, 5)))
    return xla.default_layout(r.choice(("f32", "bf16", "s8", "pred", "s4")), dims)


@pytest.mark.parametrize("seed", range(60))
def test_alternatives_take_what_they_say_and_hold_the_same_elements(seed):
    shape = random_shape(seed)
    now = xla.byte_size(shape)
    for a in xla.alternatives(shape):
        assert a.bytes == xla.byte_size(a.shape)
        assert a.saved == now - a.bytes
        assert a.waste == xla.waste(a.shape)
        assert (a.saved > 0) == (a.kind != "size")
        if a.kind == "order":
            assert (a.shape.element_type, a.shape.dimensions) == (shape.element_type, shape.dimensions)
        elif a.kind in ("merge", "split"):
            assert math.prod(a.shape.dimensions) == math.prod(shape.dimensions)
        elif a.kind == "size":
            assert all(x <= y for x, y in zip(shape.dimensions, a.shape.dimensions))
            assert xla.byte_size(a.shape) == now
            one = next(k for k, (x, y) in enumerate(zip(shape.dimensions, a.shape.dimensions)) if x != y)
            more = tuple(n + (k == one) for k, n in enumerate(a.shape.dimensions))
            assert xla.byte_size(xla.ArrayShape(shape.element_type, more, shape.layout)) > now
        else:
            assert a.kind == "type"
            assert a.shape.element_type != shape.element_type


def test_the_default_has_no_better_order():
    """The compiler's choice pads the array least: so says its rule, for more than bytes of 2 bits."""
    for dims in itertools.product((1, 3, 8, 100, 128), repeat=3):
        assert not [a for a in xla.alternatives(xla.default_layout("f32", dims)) if a.kind == "order"]


def test_advice_is_for_what_is_held_at_the_peak():
    text = """HloModule m, is_scheduled=true
ENTRY %main {
  %a = f32[1000,3]{1,0:T(8,128)} parameter(0)
  %b = f32[1000,3]{1,0:T(8,128)S(1)} parameter(1)
  ROOT %c = f32[1000,3]{1,0:T(8,128)} negate(%a)
}"""
    memory = xla.memory(io.StringIO(text))
    best = [a for a in xla.advise(memory) if a.alternative.kind == "order"]
    assert [(a.count, a.saved, a.names) for a in best] == [(1, 512000 - 16384, ("a",))]
    computed = [a for a in xla.advise(memory) if a.names == ("c",)]
    assert [a.alternative.kind for a in computed] == ["type"]  # its layout is that of the operation
    assert all("the caller gives it so" in a.assumes for a in best)
    assert str(xla.advise(memory, 1)[0].alternative.shape).endswith("S(1)}")
    with pytest.raises(RangeError, match="advice"):
        xla.advise(memory, 7)


def test_what_has_no_alternatives():
    assert xla.alternatives("f32[1000,3]") == []
    assert xla.alternatives("f32[0,3]{1,0}") == []
    with pytest.raises(RangeError, match="alternatives"):
        xla.alternatives("f32[4,4]{1,0:T(*,128)}")
