"""The commands `tla emit`, `emit-copy` and `prove`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import LeafTypeError, Unproven
from ..core.on_demand import OnDemand
from ..notation.width import ASSUMED, element_width
from .expressions import layout_of, only, read
from .terminal import Answer, option

if TYPE_CHECKING:
    from .. import codegen, symbolic
else:
    codegen, symbolic = OnDemand("tla.codegen"), OnDemand("tla.symbolic")


def _code_options(sub: argparse.ArgumentParser, targets: Iterable[str]) -> None:
    sub.add_argument("--target", default="c", help=f"one of {', '.join(targets)}; c by default")
    option(sub, "--name NAME", "the name of the function")
    _size_options(sub)
    sub.add_argument(
        "--check", choices=["function", "assert"], default="", help="write what the sizes have to meet as code, too"
    )


def _size_options(sub: argparse.ArgumentParser) -> None:
    option(sub, "--multiple-of NAME=N", "what divides the sizes that have names", nargs="+", default=[])
    option(sub, "--at-most NAME=N", "how large they are at most", nargs="+", default=[])


def emit_options(emit: argparse.ArgumentParser) -> None:
    """The options of `tla emit`."""
    _code_options(emit, (*codegen.TARGETS, *codegen.SYSTEMS))
    option(emit, "--coords NAMES", "the names of the coordinates, such as i,j or (i0,i1),j; i,j,... by default")
    option(emit, "--integer TYPE", "int32, int64, uint32 or uint64; by default int32 where all is proved to fit")


def emit_copy_options(emit_copy: argparse.ArgumentParser) -> None:
    """The options of `tla emit-copy`."""
    _code_options(emit_copy, codegen.WRITERS)
    option(emit_copy, "--bits N", "bits of an element: 8, 16, 32 or 64; 32, or as the layout says", type=int)


def emit(arguments: argparse.Namespace) -> Answer:
    """The offset of a coordinate as a function of C, CUDA, Python, ...; or the layout as source of CuTe, TLA or XLA."""
    (subject,), target = _with_sizes(arguments, arguments.layout), arguments.target
    layout = layout_of(subject)
    if target in codegen.SYSTEMS:
        return {"target": target, "text": codegen.source(layout, target)}, _text_of
    options = {"integer": arguments.integer, "check": arguments.check}
    text = codegen.emit(layout, target, arguments.coords, name=arguments.name or "offset", **options)
    return {"target": target, "text": text}, _text_of


def prove_options(prove: argparse.ArgumentParser) -> None:
    """The options of `tla prove`."""
    prove.add_argument("--target", default="c", help=f"one of {', '.join(codegen.READ)}; c by default")
    option(prove, "--coords NAMES", "the names of the coordinates, such as i,j; i,j,... by default")
    _size_options(prove)


def prove(arguments: argparse.Namespace) -> Answer:
    """Prove by z3 that the emitted function of a layout is the layout, at every coordinate and for all sizes that its
    comment allows."""
    (subject,) = _with_sizes(arguments, arguments.layout)
    found = codegen.prove(layout_of(subject), arguments.target, arguments.coords)
    if found.proved is not True:
        at = f" at {', '.join(f'{n} = {v}' for n, v in found.witness.items())}" if found.witness else ""
        fix = "compare it with `tla offset` there" if at else "give sizes as numbers"
        raise Unproven(f"{found.text}{found.how}{at}", "a text that is the layout", fix)
    return {"target": arguments.target, "proved": True, "how": found.how, "text": found.text}, _proved


def _proved(value: dict[str, Any]) -> str:
    return f"{_text_of(value)}\n\nproved {value['how']}"


def emit_copy(arguments: argparse.Namespace) -> Answer:
    """A copy from one layout to another as the text of a function, in C, C++, CUDA, HIP or OpenCL."""
    subjects = _with_sizes(arguments, arguments.source, arguments.destination)
    source, destination = map(layout_of, subjects)
    said = [read(text).value for text in (arguments.source, arguments.destination)]
    element = element_width(*said, bits=arguments.bits, default=ASSUMED)
    options = {"element": element.bits, "check": arguments.check}
    text = codegen.emit_copy(source, destination, arguments.target, name=arguments.name or "copy", **options)
    return {"target": arguments.target, "text": text}, _text_of


def _text_of(value: dict[str, Any]) -> str:
    return str(value["text"]).rstrip("\n")


def _with_sizes(arguments: argparse.Namespace, *texts: str) -> list[Any]:
    """The layouts, or XLA arrays, that expressions say, whose sizes may be open; options say what is known of these."""
    names = {name: None for text in texts for name in read(text).sizes}
    units, ends = (
        _facts(option, given, names)
        for option, given in (("multiple-of", arguments.multiple_of), ("at-most", arguments.at_most))
    )
    sizes = {name: symbolic.dim(name, multiple_of=units.get(name, 1), at_most=ends.get(name)) for name in names}
    return [_with_symbols(text, sizes) for text in texts]


def _with_symbols(text: str, sizes: dict[str, symbolic.SymInt]) -> Any:
    program = read(text, sizes)
    if program.assumed:
        raise Unproven(
            f"{text}: whether {', and '.join(program.assumed)}", "sizes that fit", "say it, as in --multiple-of M=64"
        )
    return only(text, program)


def _facts(option: str, given: Sequence[str], names: Iterable[str]) -> dict[str, int]:
    """The numbers that an option gives to names."""
    found = {}
    for fact in given:
        name, _, n = fact.partition("=")
        if not (n.isascii() and n.isdecimal() and len(n) < 20):
            raise LeafTypeError(f"--{option} {fact}", "a name and a number", f"write --{option} M=16")
        if name not in names:
            raise LeafTypeError(
                f"--{option} {fact}", f"a name in the layout: {', '.join(names) or 'it has none'}", "leave it out"
            )
        found[name] = int(n)
    return found
