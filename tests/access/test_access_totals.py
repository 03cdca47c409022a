"""Every instruction of an access counted by itself, in plain Python, against the columns by which xors are
counted at once.

Random owners and memories: linear over bits, padded, of widths and banks that are no power of two.
"""

import itertools
import random

import pytest

from tla import ComposedLayout, Layout, MakeLayout, RangeError, Swizzle, parse
from tla.access import Memory, access, best_swizzle
from tla.access.by_bits import by_bits
from tla.access.memories import MEMORIES
from tla.linear import LinearLayout

from night import amount


def by_hand(owners, memory, bits, found, row):
    """The counts of all instructions, one by one: of each warp the vectors of its lanes, in the order of the first
    lane's registers."""
    offset = {}
    sizes = [owners.get_in_dim_size(n) if owners.has_in_dim(n) else 1 for n in ("warp", "lane", "register")]
    for at in itertools.product(*map(range, sizes)):
        given = {n: i for n, i in zip(("warp", "lane", "register"), at) if owners.has_in_dim(n)}
        place = owners.apply(given)["tile"]
        offset[at] = int(memory(place))
    count = found.vector // bits
    banks, groups = row.phases[found.vector]
    wavefronts = []
    for warp in range(sizes[0]):
        vectors = [[offset[warp, lane, r] // count for r in range(sizes[2])] for lane in range(sizes[1])]
        for r in [r for r in range(sizes[2]) if vectors[0][r] not in vectors[0][:r]]:
            words = 0
            for start in range(0, sizes[1], row.lanes):
                for group in groups:
                    asked = set()
                    for lane in (start + g for g in group if start + g < sizes[1]):
                        first = vectors[lane][r] * found.vector
                        asked |= {*range(first // row.word_bits, (first + found.vector - 1) // row.word_bits + 1)}
                    if asked and banks:
                        words += max(sum(w % banks == b for w in asked) for b in range(banks))
                    else:
                        words += len(asked)
            wavefronts.append(words)
    return wavefronts


def columns(rng, n, most):
    return [rng.choice([1 << rng.randrange(most), rng.randrange(1 << most), 0]) for _ in range(n)]


def random_memory(rng, size):
    n = size.bit_length() - 1
    plain = MakeLayout((1 << n,), (1,))
    kind = rng.choice(["plain", "swizzle", "transposed", "padded"])
    if kind == "swizzle":
        k = rng.randrange(1, max(2, n // 2))
        return ComposedLayout(Swizzle[k, rng.randrange(0, max(1, n - 2 * k + 1)), k](), 0, plain)
    half = 1 << n // 2
    if kind == "transposed":
        return Layout((size // half, half), (half, 1))
    return Layout((half, size // half), (1, half + rng.choice([1, 2, 4, 8]))) if kind == "padded" else plain


ODD = [
    Memory(
        f"ODD_{banks}_{word}",
        lanes,
        banks,
        word,
        {w: (banks, (tuple(range(lanes)),)) for w in (word // 2, word, 2 * word)},
        True,
        "x",
    )
    for banks, word, lanes in ((3, 32, 4), (6, 32, 8), (12, 32, 8), (20, 16, 4), (24, 32, 8), (8, 24, 8))
]


@pytest.mark.once
def test_every_instruction_is_counted():
    rng = random.Random(1959)
    at_once = counted = 0
    for k in range(amount(80, 20_000)):
        row = rng.choice(ODD if k % 3 == 0 else [*MEMORIES.values()])
        if row.lanes > 64:
            continue
        bits = rng.choice([n for n in (2, 3, 4, 6, 8, 12, 16, 32, 48, 64) if any(w % n == 0 for w in row.widths)])
        registers, warps = rng.randrange(0, 5), rng.randrange(0, 3)
        lanes = row.lanes.bit_length() - 1
        size = 1 << rng.randrange(6, 12)
        vector = [1 << i for i in range(rng.randrange(0, registers + 1))]
        most = size.bit_length() - 1
        bases = {
            "register": [(c,) for c in vector + columns(rng, registers - len(vector), most)],
            "lane": [(c,) for c in columns(rng, lanes, most)],
            "warp": [(c,) for c in columns(rng, warps, most)],
        }
        owners, memory = LinearLayout(bases, {"tile": size}), random_memory(rng, size)
        width = rng.choice([None, *(w for w in row.widths if w % bits == 0)])
        try:
            found = access(owners, memory, bits, width, row)
        except RangeError:
            continue
        counted += 1
        at_once += by_bits(owners, memory, row.lanes) is not None
        each = by_hand(owners, memory, bits, found, row)
        if len(each) == found.instructions:  # lanes whose registers are in one order
            assert found.total == sum(each), (bases, memory, bits, width, row)
            assert found.wavefronts in each
    assert counted > amount(25, 6000)
    assert at_once > counted // 3


def test_vectors_of_96_bits_of_narrow_elements():
    """Not all instructions are one here: a vector of three words begins in any bank."""
    bases = {"register": [1, 2, 4, 8, 2400], "lane": [1264, 3264, 1584, 1984, 1216, 2768], "warp": [80]}
    owners = LinearLayout({name: [(c,) for c in found] for name, found in bases.items()}, {"tile": 65536})
    found = access(owners, MakeLayout((65536,), (1,)), 6, 96, memory="AMD_LDS_GFX950_READ")
    assert found.total == 80


def test_an_instruction_that_copies_memory_moves_elements_in_order():
    """A swizzle of single elements leaves 16 bytes of a row whole as a set: registers may be put in order, cp.async and
    ldmatrix cannot."""
    tile = "(_64,_64):(_64,_1)"
    for swizzle, whole in (("Sw<5,0,6>", False), ("Sw<3,1,5>", False), ("Sw<3,2,4>", True)):
        layout = parse(f"{swizzle} o 0 o {tile}")
        assert access(parse("(32,(4,2)):(1,(64,256))"), layout, 32).vector in (32, 64, 128)
        for name in ("cp.async.16", "ldmatrix", "stmatrix.x2", "16 bytes down the rows"):
            if whole:
                assert access(name, layout, 32).vector == 128
            else:
                with pytest.raises(RangeError, match=r"one after the other\n.*swizzle whole vectors"):
                    access(name, layout, 32)
    for bits in (8, 16, 32, 64):
        for read in ("a column", "ldmatrix"):
            found, count = best_swizzle(["cp.async.16"], [read], bits, tile=(64, 64)), 128 // bits
            for i in range(64):
                for j in range(0, 64, count):
                    first = int(found.layout(i, j))
                    assert [int(found.layout(i, j + k)) for k in range(count)] == [first + k for k in range(count)]
