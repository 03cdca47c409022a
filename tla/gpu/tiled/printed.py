"""TiledMMA, TiledCopy and the atoms as CuTe's C++ and its DSL print them, read whole.

    print  = header line { key ":" value line } { print } a tiled one is followed by its atom, a thread's view
           by what it is of
    header = TiledMMA | MMA_Atom | TiledCopy | Copy_Atom | ThrMMA | ThrCopy the DSL writes a blank in place of `_`
    value  = what tla.parse reads, or a tile "(" entry { "," entry } ")" of integers, layouts and `_`; the
           DSL's numbers are static

A print says no instruction. The atoms of the library with the same layouts are what it may be of: their names, joined
with "or", are the atom's name, and its element types are those on which they agree.

Source: CuTe include/cute/atom/mma_atom.hpp and copy_atom.hpp, print; the printers of the CuTe DSL.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from ...algebra.codomain import cosize
from ...algebra.complement import complement
from ...algebra.inverse import left_inverse
from ...algebra.predicates import same_map
from ...core.brackets import split
from ...core.cache import plain_memo
from ...core.each_leaf import each_leaf
from ...core.element import Element
from ...core.errors import LeafTypeError, ParseError, TlaError
from ...core.int_tuple import Underscore, _, size
from ...core.ints import is_int, known, static
from ...core.layout import Layout
from ...core.strides import Shape
from ...notation.text import parse
from ..instructions.atom import CopyAtom, MMAAtom, beside
from ..instructions.elements import CPP, MLIR
from ..instructions.names import atoms
from .tiled_copy import TiledCopy
from .tiled_mma import TiledMMA, make_tiled_mma

_HEADER = re.compile(r"\s*(Tiled|MMA|Copy|Thr)[_ ]?(MMA|Copy|Atom)\s*", re.ASCII)
_LINE = re.compile(r"\s*([A-Za-z](?:[A-Za-z_ ]*[A-Za-z_])?)\s*:\s*(\S.*)", re.ASCII)
#: What the keys of C++ and of the DSL mean, without blanks and underscores.
_KEYS = {
    "thrlayoutvmnk": "vmnk",
    "permutationmnk": "permutations",
    "thrid": "thr_id",
    "shapemnk": "shape",
    **{f"layout{x}tv": x.upper() for x in "abc"},
    **{f"tvlayout{x}": x.upper() for x in "abc"},
    "tilermn": "tiler",
    "tiledlayouttv": "TV",
    "tvlayouttiled": "TV",
    **{f"{prefix}layout{x}": x for prefix in ("val", "tv") for x in ("src", "dst", "ref")},
    "valuetype": "type",
}
#: What each kind of print has to say.
_NEEDS = {
    "TiledMMA": ("vmnk", "permutations"),
    "MMAAtom": ("thr_id", "shape", "A", "B", "C"),
    "TiledCopy": ("tiler", "TV"),
    "CopyAtom": ("thr_id", "src", "dst", "type"),
}
#: The DSL's keys have blanks, but for ThrID; its bare numbers are static.
_DSL = re.compile(r" |ThrID")
_BARE = re.compile(r"(?<![\w@.])(-?\d+)(?![\w.])")
_UNSAID = Element("unsaid", 1)


def from_print(text: str) -> TiledMMA | TiledCopy | MMAAtom | CopyAtom:
    """Read the print, by CuTe's C++ or DSL, of a TiledMMA, a TiledCopy, an MMA_Atom, a Copy_Atom or a thread's view.

    Raises     ParseError with the line for what is none, LeafTypeError for a copy atom of the DSL whose
               registers are not known

    >>> print(from_print('''TiledMMA
    ...   ThrLayoutVMNK:  (_32,_2,_2,_1):(_1,_32,_64,_0)
    ...   PermutationMNK: (_32,_32,_16)
    ... MMA_Atom
    ...   ThrID:      _32:_1
    ...   Shape_MNK:  (_16,_8,_16)
    ...   LayoutA_TV: ((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128))
    ...   LayoutB_TV: ((_4,_8),(_2,_2)):((_16,_1),(_8,_64))
    ...   LayoutC_TV: ((_4,_8),(_2,_2)):((_32,_1),(_16,_8))''').tile_size)
    (_32,_32,_16)

    Source: CuTe `print` of mma_atom.hpp and copy_atom.hpp.
    """
    if not isinstance(text, str):
        expected = "a text, as print(tiled_mma) writes it"
        raise LeafTypeError(f"from_print of a {type(text).__name__}", expected, "give the text")
    sections = [*_sections(text)]
    kinds = [kind for kind, _found in sections]
    if kinds == ["TiledMMA", "MMAAtom"]:
        return _tiled_mma(text, sections[0][1], _mma_atom(sections[1][1]))
    if kinds == ["MMAAtom"]:
        return _mma_atom(sections[0][1])
    if kinds == ["TiledCopy", "CopyAtom"]:
        return TiledCopy(_copy_atom(sections[1][1]), sections[0][1]["TV"], tuple(map(_extent, sections[0][1]["tiler"])))
    if kinds == ["CopyAtom"]:
        return _copy_atom(sections[0][1])
    what = f"a print of {' and '.join(kinds) or 'nothing'}"
    expected = "a TiledMMA and its MMA_Atom, a TiledCopy and its Copy_Atom, or an atom"
    raise ParseError(text, len(text), what, expected, "paste the print whole")


# ------------------------------------------------------------------------------------------------- lines


def _sections(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The kinds of a print in their order, each with what it says; the lines of a thread's view are left out."""
    kind, found, at = "", dict[str, Any](), 0
    for line in text.split("\n"):
        if header := _HEADER.fullmatch(line):
            yield from _section(text, at, kind, found)
            kind, found = header[1] + header[2], {}
        elif kind and line.strip() and not kind.startswith("Thr"):
            key, value = _line(text, at, line)
            if key in found or key not in (*_NEEDS[kind], "ref"):
                what, expected = f"{line.strip():.40} in a print of {kind}", f"{', '.join(_NEEDS[kind])}, once"
                raise ParseError(text, at, what, expected, "leave the line out")
            found[key] = value
        elif line.strip() and not kind:
            what, expected = f"{line.strip():.40} before the print", "TiledMMA, TiledCopy, MMA_Atom or Copy_Atom"
            raise ParseError(text, at, what, expected, "begin with that")
        at += len(line) + 1
    yield from _section(text, at - 1, kind, found)


