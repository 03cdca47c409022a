"""What a program takes and gives, Shardy's texts, groups of replicas, contradictions; texts are those of JAX 0.10.2."""

import contextlib
import importlib
import inspect
import io
import itertools
import random

import pytest

from tla import LoweringError, ParseError, TlaError, xla
from tla.apps.cli import main

from truth import rows

# Groups as XLA's own tests had them in 2025, and in today's print.
OLDER_GROUPS = [
    ("@mesh<a=2,b=4> {b}", "mesh['a'=2,'b'=4] {'b'}"),
    (
        "@mesh<a=2,b=4,c=4,d=2>([4,16]T(1,0)) {a,b:(1)2,d}",
        "mesh['a'=2,'b'=4,'c'=4,'d'=2], device_ids=([4,16]T(1,0)) {'a','b':(1)2,'d'}",
    ),
    (
        "@mesh<a=2,b=4,c=4,d=2>, device_ids=([4,16]T(1,0)) {a,c}",
        "mesh['a'=2,'b'=4,'c'=4,'d'=2], device_ids=([4,16]T(1,0)) {'a','c'}",
    ),
    ("@mesh<ooo=10>(8,3,7,5,4,2,6,0,1,9) {ooo}", "mesh['ooo'=10], device_ids=(8,3,7,5,4,2,6,0,1,9) {'ooo'}"),
]

HEADER = (
    "HloModule jit_f, is_scheduled=true, input_output_alias={ {1}: (1, {}, may-alias), {0}: (0, {2}, must-alias) }, "
    "buffer_donor={ (2, {}) }, "
    "entry_computation_layout={(bf16[256,128]{1,0:T(8,128)(2,1)}, bf16[32,256]{0,1:T(8,128)(2,1)}, f32[3])->"
    "(bf16[32,1024]{1,0:T(8,128)(2,1)}, bf16[4,256]{1,0:T(4,128)(2,1)S(5)})}, num_partitions=16, frontend_attributes={"
    'arg_layout_modes="default;{0,1};auto",arg_memory_spaces="0;0;5",out_layout_modes="default;default",out_memory_spaces="0;5",'
    'xla.sdy.meshes={mesh = #sdy.mesh<["data"=2, "model"=8]>, empty_mesh = #sdy.mesh<[]>}}\n'
)
STABLEHLO = """module @jit_g attributes {mhlo.num_partitions = 16 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["model"=8, "data"=2]> {stablehlo.mesh = {axes = [{name = "model", size = 8 : i64}]}}
  sdy.mesh @turned = <["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>
  sdy.mesh @one = <[], device_ids=[3]>
"""


#: Values that tla makes, and no one else: their fields are not checked.
RECORDS = set(
    "Advice Alias Alternative Block Buffer Census Digit Entry EntryValue Explanation IndexStep Instruction Located "
    "Loop Memory Module Move Operand Peak "
    "ProgramPeak Relayout ReplicaGroups SourceLine Split Total Usage".split()
)
ANYTHING = [None, "", -1, 2**70, (), "f32[3,5]{1,0:T(2,2)}", (1, 2), 1.5, True, [None], b"x", {}, "x", object()]


def module(text):
    return xla.read_module(io.StringIO(text))


def test_the_entry_of_a_program_is_values():
    found = xla.entry(module(HEADER))
    assert [str(a.shape) for a in found.arguments] == [
        "bf16[256,128]{1,0:T(8,128)(2,1)}",
        "bf16[32,256]{0,1:T(8,128)(2,1)}",
        "f32[3]",
    ]
    assert [str(a.layout_mode) for a in found.arguments] == ["default", "{0,1}", "auto"]
    assert [a.memory_space for a in found.arguments] == [0, 0, 5]
    assert [r.memory_space for r in found.results] == [0, 5]
    assert found.aliases == (xla.Alias((1,), 1, (), False), xla.Alias((0,), 0, (2,), True))
    assert found.donors == ((2, ()),)
    assert found.donated == {0, 1, 2}
    assert xla.parse_instruction("%p = f32[3]{0} parameter(7)").parameter_number == 7
    assert xla.parse_instruction("%p = f32[3]{0} negate(%a)").parameter_number is None
    with pytest.raises(LoweringError, match="entry_computation_layout"):
        xla.entry(module("HloModule m\n"))
    with pytest.raises(ParseError):
        xla.entry(module("HloModule m, entry_computation_layout={(f32[2]\n"))


def test_layout_modes():
    assert str(xla.parse_layout_mode("{1,0:T(8,128)(2,1)}")) == "{1,0:T(8,128)(2,1)}"
    assert [xla.parse_layout_mode(w) for w in ("default", "auto")] == ["default", "auto"]
    assert str(xla.parse_layout_mode("{}")) == ""
    for text, order in (("{0}", (0,)), (" {1, 0} ", (1, 0)), ("{2,0,1:S(1)}", (2, 0, 1)), ("{:T(128)}", ())):
        assert xla.parse_layout_mode(text).minor_to_major == order
    for bad in ("", "row", "{0,0}", "{1}", "{", None, 7):
        with pytest.raises(TlaError):
            xla.parse_layout_mode(bad)


