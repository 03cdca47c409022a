"""Coalescing mode by mode: whatever stands for a mode in a profile."""

import itertools

import pytest

import tla
from tla import RankError, _, coalesce, parse

import oracle
from corpus import made, small


@pytest.mark.parametrize("mark", [None, _, slice(None), 1, 7], ids=str)
def test_what_stands_for_a_mode(mark):
    """Two modes of two integers: the same offsets mode by mode, and what each mode by itself coalesces to."""
    pairs = [*small(ranks=(2,))][::11]
    for (s, d), (t, e) in itertools.product(pairs, repeat=2):
        found = coalesce(made(((s, t), (d, e))), (mark, mark))
        assert str(found) == str(tla.make_layout(coalesce(made((s, d))), coalesce(made((t, e)))))
        for offsets, mode in ((oracle.offsets(s, d), found[0]), (oracle.offsets(t, e), found[1])):
            assert offsets == oracle.offsets(oracle.plain(mode.shape), oracle.plain(mode.stride))


def test_profiles_that_are_nested_or_shorter():
    a = parse("((_2,_2),((_2,_2),_3)):((_1,_2),((_4,_8),_16))")
    assert str(coalesce(a, (None,))) == "(_4,((_2,_2),_3)):(_1,((_4,_8),_16))"
    assert str(coalesce(a, (None, (None, _)))) == "(_4,(_4,_3)):(_1,(_4,_16))"
    assert str(tla.filter(parse("((_4,_8),_3):((_0,_1),_8)"), (None, None))) == "(_8,_3):(_1,_8)"
    with pytest.raises(RankError):
        coalesce(a, (None, None, None))
