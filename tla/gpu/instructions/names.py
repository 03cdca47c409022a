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
from ...core.errors import LeafTypeError, ParseError, RangeError
from ...core.int_tuple import shown
from ...core.ints import known
from . import amd, amx, copies, intel, tcgen05, warp, wgmma
from .atom import Atom, CopyAtom, Family, Major, MMAAtom
from .elements import CPP, as_element

_Entry = Family | Callable[[], Atom]


@plain_memo
def _entries() -> dict[str, _Entry]:
    """Every name without its namespaces, and what makes its atom."""
    out: dict[str, _Entry] = {}
    for module in (warp, wgmma, copies, amx):
        out |= {_plain_name(name): make for name, make in module.table()}
    for source in (warp, tcgen05, copies, intel):
        out |= {_plain_name(f.name): f for f in source.families()}
    return out


def _plain_name(name: str) -> str:
    return name.rpartition("::")[2]


def entry(name: str) -> Any:
    """The atom or the family of a name without brackets; None where there is none. Atoms are made once."""
    found = _entries().get(name)
    return found if found is None or isinstance(found, Family) else _made(name)


@plain_memo
def _made(name: str) -> Atom:
    make = _entries()[name]
    assert not isinstance(make, Family)
    return make()


def names() -> list[str]:
    """Every name that `from tla.gpu import ...` knows in addition to its functions."""
    return [*_entries()]


def atom(text: str, arch: str | None = None) -> Any:
    """The atom of a name, as the vendor's source writes it: C++ template arguments in angle brackets, namespaces or none.

    text      "SM75_U16x2_LDSM_T", "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>", "XE_DPAS_TT<2,float,...>",
              AMD's "v_mfma_f32_16x16x2bf16"
    arch      "sm80", "cdna1", "xe": that it is an atom of this architecture is checked; AMD's have one name on several. With
              "rdna3/64" it is the one for waves of 64 lanes
    Raises    ParseError for a text that is no name; RangeError for a name that there is not, or is of another architecture

    >>> from tla.gpu import atom
    >>> print(atom("SM80_16x8x8_F32F16F16F32_TN").C, atom("UniversalCopy<uint128_t>", "universal").src)
    ((_4,_8),(_2,_2)):((_32,_1),(_16,_8)) (_1,_128):(_0,_1)

    Source: CUTLASS; the manuals of the vendors.
    """
    if not isinstance(text, str):
        raise LeafTypeError(f"atom of a {type(text).__name__}", "the name of an instruction", 'write atom("SM80_16x8x8_F32F16F16F32_TN")')
    if arch is not None and not isinstance(arch, str):
        raise LeafTypeError(f"the architecture {shown(arch)}", "a text", "write 'sm80'")
    name, arguments = _parsed(text)
    if name.startswith("v_"):
        return amd.instruction(name, arch)
    found = entry(_cutlass_name(text, name))
    if found is None:
        raise RangeError(f"the atom {text!r}", "a name of an instruction", _nearest(name))
    given = [_argument(a) for a in arguments]
    if isinstance(found, Family) or given:
        found = found[tuple(given)]
    if arch is not None and found.arch not in (arch, "universal"):
        raise RangeError(f"{text} of {arch!r}", f"its own architecture, {found.arch!r}", f"write {found.arch!r}, or leave it out")
    return found


def _parsed(text: str) -> tuple[str, list[str]]:
    """A name without namespaces, and its template arguments as texts."""
    match = re.fullmatch(r"\s*([A-Za-z_][\w:]*?)\s*(?:<(.*)>)?\s*(?:\{\})?", text, re.DOTALL)
    if match is None or len(text) > 1000:
        raise ParseError(text[:1000], 0, "no name of an instruction", "a name, or name<argument, ...>", "write it as the source does")
    return _plain_name(match[1]), [part for part in split(match[2] or "") if part]


def _cutlass_name(text: str, name: str) -> str:
    """The name that we have for CUTLASS's own structs: SM90::GMMA::MMA_64x8x16_... is SM90_64x8x16_..."""
    return f"SM90_{name[4:]}" if name.startswith("MMA_") and "SM90" in text else name


def _argument(text: str) -> Any:
    """A template argument: an integer, a major, an element type; anything else is kept as it is."""
    plain = text.replace(" ", "")
    number = re.fullmatch(r"(?:Int<|C<|_)?(-?\d+)>?(?:\{\})?", plain)
    if number:
        return int(number[1])
    if re.fullmatch(r"(?:\w+::)*Major::(K|MN)", plain) or plain in ("K", "MN"):
        return Major[plain.rpartition(":")[2]]
    return as_element(plain) if plain.replace("cutlass::", "").replace("cute::", "") in CPP else plain


def _nearest(name: str) -> str:
    if "_TMA_" in name or "_BULK_" in name:
        return "make_tma_copy(...) makes a copy by TMA: it has no layout of threads"
    same = [x for x in names() if x.startswith(name.partition("_")[0].upper() + "_")]
    close = difflib.get_close_matches(name, same, 1, 0.5) or difflib.get_close_matches(name, names(), 1, 0.5)
    return f"did you mean {close[0]}?" if close else "atoms(arch='sm80') lists those of one architecture"


