"""What CuTe's print, the DSL and compilers write, read: as maps of elements, beside an oracle of bytes."""

import numpy as np
import pytest

import tla
from tla import ParseError, TlaError, parse

READ = {
    "ptr[32b](0x7f42efc00000) o 8:2": "8:2",
    "gmem_ptr[32b](0x7f42efc00000) o (_8,16):(_1,_8)": "(_8,16):(_1,_8)",
    "smem_ptr[32b](0x7f4316000000) o (_4,_8):(_8,_1)": "(_4,_8):(_8,_1)",
    "Sw<3,4,3>_smem_ptr[16b](0x..) o (_8,_64):(_64,_1)": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "Sw<3,4,3>_smem_ptr[16b](0x7f8800000400) o ((_8,_16),(_64,_1),_3):((_64,_512),(_1,_0),_8192)": "Sw<3,3,3> o _0 o ((_8,_16),(_64,_1),_3):((_64,_512),(_1,_0),_8192)",
    "Sw<2,4,3>_smem_ptr[8b](0x7f8800000120) o (_8,_64):(_64,_1)": "Sw<2,4,3> o 288 o (_8,_64):(_64,_1)",
    "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "S<3,3,3> o 0 o (8,64):(64,1)": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "ArithTuple(0,0) o (4,5):(_1@0,_1@1)": "(4,5):(_1@0,_1@1)",
    "ArithTuple(0,_0) o (4,5):(_1@1,_1@0)": "(4,5):(_1@1,_1@0)",
    "counting_iter(42) o (4,5):(_1,4)": "_1:_1 o 42 o (4,5):(_1,4)",
    "counting_iter(-3) o (4,5):(_1,4):\n   -3    1    5    9   13\n": "_1:_1 o -3 o (4,5):(_1,4)",
    "ArithTuple(0,0) o (2,2):(_1@0,_1@1):\n  (0,0)  (0,1)\n  (1,0)  (1,1)\n": "(2,2):(_1@0,_1@1)",
    "ptr[32b](0x7ffd) o (_2,_2,_2):(_4,_2,_1):\n  0.00e+00  1.50e-01\n  2.00e+00       nan\n----------\n  1.00e+00  2.00e+00\n      -inf  2.00e+00": "(_2,_2,_2):(_4,_2,_1)",
    "(2,(2,2)):(4,(2,1))\n      0   1   2   3\n    +---+---+---+---+\n 0  | 0 | 2 | 1 | 3 |\n    +---+---+---+---+": "(2,(2,2)):(4,(2,1))",
    "tensor(raw_ptr(0x00007ffd51463d00: f32, rmem, align<32>) o (2,3):(1,2), data=\n       [[ 1.500000,  1.500000,  1.500000, ],\n        [ 1.500000,  nan, 1.500000, ]])": "(2,3):(1,2)",
    "tensor((0,3) o (4,5):(1@0,1@1), data=\n       [[ (0,3),  (0,4), ]])": "(_1,_1):(_1@0,_1@1) o (0,3) o (4,5):(1@0,1@1)",
    "tensor<(0,0) o (4,?):(1@0,1@1)>": "(_4,d0):(_1@0,_1@1)",
    "tensor<(?{div=2},0) o (2,5):(1@0,1@1)>": "(_1,_1):(_1@0,_1@1) o (d0,_0) o (_2,_5):(_1@0,_1@1)",
    "(?,?{div=16}):(?{i64 div=8},1)": "(d0,d1):(d2,_1)",
    "(?,?{i32}):(?{i64},1)": "(d0,d1):(d2,_1)",
    "((8,?),4):((1,?),?)": "((_8,d0),_4):((_1,d1),d2)",
    "tensor<ptr<f16, gmem, align<16>> o (?,64):(64,1)>": "(d0,_64):(_64,_1)",
    "raw_ptr(0x000000000736b0c0: f32, generic, align<4>) o (?,5):(5,1)": "(d0,_5):(_5,_1)",
    '!cute.layout<"(8,(2,4)):(8,(1,2))">': "(_8,(_2,_4)):(_8,(_1,_2))",
    '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(8,64):(64,1)">': "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<cute::C<1>, cute::C<4> > >": "(_4,d0):(_1,_4)",
    "cute::Layout<cute::tuple<cute::_4, cute::tuple<cute::_2, unsigned long>>, cute::tuple<cute::_1, cute::tuple<cute::C<-4>, int>>>": "(_4,(_2,d0)):(_1,(_-4,d1))",
    "Layout<Shape<_4,_2>, Stride<_2,_1>>": "(_4,_2):(_2,_1)",
    "const cute::Layout<cute::C<8>, cute::constant<int, 1>>&": "_8:_1",
    "cute::ComposedLayout<cute::Swizzle<3, 3, 3>, cute::C<0>, cute::Layout<cute::tuple<cute::C<8>, cute::C<64>>, cute::tuple<cute::C<64>, cute::C<1>>>>": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "cute::ComposedLayout<cute::Swizzle<3, 4, 3>, cute::smem_ptr_flag_bits<16>, cute::Layout<cute::tuple<cute::C<8>, cute::C<64>>, cute::tuple<cute::C<64>, cute::C<1>>>>": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "cute::Layout<cute::tuple<int, int>, cute::tuple<cute::ScaledBasis<cute::C<1>, 0>, cute::ScaledBasis<cute::C<2>, 1, 0>>>": "(d0,d1):(_1@0,_2@0@1)",
    "cute::tuple<cute::C<4>, cute::tuple<cute::C<2>>>": "(_4,(_2))",
    "cute::Layout<cute::C<4ul>, cute::C<100000000000LL>>{}": "_4:_100000000000",
    "!fly.layout<(4, 8) : (1E0, 2E1)>": "(_4,_8):(_1@0,_2@1)",
    "(48,21):(1E1,48E1)": "(_48,_21):(_1@1,_48@1)",
    "(2,3):(1E0E1,-2E1)": "(_2,_3):(_1@1@0,_-2@1)",
    "!fly.layout<(16,?{div=4}):(1E0,?E1E0)>": "(_16,d0):(_1@0,d1@0@1)",
    "!fly.composed_layout<CS<3,0,[1],0,[2]> o (0,0,0) o (4,8,8):(1E0,1E1,1E2) o (1,2,3) o (2,4,8):(1E0,1E1,1E2)>": "CS<3,0,[1],0,[2]> o (_0,_0,_0) o (_4,_8,_8):(_1@0,_1@1,_1@2) o (_1,_2,_3) o (_2,_4,_8):(_1@0,_1@1,_1@2)",
    "32:2 o 5 o [32:1 o 7 o (4,8):(1,4)]": "_32:_2 o _5 o _32:_1 o _7 o (_4,_8):(_1,_4)",
    "!fly.memref<f32, global, 128:2 o 5 o [128:3 o 7 o (4, 8) : (1, 4)]>": "_128:_2 o _5 o _128:_3 o _7 o (_4,_8):(_1,_4)",
    "!fly.memref<f16, shared, (8,64):(64,1), align<16>, S<3,4,3>>": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "!fly.memref<f32, #fly_rocdl.buffer_desc, 4:1>": "_4:_1",
    "!fly.memref<f4E2M1FN, register, 64:1>": "_64:_1",
    "!fly.int_tuple<(14,(6,9))>": "(_14,(_6,_9))",
    "!fly.coord_swizzle<CS<0,0,[],0,[]>>": "CS<0,0,[],0,[]>",
}  # fmt: skip


