"""Programs with one of their statements changed, those inside of others too."""

import dataclasses
import itertools

from tla.ascend.programs import Part
from tla.ascend.transfers.steps import Loop, When
from tla.core.errors import TlaError


def changed(body, at, change):
    """A body with its statement number `at`, of all in it, changed by `change`: to nothing, or to others."""
    out, count = [], itertools.count()

    def go(statements):
        found = []
        for s in statements:
            if next(count) == at:
                found += change(s)
                continue
            if isinstance(s, (Loop, When, Part)):
                parts = {name: tuple(go(getattr(s, name))) for name in ("body", "otherwise") if hasattr(s, name)}
                s = s._replace(**parts)
            found.append(s)
        return found

    out = go(body)
    return tuple(out)


def flat(body):
    for s in body:
        yield s
        for name in ("body", "otherwise"):
            yield from flat(getattr(s, name, ()))


def broken_block(b, body):
    wrong = dataclasses.replace(b)
    wrong.__dict__["_written"] = dataclasses.replace(b.program, body=body), b.conditions
    return wrong


def found(b):
    try:
        return not b.check().holds
    except (TlaError, KeyError):
        return True
