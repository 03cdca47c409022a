"""Executed means executable: random copies and products, run or refused as the PTX manual's rules have it, and as CuTe
C++ compiles them.

5,000 by night, in shares of the kinds, and a sample of these by day. tests/support/ptx_rules.py is the checker, which
knows nothing of tla.
"""

import collections
import functools
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tla import (
    DivisibilityError,
    LeafTypeError,
    MakeTensor,
    RangeError,
    Unproven,
    _1,
    assuming,
    dim,
    elem_less,
    make_identity_tensor,
    make_layout,
    parse,
)
from tla.gpu import (
    Copy_Atom,
    UniversalCopy,
    contracts,
    copy,
    copy_facts,
    copy_if,
    half,
    int4b,
    make_tiled_copy,
    uint8,
    wgmma_descriptor,
)

import executions
from batches import in_batches
from night import amount
from traced_sources import include_folders

#: Kind of case -> how many by night, and the rules that have to be broken by some of them.
KINDS = {
    "copy_of_threads": (
        2600,
        {
            "a multiple of its size",
            "elements of the tensor",
            "one predicate",
            "bytes that lie together",
            "a place for each",
        },
    ),
    "copy_of_a_warp": (800, {"a multiple of its size", "rows of 16 bytes", "one predicate", "its memory"}),
    "product_of_registers": (600, {"side by side in registers", "its memory"}),
    "product_of_descriptors": (1000, {"a canonical layout", "a swizzle mode", "its memory"}),
}


@functools.cache
def verdict_of(kind, seed):
    return getattr(executions, kind)(seed)