@pytest.mark.parametrize(
    ("attributes", "modes", "spaces"),
    [
        ("", [None, None], [None, None]),
        ('arg_layout_modes="default;auto",arg_memory_spaces="0;5"', ["default", "auto"], [0, 5]),
        ('arg_layout_modes=";auto",arg_memory_spaces="; 5"', [None, "auto"], [None, 5]),
        (
            'arg_layout_modes="default",arg_memory_spaces="5"',
            [None, None],
            [None, None],
        ),  # of another number of arguments
        ('arg_layout_modes="default;auto;auto",arg_memory_spaces="0;5;5"', [None, None], [None, None]),
        ('out_layout_modes="default;auto"', [None, None], [None, None]),
    ],
)
def test_what_was_asked_for_of_each_argument(attributes, modes, spaces):
    text = (
        f"HloModule m, entry_computation_layout={{(f32[3]{{0}}, s32[])->f32[3]{{0}}}}, "
        f"frontend_attributes={{{attributes}}}\n"
    )
    found = xla.entry(module(text))
    assert [a.layout_mode for a in found.arguments] == modes
    assert [a.memory_space for a in found.arguments] == spaces
    assert [str(r.shape) for r in found.results] == ["f32[3]{0}"]
    assert (found.aliases, found.donors, found.donated) == ((), (), frozenset())


@pytest.mark.parametrize(
    ("attribute", "says"),
    [
        ('frontend_attributes={arg_memory_spaces="x;0"}', "'x' is no memory space"),
        ('frontend_attributes={arg_memory_spaces="0;-1"}', "'-1' is no memory space"),
        ('frontend_attributes={arg_layout_modes="default;atuo"}', "write auto"),
        ('frontend_attributes={arg_layout_mode="default;auto"}', "write arg_layout_modes for arg_layout_mode"),
        ("frontend_attribute={}", "write frontend_attributes for frontend_attribute"),
        ("input_output_alias={ {0}: (0, {}, must-alais) }", "write must-alias"),
        ("input_output_alais={ {0}: (0, {}, must-alias) }", "write input_output_alias for input_output_alais"),
        ("buffer_donor={ (0, {}) }, buffer_donor={ (1, {}) }", "buffer_donor is given twice"),
        ("buffer_donors={ (0, {}) }", "write buffer_donor for buffer_donors"),
        ("input_output_alias={ {0}: (0) }", "a part of it"),
        ("buffer_donor={ (0, {}), 1 }", "an argument"),
    ],
)
def test_what_the_header_says_is_read_or_refused(attribute, says):
    with pytest.raises(ParseError, match=says):
        xla.entry(module(f"HloModule m, {attribute}, entry_computation_layout={{(f32[3], s32[])->f32[3]}}\n"))


def test_each_alias_has_its_own_word():
    aliases = "{0}: (0, {}), {1}: (2, {}), {2}: (3, {1}, must-alias), {3, 0}: (4, {}, may-alias)"
    header = (
        f"HloModule m, input_output_alias={{ {aliases} }}, buffer_donor={{ (5, {{}}), (6, {{1,2}}) }}, "
        f"entry_computation_layout={{()->f32[3]}}\n"
    )
    found = xla.entry(module(header))
    assert found.aliases == (((0,), 0, (), False), ((1,), 2, (), False), ((2,), 3, (1,), True), ((3, 0), 4, (), False))
    assert found.donors == ((5, ()), (6, (1, 2)))
    assert found.donated == {0, 2, 3, 4, 5, 6}


# ------------------------------------------------------------------------------------------------- Shardy


def test_meshes_of_programs():
    assert {k: str(v) for k, v in xla.shardy_meshes(HEADER).items()} == {
        "mesh": "mesh['data'=2,'model'=8]",
        "empty_mesh": "None",
    }
    assert {k: str(v) for k, v in xla.shardy_meshes(STABLEHLO).items()} == {
        "mesh": "mesh['model'=8,'data'=2]",
        "turned": "mesh['a'=2,'b'=2], device_ids=(0,2,1,3)",
        "one": "maximal_mesh[device_id=3]",
    }
    assert str(xla.shardy_meshes('sdy.mesh @m = <["<axis> def"=4, "z/w"=2]>')["m"]) == "mesh['<axis> def'=4,'z/w'=2]"


