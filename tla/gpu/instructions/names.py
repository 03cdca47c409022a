"""Atoms by their names, as the vendors' sources write them.

Text is parsed by a grammar of its own: name, or name<argument, ...>, where a name may stand in namespaces.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any

from ...core.brackets import split
from ...core.cache import plain_memo
from ...core.element import Element
from ...core.errors import LeafTypeError, ParseError, RangeError
from ...core.int_tuple import shown
from ...core.ints import known
from . import amd, amx, copies, intel, simd, tcgen05, warp, wgmma
from .arithmetic import ScaleIn
from .atom import Atom, CopyAtom, Major, MMAAtom
from .elements import CPP, as_element
from .entries import Entry, Family


@plain_memo
def _entries() -> dict[str, list[Entry]]:
    """The rows of every name without its namespaces: AMD has one name on several architectures."""
    out: dict[str, list[Entry]] = {}
    for module in (warp, wgmma, tcgen05, copies, intel, amx, simd, amd):
        for e in module.entries():
            out.setdefault(_plain_name(e.name), []).append(e)
    return out


def _plain_name(name: str) -> str:
    return name.rpartition("::")[2]


def entry(name: str) -> Any:
    """The atom or the family of a name without brackets, on its newest architecture; None where there is none. Atoms
    are made once."""
    found = _entries().get(name)
    return found and _without_brackets(_of_arch(name, found, None))


@plain_memo
def _without_brackets(e: Entry) -> Atom | Family:
    return Family(e) if e.is_template else _made(e)


@plain_memo
def _made(e: Entry, *arguments: Any) -> Atom:
    return e.atom(*arguments)


def _of_arch(text: str, found: list[Entry], arch: str | None) -> Entry:
    """The row of an architecture, of the last one where none is asked for."""
    wanted = arch or found[-1].arch
    for e in found:
        if e.is_of(wanted) or e.arch == "universal":
            return e
    own = sorted({e.arch if e.wave is None else f"{e.arch}/{e.wave}" for e in found})
    expected = f"its own architecture, {' or '.join(map(repr, own))}"
    raise RangeError(f"{text} of {arch!r}", expected, f"write {own[0]!r}, or leave it out")


def names() -> list[str]:
    """Every name that `from tla.gpu import ...` knows in addition to its functions."""
    return [*_entries()]


def atom(text: str, arch: str | None = None) -> Any:
    """The atom of a name, as the vendor's source writes it: C++ template arguments in angle brackets,
    namespaces or none.

    text      "SM75_U16x2_LDSM_T", "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>",
              "XE_DPAS_TT<2,float,...>", AMD's "v_mfma_f32_16x16x2bf16"
    arch      "sm80", "cdna1", "xe": that it is an atom of this architecture is checked; AMD's have one name on several.
              With "rdna3/64" it is the one for waves of 64 lanes
    Raises    ParseError for a text that is no name; RangeError for a name that there is not, or is
              of another architecture

    >>> from tla.gpu import atom
    >>> print(atom("SM80_16x8x8_F32F16F16F32_TN").C, atom("UniversalCopy<uint128_t>", "universal").src)
    ((_4,_8),(_2,_2)):((_32,_1),(_16,_8)) (_1,_128):(_0,_1)

    Source: CUTLASS; the manuals of the vendors.
    """
    if not isinstance(text, str):
        fix = 'write atom("SM80_16x8x8_F32F16F16F32_TN")'
        raise LeafTypeError(f"atom of a {type(text).__name__}", "the name of an instruction", fix)
    if arch is not None and not isinstance(arch, str):
        raise LeafTypeError(f"the architecture {shown(arch)}", "a text", "write 'sm80'")
    name, arguments = _parsed(text)
    found = _entries().get(_cutlass_name(text, name))
    if found is None:
        raise RangeError(f"the atom {text!r}", "a name of an instruction", _nearest(name))
    e = _of_arch(text, found, arch)
    made = _without_brackets(e)
    return made[tuple(arguments)] if arguments or e.is_template else made


def _parsed(text: str) -> tuple[str, list[Any]]:
    """A name without namespaces, and its template arguments: of AMD's instructions those that its
    modifiers stand for."""
    if (amds := re.match(r"\s*(v_\w+)(?=\s|$)", text)) and len(text) <= 1000:
        modifiers = text[amds.end() :]
        return amds[1], [*amd.read_modifiers(amds[1], modifiers)] if modifiers.strip() else []
    match = re.fullmatch(r"\s*([A-Za-z_][\w:]*)\s*(?:<(.*)>\s*)?(?:\{\})?", text, re.DOTALL)
    if match is None or len(text) > 1000:
        what, expected = "no name of an instruction", "a name, or name<argument, ...>"
        raise ParseError(text[:1000], 0, what, expected, "write it as the source does")
    return _plain_name(match[1]), [_argument(part) for part in split(match[2] or "") if part]


def _cutlass_name(text: str, name: str) -> str:
    """The name that we have for CUTLASS's own structs: SM90::GMMA::MMA_64x8x16_... is SM90_64x8x16_..."""
    return f"SM90_{name[4:]}" if name.startswith("MMA_") and "SM90" in text else name


def _argument(text: str) -> Any:
    """A template argument: an integer, a major, a sign, a truth value, an element type; anything else is kept
    as it is."""
    plain = text.replace(" ", "")
    number = re.fullmatch(r"(?:Int<|C<|_)?(-?\d+)>?(?:\{\})?", plain)
    if number:
        return int(number[1])
    option = re.fullmatch(r"(?:\w+::)*(Major|ScaleIn|Saturate)::(\w+)", plain)
    if option and option[2] in _OPTIONS[option[1]]:
        return _OPTIONS[option[1]][option[2]]
    if plain in ("K", "MN"):
        return Major[plain]
    return as_element(plain) if plain.replace("cutlass::", "").replace("cute::", "") in CPP else plain


