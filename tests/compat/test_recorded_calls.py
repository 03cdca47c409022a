"""Calls of the algebra that the suites of pycute, torch and tensor-layouts make: plain integers inside of
`with static()` are static ones.

Data: tests/data/peer_calls.json, the name of an operation and its arguments, a layout as its shape and strides.
"""

import json
from collections import Counter
from pathlib import Path

import tla
from tla import Int, TlaError, make_layout, static

CALLS = json.loads((Path(__file__).parents[1] / "data" / "peer_calls.json").read_text())


def built(x, number):
    """An argument, its integers made by a function."""
    if isinstance(x, dict):
        return make_layout(*(built(part, number) for part in x["layout"]))
    if isinstance(x, list):
        return tuple(built(part, number) for part in x)
    return x if x is None else number(x)


def answer(name, arguments):
    try:
        return repr(getattr(tla, name)(*arguments))
    except TlaError as error:
        return type(error), str(error)


def test_plain_integers_in_a_block_are_static_ones():
    answers = Counter()
    for name, *arguments in CALLS:
        wanted = answer(name, [built(x, lambda n: Int[n]()) for x in arguments])
        with static():
            found = answer(name, [built(x, int) for x in arguments])
        assert found == wanted, (name, arguments)
        assert answer(name, [static(built(x, int)) for x in arguments]) == wanted, (name, arguments)
        answers[type(wanted)] += 1
    assert len(CALLS) == 515
    assert answers[str] > 450