def test_one_device_has_no_dimensions_in_shardy():
    text = xla.shardy_text(xla.parse_sharding("{maximal_mesh[device_id=3]}"), rank=2)
    assert text == "#sdy.sharding<mesh<[], device_ids=[3]>, []>"
    assert str(xla.parse_shardy(text)) == "{maximal_mesh[device_id=3]}"


@pytest.mark.parametrize(
    ("text", "xla_text"),
    [
        ('#sdy.sharding<@mesh, [{"data"}, {}]>', "{mesh['data'=2,'model'=8], [{'data'}, {}]}"),
        ('#sdy.sharding<@mesh, [{"data", "model"}, {}]>', "{mesh['data'=2,'model'=8], [{'data', 'model'}, {}]}"),
        ('#sdy.sharding<@mesh, [{?}, {"model":(2)4, ?}p1]>', "{mesh['data'=2,'model'=8], [{?}, {'model':(2)4, ?}]}"),
        ('<@mesh, [{}, {}], replicated={"data"}>', "{mesh['data'=2,'model'=8], [{}, {}], replicated={'data'}}"),
        (
            '#sdy.sharding<@mesh, [{"data"}], unreduced={"model"}>',
            "{mesh['data'=2,'model'=8], [{'data'}], unreduced={'model'}}",
        ),
        (
            '#sdy.sharding<mesh<["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>, [{"a"}]>',
            "{mesh['a'=2,'b'=2], device_ids=(0,2,1,3), [{'a'}]}",
        ),
        ('#sdy.sharding<mesh<["a"=2], device_ids=[0, 1]>, [{"a"}]>', "{mesh['a'=2], [{'a'}]}"),
        (
            '#sdy.sharding<@mesh, [{"data"}], unreduced=max{"model"}>',
            "{mesh['data'=2,'model'=8], [{'data'}], unreduced=max{'model'}}",
        ),
        (
            '<@mesh, [{"data"}p0], unreduced=sum{"model"}, replicated={}>',
            "{mesh['data'=2,'model'=8], [{'data'}], unreduced={'model'}}",
        ),
        ('<@mesh, [{?}p12], unreduced{"model"}>', "{mesh['data'=2,'model'=8], [{?}], unreduced={'model'}}"),
        ("#sdy.sharding<@empty_mesh, [{}, {}]>", "{replicated}"),
        ("#sdy.sharding<@mesh, []>", "{mesh['data'=2,'model'=8], replicated}"),
        ('#sdy.sharding<@mesh, [{\\"data\\"}, {}]>', "{mesh['data'=2,'model'=8], [{'data'}, {}]}"),
    ],
)
def test_shardings_of_shardy_are_those_of_xla(text, xla_text):
    found = xla.parse_shardy(text, xla.shardy_meshes(HEADER))
    assert str(found) == xla_text
    if isinstance(found, xla.MeshSharding):
        rank = text.count("{", text.index("[{")) - text.count("={") if "[{" in text else 0
        assert xla.parse_shardy(xla.shardy_text(found, rank=None if found.dims else rank)) == found
        assert xla.parse_shardy(xla.shardy_text(found, "mesh"), {"mesh": found.mesh}) == found


@pytest.mark.parametrize(
    ("text", "mesh", "rank", "shardy"),
    [
        ("{mesh['a'=2], replicated}", None, 2, '<mesh<["a"=2]>, [{}, {}]>'),
        ("{mesh['a'=2], replicated}", None, None, '<mesh<["a"=2]>, []>'),
        ("{mesh['a'=2], replicated}", "m", 1, "<@m, [{}]>"),
        ("{mesh['a'=2], [{'a'}, {}]}", None, 2, '<mesh<["a"=2]>, [{"a"}, {}]>'),
        ("{mesh['a'=2,'b'=2], device_ids=(0,2,1,3), [{'a'}]}", None, 1, '<mesh<["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>, [{"a"}]>'),
        ("{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{?}]}", None, None, '<mesh<["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>, [{?}]>'),
        ("{mesh['a'=4], [{'a':(1)2, ?}], unreduced=max{'a':(2)2}}", None, None, '<mesh<["a"=4]>, [{"a":(1)2, ?}], unreduced=max{"a":(2)2}>'),
        ("{mesh['a'=2,'b'=2], [{}], replicated={'a'}, unreduced={'b'}}", None, None, '<mesh<["a"=2, "b"=2]>, [{}], replicated={"a"}, unreduced={"b"}>'),
        ("{maximal_mesh[device_id=0]}", None, None, "<mesh<[], device_ids=[0]>, []>"),
        ("{mesh['a'=2], [{'a'}, {}]}", None, 1, None),
        ("{mesh['a'=2], [{'a'}, {}]}", None, 3, None),
        ("{mesh['a'=2], manual}", None, None, None),
        ("{replicated}", None, None, None),
    ],
)  # fmt: skip
def test_texts_of_shardy_are_printed(text, mesh, rank, shardy):
    if shardy is not None:
        assert xla.shardy_text(xla.parse_sharding(text), mesh, rank) == f"#sdy.sharding{shardy}"
        return
    with pytest.raises(LoweringError):
        xla.shardy_text(xla.parse_sharding(text), mesh, rank)