def _section(text: str, end: int, kind: str, found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if kind in _NEEDS:
        if missing := [key for key in _NEEDS[kind] if key not in found]:
            what = f"a print of {kind} without {missing[0]}"
            raise ParseError(text, min(end, len(text)), what, "all of its lines", "paste the print whole")
        yield kind, found


def _line(text: str, at: int, line: str) -> tuple[str, Any]:
    """The meaning of a line's key, and its value."""
    match = _LINE.fullmatch(line.rstrip())
    key = _KEYS.get(match[1].replace("_", "").replace(" ", "").lower()) if match else None
    if match is None or key is None:
        expected = "a line such as ThrID: _32:_1, with a key that CuTe prints"
        raise ParseError(text, at, f"the line {line.strip():.40}", expected, "paste the print as it is")
    said = _BARE.sub(r"_\1", match[2]) if _DSL.search(match[1]) else match[2]
    try:
        return key, match[2] if key == "type" else _value(key, said)
    except TlaError as error:
        raise ParseError(text, at + line.index(match[2]), error.reason.what.split("\n")[0], *error.reason[1:]) from None


def _value(key: str, text: str) -> Any:
    if key not in ("permutations", "tiler", "shape"):
        found = parse(text)
        return found if isinstance(found, Layout) else Layout(found, found * 0 + 1)
    inner = text.strip()
    if not (inner.startswith("(") and inner.endswith(")")):
        raise ParseError(text, 0, f"{inner:.40} as a tile", "entries in parentheses", "write (_32,_32,_16)")
    return tuple(_ if part.strip() in ("_", "_:") else parse(part) for part in split(inner[1:-1]))


def _extent(entry: Any) -> Any:
    """An entry of a tile: a layout n:1 is the extent n."""
    if isinstance(entry, Layout) and is_int(entry.shape) and known(entry.stride) == 1:
        return entry.shape
    return entry


# ------------------------------------------------------------------------------------------------- what it is of


def _mma_atom(said: dict[str, Any]) -> MMAAtom:
    shape, names = Shape(*said["shape"]), ("thr_id", "A", "B", "C")
    tvs = [said[name] for name in names]
    known: list[MMAAtom] = _instructions(MMAAtom)
    alike = [x for x in known if x.shape_mnk == shape and [getattr(x, name) for name in names] == tvs]
    if len(alike) == 1:
        return alike[0]
    if not alike:
        types = _UNSAID, _UNSAID, _UNSAID, _UNSAID
        return MMAAtom("an MMA_Atom that was printed", "", *types, shape, *tvs)
    d, a, b, c = (_agreed({getattr(x, f"val_{side}") for x in alike}) for side in "DABC")
    arch = alike[0].arch if len({x.arch for x in alike}) == 1 else ""
    names_of = _joined([x.name for x in alike])
    return dataclasses.replace(alike[0], name=names_of, arch=arch, instruction="", val_D=d, val_A=a, val_B=b, val_C=c)


def _agreed(found: set[Element]) -> Element:
    return found.pop() if len(found) == 1 else _UNSAID


def _joined(names: list[str]) -> str:
    return " or ".join(names[:3]) + (f", or {len(names) - 3} more" if len(names) > 3 else "")


@plain_memo
def _instructions(kind: type) -> list[Any]:
    return atoms(kind=kind)


def _tiled_mma(text: str, said: dict[str, Any], atom: MMAAtom) -> TiledMMA:
    """The tiled MMA whose threads are those of the print: they are the atom's, and then those of M, N and K."""
    vmnk = said["vmnk"]
    places = left_inverse(complement(atom.thr_id, cosize(vmnk)))  # of the atom's copies, by the first thread of each
    modes = (m if known(size(m)) == 1 else Layout(m.shape, places(m.stride)) for m in [*vmnk][1:])
    permutations = tuple(x if isinstance(x, Underscore) else _extent(x) for x in said["permutations"])
    made = make_tiled_mma(atom, beside(*modes), permutations)
    if made.thr_layout_vmnk != vmnk:
        expected = f"those of the atom {atom.thr_id}, and then of its copies"
        fix = "make it of its parts: make_tiled_mma(atom, threads)"
        raise ParseError(text, 0, f"a TiledMMA with the threads {vmnk}", expected, fix)
    return made


def _copy_atom(said: dict[str, Any]) -> CopyAtom:
    element = _element(said["type"])
    src, dst, ref = said["src"], said["dst"], said.get("ref")
    given = [(src, "val_src"), (dst, "val_dst"), *([] if ref is None else [(ref, "val_ref")])]
    known = _typed(element, said["thr_id"], src)
    alike = [x for x in known if all(same_map(tv, getattr(x, name)) for tv, name in given)]
    if alike:
        words = {x.instruction for x in alike}
        instruction = words.pop() if len(words) == 1 else ""
        return dataclasses.replace(alike[0], name=_joined([x.name for x in alike]), instruction=instruction)
    if ref is None and src != dst:
        what = "a Copy_Atom of the DSL, which does not print what its threads hold, and is none of the library's"
        raise LeafTypeError(what, "one that is known, or C++'s print, with ValLayoutRef", "print it in C++")
    src, dst, ref = (_in_bits(x, element.bits) for x in (src, dst, dst if ref is None else ref))
    return CopyAtom("a Copy_Atom that was printed", "", said["thr_id"], src, dst, ref)[element]


def _in_bits(tv: Layout, bits: int) -> Layout:
    """(thread, value) -> element as (thread, bit) -> bit."""
    threads, values = (each_leaf("from_print", mode.stride, lambda d: d * static(bits)) for mode in tv)
    return Layout((tv[0].shape, (static(bits), tv[1].shape)), (threads, (static(1), values)))


def _typed(element: Element, thr_id: Layout, src: Layout) -> Iterator[CopyAtom]:
    """The copy atoms of so many threads and bits, of elements of this type."""
    for atom in _instructions(CopyAtom):
        if size(atom.thr_id) == size(thr_id) and size(atom.src[1]) == size(src[1]) * element.bits:
            try:
                yield atom[element]
            except TlaError:  # its threads have no whole elements
                continue


def _element(text: str) -> Element:
    """The element type of a print: a name of MLIR's, as f16, or of C++ a width, as 16b."""
    if width := re.fullmatch(r"([1-9][0-9]{0,3})b", text):
        return Element(f"{width[1]}b", int(width[1]))
    if found := MLIR.get(text) or CPP.get(text):
        return found
    raise LeafTypeError(f"the value type {text:.40}", "a width such as 16b, or a type such as f16", "write 16b")