@pytest.mark.parametrize("given", READ)
def test_read(given):
    assert str(parse(given)) == READ[given]


def test_a_swizzled_pointer_in_bytes():
    """By definition: the byte address of an element is swizzled, and the elements are what lies between."""
    for width, address in ((8, 0x7F0000000000), (16, 0x7F0000000000), (16, 0x7F0000000040), (32, 0x120), (64, 0x80)):
        layout = parse("(_8,_8):(_8,_1)")
        given = parse(f"Sw<2,4,3>_smem_ptr[{width}b]({address:#x}) o {layout}")
        sw = tla.Swizzle[2, 4, 3]()
        period, size = 1 << 9, width // 8
        for i in range(64):
            there = sw(address + layout(i) * size)
            assert given(i) * size == there - address // period * period, (width, address, i)


def test_coordinates_with_a_start():
    t = parse("ArithTuple(4,(0,8)) o (4,5):(_1@0,_1@1@1)")
    assert t(2, 3) == (6, (0, 11))
    assert parse(str(t)) == t


def test_where_an_unknown_tile_starts():
    """What divides a start is a fact of it; that it is an extent, and so 1 or more, is none."""
    tile = parse("tensor<(?{div=2},0) o (?,5):(1@0,1@1)>")
    assert (tile.offset[0] % 2, tla.prove(tile.shape[0] >= 0), tla.prove(tile.offset[0] >= 0)) == (0, True, False)
    assert str(tile(1, 2)) == "(d0+1,2)"


