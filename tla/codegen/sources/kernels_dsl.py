"""Atoms, tiled MMAs and tiled copies as Python of the CuTe DSL, which has a class for a family of instructions.

Source: cutlass.cute.nvgpu of nvidia-cutlass-dsl 4.8.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...core.element import Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import Underscore, shown, size
from ...core.ints import Leaf
from ...gpu import CopyAtom, MMAAtom, TiledCopy, TiledMMA
from .cute_dsl import DSL_TYPES, cute_dsl
from .sizes import not_in

_NVGPU = "cute.nvgpu"
#: What to do about what the DSL does not have.
CPP = "write C++: source(x, 'cute_cpp')"


def kernel_dsl(x: Any) -> str:
    """An atom, a TiledMMA or a TiledCopy as Python of the CuTe DSL."""
    if isinstance(x, MMAAtom):
        return f"cute.make_mma_atom({_mma(x)})"
    if isinstance(x, CopyAtom):
        return _copy(x)
    if isinstance(x, TiledMMA):
        whole = all(isinstance(p, Underscore) for p in x.permutations)
        tile = "" if whole else f", ({', '.join(map(_part, x.permutations))})"
        return f"cute.make_tiled_mma({_mma(x.atom)}, {cute_dsl(x.thr_layout)}{tile})"
    assert isinstance(x, TiledCopy)
    return f"cute.make_tiled_copy({_copy(x.atom)}, {cute_dsl(x.TV)}, ({', '.join(map(_part, x.tiler_mn))},))"


def _part(x: Leaf) -> str:
    """A mode of a tiler: a number, a layout, or None for `_`."""
    return "None" if isinstance(x, Underscore) else cute_dsl(x)


def _dtype(where: str, element: Element) -> str:
    name = DSL_TYPES.get(element.name)
    if name is None:
        what = f"{where} as source of the CuTe DSL: {element}"
        raise LeafTypeError(what, f"one of {', '.join(DSL_TYPES)}", "write C++: source(x, 'cute_cpp')")
    return f"cutlass.{name}"


# ------------------------------------------------------------------------------------------------------------- MMA


def _mma(atom: MMAAtom) -> str:
    """The operation of a matrix instruction; LeafTypeError for one that the DSL does not have."""
    for pattern, write in _MMAS.items():
        found = re.fullmatch(pattern, atom.name)
        text = write(atom, *found.groups()) if found else None
        if text:
            return text
    raise not_in("the CuTe DSL", atom.name, "an instruction that the DSL has", CPP)


def _types(atom: MMAAtom, *sides: str) -> str:
    return ", ".join(_dtype(atom.name, getattr(atom, f"val_{side}")) for side in sides)


def _shape(atom: MMAAtom) -> str:
    return str(tuple(map(int, atom.shape_mnk)))


def _universal(atom: MMAAtom) -> str | None:
    one = {atom.val_A, atom.val_B, atom.val_C, atom.val_D}
    known = len(one) == 1 and atom.val_A.name in ("half", "float", "double")
    return f"{_NVGPU}.MmaUniversalOp({_types(atom, 'A')})" if known else None


def _warp(atom: MMAAtom, a: str, b: str) -> str | None:
    """mma.sync of one type of A and B, and one of C and D."""
    if a != b or atom.val_C is not atom.val_D:
        return None
    if a == "TF32":
        return f"{_NVGPU}.warp.MmaTF32Op({_shape(atom)})"
    return f"{_NVGPU}.warp.{'MmaFP8Op' if 'E' in a else 'MmaF16BF16Op'}({_types(atom, 'A', 'C')}, {_shape(atom)})"


def _majors(atom: MMAAtom) -> str:
    return ", ".join(f"{_NVGPU}.OperandMajorMode.{x}" for x in (atom.major_A, atom.major_B))


def _wgmma(atom: MMAAtom, inputs: str, source: str) -> str:
    where = {"SS": "SMEM", "RS": "RMEM"}[source]
    kind, types = ("F8", ("A", "B", "C")) if inputs.startswith("E") else ("F16BF16", ("A", "C"))
    given = f"{_types(atom, *types)}, {_shape(atom)}, {_NVGPU}.warpgroup.OperandSource.{where}, {_majors(atom)}"
    return f"{_NVGPU}.warpgroup.Mma{kind}Op({given})"


def _tcgen05(atom: MMAAtom, kind: str, sms: str | None, source: str) -> str | None:
    where, group = {"SS": "SMEM", "TS": "TMEM"}[source], "TWO" if sms else "ONE"
    if kind == "TF32" and atom.val_A.name != "tf32":
        return None
    types = {"TF32": "", "F16BF16": _types(atom, "A", "C") + ", "}[kind]
    place = f"{_NVGPU}.tcgen05.CtaGroup.{group}, {_NVGPU}.tcgen05.OperandSource.{where}"
    return f"{_NVGPU}.tcgen05.Mma{kind}Op({types}{_shape(atom)}, {place}, {_majors(atom)})"


#: The names of instructions that the DSL has, and what writes each.
_MMAS: dict[str, Callable[..., str | None]] = {
    r"UniversalFMA<.*>": _universal,
    r"SM80_16x8x(?:8|16)_F(?:16|32)(F16|BF16)(F16|BF16)F(?:16|32)_TN": _warp,
    r"SM80_16x8x(?:4|8)_F32(TF32)(TF32)F32_TN": _warp,
    r"SM89_16x8x32_F(?:16|32)(E4M3|E5M2)(E4M3|E5M2)F(?:16|32)_TN": _warp,
    r"SM90_64x\d+x\d+_F(?:16|32)(F16F16|BF16BF16|E\dM\dE\dM\d)_(SS|RS)(?:_TN)?(?:<.*>)?": _wgmma,
    r"SM100_MMA_(TF32|F16BF16)_(2x1SM_)?(SS|TS)<[^>]*::(?:K|MN)>": _tcgen05,
}


# ------------------------------------------------------------------------------------------------------------ copy


def _copy(atom: CopyAtom) -> str:
    """The atom of a copy instruction; LeafTypeError without an element type, and for one that the DSL does not have."""
    if atom.val_type is None:
        what = f"{atom.name} as source of the CuTe DSL, without an element type"
        raise LeafTypeError(what, "the type of what it copies", f"write Copy_Atom[{atom.name}, half]")
    for pattern, operation in _COPIES.items():
        found = re.fullmatch(pattern, atom.name)
        if found:
            bits = f", num_bits_per_copy={int(size(atom.src))}" if int(size(atom.thr_id)) == 1 else ""
            return f"cute.make_copy_atom({_NVGPU}.{operation(found)}, {_dtype(atom.name, atom.val_type)}{bits})"
    raise not_in("the CuTe DSL", shown(atom), "an instruction that the DSL has", CPP)


_COPIES: dict[str, Callable[[re.Match[str]], str]] = {
    r"UniversalCopy<.*>": lambda m: "CopyUniversalOp()",
    r"SM80_CP_ASYNC_CACHE(ALWAYS|GLOBAL)<.*>": lambda m: f"cpasync.CopyG2SOp({_NVGPU}.LoadCacheMode.{m[1]})",
    r"SM75_U(32|16)x(\d)_LDSM_[NT]": lambda m: f"warp.LdMatrix8x8x16bOp({_matrices(m)})",
    r"SM90_U(32|16)x(\d)_STSM_[NT]": lambda m: f"warp.StMatrix8x8x16bOp({_matrices(m)})",
}


def _matrices(m: re.Match[str]) -> str:
    """Whether the matrices are transposed, and how many: CUTLASS counts registers of 32 bits, or elements of 16."""
    return f"{m[1] == '16'}, {int(m[2]) * int(m[1]) // 32}"
