"""The reader of TTGIR: what programs say, and what is refused, each with one clear error."""

import gzip
import io
import json
import random
import time

import pytest

from tla import at
from tla.core.errors import ParseError, RangeError, TlaError
from tla.ttgir import advise, costs, dots, faults, program_of, read_program
from tla.ttgir.loops import Loops

from night import amount, some
from places import DATA

TEXTS = {
    p.name.removesuffix(".ttgir.gz"): gzip.decompress(p.read_bytes()).decode()
    for p in (DATA / "ttgir").glob("*.ttgir.gz")
}


@pytest.mark.parametrize("name", some(sorted(TEXTS), 3))
def test_programs_are_read_whole(name):
    """Every operation of the text is in the table, with a type for each result that has one, and every
    layout is known."""
    found, text = program_of(TEXTS[name]), TEXTS[name]
    lines = [line.strip() for line in text.splitlines()]
    operations = [
        line for line in lines if line[:1] in ("%", '"') or (line.split(" ")[0].count(".") and line[:1].isalpha())
    ]
    assert len(found.ops) == len([line for line in operations if not line.startswith("tt.func")])
    for op in found.ops:
        assert (
            not op.results
            or len(op.results) == len(op.result_types)
            or op.name.startswith(("ttg.async", "arith.constant"))
        )
        for type_ in (*op.operand_types, *op.result_types):
            if type_.startswith(("tensor<", "!ttg.memdesc")) and "#" in type_:
                assert found.typed(type_).linear
    assert found.warps in (1, 4, 8)
    assert found.lanes in (32, 64)
    assert found.target
    assert all(op.source for op in found.ops if op.name in ("tt.load", "tt.store", "tt.dot"))


def test_names_of_other_regions_are_other_values():
    """Two loops of layernorm print the same names."""
    found = program_of(TEXTS["layernorm_sm80"])
    names = [name for op in found.ops for name in op.results]
    assert len(names) == len({*names})
    assert all(
        name in {*names, *(a.name for a in found.arguments), *(b for op in found.ops for b in op.begins)} or "%" in name
        for name in names
    )


def test_trip_counts():
    found = program_of(TEXTS["matmul_f16_sm80"])
    inside = [op for op in found.ops if op.parent is not None]
    times = Loops(found).times(inside[0])
    assert str(times) == "ceil(K/32)"
    for K in range(16, 300, 16):
        assert at(times, {"K": K}) == len(range(0, K, 32)) == Loops(found, {"K": K}).times(inside[0])


def test_a_loop_whose_count_is_not_known_is_a_size():
    text = "%f = scf.while (%a = %b) : (i32) -> i32 {\n  %c = tt.get_program_id x : i32\n}"
    found = program_of(text)
    assert str(Loops(found).times(found.ops[1])) == "loop1"
    assert Loops(found, {"loop1": 7}).times(found.ops[1]) == 7


def test_totals_are_of_all_times():
    found = program_of(TEXTS["matmul_f16_sm80"])
    totals = costs(found).totals()
    for K in (32, 64, 4096):
        rows = costs(found, {"K": K}).rows
        assert at(totals["wavefronts"], {"K": K}) == sum(
            r.times * p.cost for r in rows for p in r.parts if p.unit == "wavefronts"
        )


# ----------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no operation and no module"),
        ("HloModule m, is_scheduled=true\n", "line 1 is no operation of TTGIR"),
        ("\x7fELF\x02\x01\x00", "line 1 is no operation of TTGIR"),
        (".version 8.4\n.target sm_80\n", "line 1 is no operation of TTGIR"),
        ("module {\n  %c = arith.constant 4 : i32\n", "the text ends inside a region"),
        ("%c = arith.constant 4 : i32\n}\n", "line 2 closes a region that is not open"),
        ("%c = arith.constant dense<4 : tensor<4xi32>", "brackets that do not close"),
        ("scf.if %a {\n" * 100, "more than 64 regions"),
        ("%c = a.b " + "(" * 100 + ")" * 100, "brackets that do not close"),
        ("#blocked\n", "line 1 is no alias"),
    ],
)
def test_what_is_no_program_is_refused(text, said):
    with pytest.raises(ParseError) as error:
        program_of(text)
    assert said in str(error.value)
    assert error.value.reason.fix


def test_a_file_of_text_is_refused():
    with pytest.raises(TlaError, match="mode 'rb'"):
        read_program(io.StringIO("module {\n}"))


