"""The widest accesses of global memory, as Triton 3.9 compiles the same text to PTX; and branches that never run."""

import pytest

from tla.ttgir import costs, dots, program_of

TEXT = """
#b = #ttg.blocked<{{sizePerThread = [{each}], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:{target}"}} {{
  tt.func public @k(%x: !tt.ptr<{kind}> {{tt.divisibility = {divides} : i32}}, %n: i32 {{tt.divisibility = {n} : i32}}) {{
    %r = tt.make_range {{end = 4096 : i32, start = 0 : i32}} : tensor<4096xi32, #b>
    %s = tt.splat %n : i32 -> tensor<4096xi32, #b>
    %m = arith.cmpi slt, %r, %s : tensor<4096xi32, #b>
    %p = tt.splat %x : !tt.ptr<{kind}> -> tensor<4096x!tt.ptr<{kind}>, #b>
    %q = tt.addptr %p, %r : tensor<4096x!tt.ptr<{kind}>, #b>, tensor<4096xi32, #b>
    %v = tt.load %q, %m : tensor<4096x!tt.ptr<{kind}>, #b>
    tt.store %q, %v, %m : tensor<4096x!tt.ptr<{kind}>, #b>
    tt.return
  }}
}}
"""
#: target, type, what divides the address, elements of a thread, what divides the size -> instructions, bits of each.
PTX = [
    ((90, "f32", 32, 8, 16), (8, 128)),
    ((100, "f32", 32, 8, 16), (4, 256)),
    ((100, "f32", 32, 16, 16), (4, 256)),
    ((100, "f32", 32, 8, 8), (4, 256)),
    ((100, "f32", 32, 8, 4), (8, 128)),
    ((100, "f32", 16, 8, 16), (8, 128)),
    ((100, "f32", 64, 4, 16), (8, 128)),
    ((100, "f16", 32, 32, 16), (2, 256)),
    ((100, "f64", 32, 8, 16), (8, 256)),
    ((110, "f32", 32, 8, 16), (4, 256)),
    ((121, "f32", 32, 8, 16), (4, 256)),
]


@pytest.mark.parametrize(("given", "wanted"), PTX)
def test_the_width_is_that_of_the_ptx(given, wanted):
    target, kind, divides, each, n = given
    found = costs(program_of(TEXT.format(target=target, kind=kind, divides=divides, each=each, n=n)))
    parts = [part for row in found.rows for part in row.parts]
    assert [(part.instruction, part.instructions, part.vector) for part in parts] == [
        ("ld.global", *wanted),
        ("st.global", *wanted),
    ]
    sectors = 4096 * int(kind[1:]) // 8 // 32
    whole = each * int(kind[1:]) <= wanted[1]  # else half of each sector is moved by each of two instructions
    assert {part.cost for part in parts} == {sectors if whole or wanted[1] == 256 else 2 * sectors}


BRANCHES = """
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:80"}} {{
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {{
    {taken}
    scf.if %c {{
      %a = tt.load %x : !tt.ptr<f32>
      tt.store %x, %a : !tt.ptr<f32>
    }} else {{
      %b = tt.load %x : !tt.ptr<f32>
    }}
    tt.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("taken", "operations"),
    [
        ("%c = arith.constant true", ["tt.load", "tt.store"]),
        ("%c = arith.constant false", ["tt.load"]),
        ("%c = arith.cmpi slt, %n, %n : i32", ["tt.load", "tt.store", "tt.load"]),
    ],
)
def test_a_branch_that_a_constant_rules_out_is_left_out(taken, operations):
    found = costs(program_of(BRANCHES.format(taken=taken)))
    assert [row.op.name for row in found.rows] == operations
    assert dots(found) == ()
