"""Protobuf's wire format: the fields of a message, one after the other.

Source: protobuf.dev, Encoding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NoReturn

from ...core.errors import ParseError

#: The kinds of a field on the wire.
VARINT, FIXED64, BYTES, FIXED32 = KINDS = (0, 1, 2, 5)
_FIXED = {FIXED64: 8, FIXED32: 4}


def fields(data: bytes, noun: str, kinds: Collection[int] = KINDS) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number and content, which is a number or bytes.

    noun     what the message is, for errors
    kinds    those that it may have
    Raises   ParseError for bytes that are cut, or no message

    >>> list(fields(bytes([8, 150, 1, 18, 2, 104, 105]), "a greeting"))
    [(1, 150), (2, b'hi')]
    """
    at, end = 0, len(data)
    while at < end:
        key, at = read_varint(data, at, noun)
        kind = key & 7
        content: int | bytes
        if kind not in kinds:
            broken(data, f"wire type {kind} of field {key >> 3}", noun)
        if kind == VARINT:
            content, at = read_varint(data, at, noun)
        else:
            length, at = (_FIXED[kind], at) if kind in _FIXED else read_varint(data, at, noun)
            content, at = data[at : at + length], at + length
        if at > end:
            broken(data, "a field that is cut", noun)
        yield key >> 3, content


def read_varint(data: bytes, at: int, noun: str) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    found = shift = 0
    while shift < 70 and at < len(data):
        byte = data[at]
        found, shift, at = found | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return found & (2**64 - 1), at
    return broken(data, "a number that is cut", noun)


def varints(data: bytes, noun: str) -> Iterator[int]:
    """The numbers of a repeated field that is packed."""
    at = 0
    while at < len(data):
        n, at = read_varint(data, at, noun)
        yield n


def broken(data: bytes, what: str, noun: str) -> NoReturn:
    """Refuse the bytes of a message."""
    raise ParseError(data[:40].hex(), 0, what, f"{noun} in protobuf's wire format", "the bytes may be cut, or of another message")
