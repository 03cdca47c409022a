"""The definitions, slowly. Imports nothing from tla."""

from __future__ import annotations

import itertools
import math

import numpy as np


def size(shape):
    return shape if isinstance(shape, int) else math.prod(map(size, shape))


def offsets(shape, stride):
    """Offsets of all coordinates, first mode fastest."""
    if isinstance(shape, int):
        return [i * stride for i in range(shape)]
    out = [0]
    for s, d in zip(shape, stride):
        out = [hi + lo for hi in offsets(s, d) for lo in out]
    return out


def coordinates(shape):
    """All natural coordinates, first mode fastest."""
    if isinstance(shape, int):
        return list(range(shape))
    return [c[::-1] for c in itertools.product(*(coordinates(s) for s in reversed(shape)))]


def inner_product(coord, stride):
    return coord * stride if isinstance(coord, int) else sum(map(inner_product, coord, stride))


def compact(shape, last_fastest=False):
    """Strides without gaps by the definition: the product of all extents that are faster. Extents of 1 get 0."""
    flat = list(leaves(shape))
    faster = [flat[k + 1 :] if last_fastest else flat[:k] for k in range(len(flat))]
    strides = iter([math.prod(f) if n != 1 else 0 for f, n in zip(faster, flat)])
    return nest(shape, strides)


def leaves(x):
    if isinstance(x, tuple):
        for m in x:
            yield from leaves(m)
    else:
        yield x


def plain(x):
    """An IntTuple of integers of any kind as tuples and ints."""
    return tuple(map(plain, x)) if isinstance(x, tuple) else int(x)


def nest(profile, values):
    """Values in the nesting of a profile."""
    return tuple(nest(p, values) for p in profile) if isinstance(profile, tuple) else next(values)


def xla_offsets(dims, minor_to_major, tiles):
    """The offset of every element: number the padded array's slots, and undo pad, reshape and transpose. -1 pads."""
    elements = np.arange(math.prod(dims)).reshape(dims)
    memory = elements.transpose(tuple(reversed(minor_to_major)))
    for tile in tiles:
        memory = _tile(memory, tile)
    out = np.full(math.prod(dims), -1)
    flat = memory.ravel()
    out[flat[flat >= 0]] = np.flatnonzero(flat >= 0)
    return out.reshape(dims)


def _tile(a, tile):
    a = a.reshape((1,) * (len(tile) - a.ndim) + a.shape)
    k = len(tile)
    head, tail = a.shape[: a.ndim - k], list(a.shape[a.ndim - k :])
    sizes, dims = [], []
    while tile:  # `*` merges a dimension with the next
        t, n, tile = tile[0], tail.pop(0), tile[1:]
        while t == "*":
            t, n, tile = tile[0], n * tail.pop(0), tile[1:]
        sizes.append(t)
        dims.append(n)
    a = a.reshape(*head, *dims)
    a = np.pad(a, [(0, 0)] * len(head) + [(0, -n % t) for n, t in zip(dims, sizes)], constant_values=-1)
    a = a.reshape(*head, *itertools.chain.from_iterable((-(-n // t), t) for n, t in zip(dims, sizes)))
    h, m = len(head), len(sizes)
    return a.transpose(*range(h), *(h + 2 * i for i in range(m)), *(h + 2 * i + 1 for i in range(m)))


def offset(coord, shape, stride):
    """The offset of a coordinate, or of arrays of them, nested no deeper than the shape; the last mode has no bound."""
    if isinstance(coord, tuple):
        return sum(offset(c, s, d) for c, s, d in zip(coord, shape, stride))
    if not isinstance(shape, tuple):
        return coord * stride
    total = 0
    for k, (s, d) in enumerate(zip(shape, stride)):
        last = k == len(shape) - 1
        total += offset(coord if last else coord % size(s), s, d)
        coord = coord // size(s)
    return total


def fractal_offsets(rows, cols, block, letters):
    """Offsets of a matrix in blocks, padded to whole ones: number the slots of memory as the letters walk through it.

    letters   inside a block, then between blocks: z, Z row by row; n, N column by column
    """
    (b_rows, b_cols), (inside, between) = block, letters
    n_rows, n_cols = -(-rows // b_rows), -(-cols // b_cols)
    elements = np.arange(n_rows * b_rows * n_cols * b_cols).reshape(n_rows, b_rows, n_cols, b_cols)
    walk = {"Z": (0, 2), "N": (2, 0), "z": (1, 3), "n": (3, 1)}
    memory = elements.transpose(*walk[between], *walk[inside]).ravel()
    out = np.empty(memory.size, int)
    out[memory] = np.arange(memory.size)
    return out.reshape(n_rows * b_rows, n_cols * b_cols)


# ---------------------------------------------------------------------------------- whole kernel-sized layouts


def image(shape, stride):
    """Offsets of all coordinates as an array, first mode fastest."""
    out = np.zeros(1, np.int64)
    for s, d in zip(leaves(shape), leaves(stride)):
        out = (np.arange(s, dtype=np.int64)[:, None] * d + out).ravel()
    return out


def at(places, shape, stride):
    """The offsets at an array of places, integers: the last mode has no bound."""
    modes = list(zip(leaves(shape), leaves(stride)))
    total = 0
    for s, d in modes[:-1]:
        total, places = total + places % s * d, places // s
    return total + places * modes[-1][1]


def largest_inverse(*images):
    """The size of the largest layout R with i == image[R(i)] for every image, which have one length: by every choice of
    digits, where a digit goes as far as it can or stops before."""
    first, *others = images
    same = np.flatnonzero(np.logical_and.reduce([first == x for x in others] + [first >= 0]))
    values = first[same]
    order = np.argsort(values, kind="stable")
    values, same = values[order], same[order]
    if len(np.unique(values)) == len(values):
        gaps = np.flatnonzero(values != np.arange(len(values)))
        return _digits_of(same[: gaps[0] if len(gaps) else len(values)])
    return _largest_choice(values, same)


def _digits_of(place):
    """The longest start of the function i -> place[i] that is a layout: its digits are known from its steps."""
    p = 1
    while len(place) > p:
        heads = place[::p]
        steps = np.flatnonzero(heads != np.arange(len(heads)) * place[p])
        most = int(steps[0]) if len(steps) else len(heads)
        blocks = place[: len(place) // p * p].reshape(-1, p)[:most]
        wrong = np.flatnonzero((blocks != blocks[0] + np.arange(len(blocks))[:, None] * place[p]).any(axis=1))
        n = int(wrong[0]) if len(wrong) else len(blocks)
        if n < most or n == 1 or not len(steps):
            return p * n
        p *= n
    return p


def _largest_choice(values, places):
    at_value = {}
    for v, x in zip(values.tolist(), places.tolist()):
        at_value.setdefault(v, set()).add(x)
    most = next(n for n in itertools.count() if n not in at_value)
    best, tries = 1, 200_000

    def grow(found):
        nonlocal best, tries
        n = len(found)
        best = max(best, n)
        for step in at_value.get(n, ()):
            wider = list(found)
            for c in itertools.count(1):
                tries -= 1
                if tries < 0:
                    raise OverflowError("too many choices to go through")
                if best >= most or any(x + c * step not in at_value.get(c * n + i, ()) for i, x in enumerate(found)):
                    break
                wider += [x + c * step for x in found]
                grow(wider)

    if 0 in at_value.get(0, ()):
        grow([0])
    return best
