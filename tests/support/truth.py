"""Rows of truth files, read and compared."""

from __future__ import annotations

import functools
import json
import re

import tla
from tla import ascend

from places import DATA


@functools.cache
def document(name):
    """A file, read once: its rows are not changed."""
    return json.loads((DATA / name).read_text())


def rows(name, key="cases"):
    return document(name)[key]


def text(x):
    """A value in the notation of the truth files."""
    if isinstance(x, bool):
        return str(x).lower()
    return f"({','.join(map(text, x))})" if isinstance(x, tuple) else str(x)


def element(row):
    """The element type of a row of the TLA headers; 16 bits where it names none."""
    return getattr(ascend, row["element"]) if "element" in row else 16


def agrees(mine, truth):
    """Equal, and static at least where the truth is."""
    truth = re.sub("_(?=true|false)", "", truth)  # tla has no static booleans
    ours, theirs = (re.findall(r"_?-?[0-9]+|[^0-9]", t) for t in (mine, truth))
    return len(ours) == len(theirs) and all(a in (b, f"_{b}") for a, b in zip(ours, theirs))


def answer(f, *arguments):
    """What f answers as text; a refusal as its exception's name."""
    try:
        return text(f(*arguments))
    except tla.TlaError as error:
        return type(error).__name__
