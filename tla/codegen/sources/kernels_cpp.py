"""Atoms, tiled MMAs and tiled copies as C++ of CuTe: all of them are types.

Source: CuTe include/cute/atom/mma_atom.hpp, copy_atom.hpp; CUTLASS's names of instructions.
"""

from __future__ import annotations

import re
from typing import Any

from ...core.errors import LeafTypeError
from ...core.int_tuple import Underscore
from ...gpu import CopyAtom, MMAAtom, TiledCopy, TiledMMA
from ...gpu.instructions.elements import cpp_name
from .cute_cpp import cute_cpp

_PLAIN = {"float", "double"}
#: wgmma of integers is no template where A is dense; of other types where both may only be K-major it has defaults for all.
_NO_TEMPLATE = re.compile(r"SM90_64x\d+x\d+_S32.*")
#: Structs without template arguments: their traits have them.
_NO_STRUCT = re.compile(r"SM100_MMA_F8F6F4_(2x1SM_)?SS<")


def kernel_cpp(x: Any) -> str:
    """An atom, a TiledMMA or a TiledCopy as C++ of CuTe."""
    return f"{_type(x)}{{}}"


def _type(x: Any) -> str:
    if isinstance(x, MMAAtom):
        return f"cute::MMA_Atom<{_traits(x) if _NO_STRUCT.match(x.name) else operation(x)}>"
    if isinstance(x, CopyAtom):
        return operation(x) if x.val_type is None else f"cute::Copy_Atom<{operation(x)}, {_qualified(cpp_name(x.val_type))}>"
    if isinstance(x, TiledMMA):
        return f"cute::TiledMMA<{_type(x.atom)}, {_part(x.thr_layout)}, {_tile(x.permutations)}>"
    assert isinstance(x, TiledCopy)
    return f"cute::TiledCopy<{_type(x.atom)}, {_part(x.TV)}, {_tile(x.tiler_mn)}>"


def _traits(atom: MMAAtom) -> str:
    """The traits of an instruction whose struct has no arguments: they have the types, extents, majors and signs instead."""
    name, _, rest = atom.name.removesuffix(">").partition("<")
    types, extents, others = (rest.split(",")[a:b] for a, b in ((0, 3), (3, 5), (5, None)))
    others += ["UMMA::ScaleIn::One"] * (4 - len(others))
    constants = [f"cute::integral_constant<cute::{x.rpartition('::')[0]}, cute::{x}>" for x in others]
    return f"cute::MMA_Traits<{', '.join([_qualified(x) for x in (name, *types)] + [f'cute::C<{n}>' for n in extents] + constants)}>"


def _tile(parts: Any) -> str:
    return f"cute::Tile<{', '.join(map(_part, parts))}>"


def _part(x: Any) -> str:
    """A static layout or integer as a type, `_` as CuTe's Underscore."""
    return "cute::Underscore" if isinstance(x, Underscore) else cute_cpp(x).removesuffix("{}")


def operation(atom: MMAAtom | CopyAtom) -> str:
    """The struct of an instruction. Raises LeafTypeError for AMD's and AMX's: CuTe has none of them."""
    if atom.name.startswith(("v_", "TDP")):
        raise LeafTypeError(
            f"{atom.name} as source of CuTe", "an instruction that CuTe has", "use the compiler's own intrinsic of this name"
        )
    name = _qualified(atom.name)
    if atom.arch != "sm90" or "<" in name or not isinstance(atom, MMAAtom) or atom.wave != 128:
        return name
    if "_TN" not in atom.name:
        return f"{name}<cute::GMMA::Major::{atom.major_A}, cute::GMMA::Major::{atom.major_B}>"
    return name if _NO_TEMPLATE.fullmatch(atom.name) else f"{name}<>"


def _qualified(name: str) -> str:
    """A name with its namespace, and so those of its template arguments."""
    return re.sub(r"(?<![\w:])[A-Za-z_][\w:]*", lambda m: m[0] if m[0] in _PLAIN else f"cute::{m[0]}", name).replace(",", ", ")
