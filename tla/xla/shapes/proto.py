"""ShapeProto and LayoutProto of XLA: as plain values, as text, as bytes, and back.

Source: XLA xla/xla_data.proto (the fields, their numbers and what they are left out for); protobuf's text
format and wire format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from ...core.arrays import INT64_MAX, INT64_MIN
from ...core.errors import LeafTypeError, LoweringError, ParseError, RangeError, require_type
from ...core.ints import known
from ...core.reader import Reader
from .array_shape import COMBINE, NUMBERS, ArrayLayout, ArrayShape, Split
from .grammar import parse_shape
from .values import KINDS, MAX_DEPTH, BufferShape, OpaqueShape, Shape, TokenShape, TupleShape

#: Numbers of PrimitiveType.
PRIMITIVE_TYPES = {
    "pred": 1, "s8": 2, "s16": 3, "s32": 4, "s64": 5, "u8": 6, "u16": 7, "u32": 8, "u64": 9, "f16": 10, "f32": 11, "f64": 12,
    "tuple": 13, "opaque_type": 14, "c64": 15, "bf16": 16, "token": 17, "c128": 18, "f8e5m2": 19, "f8e4m3fn": 20, "s4": 21, "u4": 22,
    "f8e4m3b11fnuz": 23, "f8e5m2fnuz": 24, "f8e4m3fnuz": 25, "s2": 26, "u2": 27, "f8e4m3": 28, "f8e3m4": 29, "s1": 30, "u1": 31,
    "f4e2m1fn": 32, "f8e8m0fnu": 33, "buffer": 34, "f6e3m2fn": 35, "f6e2m3fn": 36,
}  # fmt: skip
_TYPE_NAMES = {number: name for name, number in PRIMITIVE_TYPES.items()}


class _Field(NamedTuple):
    """A field of a message: its number on the wire, whether it is repeated, and the message that it holds, if any."""

    number: int
    repeated: bool = False
    message: str = ""


_MESSAGES: dict[str, dict[str, _Field]] = {
    "ShapeProto": {
        "element_type": _Field(2),
        "dimensions": _Field(3, True),
        "tuple_shapes": _Field(4, True, "ShapeProto"),
        "layout": _Field(5, False, "LayoutProto"),
        "is_dynamic_dimension": _Field(6, True),
    },
    "LayoutProto": {
        "minor_to_major": _Field(1, True),
        "tiles": _Field(6, True, "TileProto"),
        "element_size_in_bits": _Field(7),
        "memory_space": _Field(8),
        "dynamic_shape_metadata_prefix_bytes": _Field(15),
        "tail_padding_alignment_in_elements": _Field(16),
        "split_configs": _Field(17, True, "SplitConfigProto"),
    },
    "TileProto": {"dimensions": _Field(1, True)},
    "SplitConfigProto": {"dimension": _Field(1), "split_indices": _Field(2, True)},
}

Proto = dict[str, Any]


def to_proto(shape: Shape | str | ArrayLayout, combine: int = INT64_MIN) -> Proto:
    """The ShapeProto of a shape, or the LayoutProto of a layout, as plain dicts, lists and numbers by the names
    of the fields.

    combine   the number that stands for `*` in a tile: XLA's own, or -1 as its documents have it
    Raises    LoweringError for dimensions that are names, or more layout than a proto holds

    >>> to_proto("f32[3,<=5]{1,0:T(2,2)}")["layout"]
    {'minor_to_major': [1, 0], 'tiles': [{'dimensions': [2, 2]}], 'tail_padding_alignment_in_elements': 1}
    >>> to_proto("f32[3,<=5]")
    {'element_type': 'F32', 'dimensions': [3, 5], 'is_dynamic_dimension': [False, True]}

    Law: from_proto(to_proto(shape)) == shape. Source: XLA xla/xla_data.proto; Shape::ToProto, Layout::ToProto.
    """
    if isinstance(shape, ArrayLayout):
        return _layout(shape, combine)
    if not isinstance(shape, KINDS):
        shape = parse_shape(shape)
    if isinstance(shape, ArrayShape):
        return _array(shape, combine)
    if isinstance(shape, (TupleShape, BufferShape)):
        inner = shape.elements if isinstance(shape, TupleShape) else (shape.array,)
        name = "TUPLE" if isinstance(shape, TupleShape) else "BUFFER"
        return {"element_type": name, "tuple_shapes": [to_proto(x, combine) for x in inner]}
    return {"element_type": "TOKEN" if isinstance(shape, TokenShape) else "OPAQUE_TYPE"}


def _array(shape: ArrayShape, combine: int) -> Proto:
    if any(n is not None and known(n) is None for n in shape.dimensions):
        raise LoweringError(f"the proto of {shape}", "dimensions that are numbers", "give its symbols values")
    dims = [INT64_MIN if n is None else n for n in shape.dimensions]
    proto: Proto = {"element_type": shape.element_type.upper()}
    if dims:
        proto |= {"dimensions": dims, "is_dynamic_dimension": [*shape.dynamic]}
    return proto if shape.layout is None else proto | {"layout": _layout(shape.layout, combine)}


def _layout(layout: ArrayLayout, combine: int) -> Proto:
    proto: Proto = {"minor_to_major": [*layout.minor_to_major]} if layout.minor_to_major else {}
    if layout.tiles:
        proto["tiles"] = [{"dimensions": [combine if t == COMBINE else t for t in tile]} for tile in layout.tiles]
    proto |= {name: n for name in NUMBERS if (n := getattr(layout, name))}
    if layout.split_configs:
        splits = layout.split_configs
        proto["split_configs"] = [{"dimension": s.dimension, "split_indices": [*s.indices]} for s in splits]
    return proto


def from_proto(proto: Mapping[str, Any] | str | bytes) -> Shape | ArrayLayout:
    """The shape that a ShapeProto stands for, or the layout of a LayoutProto: as dicts, as text, or a
    ShapeProto as bytes.

    Raises   ParseError for a text that is none; RangeError or LeafTypeError for fields that a shape does not have, or
             that do not fit each other; LoweringError for sparse and padded layouts of old

    >>> print(from_proto('element_type: F32 dimensions: [3, 5] layout { minor_to_major: 1 minor_to_major: 0 }'))
    f32[3,5]{1,0}
    >>> print(from_proto({"minor_to_major": [0, 1]}))
    {0,1}

    Source: XLA xla/xla_data.proto; Shape::FromProto, Layout::FromProto.
    """
    if isinstance(proto, str):
        reader = _ProtoReader(proto)
        proto = reader.whole(reader.proto)
    elif isinstance(proto, bytes):
        proto = _of_wire(proto, "ShapeProto", 0)
    require_type(proto, Mapping, "a proto of type", "a dict of its fields, its text or its bytes", "to_proto makes one")
    return _shape_of(proto, 0) if "element_type" in proto else _layout_of(proto)


def _shape_of(proto: object, depth: int) -> Shape:
    """The shape that a ShapeProto says."""
    fields = _fields(proto, "ShapeProto")
    if depth > MAX_DEPTH:
        what = f"a ShapeProto deeper than {MAX_DEPTH}"
        raise RangeError(what, "tuples in tuples up to there", "put the elements side by side")
    name = _type_name(fields.get("element_type"))
    inner = tuple(_shape_of(x, depth + 1) for x in _list(fields, "tuple_shapes"))
    if name in ("tuple", "buffer"):
        if name == "tuple":
            return TupleShape(inner)
        return BufferShape(inner[0] if len(inner) == 1 else None)  # type: ignore[arg-type]  # it refuses what is no array
    if inner:
        raise RangeError(f"tuple_shapes of {name}", "those of TUPLE or BUFFER", "leave them out")
    if name in ("token", "opaque_type"):
        return TokenShape() if name == "token" else OpaqueShape()
    dims = tuple(None if n == INT64_MIN else n for n in _integers(fields, "dimensions"))
    dynamic = tuple(bool(d) for d in _list(fields, "is_dynamic_dimension"))
    layout = _layout_of(fields["layout"]) if "layout" in fields else None
    return ArrayShape(name, dims, layout, dynamic)


def _layout_of(proto: Any) -> ArrayLayout:
    fields = _fields(proto, "LayoutProto")
    numbered = [_integers(_fields(t, "TileProto"), "dimensions") for t in _list(fields, "tiles")]
    tiles = tuple(tuple(COMBINE if n in (INT64_MIN, -1) else n for n in tile) for tile in numbered)
    splits = tuple(_split(_fields(s, "SplitConfigProto")) for s in _list(fields, "split_configs"))
    # 0 is a field that is left out.
    numbers = {name: _integer(name, fields.get(name, 0)) or default for name, default in NUMBERS.items()}
    return ArrayLayout(_integers(fields, "minor_to_major"), tiles, split_configs=splits, **numbers)


def _split(fields: Proto) -> Split:
    return Split(_integer("dimension", fields.get("dimension", 0)), _integers(fields, "split_indices"))


#: Fields of a LayoutProto that XLA no longer has, or that belong to sparse arrays.
_GONE = ["padded_dimensions", "padding_value", "format", "max_sparse_elements", "dim_level_types", "dim_unique"]
_GONE += ["dim_ordered", "index_primitive_type", "pointer_primitive_type", "physical_shape"]


def _fields(proto: object, message: str) -> Proto:
    """The fields of a message that say something."""
    if not isinstance(proto, Mapping):
        raise LeafTypeError(f"a {message} of type {type(proto).__name__}", "a dict of its fields", "to_proto makes one")
    known_fields = _MESSAGES[message]
    out = {}
    for name, value in proto.items():
        empty = value in (None, 0, "PRIMITIVE_TYPE_INVALID", "INVALID_PAD", [], ())
        if name in known_fields:
            out[str(name)] = value
        elif name in _GONE and not empty:
            fix = "lower_padded lowers padded_dimensions; sparse arrays have no dense element map"
            raise LoweringError(f"field {name} of a LayoutProto, which XLA no longer has", "a dense, tiled layout", fix)
        elif name not in _GONE:
            raise RangeError(f"field {name!r:.40} of a {message}", "one of " + ", ".join(known_fields), "leave it out")
    return out


def _type_name(value: Any) -> str:
    name = _TYPE_NAMES.get(value) if isinstance(value, int) else value.lower() if isinstance(value, str) else None
    name = "opaque_type" if name == "opaque" else name
    if name not in PRIMITIVE_TYPES:
        fix = "see PRIMITIVE_TYPES of tla.xla.shapes.proto"
        raise RangeError(f"element_type {value!r:.40}", "a PrimitiveType such as F32, or its number", fix)
    return str(name)


def _list(fields: Proto, name: str) -> list[Any]:
    value = fields.get(name, [])
    return [*value] if isinstance(value, (list, tuple)) else [value]


def _integers(fields: Proto, name: str) -> tuple[int, ...]:
    return tuple(_integer(name, n) for n in _list(fields, name))


def _integer(name: str, value: int) -> int:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        value = int(value)  # 64-bit numbers are texts in the JSON of protos
    if not isinstance(value, int) or isinstance(value, bool) or not INT64_MIN <= value <= INT64_MAX:
        raise LeafTypeError(f"{name}: {value!r:.40}", "an integer of 64 bits", "write a number")
    return int(value)


# --------------------------------------------------------------------------------------------------- text


def proto_text(shape: Shape | str | ArrayLayout, combine: int = INT64_MIN) -> str:
    """The ShapeProto or LayoutProto in protobuf's text format, a field a line.

    >>> print(proto_text("f32[3,5]{1,0:T(2,2)}"))
    element_type: F32
    dimensions: 3
    dimensions: 5
    layout {
      minor_to_major: 1
      minor_to_major: 0
      tiles {
        dimensions: 2
        dimensions: 2
      }
      tail_padding_alignment_in_elements: 1
    }
    is_dynamic_dimension: false
    is_dynamic_dimension: false

    Raises what to_proto raises. Law: from_proto(proto_text(shape)) == shape. Source: protobuf's text format.
    """
    proto = to_proto(shape, combine)
    return "\n".join(_lines(proto, "LayoutProto" if isinstance(shape, ArrayLayout) else "ShapeProto"))


def _lines(proto: Proto, message: str) -> Iterator[str]:
    for name, field in sorted(_MESSAGES[message].items(), key=lambda item: item[1].number):
        for value in _list(proto, name) if name in proto else ():
            if field.message:
                yield f"{name} {{"
                yield from (f"  {line}" for line in _lines(value, field.message))
                yield "}"
            else:
                yield f"{name}: {str(value).lower() if isinstance(value, bool) else value}"


class _ProtoReader(Reader):
    """A reader of a message in protobuf's text format, as far as shapes need it."""

    blank = r"(?:[ \t\n\r\f\v]|#[^\n]*)*"
    tokens = r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+(?![A-Za-z0-9_.])|[{}<>\[\]:,;]"
    noun, example = "a proto", "proto_text writes one: element_type: F32 dimensions: 3"
    max_depth = 2 * MAX_DEPTH

    def proto(self) -> Proto:
        return self.message("ShapeProto" if "element_type" in self.text else "LayoutProto", "")

    def message(self, name: str, close: str) -> Proto:
        """The fields of a message, up to the bracket that closes it; "" is the end of the text."""
        out: Proto = {}
        while self.token != close or (not close and self.at < len(self.text)):
            if not self.take(",") and not self.take(";"):
                self.field(name, out)
        return out

    def field(self, message: str, out: Proto) -> None:
        at, known = self.at, _MESSAGES[message]
        name = self.word([*known, *_GONE] if message == "LayoutProto" else known, f"a field of a {message}")
        field = known.get(name)
        self.take(":")
        values = self.values(field.message if field else "")
        if field and not field.repeated:
            if name in out or len(values) != 1:
                self.fail(f"{name} is given {len(values) + (name in out)} times", "once", at=at)
            out[name] = values[0]
        else:
            out.setdefault(name, []).extend(values)

    def values(self, message: str) -> list[Any]:
        def read() -> Any:
            return self.value(message)

        return self.listed("[]", read) if self.token == "[" else [read()]

    def value(self, message: str) -> Any:
        if message:
            brackets = "<>" if self.token == "<" else "{}"
            return self.enclosed(brackets, lambda: self.message(message, brackets[1]))
        if self.token in ("true", "false"):
            return self.next() == "true"
        if self.token[:1].isalpha():
            return self.next()
        return self.integer("a value")


