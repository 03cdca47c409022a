"""Texts that real systems wrote, broken at random: each is read or refused by a ParseError, and what is read prints back.

`python tests/fuzz.py SECONDS` goes on for so long; tests/test_fuzz.py does it for some seconds in every run.
"""

import itertools
import random
import sys
import time

import tla
from tla import ParseError, TlaError, xla

from truth import DATA, rows

TOKENS = [*'[](){}<>,:*#?="\\/%~@ \t\0é', "T(", "L(", "E(", "S(", "M(", "SC(", "D(C)", "/*", "*/", "<=", "--", "0", "-1", "128"]
TOKENS += [
    "9223372036854775807",
    "9223372036854775808",
    "f32",
    "s4",
    "pred",
    "token[]",
    "b(",
    "devices=",
    "last_tile_dim_replicate",
    "o",
    "_",
]

PROGRAMS = [line for path in (DATA / "hlo").glob("*__*.txt") for line in path.read_text().split("\n") if " = " in line]
#: Each grammar: its reader, and texts that it reads.
GRAMMARS = {
    "shape": (xla.parse_shape, [case["spec"] for case in rows("xla/index.json")] + (DATA / "hlo" / "shapes.txt").read_text().splitlines()),
    "instruction": (xla.parse_instruction, [line for line in PROGRAMS if len(line) < 500]),
    "sharding": (xla.parse_sharding, [case["annotation"] for case in rows("xla/sharding.json")]),
    "layout": (tla.parse, ["((_2,4),8):((1,_16),2)", "Sw<3,4,3> o _0 o (8,_3):(24,_1)", "(4,(6,2)):(1@0,(2@1@0,1@1))", "(_4,-5,0)"]),
}


def broken(text, rng):
    """The text with one to four cuts, doublings, swaps or insertions."""
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randrange(len(text) + 1) for _end in range(2))
        b = min(b, a + rng.choice((1, 2, 8, 60)))
        text = rng.choice((
            lambda t: t[:a] + t[b:],
            lambda t: t[:b] + t[a:b] * rng.choice((1, 1, 2, 300)) + t[b:],
            lambda t: t[:a] + rng.choice(TOKENS) + t[a:],
            lambda t: t[:a] + rng.choice(TOKENS) + t[b:],
            lambda t: t[:a] + chr(rng.randrange(1, 0x300)) + t[b:],
        ))(text)  # fmt: skip
    return text


def fuzz(name, seconds, seed):
    """Break texts of one grammar for so many seconds: how many were read, and how many refused."""
    read, texts = GRAMMARS[name]
    counts = [0, 0]
    for n in itertools.count():
        if n % 100 == 0 and n and time.monotonic() > start + seconds:
            return counts
        if n == 0:
            start = time.monotonic()
        rng = random.Random(f"{seed} {n}")
        text = broken(rng.choice(texts), rng)
        try:
            value = read(text)
        except ParseError if name != "layout" else TlaError as error:
            assert error.reason.mend, text
            counts[1] += 1
            continue
        except Exception as error:
            raise AssertionError(f"{name} (seed {seed}, case {n}): {text!r}") from error
        assert read(str(value)) == value, f"{name} (seed {seed}, case {n}): {text!r} prints as {value!s}"
        counts[0] += 1


if __name__ == "__main__":
    for grammar in GRAMMARS:
        print(grammar, *fuzz(grammar, float(sys.argv[1]) / len(GRAMMARS), random.randrange(2**32)))
