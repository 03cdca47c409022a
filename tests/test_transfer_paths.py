"""Transfers beyond those of AtlasA2's TileCopyTla: real instructions of more paths and of Ascend950, and all paths executed."""

import itertools
import math
import os

import pytest
from transfer_oracle import MEANING, executed, offset_of

from tla import GetTile, LeafTypeError, MakeLayout, MakeLayoutFilter, MakeLayoutFmap, MakeMxScaleLayout, MakeTensor, Unproven, ascend, dim
from tla.ascend import CI1KHKWCOCI0, L0C, Conv2d, IsNeedPadding, fp8_e8m0, half, transfer

from truth import rows

NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == "night"
ELEMENTS = {"half": ascend.half, "int8": ascend.int8, "float": ascend.float}


def gm(layout, position="GM"):
    return MakeTensor(None, layout, position=position)


def tiled(layout, v, position="GM"):
    return GetTile(gm(layout, position), tuple(v[3:5]), tuple(v[5:7]))


def tagged(element, tag, r, c, ld=0):
    return MakeLayout[element, getattr(ascend, tag)](r, c, **({"ld": ld} if ld else {}))


def ends(path, v):
    """The two tensors of a case, and what transfer is told beside them."""
    words = path.split()
    if words[0] == "Mx":
        side = words[2] == "B"
        small = MakeMxScaleLayout[fp8_e8m0, ascend.nN if side else ascend.zZ, side](*v[7:9])
        return tiled(MakeMxScaleLayout[fp8_e8m0, getattr(ascend, words[1]), side](*v[:2]), v), gm(small, "L1"), {"element": fp8_e8m0}
    if words[0] in CONVOLUTION:
        return CONVOLUTION[words[0]](v)
    begin, end, *rest = words[0], words[2], *words[3:]
    if rest[0] == "vector" or end == "Bias":
        return gm(MakeLayout(v[0]), begin), gm(MakeLayout(v[0]), end), {"element": ELEMENTS[rest[-1]]}
    element = ELEMENTS[rest[0]]
    more = {"element": element}
    if begin == "L0C":
        src = gm(L0C(*v[7:9]).layout, "L0C")
        if rest[-1] == "PER_TENSOR":
            more |= {"quant": rest[-1], "accumulator": ascend.int32}
        return src, (gm(tagged(element, "RowMajor", *v[:3]), "UB") if end == "UB" else tiled(tagged(element, rest[1], *v[:3]), v)), more
    if (begin, end) == ("UB", "L1"):
        return gm(tagged(element, "RowMajor", *v[:3]), "UB"), gm(tagged(element, "zN", *v[7:9]), "L1"), more
    small, large = gm(tagged(element, rest[2], *v[7:]), "UB" if begin == "UB" else end), tagged(element, rest[1], *v[:3])
    return (small, tiled(large, v), more) if begin == "UB" else (tiled(large, v, begin), small, more)


def image(v):
    n, c1, h, w, h0, w0, th, tw = v
    src = GetTile(gm(MakeLayoutFmap[half](n, c1, h, w)), (0, 0, h0, w0, 0), (1, c1, th, tw, 16))
    return src, gm(MakeLayoutFmap[half](1, c1, th, tw), "L1"), {"element": half}


def filters(v):
    c1, kh, kw, co, o0, o = v
    src = GetTile(gm(MakeLayoutFilter[half, "GM"](c1, kh, kw, co)), (0, 0, 0, o0, 0), (c1, kh, kw, o, 16))
    return src, gm(MakeLayoutFilter[half, "L1"](c1, kh, kw, o), "L1"), {"element": half, "tag": CI1KHKWCOCI0}


def window(v, tag="zZ"):
    c1, h, w, kh, kw, sh, sw, dh, dw, *pads, m, k = v
    conv = Conv2d((kh, kw), (sh, sw), (dh, dw), tuple(pads))
    return gm(MakeLayoutFmap[half](1, c1, h, w), "L1"), gm(tagged(half, tag, m, k), "L0A"), {"element": half, "conv": conv}


def weights(v):
    c1, kh, kw, co = v
    src = gm(MakeLayoutFilter[half, "L1"](c1, kh, kw, co), "L1")
    return src, gm(tagged(half, "nZ", c1 * kh * kw * 16, src.origin_shape[3]), "L0B"), {"element": half}


def result(v):
    c1, h, w, h0, w0, th, tw = v
    dst = GetTile(gm(MakeLayoutFmap[half](1, c1, h, w)), (0, 0, h0, w0, 0), (1, c1, th, tw, 16))
    return gm(L0C(th * tw, c1 * 16).layout, "L0C"), dst, {"element": half}


CONVOLUTION = {"image": image, "filter": filters, "window": window, "weights": weights, "result": result}


