"""Matrix instructions of AMD's GPUs: each a function of the text around a builtin of the compiler.

Source: LLVM's "User Guide for AMDGPU Backend"; clang's BuiltinsAMDGPU.def; the ISA manuals of CDNA and RDNA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...core.errors import LeafTypeError
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ..instructions import Instructions, Registers, Tile

_NAME = re.compile(r"v_(mfma)_(\w+?)_(\d+x\d+x\d+)_?(f16|f32|f64|i8)|v_(wmma)_(f32)_(16x16x16)_(f16)")
#: Shapes whose builtins have no _ before the type: those of CDNA 1 and 2.
_FIRST = {"32x32x8f16", "16x16x16f16", "32x32x2f32", "16x16x4f32", "32x32x8i8", "16x16x16i8", "16x16x4f64"}
#: The type of an element in vectors of the compiler, and what integers of 8 bits are packed in, by their number.
_VECTOR = {"__half": "_Float16", "float": "float", "double": "double", "int": "int"}
_PACKED = {4: "int", 8: "long", 16: "int __attribute__((ext_vector_type(4)))"}


class Builtins(Instructions):
    """AMD's matrix instructions. functions: those of the text that are called, by name."""

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether it is an MFMA of floats or of integers of 8 bits, or a WMMA of float16 with sums in float32."""
        return isinstance(atom, MMAAtom) and _NAME.fullmatch(atom.instruction) is not None

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
        kinds = {x: given[x].kind for x in "DABC"}
        types = {x: _type_of(kinds[x], len(given[x].elements)) for x in "DABC"}
        call = f"{_builtin(atom)}(a, b, c{', 0, 0, 0' if '_mfma_' in atom.instruction else ''})"
        self.functions[atom.instruction] = [
            f"static __device__ __forceinline__ void {atom.instruction}("
            f"{', '.join(f'''{'' if x == 'D' else 'const '}{kinds[x]} *{x.lower()}_at''' for x in 'DABC')}) {{",
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
        raise LeafTypeError(what, "registers that follow on one another", "make them by partition_fragment_A(...) or the like")
    return first


def _type_of(kind: str, count: int) -> str:
    if kind == "signed char":
        return _PACKED[count]
    return _VECTOR[kind] if count == 1 else f"{_VECTOR[kind]} __attribute__((ext_vector_type({count})))"


def _builtin(atom: MMAAtom) -> str:
    """The builtin of an instruction."""
    found = _NAME.fullmatch(atom.instruction)
    assert found is not None
    kind, result, shape, element = (x for x in found.groups() if x)
    if kind == "wmma":
        return f"__builtin_amdgcn_wmma_{result}_{shape}_{element}_w{atom.wave}{'_gfx12' if atom.arch == 'rdna4' else ''}"
    return f"__builtin_amdgcn_mfma_{result}_{shape}{'' if shape + element in _FIRST else '_'}{element}"
