"""Convolutions in blocks: executed against the definition, checked, and found wrong where a fault is put in."""

import dataclasses
import random

import numpy as np
import pytest

from tla.ascend import Ascend950, AtlasA2, bf16, conv_block, float32, programs
from tla.ascend.schedules import Conv3dIdentityBlockSwizzle
from tla.core.errors import LeafTypeError, RangeError

from night import amount, some


def convolved(x, w, bias, stride, dilation, padding):
    """By the definition, place by place."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    n, _, *sizes = x.shape
    count, _, *kernel = w.shape
    places = [(size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip(sizes, kernel, stride, dilation)]
    out = np.zeros((n, count, *places))
    for i in np.ndindex(*places):
        for tap in np.ndindex(*kernel):
            at = tuple(a * s + t * d for a, s, t, d in zip(i, stride, tap, dilation))
            out[(slice(None), slice(None), *i)] += (
                x[(slice(None), slice(None), *at)] @ w[(slice(None), slice(None), *tap)].T
            )
    return out if bias is None else out + bias[:, None, None, None]


def case(seed):
    rng = random.Random(seed)
    kernel, stride, dilation = (tuple(rng.randint(1, most) for _ in range(3)) for most in (3, 2, 2))
    padding = tuple(rng.randint(0, min(2, d * (k - 1))) for k, d in zip(kernel, dilation))
    size = tuple(max(1, (k - 1) * d + 1 - 2 * p) + rng.randint(0, 4) for k, d, p in zip(kernel, dilation, padding))
    (batch, channels, filters), tile = (
        (rng.randint(1, 2), rng.randint(1, 36), rng.randint(1, 36)),
        (rng.randint(1, 4), rng.randint(1, 5), rng.choice((16, 32))),
    )
    more = {"stride": stride, "dilation": dilation, "padding": padding, "bias": rng.random() < 0.5}
    arch, stages, cores = rng.choice((AtlasA2, Ascend950)), rng.randint(1, 3), rng.randint(1, 3)
    return (batch, channels, *size), (filters, *kernel), tile, arch, {**more, "stages": stages, "cores": cores}


@pytest.mark.parametrize("seed", range(amount(2, 200)))
def test_executed_with_tails_it_is_the_definition(seed):
    images, filters, tile, arch, more = case(seed)
    made = conv_block(images, filters, tile, arch, **more)
    rng = np.random.default_rng(seed)
    x, w = rng.integers(-2, 3, images), rng.integers(-1, 2, (filters[0], images[1], *filters[1:]))
    bias = rng.integers(-3, 4, filters[0]) if more["bias"] else None
    wanted = convolved(x, w, bias, more["stride"], more["dilation"], more["padding"])
    assert made.result == wanted.shape
    np.testing.assert_array_equal(made.execute(x, w, bias).astype(float), wanted)


@pytest.mark.parametrize("seed", range(amount(2, 30)))
def test_every_element_is_its_sum_in_every_order_that_flags_allow(seed):
    images, filters, tile, arch, more = case(seed)
    report = conv_block(images, filters, tile, arch, **more).check()
    assert report.holds, str(report)


def faulty(made, fault):
    """A convolution whose first core has a fault."""
    body = list(made.programs[0].body)
    flat = [s for s in body for s in (s.body if isinstance(s, programs.Part) else (s,))]
    fault(flat)
    changed = dataclasses.replace(made.programs[0], body=tuple(flat))
    found = dataclasses.replace(made)
    found.__dict__.update({**made.__dict__, "programs": (changed, *made.programs[1:])})
    return found


def nth(kind, n, name=""):
    def find(flat):
        return [i for i, s in enumerate(flat) if isinstance(s, kind) and (not name or s.instruction.name == name)][n]

    return find


def with_field(name, by):
    def change(s):
        i = s.instruction
        return s._replace(
            instruction=dataclasses.replace(i, parameters={**i.parameters, name: i.parameters[name] + by})
        )

    return change


FAULTS = {
    "a wait is lost": (nth(programs.WaitFlag, 3), None),
    "a set is lost": (nth(programs.SetFlag, 9), None),
    "a wait of L0 is lost": (nth(programs.WaitFlag, 8), None),
    "an image is not loaded": (nth(programs.Move, 4, "DataCopy"), None),
    "a line less of an image": (nth(programs.Move, 0, "DataCopy"), with_field("blockCount", -1)),
    "the border is on the other side": (nth(programs.Move, 0, "LoadData3D"), with_field("padTop", -1)),
    "the window steps farther": (nth(programs.Move, 1, "LoadData3D"), with_field("strideW", 1)),
    "a product is lost": (nth(programs.Multiply, 1), None),
    "the sum begins anew": (nth(programs.Multiply, 2), with_field("cmatrixInitVal", 1)),
    "k is less": (nth(programs.Multiply, 0), with_field("k", -16)),
    "a line less of the result": (nth(programs.Move, 1, "Fixpipe"), None),
    "a place more of the result": (nth(programs.Move, -1, "Fixpipe"), with_field("mSize", 1)),
    "a barrier is lost": (nth(programs.PipeBarrier, 0), None),
}


@pytest.mark.parametrize("name", some(FAULTS, 5))
def test_faults_are_found(name):
    made = conv_block((1, 17, 2, 5, 6), (20, 2, 3, 3), (2, 4, 16), padding=(0, 1, 1))
    place, change = FAULTS[name]

    def fault(flat):
        at = place(flat)
        flat[at : at + 1] = [] if change is None else [change(flat[at])]

    assert not faulty(made, fault).check().holds


def in_the_border(arch=AtlasA2):
    """A convolution with depths of its result of which no window touches the image."""
    return conv_block((1, 20, 1, 5, 6), (17, 2, 2, 3), (3, 6, 32), arch, padding=(2, 1, 1), bias=True)


@pytest.mark.parametrize(("arch", "zeros"), [(AtlasA2, "l0A0[0]"), (Ascend950, "l1A0[0]")])
def test_a_window_in_the_border_along_the_depth_alone_is_zeros(arch, zeros):
    made, rng = in_the_border(arch), np.random.default_rng(0)
    x, w, bias = rng.integers(-2, 3, (1, 20, 1, 5, 6)), rng.integers(-1, 2, (17, 20, 2, 2, 3)), rng.integers(-3, 4, 17)
    found = made.execute(x, w, bias).astype(float)
    np.testing.assert_array_equal(found, convolved(x, w, bias, (1, 1, 1), (1, 1, 1), (2, 1, 1)))
    assert (np.moveaxis(found[0, :, 0], 0, 2) == bias).all()
    blocks = {"l0A0[0]": 12, "l1A0[0]": 4 * 6}[zeros]
    fields = f"p.repeatTimes = 1; p.blockNum = {blocks}; p.dstGap = 0; p.initValue = 0;"
    fill = f"{{ AscendC::InitConstValueParams<half> p; {fields} AscendC::InitConstValue({zeros}, p); }}"
    assert fill in made.text()
    assert made.check().holds


@pytest.mark.parametrize("change", [{}, {"blockNum": 11}, {"repeatTimes": 0}])
def test_zeros_of_l0a_that_are_missing_are_found(change):
    def fault(flat):
        at = next(i for i, s in enumerate(flat) if isinstance(s, programs.Fill))
        flat[at : at + 1] = [flat[at]._replace(parameters={**flat[at].parameters, **change})] if change else []

    assert not faulty(in_the_border(), fault).check().holds


@pytest.mark.parametrize(
    ("given", "message", "mended"),
    [
        ({"tile": (4, 4, 20)}, "a multiple of 16", {"tile": (4, 4, 32)}),
        ({"element": float32}, "half or bf16", {"element": bf16}),
        ({"padding": (0, 3, 0)}, "a padding of at most 2", {"padding": (0, 2, 0)}),
        ({"stages": 5}, "at most 8 events", {"stages": 2}),
        ({"stride": (1, 0, 1)}, r"stride=\(1,1,1\)", {"stride": (1, 1, 1)}),
        ({"tile": (4, 4)}, "3 integers", {"tile": (4, 4, 16)}),
        ({"tile": (4, 4.0, 16)}, r"tile=\(4,4.0,16\)", {"tile": (4, 4, 16)}),
        ({"bias": "x"}, "bias='x' of a convolution, of type str", {"bias": True}),
        ({"swizzle": "x"}, "dealt by 'x'", {}),
        ({"swizzle": Conv3dIdentityBlockSwizzle}, "boxes", {}),
        (
            {"images": (1, 16, 1, 60, 80), "tile": (60, 80, 16)},
            "l0A0 at bytes",
            {"images": (1, 16, 1, 60, 80), "tile": (4, 16, 16)},
        ),
    ],
)
def test_what_no_block_can_be_is_refused_and_the_fix_works(given, message, mended):
    plain = {"images": (1, 16, 1, 8, 8), "filters": (16, 1, 3, 3), "tile": (4, 4, 16)}
    with pytest.raises((LeafTypeError, RangeError), match=message):
        conv_block(**{**plain, **given})
    assert conv_block(**{**plain, **mended}).result


def test_arrays_of_other_sizes_are_refused_and_the_text_has_each_statement():
    made = conv_block((1, 16, 1, 8, 8), (16, 1, 3, 3), (4, 4, 16), bias=True)
    x, w = np.ones((1, 16, 1, 8, 8)), np.ones((16, 16, 1, 3, 3))
    for given, name in (
        ((x, w, None), "biases"),
        ((x[:, :8], w, np.ones(16)), "images"),
        ((x, w[:8], np.ones(16)), "filters"),
    ):
        with pytest.raises(RangeError, match=name):
            made.execute(*given)
    text = made.text("conv")
    assert "void conv(GM_ADDR A_gm, GM_ADDR B_gm, GM_ADDR C_gm, GM_ADDR bias_gm) {" in text
    assert {"LoadData3DParamsV2", "AscendC::Mmad(", "AscendC::Fixpipe<half, float, AscendC::CFG_NZ>"} <= {
        w
        for w in ("LoadData3DParamsV2", "AscendC::Mmad(", "AscendC::Fixpipe<half, float, AscendC::CFG_NZ>")
        if w in text
    }
