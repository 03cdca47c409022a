"""A line of HLO in the form in which XLA prints it, taken apart by one regular expression.

Nearly all lines have this form. Of any other (blanks and comments elsewhere, deeper brackets, errors) the answer is
None, and the reader of instruction.py, which goes mark by mark, reads it or says what is wrong.

Law: where `line_parts` answers, that reader gives the same.
Source: XLA xla/hlo/ir/hlo_instruction.cc (its printer).
"""

from __future__ import annotations

import json
import re


def _between(inner: str, rest: str) -> str:
    """Any number of `inner`, with `rest` around each. They begin with different characters, so a text that fails is
    tried in one way."""
    return f"{rest}(?:(?:{inner}){rest})*"


_NAME = r"[A-Za-z_0-9][\w.-]*"
_ARRAY = r"[A-Za-z][A-Za-z0-9]*\[[^][]*\](?:\{[0-9:][^{}]*\})?"
_INDEX = r"/\*index=[0-9]+\*/"
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'

_FLAT = _between(_STRING, r'[^][(){}"/]*')
_INSIDE = _BRACKETS = _FLAT
for _depth in range(3):  # `{{2,0}: (0, {2,0})}`
    _BRACKETS = rf"\{{{_INSIDE}\}}|\[{_INSIDE}\]|\({_INSIDE}\)"
    _INSIDE = _between(_BRACKETS, _FLAT)
_VALUE = _between(rf"{_STRING}|{_BRACKETS}", r'[^][(){}",/]*')

_ROUND = r'[^()"/]*'
_TUPLE = rf"\({_ROUND}\)"
for _depth in range(2):  # tiles in tuples in tuples
    _TUPLE = rf"\({_between(f'{_TUPLE}|{_INDEX}', _ROUND)}\)"

_ONE = rf"(?:{_INDEX})?(?:{_ARRAY} )?%?{_NAME}"
INDEX = re.compile(_INDEX)
OPERAND = re.compile(rf" ?{_ONE}")
_LITERAL = r'[^][(){}"/]*|\{[^][(){}"/]*\}'
_WORD = rf", (?!backend_config=|metadata=){_NAME}={_VALUE}"
_LINE = re.compile(
    rf"(\s*(ROOT )?(?!ROOT =)%?({_NAME}) = )({_ARRAY}|{_TUPLE}) "
    rf"(?:(constant|parameter)\(({_LITERAL})|(?!constant\(|parameter\()([a-z][a-z0-9_-]*)"
    rf"\(((?:{_ONE}(?:, {_ONE})*)?))\)"
)
_TAIL = re.compile(rf"((?:{_WORD})*)(?:, metadata=({_VALUE}))?((?:{_WORD})*)(?:, backend_config=|(?<![={{\s])\Z)")
_json = json.JSONDecoder().raw_decode


#: The match of an instruction as XLA prints it, up to its operands' end; None of any other line. Its groups: head,
#: ROOT, name, shape, opcode and text of a literal, or opcode and operands.
line_parts = _LINE.match


def tail_parts(tail: str) -> tuple[str, str, str] | None:
    """The attributes behind the operands but for a backend_config that is the last one: before metadata, its text, and
    those behind it. None where they are not as XLA prints them.

    >>> tail_parts(", kind=kLoop, metadata={op_name=\\"f\\"}, backend_config={}")
    (', kind=kLoop', '{op_name="f"}', '')
    """
    found = _TAIL.match(tail)
    if found is None:
        return None
    if found.end() < len(tail):  # a backend_config; its brackets are often deep, and C reads them
        try:
            end = _json(tail, found.end())[1]
        except (ValueError, RecursionError):
            return None
        if end < len(tail):
            return None
    return found[1], found[2] or "", found[3]
