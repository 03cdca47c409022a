"""What each of AscendC's instructions does, slot by slot: read from the manual, and from nothing of tla."""

import itertools


def nd2nz(p, c0, form):
    if "pairs" in form:
        yield from pairs(p, c0, p["srcDValue"], 1)
        return
    for matrix in range(p.get("ndNum", 1)):
        to, begin = matrix * p.get("dstNzMatrixStride", 0), matrix * p.get("srcNdMatrixStride", 0)
        for n in range(p["nValue"]):
            for d in range(p["dValue"]):
                place = n * p["dstNzNStride"] * c0 + d // c0 * p["dstNzC0Stride"] * c0 + d % c0
                yield to + place, begin + n * p["srcDValue"] + d


def dn2nz(p, c0, _form):
    yield from pairs(p, c0, 1, p["srcDValue"])


def pairs(p, c0, n_step, d_step):
    half = c0 // 2
    for n, d, e in itertools.product(range(p["nValue"]), range(p["dValue"]), range(2)):
        yield (
            n * p["dstNzNStride"] * c0 + d // half * p["dstNzC0Stride"] * c0 + d % half * 2 + e,
            (n * n_step + d * d_step) * 2 + e,
        )


def data_copy(p, c0, form):
    c0 = c0 * int(form or 32) // 32
    for burst in range(p["blockCount"]):
        for e in range(p["blockLen"] * c0):
            yield burst * (p["blockLen"] + p["dstStride"]) * c0 + e, burst * (p["blockLen"] + p["srcStride"]) * c0 + e


def data_copy_pad(p, c0, form):
    size, more = 32 // c0, p.get("rightPadding", 0)
    for burst in range(p["blockCount"]):
        for e in range(p["blockLen"] // size + more):
            block = -(-p["blockLen"] // 32)
            to, begin = p["dstStride"], p["srcStride"]
            if form == "to UB":
                outside = burst * (p["blockLen"] + begin) // size + e
                yield burst * (block + to) * c0 + e, outside if e < p["blockLen"] // size else None
            else:
                yield burst * (p["blockLen"] + to) // size + e, burst * (block + begin) * c0 + e


def load_2d(p, c0, _form):
    for r in range(p["repeatTimes"]):
        for i, j in itertools.product(range(16), range(c0)):
            to = j * 16 + i if p["ifTranspose"] else i * c0 + j
            yield r * (1 + p["dstGap"]) * 16 * c0 + to, r * p["srcStride"] * 16 * c0 + i * c0 + j


def load_2d_transpose(p, c0, _form):
    fractal = 16 * c0
    for r in range(p["repeatTimes"]):
        for i, j in itertools.product(range(c0), repeat=2):  # row i, column j of a square becomes row j, column i
            to = j // 16 * (1 + p["dstFracGap"]) * fractal + j % 16 * c0 + i
            yield r * (1 + p["dstGap"]) * fractal + to, r * p["srcStride"] * (c0 // 16) * fractal + i * c0 + j


def load_2d_v2(p, c0, _form):
    fractal = 16 * c0
    for row, column in itertools.product(range(p["mStep"] * 16), range(p["kStep"] * c0)):
        place = (p["kStartPosition"] + column // c0) * p["srcStride"] + p["mStartPosition"] + row // 16
        begin = place * fractal + row % 16 * c0 + column % c0
        along, across = (column, row) if p["ifTranspose"] else (row, column)
        yield across // c0 * p["dstStride"] * fractal + along // 16 * fractal + along % 16 * c0 + across % c0, begin


def load_2d_mx(p, _c0, _form):
    for x, y, e in itertools.product(range(p["xStep"]), range(p["yStep"]), range(32)):
        begin = (p["xStartPosition"] + x) * p["srcStride"] + p["yStartPosition"] + y
        yield (x * p["dstStride"] + y) * 32 + e, begin * 32 + e


def window(p, c0, _form):
    width, height, kw, kh = p["l1W"], p["l1H"], p["filterW"], p["filterH"]
    places = (width + p["padLeft"] + p["padRight"] - p["dilationFilterW"] * (kw - 1) - 1) // p["strideW"] + 1
    across = -(-p["kExtension"] // c0)
    for point, column in itertools.product(range(p["mExtension"]), range(p["kExtension"])):
        block, rest = divmod(column, c0 * kw * kh)
        i, rest = divmod(rest, c0 * kw)
        j, channel = divmod(rest, c0)
        h = point // places * p["strideH"] + i * p["dilationFilterH"] - p["padTop"]
        w = point % places * p["strideW"] + j * p["dilationFilterW"] - p["padLeft"]
        inside = 0 <= h < height and 0 <= w < width
        down = column // c0 * p["dstStride"] + point // 16 if "dstStride" in p else point // 16 * across + column // c0
        yield (
            down * 16 * c0 + point % 16 * c0 + column % c0,
            ((block * height + h) * width + w) * c0 + channel if inside else None,
        )


def load_3d(p, c0, form):
    if "filterW" in p:
        yield from window(p, c0, form)
        return
    for point in range(p["mExtension"]):
        for channel in range(p["kExtension"]):
            row, column, rows, columns = point, channel, p["mExtension"], p["kExtension"]
            if p["enTranspose"] != p["fMatrixCtrl"]:  # L0B holds its matrix by columns anyway
                row, column, rows, columns = column, row, columns, rows
            down, across = -(-rows // 16), -(-columns // c0)
            place = column // c0 * down + row // 16 if p["fMatrixCtrl"] else row // 16 * across + column // c0
            yield (
                place * 16 * c0 + row % 16 * c0 + column % c0,
                channel // c0 * p["l1W"] * c0 + point * c0 + channel % c0,
            )


def fixpipe(p, c0, form):
    to_rows = form.startswith("CFG_ROW_MAJOR") or p.get("nz2ndEn")
    block = 1 if form == "CFG_NZ_WIDE" else c0
    for m, n in itertools.product(range(p["mSize"]), range(p["nSize"])):
        width = 8 if p["channelSplit"] else max(16, c0)
        to = m * p["dstStride"] + n if to_rows else n // width * p["dstStride"] * block + m * width + n % width
        yield to, n // 16 * p["srcStride"] * 16 + m * 16 + n % 16


MEANING = {
    "Nd2Nz": nd2nz,
    "Dn2Nz": dn2nz,
    "DataCopy": data_copy,
    "DataCopyPad": data_copy_pad,
    "LoadData2D": load_2d,
    "LoadData2DTranspose": load_2d_transpose,
    "LoadData2DV2": load_2d_v2,
    "LoadData2DMx": load_2d_mx,
    "LoadData3D": load_3d,
    "LoadData3DWithStride": window,
    "Fixpipe": fixpipe,
    "FixpipeC310": fixpipe,
    "DataCopyCO12Dst": fixpipe,
}


def executed(instructions):
    """{offset in dst: offset in src, or None for a zero} of a sequence; the last that writes an offset decides."""
    moved = {}
    for i in instructions:
        for to, begin in MEANING[i.name](i.parameters, 256 // i.element.bits, i.form):
            moved[i.dst + to] = None if begin is None else i.src + begin
    return moved


def offset_of(t, coord):
    """The place in its buffer of a coordinate of a tensor."""
    return int(t.offset) + int(t.layout(tuple(int(s) + c for s, c in zip(t.coord, coord))))
