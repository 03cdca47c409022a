"""Every public name of tla.linear and tla.access with arguments of every kind: an answer, or a TlaError; never
a crash or a hang."""

import inspect
import random

import numpy as np
import pytest

from tla import MakeLayout, TlaError, access, dim, linear, make_identity_tensor, make_tensor, parse
from tla.linear import LinearLayout, mosaic, radix, triton

from night import amount

COUNT = amount(2_500, 200_000)
MMA = LinearLayout(
    {"register": [(0, 1), (8, 0)], "lane": [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]}, {"dim0": 16, "dim1": 8}
)
WIDE = LinearLayout(
    {"register": [(1 << k,) for k in range(20)], "lane": [(1 << k,) for k in range(20, 60)]}, {"dim0": 1 << 60}
)
LAYOUTS = [
    MMA,
    WIDE,
    LinearLayout.empty(),
    LinearLayout({"lane": [(1,)]}, {"dim0": 2}),
    LinearLayout({"offset": [(1,)]}, {"dim0": 2}),
]
RADIX = [
    radix("lane=(4,3):(1,16), register=4:4 -> column=48"),
    radix("i=(2,6):(3,8) -> o=(2^3,12)"),
    radix("dim0=4:1 -> dim0=4"),
]
PARAMETERS = [
    triton.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]),
    triton.SwizzledSharedLayout(8, 1, 8, [1, 0]),
    triton.NVMMASharedLayout(128, 16, 2),
    triton.DotOperandLayout(0, triton.NVMMADistributedLayout([2, 0], [4, 1], [16, 8]), 2),
    triton.PaddedSharedLayout.with_identity_for([[32, 8]], [16, 32], [1, 0]),
    triton.AMDMFMALayout(3, [32, 32, 8], True, [2, 2]),
    triton.TensorMemoryLayout((128, 64), 1),
    mosaic.NAMED_LAYOUTS["WGMMA_LAYOUT"],
]
VALUES = [
    *(
        None,
        True,
        1.5,
        float("nan"),
        "",
        "x",
        "4:1",
        "#ttg.blocked<{}>",
        "register",
        "lane",
        "dim0",
        object(),
        lambda: 3,
    ),
    *(-1, 0, 1, 2, 3, 5, 7, 16, 64, 2**31, 2**63, 2**70, -(2**70), np.int64(4), np.arange(4), np.zeros((2, 2))),
    *(
        (),
        [],
        {},
        (1,),
        [1, 2],
        [3],
        [[1]],
        [[1, 0], [0, 1]],
        [[3, 5]],
        [0, 1],
        [1, 0],
        [64, 16],
        [0, 0],
        [2**40, 2**40],
    ),
    *({"dim0": 4}, {"dim0": 3}, {"dim0": 2**70}, {"a": [(1,)]}, {"register": [(1,)], "lane": []}, {"x": None}),
    *(["register"], ["lane", "register"], parse("4:1"), parse("(32,8):(8,1)"), parse("6:1"), parse("(4,4):(1,3)")),
    *(parse("Sw<3,3,3> o 0 o (8,64):(64,1)"), MakeLayout((dim("N"), 4), (4, 1)), dim("N"), mosaic.Replicated(4)),
    *(access.NVIDIA_SHARED, "NVIDIA_SHARED", "H100", access.NVIDIA_GLOBAL, access.TPU_VREG, access.ASCEND_UB),
    *(make_tensor(None, parse("(8,64):(64,1)")), make_identity_tensor((8, 8)), *LAYOUTS, *PARAMETERS, *RADIX),
    *(
        "lane=(4,3):(1,16) -> column=48",
        {"column": (16, 3)},
        {"lane": 12, "register": 4},
        {"lane": np.arange(4), "register": 1},
        "column",
        {"o": (0, 2)},
    ),
]


def targets():
    for module in (linear, triton, mosaic, access):
        yield from (getattr(module, name) for name in module.__all__ if callable(getattr(module, name)))
    for layout in [*LAYOUTS[:3], *RADIX]:
        yield from (getattr(layout, name) for name in dir(layout) if name[0] != "_" and callable(getattr(layout, name)))
    plan = access.convert(MMA, MMA)
    yield from (plan.run, plan.cuda, plan.gluon, *(x.linear for x in PARAMETERS))


def wanted(f):
    """How many arguments it needs, and takes."""
    try:
        named = [
            p
            for p in inspect.signature(f).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return 1, 2
    return sum(p.default is p.empty for p in named), len(named)


def test_an_answer_or_a_tla_error():
    rng, chosen, refused = random.Random(7), [*targets()], 0
    for _ in range(COUNT):
        f = rng.choice(chosen)
        least, most = wanted(f)
        arguments = [rng.choice(VALUES) for _ in range(rng.randint(least, max(least, most)))]
        try:
            f(*arguments)
        except TlaError as error:
            refused += 1
            assert len(str(error)) < 3000
        except Exception as error:
            pytest.fail(f"{f} of {arguments!r:.300}: {error!r:.300}")
    assert refused > COUNT // 2
