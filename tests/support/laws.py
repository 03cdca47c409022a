"""What the operations promise, checked by the oracle over whole domains. A layout is a pair (shape, stride)
of plain ints here."""

import functools
import itertools

import tla

import oracle


def plain(x):
    """A layout as a pair, an IntTuple as plain tuples and ints."""
    if isinstance(x, tla.Layout):
        return plain(x.shape), plain(x.stride)
    return oracle.plain(x)


@functools.lru_cache(4096)
def function(layout):
    """Every offset, in the order of the index."""
    return oracle.offsets(*layout)


def coalesces(a, r):
    """The same function of every integer, past the size too where the last mode is kept; flat; no
    neighbours that merge."""
    (a_shape, _), (shape, stride) = a, r
    assert oracle.size(shape) == oracle.size(a_shape)
    assert function(r) == function(a)
    assert all(isinstance(s, int) for s in (shape if isinstance(shape, tuple) else ()))
    modes = list(zip(oracle.leaves(shape), oracle.leaves(stride)))
    assert not any(s * d == e for (s, d), (_, e) in itertools.pairwise(modes))


def composes(a, b, r):
    """r(c) == a(b(c)) for every coordinate of b, and b's shape is compatible with r's: then the order of
    their indices is one."""
    assert tla.compatible(b[0], r[0]) is True
    assert function(r) == [oracle.offset(x, *a) for x in function(b)]


def complements(a, r, n):
    """No offset twice in (a, r); r ordered; if a's strides divide each other, [0, n) is covered, by no more
    than that takes."""
    modes = sorted((d, s) for s, d in zip(oracle.leaves(a[0]), oracle.leaves(a[1])) if d != 0 and s != 1)
    inside = sum_of(modes)
    image = function(r)
    both = [x + y for y in image for x in inside]
    assert len(set(both)) == len(both)
    strides = [d for s, d in zip(oracle.leaves(r[0]), oracle.leaves(r[1])) if s != 1]
    assert strides == sorted(strides)
    if nested(a):
        assert set(range(n)) <= set(both)
        (last, step), *_rest = [(s, d) for s, d in zip(oracle.leaves(r[0]), oracle.leaves(r[1]))][::-1]
        fewer = {x + y for y in image if y < (last - 1) * step for x in inside}
        assert not set(range(n)) <= fewer or n <= max(inside)


def nested(a):
    """Whether each stride of a, from the smallest on, is a multiple of the reach of those before."""
    modes = sorted((d, s) for s, d in zip(oracle.leaves(a[0]), oracle.leaves(a[1])) if d != 0 and s != 1)
    return all(e % (d * s) == 0 for (d, s), (e, _) in itertools.pairwise(modes))


def sum_of(modes):
    out = [0]
    for d, s in modes:
        out = [x + i * d for i in range(s) for x in out]
    return out


def divides(a, b, r):
    """Mode 0 is a o b; every offset of a is there with mode 1, once if no tile overhangs."""
    composes(a, b, (r[0][0], r[1][0]))
    assert set(function(a)) <= set(function(r))
    if oracle.size(r[0]) == oracle.size(a[0]):
        assert sorted(function(r)) == sorted(function(a))


def multiplies(a, b, r):
    """Mode 0 is a; mode 1 is b, spread over copies of a that do not overlap."""
    assert (r[0][0], r[1][0]) == a
    assert tla.compatible(b[0], r[0][1]) is True
    if len(set(function(a))) == oracle.size(a[0]) and len(set(function(b))) == oracle.size(b[0]):
        assert len(set(function(r))) == oracle.size(r[0])
