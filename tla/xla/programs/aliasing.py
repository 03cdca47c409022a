"""Aliasing: the parts of an instruction's result that are parts of its operands as they stand, and those that
are new memory.

Source: XLA xla/hlo/analysis/hlo_dataflow_analysis.cc (forwarded values, GetInPlaceInputOutputPairs); the field
aliasing_operands of the TPU compiler's backend_config; buffer assignments of libtpu 0.0.51 (tests/data/xla/programs).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import NamedTuple

from ...core.cache import known_memo, plain_memo
from ...core.reader import Reader
from .instruction import Instruction, attributes_of
from .module import Body, Module

Path = tuple[int, ...]
#: A part of the result, the number of an operand, and the part of that operand.
Pair = tuple[Path, int, Path]


class Alias(NamedTuple):
    """A part of the result that is written over an argument.

    result     which part of the result
    argument   the number of the argument
    part       which part of it
    must       whether the compiler has to: must-alias

    >>> Alias((0,), 1, (), False)
    Alias(result=(0,), argument=1, part=(), must=False)
    """

    result: Path
    argument: int
    part: Path
    must: bool


#: The result is operand 0 as it stands.
SAME = frozenset({"bitcast", "opt-barrier", "add-dependency", "domain", "all-reduce-done"})
#: The result overwrites operand 0.
IN_PLACE = frozenset({"dynamic-update-slice", "scatter", "set-dimension-size"})
_OLD_MEMORY = SAME | IN_PLACE | {"fusion", "tuple"}

#: Fusions inside of each other, deeper than this, overwrite nothing: a text may call itself.
MAX_FUSIONS = 100

_INDICES = re.compile(r'"indices":\[([^\]]*)\]')


@known_memo
def stated(words: str) -> tuple[Pair, ...]:
    """The aliases that the attribute output_to_operand_aliasing states, of a text of attributes.

    >>> stated(', custom_call_target="f", output_to_operand_aliasing={{1}: (0, {})}')
    (((1,), 0, ()),)
    """
    key = "output_to_operand_aliasing"
    return tuple(alias[:3] for alias in aliases(attributes_of(words).get(key, "{}"))) if key in words else ()


@plain_memo
def aliases(text: str) -> tuple[Alias, ...]:
    """The aliases of a text such as `{ {1}: (0, {}, may-alias), {2}: (3, {1}) }`.

    >>> [alias[:3] for alias in aliases("{ {1}: (0, {}, may-alias), {2,0}: (3, {1}) }")]
    [((1,), 0, ()), ((2, 0), 3, (1,))]
    """
    reader = _AliasReader(text)
    return tuple(reader.whole(lambda: reader.listed("{}", reader.alias, "aliases")))


def donors(text: str) -> tuple[tuple[int, Path], ...]:
    """The arguments, and parts of them, of a text such as `{ (2, {}), (3, {1}) }`.

    >>> donors("{ (2, {}), (3, {1}) }")
    ((2, ()), (3, (1,)))
    """
    reader = _AliasReader(text)
    return tuple(
        reader.whole(
            lambda: reader.listed("{}", lambda: reader.enclosed("()", reader.operand, "an argument"), "arguments")
        )
    )


class _AliasReader(Reader):
    tokens = r"[0-9]+|[A-Za-z_-]+|[{}():,]"
    noun, example = "an alias", "an alias reads {1}: (0, {}, may-alias)"

    def alias(self) -> Alias:
        result = self.path()
        self.expect(":", "and the operand that it is")
        return Alias(result, *self.enclosed("()", self.overwritten, "the number of an operand"))

    def overwritten(self) -> tuple[int, Path, bool]:
        operand, part = self.operand()
        must = self.take(",") and self.word(("may-alias", "must-alias"), "a kind of alias") == "must-alias"
        return operand, part, must

    def operand(self) -> tuple[int, Path]:
        number = self.integer("the number of an operand", least=0)
        self.expect(",", "and a part of it")
        return number, self.path()

    def path(self) -> Path:
        return tuple(self.listed("{}", lambda: self.integer("the number of an element", least=0), "a part"))


@known_memo
def shared(config: str) -> tuple[tuple[int, ...], ...]:
    """Numbers of operands that share memory, by the compiler's own note in a backend_config; those from the count of
    operands on are its results.

    >>> shared('{"aliasing_operands":{"lists":[{"indices":["0","2"]}]}}')
    ((0, 2),)
    """
    noted = config.partition('"aliasing_operands":{"lists":[{')[2].partition("}]}")[0]
    return tuple(
        tuple(int(n) for n in text.replace('"', "").split(",") if n.strip().isdecimal())
        for text in _INDICES.findall(noted)
    )


def behind(name: str, body: Body, opcodes: Container[str]) -> Instruction | None:
    """The instruction of a name, or what its operand 0 is as long as these are of some opcodes; a text may come back to
    where it began."""
    seen: set[str] = set()
    it = body.instruction(name)
    while it is not None and it.opcode in opcodes and it.operand_names and it.name not in seen:
        seen.add(it.name)
        it = body.instruction(it.operand_names[0])
    return it


def element_of(it: Instruction) -> int | None:
    """The number of the element that a get-tuple-element takes; None where the text does not say it."""
    return _index(it._tail.words)


@plain_memo
def _index(text: str) -> int | None:
    index = attributes_of(text).get("index", "")
    return int(index) if re.fullmatch(r"[0-9]{1,9}", index) else None


def element_of_done(it: Instruction, count: int) -> int:
    """The number of the element of its -start, which has so many, that a -done gives: of a copy, or of what has nothing
    else, the first."""
    return 0 if it.opcode == "copy-done" or count < 2 else 1


def of_root(name: str, body: Body, module: Module, deep: int = 0) -> tuple[int, Path] | None:
    """The parameter of a fusion that instruction `name` overwrites, and which part; None if it writes new memory."""
    it = behind(name, body, SAME)
    if it is None or not it.operand_names or deep > MAX_FUSIONS:
        return None
    if it.opcode in IN_PLACE:
        return _parameter(it.operand_names[0], body)
    if it.opcode == "fusion":
        inner = _fused(it, module)
        found = of_root(inner.root.instruction.name, inner, module, deep + 1) if inner.root else None
        if found and found[0] < len(it.operand_names) and (outer := _parameter(it.operand_names[found[0]], body)):
            return outer[0], outer[1] + found[1]
    return None


def _fused(it: Instruction, module: Module) -> Body:
    """The computation of a fusion."""
    return module.body(next(iter(it.called), ""))


def _parameter(name: str, body: Body) -> tuple[int, Path] | None:
    path: Path = ()
    it = behind(name, body, SAME)
    while it is not None and it.opcode == "get-tuple-element" and it.operand_names and len(path) < len(body.given):
        if (k := element_of(it)) is None:
            return None
        path = (k, *path)
        it = behind(it.operand_names[0], body, SAME)
    number = None if it is None else it.parameter_number
    return None if number is None else (number, path)


def may_overwrite(body: Body) -> bool:
    """Whether the root of a fusion's computation may be memory that it is given: most write new memory."""
    return body.root is not None and body.root.instruction.opcode in _OLD_MEMORY


def of_fusion(fusion: Instruction, module: Module) -> Iterator[Pair]:
    """The operands that a fusion overwrites: those of the updates that it ends with."""
    body = _fused(fusion, module)
    if body.root is None or not may_overwrite(body):
        return
    root = body.root.instruction
    whole: list[tuple[Path, str]] = [((), root.name)]
    ends = [((k,), name) for k, name in enumerate(root.operand_names)] if root.opcode == "tuple" else whole
    for path, name in ends:
        if found := of_root(name, body, module):
            yield path, *found
