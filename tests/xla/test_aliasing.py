"""What of a result is an operand's memory: each way in which a text says so, each in which it does not, by hand from
HLO's semantics."""

import io

import pytest

from tla import xla
from tla.xla.programs import aliasing


def module_of(**computations):
    """A module of computations, each of lines."""
    text = "\n".join("\n".join([f"%{name} {{", *lines, "}"]) for name, lines in computations.items())
    return xla.read_module(io.StringIO(text))


P = [
    "%p = (f32[8], (f32[8], f32[9])) parameter(0)",
    "%q = f32[8] parameter(1)",
    "%u = f32[1] parameter(2)",
    "%k = s32[] parameter(3)",
]


@pytest.mark.parametrize(
    ("lines", "aliases"),
    [
        (["ROOT %r = f32[8] dynamic-update-slice(%q, %u, %k)"], [((), 1, ())]),
        (["ROOT %r = f32[8] scatter(%q, %k, %u), to_apply=%add"], [((), 1, ())]),
        (["ROOT %r = f32[<=8] set-dimension-size(%q, %k)"], [((), 1, ())]),
        (["ROOT %r = f32[8] negate(%q)"], []),
        (["ROOT %r = f32[8] dynamic-update-slice()"], []),
        (["%d = f32[8] dynamic-update-slice(%q, %u, %k)", "ROOT %r = f32[8] bitcast(%d)"], [((), 1, ())]),
        (["%b = f32[8] bitcast(%q)", "ROOT %r = f32[8] dynamic-update-slice(%b, %u, %k)"], [((), 1, ())]),
        (["%b = f32[8] add-dependency(%q, %u)", "ROOT %r = f32[8] dynamic-update-slice(%b, %u, %k)"], [((), 1, ())]),
        (["%b = f32[8] copy(%q)", "ROOT %r = f32[8] dynamic-update-slice(%b, %u, %k)"], []),
        (
            ["%g = f32[8] get-tuple-element(%p), index=0", "ROOT %r = f32[8] dynamic-update-slice(%g, %u, %k)"],
            [((), 0, (0,))],
        ),
        (
            [
                "%g = (f32[8], f32[9]) get-tuple-element(%p), index=1",
                "%c = (f32[8], f32[9]) opt-barrier(%g)",
                "%h = f32[9] get-tuple-element(%c), index=0",
                "ROOT %r = f32[9] dynamic-update-slice(%h, %u, %k)",
            ],
            [((), 0, (1, 0))],
        ),
        (["%g = f32[8] get-tuple-element(%p), index=x", "ROOT %r = f32[8] dynamic-update-slice(%g, %u, %k)"], []),
        (["%g = f32[8] get-tuple-element(%g), index=0", "ROOT %r = f32[8] dynamic-update-slice(%g, %u, %k)"], []),
        (["%g = f32[8] get-tuple-element(), index=0", "ROOT %r = f32[8] dynamic-update-slice(%g, %u, %k)"], []),
        (["ROOT %r = f32[8] dynamic-update-slice(%gone, %u, %k)"], []),
        (["%d = f32[8] dynamic-update-slice(%q, %u, %k)"], []),  # no root: the text is cut
        (
            [
                "%d = f32[8] dynamic-update-slice(%q, %u, %k)",
                "%n = f32[8] negate(%q)",
                "%e = f32[1] scatter(%u, %k, %u), to_apply=%add",
                "ROOT %r = (f32[8], f32[8], f32[1]) tuple(%d, %n, %e)",
            ],
            [((0,), 1, ()), ((2,), 2, ())],
        ),
        (["ROOT %r = f32[8] fusion(%u, %q), calls=%second"], [((), 1, ())]),
        (["ROOT %r = f32[8] fusion(%u), calls=%second"], []),
        (["%n = f32[8] negate(%q)", "ROOT %r = f32[8] fusion(%u, %n), calls=%second"], []),
        (["ROOT %r = f32[8] fusion(%u, %q), calls=%gone"], []),
        (["ROOT %r = f32[8] fusion(%u, %q), calls=%first"], []),  # itself
        (["ROOT %r = f32[8] custom-call(%u, %q), calls=%second"], []),
        (["ROOT %r = f32[9] fusion(%p), calls=%part"], [((), 0, (1, 1))]),
        (
            ["%g = (f32[8], f32[9]) get-tuple-element(%p), index=1", "ROOT %r = f32[9] fusion(%g), calls=%ofpair"],
            [((), 0, (1, 1))],
        ),
    ],
)
def test_what_a_fusion_overwrites(lines, aliases):
    module = module_of(
        first=[*P, *lines],
        second=[
            "%a = f32[1] parameter(0)",
            "%b = f32[8] parameter(1)",
            "ROOT %d = f32[8] dynamic-update-slice(%b, %a)",
        ],
        part=[
            "%a = (f32[8], (f32[8], f32[9])) parameter(0)",
            "%b = (f32[8], f32[9]) get-tuple-element(%a), index=1",
            "%c = f32[9] get-tuple-element(%b), index=1",
            "ROOT %d = f32[9] dynamic-update-slice(%c)",
        ],
        ofpair=[
            "%a = (f32[8], f32[9]) parameter(0)",
            "%b = f32[9] get-tuple-element(%a), index=1",
            "ROOT %d = f32[9] dynamic-update-slice(%b)",
        ],
    )
    fusion = xla.parse_instruction("%f = f32[8] fusion(%x, %y, %z, %w), kind=kLoop, calls=%first")
    assert [*aliasing.of_fusion(fusion, module)] == aliases
    assert [*aliasing.of_fusion(xla.parse_instruction("%f = f32[8] fusion(%x), kind=kLoop"), module)] == []


