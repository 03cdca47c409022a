"""What the tests of tla.gpu share: the vendors' answers as data, and their inputs made from text."""

import functools
import json

from tla import Layout, _, parse
from tla.core.int_tuple import text
from tla.gpu import Copy_Atom, atom, make_tiled_mma
from tla.gpu.tiled import tiled_copy as copies

import places

DATA = places.DATA / "gpu"


def rows(name):
    return json.loads((DATA / f"{name}.json").read_text())


def layout_or_shape(given):
    return None if given is None else parse(given)


def tile(given):
    """The permutations of a row: texts of a Tile, split at its commas."""
    if given is None:
        return None
    parts, depth = [""], 0
    for c in given[1:-1]:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return tuple(_ if p == "_" else parse(p) for p in parts)


def tiled_mma(row):
    return _tiled_mma(row["op"], row["thr"], row["perm"])


@functools.cache
def _tiled_mma(op, threads, permutation):
    return make_tiled_mma(atom(op), layout_or_shape(threads), tile(permutation))


def tiled_copy(row):
    """The tiled copy of a row, and the tiled MMA that it was made from."""
    typed, how = Copy_Atom[atom(row["op"]), row["type"]], row.get("how", "make_tiled_copy")
    if how == "make_tiled_copy":
        return copies.make_tiled_copy(typed, layout_or_shape(row["thr"]), layout_or_shape(row["val"])), None
    if how == "make_cotiled_copy":
        return copies.make_cotiled_copy(typed, parse(row["atom_tv"]), parse(row["data_layout"])), None
    if "of" in row:
        return getattr(copies, how)(typed, tiled_copy({"type": row["type"], **row["of"]})[0]), None
    mma = tiled_mma(row["mma"])
    return getattr(copies, how)(typed, mma), mma


def printed(x):
    return str(x) if isinstance(x, Layout) else text(x)


def same_offset(ours, theirs):
    """An offset or a coordinate as printed; ours may be more static."""
    return printed(ours).replace("_", "") == theirs.replace("_", "")