# -------------------------------------------------------------------------------------------------- bytes


def proto_bytes(shape: Shape | str | ArrayLayout) -> bytes:
    """The ShapeProto or LayoutProto on the wire: what Shape.to_serialized_proto of jaxlib gives.

    >>> proto_bytes("f32[3]{0}").hex()
    '100b1a01032a060a0100800101320100'

    Raises what to_proto raises. Source: protobuf's wire format.
    """
    message = "LayoutProto" if isinstance(shape, ArrayLayout) else "ShapeProto"
    return _wire(to_proto(shape), message)


def _wire(proto: Proto, message: str) -> bytes:
    out = b""
    for name, field in sorted(_MESSAGES[message].items(), key=lambda item: item[1].number):
        if name not in proto:
            continue
        values = _list(proto, name)
        if field.message:
            out += b"".join(_piece(field.number, _wire(v, field.message)) for v in values)
        elif field.repeated:
            out += _piece(field.number, b"".join(_varint(v) for v in values))
        elif values[0]:  # 0 is what a field is that is left out
            number = PRIMITIVE_TYPES[v.lower()] if isinstance(v := values[0], str) else v
            out += _varint(field.number << 3) + _varint(number)
    return out


def _piece(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(n: int) -> bytes:
    n &= 2**64 - 1
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def _of_wire(data: bytes, message: str, depth: int) -> Proto:
    """The fields of a message in protobuf's wire format; fields that are not in the table are passed over."""
    by_number = {field.number: (name, field) for name, field in _MESSAGES[message].items()}
    out: Proto = {}
    at = 0
    if depth > 2 * MAX_DEPTH:
        what = f"a {message} deeper than {2 * MAX_DEPTH} messages"
        raise RangeError(what, "tuples in tuples up to there", "put elements side by side")
    while at < len(data):
        key, at = _read_varint(data, at)
        content: Any
        if key & 7 == 0:
            content, at = _read_varint(data, at)
        elif key & 7 == 2:
            length, at = _read_varint(data, at)
            content, at = data[at : at + length], at + length
        else:
            _broken(data, f"wire type {key & 7} of field {key >> 3}")
        if at > len(data):
            _broken(data, "a field that is cut")
        if key >> 3 in by_number:
            name, field = by_number[key >> 3]
            _put(out, name, field, content, depth)
    return out


def _put(out: Proto, name: str, field: _Field, content: Any, depth: int) -> None:
    convert: Callable[[int], Any] = bool if name == "is_dynamic_dimension" else _signed
    if field.message:
        if not isinstance(content, bytes):
            _broken(b"", f"a number in field {name}")
        values: list[Any] = [_of_wire(content, field.message, depth + 1)]
    else:
        values = [convert(n) for n in (_varints(content) if isinstance(content, bytes) else (content,))]
    if field.repeated:
        out.setdefault(name, []).extend(values)
    elif values:
        out[name] = values[-1]


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        n, at = _read_varint(data, at)
        yield n


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    end = next((k for k in range(at, min(at + 10, len(data))) if data[k] < 128), None)
    if end is None:
        _broken(data, "a number that is cut")
    return sum((byte & 127) << 7 * k for k, byte in enumerate(data[at : end + 1])) & (2**64 - 1), end + 1


def _signed(n: int) -> int:
    return n - 2**64 if n >= 2**63 else n


def _broken(data: bytes, what: str) -> NoReturn:
    fix = "the bytes may be cut, or of another message"
    raise ParseError(data[:40].hex(), 0, what, "a ShapeProto in protobuf's wire format", fix)
