"""What is known of where a buffer begins: arrays stand for allocations, views begin where they do in them, alignment=
says it else."""

import array
import pickle

import numpy as np
import pytest

from tla import LeafTypeError, MakeTensor, RangeError, _, fill, local_tile, parse, recast, zipped_divide


def address_of(t):
    return t.memory.address(t.data)


WHOLE = np.zeros((32, 40), np.float16)
BYTES = bytes(256)

#: a buffer, and the bytes from the start of its allocation on
BEGINS = [
    (WHOLE, 0),
    (WHOLE.T, 0),
    (WHOLE.ravel()[3:], 6),
    (WHOLE[5], 5 * 80),
    (WHOLE[5:, 1:], 5 * 80 + 2),
    (WHOLE[:, ::-1], 0),
    (WHOLE[30:].reshape(-1)[8:].view(np.float32), (30 * 80 + 16) % 1024),
    (WHOLE.copy()[0], 0),
    (np.frombuffer(BYTES, np.float16), 0),
    (np.frombuffer(BYTES, np.float16, offset=6), 6),
    (memoryview(bytearray(64))[4:], 4),
    (np.frombuffer(array.array("f", [0] * 8), np.float32)[1:], 4),
]


@pytest.mark.parametrize(("buffer", "begin"), BEGINS, ids=range(len(BEGINS)))
def test_a_view_begins_where_it_does_in_its_allocation(buffer, begin):
    t = MakeTensor(buffer) if isinstance(buffer, np.ndarray) else MakeTensor(buffer, parse("_8:_1"))
    assert address_of(t) == (begin, 1024)
    assert t.alignment is None


def test_an_alignment_that_is_given_goes_with_every_view():
    whole = MakeTensor(WHOLE.ravel()[1:], parse("(_16,_16):(_16,_1)"), position="gmem", alignment=32)
    assert repr(whole).endswith("position='gmem', alignment=32)")
    views = [
        whole[2, _],
        local_tile(whole, (8, 8), (1, 1)),
        zipped_divide(whole, (4, 4)),
        zipped_divide(whole, (5, 4)),
        recast[np.int16](whole),
    ]
    for t in (whole, *views, pickle.loads(pickle.dumps(whole))):
        assert (address_of(t), t.position) == ((0, 32), "gmem")
    fill(whole, 1)
    assert address_of(MakeTensor(None, parse("_8:_1"))) == (0, 1024)
    assert address_of(MakeTensor(None, parse("_8:_1"), alignment=8)) == (0, 8)


@pytest.mark.parametrize(
    ("given", "error"),
    [(12, RangeError), (0, RangeError), (-16, RangeError), ("a", LeafTypeError), (1.5, LeafTypeError)],
)
def test_an_alignment_is_a_power_of_two(given, error):
    with pytest.raises(error, match="write alignment=16"):
        MakeTensor(WHOLE, alignment=given)