def test_a_machine_that_is_not_known_is_refused():
    with pytest.raises(RangeError, match="the target 'xpu:1'"):
        costs(program_of('module attributes {ttg.target = "xpu:1"} {\n}'))


def test_programs_cut_off_are_refused():
    """A text that ends anywhere inside of the module is refused, or was whole so far."""
    text = TEXTS["attention_f16_sm80"]
    end = text.index("\n} loc(")
    for cut in random.Random(1).sample(range(text.index("module"), end), amount(40, 2000)):
        with pytest.raises(ParseError):
            program_of(text[:cut])


def test_mutants_are_read_or_refused():
    """Texts with characters changed end in an answer or in an error of ours, soon."""
    choose = random.Random(33)
    for _ in range(amount(60, 20_000)):
        text = list(
            TEXTS[choose.choice(["transpose_f16_sm80", "softmax_1024_sm80", "matmul_tma_sm90", "matmul_f16_sm80"])]
        )
        for _ in range(choose.randrange(1, 8)):
            text[choose.randrange(len(text))] = choose.choice('%#<>(){}[]:=,-> 0x9\n"at')
        try:
            found = costs(program_of("".join(text)))
        except TlaError:
            continue
        found.totals()


def test_mutants_of_threads_together_are_read_or_refused():
    """The same of reductions, scans, gathers, histograms and atomics, with advice, faults and products."""
    texts = [row["ttgir"] for row in json.loads(gzip.decompress((DATA / "ttgir" / "together.json.gz").read_bytes()))]
    choose = random.Random(35)
    for _ in range(amount(60, 20_000)):
        text = [*choose.choice(texts)]
        for _ in range(choose.randrange(1, 10)):
            text[choose.randrange(len(text))] = choose.choice('%#!<>(){}[]:=,-> 0x9?\n"at1248')
        try:
            found = costs(program_of("".join(text)))
            found.totals(), advise(found), faults(found), dots(found)
        except TlaError:
            continue


TILE = (
    "tensor<4x64xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], order = "
    "[1, 0]}>>"
)


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (f'%x = "tt.reduce"(%v) <{{axis = 7 : i32}}> : ({TILE}) -> f32', "fewer operands"),
        (f'%x = "tt.reduce"(%v) <{{axis = -1 : i32}}> : ({TILE}) -> f32', "the axis -1"),
        (f'%x = "tt.scan"(%v) : ({TILE}) -> {TILE}', "the axis None"),
        ('%x = "tt.reduce"() : () -> ()', "fewer operands"),
        (f"%x = tt.gather %a[%b] {{axis = 5 : i32}} : ({TILE}, {TILE}) -> {TILE}", "fewer operands"),
        ("%x = tt.gather %a", "fewer operands"),
        (
            f'%x = "tt.reduce"(%v) <{{axis = 1 : i32}}> : ({TILE.replace("[1, 32]", "[1, 1]")}) -> f32',
            "warps of no lanes",
        ),
        ("%x = tt.histogram %a : f32 -> f32", "unexpected 'f32'"),
        ("%r = tt.atomic_rmw", "fewer operands"),
        ("%r = tt.atomic_rmw fadd, acq_rel, gpu, %a, %b : (tensor<8x!tt.ptr<f32>, #no>) -> f32", "#no is a name"),
        ("cute.copy(%a, %b, %c) : (!x, !y, !z)", "the type !y"),
    ],
)
def test_operations_of_threads_together_are_refused_one_by_one(operation, said):
    (row,) = costs(program_of(f'module attributes {{ttg.target = "cuda:80"}} {{\n{operation}\n}}')).rows
    assert said in row.refused