def seeds(kind):
    return range(amount(KINDS[kind][0] // 50, KINDS[kind][0]))


@in_batches([(kind, seed) for kind in KINDS for seed in seeds(kind)], 50)
def test_what_runs_is_executable_and_what_is_refused_breaks_a_rule(row):
    found = verdict_of(*row)
    assert found.agrees, found


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_runs_and_breaks_rules(kind):
    """At least a fifth of it runs; by night every rule is broken by some."""
    found = collections.Counter(verdict_of(kind, seed).rule for seed in seeds(kind))
    assert found[None] >= len(seeds(kind)) / amount(10, 5)
    assert amount(found.keys(), KINDS[kind][1]) <= found.keys()


#: The rules that CuTe asserts when it compiles: the others are of addresses, and of predicates.
COMPILED = {
    "bytes that lie together",
    "a swizzle of whole accesses",
    "rows of 16 bytes",
    "a canonical layout",
    "a swizzle mode",
}


#: What a refusal says of elements with a stride along the major mode: CuTe takes these for more units of 16
#: bytes, and compiles.
STRIDED = "elements, contiguous along"


@functools.cache
def headers():
    """A folder with CuTe's headers precompiled, and the options of the compiler."""
    folder, options = (
        Path(tempfile.mkdtemp()),
        ["g++", "-std=c++17", "-w", *(f"-isystem{x}" for x in include_folders())],
    )
    (folder / "all.hpp").write_text(
        "#include <cute/tensor.hpp>\n#include <cute/atom/copy_atom.hpp>\n#include <cute/atom/mma_atom.hpp>\n"
    )
    subprocess.run([*options, "-x", "c++-header", "all.hpp", "-o", "all.hpp.gch"], cwd=folder, check=True)
    return folder, options


def compiles(text):
    folder, options = headers()
    (folder / "one.cpp").write_text(f'#include "all.hpp"\nusing namespace cute;\nvoid one() {{ {text} }}\n')
    return not subprocess.run(
        [*options, "-fsyntax-only", "one.cpp"], cwd=folder, capture_output=True, check=False
    ).returncode


@pytest.mark.parametrize(
    ("kind", "count"), [("copy_of_threads", 140), ("copy_of_a_warp", 80), ("product_of_descriptors", 80)]
)
def test_what_runs_compiles_in_cute_and_what_does_not_compile_is_refused(kind, count):
    """Of each case that is not refused for an address or a predicate; 300 by night."""
    left, seen = amount(4, count), collections.Counter()
    for seed in seeds(kind):
        found = verdict_of(kind, seed)
        of_layouts = (
            found.rule in COMPILED and found.refusal.startswith("DivisibilityError") and STRIDED not in found.refusal
        )
        if left and (found.refusal is None or of_layouts):
            left -= 1
            assert compiles(found.cpp) == (found.refusal is None), found
            seen[found.refusal is None] += 1
    assert left == 0
    assert amount(1, min(seen[True], seen[False]))


STRIDE_2 = "((_8,_8),(_8,_2)):((_8,_128),(_2,_1024))"


def test_elements_along_the_major_mode_are_contiguous():
    """The fuzz found this: every second element, in whole rows of 16 bytes, was canonical here, as it is
    for CuTe's recast."""
    with pytest.raises(DivisibilityError, match="8 elements, contiguous along K"):
        wgmma_descriptor(parse(STRIDE_2), "K", half)
    assert not any(x.holds for x in contracts(parse(STRIDE_2), half) if "wgmma" in str(x))


def test_parts_of_a_tile_that_one_thread_fills_have_valid_elements():
    """The fuzz found this too: of 8 by 5 by tiles of 8 by 4 a partition for an array of threads was refused."""
    tiled, t = (
        make_tiled_copy(Copy_Atom[UniversalCopy[half], half], parse("(_1,_2):(_1,_1)"), parse("(_8,_2):(_1,_8)")),
        np.arange(2),
    )
    a, b = (np.arange(1, 41, dtype=np.float16) * n for n in (1, 0))
    source, target = (tiled[t].partition_S(MakeTensor(x, parse("(_8,5):(_1,_8)"))) for x in (a, b))
    with pytest.raises(RangeError, match="are not valid"):
        copy(tiled, source, target)
    copy_if(tiled, elem_less(tiled[t].partition_S(make_identity_tensor((8, 5))), (8, 5)), source, target)
    assert (a == b).all()


@pytest.mark.parametrize("unit", [2, 4, 8])
def test_conditions_on_symbols_are_those_of_numbers(unit):
    """A row pitch K, a thread t: what assuming() records holds for a K where the copy of that K is made,
    and only there."""
    tiled, K = (
        make_tiled_copy(Copy_Atom[f"UniversalCopy<uint{16 * unit}_t>", half], parse("(_4,_8):(_8,_1)"), (1, unit)),
        dim("K"),
    )
    t = dim("t", at_least=0, at_most=31)

    def made(pitch, thread):
        layout = make_layout((8, 64), stride=(pitch, _1))
        target = parse("(_8,_64):(_64,_1)")
        copy_facts(tiled, tiled[thread].partition_S(MakeTensor(None, layout)), tiled[thread].partition_D(target))

    with assuming() as conditions:
        made(K, t)
    assert str(conditions[0]) == f"{unit} divides K"
    with pytest.raises(Unproven, match=f"{unit} divides K"):
        made(K, t)
    for pitch in range(64, 96):
        if all(c.at({"K": pitch}) for c in conditions):
            made(pitch, np.arange(32))
        else:
            with pytest.raises(DivisibilityError, match=f"a multiple of {2 * unit} bytes"):
                made(pitch, np.arange(32))


def test_less_than_a_byte_has_no_address():
    """Whole bytes of nibbles are copied, in as many elements as the fix says."""
    layouts = [MakeTensor(None, parse(text)) for text in ("(_1,_2):(_0,_1)", "(_2,_1):(_1,_0)")]
    with pytest.raises(LeafTypeError, match=r"4 bits at once(.|\n)*UniversalCopy\[uint8\]"):
        copy_facts(Copy_Atom[UniversalCopy[int4b], int4b], layouts[0], layouts[0])
    copy_facts(Copy_Atom[UniversalCopy[uint8], int4b], layouts[1], layouts[1])
