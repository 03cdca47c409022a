"""Mosaic GPU's arrays in shared memory: its transforms by their definition, on whole blocks, and JAX's own where
it is installed."""

import importlib.util
import itertools
import math
import random

import pytest

from tla import Int, ParseError, RangeError, RankError, parse, tile_to_shape
from tla.access import access
from tla.codegen import emit_tma
from tla.gpu import GMMA, float as float32, half, int8, make_tma_copy
from tla.linear import mosaic

from night import amount


def placed(shape, transforms, bits, coordinate):
    """The offset of an element by the definition: its coordinate is transformed as the shape is, and row-major then."""
    dims, at, span = [*shape], [*coordinate], 16
    for kind, given in transforms:
        if kind == "tile":
            first = len(dims) - len(given)
            dims, at = (
                [*dims[:first], *(n // t for n, t in zip(dims[first:], given)), *given],
                [
                    *at[:first],
                    *(x // t for x, t in zip(at[first:], given)),
                    *(x % t for x, t in zip(at[first:], given)),
                ],
            )
        elif kind == "transpose":
            dims, at = [dims[k] for k in given], [at[k] for k in given]
        else:
            span = given
    index = 0
    for n, x in zip(dims, at):
        index = index * n + x
    byte, rest = divmod(index * bits, 8)
    byte ^= (byte >> 7 & span // 16 - 1) << 4
    return (byte * 8 + rest) // bits


def written(transforms, rng):
    """The transforms in one of the ways in which they are written."""
    way = rng.randrange(3)
    if way == 2 and any(kind == "transpose" for kind, _ in transforms):
        way = 1
    texts = []
    for kind, given in transforms:
        if kind == "tile":
            name = "TileTransform" if any(k == "transpose" for k, _ in transforms) else "TilingTransform"
            texts.append([f"plgpu.{name}({given})", f"{name}(tiling={given})", f"#mosaic_gpu.tile<{[*given]}>"][way])
        elif kind == "transpose":
            texts.append([f"TransposeTransform({given})", f"TransposeTransform(permutation={given})"][way])
        else:
            texts.append(
                [
                    f"plgpu.SwizzleTransform({given})",
                    f"SwizzleTransform(swizzle={given})",
                    f"#mosaic_gpu.swizzle<{given} : i32>",
                ][way]
            )
    return [", ".join(texts), f"({', '.join(texts)},)", f"[{', '.join(texts)}]"][way]


def case(rng):
    """A block, transforms of it, and the bits of an element."""
    bits = rng.choice((4, 8, 16, 32))
    shape = [rng.choice((1, 2, 3, 8, 16)) for _ in range(rng.randrange(1, 4))]
    span = rng.choice((16, 32, 64, 128))
    shape[-1] = rng.choice((1, 2)) * span * 8 // bits
    transforms, rank = [], len(shape)
    if (rng.random() < 0.7 and rank > 1) or shape[-1] != span * 8 // bits:
        rows = rng.choice([t for t in (1, 2, 8) if rank == 1 or shape[-2] % t == 0])
        transforms.append(("tile", (rows, span * 8 // bits) if rank > 1 else (span * 8 // bits,)))
        rank += len(transforms[0][1])
    if rng.random() < 0.4 and rank > 2:
        order = [*range(rank - 1)]
        rng.shuffle(order)
        transforms.append(("transpose", (*order, rank - 1)))
    if rng.random() < 0.8:
        transforms.append(("swizzle", span))
    return tuple(shape), transforms or [("swizzle", 16)], bits


def test_every_element_lies_where_the_definition_has_it():
    rng = random.Random(7)
    for _ in range(amount(150, 5000)):
        shape, transforms, bits = case(rng)
        text = written(transforms, rng)
        layout = mosaic.shared_layout(shape, text, bits)
        places = [layout(*c) for c in itertools.product(*map(range, shape))]
        assert places == [placed(shape, transforms, bits, c) for c in itertools.product(*map(range, shape))], (
            shape,
            text,
            bits,
        )
        assert sorted(places) == [*range(math.prod(shape))], (shape, text)


@pytest.mark.parametrize("element", [half, float32, int8], ids=str)
@pytest.mark.parametrize("mode", ["SW32", "SW64", "SW128"])
def test_what_is_written_for_pallas_is_read_back(element, mode):
    """The BlockSpec of a TMA copy has every element where the copy's box has it."""
    smem = tile_to_shape(getattr(GMMA, f"K_{mode}")[element], (Int[64](), Int[128]()))
    tma = make_tma_copy("SM90_TMA_LOAD", parse("(1000,4096):(4096,_1)"), smem, element=element)
    text = emit_tma(tma, "pallas")
    block, transforms = text.removeprefix("plgpu.BlockSpec((").removesuffix(")").split("), transforms=", 1)
    shape = tuple(map(int, block.split(",")))
    layout = mosaic.shared_layout(shape, transforms, element.bits)
    place, _begin, _inside = tma.map.offsets((0, 0))
    assert [[layout(i, j) * element.bits // 8 for j in range(shape[1])] for i in range(shape[0])] == place.tolist()


@pytest.mark.skipif(
    importlib.util.find_spec("jax") is None or importlib.util.find_spec("absl") is None, reason="needs jax and absl-py"
)
def test_shapes_and_texts_are_those_of_jax():
    gpu = pytest.importorskip("jax.experimental.mosaic.gpu")
    for shape, tile in (((64, 256), (8, 64)), ((8, 32), (4, 16)), ((3, 64, 64), (8, 32)), ((5, 128), (64,))):
        made = gpu.TileTransform(tile)
        layout = mosaic.shared_layout(shape, str(made), 16)
        dims = [*made.transform_shape(shape)]
        assert (dims[-len(tile) :], math.prod(dims)) == ([*tile], math.prod(shape))
        assert layout(*(n - 1 for n in shape)) == math.prod(dims) - 1
        with pytest.raises(ValueError, match="multiple of"):
            made.transform_shape((*shape[:-1], 12))
    assert str(gpu.TransposeTransform((1, 0))) == "TransposeTransform(permutation=(1, 0))"


@pytest.mark.parametrize(
    ("transforms", "error", "says"),
    [
        ("TilingTransform((7,))", RangeError, "a tile of 7 in an extent of 32"),
        ("TilingTransform((64,))", RangeError, "a tile of 64 in an extent of 32"),
        ("TilingTransform((0,))", RangeError, "a tile of 0"),
        ("TilingTransform((1, 1, 1))", RankError, "of 2 dimensions"),
        ("TransposeTransform((0, 0))", RankError, "the permutation"),
        ("SwizzleTransform(64), TilingTransform((2,))", RangeError, "behind a swizzle"),
        ("SwizzleTransform(48)", RangeError, "a swizzle of 48 bytes"),
        ("SwizzleTransform(128)", RangeError, "rows of 512 bits"),
        ("TileTransform((8, 64), rounding=1)", RangeError, "rounding 1"),
        ("TilingTransform(5)", RangeError, "tiles 5"),
        ("", ParseError, "no transform"),
        ("WGMMA_LAYOUT", ParseError, "unexpected"),
        ("Replicated(3)", ParseError, "no transform"),
    ],
)
def test_refusals(transforms, error, says):
    with pytest.raises(error, match=says):
        mosaic.shared_layout((4, 32), transforms, 16)


def test_a_fix_works():
    with pytest.raises(RangeError, match="tile the last dimension by 32"):
        mosaic.shared_layout((8, 64), "SwizzleTransform(64)", 16)
    assert str(mosaic.shared_layout((8, 64), "TilingTransform((32,)), SwizzleTransform(64)", 16)).startswith(
        "Sw<2,3,3>"
    )


def test_the_store_of_an_accumulator():
    """Rows of 128 bytes collide eight times, and the swizzle mends it."""
    owners = mosaic.from_text("WGMMA_LAYOUT").linear([64, 64])
    plain, swizzled = (
        access(owners, mosaic.shared_layout((64, 64), f"TilingTransform((8, 64)), SwizzleTransform({n})", 16), 16)
        for n in (16, 128)
    )
    assert plain.wavefronts == 8 * swizzled.wavefronts
    assert swizzled.wavefronts == swizzled.least
