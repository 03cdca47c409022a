"""Transfers beyond those of AtlasA2's TileCopyTla: real instructions of more paths and of Ascend950, and
all paths executed."""

import dataclasses
import itertools
import math
import random

import pytest

from tla import (
    GetTile,
    Layout,
    LeafTypeError,
    MakeLayout,
    MakeLayoutFilter,
    MakeLayoutFmap,
    MakeMxScaleLayout,
    MakeTensor,
    RangeError,
    Unproven,
    ascend,
    dim,
)
from tla.ascend import CI1KHKWCOCI0, L0C, Conv2d, IsNeedPadding, TransferInstruction, fp8_e8m0, half, transfer
from tla.ascend.transfers import proof
from tla.ascend.transfers.side import side_of

from night import NIGHT
from transfer_oracle import MEANING, executed, offset_of
from truth import rows

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
        return (
            tiled(MakeMxScaleLayout[fp8_e8m0, getattr(ascend, words[1]), side](*v[:2]), v),
            gm(small, "L1"),
            {"element": fp8_e8m0},
        )
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
        return (
            src,
            (
                gm(tagged(element, "RowMajor", *v[:3]), "UB")
                if end == "UB"
                else tiled(tagged(element, rest[1], *v[:3]), v)
            ),
            more,
        )
    if (begin, end) == ("UB", "L1"):
        return gm(tagged(element, "RowMajor", *v[:3]), "UB"), gm(tagged(element, "zN", *v[7:9]), "L1"), more
    small, large = (
        gm(tagged(element, rest[2], *v[7:]), "UB" if begin == "UB" else end),
        tagged(element, rest[1], *v[:3]),
    )
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
    return (
        gm(MakeLayoutFmap[half](1, c1, h, w), "L1"),
        gm(tagged(half, tag, m, k), "L0A"),
        {"element": half, "conv": conv},
    )


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


@pytest.mark.parametrize(
    "path", sorted({(c["arch"], c["path"]) for c in rows("tla/transfers_more.json")}), ids=" ".join
)
def test_the_instructions_of_real_copies(path):
    for case in rows("tla/transfers_more.json"):
        if (case["arch"], case["path"]) != path:
            continue
        v = case["sizes"]
        src, dst, more = (
            window(v, "zN" if case["arch"] == "Ascend950" else "zZ") if path[1] == "window" else ends(path[1], v)
        )
        if case["arch"] == "AtlasA2" and reads_elsewhere(path[1], v):
            with pytest.raises(Unproven, match="is not moved to its place"):
                transfer(src, dst, case["arch"], **more)
            continue
        made = [as_logged(i) for i in transfer(src, dst, case["arch"], **more)]
        assert len(made) == len(case["instructions"]), case
        for mine, real in zip(made, case["instructions"]):
            assert {k: mine.get(k, 0) for k in real if k != "quantPre"} == {
                k: n for k, n in real.items() if k != "quantPre"
            }, case


# -------------------------------------------------------------------------------------------------- all paths, executed


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


BY_SOURCE = {("GM", "L1"), ("GM", "UB"), ("UB", "UB"), ("UB", "L1"), ("L1", "Bias"), ("L1", "FixBuf")}


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


# ------------------------------------------------------------------------------------------- what is said of a transfer


def test_pairs_are_told_as_elements_twice_as_wide():
    """The fields count pairs: of scales, which are bytes, halves; of fp4 bytes, on Ascend950.
    AscendC's ReinterpretCast says so."""
    for element, tag, to, cast in (
        (fp8_e8m0, ascend.RowMajor, ascend.zZ, "half"),
        (ascend.fp4_e2m1, ascend.RowMajor, ascend.zN, "int8_t"),
    ):
        make = MakeMxScaleLayout[element, tag, False] if element is fp8_e8m0 else MakeLayout[element, tag]
        small = MakeMxScaleLayout[element, to, False] if element is fp8_e8m0 else MakeLayout[element, to]
        (i,) = transfer(gm(make(64, 64)), gm(small(64, 64), "L1"), "Ascend950", element=element)
        assert i.text.count(f".template ReinterpretCast<{cast}>()") == 2
    for element in (ascend.int8, half, ascend.float):
        made = transfer(
            gm(tagged(element, "RowMajor", 64, 64)),
            gm(tagged(element, "zN", 64, 64), "L1"),
            "Ascend950",
            element=element,
        )
        assert "ReinterpretCast" not in str(made)


def test_a_row_shorter_than_a_block_has_no_gap():
    (i,) = transfer(
        gm(tagged(half, "RowMajor", 1, 8), "UB"), gm(tagged(half, "zN", 1, 8), "L1"), "Ascend950", element=half
    )
    assert i.parameters == {"blockCount": 1, "blockLen": 1, "srcStride": 0, "dstStride": 0}


def test_a_window_moves_over_the_first_image_of_several():
    src, conv = gm(MakeLayoutFmap[half](2, 1, 4, 5), "L1"), Conv2d((2, 3), padding=(1, 0, 0, 1))
    dst = gm(tagged(half, "zZ", 16, 96), "L0A")
    require_copied(src, dst, transfer(src, dst, element=half, conv=conv), {"conv": conv})


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


