"""Conversions beside those of Triton 3.9: cycles of the pipe that serves shared memory and shuffles, for all warps.

Triton's ways are those of `tla.ttgir.conversions`; tests/ttgir/test_costs.py compares that with what Triton's compiler
made of the 400 here.
"""

import gzip
import itertools
import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from tla.access import convert
from tla.core.element import Width
from tla.linear.triton import from_text
from tla.ttgir.conversions import conversion
from tla.ttgir.machines import machine

from conversions import USUAL, usual
from night import NIGHT, amount

ROOT = Path(__file__).parents[2]


def compiled():
    """The 400 random pairs that Triton 3.9 compiled."""
    for row in json.loads(gzip.decompress((ROOT / "tests/data/ttgir/conversions.json.gz").read_bytes())):
        yield *(from_text(row[side]).linear([row["m"], row["n"]]) for side in "ab"), int(row["kind"][1:]), row["target"]


def usual_pairs():
    """Each of the usual layouts to each other, of 8, 16 and 32 bits, for sm_80 and sm_90."""
    for src, dst in itertools.permutations(USUAL.values(), 2):
        for width, arch in itertools.product((8, 16, 32), (80, 90)):
            yield src.linear([64, 64]), dst.linear([64, 64]), width, arch


def random_pairs():
    """Blocks, accumulators and operands of tiles of 16 by 16 to 64 by 64, in one to four warps."""
    rng = random.Random(3)
    for _ in range(1000):
        yield *usual(rng), rng.choice([8, 16, 32, 64]), rng.choice([80, 90])


SETS = {
    "400 random, compiled by Triton": compiled,
    "all pairs of nine usual layouts": usual_pairs,
    "1,000 random": random_pairs,
}


def compared(src, dst, width, arch):
    """Cycles of the plan and of Triton's way, and that way."""
    plan, there = (
        convert(src, dst, width, f"sm_{arch}"),
        conversion(src, dst, Width(width, "given"), machine(f"cuda:{arch}")),
    )
    warps = src.get_in_dim_size("warp")
    memory = sum(part.access.total for part in (there.write, there.read) if part is not None)
    return plan.shuffles * warps + plan.wavefronts, there.shuffles * warps + memory, there


def row_of(name, cases):
    """A row of the table in docs/access.md; nothing is dearer than Triton's way."""
    found, moved, ours, theirs = Counter(), 0, 0, 0
    for case in cases:
        here, beside, there = compared(*case)
        assert here <= beside, (case, here, beside, there)
        found["cheaper" if here < beside else "equal"] += 1
        moved += there.kind in ("shuffles", "shared memory")
        ours, theirs = ours + here, theirs + beside
    counts = [sum(found.values()), moved, found["cheaper"], found["equal"], ours, theirs]
    return f"| {name} | {' | '.join(f'{n:,}' for n in counts)} |"


@pytest.mark.parametrize(("name", "step"), [*zip(SETS, (60, 60, 120))])
def test_nothing_is_dearer_than_tritons(name, step):
    """A part of each set by day, at night all; the table in docs is what was found."""
    row = row_of(name, itertools.islice(SETS[name](), 0, None, amount(step, 1)))
    if NIGHT:
        page = (ROOT / "docs/access.md").read_text(encoding="utf-8")
        assert row in re.findall(r"^\| .*\|$", page, re.M), row
