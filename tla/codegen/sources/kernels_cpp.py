"""Atoms, tiled MMAs and tiled copies as C++ of CuTe: all of them are types.

Source: CuTe include/cute/atom/mma_atom.hpp, copy_atom.hpp; CUTLASS's names of instructions.
"""

from __future__ import annotations

import re
from typing import Any

from ...core.element import int32
from ...core.int_tuple import Underscore
from ...core.ints import Leaf
from ...gpu import CopyAtom, MMAAtom, TiledCopy, TiledMMA
from ...gpu.instructions.elements import cpp_name
from .cute_cpp import cute_cpp
from .sizes import not_in

_PLAIN = {"float", "double"}
#: Structs without template arguments: their traits have them.
_NO_STRUCT = re.compile(r"SM100_MMA_F8F6F4_(2x1SM_)?SS<")


def kernel_cpp(x: MMAAtom | TiledMMA) -> str:
    """An atom, a TiledMMA or a TiledCopy as C++ of CuTe."""
    return f"{_type(x)}{{}}"


def _type(x: MMAAtom | TiledMMA) -> str:
    if isinstance(x, MMAAtom):
        return f"cute::MMA_Atom<{_traits(x) if _NO_STRUCT.match(x.name) else operation(x)}>"
    if isinstance(x, CopyAtom):
        if x.val_type is None:
            return operation(x)
        return f"cute::Copy_Atom<{operation(x)}, {_qualified(cpp_name(x.val_type))}>"
    if isinstance(x, TiledMMA):
        return f"cute::TiledMMA<{_type(x.atom)}, {_part(x.thr_layout)}, {_tile(x.permutations)}>"
    assert isinstance(x, TiledCopy)
    return f"cute::TiledCopy<{_type(x.atom)}, {_part(x.TV)}, {_tile(x.tiler_mn)}>"


def _traits(atom: MMAAtom) -> str:
    """The traits of an instruction whose struct has no arguments: they have the types, extents, majors
    and signs instead."""
    name, _, rest = atom.name.removesuffix(">").partition("<")
    types, extents, others = (rest.split(",")[a:b] for a, b in ((0, 3), (3, 5), (5, None)))
    others += ["UMMA::ScaleIn::One"] * (4 - len(others))
    constants = [f"cute::integral_constant<cute::{x.rpartition('::')[0]}, cute::{x}>" for x in others]
    return f"cute::MMA_Traits<{', '.join([_qualified(x) for x in (name, *types)] + [f'cute::C<{n}>' for n in extents] + constants)}>"


def _tile(parts: tuple[Leaf, ...]) -> str:
    return f"cute::Tile<{', '.join(map(_part, parts))}>"


def _part(x: Any) -> str:
    """A static layout or integer as a type, `_` as CuTe's Underscore."""
    return "cute::Underscore" if isinstance(x, Underscore) else cute_cpp(x).removesuffix("{}")


def operation(atom: MMAAtom | CopyAtom) -> str:
    """The struct of an instruction. Raises LeafTypeError for AMD's and AMX's: CuTe has none of them."""
    if not atom.arch.startswith(("sm", "xe", "universal")):
        raise not_in("CuTe", atom.name, "an instruction that CuTe has", "use the compiler's own intrinsic of this name")
    if isinstance(atom, MMAAtom) and atom.arch == "sm90" and atom.wave == 128:
        return _wgmma(atom)
    return _qualified(atom.name)


def _wgmma(atom: MMAAtom) -> str:
    """The struct of a warpgroup's instruction: the majors are arguments of 16-bit types, the signs of floats; one has
    none at all."""
    name, signs = _qualified(atom.name.partition("<")[0]), (atom.arithmetic.negate_A, atom.arithmetic.negate_B)
    if atom.val_D is int32 and not atom.sparsity:
        return name
    given = [f"Major::{x}" for x in (atom.major_A, atom.major_B)] if atom.val_A.bits == 16 else []
    given += [f"ScaleIn::{'Neg' if x else 'One'}" for x in signs] if any(signs) else []
    return f"{name}<{', '.join(f'cute::GMMA::{x}' for x in given)}>"


def _qualified(name: str) -> str:
    """A name with its namespace, and so those of its template arguments."""
    return re.sub(r"(?<![\w:])[A-Za-z_][\w:]*", lambda m: m[0] if m[0] in _PLAIN else f"cute::{m[0]}", name).replace(
        ",", ", "
    )
