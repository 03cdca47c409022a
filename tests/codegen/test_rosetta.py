"""The table of docs/rosetta.md: what each system can say, each cell tried; and from each system to each,
what is lost."""

from pathlib import Path

import pytest

import tla
from tla import TlaError, ascend, parse
from tla.codegen import emit, source

PAGE = Path(__file__).parents[2] / "docs" / "rosetta.md"
M = tla.dim("M")
#: What a layout may have: its letter in the table, and one layout with it.
FEATURES = {
    "run-time integers": ("r", parse("(4,8):(8,1)")),
    "symbols": ("s", tla.MakeLayout((M, 8), (8, 1))),
    "gaps": ("g", parse("(_4,_8):(_16,_1)")),
    "nested modes": ("n", parse("((_2,_4),_8):((_32,_1),_4)")),
    "negative strides": ("-", parse("(_4,_8):(_8,_-1)")),
    "padding": ("p", tla.MakeLayout((8, 8), (8, 1), origin_shape=(7, 8))),
    "coordinates": ("c", parse("(_4,_8):(_1@1,_2@0)")),
    "diagonals": ("d", parse("(_4):(_1@0+_1@1)")),
    "swizzles": ("w", parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")),
    "chains": ("h", parse("_64:_1 o _0 o Sw<1,0,3> o _0 o (_8,_8):(_8,_1)")),
    "swizzled coordinates": (
        "k",
        parse("(_8,_8):(_8,_1) o (_0,_0) o CS<3,0,[0],0,[1]> o (_0,_0) o (_8,_8):(_1@0,_1@1)"),
    ),
}
#: Each system: how it is written, and the features that are written in it with nothing lost.
SYSTEMS = {
    "CuTe C++": ("cute_cpp", "rsgn-cwh"),
    "CuTe DSL": ("cute_dsl", "rsgn-cw"),
    "TLA C++": ("tla_cpp", "rsgn-p"),
    "CATLASS DSL": ("catlass_dsl", "rsgp"),
    "XLA": ("xla", "gnp"),
    "Triton": ("linear", "gnwh"),
    "FlyDSL": ("flydsl", "gn-cwhk"),
    "PyCuTe": ("pycute", "gn-cd"),
    "Mojo": ("mojo", "gn-"),
    "Axe": ("axe", "g-cw"),
    "torch": ("torch_view", "gn"),
    "numpy": ("numpy_view", "n"),
    "isl": ("isl", "gn-cdwhk"),
    "index code": ("emit", "rsgn-cdwhk"),
}
#: Accepted with something lost: known numbers where it was a variable, `?` for a size, the padded shape.
LOSES = {
    "run-time integers": {"XLA", "Triton", "FlyDSL", "PyCuTe", "Mojo", "Axe", "torch", "numpy", "isl"},
    "symbols": {"FlyDSL"},
    "padding": {
        "CuTe C++",
        "CuTe DSL",
        "Triton",
        "FlyDSL",
        "PyCuTe",
        "Mojo",
        "Axe",
        "torch",
        "numpy",
        "isl",
        "index code",
    },
}


def write(system, layout):
    how = SYSTEMS[system][0]
    if how == "linear":
        return tla.linear.linear(layout)
    if how == "emit":
        return emit(layout, "c")
    return source(layout, how)


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_said_of_each_is_so(system):
    assert write(system, parse("(_4,_8):(_8,_1)"))
    for feature, (letter, layout) in FEATURES.items():
        try:
            accepted = bool(write(system, layout))
        except TlaError:
            accepted = False
        says = letter in SYSTEMS[system][1]
        assert accepted == (says or system in LOSES.get(feature, ())), (system, feature)
        assert not (says and system in LOSES.get(feature, ())), (system, feature)


def test_tags_of_catlass_keep_their_type():
    assert source(parse("_4:_1"), "tla_cpp", dtype=ascend.half) == source(parse("_4:_1"), "tla_cpp")


def table():
    """The table of the page: a row is what is had, a column what is wanted; a cell the letters of what is lost."""
    rows = ["| from \\ to | " + " | ".join(SYSTEMS) + " |", "|---" * (len(SYSTEMS) + 1) + "|"]
    for name, (_how, has) in SYSTEMS.items():
        cells = ["".join(f for f in has if f not in wanted) or "all" for _how, wanted in SYSTEMS.values()]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def test_the_page_has_the_table():
    text = PAGE.read_text(encoding="utf-8")
    assert table() in text
    for feature, (letter, _layout) in FEATURES.items():
        assert f"| `{letter}` | {feature}" in text
