"""Blocks of matrix products from what a kernel's author says: sizes, tiles, types, tags, stages.

Source: CATLASS `BlockMmadTla`, `BasicMatmulTla`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core.arithmetic import round_up
from ...core.element import Element, half, uint64
from ...core.errors import LeafTypeError, RangeError, require_type
from ...core.int_tuple import modes_of, quoted, shown
from ...core.ints import known, leaf
from ...core.layout import Layout, require_origin
from ...symbolic.proofs import least
from ...symbolic.symint import SymInt
from ..architecture import Architecture, AtlasA2, as_architecture
from ..element import as_element
from ..recognize import recognize
from ..schedules import BlockSwizzle, GemmIdentityBlockSwizzle, Schedule
from ..schedules.schedule import positive, sizes_of
from ..schedules.swizzles import require_product_swizzle
from ..tags import GIVEN, ColumnMajor, PaddingColumnMajor, PaddingRowMajor, RowMajor, Tag, nZ, zN
from ..transfers.fixpipe import settings_of
from .activations import Activation, require_activation, require_pair
from .any_matmul import AnyMatmulBlock
from .any_names import NAMES, unit_of
from .any_paddings import AnyPaddings
from .block import L1_TAGS, Operand, Plan, Tiling
from .matmul import MatmulBlock
from .mmad import MX_PAIR, accumulator_of, require_scaled, require_sparse
from .paddings import Padded, padded, paddings_of
from .scales import require_scales
from .sparse import INDEX_COLUMNS, require_sparse_tiles
from .vector_cores import COLUMNS, MOST_UB, require_split, require_whole_halves, room_of_tiles, share

#: The stages of each memory, where nothing else is said.
MEMORY_STAGES = {"L1": 2, "L0A": 2, "L0B": 2, "L0C": 1}


def block(
    problem: Any,
    l1: Any,
    l0: Any,
    arch: Any = AtlasA2,
    *,
    a: Any = half,
    b: Any = half,
    c: Any = half,
    bias: bool = False,
    stages: Any = 2,
    unit_flag: bool = False,
    quant: str = "NO_QUANT",
    scale: float | None = None,
    relu: bool = False,
    swizzle: BlockSwizzle = GemmIdentityBlockSwizzle[3, 0],
    cores: Any = 1,
    splitkFactor: Any = 1,
    scales: bool = False,
    sparse: bool = False,
    split: str | None = None,
    padding: Mapping[str, str] | None = None,
    activation: str | tuple[str, float] | None = None,
    d: Any = None,
    ub: tuple[int, int] | None = None,
) -> Any:
    """A matrix product in blocks, as CATLASS's BlockMmadTla computes it: C = A @ B + bias; with an activation
    D = activation(C), computed by the vector cores beside each core, as in CATLASS's MatmulActivation.

    problem        (m, n, k) [elements]: numbers, or names that `dim` declares, for which one program is proved
    l1, l0         (m, n, k) of what L1 and L0 hold at a time; m and n are the same, k of L1 is a multiple of that of L0
    arch           AtlasA2, AtlasA3, Ascend950, or a name
    a, b, c        the element type, or (type, tag), or (type, layout) of each matrix: A is (m, k), B (k, n), C (m, n)
    bias           whether a vector of n, of the accumulator's type, is added
    stages         how many tiles L1, L0A and L0B hold of each matrix: an integer for all three, or
                   {"L1": 2, "L0A": 2, "L0B": 2, "L0C": 1}
    unit_flag      whether Fixpipe begins while Mmad still runs, by the hardware's own flags
    quant, scale   how values are scaled on the way out (随路量化): "PER_TENSOR" by `scale`; "PER_CHANNEL" each column by
                   its own, a vector that the kernel is given, in words of 64 bits with a float32 in each
    relu           whether negative ones become 0
    swizzle        how blocks are dealt to `cores`
    splitkFactor   into how many slices k is cut, which are added in C by atomic adds
    scales         whether A and B, of MX types, have scales: a number for 32 elements along k; on Ascend950
    sparse         whether B is 4:2 sparse: of each four elements along k two are stored, B is (k / 2, n), and an index of
                   (k / 8, n) bytes says which; int8 on AtlasA2 and AtlasA3, B of ColumnMajor or nZ
    split          on Ascend950, over the unified buffers of vector cores, which move it to global memory: "SPLIT_M" or
                   "SPLIT_N" half of the rows, or of the columns, to each of two; "NO_SPLIT" all to one. stages={"UB": 2} of
                   them; None: C goes straight to global memory
    padding        {"A": "PADDING_NZ", "B": "PADDING_ND"}: what vector cores lay out anew before, in a workspace that the
                   kernel is given: PADDING_ND in rows of whole 512 bytes, PADDING_NZ in fractals (on AtlasA2 and AtlasA3),
                   PADDING_BLOCK_ND in blocks of rows, each a tile of L1
    activation     gelu, silu, sigmoid, tanh, relu, leaky_relu, or ("leaky_relu", slope): of C, half or float, which then
                   lies in a workspace that the kernel is given, or with split= in the unified buffers alone
    d              the type of D, or with its layout; by default that of C
    ub             (m, n) of what a unified buffer holds of C at a time; by default half of l1's rows, or as many as fit.
                   With split= of sizes that are names they divide what a vector core has of l1
    Returns        MatmulBlock; of sizes that are names AnyMatmulBlock, whose matrices have tags
    Raises         LeafTypeError for types and tags that no instruction has; RangeError for tiles that do not fit, or
                   lie at no whole unit; Unproven for a transfer that is not proved to be right

    >>> from tla.ascend import block, int8, int32, ColumnMajor, Ascend950
    >>> types = {"a": int8, "b": (int8, ColumnMajor), "c": int32}
    >>> b = block((100, 90, 300), (64, 64, 128), (64, 64, 64), Ascend950, cores=2, **types)
    >>> b.check().holds, b.schedule.tasks
    (True, 4)

    Source: CATLASS `BlockMmadTla`, `BasicMatmulTla`.
    """
    arch = as_architecture(arch)
    options: dict[str, Any] = {"unit_flag": unit_flag, "quant": quant, "scale": scale, "relu": relu, "scales": scales}
    options |= {"sparse": sparse, "split": split}
    _require_alone(activation, d, ub, relu is True)
    tiles, inner = (_sizes(what, x) for what, x in (("l1", l1), ("l0", l0)))
    sizes = _any_sizes(problem)
    open_ = sizes is not None
    m, n, k = sizes = sizes or _sizes("problem", problem)
    told = {"bias": bias, "unit_flag": unit_flag, "relu": relu, "scales": scales, "sparse": sparse}
    for name, given in told.items():
        fix = "give scales to execute" if name == "scales" else f"write {name}=True"
        require_type(given, bool, f"{name}={quoted(given, 40)} of a block, of type", "True or False", fix)
    require_product_swizzle("a block", swizzle)
    left, right, out = (
        _operand(name, given, shape, open_)
        for name, given, shape in (("a", a, (m, k)), ("b", b, (k // 2 if sparse else k, n)), ("c", c, (m, n)))
    )
    _require_tiles(tiles, inner, max(16, int(left.element.C0), int(right.element.C0)))
    matrices, left, right = _padded(padding, left, right, tiles, options)
    if sparse:
        require_sparse((left.element, right.element), arch, k, bias)
        require_sparse_tiles(right.tag, (tiles[2], inner[2]))
    if scales:
        require_scales(arch, k, (left.element, left.tag), (right.element, right.tag), (tiles[2], inner[2]))
    total = accumulator_of(left.element, right.element, arch)
    require_scaled(left.element, right.element, arch, MX_PAIR, scales)
    _require_halves_of_bytes({"a": left, "b": right}, arch)
    _require_scale(quant, scale, settings_of(out.element, total, quant, relu, "AtlasA" not in arch.name))
    factor = positive("splitkFactor", splitkFactor)
    tiling = Tiling(tiles, inner, _stages(stages, unit_flag, bias, split))
    if open_:
        if factor > 1:
            _require_added(out.element, total, bias, relu)
            swizzle.require_slices(factor)
        if split is not None:
            require_split(split, arch, (out.element, out.tag), total, factor > 1, quant)
            require_whole_halves(split, unit_flag, _widths(n, tiles[1]), out.element)
        padded = tuple(x.name for x in matrices)
        plan = Plan(arch, left, right, out, total, bias, tiling, adds=factor > 1, padded=padded, **options)
        if activation is not None:
            plan = _with_activation(plan, *require_activation(activation), d, ub, open_)
            _ = plan.buffers
        rest: dict[str, Any] = {
            "a": a,
            "b": b,
            "c": c,
            "bias": bias,
            "stages": stages,
            "swizzle": swizzle,
            "cores": cores,
        }
        rest |= {"splitkFactor": factor, "padding": padding, "activation": activation, "d": d, "ub": ub}
        again = functools.partial(block, l1=l1, l0=l0, arch=arch, **rest, **options)
        before = AnyPaddings(arch, tuple(matrices)) if matrices else None
        made = AnyMatmulBlock(sizes, plan, swizzle, positive("cores", cores), factor, again, before)
        if never := [c for c in made.conditions if c.holds is False]:
            raise RangeError(
                f"the problem {shown(sizes)}, for which it never holds that {never[0]}",
                str(never[0]),
                "take smaller ones",
            )
        return made
    schedule = swizzle(sizes, tiles, cores=cores, splitkFactor=splitkFactor)
    adds = factor > 1 or any(b.extents[2] < k for blocks in schedule.table for b in blocks)
    _require_starts(schedule, {"A": (left, (0, 2)), "B": (right, (2, 1)), "C": (out, (0, 1))})
    if adds:
        _require_added(out.element, total, bias, relu)
    if split is not None:
        require_split(split, arch, (out.element, out.tag), total, adds, quant)
        widths = {b.extents[1] for blocks in schedule.table for b in blocks if min(b.extents) > 0}
        require_whole_halves(split, unit_flag, widths, out.element)
    padded = tuple(x.name for x in matrices)
    plan = Plan(arch, left, right, out, total, bias, tiling, adds=adds, padded=padded, **options)
    if activation is not None:
        plan = _with_activation(plan, *require_activation(activation), d, ub, open_)
    _require_vector_starts(schedule, plan)
    _ = plan.buffers
    return MatmulBlock(sizes, plan, schedule, paddings_of(arch, matrices, schedule.cores) if matrices else None)


def _require_alone(activation: object, d: object, ub: object, relu: bool) -> None:
    """LeafTypeError for what only an activation has, and for a ReLU beside one."""
    if activation is None:
        for name, x in (("d", d), ("ub", ub)):
            if x is not None:
                raise LeafTypeError(f"{name}= of a block without activation=", "None", f"leave out {name}=")
    elif relu:
        raise LeafTypeError("relu=True beside activation=", "one of them", "leave out relu")


def _with_activation(plan: Plan, name: str, slope: float | None, d: Any, ub: Any, open_: bool) -> Plan:
    """A plan whose C goes through an activation to D, in tiles that UB has room for."""
    m, n, _ = plan.sizes
    if plan.adds:
        raise LeafTypeError("slices of k that are added, beside activation=", "whole sums", "leave out activation=")
    if plan.c.tag is not RowMajor:
        raise LeafTypeError(f"activation= of C of the tag {plan.c.tag}", "RowMajor", f"write c={plan.c.element}")
    out = Operand(plan.c.element, RowMajor, RowMajor.MakeLayout(plan.c.element, m, n)) if d is None else None
    out = out or _operand("d", d, (m, n), open_)
    of = Activation(name, plan.arch, plan.c.element, out.element, (1, 1), slope)
    of.applied(None, lambda _i, _read: None)  # each instruction has these types, or says which it has
    tile = _tile(plan, of) if ub is None else require_pair("ub", "a block", ub)
    if plan.split is not None:
        unit, part = int(plan.c.element.C0), share(plan, *plan.tiling.l1[:2], 0)[1]
        what = f"ub={shown(tile)} of a block with split="
        if tile[1] % unit and tile[1] < part[1]:
            expected, fix = f"columns in multiples of {unit}: whole 32 bytes", round_up(tile[1], unit)
            raise RangeError(what, expected, f"write ub=({tile[0]}, {fix})")
        whole = _divisor(part[0], tile[0], 1), _divisor(part[1], tile[1], unit)
        if open_ and ub is not None and whole != tile:  # all of each tile is computed
            expected = f"sizes that divide a vector core's ({shown(part)})"
            raise RangeError(f"{what}, of sizes that are names", expected, f"write ub={whole}")
        tile = whole if open_ else tile
    return replace(plan, activation=replace(of, tile=tile), d=out)


def _divisor(whole: int, most: int, unit: int) -> int:
    """The largest divisor of a size that is a multiple of a unit and `most` at most; `most`, where that is all of it."""
    return most if most >= whole else max(n for n in range(unit, most + 1, unit) if whole % n == 0)


def _tile(plan: Plan, of: Activation) -> tuple[int, int]:
    """The largest tile that UB has room for: as many rows as a vector core has of a block, halved; then its columns."""
    comes = plan.split is None
    (m, n), room = room_of_tiles(plan, plan.tiling.stages.get("UB", 0))
    while m > 1 and of.taken((m, n), comes) > room:
        m = -(-m // 2)
    while n > COLUMNS and of.taken((m, n), comes) > room:
        n = -(-n // 2 // COLUMNS) * COLUMNS
    return m, n


def _padded(
    given: Any, a: Operand, b: Operand, tiles: tuple[int, int, int], options: Mapping[str, Any]
) -> tuple[list[Padded], Operand, Operand]:
    """The matrices that are laid out anew, and A and B as they are read then."""
    if given is None:
        return [], a, b
    if not isinstance(given, Mapping) or {*given} - {"A", "B"}:
        raise LeafTypeError(
            f"padding={quoted(given, 60)}", "a way for A, for B, or for both", 'write {"A": "PADDING_NZ"}'
        )
    if options["scales"] and "PADDING_BLOCK_ND" in given.values():
        what = "PADDING_BLOCK_ND of a block with scales=True"
        raise LeafTypeError(what, "PADDING_ND", 'write padding={"A": "PADDING_ND"}')
    matrices, (m, n, k) = {"A": a, "B": b}, tiles
    blocks = {"A": (m, k), "B": (k, n)}
    made = [padded(name, x, given[name], blocks[name]) for name, x in matrices.items() if name in given]
    matrices |= {x.name: x.after for x in made}
    return made, matrices["A"], matrices["B"]


def _require_scale(quant: str, scale: Any, settings: Mapping[str, str]) -> None:
    """LeafTypeError for a scale that Fixpipe does not take, and for none where it takes one.

    settings   the fields of Fixpipe, which say whether it scales
    """
    what, mode = f"scale={quoted(scale, 40)} with quant={quant!r}", settings["quantPre"].rpartition("::")[2]
    if quant == "PER_CHANNEL":
        if scale is not None:
            fix = 'write block(..., quant="PER_CHANNEL").execute(a, b, scale=x)'
            raise LeafTypeError(what, "no scale=: the kernel, and execute, are given a vector of them", fix)
        return
    if quant == "NO_QUANT" and scale is not None:
        raise LeafTypeError(what, "scale= with quant='PER_TENSOR'", 'write quant="PER_TENSOR", or leave scale= out')
    if quant == "NO_QUANT":
        return
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not math.isfinite(scale):
        raise LeafTypeError(what, "a number, which all of C is multiplied by", "write scale=0.5")
    if mode in ("NoQuant", "F322F16", "F322BF16"):
        expected = "a conversion that scales: on AtlasA2 to int8 or uint8, and of int32 to half"
        raise LeafTypeError(f"{what}, {mode}, which scales nothing", expected, "leave out quant= and scale=")


def _require_starts(schedule: Schedule, matrices: Mapping[str, tuple[Operand, tuple[int, int]]]) -> None:
    """LeafTypeError for a matrix in fractals, or in blocks, where a swizzle has blocks that begin inside of one.

    matrices   each with the modes of (m, n, k) that it has
    """
    starts = {b.start for blocks in schedule.table for b in blocks if min(b.extents) > 0}
    for name, (x, modes) in matrices.items():
        for side, mode in enumerate(modes):
            unit = _unit(x, side)
            if odd := sorted(at for start in starts if (at := start[mode]) % unit):
                what = f"{name} of the tag {x.tag}, of which {schedule.swizzle} has blocks that begin at {odd[0]}"
                tag = ColumnMajor if name == "B" and x.element.bits == 4 else RowMajor
                raise LeafTypeError(what, f"multiples of {unit}", f"write {name.lower()}=({x.element}, {tag})")


def _require_vector_starts(schedule: Schedule, plan: Plan) -> None:
    """LeafTypeError for biases, scales of columns, and the index of a sparse B, where a swizzle has blocks that begin
    inside of a unit of them: what is read then ends behind the last."""
    starts = {b.start[1] for blocks in schedule.table for b in blocks if min(b.extents) > 0}
    for there, what, unit, why in (
        (plan.bias, "biases", int(plan.total.C0), "whole 32 bytes"),
        (plan.channels, "quant='PER_CHANNEL'", int(uint64.C0), "whole 32 bytes"),
        (plan.sparse, "a sparse B", INDEX_COLUMNS, "whole blocks of its index"),
    ):
        if odd := sorted(at for at in starts if there and at % unit):
            what = f"{what} with {schedule.swizzle}, which has blocks that begin at column {odd[0]}"
            raise LeafTypeError(what, f"multiples of {unit}: {why}", "write GemmIdentityBlockSwizzle[3, 0]")


def _require_halves_of_bytes(matrices: Mapping[str, Operand], arch: Architecture) -> None:
    """LeafTypeError for matrices of 4 bits that no instruction brings to L0, RangeError for lines of half a byte more."""
    for name, x in ((n, x) for n, x in matrices.items() if x.element.bits == 4):
        if name == "a" and L1_TAGS[x.tag] is nZ and "AtlasA" in arch.name:
            expected = "RowMajor or zN: only B is transposed in 4 bits"
            raise LeafTypeError(f"a of {x.element}, {x.tag} on {arch}", expected, f"write a=({x.element}, RowMajor)")
        if x.tag not in (RowMajor, ColumnMajor):
            continue
        outer = 0 if x.tag is RowMajor else 1
        line, lines = known(x.layout.stride[outer]), known(x.layout.shape[outer])
        if line is not None and line % 2 and lines != 1:
            size = ", ".join(str(known(n)) for n in x.layout.shape)
            fix = f"write {name}=({x.element}, MakeLayout[{x.element}, {x.tag}]({size}, ld={line + 1}))"
            raise RangeError(f"{name} of {x.element} in lines of {line} elements", "whole bytes: an even number", fix)


def _widths(n: Any, tile: int) -> set[int]:
    """The numbers of columns that blocks have, of a matrix of n columns; of a name the least of all."""
    if (columns := known(n)) is not None:
        return {min(tile, columns), columns % tile or tile}
    return {math.gcd(tile, unit_of(n))}


def _unit(x: Operand, side: int) -> int:
    """The rows, or the columns, that a tile of a matrix begins at a multiple of."""
    if x.tag in (PaddingRowMajor, PaddingColumnMajor):
        return int(modes_of(x.layout.shape[side])[0])
    if (x.tag, side) in ((zN, 1), (nZ, 0)):
        return int(x.element.C0)
    return 8 // math.gcd(8, x.element.bits) if (x.tag, side) in ((RowMajor, 1), (ColumnMajor, 0)) else 1


def _require_added(c: Element, total: Element, bias: bool, relu: bool) -> None:
    """LeafTypeError for slices of k whose sum in C is not the result's: C of another type rounds each of them, biases are
    added with each, and of each the negative ones become 0."""
    for wrong, what, fix in (
        (c != total, f"c={c}", f"write c={total}, and convert C afterwards"),
        (bias, "biases", "leave out bias=True, and add them afterwards"),
        (relu, "relu=True", "leave out relu=True, and make negative ones 0 afterwards"),
    ):
        if wrong:
            expected = f"c={total}, no biases and no relu: slices are added in C"
            raise LeafTypeError(f"slices of k with {what}", expected, fix)


def _sizes(what: str, given: object) -> tuple[int, int, int]:
    m, n, k = sizes_of(f"the {what} of a block", given)
    if min(m, n, k) < 1:
        fix = "leave out what is empty" if what == "problem" else "write (128, 256, 64)"
        raise RangeError(f"the {what} of a block: {shown((m, n, k))}", "sizes of 1 or more", fix)
    return m, n, k


def _any_sizes(given: object) -> tuple[Any, Any, Any] | None:
    """The sizes of a problem of which one at least is a name; None where all are numbers, or it is none.

    LeafTypeError for expressions, and RangeError for names that the program has for other things.
    """
    if not isinstance(given, tuple) or len(given) != 3:
        return None
    m, n, k = (leaf(x) for x in given)
    names = [x for x in (m, n, k) if known(x) is None]
    if names and any((known(x) or 1) < 1 or known(x) == 0 for x in (m, n, k)):
        raise RangeError(f"the problem {shown((m, n, k))}", "sizes of 1 or more", "leave out what is empty")
    for x in names:
        if not isinstance(x, SymInt) or str(x) not in {str(s) for s in x.symbols}:
            what = f"the problem of a block: the size {x}"
            raise LeafTypeError(what, "a number, or the name of a size", 'write dim("M")')
        if (least(x.poly) or 0) < 1:
            raise RangeError(f"the size {x}, which may be 0", "sizes of 1 or more", f'write dim("{x}")')
        if str(x) in NAMES:
            raise RangeError(f"a size named {x}", f"a name other than {', '.join(NAMES)}", 'write dim("M")')
    return (m, n, k) if names else None


def _require_tiles(l1: tuple[int, int, int], l0: tuple[int, int, int], unit: int) -> None:
    """RangeError for tiles that do not go together, or that a transpose would not move in whole squares."""
    if l1[:2] != l0[:2] or min(*l1, *l0) < 1 or l1[2] % l0[2]:
        what, fix = f"tiles of {shown(l1)} in L1 and {shown(l0)} in L0", f"write l0=({l1[0]}, {l1[1]}, {l1[2]})"
        raise RangeError(what, "the same m and n, and in L1 a k that is a multiple", fix)
    if any(n % unit for n in (*l1, *l0)):
        near = shown(tuple(-(-n // unit) * unit for n in l1))
        raise RangeError(f"tiles of {shown(l1)} and {shown(l0)}", f"multiples of {unit}", f"take {near} in L1")


def _operand(name: str, given: Any, shape: tuple[Any, Any], open_: bool) -> Operand:
    """A matrix by its element type, or with its tag or its layout; open_: whether a size of the problem is a name."""
    element, how = given if isinstance(given, tuple) and len(given) == 2 else (given, RowMajor)
    element = as_element(element)
    if isinstance(how, Layout) and open_:
        what = f"{name} with a layout, of sizes that are names"
        raise LeafTypeError(what, "a tag: the program is for all sizes", f"write {name}=(half, RowMajor)")
    if isinstance(how, Layout):
        found = recognize(how, element)
        tag, layout = (found.tag if found else None), how
        if tuple(map(int, require_origin("a matrix", layout))) != shape:
            what = f"{name} of {shown(layout.origin_shape)}"
            raise RangeError(what, f"{shown(shape)}", "make the layout with these sizes")
    elif isinstance(how, Tag) and GIVEN in how.blocks:
        what, given = f"{name} of the tag {how} without blocks", f"MakeLayout[{element}, {how}](rows, cols, 32, 64)"
        fix = f"write {name}=({element}, {'RowMajor' if open_ else given})"
        raise LeafTypeError(what, "a layout, which says how large its blocks are, of sizes that are numbers", fix)
    elif isinstance(how, Tag):
        tag, layout = how, how.MakeLayout(element, *shape)
    else:
        expected = "an element type, (type, tag) or (type, layout)"
        raise LeafTypeError(f"{name}={quoted(given, 60)}", expected, f"write {name}=(half, RowMajor)")
    wanted = {"c": (RowMajor, zN), "d": (RowMajor,)}.get(name, (*L1_TAGS,))
    if tag is None or tag not in wanted:
        fix = f"write {name}=({element}, RowMajor)"
        raise LeafTypeError(f"{name} of the tag {tag}", f"one of {', '.join(map(str, wanted))}", fix)
    return Operand(element, tag, layout)


def _stages(given: Any, unit_flag: bool, bias: bool, split: str | None) -> dict[str, int]:
    """The stages of each memory; RangeError where there are more than there are events."""
    there = MEMORY_STAGES if split is None else {**MEMORY_STAGES, "UB": 1}
    own = given if isinstance(given, Mapping) else dict.fromkeys(("L1", "L0A", "L0B"), int(leaf(given)))
    told = {**there, **own}
    if unknown := sorted({*told} - {*there}):
        raise LeafTypeError(f"stages of {unknown[0]}", f"of {', '.join(there)}", 'write stages={"L1": 2}')
    found = {name: int(leaf(n)) for name, n in told.items()}
    if min(found.values()) < 1 or (unit_flag and found["L0C"] != 1):
        raise RangeError(f"the stages {found}", "1 or more, and one of L0C with unit_flag", "write stages=2")
    if max(2 * found["L1"], found["L0A"] + found["L0B"]) + bias > 8:
        expected = "at most 8 events of A and B in L1, and in L0, 7 with biases"
        raise RangeError(f"the stages {found}", expected, "take fewer stages")
    if found.get("UB", 1) > MOST_UB:
        what = f"{found['UB']} stages of UB"
        raise RangeError(what, f"at most {MOST_UB}: the ids of flags between cores", 'write stages={"UB": 2}')
    return found