def test_what_our_own_tables_print_is_read(capsys):
    for t in (
        tla.make_tensor(42, (4, 5)),
        tla.make_identity_tensor((3, 2)),
        tla.make_tensor(np.arange(24.0), (2, 3, 4)),
        np.arange(3),
    ):
        tla.print_tensor(t)
        found = parse(capsys.readouterr().out)
        layout = t.layout if isinstance(t, tla.Tensor) else tla.MakeTensor(t).layout
        assert (found.inner if isinstance(found, tla.ComposedLayout) else found) == layout
    tla.print_layout(parse("(_4,_2):(_2,_1)"))
    assert str(parse(capsys.readouterr().out)) == "(_4,_2):(_2,_1)"


def test_names_for_what_is_not_known():
    m, n, ld = tla.dims("M N ld")
    assert str(parse("(?,?{div=16}):(?,1)", symbols=[m, n, ld])) == "(M,N):(ld,_1)"
    layout = parse("(?,?{div=16}):(?{div=16},1)")
    assert (layout.shape[1] % 16, layout.stride[0] % 16, layout.shape[0] % 16 == 0) == (0, 0, False)
    with pytest.raises(ParseError, match="2 symbols for 3 sizes"):
        parse("(?,?{div=16}):(?,1)", symbols=[m, n])


@pytest.mark.parametrize(
    "given",
    [
        "cute::Layout<cute::tuple<cute::C<4>>",
        "cute::Layout<",
        "cute::Vector<int>",
        "Sw<3,4,3>_smem_ptr[24b](0x0) o (_8):(_1)",
        "Sw<3,1,3>_smem_ptr[64b](0x0) o (_8):(_1)",
        "ptr[16b](0x0) o",
        "(?,?",
        "?{div=0}:1",
        "S<1,2> o 0 o 8:1",
        "tensor<ptr<f16, smem, S<3,4> o 8:1>",
        "cute::Layout<__import__('os'), int>",
        "Layout<" * 500,
        "?" * 50,
        "ArithTuple(((( o 4:1",
        "counting_iter(x) o 8:1",
        "counting_iter(1) o 8:",
        "4:1:",
        "4:1\n2",
        "4:1\nfirst row",
        "tensor(4:1)",
        "tensor(4, data=os)",
        "!fly.tile<[4|8]>",
        "!fly.memref<f32>",
        "4:1E99999999",
        "9999999999999999999999:1E0",
        "32:2 o 5 o [32:1",
        "4:1E0E",
    ],
)
def test_refused(given):
    with pytest.raises(TlaError) as caught:
        parse(given)
    assert caught.value.reason.fix


# ------------------------------------------------------------------------------------------- tables as CuTe prints them


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (np.array([[True, False]]), "  1  0"),
        (np.array([[-3, 100]], np.int8), "   -3  100"),
        (np.array([[0, 65535]], np.uint16), "    065535"),
        (np.array([[-(2**40), 7]]), "-1099511627776    7"),
        (np.array([[1.5, -2]], np.float16), "    1.50   -2.00"),
        (np.array([[1.5, -2]], np.float32), "  1.50e+00 -2.00e+00"),
        (np.array([[1.5, -2]]), "  1.500e+00 -2.000e+00"),
    ],
    ids=lambda x: getattr(x, "dtype", None) and str(x.dtype),
)
def test_elements_are_written_as_cute_does(values, row, capsys):
    """pretty_print of print_tensor.hpp: %3d of bool, %5d of integers, %8.2f of half, %10.2e of float,
    %11.3e of double."""
    tla.print_tensor(values, print_type=False)
    assert capsys.readouterr().out == row + "\n"


