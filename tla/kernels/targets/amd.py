"""Matrix instructions of AMD's GPUs: each a function of the text around a builtin of the compiler.

Source: LLVM's "User Guide for AMDGPU Backend"; clang's BuiltinsAMDGPU.def; the ISA manuals of CDNA and RDNA.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.element import double, float, half, int8, int32
from ...core.errors import LeafTypeError
from ...core.int_tuple import leaves
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ..program.instructions import Instructions, Registers, Tile

#: Architectures that have MFMA; those that have WMMA, with what ends the names of their builtins.
_MFMA = ("cdna1", "cdna2", "cdna3", "cdna4")
_WMMA = {"rdna3": "", "rdna4": "_gfx12"}
#: The types of A (and B) and of D in the names of builtins.
_TYPES = {(half, float): ("f16", "f32"), (float, float): ("f32", "f32")}
_TYPES |= {(double, double): ("f64", "f64"), (int8, int32): ("i8", "i32")}
#: Shapes whose builtins have no _ before the type: those of CDNA 1 and 2.
_FIRST = {"32x32x8f16", "16x16x16f16", "32x32x2f32", "16x16x4f32", "32x32x8i8", "16x16x16i8", "16x16x4f64"}
#: The type of an element in vectors of the compiler, and what integers of 8 bits are packed in, by their number.
_VECTOR = {"__half": "_Float16", "float": "float", "double": "double", "int": "int"}
_PACKED = {4: "int", 8: "long", 16: "int __attribute__((ext_vector_type(4)))"}


class Builtins(Instructions):
    """AMD's matrix instructions. functions: those of the text that are called, by name."""

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether it is an MFMA of floats or of integers of 8 bits, or a WMMA of float16 with sums in float32."""
        if not isinstance(atom, MMAAtom) or atom.val_A != atom.val_B or (atom.val_A, atom.val_D) not in _TYPES:
            return False
        return atom.arch in _MFMA or (atom.arch in _WMMA and atom.val_A == half)

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
        call = f"{_builtin(atom)}(a, b, c{', 0, 0, 0' if atom.arch in _MFMA else ''})"
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


def _type_of(kind: str, count: int) -> str:
    if kind == "signed char":
        return _PACKED[count]
    return _VECTOR[kind] if count == 1 else f"{_VECTOR[kind]} __attribute__((ext_vector_type({count})))"


def _builtin(atom: MMAAtom) -> str:
    """The builtin of an instruction."""
    element, result = _TYPES[atom.val_A, atom.val_D]
    shape = "x".join(str(int(n)) for n in leaves(atom.shape_mnk))
    if atom.arch in _WMMA:
        return f"__builtin_amdgcn_wmma_{result}_{shape}_{element}_w{atom.wave}{_WMMA[atom.arch]}"
    return f"__builtin_amdgcn_mfma_{result}_{shape}{'' if shape + element in _FIRST else '_'}{element}"
