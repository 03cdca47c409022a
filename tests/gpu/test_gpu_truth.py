"""Atoms, tiled MMAs and tiled copies against the headers of CUTLASS 4.2, sycl-tla and AMD's calculator: every row."""

import math

import pytest

from tla import TlaError, flatten, parse
from tla.gpu import Copy_Atom, atom
from tla.gpu.instructions.elements import cpp_name
from tla.gpu.tiled.fragments import fragment_like

import gpu_truth as truth
from batches import in_batches
from night import some

MMA = truth.rows("mma")
FIELDS = {k: k for k in ("shape_mnk", "thr_id", "sf_vec")} | {
    "a": "A",
    "b": "B",
    "c": "C",
    "e": "E",
    "sfa": "SFA",
    "sfb": "SFB",
}
FIELDS |= {"frg_a": "frg_A", "frg_b": "frg_B", "frg_c": "frg_C"}
#: CuTe's ALayout there has a stride one level deeper than its shape: it compiles, and prints so
MISPRINTED = {"((_4,_8),(_32,_2)):((_512,_1),((_16,_8)))": "((_4,_8),(_32,_2)):((_512,_1),(_16,_8))"}


@in_batches(MMA)
def test_matrix_atoms_are_the_headers(row):
    found = atom(row["op"])
    for field, name in FIELDS.items():
        ours, theirs = str(getattr(found, name)), str(row.get(field))
        if field in row.get("wrong", {}):
            assert ours != theirs  # what is right is in test_gpu_atoms.py: every element once
        else:
            assert ours == MISPRINTED.get(theirs, theirs), field
    for side in "DABC":
        stored = row[f"val_{side.lower()}"]
        sparse = f"sparse_elem<{found.sparsity[0]}, " if found.sparsity and side == "A" else ""
        assert stored == (
            f"{sparse}{cpp_name(getattr(found, f'val_{side}'))}>" if sparse else cpp_name(getattr(found, f"val_{side}"))
        )


COPY = truth.rows("copy")


@in_batches(COPY)
def test_copy_atoms_are_the_headers(row):
    found = atom(row["op"])
    assert {k: str(getattr(found, k)) for k in ("thr_id", "src", "dst", "ref")} == {
        k: row[k] for k in ("thr_id", "src", "dst", "ref")
    }


AMD = truth.rows("amd_matrix")


def image(bases, index):
    """What a linear layout gives an index: the bases of its bits, XORed."""
    out = (0, 0, 0)
    for i, basis in enumerate(bases):
        if index >> i & 1:
            out = tuple(x ^ y for x, y in zip(out, basis))
    return out


@in_batches(AMD, 20)
def test_amd_atoms_are_the_calculator(row):
    arch = f"{row['arch']}/{row['wave']}"
    if "a" not in row:  # no layout of lanes and values says where A and B lie
        with pytest.raises(TlaError, match="no layout of lanes and values"):
            atom(row["instruction"], arch)
        return
    found = atom(row["instruction"], arch)
    m, n, k = row["m"], row["n"], row["k"]
    assert (*found.shape_mnk, found.blocks) == (m, n, k, row["blocks"])
    for side, layout in (("a", found.A), ("b", found.B), ("d", found.C)):
        bases = dict(row[side]["in"])
        lanes, items = 2 ** len(bases["lane"]), 2 ** len(bases["item"])
        assert math.prod(flatten(layout.shape)) == lanes * items
        for lane in range(lanes):
            for item in range(items):
                r, c, block = (x ^ y for x, y in zip(image(bases["lane"], lane), image(bases["item"], item)))
                place = {
                    "a": r + m * c + m * k * block,
                    "b": c + n * r + n * k * block,
                    "d": r + m * c + m * n * block,
                }[side]
                assert layout(lane, item) == place


TILED = truth.rows("tiled_mma")
#: C with several atoms along K: theirs runs past the tile, ours gives the threads along K the same
PAST_THE_TILE = "c_tv"


@in_batches(some(TILED, 4))
def test_tiled_mmas_are_cutes(row):
    """By day a quarter of the rows."""
    mma = truth.tiled_mma(row)
    if row["kind"] == "tiled_mma":
        ours = {
            "thr_layout_vmnk": str(mma.thr_layout_vmnk),
            "a_tv": str(mma.A_TV),
            "b_tv": str(mma.B_TV),
            "c_tv": str(mma.C_TV),
        }
        ours |= {
            "tile_size": [*map(truth.printed, mma.tile_size)],
            "perm_mnk": [*map(truth.printed, mma.permutation_mnk)],
        }
        wrong = {field for field, x in ours.items() if x != row[field]}
        assert wrong == {*row.get("wrong", {})} <= {PAST_THE_TILE}
        return
    operand, tensor = row["operand"], parse(row["tensor"])
    assert str(mma.thrfrg(operand, tensor)) == row["thrfrg"]
    for thread, offset in row["offsets"].items():
        part = mma[int(thread)].partition(operand, tensor)
        assert str(part.layout) == row["partition"]
        assert truth.same_offset(part.offset, offset)
    if "fragment" in row:
        assert str(mma[0].partition_fragment_C(tensor).layout) == row["fragment"]


COPIES = truth.rows("tiled_copy")


@in_batches(COPIES)
def test_tiled_copies_are_cutes(row):
    if "refused" in row:
        with pytest.raises(TlaError):
            _check_copy(row)
    else:
        _check_copy(row)


def _check_copy(row):
    if row["kind"] == "copy_atom":
        typed = Copy_Atom[atom(row["op"]), row["type"]]
        assert all(str(getattr(typed, k)) == row.get(k) for k in ("thr_id", "val_src", "val_dst", "val_ref"))
        return
    copy, mma = truth.tiled_copy(row)
    if row["kind"] == "tiled_copy":
        tiler = "(" + ",".join(map(truth.printed, copy.tiler_mn)) + ")"
        ours = {
            "tiler_mn": tiler,
            "tv": str(copy.TV),
            "s_tv": str(copy.S_TV),
            "d_tv": str(copy.D_TV),
            "threads": copy.threads,
        }
        assert ours == {k: row[k] for k in ours}
    elif row["kind"] == "partition_copy":
        side, tensor = row["side"], parse(row["tensor"])
        assert str(getattr(copy, f"tidfrg_{side}")(tensor)) == row["tidfrg"]
        for thread, offset in row["offsets"].items():
            part = getattr(copy[int(thread)], f"partition_{side}")(tensor)
            assert str(part.layout) == row["partition"]
            assert truth.same_offset(part.offset, offset)
    else:
        part = mma[0].partition(row["how"][-1], parse(row.get("partition_of") or row["fragment_of"]))
        part = fragment_like(part, 0, "float32") if "fragment_of" in row else part
        assert str(copy.retile(part.layout)) == row["retile"]
