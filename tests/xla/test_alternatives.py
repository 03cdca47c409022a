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


def test_no_type_is_advised_that_an_operation_fixes():
    """Keys of a sort as 16 bits, an FFT in bfloat16, a SparseCore's scratch: none of these can be."""
    lines = {
        "keys": ("s32[1000,3]{1,0:T(8,128)} sort(%a), dimensions={0}, to_apply=%less", "jit(f)/sort"),
        "own": ('f32[1000,3]{1,0:T(8,128)} custom-call(), custom_call_target="AllocateBuffer"', ""),
        "fft": ("f32[1000,5]{1,0:T(8,128)} negate(%b)", "jit(f)/jit(fft)"),
        "inv": ("f32[1000,6]{1,0:T(8,128)} negate(%b)", "jit(f)/jit(inv)/jit(_lu_solve)/reshape"),
        "sum": ("f32[1000,7]{1,0:T(8,128)} negate(%b)", "jit(f)/relu/add"),
        "const": ("f32[1000,8]{1,0:T(8,128)} constant({...})", ""),
    }
    body = "".join(f'  %{name} = {text}, metadata={{op_name="{at}"}}\n' for name, (text, at) in lines.items())
    text = f"""HloModule m, is_scheduled=true
ENTRY %main {{
  %a = s32[1000,3]{{1,0:T(8,128)}} parameter(0)
  %b = f32[1000,3]{{1,0:T(8,128)}} parameter(1)
{body}  ROOT %r = s32[8,128]{{1,0:T(8,128)}} custom-call({", ".join(f"%{name}" for name in lines)}), custom_call_target="f"
}}"""
    advised = {name: a.alternative.kind for a in xla.advise(xla.memory(io.StringIO(text))) for name in a.names}
    assert {name: kind for name, kind in advised.items() if name not in "ab"} == {"sum": "type", "const": "type"}
    assert {"a", "b"} <= {*advised}
    parts = text.replace("f32[1000,3]{1,0:T(8,128)} parameter(1)", "c64[1000,3]{1,0:T(8,128)} parameter(1)")
    advised = {name for a in xla.advise(xla.memory(io.StringIO(parts))) for name in a.names}
    assert not {"sum", "const"} & advised  # they may be real parts


def test_no_dimensions_are_advised_as_one_that_may_be_split_over_devices():
    text = """HloModule m, is_scheduled=true, num_partitions=4
ENTRY %main {
  %a = f32[1000,3]{1,0:T(8,128)} parameter(0)
  ROOT %c = f32[1000,3]{1,0:T(8,128)} negate(%a)
}"""
    for count, merged in ((4, False), (1, True)):
        memory = xla.memory(io.StringIO(text.replace("=4", f"={count}")))
        assert any(a.alternative.kind == "merge" for a in xla.advise(memory)) is merged


def test_what_has_no_alternatives():
    assert xla.alternatives("f32[1000,3]") == []
    assert xla.alternatives("f32[0,3]{1,0}") == []
    with pytest.raises(RangeError, match="alternatives"):
        xla.alternatives("f32[4,4]{1,0:T(*,128)}")
