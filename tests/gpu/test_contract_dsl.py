"""Contracts against the answers of CuTe's DSL, on cases that CUTLASS's headers were not asked for."""

import re

import pytest

from tla import Int, Layout, TlaError, gpu, parse, size, tile_to_shape
from tla.core.element import float
from tla.gpu import GMMA, make_tma_copy, make_tmem_copy, make_utccp_copy, scale_factor_layout, tmem_layout

from batches import in_batches
from truth import rows

CASES = rows("atoms/dsl_contracts.json")


def of_kind(kind):
    return [c for c in CASES if c["kind"] == kind]


def text(x):
    """As the DSL prints it: static integers without _."""
    return f"({','.join(map(text, x))})" if isinstance(x, tuple) else str(x).replace("_", "")


def static(layout):
    """The DSL's text of a static layout, read."""
    return parse(re.sub(r"(?<!\d)(\d+)", r"_\1", layout))


@in_batches(of_kind("tma"), 10)
def test_boxes_and_coordinates_of_tma(case):
    element, (shape, strides) = getattr(gpu, case["type"]), case["gmem"]
    order = tuple(Int[i + 1]() for i in case["order"])
    smem = tile_to_shape(GMMA.atoms[case["atom"]][element], tuple(Int[n]() for n in case["tile"]), order)
    assert text(getattr(smem, "inner", smem)) == case["smem"]
    gmem = Layout(tuple(shape), tuple(Int[1]() if d == 1 else d for d in strides))
    tma = make_tma_copy("SM90_TMA_LOAD", gmem, smem, tuple(case["tile"]), element=element)
    assert (text(tma.tma_tensor), int(size(tma.gbasis))) == (case["tensor"], case["box"])


@in_batches(of_kind("utccp_copy") + of_kind("tmem_copy"))
def test_copies_of_tensor_memory(case):
    make = make_utccp_copy if case["kind"] == "utccp_copy" else make_tmem_copy
    arguments = getattr(gpu, case["op"]), static(case["tmem"]), getattr(gpu, case["type"])
    if "refused" in case:
        with pytest.raises(TlaError):
            make(*arguments)
        return
    copy = make(*arguments)
    assert (text(copy.TV), text(copy.tiler_mn)) == (case["tv"], case["tiler"])
    if "s_tv" in case:
        assert (text(copy.S_TV), text(copy.D_TV)) == (case["s_tv"], case["d_tv"])


@in_batches(of_kind("scale_factors"))
def test_scale_factors(case):
    """The DSL's has a third mode, two batches."""
    theirs = static(case["layout"])
    made = scale_factor_layout(Int[case["m"]](), Int[case["k"]](), case["vector"])
    assert str(made) == str(Layout(theirs.shape[:2], theirs.stride[:2]))


@in_batches(of_kind("accumulator"))
def test_accumulators(case):
    shape = static(case["layout"]).shape
    assert text(tmem_layout(tuple(shape), float, sms=case["sms"])) == case["layout"]
