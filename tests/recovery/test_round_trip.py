"""What every target of `emit` writes is read back by `layout_of`: random layouts of kernels, with their offsets by
definition."""

import math
import random
import time

import pytest

from tla import ComposedLayout, Layout, Swizzle, TlaError, at, dims, layout_of, offsets, static
from tla.codegen import TARGETS, emit

import read_back
from night import NIGHT, amount

#: Languages of targets whose names are none.
LANGUAGES = {"affine": "mlir"}
NAMES = ("K", "N", "M", "ld")


def layout_of_made(made, names):
    """The layout of plain data."""

    def size(x):
        if isinstance(x, tuple):
            return tuple(map(size, x))
        return math.prod(names.get(p) or int(p) for p in x.split("*")) if isinstance(x, str) else x

    layout = Layout(size(made.shape), size(made.stride))
    for bits, base, shift, offset in reversed(made.swizzles):
        layout = ComposedLayout(Swizzle[bits, base, shift](), size(offset), layout)
    return static(layout), tuple(math.prod(read_back.leaves(size(mode))) for mode in made.shape)


def cannot_write(target, text):
    """Whether a target has no words for a layout: affine maps no xor and no quotient by a name, pallas no
    integers of 64 bits."""
    return {"affine": "the operation ^" in text or "no number" in text, "pallas": "in int32" in text}.get(target, False)


@pytest.mark.once
@pytest.mark.parametrize("seed", range(4))
def test_every_target_is_read_back(seed):
    rng, times, refused = random.Random(seed), [], 0
    for count in range(amount(8, 2500)):
        made = read_back.made(rng)
        names = dict(zip(NAMES, dims(" ".join(NAMES), at_most=12) if count % 2 else dims(" ".join(NAMES))))
        layout, shape = layout_of_made(made, names)
        wanted = [(sizes, read_back.table(made, sizes)) for sizes in ({}, *some_sizes(made))[bool(made.sizes) :]]
        for target in TARGETS:
            try:
                text = emit(layout, target)
            except TlaError as error:
                assert cannot_write(target, str(error)), (target, str(layout))
                refused += 1
                continue
            start = time.process_time()
            found = layout_of(
                text, shape=shape, language=LANGUAGES.get(target, target), values=names if made.sizes else {}
            )
            times.append(time.process_time() - start)
            for sizes, table in wanted:
                assert (offsets(at(found, sizes)).reshape(table.shape, order="F") == table).all(), (
                    target,
                    str(layout),
                    str(found),
                )
    assert refused < len(times) / 8
    if NIGHT:  # by day a machine does other things too; docs/recovery.md has the numbers
        assert sorted(times)[len(times) // 2] < 0.005
        assert max(times) < 1


def some_sizes(made):
    """Some numbers for the names of a layout."""
    given = dict(made.sizes)
    return [given, {name: n % 3 + 1 for name, n in given.items()}] if given else []
