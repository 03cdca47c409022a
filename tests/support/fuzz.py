"""Texts that real systems wrote, broken at random: each is read or refused by a ParseError, and what is
read prints back.

`python tests/support/fuzz.py CASES` breaks so many; tests/notation/test_fuzz.py some thousands in every run.
"""

import random
import sys

import tla
from tla import ParseError, TlaError, xla

from truth import DATA, rows

TOKENS = [
    *'[](){}<>,:*#?="\\/%~@ \t\0é',
    "T(",
    "L(",
    "E(",
    "S(",
    "M(",
    "SC(",
    "D(C)",
    "/*",
    "*/",
    "<=",
    "--",
    "0",
    "-1",
    "128",
]
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
#: Each grammar: its reader, how it refuses, and texts that it reads.
GRAMMARS = {
    "shape": (
        xla.parse_shape,
        ParseError,
        [case["spec"] for case in rows("xla/index.json")] + (DATA / "hlo" / "shapes.txt").read_text().splitlines(),
    ),
    "instruction": (xla.parse_instruction, ParseError, [line for line in PROGRAMS if len(line) < 500]),
    "sharding": (xla.parse_sharding, ParseError, [case["annotation"] for case in rows("xla/sharding.json")]),
    "layout": (
        tla.parse,
        TlaError,
        ["((_2,4),8):((1,_16),2)", "Sw<3,4,3> o _0 o (8,_3):(24,_1)", "(4,(6,2)):(1@0,(2@1@0,1@1))", "(_4,-5,0)"],
    ),
}


def broken(text, rng):
    """The text with one to four places cut, doubled, or written over."""
    for _ in range(rng.randint(1, 4)):
        a = rng.randrange(len(text) + 1)
        b = min(len(text), a + rng.choice((0, 1, 2, 8, 60)))
        middle = rng.choice(
            (
                "",
                text[a:b] * 2,
                text[a:b] * 300,
                rng.choice(TOKENS),
                text[a:b] + rng.choice(TOKENS),
                chr(rng.randrange(1, 768)),
            )
        )
        text = text[:a] + middle + text[b:]
    return text


def fuzz(name, cases, seed):
    """Break so many texts of one grammar: how many were read, and how many refused."""
    read, refusal, texts = GRAMMARS[name]
    counts = [0, 0]
    for n in range(cases):
        rng = random.Random(f"{seed} {n}")
        text = broken(rng.choice(texts), rng)
        try:
            value = read(text)
            assert read(str(value)) == value, value
            counts[0] += 1
        except refusal as error:
            assert error.reason.fix, text
            counts[1] += 1
        except Exception as error:
            raise AssertionError(f"{name} (seed {seed}, case {n}): {text!r}") from error
    return counts


if __name__ == "__main__":
    for grammar in GRAMMARS:
        print(grammar, *fuzz(grammar, int(sys.argv[1]), random.randrange(2**32)))
