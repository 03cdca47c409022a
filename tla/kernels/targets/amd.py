"""Matrix instructions of AMD's GPUs: each a function of the text around a builtin of the compiler.

Source: LLVM's "User Guide for AMDGPU Backend"; clang's BuiltinsAMDGPU.def; the ISA manuals of CDNA and RDNA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...core.element import (
    Element,
    bf16,
    double,
    float,
    fp8_e4m3,
    fp8_e4m3fnuz,
    fp8_e5m2,
    fp8_e5m2fnuz,
    half,
    int8,
    int32,
    tf32,
)
from ...core.errors import LeafTypeError
from ...core.int_tuple import size
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...gpu.instructions.names import atoms
from ..program.instructions import Instructions, Registers, Tile

_FLOATS8 = (fp8_e4m3, fp8_e4m3fnuz, fp8_e5m2, fp8_e5m2fnuz)
#: The types of A -> the type of the sums, of the MFMA that are written; and by the architecture.
_MFMA: dict[Element, Element] = {half: float, bf16: float, float: float, tf32: float, double: double, int8: int32}
_MFMA |= dict.fromkeys(_FLOATS8, float)
_WRITTEN: dict[str, dict[Element, Element]] = {f"cdna{n}": _MFMA for n in range(1, 5)}
_WRITTEN |= {"rdna3": {half: float, bf16: float}, "rdna4": dict.fromkeys((half, bf16, *_FLOATS8), float)}
#: The type of an element in vectors of the compiler, and what elements of 8 bits are packed in, by their number.
_VECTOR = {"__half": "_Float16", "__bf16": "short", "float": "float", "double": "double", "int": "int"}
_PACKED = {4: "int", 8: "long", 16: "int __attribute__((ext_vector_type(4)))"}


class Builtins(Instructions):
    """AMD's matrix instructions. functions: those of the text that are called, by name."""

    def require(self, condition: str) -> str:
        return f"if (!({condition})) __builtin_trap();"

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether it is an MFMA, or a WMMA with sums in float32; of 8 bits those whose operands are packed in integers."""
        if not isinstance(atom, MMAAtom) or _WRITTEN.get(atom.arch, {}).get(atom.val_A) != atom.val_D:
            return False
        if atom.val_A.bits == 8 and int(size(atom.A[1])) not in _PACKED:
            return False
        return atom.val_A == atom.val_B or {atom.val_A, atom.val_B} <= {*_FLOATS8}

    def product(
        self, atom: MMAAtom, operands: list[dict[str, Registers]], tiles: list[dict[str, Tile]]
    ) -> Iterator[tuple[list[str], bool]]:
        lines = []
        for given in operands:
            self._function(atom, given)
            lines.append(f"{atom.instruction}({', '.join(f'&{given[x].name}[{_first(given[x])}]' for x in 'DABC')});")
        yield lines, True

    def _function(self, atom: MMAAtom, given: dict[str, Registers]) -> None:
        """Keep the function of an instruction, which takes each operand from registers that follow on one another."""
        builtin, kinds = _builtin(atom), {x: given[x].kind for x in "DABC"}
        types = {x: _type_of(builtin, kinds[x], len(given[x].elements)) for x in "ABC"}
        call = f"__builtin_amdgcn_{builtin}(a, b, c{', 0, 0, 0' if atom.arch.startswith('cdna') else ''})"
        parameters = ", ".join(f"{'' if x == 'D' else 'const '}{kinds[x]} *{x.lower()}_at" for x in "DABC")
        self.functions[atom.instruction] = [
            f"static __device__ __forceinline__ void {atom.instruction}({parameters}) {{",
            *(f"    typedef {types[x]} {x}; {x} {x.lower()};" for x in "ABC"),
            *(f"    __builtin_memcpy(&{x}, {x}_at, sizeof {x});" for x in "abc"),
            f"    c = {call};",
            "    __builtin_memcpy(d_at, &c, sizeof c);",
            "}",
        ]


def _first(x: Registers) -> int:
    """The first of registers that follow on one another; LeafTypeError for others."""
    first = x.elements[0]
    if x.elements != tuple(range(first, first + len(x.elements))):
        what = f"registers {', '.join(map(str, x.elements))} of {x.name} as an operand"
        fix = "make them by partition_fragment_A(...) or the like"
        raise LeafTypeError(what, "registers that follow on one another", fix)
    return first


def _type_of(builtin: str, kind: str, count: int) -> str:
    """The compiler's type of an operand."""
    if kind not in _VECTOR:
        is_pair = count == 8 and "wmma" in builtin
        return "int __attribute__((ext_vector_type(2)))" if is_pair else _PACKED[count]
    each = _VECTOR[kind]
    if kind == "__bf16" and builtin.startswith("mfma") and builtin.endswith("_bf16"):
        each = kind  # those of CDNA 4 alone; all others take bits
    return each if count == 1 else f"{each} __attribute__((ext_vector_type({count})))"


def _builtin(atom: MMAAtom) -> str:
    """The compiler's name of an instruction, behind __builtin_amdgcn_: where CDNA 3 and 4 have given one of CDNA 1 or 2
    another name, the first one."""
    name = atom.instruction.removeprefix("v_")
    if "wmma" in name:
        return f"{name}_w{atom.wave}{'_gfx12' if atom.arch == 'rdna4' else ''}"
    older = re.sub(r"(x\d+)_(\w+)$", r"\1\2", name).replace("bf16", "bf16_1k")
    is_older = atom.arch in ("cdna3", "cdna4") and f"v_{older}" in {x.instruction for x in atoms("cdna2", kind=MMAAtom)}
    return older if is_older else name
