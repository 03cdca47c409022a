"""The answer that the page shows for a text, as data for JSON: the value, its grids, the steps to it, and its code."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import tla

from ... import viz
from ...algebra.codomain import cosize
from ...algebra.predicates import is_bijective, is_injective
from ...codegen import emit, emit_copy, source
from ...core.errors import RangeError, TlaError
from ...core.int_tuple import size
from ...core.kinds import AnyLayout
from ...linear import LinearLayout
from ...viz.kernels import KINDS
from ...xla import ArrayShape, byte_size, lower
from .accesses import counted
from .figures import drawings, inputs, kernel, kernel_rule, rule_of, rules
from .grammar import read
from .operations import Call, Program, Term, drawn
from .steps import steps, text_of
from .tilings import subjects

_FACTS: dict[str, Callable[[Any], Any]] = {"size": size, "cosize": cosize, "injective": is_injective, "bijective": is_bijective}
_SYSTEMS = {"CuTe C++": "cute_cpp", "CuTe DSL": "cute_dsl", "TLA C++": "tla_cpp"}
_TARGETS = {"C": ("c", "//"), "CUDA": ("cuda", "//"), "Triton": ("triton", "#")}
_NAMES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.])([A-Za-z_]\w*)")


def answer(text: str, color_by: str = "auto", bits: int | None = None, access: str = "") -> dict[str, Any]:
    """The value of a text, or the error in it, for the page.

    text       of the grammar of tla.apps.explore
    color_by   what colours mean, as tla.viz.draw has it; "auto" for banks of what is swizzled, else tiles
    bits       the width of an element where the text does not say it, as MakeLayout[half, zN](64, 64) does; else 32
    access     who accesses it, as tla.apps.explore.accesses has it; "" for none

    >>> answer("A = (2,3):(3,1); composition(A, 6:1)")["value"]
    '(2,3):(3,1)'
    >>> answer("(2,3):(3")["error"]["expected"]
    "its ')'"
    """
    return _or_refused(lambda: _answer(read(text), color_by, bits, access.strip()))


def picture(text: str, color_by: str = "auto", bits: int | None = None, access: str = "") -> dict[str, Any]:
    """The drawing of a text's value as SVG, for the page.

    >>> picture("(2,3):(3,1)")["svg"][:4]
    '<svg'
    """

    def made() -> dict[str, Any]:
        program = read(text)
        if isinstance(program.value.value, KINDS):
            return {"svg": viz.svg(viz.draw(program.value.value, color_by=kernel_rule(color_by)))}
        known = subjects(program)
        return {"svg": viz.svg(viz.draw(*known, color_by=rule_of(color_by, known, access), bits=bits))}

    return _or_refused(made)


def code(text: str, color_by: str = "auto", bits: int | None = None, access: str = "") -> dict[str, Any]:
    """The code of a text's value in every language, for the page: what makes the layout there, and what computes its offsets.

    >>> [*code("(_4,_2):(_1,_4)")["code"]]
    ['Python', 'CuTe C++', 'CuTe DSL', 'TLA C++', 'index in C', 'index in CUDA', 'index in Triton']
    """

    def made() -> dict[str, Any]:
        program = read(text)
        value = program.value.value
        sources = _kernel_sources(value) if isinstance(value, KINDS) else _sources(drawn(value))
        return {"code": {"Python": python(program), **dict(sources)}}

    return _or_refused(made)


#: path -> what makes the answer of a text, a rule of colours, the width of an element, and who accesses it
ANSWERS: dict[str, Callable[[str, str, int | None, str], dict[str, Any]]] = {"/answer": answer, "/svg": picture, "/code": code}


def as_json(path: str, *question: Any) -> str:
    """The answer of a path as JSON. What is wrong with tla itself is shown where it runs.

    >>> as_json("/svg", "4:1", "auto", None, "")[:12]
    '{"svg":"<svg'
    """
    try:
        found = ANSWERS[path](*question)
    except ModuleNotFoundError as missing:  # in a browser
        what = f"an answer that needs {missing.name}, which no browser has"
        found = refusal(RangeError(what, "tla explore, of an installed tla", "run the command that the button copies"))
    except Exception:  # ours: a text has a TlaError, which is an answer
        traceback.print_exc()
        found = refusal(RangeError("an error of tla itself", "an answer", "report what the terminal shows"))
    return json.dumps(found, separators=(",", ":"))


def _or_refused(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return make()
    except TlaError as error:
        return refusal(error)


def refusal(error: TlaError) -> dict[str, Any]:
    """The reason that there is no answer, for the page."""
    what, expected, fix = error.reason
    return {"error": {"what": what.split("\n")[0], "expected": expected, "fix": fix, "position": getattr(error, "position", None)}}


def _answer(program: Program, color_by: str, bits: int | None, access: str) -> dict[str, Any]:
    value = program.value.value
    layouts = drawn(value)
    known = subjects(program)
    found: dict[str, Any] = {
        "value": text_of(value),
        "names": [[name, text_of(x.value)] for name, x in program.names],
        "sizes": program.sizes,
        "assumed": program.assumed,
        "facts": [[text_of(x), [*_facts(x)]] for x in layouts],
        "steps": [s._asdict() for s in steps(_with_lower(program))],
        "figures": [],
        "caption": "",
        "legend": [],
        "rule": rule_of(color_by, known, access),
        "rules": rules(known),
        "collision": None,
        "access": None,
        "width": next((s.element_width._asdict() for s in known), None),
    }
    if isinstance(value, KINDS):
        found |= kernel(value, color_by)
    elif layouts and not program.sizes:
        if access and known:
            found["access"] = counted(access, known[0], bits)
            if element := found["access"].pop("element"):  # who accesses it may say the width
                found["width"], known = element._asdict(), (replace(known[0], bits=element), *known[1:])
        found |= drawings(known, inputs(program), found["rule"], bits)
    return found


def _layout_of(x: Any) -> Any:
    return x if isinstance(x, AnyLayout) else lower(x)


def _with_lower(program: Program) -> tuple[Call, ...]:
    """The calls of a program; where its value is an array, with what lowers that."""
    value = program.value
    if not isinstance(value.value, ArrayShape):
        return program.calls
    return *program.calls, Call("lower", f"lower({value.value})", (value,), Term(lower(value.value), ""))


def _facts(x: Any) -> Iterator[tuple[str, str]]:
    """The properties of a layout that the page lists: name and text."""
    layout = _layout_of(x)
    if layout is not x:
        yield "layout", str(layout)
        yield "bytes", str(byte_size(x))
    yield "origin_shape", str(layout.origin_shape)
    for name, fact in _FACTS.items():
        yield name, _asked(fact, layout)


def _asked(fact: Callable[[Any], Any], layout: AnyLayout) -> str:
    try:
        found = fact(layout)
    except TlaError:  # of coordinates, or of sizes that are not known
        return "not known"
    return {True: "yes", False: "no", None: "not known"}.get(found, "") if found is None or isinstance(found, bool) else str(found)


# ------------------------------------------------------------------------------------------------- code


def python(program: Program) -> str:
    """The Python that gives what a program gives.

    >>> print(python(read("A = (_8,_6):(_1,_8); logical_divide(A, (_4, _))")))
    from tla import _, _4, logical_divide, parse
    <BLANKLINE>
    A = parse('(_8,_6):(_1,_8)')
    print(logical_divide(A, (_4, _)))
    """
    lines = [f"{name} = {x.python}" for name, x in program.names]
    if not any(x is program.value for _name, x in program.names):
        lines.append(f"print({program.value.python})")
    if program.assumed:
        lines = ["with assuming() as conditions:", *(f"    {line}" for line in lines)]
    imports = sorted({name for name in _NAMES.findall("\n".join(lines)) if name and hasattr(tla, name)})
    return "\n".join([f"from tla import {', '.join(imports)}", "", *lines] if imports else lines)


def _sources(drawn: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """Source that makes the layout in other languages, that computes its offsets, what copies to the next one; or why there is none."""
    if not drawn:
        return
    layout = _layout_of(drawn[0])
    for name, system in _SYSTEMS.items():
        yield name, _said(partial(source, layout, system), "//")
    for name, (target, comment) in _TARGETS.items():
        yield f"index in {name}", _said(partial(emit, layout, target), comment)
    if len(drawn) == 2:
        yield "copy in C", _said(partial(emit_copy, layout, _layout_of(drawn[1])), "//")


def _kernel_sources(x: Any) -> Iterator[tuple[str, str]]:
    """An atom, a tiled MMA or a tiled copy in CuTe; a linear layout is none there."""
    if isinstance(x, LinearLayout):
        return
    for name, system in _SYSTEMS.items():
        if system.startswith("cute"):
            yield name, _said(partial(source, x, system), "//")


def _said(make: Callable[[], str], comment: str) -> str:
    try:
        return make()
    except TlaError as error:
        return "\n".join(f"{comment} {line}" for line in str(error).splitlines())
