"""A line of HLO in the form in which XLA prints it, taken apart by one regular expression.

Nearly all lines have this form. Of any other (blanks and comments elsewhere, deeper brackets, errors) the answer is
None, and the reader of instruction.py, which goes mark by mark, reads it or says what is wrong.

Law: where `line_parts` answers, that reader gives the same.
Source: XLA xla/hlo/ir/hlo_instruction.cc (its printer).
"""

from __future__ import annotations

import json
import re

from ...core.cache import known_memo


def _between(inner: str, rest: str) -> str:
    """Any number of `inner`, with `rest` around each. They begin with different characters, so a text that fails is
    tried in one way."""
    return f"{rest}(?:(?:{inner}){rest})*"


_NAME = "[A-Za-z_0-9][A-Za-z_0-9.-]*"  # of ASCII: a set is quicker than \w, and the other reader takes the rest
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
    rf"(\s*(?:ROOT )?(?!ROOT =)%?)({_NAME}) = ({_ARRAY}|{_TUPLE}) "
    rf"(?:(constant|parameter)\(({_LITERAL})|(?!constant\(|parameter\()([a-z][a-z0-9_-]*)"
    rf"\(((?:{_ONE}(?:, {_ONE})*)?))\)"
)
_WORDS = re.compile(rf"(?:{_WORD})*\Z")
_METADATA = re.compile(_VALUE)
_json = json.JSONDecoder().raw_decode


#: The match of an instruction as XLA prints it, up to its operands' end; None of any other line. Its groups: what
#: stands before the name, name, shape, opcode and text of a literal, or opcode and operands.
line_parts = _LINE.match


def _are_words(text: str) -> bool:
    """Whether a text is attributes, none of them metadata or a backend_config."""
    return _WORDS.match(text) is not None


def _metadata_first(text: str) -> tuple[str, str]:
    """The text of metadata, and what stands behind it: all from the first comma that is in no string or bracket."""
    end = _METADATA.match(text).end()  # type: ignore[union-attr]  # it matches the empty text too
    return text[:end], text[end:]


def _is_json(text: str) -> bool:
    """Whether a text is one JSON value: its brackets are often deep, and C reads them."""
    try:
        return _json(text)[1] == len(text)
    except (ValueError, RecursionError):
        return False


#: Tails differ in the names of computations, and most of what else they say is the same. Longer ones are not remembered.
LONG = 4096
_PARTS = _are_words, _metadata_first, _is_json
_REMEMBERED = known_memo(_are_words), known_memo(_metadata_first), known_memo(_is_json)


def tail_parts(tail: str) -> tuple[str, str, str, str] | None:
    """The attributes behind the operands: those before metadata, its text, those behind it, and the text of a
    backend_config that is the last one. None where they are not as XLA prints them.

    >>> tail_parts(", kind=kLoop, metadata={op_name=\\"f\\"}, backend_config={}")
    (', kind=kLoop', '{op_name="f"}', '', '{}')
    """
    are_words, metadata_first, is_json = _REMEMBERED if len(tail) <= LONG else _PARTS
    said, ends, config = tail.partition(", backend_config=")
    before, given, rest = said.partition(", metadata=")
    metadata, behind = metadata_first(rest) if given else ("", "")
    if not (are_words(before) and are_words(behind)):
        return None
    if config and not is_json(config):
        return None
    if not ends and (said.endswith(("=", "{")) or said[-1:].isspace()):
        return None
    return before, metadata, behind, config
