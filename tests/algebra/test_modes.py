import pytest

import tla
from tla import (
    Int,
    RankError,
    TlaError,
    _,
    append,
    dice,
    group,
    parse,
    prepend,
    replace,
    select,
    slice_,
    slice_and_offset,
    take,
)
from tla.algebra.modes import reverse


def test_modes_that_stay_keep_their_origin_shape():
    layout = parse("((_2,_4),5,6):((_1,_2),8,40)", origin_shape=(7, 4, 6))
    assert select[2, 0](layout).origin_shape == (6, 7)
    assert take[1, 3](layout).origin_shape == (4, 6)
    assert take[1, -1](layout).origin_shape == (4, 6)
    assert append(layout, parse("3:240")).origin_shape == (7, 4, 6, 3)
    assert prepend[4](layout).origin_shape == (1, 7, 4, 6)
    assert replace[1](layout, parse("9:1")).origin_shape == (7, 9, 6)
    assert group[1, 3](layout).origin_shape is None  # 4 of 5 times 6: no beginning of the 30
    assert slice_((_, 0, _), layout).origin_shape == (7, 6)
    assert slice_(_, layout) is layout
    assert slice_(((_, 1), 0, 0), layout).origin_shape == (2,)  # indices 2 and 3 of the mode, of which 7 are valid
    assert slice_(((_, 3), 0, 0), layout).origin_shape == (1,)  # indices 6 and 7
    assert slice_(((1, _), 0, 0), layout).origin_shape == (3,)  # indices 1, 3, 5 and 7
    assert slice_((6, _, 0), layout).origin_shape == (4,)
    assert slice_((7, _, 0), layout).origin_shape is None  # all of it is padding


def test_a_slice_and_its_offset_are_the_layout():
    layout = parse("((2,3),(4,5)):((1,50),(2,9))")
    rest, offset = slice_and_offset((3, _), layout)
    assert [offset + rest(i) for i in range(20)] == [layout(3, i) for i in range(20)]
    rest, offset = slice_and_offset(((1, _), (_, 2)), layout)
    for i in range(3):
        for j in range(4):
            assert offset + rest(i, j) == layout((1, i), (j, 2))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: group[0, 4](x),
        lambda x: group[2, 1](x),
        lambda x: take[0, 9](x),
        lambda x: select[3](x),
        lambda x: replace[3](x, 4),
        lambda x: append[2](x),
        lambda x: slice_((_, 0), x),
        lambda x: dice(((_, 0), 0, 0), x),
        lambda x: slice_and_offset((_, 0), x),
    ],
)
def test_what_is_not_there(f):
    for x in (parse("(2,3,4):(1,2,6)"), (2, 3, 4)):
        with pytest.raises(tla.TlaError):
            f(x)


def test_placeholders():
    assert repr(_) == "_"
    assert str(slice_((_, 1), (Int[4](), 5))) == "(_4)"
    with pytest.raises(RankError):
        select[0, 5]((1, 2))


def test_modes_of_coordinates_with_open_ones():
    """As `select<1,2,3>(mma_coord_vmnk)` and `replace<Mode>(coord, _)` of CuTe's kernels for Blackwell."""
    assert select[1, 2, 3]((0, 1, 2, _)) == (1, 2, _)
    assert take[0, 2]((1, _, 3)) == (1, _)
    assert replace[1]((0, 1), _) == (0, _)
    assert group[0, 2]((0, _, 1)) == ((0, _), 1)
    assert (append((0, 1), _), prepend((0, 1), _), reverse((0, (_, 1)))) == ((0, 1, _), (_, 0, 1), ((_, 1), 0))
    with pytest.raises(TlaError, match="is of type str"):
        select[0](("x", _))


def test_coordinates_of_an_offset_are_methods_too():
    layout = parse("(_4,(_2,_3)):(_6,(_3,_1))")
    assert (layout.get_hier_coord(17), layout.get_flat_coord(17), layout.get_1d_coord(17)) == ((2, (1, 2)), (2, 5), 22)
    assert parse("_4:_6").get_flat_coord(6) == 1
