"""Contradictions in the text of a module: two lines that cannot both be true.

Source: XLA xla/service/hlo_verifier.cc, as far as a text shows it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from ...core.cache import plain_memo
from ...core.errors import LoweringError, ParseError, require_type
from ..shapes.array_shape import ArrayShape
from ..shapes.values import Shape, TupleShape, arrays
from .aliasing import element_of, element_of_done
from .entry import entry
from .instruction import LITERALS
from .module import Body, Module
from .program import Located

#: What a line is said to be, what another line gives in its place, and the number of that line.
Claim = tuple[str, Shape, Shape, int]

_CALLERS = frozenset({"fusion", "call", "while", "conditional"})
_PARTS = ("get-tuple-element", "-done")


def contradictions(module: Module) -> tuple[str, ...]:
    """Layouts and shapes in a module that contradict each other, and names that are given twice, each with
    the lines that say so.

    Compared: an operand's shape where the line has it, and parts of tuples and of -start, with what their instruction
    gives; what calls, fusions, loops and branches take and give with the parameters and roots of what they call;
    arguments and the result with the header's entry layout. A shape without a layout contradicts no layout, and the
    entry layout is none of the lines of a module before layout assignment: one whose header has tiles, and no line.

    >>> import io
    >>> from tla.xla import read_module
    >>> text = "ENTRY %m {\\n  %a = f32[2,3]{1,0} parameter(0)\\n  ROOT %b = f32[2,3]{1,0} negate(f32[2,3]{0,1} %a)\\n}"
    >>> contradictions(read_module(io.StringIO(text)))
    ('line 3: b takes a as f32[2,3]{0,1}, line 2 gives f32[2,3]{1,0}',)

    Source: XLA HloVerifier, as far as a text shows it.
    """
    require_type(module, Module, "contradictions of a", "a Module", "read_module(path) gives one")
    bodies = {name: module.body(name) for name in module.computations}
    return (*(text for body in bodies.values() for text in _names(body)), *_shapes(bodies), *_of_entry(module))


def _names(body: Body) -> Iterator[str]:
    """Names and numbers of parameters that are given twice; a parameter that is missing."""
    if len(body.given) < len(body.lines):
        yield from _twice((x.instruction.name, x) for x in body.lines)
    if {n for n, _x in body.parameters} == {*range(len(body.parameters))}:
        return
    yield from _twice((f"parameter({n})", x) for n, x in body.parameters)
    for n, x in body.parameters:
        if n >= len(body.parameters):
            yield f"line {x.line}: {x.computation} has parameter({n}), and {len(body.parameters)} parameters"


def _twice(named: Iterable[tuple[str, Located]]) -> Iterator[str]:
    first: dict[str, int] = {}
    for name, x in named:
        if first.setdefault(name, x.line) != x.line:
            yield f"line {x.line}: {name} of {x.computation} is in line {first[name]}, too"


def _shapes(bodies: Mapping[str, Body]) -> Iterator[str]:
    for body in bodies.values():
        for x in body.lines:
            it = x.instruction
            # A line of names alone says the shape of no operand, but for what is a part of one.
            if it.opcode in LITERALS or (it._operands and not _compared(it.opcode)):
                continue
            calls = it.opcode in _CALLERS
            claims: Iterable[Claim] = () if calls and it._operands else _of_operands(x, body.given)
            if calls:
                claims = itertools.chain(claims, _of_calls(x, body.given, bodies))
            for what, shape, other, line in claims:
                if _differ(shape, other):
                    yield f"line {x.line}: {it.name} {what} {shape}, line {line} gives {other}"


@plain_memo
def _compared(opcode: str) -> bool:
    """Whether instructions with an opcode are parts of others, or call computations."""
    return opcode in _CALLERS or opcode.endswith(_PARTS)


def _of_operands(x: Located, given: Mapping[str, Located]) -> Iterator[Claim]:
    """Operands whose shape is in the line; what is a part of an operand."""
    it = x.instruction
    for o in () if it._operands else it.operands:
        if o.shape is not None and (source := given.get(o.name)) is not None:
            yield f"takes {o.name} as", o.shape, source.instruction.shape, source.line
    source = given.get(it.operand_names[0]) if it.operand_names else None
    if source is None or not isinstance(whole := source.instruction.shape, TupleShape):
        return
    k = None
    if it.opcode == "get-tuple-element":
        k = element_of(it)
    elif it.opcode.endswith("-done") and isinstance(it.shape, ArrayShape):
        k = element_of_done(it, len(whole.elements))
    if k is not None and k < len(whole.elements):
        yield "is", it.shape, whole.elements[k], source.line


def _of_calls(x: Located, given: Mapping[str, Located], bodies: Mapping[str, Body]) -> Iterator[Claim]:
    """Parameters and the result of a computation that is called, against the line that calls it."""
    it = x.instruction
    names = it.called[:1] if it.opcode in ("fusion", "call") else it.called
    condition = it.attributes.get("condition", "").removeprefix("%") if it.opcode == "while" else None
    for k, name in enumerate(names):
        if (body := bodies.get(name)) is None:
            continue
        if body.root is not None and name != condition and it.shape is not body.root.instruction.shape:
            yield f"with {name} for its result is", it.shape, body.root.instruction.shape, body.root.line
        operands = it.operand_names[k + 1 : k + 2] if it.opcode == "conditional" else it.operand_names
        for number, p in body.parameters:
            source = given.get(operands[number]) if number < len(operands) else None
            if source is not None and source.instruction.shape is not p.instruction.shape:  # equal texts are one shape
                yield f"takes {source.instruction.name} as", source.instruction.shape, p.instruction.shape, p.line


def _of_entry(module: Module) -> Iterator[str]:
    """The parameters and the root of the entry computation that differ from line 1's entry_computation_layout."""
    lines = module.computations.get(module.entry or "", ())
    try:
        found = entry(module) if "entry_computation_layout" in module.header else None
    except (LoweringError, ParseError):
        found = None
    if found is None:
        return
    assigned = any(_tiled(x.instruction.shape) for body in module.computations.values() for x in body)

    def differs(a: Shape, b: Shape) -> bool:
        """Whether a shape of the header is another one than a line's; before layout assignment tiles say nothing."""
        return _differ(a._replace(layout=None) if not assigned and isinstance(a, ArrayShape) and _tiled(a) else a, b)

    for x in lines:
        number, shape = x.instruction.parameter_number, x.instruction.shape
        given = found.arguments[number].shape if number is not None and number < len(found.arguments) else None
        if given is not None and differs(given, shape):
            yield f"line {x.line}: parameter({number}) is {shape}, line 1 takes {given}"
    root = module.body(module.entry or "").root
    if root is not None:
        shape = root.instruction.shape
        parts = shape.elements if isinstance(shape, TupleShape) else (shape,)
        for k, (a, b) in enumerate(zip(parts, found.results)):
            if len(parts) == len(found.results) and differs(b.shape, a):
                yield f"line {root.line}: part {k} of the result is {a}, line 1 gives {b.shape}"


def _tiled(shape: Shape) -> bool:
    return any(array.layout is not None and array.layout.tiles for array in arrays(shape))


def _differ(a: Shape, b: Shape) -> bool:
    """Whether two shapes cannot be of one value: other dimensions, or two layouts that differ.

    An entry layout does not have M(n), the room for sizes at run time that the array inside of the program has.
    """
    if a is b:
        return False
    if isinstance(a, TupleShape) and isinstance(b, TupleShape):
        return len(a.elements) != len(b.elements) or any(map(_differ, a.elements, b.elements))
    if not isinstance(a, ArrayShape) or not isinstance(b, ArrayShape):
        return type(a) is not type(b)
    if (a.element_type, a.dimensions, a.dynamic) != (b.element_type, b.dimensions, b.dynamic):
        return True
    if a.layout is None or b.layout is None or a.layout == b.layout or not a.dimensions:
        return False
    prefix = b.layout.dynamic_shape_metadata_prefix_bytes
    return a.layout._replace(dynamic_shape_metadata_prefix_bytes=prefix) != b.layout
