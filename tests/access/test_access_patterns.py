"""The usual accesses: each against the addresses that its instruction's manual gives the lanes of a warp, and
the whole tile once."""

import itertools

import pytest

import tla.gpu as gpu
from tla import LeafTypeError, RangeError, RankError, parse, size
from tla.access import access, best_swizzle, patterns
from tla.access.memories import NVIDIA_SHARED
from tla.access.pattern import PATTERNS, has_columns, instruction_pattern, pattern

from night import amount

TILES = [(16, 64), (32, 16), (16, 16), (48, 32), (1, 256), (256, 1)]
TILES += amount([], [(64, 64), (8, 64), (128, 32), (48, 96)])


def covered(owners):
    threads, values = size(owners[0]), size(owners[1])
    return sorted(int(owners(t, v)) for t in range(threads) for v in range(values))


@pytest.mark.parametrize("name", PATTERNS)
def test_every_element_of_a_tile_is_taken_once(name):
    p, taken = PATTERNS[name], 0
    for tile, bits, columns in itertools.product(TILES, (8, 16, 32), (False, True)):
        try:
            owners = p.owners(tile, bits, columns)
        except RangeError:
            rows = tile[0] if columns and p.bits else tile[1]
            assert rows * bits % max(p.bits, bits) or p.element not in (0, bits)
            continue
        taken += 1
        assert covered(owners) == [*range(tile[0] * tile[1])]
        assert size(owners[0]) <= p.lanes
        count = p.width(bits) // bits
        step = 1 if columns or not p.bits else tile[0]
        for t in range(size(owners[0])):  # the first values of a lane are its vector
            first = int(owners(t, 0))
            assert [int(owners(t, v)) for v in range(count)] == [first + v * step for v in range(count)]
    assert taken > 3