def test_slices_of_shardy_by_hand():
    found = xla.parse_shardy(
        '#sdy.sharding<@mesh, [{"data", "model":(1)2}, {"model":(2)4}]>', xla.shardy_meshes(HEADER)
    )
    slices = found.slices((16, 8), 16)
    for data, model in itertools.product(range(2), range(8)):
        row, column = data * 2 + model // 4, model % 4
        assert slices[data * 8 + model] == ((row * 4, row * 4 + 4), (column * 2, column * 2 + 2))


def test_every_v3_sharding_goes_through_shardy():
    count = 0
    for case in rows("xla/sharding.json"):
        found = xla.parse_sharding(case["annotation"])
        if isinstance(found, xla.MeshSharding) and not found.manual:
            back = xla.parse_shardy(xla.shardy_text(found))
            assert [*back.mesh.devices] == [*found.mesh.devices]  # an iota is listed
            assert (back.mesh.axes, back.dims, back.lists()) == (found.mesh.axes, found.dims, found.lists())
            count += 1
    assert count > 5


def test_shardings_of_several_values():
    text = '#sdy.sharding_per_value<[<@mesh, [{"data"}]>, <@mesh, []>]>'
    found = xla.parse_shardy(text, xla.shardy_meshes(HEADER))
    assert isinstance(found, xla.TupleSharding)
    assert len(found.elements) == 2


@pytest.mark.parametrize(
    "text",
    [
        "", "#sdy.sharding", "#sdy.sharding<>", '#sdy.sharding<@nowhere, [{"a"}]>', '#sdy.sharding<@mesh, [{"nothing"}]>', "#sdy.sharding<@mesh, [{?, ?}]>",
        '#sdy.sharding<@mesh, [{"data"}, {"data"}]>', '#sdy.sharding<@mesh, [{"model":(1)3}]>', '#sdy.sharding<@mesh, [{"data"}]> x',
        '#sdy.sharding<mesh<["a"=0]>, [{"a"}]>', '#sdy.sharding<mesh<["a"=2, "a"=2]>, []>', '#sdy.sharding<@empty_mesh, [{"a"}]>', "#sdy.sharding<@mesh, [{data}]>",
        '<@mesh, [{"data"}p01]>', "<@mesh, [{}p1]>", '<@mesh, [{"data"}p9999999999999999999]>', "<mesh<[], device_ids=[3]>, [{}]>",
        '<@mesh, [], unreduced=product{"data"}>', '<@mesh, [], replicated=max{"data"}>', '<@mesh, [], replicated{"data"}>',
        '#sdy.sharding<@mesh, [{"data":(1)0}]>', '#sdy.sharding<@mesh, [], replicated={"data"}, replicated={"model"}>', "#sdy.sharding<@mesh, [" + "{" * 9999,
    ],
)  # fmt: skip
def test_texts_that_are_no_sharding_of_shardy_are_refused(text):
    with pytest.raises(ParseError):
        xla.parse_shardy(text, xla.shardy_meshes(HEADER))


def test_the_command_takes_shardy(capsys):
    assert main(["sharding", '#sdy.sharding<mesh<["a"=4]>, [{"a"}, {}]>', "bf16[16,24]"]) == 0
    assert "12:16, 0:24" in capsys.readouterr().out


# ----------------------------------------------------------------------------------------- groups of replicas


#: What jaxlib 0.10.2 gathered on eight devices of a CPU, replicas of mesh['x'=2,'y'=4], over these axes.
RAN = {
    "'x'": ((0, 4), (1, 5), (2, 6), (3, 7)),
    "'x','y'": ((0, 1, 2, 3, 4, 5, 6, 7),),
    "'y','x'": ((0, 4, 1, 5, 2, 6, 3, 7),),
    "'y':(1)2,'x'": ((0, 4, 2, 6), (1, 5, 3, 7)),
    "'x','y':(2)2": ((0, 1, 4, 5), (2, 3, 6, 7)),
    "'y':(2)2,'y':(1)2": ((0, 2, 1, 3), (4, 6, 5, 7)),
    "'y':(2)2,'x','y':(1)2": ((0, 2, 4, 6, 1, 3, 5, 7),),
}


