"""Every value is immutable, by one base; every cache is emptied by cache_clear()."""

import ast
import copy
import gc
import importlib
import io
import pickle
from pathlib import Path
from types import ModuleType
from weakref import WeakValueDictionary

import pytest

import tla
from tla import CoordSwizzle, E, Int, MakeTensor, Swizzle, ascend, dim, parse, xla
from tla.core.value import Record, Value
from tla.linear import LinearLayout, radix

from sources import nodes

ROOT = Path(tla.__file__).parent
VALUES = [
    parse("(4,_2):(1,4)"),
    parse("Sw<1,0,1> o _0 o (_2,_2):(_1,_2)"),
    MakeTensor(None, parse("(4,2):(1,4)")),
    E[0, 1],
    parse("4:1@0+2@1").stride,
    CoordSwizzle[3, 0, 0, 0, 1](),
    Swizzle[2, 0, 3](),
    dim("M", multiple_of=4) // 8,
    dim("M") < 4,
    Int[4],
    ascend.half,
    LinearLayout({"lane": [(1,), (2,)]}, {"offset": 4}),
    radix("lane=(4,3):(1,16) -> offset=(2^4,3)"),
    xla.parse_shape("bf16[<=8,?]{1,0:T(8,128)(2,1)S(1)}"),
    xla.ArrayLayout((1, 0), (("*", 2),), split_configs=[(1, [200])]),
    xla.BufferShape(xla.ArrayShape("s32", ())),
    xla.TupleShape([xla.TokenShape()]),
]


def kinds(base=Value):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def fields(x):
    return [name for kind in type(x).__mro__ for name in getattr(kind, "__slots__", ()) if name != "__weakref__"]


@pytest.mark.parametrize("x", VALUES, ids=lambda x: type(x).__name__)
def test_a_value_is_immutable(x):
    assert fields(x)
    assert not hasattr(x, "__dict__")
    for name in [*fields(x), "another"]:
        with pytest.raises(AttributeError, match=f"immutable: .* instead of changing {name}"):
            setattr(x, name, 3)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(x, name)
    if type(x).__name__ not in ("Tensor", "Static"):
        assert pickle.loads(pickle.dumps(x)) == x


def test_every_kind_of_value_is_tried():
    abstract = {
        "AnyLayout",
        "Bases",
        "Basis",
        "Built",
        "Record",
        "TokenShape",
        "OpaqueShape",
    }  # the last two have no fields
    assert {kind.__name__ for kind in kinds() if kind.__module__.startswith("tla.")} - abstract == {
        type(x).__name__ for x in VALUES
    }


RECORDS = [x for x in VALUES if isinstance(x, Record)] + [xla.TokenShape(), xla.OpaqueShape()]


@pytest.mark.parametrize("x", RECORDS, ids=lambda x: type(x).__name__)
def test_a_record_is_its_fields(x):
    kind, fields = type(x), {name: getattr(x, name) for name in x.__match_args__}
    for same in (
        kind(*fields.values()),
        kind(**fields),
        x._replace(),
        copy.copy(x),
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
    ):
        assert (same == x, hash(same), repr(same), same.__reduce__()) == (True, hash(x), repr(x), x.__reduce__())
    assert all(x != other for other in RECORDS if other is not x)
    assert x != tuple(fields.values())
    with pytest.raises(AttributeError):
        x.another = 1
    if kind is not ascend.half.__class__:  # whose repr is its name
        names = {
            k.__name__: k
            for k in (
                xla.ArrayShape,
                xla.ArrayLayout,
                xla.BufferShape,
                xla.TupleShape,
                xla.TokenShape,
                xla.OpaqueShape,
                xla.Split,
            )
        }
        assert eval(repr(x), names) == x


def test_a_record_with_another_field_is_checked():
    shape = xla.parse_shape("f32[8,128]{1,0:T(8,128)}")
    assert str(shape._replace(layout=shape.layout._replace(tiles=()))) == "f32[8,128]{1,0}"
    with pytest.raises(tla.RangeError, match="names dimension 1 twice"):
        shape.layout._replace(minor_to_major=(1, 1))
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        xla.TupleShape()._replace(depth=3)


def test_every_record_is_frozen():
    """All dataclasses but those that are filled step by step, while a program is read, a picture painted or
    a block runs."""
    made = {
        x
        for module, _path in modules()
        for x in vars(module).values()
        if isinstance(x, type) and "__dataclass_params__" in vars(x)
    }
    assert {f"{x.__module__}.{x.__name__}" for x in made if not x.__dataclass_params__.frozen} == {
        "tla.kernels.block.allocation.Allocation",
        "tla.kernels.checks.beside.Told",
        "tla.kernels.run.launch.Cluster",
        "tla.kernels.run.launch.Launch",
        "tla.kernels.checks.levels.Findings",
        "tla.kernels.checks.watch._Most",
        "tla.kernels.proofs.beside._Here",
        "tla.xla.programs.values.Flow",
        "tla.xla.programs.values.Value",
        "tla.viz.placement.Canvas",
    }
    assert len(made) > 80


# ------------------------------------------------------------------------------------------------ caches


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = ["tla", *path.relative_to(ROOT).with_suffix("").parts]
        yield importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts)), path


def stores():
    """The containers that modules hold, by module and name: what may grow while a program runs."""
    for module, _path in [*modules()]:  # all are imported before the first is looked at
        for name, x in vars(module).items():
            if isinstance(x, ModuleType) or name.startswith("__"):
                continue  # a module makes names when it is asked for one
            if isinstance(x, (dict, list, set, WeakValueDictionary)) or hasattr(x, "cache_info"):
                yield f"{module.__name__}.{name}", x


def size(x):
    return x.cache_info().currsize if hasattr(x, "cache_info") else len(x)


def work():
    import numpy as np

    from tla import composition, copy, logical_divide, right_inverse, viz, xla

    M, N = dim("M", multiple_of=48), dim("N", multiple_of=12)
    str((M * 3 + N // 4) // 96)
    layout = parse("(_4,_8):(_8,_1)")
    right_inverse(composition(logical_divide(layout, parse("_2:_2")), parse("_8:_2")))
    a, b = (MakeTensor(np.zeros(32, np.int32), parse(t)) for t in ("(_4,_8):(_8,_1)", "(_4,_8):(_1,_4)"))
    copy(a, b)
    layout(np.arange(4, dtype=np.int16))
    viz.svg(viz.draw(layout))
    text = "HloModule m\n\nENTRY %main (p: f32[3,5]) -> f32[3,5] {\n  ROOT %p = f32[3,5]{1,0} parameter(0)\n}\n"
    assert [x.instruction.name for x in xla.read_hlo(io.StringIO(text))] == ["p"]
    tla.MakeLayout[tla.ascend.half, tla.ascend.zN](100, 60)


def test_cache_clear_empties_every_cache():
    tla.cache_clear()
    gc.collect()
    before = {name: size(x) for name, x in stores()}
    work()
    grown = [name for name, x in stores() if size(x) > before.get(name, 0)]
    tla.cache_clear()
    gc.collect(), gc.collect()  # symbols hold themselves: the second takes those that the first set free
    kept = {name: (before.get(name, 0), size(x)) for name, x in stores() if size(x) > before.get(name, 0)}
    assert len(grown) >= 4, grown
    assert not kept


def test_caches_are_made_in_one_place():
    """What functools or a cached_property of a module's own would keep, cache_clear() does not know."""
    for path in ROOT.rglob("*.py"):
        if path.name == "cache.py":
            continue
        for node in nodes(path.read_text()):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            assert name not in ("lru_cache", "cache"), f"{path}:{node.lineno}"