@pytest.mark.parametrize(
    ("shape", "lines"),
    [
        ((3,), ["    0", "    1", "    2"]),
        ((2, 3), ["    0    2    4", "    1    3    5"]),
        ((1, 2, 2), ["    0    1", "----------", "    2    3"]),
        ((1, 2, 1, 2), ["    0    1", "==========", "    2    3"]),
        ((1, 1, 2, 2), ["    0", "-----", "    1", "=====", "    2", "-----", "    3"]),
        ((0, 2), []),
        ((2, 2, 0), []),
    ],
)
def test_slices_of_a_tensor_are_apart_by_rules(shape, lines, capsys):
    """print_tensor.hpp: a row for each index of mode 0; between slices of mode 2 a rule of - and of mode 3 one of
    =, 5 a column."""
    tla.print_tensor(tla.make_tensor(0, shape), print_type=False)
    assert capsys.readouterr().out.splitlines() == lines


def test_what_is_not_valid_is_a_dot(capsys):
    tla.print_tensor(
        tla.GetTile(tla.MakeTensor(np.arange(6, dtype=np.int32), tla.MakeLayout((2, 3), (3, 1))), (0, 1), (2, 4)), False
    )
    assert capsys.readouterr().out.splitlines() == ["    1    2    .    .", "    4    5    .    ."]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: tla.print_tensor(tla.make_tensor(0, (1, 1, 1, 1, 1))), tla.RankError, "a tensor of rank 1 to 4"),
        (lambda: tla.print_tensor(tla.make_tensor(0, ())), tla.RankError, "a tensor of rank 1 to 4"),
        (lambda: tla.print_tensor(tla.make_tensor(0, (257, 256))), tla.RangeError, "65,536 elements at most"),
        (lambda: tla.print_tensor(tla.make_tensor(0, (tla.dim("M"), 2))), tla.RangeError, "known sizes"),
        (lambda: tla.print_layout(parse("4:1")), tla.RankError, "a layout of rank 2"),
        (lambda: tla.print_layout(parse("(2,2,2):(1,2,4)")), tla.RankError, "a layout of rank 2"),
        (lambda: tla.print_layout(parse("(257,256):(1,257)")), tla.RangeError, "65,536 cells at most"),
        (lambda: tla.print_layout(tla.MakeLayout((tla.dim("M"), 2))), tla.RangeError, "known sizes"),
        (lambda: tla.print_layout(tla.MakeLayout((2, tla.dim("M")))), tla.RangeError, "known sizes"),
    ],
)
def test_tables_that_are_none_are_refused(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_the_widest_table_and_cells_of_one_width(capsys):
    tla.print_layout(parse("(256,256):(1,256)"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 2 * 256 + 1
    assert lines[-2] == "255  " + "".join(f"| {255 + 256 * j:>5} " for j in range(256)) + "|"
    tla.print_layout(parse("(1,2):(7,-9)"))
    assert capsys.readouterr().out.splitlines()[3].split("|")[1:-1] == ["  0 ", " -9 "]
    tla.print_layout(parse("(1,2):(1@0,10@1)"))
    assert capsys.readouterr().out.splitlines()[3] == " 0  |  (0,0) | (0,10) |"


def test_a_table_has_no_row_of_words():
    table = "(2,2):(1,2)\n      0   1\n    +---+---+\n 0  | 0 | 2 |\n    +---+---+\n 1  | 1 | 3 |\n    +---+---+"
    assert str(parse(table)) == "(2,2):(1,2)"
    with pytest.raises(ParseError):
        parse(table + "\nand words")