def atoms(
    arch: str | None = None, *, a: Any = None, b: Any = None, c: Any = None, kind: type | None = None, shape_mnk: Any = None
) -> list[Any]:
    """The atoms that have what is asked for.

    arch        "sm80" and so on; None for all of them
    a, b, c     element types of the operands; with one of them given only matrix instructions are found
    kind        MMAAtom or CopyAtom
    shape_mnk   the tile, three integers
    Returns     a list; of templates there are some examples of their arguments

    >>> from tla.gpu import atoms, half
    >>> [x.name for x in atoms(arch="sm75", a=half)]
    ['SM75_16x8x8_F32F16F16F32_TN']
    >>> len(atoms(arch="cdna3")) > 20
    True
    """
    wanted = {side: as_element(t) for side, t in (("A", a), ("B", b), ("C", c)) if t is not None}
    if not (shape_mnk is None or (isinstance(shape_mnk, tuple) and len(shape_mnk) == 3 and all(known(n) is not None for n in shape_mnk))):
        raise LeafTypeError(f"atoms of the shape {shown(shape_mnk)}", "three integers, M, N and K", "write (16, 8, 16)")
    if not (kind is None or kind is MMAAtom or kind is CopyAtom):
        raise LeafTypeError(f"atoms of the kind {shown(kind)}", "MMAAtom or CopyAtom", "leave kind out for both")
    shape = None if shape_mnk is None else tuple(map(int, shape_mnk))
    out = []
    for found in _all(arch):
        if kind is not None and not isinstance(found, kind):
            continue
        if (wanted or shape) and not isinstance(found, MMAAtom):
            continue
        if isinstance(found, MMAAtom):
            own = {"A": {found.val_A, *found.types[:1]}, "B": {found.val_B, *found.types[1:]}, "C": {found.val_C}}
            if not all(t in own[side] for side, t in wanted.items()) or (shape and tuple(found.shape_mnk) != shape):
                continue
        out.append(found)
    return out


def _all(arch: str | None) -> Iterator[Atom]:
    if arch is not None and not isinstance(arch, str):
        raise LeafTypeError(f"the architecture {arch!r}", "a text", "write 'sm80'")
    architectures = {_arch_of(name, x) for name, x in _entries().items()} | {*amd.ARCHITECTURES}
    if arch is not None and arch not in architectures:
        raise RangeError(f"the architecture {arch!r}", ", ".join(sorted(architectures)), "write 'sm80'")
    for name, x in _entries().items():
        if arch in (None, _arch_of(name, x)):
            yield from x if isinstance(x, Family) else (_made(name),)
    yield from amd.all_of(arch)


def _arch_of(name: str, x: _Entry) -> str:
    if isinstance(x, Family):
        return x.arch
    if name in amx.ROWS:
        return "amx"
    match = re.match(r"SM\d+", name)
    return match[0].lower() if match else "sm90" if name.startswith("GMMA") else "universal"


class _Copy_Atom:
    """`Copy_Atom[operation, element]`: a copy instruction that copies elements of a type, as CuTe writes it.

    >>> from tla.gpu import Copy_Atom, UniversalCopy, half, uint128
    >>> print(Copy_Atom[UniversalCopy[uint128], half].val_src)
    (_1,_8):(_0,_1)

    Raises DivisibilityError for a type that is no whole part of what a thread copies. Source: CuTe `Copy_Atom`.
    """

    __name__ = "Copy_Atom"

    def __getitem__(self, arguments: Any) -> CopyAtom:
        operation, element = arguments if isinstance(arguments, tuple) and len(arguments) == 2 else (None, None)
        operation = atom(operation) if isinstance(operation, str) else operation
        if not isinstance(operation, CopyAtom):
            raise LeafTypeError(
                f"Copy_Atom[{arguments!r}]", "a copy instruction and an element type", "write Copy_Atom[UniversalCopy[uint128], half]"
            )
        return operation[element]

    def __reduce__(self) -> str:
        return self.__name__


Copy_Atom = _Copy_Atom()


class _MMA_Atom:
    """`MMA_Atom[operation]`: the atom of a matrix instruction, as CuTe writes it: the operation itself.

    >>> from tla.gpu import MMA_Atom, SM80_16x8x8_F32F16F16F32_TN
    >>> MMA_Atom[SM80_16x8x8_F32F16F16F32_TN]() is SM80_16x8x8_F32F16F16F32_TN
    True

    Source: CuTe `MMA_Atom`.
    """

    __name__ = "MMA_Atom"

    def __getitem__(self, operation: Any) -> MMAAtom:
        operation = atom(operation) if isinstance(operation, str) else operation
        if not isinstance(operation, MMAAtom):
            raise LeafTypeError(f"MMA_Atom[{operation!r}]", "a matrix instruction", "write MMA_Atom[SM80_16x8x8_F32F16F16F32_TN]")
        return operation

    def __reduce__(self) -> str:
        return self.__name__


MMA_Atom = _MMA_Atom()