_OPTIONS: dict[str, Any] = {
    "Major": Major.__members__,
    "ScaleIn": ScaleIn.__members__,
    "Saturate": {"False": False, "True": True},
}


def _nearest(name: str) -> str:
    if "_TMA_" in name or "_BULK_" in name:
        return "make_tma_copy(...) makes a copy by TMA: it has no layout of threads"
    same = [x for x in names() if x.startswith(name.partition("_")[0].upper() + "_")]
    close = difflib.get_close_matches(name, same, 1, 0.5) or difflib.get_close_matches(name, names(), 1, 0.5)
    return f"did you mean {close[0]}?" if close else "atoms(arch='sm80') lists those of one architecture"


def atoms(
    arch: str | None = None,
    *,
    a: object = None,
    b: object = None,
    c: object = None,
    kind: type | None = None,
    shape_mnk: tuple[int, int, int] | None = None,
) -> list[Any]:
    """The atoms that have what is asked for.

    arch        "sm80" and so on; None for all of them
    a, b, c     element types of the operands; with one of them given only matrix instructions are found
    kind        MMAAtom or CopyAtom
    shape_mnk   the tile, three integers
    Returns     a list; of templates there are some examples of their arguments

    >>> from tla.gpu import atoms, half
    >>> [x.name for x in atoms(arch="sm75", a=half)]
    ['SM75_16x8x8_F32F16F16F32_TN', 'SM75_16x8x8_F16F16F16F16_TN']
    >>> len(atoms(arch="cdna3")) > 20
    True
    """
    wanted = {side: as_element(t) for side, t in (("A", a), ("B", b), ("C", c)) if t is not None}
    given: tuple[Any, ...] = shape_mnk if isinstance(shape_mnk, tuple) else (shape_mnk,)
    if shape_mnk is not None and (len(given) != 3 or any(known(n) is None for n in given)):
        raise LeafTypeError(f"atoms of the shape {shown(shape_mnk)}", "three integers, M, N and K", "write (16, 8, 16)")
    if not (kind is None or kind is MMAAtom or kind is CopyAtom):
        raise LeafTypeError(f"atoms of the kind {shown(kind)}", "MMAAtom or CopyAtom", "leave kind out for both")
    shape = None if shape_mnk is None else tuple(map(int, given))
    return [x for x in _all(arch) if (kind is None or isinstance(x, kind)) and _has(x, wanted, shape)]


def _has(x: Atom, wanted: dict[str, Element], shape: tuple[int, ...] | None) -> bool:
    """Whether an atom has these element types of operands, and this tile."""
    if not isinstance(x, MMAAtom):
        return not wanted and shape is None
    own = {"A": {x.val_A, *x.types[:1]}, "B": {x.val_B, *x.types[1:]}, "C": {x.val_C}}
    return all(t in own[side] for side, t in wanted.items()) and shape in (None, tuple(x.shape_mnk))


def _all(arch: str | None) -> Iterator[Atom]:
    if arch is not None and not isinstance(arch, str):
        raise LeafTypeError(f"the architecture {arch!r}", "a text", "write 'sm80'")
    rows = [e for found in _entries().values() for e in found]
    chosen = [e for e in rows if e.is_of(arch)]
    if not chosen:
        raise RangeError(f"the architecture {arch!r}", ", ".join(sorted({e.arch for e in rows})), "write 'sm80'")
    return (_made(e, *arguments) for e in chosen if not e.unlisted for arguments in e.examples)


class _Brackets:
    """A name of CuTe's that takes its arguments in brackets."""

    def __init__(self, of: Callable[..., Atom]) -> None:
        self.__name__, self._of, self.__doc__ = of.__name__, of, of.__doc__

    def __getitem__(self, arguments: Any) -> Any:
        return self._of(*arguments if isinstance(arguments, tuple) else (arguments,))

    def __reduce__(self) -> str:
        return self.__name__


@_Brackets
def Copy_Atom(*given: object) -> CopyAtom:
    """A copy instruction that copies elements of a type, as CuTe writes it: `Copy_Atom[operation, element]`.

    >>> from tla.gpu import Copy_Atom, UniversalCopy, half, uint128
    >>> print(Copy_Atom[UniversalCopy[uint128], half].val_src)
    (_1,_8):(_0,_1)

    Raises DivisibilityError for a type that is no whole part of what a thread copies. Source: CuTe `Copy_Atom`.
    """
    operation, element = given if len(given) == 2 else (None, None)
    operation = atom(operation) if isinstance(operation, str) else operation
    if not isinstance(operation, CopyAtom):
        fix = "write Copy_Atom[UniversalCopy[uint128], half]"
        raise LeafTypeError(f"Copy_Atom[{given!r}]", "a copy instruction and an element type", fix)
    return operation[element]


@_Brackets
def MMA_Atom(*given: object) -> MMAAtom:
    """The atom of a matrix instruction, as CuTe writes it: `MMA_Atom[operation]`, the operation itself.

    >>> from tla.gpu import MMA_Atom, SM80_16x8x8_F32F16F16F32_TN
    >>> MMA_Atom[SM80_16x8x8_F32F16F16F32_TN]() is SM80_16x8x8_F32F16F16F32_TN
    True

    Source: CuTe `MMA_Atom`.
    """
    operation = atom(given[0]) if isinstance(given[0], str) else given[0]
    if not isinstance(operation, MMAAtom):
        fix = "write MMA_Atom[SM80_16x8x8_F32F16F16F32_TN]"
        raise LeafTypeError(f"MMA_Atom[{operation!r}]", "a matrix instruction", fix)
    return operation
