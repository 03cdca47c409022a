"""Instructions of tensor memory of NVIDIA's GPUs: each a function of the text around its PTX.

The first warp allocates and frees; the first thread states products and their arrival at an mbarrier. Instructions of
tensor memory are ordered with what threads wait for by fences, before and behind it.

Source: the PTX manual, "TensorCore 5th Generation Family Instructions"; CUTLASS include/cutlass/arch/barrier.h.
"""

from __future__ import annotations

from ...gpu.descriptors.instruction_descriptor import instruction_descriptor
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ..program.instructions import Cells, Registers, Tile
from .shared_address import DEVICE, SHARED, descriptors

#: CuTe's word -> PTX, of the address in shared memory or in tensor memory, and the columns.
_RESERVES = {
    "allocate": "tcgen05.alloc.cta_group::{sms}.sync.aligned.shared::cta.b32 [%0], %1;",
    "free": "tcgen05.dealloc.cta_group::{sms}.sync.aligned.b32 %0, %1;",
    "release_allocation_lock": "tcgen05.relinquish_alloc_permit.cta_group::{sms}.sync.aligned;",
}
_PARAMETERS = {
    "allocate": "unsigned int *address, unsigned int columns",
    "free": "unsigned int address, unsigned int columns",
}
#: PTX of a product's arrival at an mbarrier of an address.
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
#: The same, at those of the blocks of a mask; of products of two SMs.
COMMIT_MULTICAST = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
COMMIT_PAIR = COMMIT_MULTICAST.replace("cta_group::1", "cta_group::2")
#: PTX before what other threads wait for, and behind what a thread waits for.
BEFORE, AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"


def reserve(functions: dict[str, list[str]], word: str, name: str, address: str, columns: int, sms: int) -> list[str]:
    """The lines of a statement about tensor memory; what it calls is among the functions then."""
    if word == "tmem":
        return [f"{name} = {address};"]
    of = f"&{address}" if word == "allocate" else name
    given = "" if word.startswith("release") else f"{of}, {columns}"
    first = SHARED.format("address") if word == "allocate" else "address"
    operands = f' :: "r"({first}), "r"(columns)' if given else ""
    ptx = _RESERVES[word].format(sms=sms)
    asm = f'asm volatile("{ptx}"{operands} : "memory");' if given else f'asm volatile("{ptx}" ::: "memory");'
    function = f"tmem_{word}" if given else word
    functions[function] = [f"{DEVICE} {function}({_PARAMETERS.get(word, '')}) {{ {asm} }}"]
    return [f"if (tid < 32) {function}({given});"]


def loads(functions: dict[str, list[str]], atom: CopyAtom, cells: list[Cells], held: list[Registers]) -> list[str]:
    """The lines of loads of tensor memory."""
    name, lines = atom.instruction.replace(".", "_"), []
    for part, own in zip(cells, held):
        constraint, kind = ("f", "float") if own.kind == "float" else ("r", own.kind)
        count = len(own.elements)
        numbers = ", ".join(f"%{i}" for i in range(count))
        written = ", ".join(f'"={constraint}"(d{i})' for i in range(count))
        functions[name] = [
            f"{DEVICE} {name}({', '.join(f'{kind} &d{i}' for i in range(count))}, unsigned int address) {{",
            f'    asm volatile("{atom.instruction} {{{numbers}}}, [%{count}];" : {written} : "r"(address));',
            "}",
        ]
        lines.append(f"{name}({', '.join(f'{own.name}[{n}]' for n in own.elements)}, {_at(part)});")
    return lines


def products(
    functions: dict[str, list[str]], atom: MMAAtom, tiles: list[dict[str, Tile]], cells: list[Cells], accumulates: str
) -> list[str]:
    """The lines of products that add to tensor memory, of the first thread."""
    name, bits = atom.instruction.replace(".", "_").replace("::", "_"), instruction_descriptor(atom).bits
    made, operands = descriptors(functions, tiles)
    given = "unsigned int d, unsigned long long a, unsigned long long b, unsigned int types, int accumulates"
    functions[name] = [
        f"{DEVICE} {name}({given}) {{",
        f'    asm volatile("{{ .reg .pred p; setp.ne.u32 p, %4, 0; {atom.instruction} [%0], %1, %2, %3, p; }}"',
        '        :: "r"(d), "l"(a), "l"(b), "r"(types), "r"(accumulates) : "memory");',
        "}",
    ]
    calls = [f"{name}({_at(c)}, {x['A']}, {x['B']}, {bits:#x}u, {accumulates});" for x, c in zip(operands, cells)]
    return ["if (tid == 0) {", *(f"    {line}" for line in (*made, *calls)), "}"]


def _at(cells: Cells) -> str:
    """The address of a part of tensor memory."""
    return cells.name if cells.start == "0" else f"{cells.name} + {cells.start}"