def test_replica_groups():
    for axes, groups in RAN.items():
        assert xla.parse_replica_groups(f"mesh['x'=2,'y'=4] {{{axes}}}").groups == groups
    for text, groups in (
        ("{{0,2,4,6},{1,3,5,7}}", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("[2,4]<=[8]", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("[2,4]<=[4,2]T(1,0)", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("[4,2]<=[2,2,2]T(1,0,2)", ((0, 1), (4, 5), (2, 3), (6, 7))),
        ("{}", ()),
        ("{{0},{1}}", ((0,), (1,))),
        ("mesh['a'=2,'b'=4] {'b'}", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['a'=2,'b'=4] {'a'}", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['a'=8] {'a':(1)2,'a':(4)2}", ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("mesh['a'=8] {'a':(4)2,'a':(1)2}", ((0, 4, 1, 5), (2, 6, 3, 7))),
        ("mesh['x'=2,'y'=2], device_ids=(3,1,0,2) {'x'}", ((3, 0), (1, 2))),
        ("mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}", ((0, 2, 4, 6), (1, 3, 5, 7))),
    ):
        found = xla.parse_replica_groups(text)
        assert found.groups == groups
        assert xla.parse_replica_groups(str(found)) == found
    line = (
        "%r = f32[8]{0} all-reduce(%a), channel_id=1, replica_groups=[1,8]<=[8], use_global_device_ids=true, "
        "to_apply=%add"
    )
    assert xla.parse_replica_groups(xla.parse_instruction(line)).groups == (tuple(range(8)),)
    mesh = "mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}"
    over_a_mesh = xla.parse_instruction(line.replace("[1,8]<=[8]", mesh))
    assert xla.parse_replica_groups(over_a_mesh).groups == ((0, 1), (2, 3), (4, 5), (6, 7))
    for older, now in OLDER_GROUPS:
        assert xla.parse_replica_groups(older) == xla.parse_replica_groups(now)
        line = (
            f"%r = f32[8]{{0}} all-reduce(%a), channel_id=1, replica_groups={older}, use_global_device_ids=true, "
            "to_apply=%add"
        )
        assert xla.parse_replica_groups(xla.parse_instruction(line)) == xla.parse_replica_groups(now)
    assert xla.parse_replica_groups("@mesh<a=2,b=2>(3,1,2,0) {b}").groups == ((3, 1), (2, 0))
    six = xla.parse_replica_groups("mesh['a'=6,'b'=6] {'a':(1)2,'b':(1)2}").groups
    assert (len(six), six[:2], six[-1]) == (9, ((0, 3, 18, 21), (1, 4, 19, 22)), (14, 17, 32, 35))
    for bad in (
        "['a'=2] {}",
        "['a'=1,'b'=8] {'a'}",
        "['a'=2] {'c'}",
        "['a'=2]",
        "['a'=4] {'a':(1)3}",
        "['a'=2] {'a'} x",
    ):
        with pytest.raises(TlaError):
            xla.parse_replica_groups(f"mesh{bad}")
    for bad in (
        "",
        "{",
        "[2,4]<=[9]",
        "[2,4]",
        "{{0},{0}}",
        "[2,4]<=[4,2]T(0,0)",
        "[0,0]<=[0]",
        None,
        f"[1,{2**40}]<=[{2**40}]",
    ):
        with pytest.raises(TlaError):
            xla.parse_replica_groups(bad)
    with pytest.raises(LoweringError):
        xla.parse_replica_groups(xla.parse_instruction("%b = f32[8]{0} negate(%a)"))


def test_groups_of_few_devices(monkeypatch):
    monkeypatch.setattr(importlib.import_module("tla.xla.programs.entry"), "MAX_LISTED", 8)
    assert xla.parse_replica_groups("[8,1]<=[8]").groups == tuple((k,) for k in range(8))
    for text, says in (
        ("[3,3]<=[9]", "9 devices\n"),
        ("[2,3]<=[8]", "2 groups of 3 of 8"),
        ("[0,8]<=[8]", "0 groups"),
        ("[8,0]<=[8]", "8 groups of 0"),
    ):
        with pytest.raises(TlaError, match=f"^{says}"):
            xla.parse_replica_groups(text)
    for text in ("{{0,1} , {2,3}  }", "{ {0,1},{2,3} }", " {\n{0,1},\n{2,3}\n} "):
        assert str(xla.parse_replica_groups(text)) == "{{0,1},{2,3}}"
    for text in (
        "{" + "{0},  " * 50_000 + "!",
        "{{0}" + " " * 50_000 + "!",
        "{" + " " * 50_000 + "!",
    ):  # once tried in 3**n ways
        with pytest.raises(ParseError, match="unexpected '!'"):
            xla.parse_replica_groups(text)


# --------------------------------------------------------------------------------------------- contradictions


PROGRAM = """HloModule m, is_scheduled=true, entry_computation_layout={(f32[16,128]{1,0:T(8,128)})->f32[16,128]{1,0:T(8,128)}}

%f (p: f32[16,128]) -> f32[16,128] {
  %p = f32[16,128]{1,0:T(8,128)} parameter(0)
  ROOT %n = f32[16,128]{1,0:T(8,128)} negate(f32[16,128]{1,0:T(8,128)} %p)
}

ENTRY %main (a: f32[16,128]) -> f32[16,128] {
  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  ROOT %b = f32[16,128]{1,0:T(8,128)} fusion(f32[16,128]{1,0:T(8,128)} %a), kind=kLoop, calls=%f
}
"""


def test_a_module_before_layout_assignment_has_the_tiles_of_its_header_nowhere():
    head, body = PROGRAM.split("\n", 1)
    before = f"{head}\n{body.replace(':T(8,128)', '')}".replace(", is_scheduled=true", "")
    assert xla.contradictions(module(before)) == ()
    found = xla.contradictions(module(before.replace("%a = f32[16,128]", "%a = f32[8,128]")))
    assert any(text.startswith("line 9: parameter(0) is f32[8,128]") for text in found)
    untiled = before.replace(":T(8,128)", "")
    assert xla.contradictions(module(untiled)) == ()
    assert xla.contradictions(module(untiled.replace("%a = f32[16,128]{1,0}", "%a = f32[16,128]{0,1}")))


def test_contradicting_layouts_are_warnings_that_name_the_lines():
    assert xla.contradictions(module(PROGRAM)) == ()
    turned = "{0,1:T(8,128)}"
    cases = {
        ("negate(f32[16,128]{1,0:T(8,128)}", f"negate(f32[16,128]{turned}"): ("line 5: n takes p as", "line 4 gives"),
        ("%a = f32[16,128]{1,0:T(8,128)}", f"%a = f32[16,128]{turned}"): ("line 9: parameter(0) is", "line 1 takes"),
        ("%b = f32[16,128]{1,0:T(8,128)}", f"%b = f32[16,128]{turned}"): (
            "line 10: b with f for its result is",
            "line 5 gives",
        ),
        ("->f32[16,128]{1,0:T(8,128)}}", "->f32[8,128]{1,0:T(8,128)}}"): (
            "line 10: part 0 of the result",
            "line 1 gives",
        ),
        ("fusion(f32[16,128]", "fusion(bf16[16,128]"): ("line 10: b takes a as", "line 9 gives"),
    }
    for (old, new), words in cases.items():
        assert old in PROGRAM
        found = xla.contradictions(module(PROGRAM.replace(old, new, 1)))
        assert any(all(word in text for word in words) for text in found), (old, found)
        assert xla.memory(io.StringIO(PROGRAM.replace(old, new, 1))).warnings == found


LOOP = """HloModule m, is_scheduled=true
%test (s: (s32[4], f32[16,128])) -> pred[] {
  %s = (s32[4]{0}, f32[16,128]{1,0}) parameter(0)
  ROOT %go = pred[] custom-call(%s), custom_call_target="f"
}
%body (t: (s32[4], f32[16,128])) -> (s32[4], f32[16,128]) {
  %t = (s32[4]{0}, f32[16,128]{1,0}) parameter(0)
  %i = s32[4]{0} get-tuple-element(%t), index=0
  %x = f32[16,128]{1,0} get-tuple-element(%t), index=1
  %start = (f32[16,128]{1,0}, f32[16,128]{1,0}, u32[]) copy-start(%x)
  %y = f32[16,128]{1,0} copy-done(%start)
  ROOT %r = (s32[4]{0}, f32[16,128]{1,0}) tuple(%i, %y)
}
ENTRY %main (a: s32[4], b: f32[16,128]) -> f32[16,128] {
  %a = s32[4]{0} parameter(0)
  %b = f32[16,128]{1,0} parameter(1)
  %u = (s32[4]{0}, f32[16,128]{1,0}) tuple(%a, %b)
  %w = (s32[4]{0}, f32[16,128]{1,0}) while(%u), condition=%test, body=%body
  %z = f32[16,128]{1,0} get-tuple-element(%w), index=1
  ROOT %c = f32[16,128]{1,0} conditional(%a, %z, %z), branch_computations={%one, %two}
}
%one (o: f32[16,128]) -> f32[16,128] {
  ROOT %o = f32[16,128]{1,0} parameter(0)
}
%two (p: f32[16,128]) -> f32[16,128] {
  ROOT %p = f32[16,128]{1,0} parameter(0)
}
"""


def test_parts_of_tuples_loops_branches_and_names_are_compared():
    assert xla.contradictions(module(LOOP)) == ()
    turned = "f32[16,128]{0,1}"
    cases = {
        ("%x = f32[16,128]{1,0}", f"%x = {turned}"): "line 9: x is f32[16,128]{0,1}, line 7 gives f32[16,128]{1,0}",
        ("%y = f32[16,128]{1,0}", f"%y = {turned}"): "line 11: y is f32[16,128]{0,1}, line 10 gives",
        (
            "%s = (s32[4]{0}, f32[16,128]{1,0})",
            f"%s = (s32[4]{{0}}, {turned})",
        ): "line 18: w takes u as (s32[4]{0}, f32[16,128]{1,0}), line 3 gives",
        (
            "%r = (s32[4]{0}, f32[16,128]{1,0})",
            f"%r = (s32[4]{{0}}, {turned})",
        ): "line 18: w with body for its result is",
        ("%p = f32[16,128]{1,0}", f"%p = {turned}"): "line 20: c takes z as f32[16,128]{1,0}, line 26 gives",
        ("%y = f32", "%x = f32"): "line 11: x of body is in line 9, too",
        (
            "%b = f32[16,128]{1,0} parameter(1)",
            "%b = f32[16,128]{1,0} parameter(0)",
        ): "line 16: parameter(0) of main is in line 15, too",
        (
            "%b = f32[16,128]{1,0} parameter(1)",
            "%b = f32[16,128]{1,0} parameter(9)",
        ): "line 16: main has parameter(9), and 2 parameters",
    }
    for (old, new), words in cases.items():
        assert LOOP.count(old) == 1
        assert any(words in text for text in xla.contradictions(module(LOOP.replace(old, new)))), words


CLAIMS = """HloModule m, entry_computation_layout={(f32[4]{0}, (s32[2]{0}, f32[4]{0}))->(f32[4]{0}, s32[2]{0})}
%f (p: f32[4], q: s32[2]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %q = s32[2]{0} parameter(1)
  ROOT %n = f32[4]{0} negate(%p)
}
%g (r: s32[2]) -> f32[4] {
  %r = s32[2]{0} parameter(0)
  ROOT %o = f32[4]{0} iota(), iota_dimension=0
}
ENTRY %main (a: f32[4], b: (s32[2], f32[4])) -> (f32[4], s32[2]) {
  %a = f32[4]{0} parameter(0)
  %b = (s32[2]{0}, f32[4]{0}) parameter(1)
  %c = s32[2]{0} get-tuple-element(%b), index=0
  %d = f32[4]{0} fusion(%a, %c), kind=kLoop, calls=%f, metadata={op_name="calls=%g"}
  %s = ((f32[4]{0}, s32[2]{0}), (f32[8]{0}, s32[4]{0})) all-gather-start(%a, %c)
  %e = (f32[8]{0}, s32[4]{0}) all-gather-done(%s)
  %t = (f32[4]{0}, f32[8]{0}) all-gather-start(%a)
  %h = f32[8]{0} all-gather-done(%t)
  %i = f32[4]{0} conditional(%c, %a, %c), branch_computations={%h.1, %g}
  %j = f32[4]{0} custom-call(%b), custom_call_target="f"
  ROOT %k = (f32[4]{0}, s32[2]{0}) tuple(f32[4]{0} %i, %c)
}
%h.1 (u: f32[4]) -> f32[4] {
  ROOT %u = f32[4]{0} parameter(0)
}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("index=0", "index=1", ["line 14: c is s32[2]{0}, line 13 gives f32[4]{0}"]),
        ("index=0", "index=2", []),
        ("index=0", "index=x", []),
        (", index=0", "", []),
        ("%f, meta", "%g, meta", ["line 15: d takes a as f32[4]{0}, line 8 gives s32[2]{0}"]),
        ("calls=%f", "calls=%gone", []),
        ("fusion(%a, %c)", "fusion(%a)", []),
        ("fusion(%a, %c)", "fusion(%c, %c)", ["line 15: d takes c as s32[2]{0}, line 3 gives f32[4]{0}"]),
        ("fusion(%a, %c)", "fusion(%gone, %c)", []),
        ("%d = f32[4]", "%d = f32[5]", ["line 15: d with f for its result is f32[5]{0}, line 5 gives f32[4]{0}"]),
        ("%d = f32[4]{0} fusion", "%d = f32[5]{0} custom-call", []),
        ("ROOT %n", "%n", []),
        ("%h = f32[8]", "%h = f32[4]", ["line 19: h is f32[4]{0}, line 18 gives f32[8]{0}"]),
        ("(%c, %a, %c)", "(%c, %c, %c)", ["line 20: i takes c as s32[2]{0}, line 25 gives f32[4]{0}"]),
        ("(%c, %a, %c)", "(%c, %a, %a)", ["line 20: i takes a as f32[4]{0}, line 8 gives s32[2]{0}"]),
        ("(%c, %a, %c)", "(%a, %a)", []),
        ("%i = f32[4]", "%i = f32[7]", [f"line 20: i with {name} for its result is f32[7]{{0}}, line {n} gives f32[4]{{0}}" for name, n in (("h.1", 25), ("g", 9))]
            + ["line 22: k takes i as f32[4]{0}, line 20 gives f32[7]{0}"]),
        ("f32[4]{0} %i", "f32[4]{0} %gone", []),
        ("%q = s32[2]{0} parameter(1)", "%q = s32[2]{0} parameter(2)", ["line 4: f has parameter(2), and 2 parameters"]),
        ("%q = s32[2]{0} parameter(1)", "%q = s32[2]{0} parameter(0)", ["line 4: parameter(0) of f is in line 3, too",
            "line 15: d takes a as f32[4]{0}, line 4 gives s32[2]{0}"]),
        ("%q = s32[2]{0} parameter(1)", "%p = s32[2]{0} parameter(1)", ["line 4: p of f is in line 3, too"]),
        ("(f32[4]{0}, (s32", "(f32[5]{0}, (s32", ["line 12: parameter(0) is f32[4]{0}, line 1 takes f32[5]{0}"]),
        (", (s32[2]{0}, f32[4]{0}))->", ")->", []),
        ("->(f32[4]{0}, s32[2]{0})}", "->(f32[4]{0}, s32[3]{0})}", ["line 22: part 1 of the result is s32[2]{0}, line 1 gives s32[3]{0}"]),
        ("->(f32[4]{0}, s32[2]{0})}", "->(s32[2]{0})}", []),
        ("->(f32[4]{0}, s32[2]{0})}", "->oops}", []),
        ("entry_computation_layout", "other_layout", []),
        ("ROOT %k", "%k", []),
        ("ENTRY ", "", []),
    ],
)  # fmt: skip
def test_each_claim_of_a_line_is_held_against_the_line_that_it_is_about(old, new, said):
    assert xla.contradictions(module(CLAIMS)) == ()
    assert CLAIMS.count(old) == 1
    assert xla.contradictions(module(CLAIMS.replace(old, new))) == tuple(said)


def test_room_for_sizes_at_run_time_contradicts_no_entry_layout():
    text = (
        PROGRAM.replace("16,128]{1,0:T(8,128)}", "<=16,128]{1,0:T(8,128)M(1024)}")
        .replace("M(1024)})->", "})->", 1)
        .replace("M(1024)}}", "}}", 1)
    )
    assert text.count("M(1024)") == 6
    assert xla.contradictions(module(text)) == ()


@pytest.mark.parametrize(
    ("taken", "given", "differ"),
    [
        ("f32[2]{0}", "f32[2]{0}", False),
        ("f32[2]", "f32[2]{0}", False),
        ("f32[2]{0}", "f32[2]", False),
        ("f32[2]{0}", "s32[2]{0}", True),
        ("f32[2]{0}", "f32[3]{0}", True),
        ("f32[2]{0}", "f32[2,1]{1,0}", True),
        ("f32[<=2]{0}", "f32[2]{0}", True),
        ("f32[2,3]{0,1}", "f32[2,3]{1,0}", True),
        ("f32[2,3]{1,0:T(8,128)}", "f32[2,3]{1,0}", True),
        ("f32[]", "f32[]{:T(128)}", False),
        ("f32[]{:T(256)}", "f32[]{:T(128)}", False),
        ("(f32[2]{0})", "f32[2]{0}", True),
        ("f32[2]{0}", "(f32[2]{0})", True),
        ("(f32[2]{0})", "(f32[2]{0}, f32[2]{0})", True),
        ("(f32[2]{0}, f32[3]{0})", "(f32[2]{0}, f32[4]{0})", True),
        ("(f32[2]{0}, f32[3]{0})", "(f32[2]{0}, f32[3])", False),
        ("token[]", "token[]", False),
        ("token[]", "f32[]", True),
    ],
)
def test_what_contradicts_what(taken, given, differ):
    """Other dimensions or types, tuples of other lengths, or two layouts that are not one; not a layout that
    is left out."""
    text = f'ENTRY %m {{\n  %a = {given} parameter(0)\n  ROOT %b = f32[2]{{0}} custom-call({taken} %a), custom_call_target="f"\n}}'
    shown = xla.parse_shape(taken), xla.parse_shape(given)
    assert xla.contradictions(module(text)) == (
        (f"line 3: b takes a as {shown[0]}, line 2 gives {shown[1]}",) if differ else ()
    )


# ------------------------------------------------------------------------------------------- anything at all


@pytest.mark.parametrize("name", sorted(set(xla.__all__) - {"census", "merge"} - RECORDS))
def test_anything_is_answered_or_refused(name):
    """Every public function and value, of arguments that are none: an answer or a TlaError that says what is wrong."""
    if name == "read_profile":
        pytest.importorskip("jax", reason="its reader is JAX's")
    function, rng = getattr(xla, name), random.Random(name)
    needed = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for _ in range(15):
        with contextlib.suppress(TlaError, FileNotFoundError):
            found = function(*(rng.choice(ANYTHING) for _ in needed))
            if inspect.isgenerator(found):
                list(found)
