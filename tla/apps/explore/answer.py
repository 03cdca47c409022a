"""The answer that the page shows for a text, as data for JSON: the value, its grids, the steps to it, and its code."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ...algebra.codomain import cosize
from ...algebra.predicates import is_bijective, is_injective
from ...core.errors import RangeError, TlaError
from ...core.int_tuple import size
from ...core.kinds import AnyLayout
from ...core.on_demand import OnDemand
from ...notation.width import element_width
from ...viz.drawable import Subject, as_subject
from ...viz.kernels import KINDS
from ...xla import ArrayShape, byte_size, lower, waste
from ..expressions import layout_of
from .accesses import counted, mended
from .code import code
from .compare import compared
from .figures import drawings, inputs, kernel, rule_of, rules
from .files import file
from .grammar import read
from .operations import Call, Program, Term, drawn
from .question import VIEWS, Question
from .steps import steps, text_of
from .tilings import subjects
from .views import has_threads, memory, threads

_words = OnDemand("tla.apps.explore.words")  # with all atoms, which no answer needs
_program = OnDemand("tla.apps.explore.program")

_FACTS: dict[str, Callable[[Any], Any]] = {
    "size": size,
    "cosize": cosize,
    "injective": is_injective,
    "bijective": is_bijective,
}


def answer(
    text: str, color_by: str = "auto", bits: int | None = None, access: str = "", view: str = "", tile: str = ""
) -> dict[str, Any]:
    """The value of a text, or the error in it, for the page.

    text       of the grammar of tla.apps.explore
    color_by   what colours mean, as tla.viz.draw has it
    bits       the width of an element where the text does not say it, as MakeLayout[half, zN](64, 64) does; else 32
    access     who accesses it, as tla.apps.owners has it; "" for none
    view       "offsets", "threads" or "memory"; "" for what the value is drawn by
    tile       of threads: rows and columns, as "16,8"; "" for those that fit

    >>> answer("A = (2,3):(3,1); composition(A, 6:1)")["value"]
    '(2,3):(3,1)'
    >>> answer("(2,3):(3")["error"]["expected"]
    "its ')'"
    """
    try:
        return _answer(Question(text, color_by, bits, access.strip(), view, tile.strip()))
    except TlaError as error:
        return refusal(error)


def as_json(path: str, asked: object) -> str:
    """The answer of a path to a question, a JSON object, as JSON. What is wrong with tla itself is shown where it runs.

    >>> as_json("/file", {"text": "4:1", "format": "svg"})[:25]
    '{"name":"layout.svg","typ'
    """
    try:
        found = ANSWERS[path](Question.of(asked))
    except TlaError as error:
        found = refusal(error)
    except ModuleNotFoundError as missing:  # in a browser
        what = f"an answer that needs {missing.name}, which no browser has"
        found = refusal(RangeError(what, "tla explore, of an installed tla", "run the command that the button copies"))
    except Exception:  # ours: a text has a TlaError, which is an answer
        traceback.print_exc()
        found = refusal(RangeError("an error of tla itself", "an answer", "report what the terminal shows"))
    return json.dumps(found, separators=(",", ":"))


def refusal(error: TlaError) -> dict[str, Any]:
    """The reason that there is no answer, for the page."""
    first = error.reason.what.split("\n")[0]
    return {"error": {**error.reason._asdict(), "what": first, "position": getattr(error, "position", None)}}


def _answer(question: Question) -> dict[str, Any]:
    program = read(question.text)
    value = program.value.value
    layouts, known = drawn(value), subjects(program)
    found: dict[str, Any] = {
        "value": text_of(value),
        "names": [[name, text_of(x.value)] for name, x in program.names],
        "sizes": program.sizes,
        "assumed": program.assumed,
        "facts": [[text_of(x), [*_facts(x)]] for x in layouts],
        "steps": [s._asdict() for s in steps(_with_lower(program))],
        **dict.fromkeys(("figures", "legend", "views", "rules"), ()),
        **dict.fromkeys(("caption", "rule", "view", "tile"), ""),
        **dict.fromkeys(("collision", "access", "compared", "width")),
    }
    if isinstance(value, KINDS):
        return found | kernel(value, question.color_by) | {"view": "threads"}
    if not known or program.sizes:
        return found
    return found | _drawn(question, program, known)


def _drawn(question: Question, program: Program, known: tuple[Subject, ...]) -> dict[str, Any]:
    """The figures of layouts, as they are looked at, and what is said of an access and of two of them."""
    first = known[0]
    said: dict[str, Any] = {"views": [v for v in VIEWS if len(known) == 1 and (v != "threads" or has_threads(first))]}
    if question.access:
        access = counted(question, first)
        if element := access.pop("element"):  # who accesses it may say the width
            first = replace(first, bits=element)
        said["access"] = access
    elif question.bits is not None:
        first = replace(first, bits=element_width(first.bits, bits=question.bits))
    known = (first, *known[1:])
    said["width"] = first.element_width._asdict()
    said["view"] = question.view if question.view in said["views"] else "offsets"
    if said["view"] == "threads":
        return said | threads(question, first)
    if said["view"] == "memory":
        return said | memory(question, first)
    rule = rule_of(question.color_by, known, question.access)
    said |= {"rules": rules(known)} | drawings(known, inputs(program), rule, question.bits)
    seen = said.pop("seen")
    if len(known) == 2 and program.value.parts:
        said["compared"] = compared(seen)
    return said


def mend(question: Question) -> dict[str, Any]:
    """A layout with fewer conflicts for an access: what is said of it, and both layouts drawn by their banks."""
    known = subjects(read(question.text))
    if not known:
        raise RangeError("a better layout of what is no layout", "a layout", "write (64,64):(64,1)")
    layout, element, said = mended(question, known[0])
    both = tuple(replace(s, bits=element) for s in (known[0], as_subject(layout)))
    found = drawings(both, [], "bank", None)
    del found["seen"], found["collision"]
    after = counted(question, both[1])["offsets"]
    return {**said, **found, "offsets": [counted(question, both[0])["offsets"], after]}


#: path -> what makes the answer of a question
ANSWERS: dict[str, Callable[[Question], dict[str, Any]]] = {
    "/answer": _answer,
    "/mend": mend,
    "/file": file,
    "/code": code,
    "/words": lambda _question: {"words": _words.words()},
    "/report": lambda question: _program.report(question),
}


def _with_lower(program: Program) -> tuple[Call, ...]:
    """The calls of a program; where its value is an array, with what lowers that."""
    value = program.value
    if not isinstance(value.value, ArrayShape):
        return program.calls
    return *program.calls, Call("lower", f"lower({value.value})", (value,), Term(lower(value.value), ""))


def _facts(x: Any) -> Iterator[tuple[str, str]]:
    """The properties of a layout that the page lists: name and text."""
    layout = layout_of(x)
    if layout is not x:
        yield "layout", str(layout)
        yield from _bytes(x)
    yield "origin_shape", str(layout.origin_shape)
    for name, fact in _FACTS.items():
        yield name, _asked(fact, layout)


def _bytes(x: ArrayShape) -> Iterator[tuple[str, str]]:
    """The bytes that an array takes, and how many of them hold no element."""
    whole, lost = byte_size(x), waste(x)
    yield "bytes", f"{whole:,}" if isinstance(whole, int) else str(whole)
    if isinstance(whole, int) and isinstance(lost, int):
        yield "padding", f"{lost:,} bytes, {100 * lost / whole if whole else 0:.1f} %"


def _asked(fact: Callable[[Any], Any], layout: AnyLayout) -> str:
    try:
        found = fact(layout)
    except TlaError:  # of coordinates, or of sizes that are not known
        return "not known"
    words = {True: "yes", False: "no", None: "not known"}
    return words[found] if found is None or isinstance(found, bool) else str(found)
