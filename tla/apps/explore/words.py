"""The words of the page's language, for completion and reference: operations, atoms, tags, element types.

The page finds a word by what it is called and by what it says: `m16n8k16` finds the instructions of that tile.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from ... import ascend, gpu
from ...access import patterns
from ...core.cache import plain_memo
from ...core.element import Element
from ..terminal import summary
from .operations import OPERATIONS, OTHER_NAMES, constants
from .prints import GLUON


class Word(NamedTuple):
    """A word.

    name    as it is written
    kind    operation, atom, tag, element, access or order
    usage   how it is used: an operation's arguments, an atom's instruction
    what    in one line
    also    what else it is found by
    """

    name: str
    kind: str
    usage: str
    what: str
    also: str = ""


@plain_memo
def words() -> tuple[Word, ...]:
    """All words, operations first.

    >>> next(w for w in words() if w.name == "zipped_divide").usage
    'zipped_divide(layout, tiler)'
    """
    return (*_operations(), *_constants(), *_accesses(), *_atoms())


def _operations() -> Iterator[Word]:
    for name, operation in OPERATIONS.items():
        yield Word(name, "operation", _usage(name, operation), summary(operation).replace("`", ""))
    for name, same in OTHER_NAMES.items():
        yield Word(name, "operation", _usage(name, OPERATIONS[same]), f"As {same}.")
    for name in GLUON:
        yield Word(name, "operation", f"{name}(...)", "A layout of Triton's, as Gluon writes it.")


def _usage(name: str, operation: object) -> str:
    """The call of an operation: its name and arguments, those with a value as name=value."""
    if not callable(operation):
        return f"{name}[...](...)"
    parameters = inspect.signature(operation).parameters.values()
    given = [
        f"{'*' if p.kind is p.VAR_POSITIONAL else ''}{p.name}" + ("" if p.default is p.empty else f"={p.default}")
        for p in parameters
    ]
    brackets = "[...]" if hasattr(type(operation), "__getitem__") else ""
    return f"{name}{brackets}({', '.join(given)})"


def _constants() -> Iterator[Word]:
    for name, x in constants().items():
        if isinstance(x, ascend.Tag):
            yield Word(name, "tag", f"MakeLayout[half, {name}](100, 60)", "A layout of Ascend's.")
        elif isinstance(x, Element):
            yield Word(name, "element", name, f"An element type of {x.bits} bits.")
        else:
            yield Word(name, "order", f"MakeLayout((4,8), {name})", "The order of strides.")


def _accesses() -> Iterator[Word]:
    for p in patterns():
        yield Word(p.name, "access", p.name, f"{p.what}; {p.memory.name}")


def _atoms() -> Iterator[Word]:
    """The atoms, each name once: the 16-bit types first, which most look for."""
    found = {atom.name: atom for atom in reversed(gpu.atoms())}
    for atom in sorted(found.values(), key=lambda x: ("F16" not in x.name, len(x.name), x.name)):
        if isinstance(atom, gpu.MMAAtom):
            m, n, k = map(int, atom.shape_mnk)
            types = " ".join(dict.fromkeys(str(getattr(atom, f"val_{side}")) for side in "DABC"))
            what, also = f"{atom.arch}, {m} x {n} x {k}, {types}", f"m{m}n{n}k{k} {m}x{n}x{k}"
            yield Word(atom.name, "atom", atom.instruction, what, also)
        else:
            yield Word(atom.name, "atom", atom.instruction, f"{atom.arch}, a copy")
