"""Triton's layouts as the text of its IR, `#ttg.blocked<{sizePerThread = [1, 4], ...}>`, written and read.

    attribute = "#" word { "." word } [ "<" [ item { "," item } ] ">" ]        without "<" it is a name that `names` has
    item      = "{" pairs "}" | word "=" value | "[" integer ":+" integer { "," ... } "]" [ "{" pairs "}" ]
    value     = integer | "true" | "false" | "[" values "]" | "{" pairs "}" | attribute

The text is data: it is parsed by this grammar and never evaluated.

Source: the printer of Triton 3.8's dialects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError, ParseError, TlaError
from . import tiles
from .distributed import BlockedLayout, DistributedLinearLayout, SliceLayout
from .mma import AMDMFMALayout, AMDWMMALayout, DotOperandLayout, NVMMADistributedLayout
from .parameters import Parameters
from .shared import NVMMASharedLayout, PaddedSharedLayout, SharedLinearLayout, SwizzledSharedLayout
from .tensor_memory import TensorMemoryLayout, TensorMemoryScalesLayout

Pairs = dict[str, Any]
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|-?[0-9]{1,18}(?![0-9])|:\+|[#.<>{}\[\],=])")
#: Values nested deeper than this are refused.
MAX_DEPTH = 40


class Form(NamedTuple):
    """One attribute: the class, its fields as the text has them, and the layout of what a text says."""

    kind: type
    write: Callable[[Any], Pairs]
    read: Callable[[Pairs], Any]
    braces: bool = True


def _cga(layout: Any) -> Pairs:
    return {"CGALayout": layout.cga_layout} if layout.cga_layout else {}


def _read_cga(p: Pairs) -> Any:
    """The blocks of a text; those of Triton before 3.6 say them as three lists."""
    if "CTAsPerCGA" not in p:
        return p.get("CGALayout", ())
    order, per_cga, split = p["CTAOrder"], p["CTAsPerCGA"], p["CTASplitNum"]
    vectors = []
    for d in order:
        parts = tiles.log2(tiles.power("CTASplitNum", "a size", split[d]))
        vectors += [tuple(1 << k if i == d else 0 for i in range(len(order))) for k in range(parts)]
        vectors += [(0,) * len(order)] * (tiles.log2(tiles.power("CTAsPerCGA", "a size", per_cga[d])) - parts)
    return vectors


def _unless(value: Any, default: Any, name: str) -> Pairs:
    return {} if value == default else {name: value}


def _wmma_tile(x: AMDWMMALayout) -> Pairs:
    return {**({"register": x.reg_bases} if x.reg_bases else {}), **({"warp": x.warp_bases} if x.warp_bases else {})}


def _read_wmma(p: Pairs) -> AMDWMMALayout:
    tile = p["ctaLayout"]
    bases = [*tile.get("register", ()), *tile.get("warp", ()), *p.get("CGALayout", ())]
    rank = len(bases[0]) if bases else 2
    return AMDWMMALayout(
        p["version"], p["isTranspose"], tile.get("warp", ()), tile.get("register"), p.get("instrShape"), _read_cga(p), rank
    )


def _least_shape(vectors: Sequence[Sequence[int]]) -> list[int]:
    return [1 << max(v[k].bit_length() for v in vectors) for k in range(len(vectors[0]))] if vectors else [1]


def _read_linear(p: Pairs) -> DistributedLinearLayout:
    register, lane, warp, block = (p.get(name, ()) for name in ("register", "lane", "warp", "block"))
    return DistributedLinearLayout(register, lane, warp, block, _least_shape([*register, *lane, *warp, *block]))


def _padded_parts(x: PaddedSharedLayout) -> Pairs:
    """Offsets in an order of the dimensions, where they are; else their bases."""
    order = [*dict.fromkeys(next((k for k, n in enumerate(v) if n), 0) for v in x.offset_bases)]
    order += [d for d in tiles.matrix_order(x.rank) if d not in order]
    if x == PaddedSharedLayout.with_identity_for(x.interval_padding_pairs, x.shape, order, x.cga_layout) and not x.cga_layout:
        return {"order": order, "shape": x.shape}
    return {"offset": x.offset_bases, "block": x.linear(x.shape).bases["block"]}


def _read_padded(p: Pairs) -> PaddedSharedLayout:
    pairs = p["padding"]
    if "order" in p:
        return PaddedSharedLayout.with_identity_for(pairs, p["shape"], p["order"], _read_cga(p))
    block = p.get("block", ())
    part = _least_shape(p["offset"])
    cga = [[x // n for x, n in zip(v, part)] for v in block]
    return PaddedSharedLayout(pairs, p["offset"], cga, _least_shape([*p["offset"], *block]))


FORMS: dict[str, Form] = {
    "ttg.blocked": Form(
        BlockedLayout,
        lambda x: {
            "sizePerThread": x.size_per_thread,
            "threadsPerWarp": x.threads_per_warp,
            "warpsPerCTA": x.warps_per_cta,
            "order": x.order,
            **_cga(x),
        },
        lambda p: BlockedLayout(p["sizePerThread"], p["threadsPerWarp"], p["warpsPerCTA"], p["order"], _read_cga(p)),
    ),
    "ttg.linear": Form(
        DistributedLinearLayout,
        lambda x: {"register": x.reg_bases, "lane": x.lane_bases, "warp": x.warp_bases, "block": x.block_bases},
        _read_linear,
    ),
    "ttg.slice": Form(SliceLayout, lambda x: {"dim": x.dim, "parent": x.parent}, lambda p: SliceLayout(p["dim"], p["parent"])),
    "ttg.dot_op": Form(
        DotOperandLayout,
        lambda x: {"opIdx": x.operand_index, "parent": x.parent, **_unless(x.k_width, 0, "kWidth")},
        lambda p: DotOperandLayout(p["opIdx"], p["parent"], p.get("kWidth", 0)),
    ),
    "ttg.nvidia_mma": Form(
        NVMMADistributedLayout,
        lambda x: {
            "versionMajor": x.version[0],
            "versionMinor": x.version[1],
            "warpsPerCTA": x.warps_per_cta,
            **_cga(x),
            "instrShape": x.instr_shape,
        },
        lambda p: NVMMADistributedLayout([p["versionMajor"], p.get("versionMinor", 0)], p["warpsPerCTA"], p["instrShape"], _read_cga(p)),
    ),
    "ttg.amd_mfma": Form(
        AMDMFMALayout,
        lambda x: {
            "version": x.version,
            "warpsPerCTA": x.warps_per_cta,
            **_cga(x),
            "instrShape": x.instr_shape,
            "isTransposed": x.transposed,
            **_unless(x.tiles_per_warp, (1,) * x.rank, "tilesPerWarp"),
            **_unless(x.element_bitwidth, 32, "elementBitWidth"),
        },
        lambda p: AMDMFMALayout(
            p["version"],
            p["instrShape"],
            p["isTransposed"],
            p["warpsPerCTA"],
            p.get("elementBitWidth"),
            p.get("tilesPerWarp"),
            _read_cga(p),
        ),
    ),
    "ttg.amd_wmma": Form(
        AMDWMMALayout,
        lambda x: {
            "version": x.version,
            "isTranspose": x.transposed,
            "ctaLayout": _wmma_tile(x),
            **_cga(x),
            **_unless(x.instr_shape, (16, 16, 16), "instrShape"),
        },
        _read_wmma,
    ),
    "ttg.swizzled_shared": Form(
        SwizzledSharedLayout,
        lambda x: {"vec": x.vec, "perPhase": x.per_phase, "maxPhase": x.max_phase, "order": x.order, **_cga(x)},
        lambda p: SwizzledSharedLayout(p["vec"], p["perPhase"], p["maxPhase"], p["order"], _read_cga(p)),
    ),
    "ttg.nvmma_shared": Form(
        NVMMASharedLayout,
        lambda x: {
            "swizzlingByteWidth": x.swizzle_byte_width,
            "transposed": x.transposed,
            "elementBitWidth": x.element_bitwidth,
            **_unless(x.fp4_padded, False, "fp4Padded"),
            **_cga(x),
            **({} if x.cga_layout else _unless(x.rank, 2, "rank")),  # the bases of blocks say the rank too
        },
        lambda p: NVMMASharedLayout(
            p["swizzlingByteWidth"],
            p["elementBitWidth"],
            p.get("rank", len(_read_cga(p)[0]) if _read_cga(p) else 2),
            p["transposed"],
            p.get("fp4Padded", False),
            _read_cga(p),
        ),
    ),
    "ttg.shared_linear": Form(
        SharedLinearLayout,
        lambda x: {"offset": x.offset_bases, **({"block": x.block_bases} if x.block_bases else {})},
        lambda p: SharedLinearLayout(p["offset"], p.get("block", ()), p.get("alignment", 16)),
    ),
    "ttg.padded_shared": Form(PaddedSharedLayout, _padded_parts, _read_padded),
    "ttng.tensor_memory_encoding": Form(
        TensorMemoryLayout,
        lambda x: {
            "blockM": x.block[0],
            "blockN": x.block[1],
            "colStride": x.col_stride,
            **_cga(x),
            **_unless(x.two_ctas, False, "twoCTAs"),
        },
        lambda p: TensorMemoryLayout((p["blockM"], p["blockN"]), p["colStride"], _read_cga(p), p.get("twoCTAs", False)),
        braces=False,
    ),
    "ttng.tensor_memory_scales_encoding": Form(
        TensorMemoryScalesLayout, _cga, lambda p: TensorMemoryScalesLayout(_read_cga(p)), braces=False
    ),
}
_NAMES = {form.kind: name for name, form in FORMS.items()}


def to_text(layout: Parameters) -> str:
    """A layout as the attribute of Triton's IR.

    >>> print(to_text(BlockedLayout([1, 4], [4, 8], [2, 1], [1, 0])))
    #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>

    Raises     LeafTypeError for what is no layout of Gluon's
    """
    if type(layout) not in _NAMES:
        raise LeafTypeError(f"to_text of a {type(layout).__name__}", "a layout of tla.linear.triton", "give a BlockedLayout, or another")
    name = _NAMES[type(layout)]
    form = FORMS[name]
    pairs = ", ".join(f"{key} = {_value(x)}" for key, x in form.write(layout).items())
    before = after = ""
    if isinstance(layout, PaddedSharedLayout):
        before = f"[{', '.join(f'{interval}:+{padding}' for interval, padding in layout.interval_padding_pairs)}] "
    if isinstance(layout, SharedLinearLayout):
        after = f", alignment = {layout.alignment}"
    return f"#{name}<{before}{'{' + pairs + '}' if form.braces else pairs}{after}>"


def _value(x: Any) -> str:
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(map(_value, x))}]"
    if isinstance(x, dict):
        return f"{{{', '.join(f'{key} = {_value(v)}' for key, v in x.items())}}}"
    return to_text(x) if isinstance(x, Parameters) else str(x)


def from_text(text: str, names: Mapping[str, Any] | None = None) -> Any:
    """The layout of an attribute of Triton's IR; `names` has what aliases such as #mma stand for: layouts, or their texts.

    >>> from_text("#ttg.slice<{dim = 0, parent = #mma}>", {"mma": NVMMADistributedLayout([2, 0], [1, 1], [16, 8])}).linear([8]).out_dims
    {'dim0': 8}

    Raises     ParseError with the position, and what the layout's class raises
    """
    if not isinstance(text, str):
        raise LeafTypeError(f"from_text of a {type(text).__name__}", "a text such as '#ttg.blocked<{...}>'", "to_text(layout) gives one")
    reader = _Reader(text, dict(names or {}))
    found = reader.attribute(0)
    reader.end()
    return found


class _Reader:
    """A text and a position in it."""

    def __init__(self, text: str, names: dict[str, Any]) -> None:
        self.text, self.names, self.at = text, names, 0

    def peek(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def next(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        if not found:
            raise self.wrong("a word, a number, or one of # < > { } [ ] , =")
        self.at = found.end()
        return found[1]

    def take(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.next()
        return True

    def need(self, token: str) -> None:
        if not self.take(token):
            raise self.wrong(f"'{token}'")

    def wrong(self, expected: str) -> ParseError:
        at = len(self.text) - len(self.text[self.at :].lstrip())
        found = self.text[at : at + 16].split("\n")[0]
        return ParseError(self.text, at, f"unexpected {found!r}" if found else "the text ends", expected, "write it as Triton prints it")

    def end(self) -> None:
        if self.text[self.at :].strip():
            raise self.wrong("the end of the text")

    def attribute(self, depth: int) -> Any:
        start = self.at
        if depth > MAX_DEPTH:
            raise ParseError(
                self.text, start, "values nested too deep", f"at most {MAX_DEPTH} levels", "name the parent, as in parent = #mma"
            )
        self.need("#")
        name = self.next()
        while self.take("."):
            name += f".{self.next()}"
        name = name.replace("triton_gpu.", "ttg.").replace("triton_nvidia_gpu.", "ttng.")
        if self.peek() != "<":
            return self.alias(name, start)
        if name not in FORMS:
            raise ParseError(self.text, start, f"#{name} is not known", f"one of {', '.join(FORMS)}", "write one of these")
        pairs = self.items(depth)
        try:
            return FORMS[name].read(pairs)
        except TlaError:
            raise
        except KeyError as missing:
            raise ParseError(self.text, start, f"#{name} without {missing.args[0]}", f"{missing.args[0]} = ...", "add it") from None
        except (TypeError, IndexError, AttributeError):
            raise ParseError(
                self.text, start, f"#{name} with a value of another kind", "the values that Triton prints", "compare them"
            ) from None

    def alias(self, name: str, start: int) -> Any:
        if name not in self.names:
            have = ", ".join(self.names) or "none"
            raise ParseError(
                self.text, start, f"#{name} is a name", f"names that are given: {have}", f"from_text(text, {{'{name}': layout}})"
            )
        found = self.names[name]
        if isinstance(found, str):
            rest = {key: value for key, value in self.names.items() if key != name}  # so that no name stands for itself
            return from_text(found, rest)
        return found

    def items(self, depth: int) -> Pairs:
        pairs: Pairs = {}
        self.need("<")
        while not self.take(">"):
            if self.peek() == "[":
                pairs["padding"] = self.paddings()
                self.take(",")
                continue
            pairs.update(self.braced(depth) if self.peek() == "{" else self.pair(depth))
            if self.peek() != ">":
                self.need(",")
        return pairs

    def braced(self, depth: int) -> Pairs:
        pairs: Pairs = {}
        self.need("{")
        while not self.take("}"):
            pairs.update(self.pair(depth))
            if self.peek() != "}":
                self.need(",")
        return pairs

    def pair(self, depth: int) -> Pairs:
        key = self.next()
        self.need("=")
        return {key: self.value(depth + 1)}

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self.wrong(f"values of at most {MAX_DEPTH} levels")
        token = self.peek()
        if token == "[":
            return self.list(depth)
        if token == "{":
            return self.braced(depth)
        if token == "#":
            return self.attribute(depth)
        if token in ("true", "false"):
            return self.next() == "true"
        if not token.lstrip("-").isdecimal():
            raise self.wrong("an integer, true, false, a list, or an attribute")
        return int(self.next())

    def list(self, depth: int) -> Any:
        found = []
        self.need("[")
        while not self.take("]"):
            found.append(self.value(depth + 1))
            if self.peek() != "]":
                self.need(",")
        return found

    def paddings(self) -> Any:
        found = []
        self.need("[")
        while not self.take("]"):
            interval = self.value(0)
            self.need(":+")
            found.append([interval, self.value(0)])
            if self.peek() != "]":
                self.need(",")
        return found
