"""Random layouts of kernels as plain data, with their offsets by definition; nothing is imported from tla."""

import itertools
import math
from typing import NamedTuple

import numpy as np

EXTENTS = (2, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 16, 16, 32, 64, 128)


class Made(NamedTuple):
    """A layout: nested extents and strides, and swizzles (bits, base, shift, offset in front of what it takes), the
    outermost first.

    A size is an integer, or a name. `sizes` are some numbers of the names.
    """

    kind: str
    shape: tuple
    stride: tuple
    swizzles: tuple = ()
    sizes: tuple = ()


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [x]


def number(x, sizes):
    """The number of a size: of a product of numbers and names, as 8*K."""
    return math.prod(sizes[p] if p in sizes else int(p) for p in x.split("*")) if isinstance(x, str) else x


def extents(made, sizes):
    """The extent of each coordinate."""
    return tuple(math.prod(number(n, sizes) for n in leaves(mode)) for mode in made.shape)


def swizzled(values, bits, base, shift):
    """CuTe's swizzle: `bits` bits of each value, from `base + max(shift, 0)` on, xored into those `shift` below."""
    read = values & ((1 << bits) - 1 << base + max(shift, 0))
    return values ^ (read >> shift if shift > 0 else read << -shift)


def table(made, sizes=None):
    """The offset of every coordinate, with an axis for each."""
    sizes = dict(made.sizes if sizes is None else sizes)
    total = np.zeros(extents(made, sizes), np.int64)
    for axis, (mode, steps) in enumerate(zip(made.shape, made.stride)):
        c, values = np.arange(total.shape[axis]), 0
        for n, d in zip(leaves(mode), leaves(steps)):
            values, c = values + c % number(n, sizes) * number(d, sizes), c // number(n, sizes)
        total += values.reshape((-1,) + (1,) * (total.ndim - axis - 1))
    for bits, base, shift, offset in reversed(made.swizzles):
        total = swizzled(total + number(offset, sizes), bits, base, shift)
    return total


def nested(rng, values, cuts):
    """Values as modes, cut at these places; a mode of three values may be nested once more."""
    groups = [values[a:b] for a, b in itertools.pairwise((0, *cuts, len(values)))]
    modes = [
        g[0] if len(g) == 1 else (g[0], tuple(g[1:])) if len(g) == 3 and rng.random() < 0.5 else tuple(g)
        for g in groups
    ]
    return tuple(modes)


def plain(rng, most, powers=False):
    """Extents and strides of a layout of at most so many elements: a compact one in any order, padded or with strides
    of 0 at times."""
    choices = [n for n in EXTENTS if n & (n - 1) == 0] if powers else EXTENTS
    while True:
        shape = [rng.choice(choices) for _ in range(rng.randint(1, 6))]
        if math.prod(shape) <= most:
            break
    stride, step = [0] * len(shape), rng.choice((1, 1, 1, 2, 8))
    for k in rng.sample(range(len(shape)), len(shape)):
        stride[k] = 0 if rng.random() < 0.05 else step
        step *= shape[k]
        if not powers and rng.random() < 0.15:
            step = step * rng.choice((2, 3)) if rng.random() < 0.5 else step + 8
    cuts = sorted(rng.sample(range(1, len(shape)), min(len(shape) - 1, rng.randint(0, 2))))
    state = rng.getstate()
    extent = nested(rng, shape, cuts)
    rng.setstate(state)
    return extent, nested(rng, stride, cuts), step


def some_swizzle(rng, rows):
    """bits, base and shift of a swizzle of offsets of at most `rows` bits."""
    bits = rng.randint(1, min(3, rows // 2))
    base = rng.randint(0, rows - 2 * bits)
    return bits, base, rng.randint(bits, rows - base - bits) * rng.choice((1, 1, 1, -1))


def with_names(rng):
    """A layout of unknown sizes: tiles of known ones, K and N of them; or rows of a leading dimension; swizzled inside
    a tile at times."""
    tile, steps, size = plain(rng, 1 << 9, powers=True)
    size = 1 << (size - 1).bit_length()
    names = ("K", "N", "M")[: len(tile)]
    step, outer = [str(size)], {}
    rows = rng.random() < 0.3
    for axis in rng.sample(range(len(tile)), len(tile)):
        outer[axis] = "*".join(step)
        step.append("ld" if rows and len(step) == 1 else names[axis])
    shape = tuple((*leaves(n), names[axis]) for axis, n in enumerate(tile))
    stride = tuple((*leaves(d), outer[axis]) for axis, d in enumerate(steps))
    swizzles = ()
    if rng.random() < 0.5 and size >= 4:
        rows_of_bits = size.bit_length() - 1
        swizzles = tuple((*some_swizzle(rng, rows_of_bits), 0) for _ in range(rng.choice((1, 1, 1, 2))))
    if rng.random() < 0.2:
        *others, last = swizzles or ((0, 0, 0, 0),)
        swizzles = (*others, (*last[:3], rng.choice((size, f"{size}*K", size if others else 8))))
    sizes = tuple((n, rng.randint(1, 5)) for n in (*names, "ld"))
    return Made("names", shape, stride, swizzles, sizes)


def made(rng, most=1 << 13):
    """A random layout, of one of five kinds: plain, with one swizzle, with a chain of them, with an offset, with sizes
    that are names."""
    kind = rng.choice(("nested", "swizzled", "chain", "offset", "names"))
    if kind == "names":
        return with_names(rng)
    shape, stride, step = plain(rng, most, powers=kind == "chain" or rng.random() < 0.5)
    given = Made(kind, shape, stride)
    rows = int(table(given).max()).bit_length()
    if kind == "nested" or (rows < 2 and kind != "offset"):
        return given
    swizzles = [(0, 0, 0)] if rows < 2 or (kind == "offset" and rng.random() < 0.4) else [some_swizzle(rng, rows)]
    swizzles += [some_swizzle(rng, rows) for _ in range(rng.randint(1, 2) if kind == "chain" else 0)]
    offset = rng.choice((step, 3, 8, 64, 1024, step + 16)) if kind == "offset" else 0
    return given._replace(swizzles=tuple((*s, o) for s, o in zip(swizzles, [0] * (len(swizzles) - 1) + [offset])))
