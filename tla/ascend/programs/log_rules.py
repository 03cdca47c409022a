"""The rules that a call of a log is held to: the memories that it moves between, its types, and fields that say what is
not read.

Source: AscendC; CATLASS tests/unittest/stub.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from .mmad import MOST
from .vector_logs import whole

#: AscendC's QuantMode_t by number: what may be converted, and to what; of NoQuant nothing is.
MODES: dict[int, tuple[str, tuple[str, ...]]] = {1: ("float", ("half",)), 2: ("float", ("bf16",))}
for _first, _source, *_targets in (
    (3, "int32", "half"),
    (5, "float", "int8", "uint8"),
    (7, "int32", "int8", "uint8"),
    (9, "int32", "bf16"),
    (11, "float", "half"),
    (13, "float", "bf16"),
    (15, "float", "float"),
):
    MODES[_first] = MODES[_first + 1] = _source, (*_targets,)
#: The instructions of a name, or of names that begin so -> the memories that they read, and those that they write.
ENDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Fixpipe": (("L0C",), ("GM", "UB", "L1")),
    "DataCopyCO12Dst": (("L0C",), ("GM", "UB", "L1")),
    "LoadData": (("L1", "GM"), ("L0A", "L0B", "L1")),
    "Nd2Nz": (("GM", "UB"), ("L1",)),
    "Dn2Nz": (("GM",), ("L1",)),
    "DataCopyPad": (("GM", "UB"), ("UB", "GM")),
    "DataCopy": (("GM", "L1", "UB"), ("GM", "L1", "UB", "Bias", "FixBuf")),
}
#: The memories of a Mmad's operands: c, a, b and biases.
OPERANDS = {"c": "L0C", "a": "L0A", "b": "L0B", "bias": "Bias"}
#: Fields that change what is multiplied or moved in a way that is not read here: they have to be 0.
UNREAD = (
    *("isBias", "enSsparse", "enWinogradA", "enWinogradB", "fmOffset", "enSmallK", "filterSizeW", "filterSizeH"),
    *("leftPadding", "paddingValue", "padValue", "addrMode"),
)


class Logged(NamedTuple):
    """A tensor of a log: the memory, the byte that it begins at, and its element type."""

    place: str
    address: int
    element: Element


def require_operands(operands: Iterable[Logged], fields: Mapping[str, int], unit: int) -> None:
    """LeafTypeError for a Mmad of operands in other memories, RangeError for sizes that it does not take.

    unit   that k is a multiple of
    """
    for t, (name, place) in zip(operands, OPERANDS.items()):
        if t.place != place:
            raise LeafTypeError(f"a Mmad with {name} at {t.place}", f"{name} at {place}", "log what Mmad is given")
    for name in "mnk":
        if not 0 <= fields[name] <= MOST:
            raise RangeError(f"Mmad: {name} = {fields[name]}", f"0 to {MOST}", "log what Mmad is given")
    if fields["k"] % unit:
        raise RangeError(f"MmadWithSparse: k = {fields['k']}", f"a multiple of {unit}", "log what it is given")


def require_ends(name: str, begin: Logged, to: Logged) -> None:
    """LeafTypeError for an instruction between other memories than its own, or of two types that it does not convert."""
    sources, targets = ENDS[next(x for x in ENDS if name.startswith(x) and (x != "DataCopy" or name == x))]
    if begin.place not in sources or to.place not in targets:
        expected = f"{' or '.join(sources)} to {' or '.join(targets)}"
        raise LeafTypeError(f"a {name} from {begin.place} to {to.place}", expected, "log it with the stand-in")
    if begin.element != to.element and begin.place != "L0C" and to.place != "Bias":
        what = f"a {name} from {begin.element} to {to.element}"
        raise LeafTypeError(what, "one type: it does not convert", "log it with the stand-in")


def require_zeros(name: str, fields: Mapping[str, Any], unread: Iterable[str] = UNREAD) -> None:
    """LeafTypeError for a field that says what is not read here."""
    if odd := [f for f in unread if fields.get(f)]:
        raise LeafTypeError(f"a {name} with {odd[0]}={fields[odd[0]]}", f"{odd[0]}=0", "check a part of the log")


def require_mode(begin: Logged, to: Logged, fields: Mapping[str, Any]) -> None:
    """LeafTypeError for a Fixpipe whose quantPre does not convert the accumulator's type to that of its destination."""
    if "quantPre" not in fields:
        return
    mode, own = whole(fields["quantPre"]), (begin.element.name, (begin.element.name,))
    source, targets = MODES.get(mode, own if mode == 0 else ("", ()))
    if begin.element.name != source or to.element.name not in targets:
        what = f"a Fixpipe of {begin.element} to {to.element} with quantPre={mode}"
        known = f"{source} to {' or '.join(targets)}" if source else f"0 to {max(MODES)}"
        expected = known if mode else "no conversion"
        raise LeafTypeError(what, expected, "set the QuantMode_t of these types")
