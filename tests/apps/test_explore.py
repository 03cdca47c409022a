"""tla explore: its grammar, its steps, what it answers, and its server. tests/apps/test_explore_page.py is of the page
in a browser."""

import ast
import base64
import http.client
import itertools
import json
import pickle
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from importlib.resources import files

import pytest

import tla
from tla import Int, Layout, RangeError, TlaError, dim, parse, size, viz, xla
from tla.access import patterns
from tla.apps import explore
from tla.apps.explore.answer import answer, as_json
from tla.apps.explore.code import python
from tla.apps.explore.files import FORMATS
from tla.apps.explore.grammar import EXAMPLE, MAX_CALLS, MAX_SIZES, MAX_TEXT, Misread, read
from tla.apps.explore.operations import OPERATIONS, constants, module_of
from tla.apps.explore.question import VIEWS
from tla.apps.explore.server import HOST, MAX_BODY, MAX_PROGRAM, SCRIPTS, Server
from tla.apps.explore.steps import BY_MODE, LAWS, steps
from tla.core.int_tuple import shown
from tla.linear import triton
from tla.recovery.languages import LANGUAGES

import corpus
import fuzz
import oracle
from night import amount, some


def asked_of(path, text, **how):
    """What the page is answered by a path."""
    return json.loads(as_json(path, {"text": text, **how}))


def picture(text):
    return asked_of("/file", text)


def explore_code(text):
    return asked_of("/code", text)


# ------------------------------------------------------------------------------------------------- the grammar