def as_logged(i):
    names = {"padLeft": "padList[0]", "padRight": "padList[1]", "padTop": "padList[2]", "padBottom": "padList[3]"}
    found = {names.get(k, k): v for k, v in i.parameters.items()}
    return {"instruction": i.name.removesuffix("WithStride"), "dst": i.dst, "src": i.src, **found}


def reads_elsewhere(path, v):
    """Whether CATLASS's own instructions move other elements than the two layouts say, so that they are refused."""
    if path == "L1 to L0B int8 zN nZ":
        return -(-v[0] // 16) % 2 and v[6] > 32
    return path == "L1 to L0A float nZ zZ" and -(-v[8] // 8) % 2 and v[5] > 16


@pytest.mark.parametrize("path", sorted({(c["arch"], c["path"]) for c in rows("tla/transfers_more.json")}), ids=" ".join)
def test_the_instructions_of_real_copies(path):
    for case in rows("tla/transfers_more.json"):
        if (case["arch"], case["path"]) != path:
            continue
        v = case["sizes"]
        src, dst, more = window(v, "zN" if case["arch"] == "Ascend950" else "zZ") if path[1] == "window" else ends(path[1], v)
        if case["arch"] == "AtlasA2" and reads_elsewhere(path[1], v):
            with pytest.raises(Unproven, match="is not moved to its place"):
                transfer(src, dst, case["arch"], **more)
            continue
        made = [as_logged(i) for i in transfer(src, dst, case["arch"], **more)]
        assert len(made) == len(case["instructions"]), case
        for mine, real in zip(made, case["instructions"]):
            assert {k: mine.get(k, 0) for k in real if k != "quantPre"} == {k: n for k, n in real.items() if k != "quantPre"}, case


# ------------------------------------------------------------------------------------------------------- all paths, executed


def copied(src, dst, more, by_source):
    """{offset in dst: offset in src} of the copy, element by element; None for a zero of a border."""
    conv = more.get("conv")
    sizes = src.origin_shape if by_source else dst.origin_shape
    return {offset_of(dst, c): _source(src, dst, c, conv) for c in itertools.product(*map(range, map(int, sizes)))}


def _source(src, dst, coord, conv):
    if conv:
        return _in_window(src, coord, conv)
    if len(coord) == 5 and src.position == "L0C":  # an image from rows of points
        _, block, h, w, channel = coord
        return offset_of(src, (h * int(dst.origin_shape[3]) + w, block * 16 + channel))
    if len(coord) == 2 and len(src.coord) == 5:  # filters, to (place of the window and channel, channel out)
        _, kh, kw, _, c0 = map(int, src.origin_shape)
        rest, channel = divmod(coord[0], c0)
        rest, j = divmod(rest, kw)
        return offset_of(src, (rest // kh, rest % kh, j, coord[1], channel))
    return offset_of(src, coord)


def _in_window(src, coord, conv):
    _, _, height, width, c0 = map(int, src.origin_shape)
    (kh, kw), (left, right, _, _) = conv.kernel, conv.padding
    places = (width + left + right - conv.dilation[1] * (kw - 1) - 1) // conv.stride[1] + 1
    rest, channel = divmod(coord[1], c0)
    rest, j = divmod(rest, kw)
    block, i = divmod(rest, kh)
    h = coord[0] // places * conv.stride[0] + i * conv.dilation[0] - conv.padding[2]
    w = coord[0] % places * conv.stride[1] + j * conv.dilation[1] - left
    return offset_of(src, (0, block, h, w, channel)) if 0 <= h < height and 0 <= w < width else None


BY_SOURCE = {("GM", "L1"), ("GM", "UB"), ("UB", "L1"), ("L1", "Bias"), ("L1", "FixBuf")}


def require_copied(src, dst, made, more):
    moved, by_source = executed(made), (src.position, dst.position) in BY_SOURCE
    for to, begin in copied(src, dst, more, by_source).items():
        assert moved.pop(to) == begin
    if dst.position == "GM":
        assert not moved


@pytest.mark.parametrize("arch", ["AtlasA2", "Ascend950"])
def test_every_path_executed_moves_what_copy_moves(arch):
    cases = [c for c in rows("tla/transfers_more.json") if c["arch"] == arch]
    cases = [c for c in cases if arch == "Ascend950" or not reads_elsewhere(c["path"], c["sizes"])]
    by_work = sorted(cases, key=lambda c: math.prod(c["sizes"][5:7] or c["sizes"]))
    seen = {}
    for case in by_work:
        path, v = case["path"], case["sizes"]
        if seen.get(path, 0) < (12 if NIGHT else 1):
            src, dst, more = window(v, "zN" if arch == "Ascend950" else "zZ") if path == "window" else ends(path, v)
            require_copied(src, dst, transfer(src, dst, arch, **more), more)
            seen[path] = seen.get(path, 0) + 1
    assert len(seen) >= {"AtlasA2": 19, "Ascend950": 48}[arch]


# ------------------------------------------------------------------------------------------------- what is said of a transfer


def test_rows_of_the_unified_buffer_are_padded_with_zeros():
    src, dst = gm(MakeLayout[half, ascend.RowMajor](5, 21)), gm(MakeLayout[half, ascend.RowMajor](5, 21, ld=32), "UB")
    plain, padded = (executed(transfer(src, dst, element=half, pad=pad)) for pad in (False, True))
    assert padded == {**plain, **{row * 32 + column: None for row in range(5) for column in range(21, 32)}}


@pytest.mark.parametrize(
    ("arch", "element", "quant", "accumulator", "mode"),
    [
        ("AtlasA2", half, "NO_QUANT", ascend.float, "F322F16"),
        ("AtlasA2", half, "PER_TENSOR", ascend.int32, "DEQF16"),
        ("AtlasA2", ascend.int8, "PER_CHANNEL", ascend.int32, "VREQ8"),
        ("Ascend950", ascend.bf16, "PER_CHANNEL", ascend.int32, "VQS322BF16_PRE"),
        ("Ascend950", ascend.float, "PER_TENSOR", ascend.float, "QF322F32_PRE"),
    ],
)
def test_fixpipe_says_how_it_converts(arch, element, quant, accumulator, mode):
    src, dst = gm(L0C(20, 30).layout, "L0C"), gm(MakeLayout[element, ascend.RowMajor](20, 30))
    (i,) = transfer(src, dst, arch, element=element, quant=quant, accumulator=accumulator, relu=True)
    assert f"p.quantPre = QuantMode_t::{mode};" in i.text
    assert ("deqScalar" in i.text, "scale" in i.text) == (quant == "PER_TENSOR", quant == "PER_CHANNEL")
    assert "p.reluEn = true;" in i.text or "p.reluPre = true;" in i.text


def test_a_conversion_that_fixpipe_has_not_is_refused_with_those_that_it_has():
    src, dst = gm(L0C(20, 30).layout, "L0C"), gm(MakeLayout[half, ascend.RowMajor](20, 30))
    with pytest.raises(LeafTypeError, match="Fixpipe of int32 to bf16 with quant='PER_TENSOR'") as error:
        transfer(src, dst, element=ascend.bf16, quant="PER_TENSOR", accumulator=ascend.int32)
    assert "int8 with quant='PER_CHANNEL'" in str(error.value)


@pytest.mark.parametrize(
    ("rows_", "columns", "ld", "align", "answer"),
    [(10, 100, 100, 16, True), (10, 96, 96, 16, False), (10, 96, 65536, 16, True), (10, 96, 65520, 16, False)],
)
def test_padding_is_advised_as_catlass_does(rows_, columns, ld, align, answer):
    """IsNeedPadding of helper.hpp: stride < 65536 ? stride % align != 0 : true."""
    assert IsNeedPadding(ascend.RowMajor(rows_, columns, ld=ld), align) is answer
    assert IsNeedPadding(MakeLayout[half, ascend.ColumnMajor](columns, rows_, ld=ld), align) is answer
    assert IsNeedPadding(MakeLayout[half, ascend.nZ](rows_, columns), align) is False


def test_padding_of_unknown_sizes_is_not_known():
    assert IsNeedPadding(ascend.RowMajor(10, dim("K")), 16) is None
    assert IsNeedPadding(ascend.RowMajor(10, dim("K", multiple_of=16, at_most=4096)), 16) is False


def test_bursts_are_the_runs_of_the_offsets():
    for case in rows("tla/transfers_more.json")[:: 7 if NIGHT else 21]:
        src, dst, more = window(case["sizes"], "zN") if case["path"] == "window" else ends(case["path"], case["sizes"])
        if case["path"] in ("window", "L1 to Bias half", "L1 to Bias float") or case["arch"] == "AtlasA2":
            continue
        for i in transfer(src, dst, case["arch"], **more)[:1]:
            offsets = sorted(begin for _, begin in MEANING[i.name](i.parameters, 256 // i.element.bits, i.form))
            starts = [b for a, b in itertools.pairwise([-2, *offsets]) if b != a + 1]
            ends_ = [a for a, b in itertools.pairwise([*offsets, -2]) if b != a + 1]
            bits = 32 if "quantPre" in i.settings else i.element.bits
            longest = max(b - a + 1 for a, b in zip(starts, ends_)) * bits // 8
            assert i.reads[:2] == (len(starts), longest)
            assert all((i.src + at) * bits // 8 % i.reads.alignment == 0 for at in starts)