@pytest.mark.parametrize(
    ("element", "accumulator"),
    [(half, ascend.int32), (ascend.int8, ascend.int32), (ascend.int8, ascend.float), (ascend.float, ascend.float)],
)
@pytest.mark.parametrize("quant", ["PER_TENSOR", "PER_CHANNEL"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_scaled_goes_to_blocks_by_fixpipe(seed, quant, element, accumulator):
    """The struct of DataCopy has no scale: Fixpipe's has one, counts the step of blocks in elements, and takes a tensor
    of scales."""
    rng = random.Random(seed)
    m, n = (rng.randint(1, 120) for _ in range(2))
    start = (rng.randint(0, 9), int(element.C0) * rng.randint(0, 2))
    dst = GetTile(gm(tagged(element, "zN", m + 20, n + 100)), start, (m, n))
    src = gm(L0C(m, n).layout, "L0C")
    more = {"element": element, "accumulator": accumulator, "quant": quant}
    (i,) = made = transfer(src, dst, "Ascend950", **more)
    require_copied(src, dst, made, {})
    assert "FixpipeParamsC310<AscendC::CO2Layout::NZ> p;" in i.text
    assert ("p.deqScalar = deqScalar;" in i.text, ", scale, p);" in i.text) == (
        quant == "PER_TENSOR",
        quant == "PER_CHANNEL",
    )


def between_gm_and_ub(rng, kind):
    """A tile of a matrix in global memory, and one in UB."""
    element, (m, n) = rng.choice((half, ascend.int8, ascend.float)), (rng.randint(1, 60), rng.randint(1, 90))
    c0, row, column = int(element.C0), rng.randint(0, 20), rng.randint(0, 20)
    if kind == "ColumnMajor":
        large, small = tagged(element, kind, m + row + 5, n + column + 3), tagged(element, kind, m, n, -(-m // c0) * c0)
    elif kind == "zN":
        column = column // c0 * c0
        large, small = tagged(element, kind, m + row + 5, n + column), tagged(element, kind, m, n)
    else:
        blocks = rng.choice((4, 16)), rng.choice((1, 2, 4)) * c0
        large = MakeLayout[element, ascend.PaddingRowMajor](m + row + 9, n + column + 9, *blocks)
        small = tagged(element, "RowMajor", m, n, -(-n // c0) * c0)
        column = rng.choice((0, column))
    return element, GetTile(gm(large), (row, column), (m, n)), gm(small, "UB")


@pytest.mark.parametrize("kind", ["ColumnMajor", "zN", "PaddingRowMajor"])
@pytest.mark.parametrize("arch", ["AtlasA2", "Ascend950"])
def test_the_unified_buffer_takes_columns_and_blocks(kind, arch):
    rng = random.Random(7)
    for turn in range(8):
        element, outside, inside = between_gm_and_ub(rng, kind)
        ends_ = (outside, inside) if turn % 2 and kind != "PaddingRowMajor" else (inside, outside)
        part = kind == "zN" and ends_[1] is outside and int(outside.origin_shape[1]) % int(element.C0)
        if part:  # a whole block of 32 bytes would go over what is no part of the tile
            with pytest.raises(Unproven, match="which is no part of the tile"):
                transfer(*ends_, arch, element=element)
        else:
            require_copied(*ends_, transfer(*ends_, arch, element=element), {})


def inside_of_ub(rng):
    """A tile of UB, and a place for it in UB: rows, columns, fractals, rows into fractals, vectors."""
    element, (m, n) = rng.choice((half, ascend.int8, ascend.float, ascend.bf16)), (rng.randint(1, 60) for _ in range(2))
    a, b = rng.choice(["RowMajor"] * 2 + ["ColumnMajor", "zN", "VectorLayout"]), None
    c0 = int(element.C0)
    if a == "VectorLayout":
        start = c0 * rng.randint(0, 3)
        return element, GetTile(gm(MakeLayout(start + n + 40), "UB"), (start,), (n,)), gm(MakeLayout(n), "UB")
    b = rng.choice(["RowMajor", "zN"]) if a == "RowMajor" else a
    start = (rng.randint(0, 9), c0 * rng.randint(0, 3))
    start = start[::-1] if a == "ColumnMajor" else start
    whole = tuple(s + x + 5 for s, x in zip(start, (m, n)))

    def laid(tag, rows, columns):
        line = {"RowMajor": columns, "ColumnMajor": rows}.get(tag)
        ld = None if line is None else -(-line // c0) * c0 + c0 * rng.randint(0, 2)
        return gm(tagged(element, tag, rows, columns, *([] if ld is None else [ld])), "UB")

    return element, GetTile(laid(a, *whole), start, (m, n)), laid(b, m, n)


@pytest.mark.parametrize("seed", range(60))
def test_tiles_move_inside_of_the_unified_buffer(seed):
    rng = random.Random(seed)
    element, src, dst = inside_of_ub(rng)
    arch = rng.choice(["AtlasA2", "AtlasA3", "Ascend950"])
    made = transfer(src, dst, arch, element=element)
    require_copied(src, dst, made, {})
    assert {i.name for i in made} == {"DataCopy"}


def test_rows_of_the_unified_buffer_that_are_no_blocks_and_what_overlaps_are_refused():
    import numpy as np

    rows_, odd = (gm(tagged(half, "RowMajor", 4, 21, ld), "UB") for ld in (32, 21))
    for ends_ in ((rows_, odd), (odd, rows_)):
        with pytest.raises(RangeError, match="rows of UB that are 21 elements apart, 42 bytes") as error:
            transfer(*ends_, element=half)
        assert "ld=32" in error.value.reason.fix
    buffer = np.zeros(4096, np.float16)
    tile, far = (MakeTensor(buffer[at:], tagged(half, "RowMajor", 4, 32), position="UB") for at in (0, 128))
    near = MakeTensor(buffer[16:], tagged(half, "RowMajor", 4, 32), position="UB")
    assert [i.name for i in transfer(tile, far)] == ["DataCopy"]
    with pytest.raises(Unproven, match="reads what it writes"):
        transfer(tile, near)


def test_what_is_padded_is_a_row():
    src, dst = gm(tagged(half, "ColumnMajor", 5, 21)), gm(tagged(half, "ColumnMajor", 5, 21, 16), "UB")
    with pytest.raises(LeafTypeError, match="pad=True of a transfer of ColumnMajor"):
        transfer(src, dst, element=half, pad=True)
    rows_ = dim("M", at_most=1000)
    padded = gm(MakeLayout[half, ascend.PaddingRowMajor](rows_, 32, 16, 16))
    with pytest.raises(Unproven, match="how many blocks"):
        transfer(gm(tagged(half, "RowMajor", rows_, 32), "UB"), padded, element=half)


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_several_matrices_go_to_l1_at_once(seed):
    """Queries of attention, as (position, head) by depth: one Nd2Nz with ndNum above 1 where the fields hold it, else
    one for each matrix."""
    rng = random.Random(seed)
    (count, many), wide = (rng.randint(1, 9) for _ in range(2)), rng.randint(1, 70)
    element, arch = rng.choice((half, ascend.int8, ascend.float)), rng.choice(("AtlasA2", "Ascend950"))
    steps = rng.choice([(many * 128, 128), (128, count * 128), (70000, 128), (128, 70000), (1, 9)])
    whole = gm(
        Layout(((count, many), wide), (steps if steps[0] > 1 else (wide, count * wide), 1), (count * many, wide))
    )
    first = rng.randrange(many)
    tile = GetTile(whole, (first * count, 0), (rng.randint(1, (many - first) * count), rng.randint(1, wide)))
    dst = gm(tagged(element, "zN", 96, 96), "L1")
    made = transfer(tile, dst, arch, element=element)
    require_copied(tile, dst, made, {})
    full = int(tile.origin_shape[0]) // count
    fits = arch == "Ascend950" or 70000 not in steps
    assert len(made) <= (2 if fits else 9 + 1)
    if full > 1 and fits and max(steps) < 65536:
        assert made[0].parameters["ndNum"] == full


@pytest.mark.parametrize("arch", ["AtlasA2", "Ascend950"])
@pytest.mark.parametrize("step", [96, 1000, 70000])
def test_queries_of_three_modes_are_rows_of_several_matrices(arch, step):
    """(positions, heads, d), as TileCopyFAQTla takes it: the position is the first mode of a row."""
    q, rows_ = (gm(Layout(*x)) for x in (((5, 4, 96), (step, 96, 1)), (((5, 4), 96), ((step, 96), 1))))
    dst = gm(tagged(half, "zN", 20, 96), "L1")
    assert [*transfer(q, dst, arch, element=half)] == [*transfer(rows_, dst, arch, element=half)]
    tile, small = GetTile(q, (1, 2, 16), (3, 2, 40)), gm(tagged(half, "zN", 6, 40), "L1")
    moved = executed(transfer(tile, small, arch, element=half))
    for s, h, c in itertools.product(range(3), range(2), range(40)):
        assert moved[offset_of(small, (s + 3 * h, c))] == (1 + s) * step + (2 + h) * 96 + 16 + c


def test_rows_of_several_matrices_are_those_of_one_where_they_begin_inside():
    q = gm(Layout(((5, 4), 96), ((1000, 96), 1), (20, 96)))
    dst = gm(tagged(half, "zN", 20, 96), "L1")
    with pytest.raises(Unproven, match="is not moved to its place"):
        transfer(GetTile(q, (3, 0), (13, 96)), dst, element=half)
    with pytest.raises(LeafTypeError, match="not known"):
        transfer(gm(Layout(((5, dim("N")), 96), ((1000, 96), 1))), dst, element=half)


@pytest.mark.parametrize("seed", range(12))
def test_accumulators_go_to_l1_in_whole_columns_of_blocks(seed):
    """The manual asks for multiples of 16 columns: what is behind the valid ones is padding of the tile, and nothing
    else is written."""
    rng = random.Random(seed)
    (m, n), element = (rng.randint(1, 120) for _ in range(2)), rng.choice((half, ascend.bf16, ascend.int8))
    quant = {"quant": "PER_TENSOR", "accumulator": ascend.int32} if element is ascend.int8 else {}
    dst = GetTile(gm(tagged(element, "zN", 128, 256), "L1"), (0, int(element.C0) * rng.randint(0, 3)), (m, n))
    src = gm(L0C(128, 128).layout, "L0C")
    (i,) = made = transfer(GetTile(src, (0, 0), (m, n)), dst, element=element, **quant)
    require_copied(GetTile(src, (0, 0), (m, n)), dst, made, {})
    assert (i.name, i.parameters["nSize"]) == ("DataCopyCO12Dst", -(-n // 16) * 16)
    block = max(16, int(element.C0))
    own = {offset_of(dst, (r, c)) for r in range(m) for c in range(-(-n // block) * block)}
    assert {*executed(made)} <= own
    assert ("SetFixpipePreQuantFlag(deqScalar);" in i.text, "p.deqScalar" in i.text) == (bool(quant), False)


def test_only_what_fixpipe_writes_to_l1_goes_there():
    src = gm(L0C(32, 32).layout, "L0C")
    with pytest.raises(LeafTypeError, match="elements of 8 or 16 bits"):
        transfer(src, gm(tagged(ascend.float, "zN", 32, 32), "L1"), element=ascend.float)
    with pytest.raises(LeafTypeError, match="from L0C to L1 on Ascend950"):
        transfer(src, gm(tagged(half, "zN", 32, 32), "L1"), "Ascend950", element=half)
    with pytest.raises(LeafTypeError, match="L0C to zN"):
        transfer(src, gm(tagged(half, "nZ", 32, 32), "L1"), element=half)


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
    assert IsNeedPadding(ascend.RowMajor(10, dim("K", at_most=4096)), 16) is None  # not too far, but aligned or not
    assert IsNeedPadding(ascend.RowMajor(10, dim("K", multiple_of=16)), 16) is None  # aligned, but too far or not
    assert IsNeedPadding(ascend.RowMajor(10, dim("K", multiple_of=16, at_most=4096)), 16) is False
    assert IsNeedPadding(ascend.RowMajor(10, dim("K", at_most=4096)), 1) is False
    assert IsNeedPadding(ascend.RowMajor(10, dim("K", at_least=65536)), 1) is True
    for align in (0, -1, "16", None):
        with pytest.raises(RangeError, match="1 or more elements"):
            IsNeedPadding(ascend.RowMajor(10, 16), align)


@pytest.mark.parametrize("tag", ["RowMajor", "ColumnMajor"])
def test_rows_go_one_by_one_from_a_stride_of_65536_elements_on(tag):
    for ld, count in ((65535, 1), (65536, 3)):
        sizes = (3, 16) if tag == "RowMajor" else (16, 3)
        src, dst = (
            gm(tagged(half, tag, *sizes, ld)),
            gm(tagged(half, "zN" if tag == "RowMajor" else "nZ", *sizes), "L1"),
        )
        made = transfer(src, dst)
        assert [i.name for i in made] == ["Nd2Nz"] * count
        require_copied(src, dst, made, {})
        assert len(transfer(src, dst, "Ascend950")) == 1


def test_columns_of_blocks_go_one_by_one_past_a_stride_of_65536_blocks():
    for rows_, count in ((65536, 1), (65552, 2)):
        src, dst = GetTile(gm(tagged(half, "zN", rows_, 32)), (0, 0), (16, 32)), gm(tagged(half, "zN", 16, 32), "L1")
        made = transfer(src, dst)
        assert [i.name for i in made] == ["DataCopy"] * count
        require_copied(src, dst, made, {})


@pytest.mark.parametrize(
    ("field", "least", "most"), [("kernel", 1, 255), ("stride", 1, 63), ("dilation", 1, 255), ("padding", 0, 255)]
)
def test_a_window_holds_what_the_fields_of_load_data_hold(field, least, most):
    count = 4 if field == "padding" else 2
    for place, good in itertools.product(range(count), (least, most)):
        given = {"kernel": (3, 3), field: tuple(good if k == place else max(least, 1) for k in range(count))}
        assert getattr(Conv2d(**given), field) == given[field]
    for place, bad in itertools.product(range(count), (least - 1, most + 1)):
        with pytest.raises(RangeError, match=f"{field}=.* of a Conv2d\n +expected  {least} to {most}\n"):
            Conv2d(**{"kernel": (3, 3), field: tuple(bad if k == place else max(least, 1) for k in range(count))})
    for bad in ((1,) * (count - 1), (1,) * (count + 1), [1] * count, 1, (1.0,) * count, (True,) * count):
        with pytest.raises(LeafTypeError, match=f"expected  {count} integers"):
            Conv2d(**{"kernel": (3, 3), field: bad})


def test_a_burst_is_aligned_to_the_largest_power_of_two_up_to_512_bytes():
    fields = {
        "blockCount": 2,
        "blockLen": 16,
        "srcStride": 16,
        "dstStride": 0,
    }  # bursts of 512 bytes, from 1024 to 1024 bytes
    for begin, alignment in ((0, 512), (256, 512), (128, 256), (64, 128), (16, 32), (8, 16), (1, 2), (3, 2)):
        reading, writing = (TransferInstruction("DataCopy", *at, fields, half) for at in ((0, begin), (begin, 0)))
        assert reading.reads == (2, 512, alignment)
        assert writing.writes == (1, 1024, alignment)


def test_an_instruction_that_is_left_out_or_moved_is_seen():
    """The proof of a transfer, given a plan that is wrong: each row by itself, without one of them, or with one from or
    to elsewhere."""
    src, dst = gm(tagged(half, "RowMajor", 3, 16, 65536)), gm(tagged(half, "zN", 3, 16), "L1")
    made = transfer(src, dst)
    a, b = side_of(src, half), side_of(dst, half)
    assert proof.require_lawful(made, ("GM", "L1"), a, b, ascend.AtlasA2) == (0, 0)
    for k, i in enumerate(made):
        wrong = [
            dataclasses.replace(i, src=i.src + 1),
            dataclasses.replace(i, src=i.src - 1),
            dataclasses.replace(i, dst=i.dst + 16 * 16),
        ]
        for bad in ([], *([x] for x in wrong)):
            expected = (
                rf"element \({k},0\) of the tile is not moved to its place\n +expected  src\[{65536 * k}\] in "
                rf"dst\[{16 * k}\]"
            )
            with pytest.raises(Unproven, match=expected):
                proof.require_lawful([*made[:k], *bad, *made[k + 1 :]], ("GM", "L1"), a, b, ascend.AtlasA2)
    with pytest.raises(Unproven, match=r"it writes dst\[256\] too, which is no part of the tile"):
        proof.require_lawful([*made, dataclasses.replace(made[0], dst=256)], ("GM", "L1"), a, b, ascend.AtlasA2)


@pytest.mark.parametrize(("shape", "stride", "why"), [
    ((1, 2, 4, 4, 16), (512, 256, 64, 16, 1), None),
    ((1, 2, 4, 4, 16), (9999, 320, 80, 16, 1), None),  # gaps between lines, blocks and images
    ((1, 2, 4, 4, 8), (512, 256, 64, 16, 1), "blocks of _16"),
    ((1, 2, 4, 4, 16), (512, 256, 128, 32, 1), "blocks of _16"),
    ((1, 2, 4, 4, 16), (512, 256, 64, 16, 2), "blocks of _16"),
    ((2, 4, 4, 16), (256, 64, 16, 1), "the 5 modes of NC1HWC0"),
    ((1, 1, 2, 4, 4, 16), (512, 512, 256, 64, 16, 1), "the 5 modes of NC1HWC0"),
    ((1, 2, (2, 2), 4, 16), (512, 256, (64, 128), 16, 1), "the 5 modes of NC1HWC0"),
])  # fmt: skip
def test_an_image_has_five_modes_and_blocks_of_channels_side_by_side(shape, stride, why):
    src, dst = gm(Layout(shape, stride)), gm(MakeLayoutFmap[half](1, 2, 4, 4), "L1")
    if why is None:
        require_copied(src, dst, transfer(src, dst, element=half), {})
        return
    with pytest.raises(LeafTypeError, match=f"NC1HWC0 to NC1HWC0: it.* {why}"):
        transfer(src, dst, element=half, tag=ascend.NC1HWC0)


def test_a_zero_of_the_border_is_told_where_it_is_missing():
    src, conv = gm(MakeLayoutFmap[half](1, 1, 4, 4), "L1"), Conv2d((1, 1), padding=(1, 0, 0, 0))
    dst = gm(tagged(half, "zZ", 16, 16), "L0A")
    (i,) = transfer(src, dst, element=half, conv=conv)
    a, b = side_of(src, half), side_of(dst, half)
    wanted = conv.wanted(a, b)
    assert proof.require_lawful([i], ("L1", "L0A"), a, b, ascend.AtlasA2, wanted) == (0, 0)
    with pytest.raises(Unproven, match=r"element \(0,0\) .*\n +expected  a zero of the border in dst\[0\]"):
        proof.require_lawful(
            [dataclasses.replace(i, parameters={**i.parameters, "padLeft": 0})],
            ("L1", "L0A"),
            a,
            b,
            ascend.AtlasA2,
            wanted,
        )


@pytest.mark.parametrize(
    ("tag", "ld", "step"), [("RowMajor", 40, 16), ("RowMajor", 48, 16), ("RowMajor", 41, 16), ("ColumnMajor", 24, 1)]
)
def test_the_starts_that_are_advised_are_in_the_tile_and_aligned(tag, ld, step):
    """Of units of 32 bytes along a row, the one before and the one behind: those that lie in the tile, and at
    32 bytes in memory."""
    whole = gm(tagged(half, tag, 20, 40, ld), "UB")
    for start, extents in itertools.product(
        itertools.product(range(0, 20, 3), (0, 5, 16, 24, 33, 39)), ((1, 4), (4, 20))
    ):
        side = side_of(GetTile(whole, start, extents), half)
        if offset_of(whole, start) % 16 == 0:
            proof.require_place("UB", side, ascend.AtlasA2)
            continue
        r, c = start
        near = [(r, c // 16 * 16), (r, -(-c // 16) * 16)] if step == 16 else [(r // 16 * 16, c), (-(-r // 16) * 16, c)]
        inside = [x for x in near if x[0] < min(r + extents[0], 20) and x[1] < min(c + extents[1], 40)]
        good = " or ".join(f"({r},{c})" for r, c in dict.fromkeys(inside) if offset_of(whole, (r, c)) % 16 == 0)
        with pytest.raises(RangeError) as error:
            proof.require_place("UB", side, ascend.AtlasA2)
        assert error.value.reason.fix == f"begin the tile at {good or 'a whole block of its layout'}", (start, extents)


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


# -------------------------------------------------------------------------------------------- which widths a path takes

#: The widths [bits] that each path takes, with the instruction: of AtlasA2 and AtlasA3, and of Ascend950. Source: the
#: specialisations of TileCopyTla in CATLASS gemm/tile, conv/tile and epilogue/tile; docs/transfers.md, "Paths".
WIDTHS = """
GM L1 RowMajor zN                        | 4 8 16 32 Nd2Nz | 4 8 16 32 Nd2Nz
GM L1 ColumnMajor nZ                     | 4 8 16 32 Nd2Nz | 4 8 16 32 Nd2Nz
GM L1 PaddingRowMajor zN                 | 4 8 16 32 Nd2Nz | 4 8 16 32 Nd2Nz
GM L1 PaddingColumnMajor nZ              | 4 8 16 32 Nd2Nz | 4 8 16 32 Nd2Nz
GM L1 zN zN                              | 4 8 16 32 DataCopy | 4 8 16 32 DataCopy
GM L1 nZ nZ                              | 4 8 16 32 DataCopy | 4 8 16 32 DataCopy
GM L1 VectorLayout VectorLayout          | 8 16 32 64 DataCopy | 8 16 32 64 DataCopy
GM L1 NC1HWC0 NC1HWC0                    | 4 8 16 32 DataCopy | 4 8 16 32 DataCopy
GM L1 CI1KHKWCOCI0 CI1KHKWCOCI0          | 4 8 16 32 DataCopy | 4 8 16 32 DataCopy
GM L1 MxScaleRowMajorA MxScalezZ         |                 | 8 Dn2Nz
GM L1 MxScaleColumnMajorA MxScalezZ      |                 | 8 Nd2Nz
GM L1 MxScaleRowMajorB MxScalenN         |                 | 8 Nd2Nz
GM L1 MxScaleColumnMajorB MxScalenN      |                 | 8 Dn2Nz
L1 L0AMx MxScalezZ MxScalezZ             |                 | 8 LoadData2DMx
L1 L0BMx MxScalenN MxScalenN             |                 | 8 LoadData2DMx
L1 L0A zN zZ                             | 4 8 16 LoadData2D, 32 LoadData3D |
L1 L0A nZ zZ                             | 8 LoadData2DTranspose, 16 LoadData2D, 32 LoadData3D |
L1 L0A zN zN                             |                 | 4 8 16 32 LoadData2DV2
L1 L0A nZ zN                             |                 | 4 8 16 32 LoadData2DV2
L1 L0A NC1HWC0 zZ                        | 8 16 32 LoadData3D |
L1 L0A NC1HWC0 zN                        |                 | 8 16 32 LoadData3DWithStride
L1 L0B nZ nZ                             | 4 8 16 32 LoadData2D | 4 8 16 32 LoadData2DV2
L1 L0B zN nZ                             | 4 8 LoadData2DTranspose, 16 LoadData2D, 32 LoadData3D | 4 8 16 32 LoadData2DV2
L1 L0B CI1KHKWCOCI0 nZ                   | 4 8 16 32 LoadData2D | 4 8 16 32 LoadData2DV2
L1 Bias VectorLayout VectorLayout        | 16 32 DataCopy  | 16 32 DataCopy
L1 FixBuf VectorLayout VectorLayout      | 32 64 DataCopy  | 32 64 DataCopy
L0C GM L0C RowMajor                      | 8 16 32 Fixpipe | 8 16 32 DataCopyCO12Dst
L0C GM L0C zN                            | 8 16 32 Fixpipe | 8 16 32 DataCopyCO12Dst
L0C GM L0C NC1HWC0                       | 16 Fixpipe      | 16 FixpipeC310
L0C UB L0C RowMajor                      |                 | 8 16 32 FixpipeC310
UB L1 RowMajor zN                        |                 | 8 16 32 DataCopy
UB L1 zN zN                              |                 | 8 16 32 DataCopy
UB L1 zNUnAlign zN                       |                 | 8 16 32 DataCopy
GM UB RowMajor RowMajor                  | 8 16 32 DataCopyPad | 8 16 32 DataCopyPad
UB GM RowMajor RowMajor                  | 8 16 32 DataCopyPad | 8 16 32 DataCopyPad
GM UB VectorLayout VectorLayout          | 8 16 32 DataCopyPad | 8 16 32 DataCopyPad
UB GM VectorLayout VectorLayout          | 8 16 32 DataCopyPad | 8 16 32 DataCopyPad
"""


def sized(place, tag, bits, small):
    """A tensor with a tag, of sizes that every instruction moves whole."""
    if tag == "NC1HWC0":
        return gm(MakeLayoutFmap[bits](1, 2, 4, 4), place)
    if tag == "CI1KHKWCOCI0":
        return gm(MakeLayoutFilter[bits, place](1, 2, 2, 16), place)
    sizes = small or (
        (256,)
        if tag == "VectorLayout"
        else (64, 128, 64, 128)
        if tag.startswith("Padding")
        else (32 if tag.startswith("Mx") else 64, 128)
    )
    return gm(MakeLayout[8 if tag.startswith("Mx") else bits, getattr(ascend, tag)](*sizes), place)


@pytest.mark.parametrize("line", WIDTHS.strip().splitlines(), ids=lambda line: " ".join(line.split("|")[0].split()))
def test_each_path_takes_its_widths_and_no_other(line):
    ends_, *taken = line.split("|")
    begin, end, a, b = ends_.split()
    for arch in ("AtlasA2", "AtlasA3", "Ascend950"):
        wanted = {
            int(n): words.split()[-1] for words in taken[arch == "Ascend950"].split(",") for n in words.split()[:-1]
        }
        every = (
            (4, 8, 16, 32, 64) if arch != "AtlasA3" else (max(wanted, default=0), 64)
        )  # AtlasA3 has the ways of AtlasA2
        for bits in every if wanted else ():
            c0, image = 256 // bits, a == "NC1HWC0" and end == "L0A"
            small = (4 * c0, 16) if a == "CI1KHKWCOCI0" else (16, 2 * c0) if b == "NC1HWC0" or image else None
            src = sized(begin, a, 16 if begin == "L0C" else bits, small if begin == "L0C" else None)
            dst = sized(end, b, bits, small if begin != "L0C" and begin != "GM" else None)
            more = {"element": bits, "tag": getattr(ascend, b), **({"conv": Conv2d((1, 1))} if image else {})}
            if bits in wanted:
                assert transfer(src, dst, arch, **more)[0].name == wanted[bits], bits
            else:
                with pytest.raises(LeafTypeError, match=f"a transfer of {bits} from {begin}.* to {end}"):
                    transfer(src, dst, arch, **more)


#: Tiles with a start and tails of the paths for which there are no instructions of CATLASS at hand: positions, tags,
#: bits, the sizes of the whole, start and extents; architectures. The last: how many instructions.
TILES = """
L1 L0AMx MxScalezZ MxScalezZ                 |  8 | 128 16 | 32 4 | 40 5 | Ascend950 | 1
L1 L0AMx MxScalezZ MxScalezZ                 |  8 | 64 32  | 16 2 | 33 17 | Ascend950 | 1
L1 L0BMx MxScalenN MxScalenN                 |  8 | 16 128 | 4 32 | 5 40 | Ascend950 | 1
L1 L0BMx MxScalenN MxScalenN                 |  8 | 32 64  | 2 16 | 17 33 | Ascend950 | 1
GM L1 PaddingRowMajor zN                     | 16 | 100 200 48 64 | 48 64 | 40 50 | AtlasA2 Ascend950 | 1
GM L1 PaddingRowMajor zN                     |  8 | 100 200 48 64 | 0 128 | 33 7 | AtlasA2 Ascend950 | 1
GM L1 PaddingRowMajor zN                     |  4 | 100 200 48 64 | 48 64 | 17 33 | AtlasA2 Ascend950 | 1
GM L1 PaddingColumnMajor nZ                  | 16 | 200 100 64 48 | 64 48 | 50 40 | AtlasA2 Ascend950 | 1
GM L1 PaddingColumnMajor nZ                  | 32 | 200 100 64 48 | 128 0 | 7 33 | AtlasA2 Ascend950 | 1
GM L1 PaddingColumnMajor nZ                  |  4 | 200 100 64 48 | 64 48 | 33 17 | AtlasA2 Ascend950 | 1
GM L1 RowMajor zN                            |  4 | 90 96 | 3 10 | 41 35 | AtlasA2 Ascend950 | 1
GM L1 ColumnMajor nZ                         |  4 | 96 90 | 10 3 | 35 41 | AtlasA2 Ascend950 | 1
GM L1 zN zN                                  |  4 | 90 200 | 5 64 | 41 70 | AtlasA2 Ascend950 | 1
GM L1 nZ nZ                                  |  4 | 200 90 | 64 5 | 70 41 | AtlasA2 Ascend950 | 1
UB L1 zN zN                                  | 16 | 64 64 | 16 32 | 20 30 | Ascend950 | 1
UB L1 zN zN                                  | 32 | 64 64 | 5 8 | 33 17 | Ascend950 | 1
UB L1 zNUnAlign zN                           | 16 | 33 64 | 0 16 | 33 40 | Ascend950 | 1
UB L1 zNUnAlign zN                           |  8 | 40 96 | 7 32 | 20 40 | Ascend950 | 1
UB L1 RowMajor zN                            | 16 | 40 64 | 3 16 | 2 48 | Ascend950 | 2
UB L1 RowMajor zN                            | 16 | 40 64 | 3 16 | 3 48 | Ascend950 | 3
UB L1 RowMajor zN                            | 16 | 40 64 | 3 16 | 4 48 | Ascend950 | 3
L1 L0A zN zZ                                 |  4 | 96 192 | 16 64 | 40 70 | AtlasA2 | 3
L1 L0B nZ nZ                                 |  4 | 192 96 | 64 16 | 70 40 | AtlasA2 | 2
L1 L0B nZ nZ                                 | 16 | 64 96 | 0 0 | 48 96 | AtlasA2 | 1
L1 L0B nZ nZ                                 | 16 | 64 96 | 0 0 | 48 80 | AtlasA2 | 3
L1 L0B zN nZ                                 |  4 | 128 256 | 64 128 | 64 64 | AtlasA2 | 1
L1 L0A zN zN                                 |  4 | 96 192 | 32 64 | 40 70 | Ascend950 | 1
L1 L0B nZ nZ                                 |  4 | 192 96 | 64 32 | 70 40 | Ascend950 | 1
GM L1 VectorLayout VectorLayout              | 16 | 500 | 48 | 100 | AtlasA2 Ascend950 | 1
GM UB VectorLayout VectorLayout              | 16 | 500 | 7 | 100 | AtlasA2 Ascend950 | 1
UB GM VectorLayout VectorLayout              |  8 | 500 | 32 | 100 | AtlasA2 Ascend950 | 1
L1 FixBuf VectorLayout VectorLayout          | 64 | 500 | 16 | 100 | AtlasA2 Ascend950 | 1
L1 Bias VectorLayout VectorLayout            | 32 | 500 | 16 | 100 | AtlasA2 Ascend950 | 1
"""


@pytest.mark.parametrize("line", TILES.strip().splitlines(), ids=lambda line: " ".join(line.split()))
def test_tiles_of_every_path_move_what_copy_moves(line):
    (begin, end, a, b), (bits,), sizes, start, extents, archs, (count,) = (part.split() for part in line.split("|"))
    sizes, start, extents = (tuple(map(int, part)) for part in (sizes, start, extents))
    for arch in archs:
        src = GetTile(gm(MakeLayout[int(bits), getattr(ascend, a)](*sizes), begin), start, extents)
        dst = gm(MakeLayout[int(bits), getattr(ascend, b)](*extents), end)
        made = transfer(src, dst, arch, element=int(bits))
        assert len(made) == int(count)
        require_copied(src, dst, made, {})


# ----------------------------------------------------------------------------------------------------- each instruction

#: The largest value of each field, 65535 where none is written, by instruction and form: AscendC's reference
#: of the structs.
LARGEST = """
Nd2Nz               | ndNum:4095 nValue:16384 dValue srcNdMatrixStride srcDValue dstNzC0Stride:16384 dstNzNStride:16384 dstNzMatrixStride
Nd2Nz wide          | ndNum:4095 nValue:16384 dValue:2097151 srcDValue:1099511627775 dstNzC0Stride:16384 dstNzNStride:16384
Nd2Nz pairs         | ndNum:4095 nValue:16384 dValue:2097151 srcDValue:1099511627775 dstNzC0Stride:16384 dstNzNStride:16384
Dn2Nz pairs         | dnNum nValue:16384 dValue:2097151 srcDValue:1099511627775 dstNzC0Stride dstNzNStride dstNzMatrixStride
DataCopy            | blockCount:4095 blockLen srcStride dstStride
DataCopyPad to_UB   | blockCount:4095 blockLen:2097151 srcStride:4294967295 dstStride:4294967295
LoadData2D          | repeatTimes:255 srcStride dstGap ifTranspose:1
LoadData2DTranspose | repeatTimes:255 srcStride dstGap dstFracGap
LoadData2DV2        | mStartPosition kStartPosition mStep:255 kStep:255 srcStride dstStride ifTranspose:1
LoadData2DMx        | xStartPosition yStartPosition xStep:255 yStep:255 srcStride dstStride
LoadData3D          | l1H l1W channelSize kExtension mExtension strideW:63 strideH:63 filterW:255 filterH:255 enTranspose:1 fMatrixCtrl:1
LoadData3DWithStride| padLeft:255 padRight:255 padTop:255 padBottom:255 strideW:63 strideH:63 filterW:255 filterH:255 dstStride
LoadDataWithSparse  | repeatTimes:255 srcStride dstGap index:524287
Fixpipe             | nSize:4095 mSize srcStride dstStride:4294967295 channelSplit:1 ndNum srcNdStride:512 dstNdStride
FixpipeC310         | nSize:4095 mSize srcStride dstStride:4294967295 channelSplit:1
FixpipeC310 _WIDE   | ndNum srcNdStride dstNdStride:4294967295
DataCopyCO12Dst     | nSize:4095 mSize srcStride dstStride:4294967295 channelSplit:1 nz2ndEn:1 srcNdStride:512 dstNdStride
DataCopyCO12Dst WIDE| ndNum srcNdStride dstNdStride:4294967295
"""


def test_fields_hold_their_largest_value_and_no_more():
    for line in LARGEST.strip().splitlines():
        (name, *form), fields = (part.split() for part in line.split("|"))
        for field, most in ((f, int(n or 65535)) for f, _, n in (word.partition(":") for word in fields)):
            for value in (0, most):
                TransferInstruction(name, 0, 0, {field: value}, half, "".join(form)).require_fields()
            for value in (-1, most + 1):
                with pytest.raises(RangeError, match=f"{field} = {value}\n +expected  0 to {most}\n"):
                    TransferInstruction(name, 0, 0, {field: value}, half, "".join(form)).require_fields()


def drawn(name, rng, bits):
    """Fields of an instruction, so that no element is written twice; and its form."""
    low, c0 = (lambda n=3: rng.randint(0, n)), 256 // bits
    if name in ("Nd2Nz", "Dn2Nz"):
        form = rng.choice(["", "wide", "pairs", "bytes of pairs"]) if name == "Nd2Nz" else "pairs"
        n, d = rng.randint(1, 5), rng.randint(1, 40)
        step = rng.randint(1, 3)
        fields = {
            "nValue": n,
            "dValue": d,
            "srcDValue": 40 + low(),
            "dstNzNStride": step,
            "dstNzC0Stride": n * step + low(),
        }
        return fields, form
    if name == "DataCopy":
        fields = {
            "blockCount": rng.randint(1, 4),
            "blockLen": rng.randint(1, 3),
            "srcStride": low(),
            "dstStride": low(),
        }
        return fields, rng.choice(["", "64", "128"])
    if name == "DataCopyPad":
        size, form = max(1, bits // 8), rng.choice(["to UB", "to GM"])
        high, length = rng.randint(1, 4), rng.randint(1, 40)
        gaps = {
            "srcStride": low() * (size if form == "to UB" else 1),
            "dstStride": low() * (1 if form == "to UB" else size),
        }
        more = {"rightPadding": -length % c0} if form == "to UB" and rng.random() < 0.5 else {}
        return {"blockCount": high, "blockLen": length * size, **gaps, **more}, form
    if name in ("LoadData2D", "LoadDataWithSparse"):
        turned = int(bits == 16 and rng.random() < 0.5)
        return {"repeatTimes": rng.randint(1, 3), "srcStride": low(), "dstGap": low(), "ifTranspose": turned}, ""
    if name == "LoadData2DTranspose":
        fractals, gap = c0 // 16, low(2)
        return {"repeatTimes": 2, "srcStride": low(), "dstGap": (1 + gap) * fractals - 1 + low(), "dstFracGap": gap}, ""
    if name == "LoadData2DV2":
        turned, m, k = int(rng.random() < 0.5), rng.randint(1, 3), rng.randint(1, 3)
        m = -(-m // max(1, c0 // 16)) * max(1, c0 // 16) if turned else m
        room = -(-k * c0 // 16) if turned else m
        fields = {"mStartPosition": low(), "kStartPosition": low(), "mStep": m, "kStep": k, "srcStride": m + low()}
        return {**fields, "dstStride": room + low(), "ifTranspose": turned}, ""
    if name == "LoadData2DMx":
        x, y = rng.randint(1, 3), rng.randint(1, 3)
        return {
            "xStartPosition": low(),
            "yStartPosition": low(),
            "xStep": x,
            "yStep": y,
            "srcStride": low(),
            "dstStride": y + low(),
        }, ""
    if name in ("LoadData3D", "LoadData3DWithStride"):
        return drawn_window(name, rng, c0), ""
    forms = {
        "Fixpipe": ["CFG_ROW_MAJOR", "CFG_NZ"],
        "FixpipeC310": ["CFG_ROW_MAJOR_UB", "CFG_ROW_MAJOR_WIDE", "CFG_NZ_WIDE"],
    }
    form = forms.get(name, ["", "WIDE"])
    m, n, rows_first = rng.randint(1, 5), rng.randint(1, 70), int(name == "DataCopyCO12Dst" and rng.random() < 0.5)
    fields = {"mSize": m, "nSize": n, "srcStride": m + low(), "channelSplit": int(bits == 32 and rng.random() < 0.5)}
    fields |= {"dstStride": 200 + low(), **({"nz2ndEn": rows_first} if name == "DataCopyCO12Dst" else {})}
    several = (
        {"ndNum": rng.randint(1, 3), "srcNdStride": low(9), "dstNdStride": 2000 + low()} if rng.random() < 0.5 else {}
    )
    return {**fields, **several}, rng.choice(form)


def drawn_window(name, rng, c0):
    """Fields of LoadData3D: a window over a small image with a border; or, without a window, the points of one line."""
    if name == "LoadData3D" and rng.random() < 0.5:
        turned, to_b, width = rng.randint(0, 1), rng.randint(0, 1), rng.randint(3, 40)
        columns = 16 * rng.randint(1, 2)
        fields = {"mExtension": rng.randint(1, width), "kExtension": columns, "channelSize": columns, "l1W": width}
        return {**fields, "enTranspose": turned, "fMatrixCtrl": to_b}
    (h, w), (kh, kw) = (rng.randint(4, 6) for _ in "hw"), (rng.randint(1, 2) for _ in "hw")
    gaps, pads = [rng.randint(1, 3) for _ in range(4)], [rng.randint(0, 2) for _ in range(4)]
    names = ("strideH", "strideW", "dilationFilterH", "dilationFilterW", "padLeft", "padRight", "padTop", "padBottom")
    fields = {"l1H": h, "l1W": w, "filterH": kh, "filterW": kw, **dict(zip(names, (*gaps, *pads)))}
    points, columns = rng.randint(1, 20), c0 * kh * kw * rng.randint(1, 2)
    fields |= {"mExtension": points, "kExtension": columns, "channelSize": columns, "enTranspose": 0, "fMatrixCtrl": 0}
    return fields | ({"dstStride": -(-points // 16) + rng.randint(0, 2)} if name != "LoadData3D" else {})


#: The widths that an instruction is for; a transposed square of C0 has whole fractals of 16 rows from 16 bits down.
MOVED = {"LoadData2DTranspose": (4, 8, 16), "LoadData2DMx": (8,), "Dn2Nz": (8,), "DataCopyPad": (8, 16, 32)}


@pytest.mark.parametrize("name", sorted(MEANING))
def test_each_instruction_moves_what_the_manual_says(name):
    """Random fields: the pairs (written, read) of the two layouts are those of the manual's loops, each as often."""
    rng = random.Random(name)
    for bits in MOVED.get(name, (4, 8, 16, 32)):
        for _ in range(40 if NIGHT else 4):
            fields, form = drawn(name, rng, bits)
            known = sorted((to, -1 if at is None else 7 + at) for to, at in MEANING[name](fields, 256 // bits, form))
            moved = proof.executed(TransferInstruction(name, 0, 7, fields, ascend.Element("", bits), form))
            assert sorted(zip(*(side.tolist() for side in moved))) == known, (fields, bits, form)


@pytest.mark.parametrize(("kh", "kw"), [(1, 1), (1, 17), (17, 1), (2, 3), (3, 2)])
def test_windows_that_are_high_or_wide(kh, kw):
    """More places along one axis of the window than a block has channels; the blocks of the columns are as many as
    these need."""
    rest = ("padLeft", "padRight", "padTop", "padBottom")
    fields = {
        "l1H": kh + 1,
        "l1W": kw + 1,
        "filterH": kh,
        "filterW": kw,
        **dict.fromkeys(("strideH", "strideW"), 1),
        **dict.fromkeys(rest, 0),
    }
    fields |= {"dilationFilterH": 1, "dilationFilterW": 1, "enTranspose": 0, "fMatrixCtrl": 0, "mExtension": 3}
    for blocks in (1, 2):
        columns = 16 * kh * kw * blocks
        made = TransferInstruction("LoadData3D", 0, 0, {**fields, "kExtension": columns, "channelSize": columns}, half)
        moved = sorted(zip(*(side.tolist() for side in proof.executed(made))))
        assert moved == sorted(
            (to, -1 if at is None else at) for to, at in MEANING["LoadData3D"](made.parameters, 16, "")
        )
        assert made.moved.src.shape == ((2, 2), (16, kw, kh, blocks))