TEXTS = {
    "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))": "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))",
    "A = (_8,_6):(_1,_8); logical_divide(A, (_4, _2))": "((_4,_2),(_2,_3)):((_1,_4),(_8,_16))",
    "A=(_8,_6):(_1,_8)\n\n zipped_divide ( A ,\n (_4, _) ) ;": "((_4,_6),(_2,_1)):((_1,_8),(_4,_0))",
    "MakeLayout[half, zN](100, 60, ld=112)": "((_16,7),(_16,4)):((_16,_256),(_1,1792))",
    "MakeLayout[8, zN]((64, 32), 2)": "((_16,4),(_32,1),2):((_32,_512),(_1,2048),2048)",
    "MakeLayout((2,4), LayoutRight)": "(2,4):(4,_1)",
    "MakeLayout[half, zN](M, N)": "((_16,ceil(M/16)),(_16,ceil(N/16))):((_16,_256),(_1,ceil(M/16)*256))",
    "M = 100; N = M // 2 + 10; MakeLayout[half, zN](M, N)": "((_16,7),(_16,4)):((_16,_256),(_1,1792))",
    "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)": "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
    "A = (_8,_8):(_8,_1); Swizzle[3,0,3]() o _0 o A": "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
    "composition(Swizzle[3, 0, 3](), (_8,_8):(_8,_1))": "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
    "S = (4, 2); D = (1, 4); (S, 3) : (D, 8)": "((4,2),3):((1,4),8)",
    "(4,3):(3@0,1@1)": "(4,3):(3@0,1@1)",
    "(_4,_2):(_-8,-1)": "(_4,_2):(_-8,-1)",
    "bf16[16,256]{1,0:T(8,128)(2,1)}": "bf16[16,256]{1,0:T(8,128)(2,1)}",
    "lower(bf16[16,256]{1,0:T(8,128)(2,1)})": "((_2,_4,_2),(_128,_2)):((_1,_256,_2048),(_2,_1024))",
    "M = 100\nf32[M,2*M]{1,0}": "f32[100,200]{1,0}",
    "upcast[2]((_4,6):(_1,16))": "(_2,6):(_1,8)",
    "A = (_4,2):(_1,_4); GetTileLayout(layout=A, tile=(2,2), coord=(2,0))": "(2,2):(_1,_4)",
    "complement((_2,_2):(_4,_1), size((_4,_6):(_6,_1)))": "(_2,_3):(_2,_8)",
    "size(4:1)": "4",
    "complement((2,2):(Int[1](),Int[2]()), 8)": "(1,2):(2,4)",  # as the fix for strides that are not static says it
    "is_injective((4,2):(0,1))": "False",
    "A = 4; A = A * 2; A": "8",
    "A = _16:_1; A = logical_divide(A, _4); A = A; A": "(_4,_4):(_1,_4)",
    "composition(b=_4:_2, a=_16:_1)": "_4:_2",
    "composition(_16:_1, b=_4:_2)": "_4:_2",
    "max(M, 4) * 2": "max(M,4)*2",
    "zN": "zN",
    "M = 4\noffset = 3\n(M,offset):(1,4)": "(4,3):(1,4)",
    "A = (8,8):(8,1)\nB = (4,2):(1,4)\nA o B": "((4,1),(2,1)):((8,1),(32,1))",
    "(8,8):(8,1) o (4,2):(1,4)": "((4,1),(2,1)):((8,1),(32,1))",
    "Sw<3,3,3> o (8,64):(64,1)": "Sw<3,3,3> o _0 o (8,64):(64,1)",
    "Sw<2,0,3> o 0 o (8,8):(8,1) o (4,2):(1,4)": "Sw<2,0,3> o 0 o ((4,1),(2,1)):((8,1),(32,1))",
    "A = (8,6):(1,8); A(1,1)": "9",
    "A = (8,6):(1,8); A(9)": "9",
    "A = (8,(2,3)):(1,(8,16)); A(_,(1,_))": "(8,3):(1,16)",
    "make_layout(make_shape(4, 2), make_stride(1, 4))": "(4,2):(1,4)",
    "make_layout(_8)": "_8:_1",
    "Sw<3,4,3>_smem_ptr[16b](0x7f000000) o (_8,_64):(_64,_1)": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "A = S<3,3,3> o 0 o (8,64):(64,1); coalesce(A)": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "Layout<Shape<_4,_2>,Stride<_1,_4>>{}": "(_4,_2):(_1,_4)",
    "cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<cute::C<1>, cute::C<4>>>": "(_4,d0):(_1,_4)",
    "d0 = 4; (?,?{div=16}):(1,16)": "(4,d1):(_1,_16)",
    "SM80_16x8x16_F32F16F16F32_TN": "atom('SM80_16x8x16_F32F16F16F32_TN', 'sm80')",
    "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (_2,_2,_1):(_1,_2,_0))": "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (_2,_2,_1):(_1,_2,_0))",
    "A = Copy_Atom[UniversalCopy[uint128], half]; A": "atom('UniversalCopy<uint128_t>', 'universal')[half]",
    "auto a = make_layout(make_shape(_8{}, Int<6>{}), make_stride(_1{}, Int<8>{}));": "(_8,_6):(_1,_8)",
    "cute.make_layout((8, 6), stride=(6, 1))": "(8,6):(6,1)",
    "using Atom = decltype(composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{}));": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "auto a = make_layout(\n    make_shape(_8{}, _6{}),\n    LayoutRight{});\nlogical_divide(a, make_tile(_4{}, _));": "((_4,_2),_6):((_6,_24),_1)",
    "tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(_16{}, _64{}))": "Sw<3,3,3> o _0 o ((_8,_2),(_64,_1)):((_64,_512),(_1,_0))",
    "Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}": "atom('SM75_U32x4_LDSM_N', 'sm75')[half]",
    "TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2,_2,_1>>>{}": "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (_2,_2,_1):(_1,_2,_0))",
    "print_layout((8,6):(1,8));": "(8,6):(1,8)",
    '"(8,6):(1,8)"': "(8,6):(1,8)",
    "(2,3):(3,1)\n      0   1   2 \n    +---+---+---+\n 0  | 0 | 1 | 2 |\n    +---+---+---+\n 1  | 3 | 4 | 5 |\n    +---+---+---+\n": "(2,3):(3,1)",
    "Layout(shape=(8,6), stride=(1,8))": "(8,6):(1,8)",
    "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>": "atom('SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>', 'sm90')",
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_have_values(text):
    assert shown(read(text).value.value, 2000) == TEXTS[text]


@pytest.mark.parametrize("text", TEXTS)
def test_the_python_gives_the_same(text):
    program = read(text)
    assert shown_by(python(program), program) == TEXTS[text]


def shown_by(code, program):
    """What the Python of a program prints, or binds last. It has no names but those of tla and its own."""
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    assert all(hasattr(tla, name) or name in {*dict(program.names), "print", "conditions"} for name in names), names
    out = []
    exec(code, bound := {"print": lambda *values: out.append(" ".join(shown(x, 2000) for x in values))})
    return "\n".join(out) or shown(bound[program.names[-1][0]], 2000)


REFUSED = {
    "": (0, "the text ends", "a layout reads (_4,2):(_1,4)"),
    "logcal_divide(4:1, 2)": (0, "the operation, 'logcal_divide', is not known", "write logical_divide"),
    "A = S<3,3,3> o 0 o (8,64):(64,1),": (33, "the text ends", "a layout reads (_4,2):(_1,4)"),
    "upcast[2](6:1, 6)": (0, "upcast[...] with 2 arguments", "write upcast[...](layout)"),
    "zipped_divid": (0, "the name, 'zipped_divid', is not known", "write zipped_divide"),
    "A = 4:1; B": (9, "the name, 'B', is not known", EXAMPLE),
    "A = 4:1; coalesce(compse(A, A))": (18, "the operation, 'compse', is not known", "write compose"),
    "A = 4:1; composition(A)": (
        9,
        "composition with 1 arguments: missing a required argument: 'b'",
        "give these arguments",
    ),
    "composition(4:1, 2:1, c=3)": (
        0,
        "composition with 3 arguments: got an unexpected keyword argument 'c'",
        "give these arguments",
    ),
    "A = 4:1; A * 2": (9, "A is 4:1", "use it as an argument"),
    "half = 3": (0, "the name 'half' is taken", "write my_half = ..."),
    "size = 3": (0, "the name 'size' is taken", "write my_size = ..."),
    "print = 3": (0, "the name 'print' is taken", "write my_print = ..."),
    "lambda = 3": (0, "the name 'lambda' is taken", "write my_lambda = ..."),
    "logical_divide(16:1, 4": (14, "'(' is never closed", "close the bracket with )"),
    "((4,2),(4,3):((4,16),(1,32))": (0, "'(' is never closed", "close the bracket with )"),
    "(4,2]:(1,4)": (4, "']' closes no bracket", "leave ']' out, or open its bracket"),
    "f32[3": (3, "'[' is never closed", "close the bracket with ]"),
    "A = (8,6):(1,8); A(1,2,3)": (
        17,
        "coordinate (1,2,3) has 3 modes and the shape (8,6) has 2",
        "give one coordinate per mode",
    ),
    "A = 8; A(1)": (7, "A is 8", "write A with no bracket"),
    "(4:1, 4:1) o 2:1": (0, "composition of a tuple", "make one with MakeLayout"),
    "UniversalCopy[uint7]": (0, "uint7 for an element type", "write half, or 'half_t'"),
    "Copy_Atom(half, 4:1)": (0, "Copy_Atom(...)", "put its arguments in square brackets"),
    "UniversalCopy": (0, "UniversalCopy with 0 arguments", "write UniversalCopy[S, ...]"),
    "make_composed_layout[half](4:1, 0, 4:1)": (0, "make_composed_layout[...]", "leave the square brackets out"),
    "f33[3]": (0, "what stands before '[', 'f33', is not known", "write f32"),
    "A = 4:1 B = 3": (8, "unexpected 'B'", "a layout reads (_4,2):(_1,4)"),
    "coalesce(zN)": (0, "coalesce of a Tag", "make one with MakeLayout"),
    "coalesce[2](4:1)": (0, "coalesce[...]", "leave the square brackets out"),
    "composition * 2": (0, "composition is no integer", "call it, or choose another name"),
    "(a=4, 2)": (8, "the text ends", "only calls have named arguments"),
    "__import__('os')": (0, "unexpected '__import__'", "a layout reads (_4,2):(_1,4)"),
    "open('/etc/passwd')": (0, "the operation, 'open', is not known", EXAMPLE),
    "(4,2):(1,4).__class__": (11, "unexpected '.__class__'", "a layout reads (_4,2):(_1,4)"),
    "composition((6,2):(1,7), (_3):(_4))": (0, None, None),
    "(4%0,2):(1,4)": (3, "a division by 0", "divide by another number"),
    "A = 4:1;\n(4,2):(1)": (9, "Layout: (4,2) has 2 modes and (1) has 1", "give each mode its counterpart"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_texts_are_refused_where_they_are_wrong(text):
    position, what, fix = REFUSED[text]
    with pytest.raises(Misread) as caught:
        read(text)
    error = caught.value
    assert caught.value.position == position
    assert what is None or str(error.reason.what).split(", at position")[0] == what
    assert fix is None or error.reason.fix == fix
    assert error.reason.fix


def test_the_fixes_work():
    assert read("logical_divide(4:1, 2)").value.value == parse("(2,2):(1,2)")
    assert read("my_half = 3").value.value == 3
    assert read("logical_divide(16:1, 4)").value.value == parse("(4,4):(1,4)")


def test_limits_are_errors():
    """Nothing grows past a size that a page can show, whatever the text; and no text is too deep for Python."""
    doubling = "A = (1,1,1,1):(0,0,0,0);" + "A = MakeLayout(A, A);" * 30
    tuples = "A = (4:1, 4:1);" + "A = (A, A, A, A);" * 30
    nested = "A = (4:1, 4:1);" + "A = (A, 1);" * 100
    polynomial = "A = a+b+c+d+e+f+g+h;" + "A = A * A;" * 60
    huge = "A = 9223372036854775807;" + "A = A * A;" * 60
    for text, what in {
        "(" * MAX_TEXT + "4": "a text of 4097 characters",
        "(" * 4000: "more than 64 levels of brackets",
        "coalesce(" * 400: "more than 64 levels of brackets",
        "MakeLayout[" * 300: "more than 64 levels of brackets",
        "(" * 2000 + "4" + ")" * 2000 + "*2": "more than 64 levels of brackets",
        "size(4:1);" * (MAX_CALLS + 1): "more than 64 calls",
        " + ".join(f"s{k}" for k in range(MAX_SIZES + 1)): "more than 16 sizes that are not known",
        doubling: "a value of more than 1024 extents",
        tuples: "a value of more than 1024 extents",
        nested: "tuples nested more than 64 deep",
        polynomial: "an expression of",
        huge: "an integer of 126 bits",
        "A = M;" + "A = A * 4294967296;" * 3: "18446744073709551616*M",
        "1" * 4000: "1111",
        ";" * 4000: "unexpected ';'",
    }.items():
        start = time.process_time()
        with pytest.raises(Misread) as caught:
            read(text)
        assert str(caught.value).startswith(what), text[:40]
        assert time.process_time() - start < 2, text[:40]


def test_names_come_from_tables_alone():
    assert all(OPERATIONS[name] is eval(f"tla.{module_of(name)}{name}") for name in OPERATIONS)
    assert not {*OPERATIONS} & {*constants()}
    for node in ast.walk(ast.parse((files("tla.apps.explore") / "grammar.py").read_text())):
        assert not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in (
            "eval",
            "exec",
            "compile",
            "__import__",
            "open",
        )


def test_sizes_that_are_not_known_are_asked_for_and_what_is_taken_on_is_said():
    program = read("A = (M,K):(_1,M); zipped_divide(A, (_64,_32))")
    assert (program.sizes, program.assumed) == (("M", "K"), ("64 divides M", "32 divides K"))
    assert read("M = 64; K = 32; zipped_divide((M,K):(_1,M), (_64,_32))").sizes == ()
    found = answer("MakeLayout[half, zN](M, 60)")
    assert (found["sizes"], found["figures"]) == (("M",), ())
    assert answer("B = (M,4):(1,M); M = 3; B")["sizes"] == ("M",)  # B is of the M that nothing was known of
    assert "M" not in answer("M = 100; MakeLayout[half, zN](M, 60)")["sizes"]


# ------------------------------------------------------------------------------------------------- steps

PAIRS = [
    (Layout(s, oracle.compact(s, last)), t)
    for s in [(4, 6), ((2, 2), 3), (8,), 12]
    for last in (False, True)
    for t in (1, 2, 3, (2, 3), (2,))
]
PAIRS += [
    (parse(a), parse(b))
    for a in ("(_4,_6):(_6,_1)", "_24:_3", "(4,6):(1,8)")
    for b in ("_2:_1", "(_2,_2):(_1,_4)", "4:1", "(2,3):(1,4)", "_6:_2")
]


@pytest.mark.parametrize("name", LAWS)
def test_a_law_gives_what_the_operation_gives(name):
    """Of a regrouping, the last step has the same elements; the others are the operation, mode by mode for a
    tuple of tiles."""
    compared = 0
    for a, b in some(PAIRS, 2):
        arguments = f"({a}, {b if isinstance(b, (int, Layout)) else parse(str(b).replace(' ', '').replace(',)', ')'))})"
        if name.endswith("inverse"):
            arguments = f"({a})"
        try:
            program = read(f"{name}{arguments}")
        except Misread:
            continue
        found = steps(program.calls)
        assert found[-1].after == str(program.value.value)
        if len(found) == 1 or name.endswith("inverse"):
            continue
        last, whole = parse(found[-2].after), program.value.value
        if isinstance(b, tuple) and name in BY_MODE:
            assert found[-2].after == str(whole[len(b) - 1]), (name, a, b)  # the text does not say what is valid
        elif name in BY_MODE:
            assert found[-2].after == str(whole), (name, a, b)
        else:
            assert sorted(map(last, range(size(last)))) == sorted(map(whole, range(size(whole))))
        compared += 1
    assert compared > amount(2, 3) or name.endswith("inverse") or name == "composition"


def modes(text):
    return steps(read(text).calls)[-1].modes


def test_what_became_of_each_mode():
    assert modes("composition((6,2):(8,2), (4,3):(3,1))") == (("4:3", "(2,2):(24,2)"), ("3:1", "(3,1):(8,2)"))
    assert modes("logical_divide((8,6):(1,8), (4,_))") == (("8:1", "(4,2):(1,4)"), ("6:8", "6:8"))
    assert modes("coalesce((_2,(_1,_6),_5):(_1,(_6,_2),_13))") == (
        ("_2:_1, _1:_6, _6:_2", "_12:_1"),
        ("_5:_13", "_5:_13"),
    )
    assert modes("MakeLayout[half, zN](100, 60)") == (("100", "(_16,7):(_16,_256)"), ("60", "(_16,4):(_1,1792)"))
    assert modes("composition(_12:_1, _12:_1)") == (("_12:_1", "_12:_1"),)


def test_a_tiled_array_tile_by_tile():
    found = answer("bf16[16,256]{1,0:T(8,128)(2,1)}")["steps"]
    assert [s["after"] for s in found] == [str(xla.lower(s["before"][0])) for s in found]
    assert [s["before"][0] for s in found] == [
        "bf16[16,256]{1,0}",
        "bf16[16,256]{1,0:T(8,128)}",
        "bf16[16,256]{1,0:T(8,128)(2,1)}",
    ]


# ------------------------------------------------------------------------------------------------- the answer


def texts(grid):
    """What stands in the cells: integers of 32 bits in base64, or texts."""
    found = grid["texts"]
    return memoryview(base64.b64decode(found)).cast("i") if isinstance(found, str) else found


@pytest.mark.parametrize(
    "text",
    [
        "((4,2),(4,3)):((4,16),(1,32))",
        "(2,3,2):(3,1,6)",
        "6:3",
        "(2,(3,2),2,3):(7,(1,3),100,40)",
        "():()",
        "(1,1):(5,5)",
    ],
)
def test_each_cell_is_what_the_definition_says(text):
    layout = parse(text)
    shape, stride = (tuple(x) if isinstance(x, tuple) else (x,) for x in (layout.shape, layout.stride))
    expected = dict(zip(oracle.coordinates(shape), oracle.offsets(shape, stride)))
    (figure,) = answer(text)["figures"]
    found, count = {}, 0
    for grid in figure["grids"]:
        columns = len(grid["columns"]["labels"])
        for k, text_here in enumerate(texts(grid)):
            spot = dict(zip(figure["axes"], divmod(k, columns)))
            coord = [spot[m] if m in spot else int(grid["at"][m]) for m in range(len(figure["modes"]))]
            natural = ",".join(mode["natural"][c] for mode, c in zip(figure["modes"], coord))
            found[tuple(ast.literal_eval(f"[{natural}]"))] = int(text_here)
            count += 1
    assert found == expected
    assert count == len(expected)
    assert figure["extents"] == [str(oracle.size(s)) for s in shape]


def test_digits_and_padding():
    (figure,) = answer("f32[3,5]{1,0:T(2,2)}")["figures"]
    rows, columns = figure["modes"]
    assert rows["digits"] == [f"tile {i // 2}, sublane {i % 2}" for i in range(4)]
    assert columns["digits"] == [f"tile {j // 2}, lane {j % 2}" for j in range(6)]
    (grid,) = figure["grids"]
    padding = {divmod(k, 6) for k, fill in enumerate(grid["fills"]) if fill == "0"}
    assert padding == {(i, j) for i in range(4) for j in range(6) if i >= 3 or j >= 5}
    assert [*texts(grid)] == [xla.lower("f32[3,5]{1,0:T(2,2)}")(i, j) for i in range(4) for j in range(6)]


def test_too_large_is_a_summary():
    found = answer("(65536,65536):(1,65536)")
    assert found["figures"][0]["notes"] == ("4,294,967,296 coordinates, 65536 x 65536: of these 8 x 16",)
    assert ["size", "4294967296"] in json.loads(json.dumps(found["facts"][0][1]))
    assert len(json.dumps(found)) < 10_000
    for text in (
        "(4611686018427387904,2):(1,1)",
        "(0,9223372036854775807,4294967296):(1,1,1)",
        "Sw<3,0,3> o 0 o (65536,65536):(1,65536)",
        "Sw<3,0,3> o 0 o 65536:M",
    ):
        start = time.process_time()
        assert "error" not in answer(text)
        assert time.process_time() - start < 2


def test_a_large_grid_of_offsets_that_are_not_known_is_its_corner():
    """Each of its 65,536 texts took milliseconds: it held the page up for two minutes."""
    text = "Sw<3,4,3> o M o (_256,_256):(_256,_1)"
    start = time.process_time()
    assert "65,536 coordinates, 256 x 256: of these 8 x 16" in picture(text)["text"]
    assert time.process_time() - start < 3
    small = viz.draw(parse("(16,16):(1@0,1@1)"), parse("(_16,_16):(M,_1)", symbols=[dim("M")]))
    assert [len(f.grids[0].cells) for f in small.figures] == [16, 16]
    assert small.figures[1].grids[0].cells[15][1].text == "15*M+1"
    assert len(viz.draw(parse("(64,64):(1@0,1@1)")).figures[0].grids[0].cells) == 64  # coordinates are quick


def test_256_by_256_is_quick_and_small():
    answer("(4,4):(1,4)")
    start = time.process_time()
    found = answer("(256,256):(256,1)", "offset")
    assert time.process_time() - start < 2
    assert len(texts(found["figures"][0]["grids"][0])) == 2**16
    assert len(json.dumps(found, separators=(",", ":"))) < 2**19


def test_values_that_are_no_layouts_and_errors():
    assert answer("4")["figures"] == ()
    assert answer("(4:1, (2,2):(1,2))")["figures"][1]["title"] == "(2,2):(1,2)"
    assert answer("relayout(f32[16,32]{1,0:T(8,16)}, f32[16,32]{0,1})")["value"].endswith(
        "{0,1}: 2,048 bytes move, in runs of 1"
    )
    assert answer("4:1", "taste")["error"]["fix"] == "write color_by='tile'"
    assert picture("(2,3):(3,1)")["text"].startswith("<svg")
    assert picture("(2,3")["error"]["position"] == 0
    assert picture("4")["error"]["what"] == "draw of 0 layouts"


def test_source_of_other_systems():
    code = explore_code("(_8,_8):(_8,_1)")["code"]
    assert code["CuTe C++"] == "cute::Layout<cute::Shape<cute::_8, cute::_8>, cute::Stride<cute::_8, cute::_1>>{}"
    swizzled = explore_code("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)")
    assert "cute::Swizzle<3, 3, 3>" in swizzled["code"]["CuTe C++"]
    assert {*swizzled["refused"]} == {"TLA C++", "CATLASS DSL", "XLA", "index in affine map"}
    assert not {*swizzled["refused"]} & {*swizzled["code"]}
    assert all("\n" not in why and why for why in swizzled["refused"].values())
    assert [*explore_code("4")["code"]] == ["Python"]


def test_a_chain_that_takes_too_long_ends(monkeypatch):
    monkeypatch.setattr(explore.grammar, "MAX_SECONDS", -1.0)
    with pytest.raises(TlaError, match="operations of more than -1 seconds before this one"):
        explore.read("zipped_divide((M,N):(1,M), (2,2))")
    assert "seconds" in str(answer("zipped_divide((M,N):(1,M), (2,2))"))


EXTENTS = ["1", "2", "_3", "4", "_8", "0", "M", "2*N", "-1", "65536", "9223372036854775807"]


def random_value(rng, depth=0):
    """A text that the grammar allows; most operations refuse what they are given."""
    pick = lambda *texts: rng.choice(texts)  # noqa: E731
    kind = rng.random()
    if depth < 3 and kind < 0.4:
        brackets = (
            f"[{', '.join(pick(*EXTENTS, *constants()) for _ in range(rng.randint(1, 3)))}]"
            if rng.random() < 0.2
            else ""
        )
        given = ", ".join(random_value(rng, depth + 1) for _ in range(pick(0, 1, 1, 2, 2, 2, 3)))
        return f"{pick(*OPERATIONS)}{brackets}({given})"
    if kind < 0.8:
        profile = pick(*corpus.PROFILES)
        shape, stride = (
            str(oracle.nest(profile, iter(pick(*EXTENTS) for _ in range(9)))).replace(",)", ")").replace("'", "")
            for _ in range(2)
        )
        return pick("", "", "Sw<2,0,3> o 0 o ") + f"{shape}:{stride}"
    return pick(
        "_",
        "(_, 4)",
        "(4:1, _)",
        "A",
        "B",
        "f32[16,M]{1,0:T(8,128)}",
        "bf16[6,10]{1,0:T(3,5)(2,2)}",
        *constants(),
        *EXTENTS,
    )


def test_whatever_is_typed_is_answered():
    """Random texts of the grammar, and real ones broken at random: an answer, whose Python gives the same, or a fix."""
    seed, counts = random.randrange(2**32), [0, 0]
    texts = [*TEXTS, *REFUSED]
    for n in range(amount(300, 50_000)):
        rng = random.Random(f"{seed} {n}")
        text = (
            fuzz.broken(rng.choice(texts), rng)
            if n % 3
            else f"A = {random_value(rng)}; B = {random_value(rng)}; {random_value(rng)}"
        )
        try:
            found = answer(text, rng.choice(["tile", "offset", "bank", "lane"]))
            json.dumps(found)
            counts["error" in found] += 1
            assert "error" not in found or found["error"]["fix"], text
            if "error" not in found and n % 10 == 0:
                program = read(text)
                assert shown_by(python(program), program) == shown(program.value.value, 2000)
        except Exception as error:
            raise AssertionError(f"seed {seed}, case {n}: {text!r}") from error


# ------------------------------------------------------------------------------------------------- the server


@pytest.fixture(scope="module")
def server():
    with Server(0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_who_holds_each_element_of_an_mma():
    """The accumulator of an MMA of SM80, as the PTX manual has it: row lane / 4 (+ 8 for values 2 and 3), column 2 *
    (lane % 4) (+ 1)."""
    figures = answer("SM80_16x8x16_F32F16F16F32_TN")["figures"]
    assert [f["domain"][0] for f in figures] == ["B", "A", "C"]
    (grid,) = figures[2]["grids"]
    for lane, value in itertools.product(range(32), range(4)):
        row, column = lane // 4 + 8 * (value // 2), 2 * (lane % 4) + value % 2
        assert grid["texts"][row * 8 + column] == f"T{lane}\nV{value}"
        assert grid["threads"][row * 8 + column] == f"T{lane}"
    assert answer("SM80_16x8x16_F32F16F16F32_TN", "value")["rule"] == "value"
    assert picture("SM80_16x8x16_F32F16F16F32_TN")["text"].startswith("<svg")
    assert (
        "cute::MMA_Atom<cute::SM80_16x8x16_F32F16F16F32_TN>"
        in explore_code("SM80_16x8x16_F32F16F16F32_TN")["code"]["CuTe C++"]
    )


DIVIDES = {  # a text -> the tile of each coordinate of the result, by the definition
    "zipped_divide(A, (4, 3))": lambda c: c[1],
    "tiled_divide(A, (4, 3))": lambda c: c[1:],
    "flat_divide(A, (4, 3))": lambda c: c[2:],
    "logical_divide(A, (4, 3))": lambda c: (c[0] // 4, c[1] // 3),
    "logical_divide(A, (_, 3))": lambda c: c[1] // 3,
    "logical_divide(A, ((_2,_2):(_1,_4), 3))": lambda c: (c[0] // 4, c[1] // 3),
    "logical_divide(A, (_2,_3):(_1,_16))": lambda c: c[1],
    "zipped_product(B, (3,4):(1,3))": lambda c: c[1],
    "flat_product(B, (3,4):(1,3))": lambda c: c[2:],
    "logical_product(B, (3,4):(1,3))": lambda c: c[1],
    "blocked_product(B, (3,4):(1,3))": lambda c: (c[0] // 2, c[1] // 2),
    "raked_product(B, (3,4):(1,3))": lambda c: (c[0] % 3, c[1] % 4),
}


@pytest.mark.parametrize("text", DIVIDES)
def test_tiles_are_those_that_the_operation_made(text):
    """In the result, and in what it was made of: one colour a tile, and no two alike."""
    given = "A = (_8,_12):(_12,_1); B = (_2,_2):(_2,_1); "
    alone, beside = answer(given + text), answer(f"{given}({text[text.index('(') + 1]}, {text})")
    value = explore.read(given + text).value.value
    extents = [int(size(m)) for m in value.shape]
    colours, places = {}, {}
    for coord in itertools.product(*map(range, extents)):
        tile = DIVIDES[text](coord)
        places[int(value(*coord))] = tile
        colours.setdefault(tile, set()).add(colour_of(alone["figures"][0], coord))
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == len(colours) > 1
    assert "tiles of" in alone["caption"]
    assert alone["caption"] == beside["caption"]
    for figure in beside["figures"]:
        for grid in figure["grids"]:
            for value, fill in zip(texts(grid), grid["fills"]):
                if int(value) in places:
                    (wanted,) = colours[places[int(value)]]
                    assert figure["palette"][ord(fill) - ord("1")][0] == wanted


def colour_of(figure, coord):
    at = dict(enumerate(coord))
    (row, column) = (at.pop(k) for k in figure["axes"])
    (grid,) = [g for g in figure["grids"] if not at or all(g["at"][k] == str(c) for k, c in at.items())]
    return figure["palette"][ord(grid["fills"][row * len(grid["columns"]["labels"]) + column]) - ord("1")][0]


@pytest.mark.parametrize(
    ("text", "bits"),
    {
        "MakeLayout[half, zN](64,64)": [16],
        "MakeLayout[8, zN](64,64)": [8],
        "A = MakeLayout[half, zN](64,64); zipped_divide(A, (16,16))": [16],
        "Sw<3,3,3> o 0 o MakeLayout[half, zN](64,64)": [16],
        "lower(bf16[16,16])": [16],
        "upcast[2](MakeLayout[int8, zN](64,64))": [16],
        "downcast[4](lower(f32[16,16]))": [8],
        "recast_layout[16, 8](MakeLayout[half, zN](64,64))": [8],
        "(s8[4,4], (4,4):(1,4), MakeLayout[half, zN](16,16))": [8, 32, 16],
        "(64,64):(64,1)": [32],
    }.items(),
)
def test_the_width_of_elements_is_kept(text, bits):
    assert [s.element_width.bits for s in explore.subjects(explore.read(text))] == bits
    assert answer(text)["width"]["bits"] == bits[0]
    found, given = answer(text, "bank"), answer(text, "bank", 64)
    assert f"of {bits[0]} bits" in found["caption"]
    if text == "(64,64):(64,1)":  # nothing in it says a width
        assert "of 64 bits (given)" in given["caption"]
    else:
        assert f"elements of {bits[0]} bits (" in given["error"]["what"]
        assert given["error"]["fix"] == "leave bits out"
    assert "not" in str(answer(text, "bank", -1)["error"]) or "bits" in str(answer(text, "bank", -1)["error"])


def asked(server, method="POST", path="/answer", body=b'{"text": "4:1"}', **headers):
    """The status, headers and body of an answer; a header of None is left out."""
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=20)
    given = {
        "Host": f"{HOST}:{server.server_port}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
    }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value.format(port=server.server_port))
    connection.endheaders(body)
    reply = connection.getresponse()
    found = reply.status, reply.headers, reply.read()
    connection.close()
    return found


def test_the_page_and_its_answers(server):
    for path, kind in {"/": "text/html", "/page.css": "text/css", "/main.js": "text/javascript"}.items():
        status, headers, body = asked(server, "GET", path, b"")
        assert (status, headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")
        assert len(body) > 500
    status, headers, body = asked(server)
    assert json.loads(body) == json.loads(json.dumps(answer("4:1")))
    assert json.loads(asked(server, path="/file")[2]) == picture("4:1")
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[x] for x in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers
    assert headers["Server"].strip() == "tla"


def test_a_program_may_be_longer_than_a_question(server):
    lines = "\n".join(f"  p{k} = f32[256]{{0}} parameter({k})" for k in range(3000))
    text = f"HloModule m, is_scheduled=true\nENTRY e {{\n{lines}\n  ROOT n = f32[256]{{0}} negate(p0)\n}}"
    status, _headers, body = asked(server, path="/report", body=json.dumps({"text": text}).encode())
    assert status == 200
    assert f"{3001 * 1024:,}" in json.loads(body)["text"]
    for wrong in ("4:1", "", "HloModule m"):
        assert json.loads(asked(server, path="/report", body=json.dumps({"text": wrong}).encode())[2])["error"]["fix"]


OTHERS = {
    "another host, as of a name bound to this machine": (403, {"Host": "evil.example:{port}"}),
    "a host without a port": (403, {"Host": "127.0.0.1"}),
    "no host": (403, {"Host": None}),
    "another origin": (403, {"Origin": "http://evil.example"}),
    "another port of this machine": (403, {"Origin": "http://127.0.0.1:1"}),
    "https": (403, {"Origin": "https://127.0.0.1:{port}"}),
    "a sandbox": (403, {"Origin": "null"}),
    "another site": (403, {"Sec_Fetch_Site": "cross-site"}),
    "another port, by the browser's word": (403, {"Sec_Fetch_Site": "same-site"}),
    "a link to what is no page": (403, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}),
    "a form": (415, {"Content_Type": "application/x-www-form-urlencoded"}),
    "a simple request": (415, {"Content_Type": "text/plain"}),
    "no type": (415, {"Content_Type": None}),
    "no length": (411, {"Content_Length": None}),
    "a length that is none": (411, {"Content_Length": "-5"}),
    "a length of other digits": (400, {"body": b"{}", "Content_Length": "2"}),
    "a huge body": (413, {"Content_Length": str(MAX_BODY + 1), "body": b""}),
    "a huge program": (413, {"path": "/report", "Content_Length": str(MAX_PROGRAM + 1), "body": b""}),
    "a body of a length beyond all": (413, {"Content_Length": "9" * 50, "body": b""}),
    "no JSON": (400, {"body": b"4:1"}),
    "no UTF-8": (400, {"body": b'{"text": "\xff"}'}),
    "deep JSON": (400, {"body": b"[" * 60000}),
    "a list": (400, {"body": b"[1]"}),
    "a number for a text": (400, {"body": b'{"text": 4}'}),
    "a text for a width": (400, {"body": b'{"text": "4:1", "bits": "16"}'}),
    "a number for an access": (400, {"body": b'{"text": "4:1", "access": 1}'}),
    "a list for a colour": (400, {"body": b'{"text": "4:1", "color_by": []}'}),
    "a path that is not there": (404, {"path": "/page"}),
    "a path into the package": (404, {"path": "/../server.py"}),
    "an encoded one": (404, {"path": "/%2e%2e/server.py"}),
    "a path of the machine": (404, {"path": "//etc/passwd"}),
    "a question behind it": (404, {"path": "/answer?x=1"}),
    "an address for a path": (404, {"path": "http://127.0.0.1/answer"}),
    "a page that is asked as a question": (405, {"path": "/"}),
    "a question that is asked as a page": (405, {"method": "GET"}),
    "another method": (501, {"method": "DELETE"}),
    "a preflight": (501, {"method": "OPTIONS", "Origin": "http://evil.example"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_requests_are_refused(server, name):
    status, given = OTHERS[name]
    found, headers, body = asked(server, **given)
    assert found == status
    assert re.fullmatch(rb"\d{3} [A-Za-z -]+\n", body)  # nothing of what was asked
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_own_requests_are_answered(server):
    own = "http://127.0.0.1:{port}"
    assert asked(server, Origin=own, Sec_Fetch_Site="same-origin")[0] == 200
    assert asked(server, Host="LOCALHOST:{port}", Origin=None)[0] == 200
    assert (
        asked(server, "GET", "/", b"", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    )  # a link to the page
    assert asked(server, "GET", "/main.js", b"", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403


def test_clients_that_stop_or_go_away_hold_nothing_up(server, monkeypatch, capfd):
    monkeypatch.setattr(explore.server._Handler, "timeout", 0.3)
    stopped = [socket.create_connection((HOST, server.server_port)) for _ in range(20)]
    for k, client in enumerate(stopped):
        head = (
            f"POST /answer HTTP/1.1\r\nHost: {HOST}:{server.server_port}\r\nContent-Type: "
            f"application/json\r\nContent-Length: 100\r\n\r\n{{"
        )
        client.sendall(head.encode()[: k * 9])
    assert asked(server)[0] == 200
    time.sleep(0.8)
    for client in stopped:
        client.settimeout(2)
        client.recv(100)  # it ends, with an answer or without
        client.close()
    assert asked(server)[0] == 200
    assert "Traceback" not in capfd.readouterr().err


#: Half a second a call.
SLOW = json.dumps({"text": "; ".join(f"lower(f32[{65521 - k}]{{0:T(*,4)(2,3)(5,2)(3,7)}})" for k in range(60))})


def test_what_is_closed_while_it_answers_starts_no_process(monkeypatch):
    made, plain = [], explore.workers._Worker
    monkeypatch.setattr(explore.workers, "_Worker", lambda: made.append(plain()) or made[-1])
    workers = explore.workers.Workers()
    asking = threading.Thread(target=workers.answer, args=("/answer", json.loads(SLOW)))
    asking.start()
    while not workers._busy:
        time.sleep(0.01)
    workers.close()
    asking.join()
    assert [worker._process.returncode for worker in made] == [-signal.SIGKILL]


def test_eight_slow_questions_block_nothing(server, monkeypatch):
    """They make way for those that come after, or end after so many seconds, with what may be done."""
    monkeypatch.setattr(explore.workers, "MAX_SECONDS", 2.0)
    monkeypatch.setattr(explore.workers, "PATIENCE", 0.2)
    found = []
    threads = [threading.Thread(target=lambda: found.append(asked(server, body=SLOW.encode())[2])) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    assert json.loads(asked(server)[2])["value"] == "4:1"
    for thread in threads:
        thread.join()
    whats = [json.loads(body)["error"]["what"] for body in found]
    assert {re.sub("[0-9]+", "N", what) for what in whats} == {
        "an answer of more than N seconds",
        "an answer that made way for N newer questions",
    }
    assert json.loads(asked(server, path="/file")[2])["text"]


def test_a_process_that_ends_is_another_one_next(server):
    idle = [*server.workers._idle]
    for worker in idle:
        worker._process.kill()  # as the system does where memory ends
    for _ in idle:
        assert "ended its process" in str(asked(server)[2])
    assert json.loads(asked(server)[2])["value"] == "4:1"


def test_a_client_that_sends_a_byte_now_and_then_is_left(server, monkeypatch):
    monkeypatch.setattr(explore.server._Handler, "timeout", 0.6)
    client = socket.create_connection((HOST, server.server_port))
    client.settimeout(0.1)
    start, said = (
        time.monotonic(),
        f"POST /answer HTTP/1.1\r\nHost: {HOST}:{server.server_port}\r\nX: {'x' * 9999}".encode(),
    )
    for byte in said:
        try:
            client.sendall(bytes([byte]))
            if client.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    assert 0.4 < time.monotonic() - start < 5
    client.close()


def test_a_port_in_use_or_none_is_refused(server):
    with pytest.raises(
        RangeError, match=rf"port {server.server_port} is in use\n.*\n.*give another one: --port 0 takes a free one"
    ):
        Server(server.server_port)
    for port in (-1, 65536):
        with pytest.raises(RangeError, match=f"port {port}"):
            Server(port)
    done = subprocess.run(
        [sys.executable, "-m", "tla.apps.cli", "explore", "--port", str(server.server_port)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"tla: port {server.server_port} is in use\n")


def test_it_is_bound_to_loopback(server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("given", "sent", "code"),
    [
        (signal.SIG_DFL, signal.SIGINT, 130),
        (signal.SIG_DFL, signal.SIGTERM, 143),
        (signal.SIG_IGN, signal.SIGTERM, 143),
    ],
)
def test_the_command(given, sent, code):
    """It ends on Ctrl-C, and on SIGTERM too where Ctrl-C is ignored, as in the background of a script."""
    command = [sys.executable, "-m", "tla.apps.cli", "explore", "A = (4,2):(1,4)", "--port", "0", "--no-browser"]
    before = signal.signal(signal.SIGINT, given)  # which the child inherits, whatever the tests were started with
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            url = process.stdout.readline().strip()
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#e=A%20%3D%20%284%2C2%29%3A%281%2C4%29", url)
            connection = http.client.HTTPConnection(HOST, int(found[1]), timeout=20)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            if given == signal.SIG_IGN:
                process.send_signal(signal.SIGINT)
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.2)
            process.send_signal(sent)
            assert process.wait(10) == code
        finally:
            process.kill()


PAGE = files("tla.apps.explore") / "page"


def test_the_page_asks_for_nothing_elsewhere_and_makes_no_markup_of_texts():
    page = (PAGE / "page.html").read_text()
    assert sorted(["page.html", "page.css", *SCRIPTS]) == sorted(x.name for x in PAGE.iterdir())
    assert re.findall(r'<script src="(.*?)"', page) == [*SCRIPTS]
    for name in ("page.html", "page.css", *SCRIPTS):
        text = re.sub(
            r'<a id="\w+" href="https://.*?">|PUBLIC = "https://.*?"', "", (PAGE / name).read_text()
        )  # links that one follows
        assert not re.search(
            r"https?:|//[a-z]+\.|innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|import\(", text
        ), name
    assert "<style" not in page
    assert not re.search(r"<script(?! src=\"\w+\.js\")| on[a-z]+=| style=", page)


def table(name):
    """A table of the page's scripts, which is written as Python's are too."""
    return ast.literal_eval(
        re.search(rf"^const {name} = (.*?);$", (PAGE / "dom.js").read_text(), re.DOTALL | re.MULTILINE)[1]
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('layout_of("i*8 + j", (4, 8))', "(_4,_8):(_8,_1)"),
        ("layout_of('''\nint k = i * 8;\nk + j''', (4, 8), language='c')", "(_4,_8):(_8,_1)"),
        ('ld = 16; B = layout_of("smem[(b*ld + a)]", (4, 8), "a,b"); coalesce(B)', None),
        ("layout_of((0, 1, 2, 3, 8, 9, 10, 11))", "(_4,_2):(_1,_8)"),
        ('layout_of("i // 2 + j", (4, 8), language="python"), (4,8):(1,4)', None),
        ('composition(layout_of("i", 8), 4:2)', "4:2"),
        ('layout_of("i < 5 ? i*8 + j : -1", (8, 8))', "(_8,_8):(_8,_1)"),
        ('layout_of("i*g.ld + j*s->n", (4, 8), "i,j", values="g.ld=32, s->n = -1")', "(_4,_8):(_32,_-1)"),
        ('ld = 8*K; layout_of("i*ld + j", (M, 8), "i,j")', "(M,_8):(8*K,_1)"),
        ('layout_of("for (int r = 0; r < 64; r += 4) s[r*8] = 0;")', "_16:_32"),
        ('layout_of(language="python", x="i // 4 + i % 4 * 2", shape=8)', "(_4,_2):(_2,_1)"),
    ],
)
def test_an_index_expression_is_read_back(text, value):
    found = answer(text)
    assert "error" not in found
    assert value is None or found["value"] == value
    assert any(step["text"].startswith("layout_of(") for step in found["steps"])
    python, names = read(text).value.python, {name: term.value for name, term in read(text).names}
    assert str(eval(python, {**vars(tla), **names})) == str(read(text).value.value)  # our own texts


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        ('layout_of("i + t[j]", (8, 8))', 15, "t[...]: an index that depends on data"),
        ('x = 4:1\nlayout_of( """i +\n * j""", (8, 8))', 27, "unexpected '*'"),
        ('layout_of("i*8 + j, (8, 8))', 10, "a text without its end"),
        ('layout_of("i*i", 8)', 0, "offsets of no layout"),
        ("layout_of(4:1)", 0, "layout_of of 4:1"),
        ('layout_of("i*ld", 8, "i", values="ld=8*K")', 0, "values='ld = 8*K'"),
        ("smem[i]", 0, "what stands before '[', 'smem', is not known"),
        ('layout_of("i", 8, lang="c")', 0, "unexpected keyword argument"),
        ('size("4:1")', 5, "unexpected"),
    ],
)
def test_an_index_expression_that_is_refused(text, position, what):
    error = answer(text)["error"]
    assert what in error["what"]
    assert error["position"] == position


def test_the_lists_of_the_page_are_those_of_the_library():
    from tla.viz.colouring import RULES

    assert table("COLOURS") == [
        "auto",
        *(name for rule in RULES for name in ((rule, "value") if rule == "thread" else (rule,))),
    ]
    who = re.search(r"const WHO = \{(.*?)^\};", (PAGE / "dom.js").read_text(), re.DOTALL | re.MULTILINE)[1]
    made = [f"{name}.x{n}{trans}" for name in ("ldmatrix", "stmatrix") for trans in ("", ".trans") for n in (4, 2, 1)]
    listed = [
        *made,
        *(x for line in who.strip().splitlines()[1:] for x in ast.literal_eval(line.partition(": ")[2].rstrip(","))),
    ]
    assert sorted(listed) == sorted(p.name for p in patterns())
    assert [*table("VIEWS")] == [*VIEWS]
    languages = re.search(r"^const LANGUAGES = (.*?);$", (PAGE / "expression.js").read_text(), re.MULTILINE)[1]
    assert {*ast.literal_eval(languages)} == {*LANGUAGES}
    assert {*table("FORMATS").values()} == {*FORMATS, "png"}  # which is made of the SVG, in the browser


def test_every_example_of_the_page_is_drawn():
    examples = table("EXAMPLES")
    assert len(examples) == 4  # roles
    for _title, text, *how in (x for role in examples.values() for x in role):
        found = asked_of(
            "/answer", text, **{name: int(x) if name == "bits" else x for k in how for name, x in k.items()}
        )
        assert "error" not in found, (text, found)
        assert found["figures"] or found["sizes"]


BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>"
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
PADDED = "#ttg.padded_shared<[32:+4, 128:+8] {order = [1, 0], shape = [32, 64]}>"
TRITON = {  # a text -> the layout, the shape and the width in it
    BLOCKED: (BLOCKED, (8, 32), None),
    f"tensor<16x64xf16, {BLOCKED}>": (BLOCKED, (16, 64), 16),
    f"#mma = {MMA}\ntensor<64x32xbf16, #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 2}}>>": (
        f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>",
        (64, 32),
        16,
    ),
    f"#p = {BLOCKED}; tensor<32x!tt.ptr<f16>, #ttg.slice<{{dim = 0, parent = #p}}>>": (
        f"#ttg.slice<{{dim = 0, parent = {BLOCKED}}}>",
        (32,),
        64,
    ),
    f"!ttg.memdesc<2x64x64xf16, {SWIZZLED}, #ttg.shared_memory, mutable>": (SWIZZLED, (64, 64), 16),
    PADDED: (PADDED, (32, 64), None),
    "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>": (None, (64, 64), 16),
}


@pytest.mark.parametrize("text", some(TRITON, 3))
def test_what_triton_prints_is_drawn(text):
    attribute, shape, bits = TRITON[text]
    layout = triton.from_text(attribute or text)
    found, bases = answer(text), layout.linear(shape)
    figure = found["figures"][0]
    assert getattr(read(text).value.element_width, "bits", None) == bits
    cells = dict(
        zip(itertools.product(*map(range, (shape if len(shape) > 1 else (1, *shape)))), texts(figure["grids"][0]))
    )
    if "offset" not in bases.get_in_dim_names():
        lanes = bases.get_in_dim_size("lane")
        for (row, column), cell in cells.items():
            thread, value = map(int, re.match(r"T(\d+)\nV(\d+)", cell).groups())
            place = bases.apply({"register": value, "lane": thread % lanes, "warp": thread // lanes, "block": 0})
            assert [*place.values()] == [row, column][-len(shape) :]
        return
    back = bases.invert()
    for (row, column), cell in cells.items():
        offset = back.apply({"dim0": row, "dim1": column})["offset"]
        assert int(cell) == (layout.padded(offset) if text == PADDED else offset)


BARE = """
import json, sys
sys.modules["numpy"] = sys.modules["sympy"] = None
from tla.apps.explore.answer import answer
print(json.dumps([answer(text) for text in json.loads(sys.stdin.read())]))
print(json.dumps([answer(text, access=name)["access"] for text, name in json.loads(sys.argv[1])]))
"""
#: A text and who accesses it: linear, padded, of 1,024 threads, of Triton, of no power of two, refused.
ACCESSED = [
    ("(32,32):(32,1)", "a row, an element each"),
    ("Sw<3,3,3> o _0 o (64,64):(64,1)", "down the rows, 16 bytes of each"),
    ("(64,64):(72,1)", "a column, an element each"),
    ("(256,64):(64,1)", "(1024,16):(16,1)"),
    ("(48,48):(48,1)", "(48,(4,12)):(1,(48,192))"),
    ("(64,64):(64,1)", f"tensor<64x64xf16, {BLOCKED}>"),
    ("(4,4):(4,1)", "(32,32):(32,1)"),
]


def test_the_page_needs_neither_numpy_nor_sympy():
    texts = [
        *[*TEXTS][::4],
        *TRITON,
        "(M,N):(N,1)",
        "zipped_divide((M,K):(_1,M), (_64,_32))",
        "Sw<3,3,3> o _0 o (64,64):(64,1)",
        "(4,2):(1,2)",
    ]
    found = subprocess.run(
        [sys.executable, "-c", BARE, json.dumps(ACCESSED)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    bare, accessed = map(json.loads, found.stdout.splitlines())
    assert bare == json.loads(json.dumps([answer(text) for text in texts]))
    assert accessed == json.loads(json.dumps([answer(text, access=name)["access"] for text, name in ACCESSED]))


def test_triton_texts_that_are_wrong_say_where():
    for text, what, position in (
        ("A = 4:1; tensor<16x16xf16, #x>", "#x is a name", 27),
        (f"tensor<16xf16, {BLOCKED}>", "1 extents", 0),
        ("tensor<16x16xf16, #ttg.blocked<{sizePerThread = [1, 4]}>>", "without", 18),
        ("#", "the text ends", 1),
        ("#ttng.tensor_memory_scales_encoding<>", "tensor memory", 0),
        ("#x = #x", "is a name", 0),
        (f"tensor<1073741824x1073741824xf16, {BLOCKED}>", "2**18 at most", None),  # 2 EiB of registers
        (f"tensor<3x4xf16, {BLOCKED}>", "power", 0),
    ):
        error = answer(text)["error"]
        assert what in error["what"] or what in error["fix"] + error["expected"], error
        assert error["position"] == position, error


def degree(layout, bits, lanes):
    """The most words of one bank that lanes of one phase want: lanes are lists of the coordinates that each
    takes at once."""
    found = 0
    phase = max(1, min(32, 1024 // (bits * len(lanes[0]))))
    for group in (lanes[k : k + phase] for k in range(0, len(lanes), phase)):
        words = {layout(*c) * bits // 32 for lane in group for c in lane}
        found = max(found, *(sum(w % 32 == bank for w in words) for bank in range(32)))
    return found


@pytest.mark.parametrize(
    "text",
    ["(_64,_64):(_64,_1)", "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)", "(_32,_24):(_1,_33)", "((_8,_4),_16):((_1,_128),_8)"],
)
def test_conflicts_of_an_access_are_counted(text):
    layout, bits = parse(text), 16
    rows, columns = (size(mode) for mode in (tla.get[0](layout.shape), tla.get[1](layout.shape)))
    down, across = (max(n for n in range(1, 33) if extent % n == 0) for extent in (rows, columns))
    wanted = {
        "a row, an element each": max(
            degree(layout, bits, [[(i, j + k)] for k in range(across)])
            for i in range(rows)
            for j in range(0, columns, across)
        ),
        "a column, an element each": max(
            degree(layout, bits, [[(i + k, j)] for k in range(down)])
            for j in range(columns)
            for i in range(0, rows, down)
        ),
        "down the rows, 16 bytes of each": max(
            degree(layout, bits, [[(i + k, j + v) for v in range(8)] for k in range(down)])
            for i in range(0, rows, down)
            for j in range(0, columns, 8)
        ),
    }
    for name, expected in wanted.items():
        found = answer(text, bits=bits, access=name)["access"]
        if found["degree"] is None:
            assert "aligned vectors" in found["fix"]
            continue
        assert found["degree"] == expected, name
        banks = {
            int(offset) * bits // 32 % 32 for offset in found["offsets"][:: 128 // bits if "16 bytes" in name else 1]
        }
        assert len(found["offsets"]) == (0 if expected == 1 else expected * (8 if "16 bytes" in name else 1))
        assert len(banks) <= 1


def test_accesses_that_are_none_say_so():
    for access, what in (
        ("4", "4 is no layout"),
        ("(", "never closed"),
        ("ldmatrx", "an access by ldmatrx"),
        ("SM80_16x8x16_F32F16F16F32_TN", "which reads registers"),
        (" ", None),
    ):
        found = answer("(_64,_64):(_64,_1)", access=access)["access"]
        assert found is None if what is None else what in found["text"]
    assert answer("f32[16,256]{1,0:T(8,128)}", access="a row, an element each")["access"]["degree"] == 1
    assert answer(f"tensor<16x64xf16, {BLOCKED}>", access="4:1")["access"] is None  # it is no memory
    assert (
        answer("(_16,_64):(_64,_1)", bits=16, access=f"tensor<16x64xf16, {BLOCKED}>")["access"]["degree"] == 2
    )  # rows of 128 bytes
    assert answer("(M,N):(N,_1)", access="a row, an element each")["access"] is None  # nor has it a size


def test_statics_stay_static_and_errors_are_values():
    assert isinstance(read("A = _4; A").value.value, Int)
    with pytest.raises(TlaError) as caught:
        read("A = 4:1; A * 2")
    assert (str(pickle.loads(pickle.dumps(caught.value))), pickle.loads(pickle.dumps(caught.value)).position) == (
        str(caught.value),
        9,
    )


def test_long_texts_keep_the_steps_of_the_text():
    found = answer("A = (8,8):(1,8);" + "zipped_divide(A, (2,2));" * 20)["steps"]
    assert [s["text"] for s in found] == ["zipped_divide(A, (2,2))"] * 20
