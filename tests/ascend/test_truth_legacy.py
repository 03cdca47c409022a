"""The legacy tags of CATLASS, flat structs with methods of their own, against layouts made from tags."""

from collections import Counter

import tla
from tla import GetTileLayout, MakeLayout, ascend, parse

from truth import element, rows

# The sizes of the convolution tags, in the order of their names.
NAMED = {"NDC1HWC0": ("N", "D", "C1", "H", "W", "C0"), "KDC1KHKWN1N0C0": ("KdC1KhKw", "N1", "N0", "C0")}


def made(row, **options):
    args = row["args"]
    tag, names = getattr(ascend, args["tag"]), NAMED.get(args["tag"], ("rows", "cols", "blockRows", "blockCols"))
    sizes = parse(args["dims"]) if "dims" in args else [args[name] for name in names if name in args]
    return tag[element(row)](*sizes, **options)


def fields(row, layout):
    """The fields of the struct that C++ has of a layout."""
    shape, stride = flat(layout.shape), flat(layout.stride)
    if row["args"].get("tag") == "NDC1HWC0":  # some of the extents; strides of c0, hw, c1, d, n
        n, d, c1, h, w, c0 = shape
        shape, stride = (n, w, h, c0, d * c1), tuple(stride[i] for i in (5, 4, 2, 1, 0))
    elif row["args"].get("tag") == "KDC1KHKWN1N0C0":  # strides from the fastest
        k, n1, n0, c0 = shape
        shape, stride = (c0, k, n0, n1), stride[::-1]
    return {"shape": shape, "stride": stride, "orgShape": tuple(layout.origin_shape)}


def flat(x):
    return tuple(tla.flatten(x))


def offset(row):
    layout, coord = made(row).layout, tuple(parse(row["args"]["coord"]))
    if row["args"]["tag"] == "NDC1HWC0":  # (n, d, c1, hw)
        return layout(*coord[:3], *divmod(coord[3], row["args"]["W"]), 0)
    if row["args"]["tag"] == "KDC1KHKWN1N0C0":  # (k, n1), where n1 counts columns, which are n1 * N0 + n0
        return layout(*coord, 0, 0)
    return layout(*coord)


def check(row):
    """Whether a row is equal; of tiles with other strides than the whole, whether all but these are."""
    _legacy, *_of, op = row["op"].split(".")
    args, result = row["args"], row["result"]
    if op == "GetOffset":
        return offset(row) == int(result["value"])
    if op == "Capacity":
        return made(row).capacity == int(result["value"])
    if op == "MakeLayoutInUb":  # rows, or a length, of whole blocks of 32 bytes
        if "len" in args:
            return MakeLayout(tla.round_up(args["len"], element(row).C0)).shape == parse(result["shape"])
        layout = MakeLayout[element(row), ascend.RowMajor](
            args["rows"], args["cols"], ld=tla.round_up(args["cols"], element(row).C0)
        )
    else:
        layout = made(row).layout
    if op == "GetTileLayout":
        layout = GetTileLayout(layout, parse(args["tile"]), (0,) * len(layout.origin_shape))
    mine, theirs = fields(row, layout), {name: tuple(parse(text)) for name, text in result.items()}
    if row.get("quirk") == "tile-restrides":
        assert (mine["shape"], mine["orgShape"]) == (theirs["shape"], theirs["orgShape"]), row
        assert flat(layout.stride) == flat(made(row).layout.stride)
    return {name: mine[name] for name in theirs} == theirs


def test_legacy():
    legacy = [row for row in rows("tla/accepted.json") if row["op"].startswith("legacy.")]
    assert len(legacy) == 231
    assert Counter(row.get("quirk") or row["args"]["tag"] for row in legacy if not check(row)) == {
        "legacy-offset-drops-in-fractal-part": 19,
        "missing-RoundUp": 4,
        "n1-uses-N0-stride": 1,
        "tile-restrides": 5,
        "tile-stride-order": 1,
        "Weight4BitnZ": 9,  # blocks of 16 rows, 512 elements apart where they take 16 columns: they overlap
    }


def test_zz_and_nn_have_all_their_offset():
    """GetOffset of zZ and nN drops the place inside a block; in all other rows it does not matter, or it is there."""
    for row in rows("tla/accepted.json"):
        if row.get("quirk") == "legacy-offset-drops-in-fractal-part":
            tagged = made(row)
            (r, c), (rows_in, cols_in) = parse(row["args"]["coord"]), tagged.block
            assert tagged.layout(r // rows_in * rows_in, c // cols_in * cols_in) == int(row["result"]["value"])