def test_ldmatrix_takes_rows_of_16_bytes():
    """PTX ISA, ldmatrix: threads 0-7 give the rows of the first matrix, 8-15 of the second, ...; here the second is
    below the first."""
    for n, bits in itertools.product((1, 2, 4), (8, 16, 32)):
        owners = pattern(f"ldmatrix.x{n}").owners((64, 64), bits)
        rows = {lane: divmod(int(owners(lane, 0)), 64)[::-1] for lane in range(8 * n)}  # (row, column)
        for m in range(n):
            below, beside = (m % 2, m // 2) if n == 4 else (0, m)
            assert [rows[8 * m + k] for k in range(8)] == [(8 * below + k, beside * 128 // bits) for k in range(8)]


def test_names_of_instructions_are_patterns():
    """The instructions of CuTe's atoms, with the lanes that give addresses in their layouts."""
    found = {}
    for atom in gpu.atoms(kind=gpu.CopyAtom):
        if known := instruction_pattern(atom.instruction):
            found[atom.name] = known
            if "matrix" in known:
                side = atom.src if known.startswith("ldmatrix") else atom.dst
                rows = {int(side(t, 0)) // 128 for t in range(32)}
                assert PATTERNS[known].lanes == len(rows), atom.name
    assert {
        "SM75_U32x4_LDSM_N": "ldmatrix.x4",
        "SM75_U16x8_LDSM_T": "ldmatrix.x4.trans",
        "SM90_U16x2_STSM_T": "stmatrix.x1.trans",
    }.items() <= found.items()
    assert len(found) >= 12


def degree(layout, bits, lanes):
    """Ways of conflict by hand: lanes as lists of coordinates; NVIDIA's phases."""
    wide = bits * len(lanes[0])
    worst = 1
    for start in range(0, len(lanes), max(1, min(32, 1024 // wide))):
        words = {
            int(layout(*c)) * bits // 32 for lane in lanes[start : start + max(1, min(32, 1024 // wide))] for c in lane
        }
        worst = max(worst, *(sum(w % 32 == b for w in words) for b in range(32)))
    return worst


LAYOUTS = [
    "(64,64):(64,1)",
    "(64,64):(1,64)",
    "Sw<3,3,3> o 0 o (64,64):(64,1)",
    "Sw<3,3,3> o 0 o (64,64):(1,64)",
    "(64,64):(72,1)",
    "Sw<2,3,3> o 0 o (64,32):(32,1)",
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_degrees_are_those_by_hand(text):
    layout = parse(text)
    turned = ":(1," in text
    rows, columns = (
        (int(size(layout[k])) for k in (0, 1)) if ":" in text and "o" not in text else (64, 32 if "32)" in text else 64)
    )
    n, m = (columns, rows) if turned else (rows, columns)
    at = (lambda i, j: (j, i)) if turned else (lambda i, j: (i, j))
    vector = lambda i, j: [at(i, j + k) for k in range(8)]  # noqa: E731
    hand = {
        "ldmatrix.x4": [vector(i, j) for j in (0, 8) for i in range(16)],
        "ldmatrix.x4.trans": [vector(i, j) for j in (0, 8) for i in range(16)],
        "stmatrix.x2": [vector(i, j) for j in (0, 8) for i in range(8)],
        "cp.async.16": [vector(i, j) for i in range(32 // (m // 8)) for j in range(0, m, 8)],
        "16 bytes down the rows": [vector(i, 0) for i in range(32)],
        "a row": [[(0, j)] for j in range(32)],
        "a column": [[(i, 0)] for i in range(32)],
    }
    for name, lanes in hand.items():
        assert access(name, layout, 16).degree == degree(layout, 16, lanes), name
        assert access(name.upper(), layout, 16).counts == access(name, layout, 16).counts
    assert n * m == rows * columns


def test_which_mode_is_contiguous():
    for text, columns in (
        ("(8,8):(8,1)", False),
        ("(8,8):(1,8)", True),
        ("8:1", False),
        ("(8,8):(2,16)", False),
        ("(8,1):(1,0)", True),
    ):
        assert has_columns(parse(text)) is columns
    assert has_columns(parse("((_16,2),(_16,2)):((_16,_256),(_1,512))")) is False  # zN
    assert has_columns(parse("((_16,2),(_16,2)):((_1,512),(_16,_256))")) is True  # nZ


def test_a_name_says_the_memory_and_the_width():
    assert access("ds_read_b128", parse("(64,64):(64,1)"), 16).memory.name == "AMD_LDS_GFX942_READ"
    assert access("ub column", parse("(64,64):(64,1)"), 16).vector == 256
    assert access("global column", parse("(64,64):(64,1)"), 32).wavefronts == 32
    assert access("a row", parse("(64,64):(64,1)"), 16).vector == 16
    assert (
        access("cp.async 16", parse("(64,64):(64,1)"), 16, memory="AMD_LDS_GFX12_READ").memory.name
        == "AMD_LDS_GFX12_READ"
    )
    assert access("ldmatrix", parse("8192:1"), 16).degree == 1


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: access("ldmatrix.x3", parse("(64,64):(64,1)"), 16), "one of ldmatrix.x4"),
        (lambda: access("ldmatrix.x4.trans", parse("(64,64):(64,1)"), 8), "use ldmatrix.x4"),
        (lambda: access("ldmatrix.x4", parse("(64,6):(6,1)"), 16), "whole vectors of 128 bits"),
        (lambda: access("ldmatrix.x4", parse("(0,64):(64,1)"), 16), "1 or more"),
        (lambda: access("cp.async.16", parse("(64,64):(2,128)"), 16), "whole, aligned vectors"),
        (lambda: best_swizzle(["cp.async.16"], ["ldmatrix.x4"], 16), r"give tile=\(64, 64\)"),
        (lambda: best_swizzle(["cp.async.16"], ["ldmatrix.x4"], 16, tile=()), r"give tile=\(64, 64\)"),
        (lambda: best_swizzle(["cp.async.16"], ["ldmatrix.x4"], 16, tile=(-8, 64)), "leave the sign out"),
        (lambda: best_swizzle(["cp.async.16"], ["ldmatrix.x4"], 16, tile=(8.5, 64)), "a known integer"),
        (lambda: PATTERNS["cp.async.16"].owners((-8, 64), 16), "1 or more"),
    ],
)
def test_what_is_refused(call, shown):
    with pytest.raises((RangeError, LeafTypeError, RankError), match=shown):
        call()


def test_the_swizzle_for_names_is_that_of_cutlass():
    for tile, expected in (
        ((64, 64), "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)"),
        ((128, 32), "Sw<2,3,3> o _0 o (_128,_32):(_32,_1)"),
        ((32, 16), "Sw<1,3,3> o _0 o (_32,_16):(_16,_1)"),
    ):
        found = best_swizzle(["cp.async.16"], ["ldmatrix.x4"], 16, tile=tile)
        assert (str(found.layout), found.certificate.met) == (expected, True)
        assert found.vectors == (128, 128)
        for name in ("cp.async.16", "ldmatrix.x4", "ldmatrix.x4.trans"):
            assert access(name, found.layout, 16).degree == 1
    assert NVIDIA_SHARED in {p.memory for p in patterns()}
