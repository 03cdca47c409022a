"""Copies in C and C++: a loop nest whose pointers step along, and memcpy for runs of elements."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.ints import known
from ...core.questions import equal
from ..c_languages import CLanguage
from .c_expressions import Terms
from .loop_nests import Copy, Loop, Nest


def write(copy: Copy, language: CLanguage) -> str:
    """The text of the function `name`(dst, src, sizes...), which goes through the nests."""
    kind, integer = language.words[copy.bits // 8], language.integers["int64"]
    terms = Terms(copy.name, integer, language.inline)
    body = [line for nest in copy.nests for line in _nest(nest, language, kind, terms, alone=len(copy.nests) == 1)]
    parameters = copy.parameters(kind, language.restrict, integer)
    body = body or [f"(void){n};" for n in ("dst", "src", *copy.sizes)]
    lines = "".join(f"    {line}\n" for line in (*copy.first, *body))
    function = f"{copy.remark}{language.inline} void {copy.name}({parameters}) {{\n{lines}}}"
    return "\n\n".join(["\n".join(language.head("int", "memcpy")), *copy.checks, *terms.helpers(), function]) + "\n"


def _nest(nest: Nest, language: CLanguage, kind: str, terms: Terms, alone: bool) -> Iterator[str]:
    lines = [*_with_offsets(nest, language, terms)] if nest.offsets else [*_with_pointers(nest, language, kind, terms)]
    if alone or nest.offsets:
        yield from lines
        return
    yield "{"
    yield from (f"    {line}" for line in lines)
    yield "}"


def _with_offsets(nest: Nest, language: CLanguage, terms: Terms) -> Iterator[str]:
    """Loops whose body works out both offsets."""
    to, of = nest.offsets or (0, 0)
    pad = ""
    for loop in nest.loops:
        yield f"{pad}for ({terms.integer} {loop.counter} = 0; {loop.counter} < {terms.compared(loop.count)}; ++{loop.counter}) {{"
        pad += "    "
    if nest.run:
        yield pad + _run(nest.run, f"dst + {terms.added(to)}", f"src + {terms.added(of)}", language, terms)
    else:
        yield f"{pad}dst[{terms.text(to)}] = src[{terms.text(of)}];"
    yield from ("    " * k + "}" for k in reversed(range(len(nest.loops))))


def _with_pointers(nest: Nest, language: CLanguage, kind: str, terms: Terms) -> Iterator[str]:
    """Loops that move a pointer into each layout along."""
    starts = [name + ("" if equal(at, 0) else f" + {terms.added(at)}") for name, at in zip(("dst", "src"), nest.begins)]
    pad = ""
    for k, loop in enumerate(nest.loops):
        yield f"{pad}{kind} *d{k} = {starts[0]};"
        yield f"{pad}const {kind} *s{k} = {starts[1]};"
        extent, i = terms.text(loop.extent), loop.counter
        if not extent.isalnum():
            yield f"{pad}const {terms.integer} n{k} = {extent};"
            extent = f"n{k}"
        steps = "".join(f", {p}{k} += {terms.text(d)}" for p, d in zip("ds", loop.steps))
        yield f"{pad}for ({terms.integer} {i} = 0; {i} < {extent}; ++{i}{steps}) {{"
        pad += "    "
        starts = [f"d{k}", f"s{k}"]
    yield from (pad + line for line in _body(nest, starts, language, terms))
    yield from ("    " * k + "}" for k in reversed(range(len(nest.loops))))


def _body(nest: Nest, places: list[str], language: CLanguage, terms: Terms) -> Iterator[str]:
    to, of = (p if p.isalnum() else f"({p})" for p in places)
    if nest.run:
        yield _run(nest.run, places[0], places[1], language, terms)
    elif nest.written:
        d, s = nest.written.steps
        for k in range(known(nest.written.count) or 0):
            within = "" if k == 0 or nest.written.bound is None else f"if ({k} < {terms.compared(nest.written.bound)}) "
            yield f"{within}{to}[{terms.text(k * d)}] = {of}[{terms.text(k * s)}];"
    else:
        yield f"*{to} = *{of};"


def _run(run: Loop, to: str, of: str, language: CLanguage, terms: Terms) -> str:
    """A memcpy; of a whole run with a size that is a number, for these become a few instructions."""

    def move(count: str) -> str:
        return f"{language.prefix}memcpy({to}, {of}, {count} * sizeof *dst);"

    if run.bound is None:
        return move(terms.operand(run.count))
    whole, tail = move(terms.operand(run.count)), move(terms.operand(run.bound))
    return f"if ({terms.compared(run.bound)} >= {terms.compared(run.count)}) {whole} else {tail}"