def test_operations_that_are_not_known_are_kept():
    """Of any dialect, with regions and types that are none of Triton's: the known ones among them are counted."""
    text = f"""module attributes {{ttg.target = "cuda:80"}} {{
    %a:2 = my.thing<{{a = [1, "x"]}}> @f(%b) : !q.z<4> -> (i32, !w)
    other.region %a#0 {{
      %v = "tt.reduce"(%t) <{{axis = 1 : i32}}> ({{
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        tt.reduce.return %s : f32
      }}) : ({TILE}) -> tensor<4xf32, #ttg.slice<{{dim = 1, parent = {TILE.partition(", ")[2][:-1]}}}>>
    }}
    }}"""
    found = costs(program_of(text))
    assert [op.name for op in found.program.ops][:3] == ["my.thing", "other.region", "tt.reduce"]
    assert found.program.ops[0].results == ("%a#0", "%a#1")
    (row,) = found.rows
    assert {p.instruction for p in row.parts} == {"shfl"} | {
        p.instruction for p in row.parts if "shared" in p.instruction
    }
    assert not row.refused


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "%a = ",
        "{a = ",
        "<",
        '"',
        "%x, ",
        "a.b ",
        "loc(",
        "#a = loc(",
        "- > ",
        "\\",
        "%a = a.b %b : tensor<4x",
        "!x = !cute.memref<",
    ],
)
def test_a_megabyte_is_answered_soon(unit):
    for text in (unit * (2**20 // len(unit)), "\n".join([unit] * (2**20 // (len(unit) + 1)))):
        start = time.process_time()  # of this process: other ones may be at work
        with pytest.raises(TlaError):
            costs(program_of(text))
        assert time.process_time() - start < 5


# ------------------------------------------------------------------------------------------------- texts of other hands

HEAD = "#rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>\n"


def test_functions_have_names_of_their_own():
    """As in Triton's own tests: several functions of a module, each with its %arg0, and operations
    over several lines."""
    text = f"""{HEAD}
    // RUN: triton-opt
    module attributes {{"ttg.num-warps" = 4 : i32}} {{
    tt.func @f(%arg0: i32 {{tt.divisibility = 16 : i32}},
               %arg1: !tt.ptr<f16>) -> tensor<64x64xf16, #rows> {{
      // CHECK: %[[A:.+]] = tt.make_range
      %c0 = arith.constant 0 : i32
      %c8 = arith.constant 8 : i32
      scf.for %i = %c0 to %arg0 step %c8  : i32 {{
        %x = tt.get_program_id x : i32
      }}
      tt.return %x : i32
    }}
    tt.func @g(%arg0: !tt.ptr<f16>, %arg1: i32) {{
      %c0 = arith.constant 0 : i32
      %c8 = arith.constant 8 : i32
      scf.for %i = %c0 to %arg1 step %c8  : i32 {{
        %x = tt.get_program_id x : i32
      }}
      tt.return
    }}
    }}"""
    found = program_of(text)
    assert [a.type for a in found.arguments] == ["i32", "!tt.ptr<f16>", "!tt.ptr<f16>", "i32"]
    assert len({a.name for a in found.arguments}) == 4
    inside = [op for op in found.ops if op.parent is not None]
    assert [str(Loops(found).times(op)) for op in inside] == ["arg0//8", "ceil(arg1_line15/8)"]
    with pytest.raises(RangeError, match="target='cuda:80'"):
        costs(found)
    assert costs(found, target="cuda:80").machine.ldmatrix


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}module {{\n}}\n// -----\nmodule {{\n}}", "line 5 begins another module"),
        (f"{HEAD}{HEAD.replace('[4, 1]', '[1, 4]')}module {{\n}}", "#rows is another layout before"),
    ],
)
def test_texts_of_several_modules_are_refused(text, said):
    with pytest.raises(ParseError) as error:
        program_of(text)
    assert said in str(error.value)


def test_a_row_that_the_tma_does_not_take():
    memory = (
        "!ttg.memdesc<64x4xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>, "
        "#ttg.shared_memory, mutable>"
    )
    text = (
        "ttng.async_tma_copy_global_to_local %d[%m, %n] %x, %b, %t : !tt.tensordesc<64x4xf16>, !ttg.memdesc<1xi64, "
        f"#s, #smem> -> {memory}"
    )
    (row,) = costs(program_of(text), target="cuda:90").rows
    assert "rows of a multiple of 16 bytes, not 8" in row.refused
    assert [p.cost for p in row.parts] == [512]


def test_operations_with_too_few_operands_are_refused_one_by_one():
    head = 'module attributes {ttg.target = "cuda:80"} {\n'
    for operation in (
        "tt.load",
        "%x = ttg.local_load %m",
        "%x = tt.load : tensor<8x!tt.ptr<f16>, #no>",
        "ttng.async_tma_copy_local_to_global %d",
    ):
        (row,) = costs(program_of(f"{head}{operation}\n}}")).rows
        assert row.refused
    assert costs(program_of(f"{head}%x = arith.addi : i32\n%y = tt.splat\n}}")).alignment.of("%x").counts == (1,)