@pytest.mark.parametrize(
    ("attributes", "numbers"),
    [
        ("", []),
        (', backend_config={"aliasing_operands":{"lists":[{"indices":["0","2"]}]}}', [(0, 2)]),
        (', backend_config={"aliasing_operands":{"lists":[{"indices":["0","2"]},{"indices":["10", "1"]}]},"x":[{"indices":["7"]}]}', [(0, 2), (10, 1)]),
        (', backend_config={"aliasing_operands":{"lists":[]},"x":[{"indices":["7"]}]}', []),
        (', backend_config={"aliasing_operands":{"lists":[{"indices":[]},{"indices":["-1","x","3"]}]}}', [(), (3,)]),
    ],
)  # fmt: skip
def test_the_compiler_s_own_notes(attributes, numbers):
    assert [*aliasing.shared(xla.parse_instruction(f"%f = s32[] add(%a, %b){attributes}")._tail.config)] == numbers


def test_elements_of_tuples_by_their_numbers():
    assert aliasing.element_of(xla.parse_instruction("%g = f32[8] get-tuple-element(%p), index=12")) == 12
    assert aliasing.element_of(xla.parse_instruction("%g = f32[8] get-tuple-element(%p)")) is None
    assert aliasing.element_of(xla.parse_instruction("%g = f32[8] get-tuple-element(%p), index=123456789")) == 123456789
    for none in ("1234567890", "-1", "x", "1x"):
        assert aliasing.element_of(xla.parse_instruction(f"%g = f32[8] get-tuple-element(%p), index={none}")) is None
    for opcode, count, number in (
        *(("copy-done", n, 0) for n in (1, 2, 3)),
        *(("all-gather-done", n, k) for n, k in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 1))),
    ):
        assert aliasing.element_of_done(xla.parse_instruction(f"%d = f32[8] {opcode}(%s)"), count) == number
    text = "%c = f32[8] custom-call(%a), output_to_operand_aliasing={{}: (1, {2,0}), {3}: (0, {})}"
    assert aliasing.stated(xla.parse_instruction(text)._tail.words) == (((), 1, (2, 0)), ((3,), 0, ()))
    assert aliasing.stated(xla.parse_instruction("%c = f32[8] custom-call(%a)")._tail.words) == ()


def test_chains_of_names_for_one_value():
    lines = [
        "%a = f32[] negate(%z)",
        "%b = f32[] bitcast(%a)",
        "%c = f32[] copy(%b)",
        "%d = f32[] copy(%d)",
        "%e = f32[] copy()",
        "%f = f32[] copy(%gone)",
    ]
    body = module_of(chain=lines).body("chain")
    both = ("copy", "bitcast")
    found = {name: aliasing.behind(name, body, both) for name in "abcdefg"}
    assert {name: it and it.name for name, it in found.items()} == {
        "a": "a",
        "b": "a",
        "c": "a",
        "d": "d",
        "e": "e",
        "f": None,
        "g": None,
    }
    assert aliasing.behind("c", body, ("copy",)).name == "b"
