"""Instructions of NVIDIA's GPUs: each a function of the text around its PTX.

Source: the PTX manual, "Warp-level Matrix Instructions", "cp.async".
"""

from __future__ import annotations

from collections.abc import Iterator

from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ..instructions import Instructions, Registers

_DEVICE = "static __device__ __forceinline__ void"
#: A register's constraint, and its type: of elements of 32 and 64 bits; of narrower ones, and of integers, 32 bits of whatever they hold.
_CONSTRAINTS = {"float": ("f", "float"), "double": ("d", "double")}
_SHARED = "(unsigned int)__cvta_generic_to_shared({})"


class Ptx(Instructions):
    """NVIDIA's instructions. functions: those of the text that are called, by name."""

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether it is one of NVIDIA's."""
        return atom is None or atom.instruction.startswith(("mma.sync", "ldmatrix", "cp.async"))

    def copied(self, atom: CopyAtom, source: str, target: str, width: int, condition: str) -> list[str]:
        name = f"{atom.instruction.replace('.', '_')}_{width}"
        given, read = (", bool inside", f', "r"(inside ? {width} : 0)') if atom.fills_zeros else ("", "")
        asm = f'asm volatile("{atom.instruction} [%0], [%1], {width}{", %2" if read else ""};"'
        self.functions[name] = [
            f"{_DEVICE} {name}(void *target, const void *source{given}) {{",
            f'    {asm} :: "r"({_SHARED.format("target")}), "l"(source){read} : "memory");',
            "}",
        ]
        if atom.fills_zeros:
            return [f"{name}(&{target}, &{source}, {condition or 'true'});"]
        return [f"{f'if ({condition}) ' if condition else ''}{name}(&{target}, &{source});"]

    def commit(self) -> list[str]:
        self.functions["cp_async_fence"] = [f'{_DEVICE} cp_async_fence() {{ asm volatile("cp.async.commit_group;"); }}']
        return ["cp_async_fence();"]

    def wait(self, pending: int) -> list[str]:
        name = f"cp_async_wait_{pending}"
        self.functions[name] = [f'{_DEVICE} {name}() {{ asm volatile("cp.async.wait_group {pending};" ::: "memory"); }}']
        return [f"{name}();"]

    def matrices(self, atom: CopyAtom, rows: list[str], targets: list[Registers]) -> Iterator[tuple[list[str], bool]]:
        name, count = atom.instruction.replace(".", "_"), atom.writes.bits
        lines = []
        for row, target in zip(rows, targets):
            words = self._words(target, count)
            self._function(name, atom.instruction, [("=", "r", "unsigned int", len(words))], row=True)
            lines.append(f"{name}({', '.join([*words, f'&{row}'])});")
        yield lines, True

    def product(self, atom: MMAAtom, operands: list[dict[str, Registers]]) -> Iterator[tuple[list[str], bool]]:
        name = atom.instruction.replace(".", "_").replace("::", "_")
        lines = []
        for given in operands:
            words = {x: self._words(given[x], atom.register_bits) for x in "DABC"}
            forms = [("=" if x == "D" else "", *self._constraint(given[x].kind), len(words[x])) for x in "DABC"]
            self._function(name, atom.instruction, forms, row=False)
            lines.append(f"{name}({', '.join(w for x in 'DABC' for w in words[x])});")
        yield lines, True

    @staticmethod
    def _constraint(kind: str) -> tuple[str, str]:
        return _CONSTRAINTS.get(kind, ("r", "unsigned int"))

    def _words(self, x: Registers, bits: int) -> list[str]:
        """The registers of elements that lie side by side in words, as variables."""
        if x.kind in _CONSTRAINTS:
            return [f"{x.name}[{n}]" for n in x.elements]
        each = bits // (8 * BYTES[x.kind])
        return [f"*reinterpret_cast<unsigned int *>(&{x.name}[{n}])" for n in x.elements[::each]]

    def _function(self, name: str, instruction: str, forms: list[tuple[str, str, str, int]], row: bool) -> None:
        """Keep the function of an instruction: operands as (=, constraint, type, how many), and the address of a row perhaps."""
        if name in self.functions:
            return
        parameters: list[str] = []
        numbers: list[str] = []
        written: list[str] = []
        read: list[str] = []
        at = 0
        for letter, (way, constraint, kind, count) in zip("dabc", forms):
            names = [f"{letter}{i}" for i in range(count)]
            parameters += [f"{kind} {'&' if way else ''}{x}" for x in names]
            numbers.append("{" + ", ".join(f"%{at + i}" for i in range(count)) + "}")
            (written if way else read).extend(f'"{way}{constraint}"({x})' for x in names)
            at += count
        if row:
            parameters.append("const void *row")
            numbers.append(f"[%{at}]")
            read.append(f'"r"({_SHARED.format("row")})')
        clobbered = ' : "memory"' if row else ""
        asm = f'asm volatile("{instruction} {", ".join(numbers)};" : {", ".join(written)} : {", ".join(read)}{clobbered});'
        self.functions[name] = [f"{_DEVICE} {name}({', '.join(parameters)}) {{", f"    {asm}", "}"]


#: Bytes of the text's element types that are narrower than a register, or as wide and no float.
BYTES = {"__half": 2, "signed char": 1, "unsigned char": 1, "int": 4, "unsigned int": 4}
