"""Instructions of NVIDIA's GPUs: each a function of the text around its PTX.

Source: the PTX manual, "Warp-level Matrix Instructions", "cp.async".
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.element import tf32
from ...core.int_tuple import size
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...gpu.tiled.fragments import numpy_type
from ..program.instructions import (
    Cells,
    Instructions,
    MovedTile,
    Registers,
    Tile,
    is_asynchronous,
    is_of_tensor_memory,
    stores_rows,
)
from . import tcgen05
from .shared_address import DEVICE, SHARED, descriptors

_ARCHITECTURES = ("sm70", "sm75", "sm80", "sm89", "sm90", "sm100", "sm120")
#: A register's constraint, and its type: of elements of 32 and 64 bits; of narrower ones, and of integers, 32 bits of
#: whatever they hold.
_CONSTRAINTS = {"float": ("f", "float"), "double": ("d", "double")}
_DESCRIPTOR = "l", "unsigned long long"
#: CuTe's word for what orders asynchronous instructions -> PTX.
_ORDERS = {
    "cluster_arrive": "barrier.cluster.arrive.aligned",
    "cluster_wait": "barrier.cluster.wait.aligned",
    "cp_async_fence": "cp.async.commit_group",
    "cp_async_wait": "cp.async.wait_group {}",
    "fence_view_async_tmem_load": "tcgen05.wait::ld.sync.aligned",
    "fence_view_async_shared": "fence.proxy.async.shared::cta",
    "tma_store_arrive": "cp.async.bulk.commit_group",
    "tma_store_wait": "cp.async.bulk.wait_group.read {}",
    "warpgroup_arrive": "wgmma.fence.sync.aligned",
    "warpgroup_commit_batch": "wgmma.commit_group.sync.aligned",
    "warpgroup_wait": "wgmma.wait_group.sync.aligned {}",
}
#: The halves of cluster_sync.
_OF_CLUSTERS = "cluster_arrive", "cluster_wait"
#: Words behind or before which registers have changed.
_OF_REGISTERS = "warpgroup", "fence_view_async_tmem"
#: CuTe's word about an mbarrier -> PTX, of its address and a number.
_SIGNALS = {
    "initialize_barrier": "mbarrier.init.shared::cta.b64 [%0], %1;",
    "set_barrier_transaction_bytes": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
    "arrive_barrier": "mbarrier.arrive.shared::cta.b64 _, [%0];",
    "umma_arrive": tcgen05.COMMIT,
    "umma_arrive_multicast": tcgen05.COMMIT_MULTICAST,
    "umma_arrive_multicast_2x1SM": tcgen05.COMMIT_PAIR,
    "wait_barrier": "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }",
}
#: Words by which products arrive, which the first thread states.
_ARRIVALS = "umma_arrive", "umma_arrive_multicast", "umma_arrive_multicast_2x1SM"
#: The driver's type, where the driver's header is not.
_MAP = [
    "#ifdef __CUDACC_RTC__",
    "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };",
    "#else",
    "#include <cudaTypedefs.h>",
    "#endif",
]
#: A copy of a box between shared memory, of address %0, and the tensor of the map %1; of a load %2 is the mbarrier, and
#: to several blocks %3 their mask. The number of the first coordinate.
_COPY = "cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
_LOAD = _COPY + " [%0], [%1, {{{at}}}], [%2];", 3
_MULTICAST = _COPY + ".multicast::cluster [%0], [%1, {{{at}}}], [%2], %3;", 4
#: The bits of an address of shared memory, as all blocks of a cluster see it, that stay for that of the first block of
#: a pair. Source: CUTLASS include/cute/arch/copy_sm100_tma.hpp, `Sm100MmaPeerBitMask`.
_FIRST_OF_PAIR = "0xfeffffffu"
_STORE = "cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%1, {{{at}}}], [%0];", 2


class Ptx(Instructions):
    """NVIDIA's instructions. functions: those of the text that are called, by name; fenced: of tensor memory."""

    counts_bytes = True  # an instruction adds a register of the thread, one of the warp, and a number
    has_wide_sums = True  # IMAD.WIDE

    def __init__(self, *, fenced: bool) -> None:
        super().__init__()
        self._fenced = fenced

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether it is one of NVIDIA's for a warp or a warpgroup, or cp.async."""
        if atom is None:
            return True
        return atom.arch in _ARCHITECTURES and (
            isinstance(atom, CopyAtom) or int(size(atom.thr_id)) > 1 or is_of_tensor_memory(atom)
        )

    def require(self, condition: str) -> str:
        return f"if (!({condition})) __trap();"

    def copied(self, atom: CopyAtom, source: str, target: str, width: int, condition: str) -> list[str]:
        name = f"{atom.instruction.replace('.', '_')}_{width}"
        given, read = (", bool inside", f', "r"(inside ? {width} : 0)') if atom.fills_zeros else ("", "")
        asm = f'asm volatile("{atom.instruction} [%0], [%1], {width}{", %2" if read else ""};"'
        self.functions[name] = [
            f"{DEVICE} {name}(void *target, const void *source{given}) {{",
            f'    {asm} :: "r"({SHARED.format("target")}), "l"(source){read} : "memory");',
            "}",
        ]
        if atom.fills_zeros:
            return [f"{name}(&{target}, &{source}, {condition or 'true'});"]
        return [f"{f'if ({condition}) ' if condition else ''}{name}(&{target}, &{source});"]

    def behind(self, place: str, bytes_added: str) -> str:
        """The element that lies so many bytes behind another one."""
        self.functions["behind"] = [
            "template <class T> static __device__ __forceinline__ T &behind(T &x, {int} bytes) {",
            "    return *reinterpret_cast<T *>(reinterpret_cast<char *>(&x) + bytes);",
            "}",
        ]
        return f"behind({place}, {bytes_added})"

    def order(self, word: str, pending: int, accumulators: list[Registers]) -> list[str]:
        if word in _OF_CLUSTERS:
            return [self._called(word, self._part(word))]
        name = f"{word}_{pending}" if word.endswith("wait") else word
        clobbered = "" if word == "cp_async_fence" else ' ::: "memory"'
        self.functions[name] = [f'{DEVICE} {name}() {{ asm volatile("{_ORDERS[word].format(pending)};"{clobbered}); }}']
        fences = [line for x in accumulators for line in self._fence(x)] if word.startswith(_OF_REGISTERS) else []
        if word == "warpgroup_arrive":
            return [*fences, f"{name}();"]
        return [f"{name}();", *(fences if word != "warpgroup_commit_batch" else [])]

    def signal(self, word: str, barrier: str, count: int, number: str, mask: str) -> tuple[list[str], bool]:
        asm = f'asm volatile("{_SIGNALS[word]}" :: "r"({SHARED.format("barrier")}), "r"(number) : "memory");'
        named, given, body = "unsigned int number", f", {number}", [asm]
        if word in ("arrive_barrier", "umma_arrive"):
            named, given, body = "", "", [asm.replace(', "r"(number)', "")]
            body = [*self._fences(tcgen05.BEFORE), *body] if word == "arrive_barrier" else body
        elif word.startswith("umma_arrive_multicast"):
            named, given, body = "unsigned short mask", f", {mask}", [asm.replace('"r"(number)', '"h"(mask)')]
        elif word == "wait_barrier":
            body += self._fences(tcgen05.AFTER)
        elif word == "initialize_barrier":
            fence = 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'
            body = [f"for (int i = 0; i < count; ++i, ++barrier) {asm}", fence]
            named, given = f"int count, {named}", f", {count}{given}"
        parameters = ", ".join(["unsigned long long *barrier", *([named] if named else [])])
        self.functions[word] = [f"{DEVICE} {word}({parameters}) {{", *(f"    {line}" for line in body), "}"]
        first = "if (tid == 0) " * (word in ("initialize_barrier", "set_barrier_transaction_bytes", *_ARRIVALS))
        return [f"{first}{word}(&{barrier}{given});"], True

    def _fences(self, word: str) -> list[str]:
        """The line that orders instructions of tensor memory with what threads wait for, where there are some."""
        return [f'asm volatile("{word}" ::: "memory");'] if self._fenced else []

    def barrier(self) -> str:
        """The line by which the threads of a block wait for each other."""
        if not self._fenced:
            return "__syncthreads();"
        body = [*self._fences(tcgen05.BEFORE), "__syncthreads();", *self._fences(tcgen05.AFTER)]
        return self._called("wait_for_all", body)

    def cluster_sync(self) -> str:
        """The line by which the threads of a cluster wait for each other."""
        return self._called("cluster_sync", [line for word in _OF_CLUSTERS for line in self._part(word)])

    def _part(self, word: str) -> list[str]:
        """The lines of a half of cluster_sync, with the order of tensor memory: before arrival, and behind a wait."""
        arrives, line = word == "cluster_arrive", f'asm volatile("{_ORDERS[word]};" ::: "memory");'
        return [*self._fences(tcgen05.BEFORE), line] if arrives else [line, *self._fences(tcgen05.AFTER)]

    def _called(self, name: str, body: list[str]) -> str:
        """The call of a function of the text."""
        self.functions[name] = [f"{DEVICE} {name}() {{", *(f"    {line}" for line in body), "}"]
        return f"{name}();"

    def reserve(self, word: str, name: str, address: str, columns: int, sms: int) -> list[str]:
        return tcgen05.reserve(self.functions, word, name, address, columns, sms)

    def cells(self, atom: CopyAtom, cells: list[Cells], held: list[Registers]) -> tuple[list[str], bool]:
        return tcgen05.loads(self.functions, atom, cells, held), True

    def sums(
        self, atom: MMAAtom, tiles: list[dict[str, Tile]], cells: list[Cells], accumulates: str
    ) -> tuple[list[str], bool]:
        return tcgen05.products(self.functions, atom, tiles, cells, accumulates), True

    def move(self, tile: MovedTile) -> tuple[list[str], bool]:
        rank, stores = len(tile.boxes[0][1]), tile.barrier is None
        name = f"{'store' if stores else 'load'}_tile_{rank}d{'_multicast' if tile.mask else ''}"
        at, (form, first) = [f"c{i}" for i in range(rank)], _MULTICAST if tile.mask else _STORE if stores else _LOAD
        barrier_at = SHARED.format("barrier")
        if tile.of_pairs:
            name, form = f"{name}_2sm", form.replace("d.shared", "d.cta_group::2.shared")
            barrier_at = f"{barrier_at} & {_FIRST_OF_PAIR}"
        asm = form.format(rank=rank, at=", ".join(f"%{first + i}" for i in range(rank)))
        operands = [f'"r"({SHARED.format("shared")})', '"l"(&map)', *([] if stores else [f'"r"({barrier_at})'])]
        operands += [*(['"h"(mask)'] if tile.mask else []), *(f'"r"({c})' for c in at)]
        given = ["void *shared", "const CUtensorMap &map", *([] if stores else ["unsigned long long *barrier"])]
        given += [*(["unsigned short mask"] if tile.mask else []), *(f"int {c}" for c in at)]
        self.functions["CUtensorMap"] = _MAP
        self.functions[name] = [
            f"{DEVICE} {name}({', '.join(given)}) {{",
            f'    asm volatile("{asm}" :: {", ".join(operands)} : "memory");',
            "}",
        ]
        barrier = [*([] if tile.barrier is None else [f"&{tile.barrier}"]), *([tile.mask_text] if tile.mask else [])]
        calls = [f"{name}({', '.join([f'&{start}', tile.map, *barrier, *c])});" for start, c in tile.boxes]
        return ["if (tid == 0) {", *(f"    {line}" for line in calls), "}"], True

    def _fence(self, x: Registers) -> list[str]:
        """The lines by which a compiler sees registers change: it moves nothing of them over their products' order."""
        constraint, kind = self._constraint(x.kind)
        name = f"fence_operand_{constraint}"
        self.functions[name] = [f'{DEVICE} {name}({kind} &x) {{ asm volatile("" : "+{constraint}"(x) :: "memory"); }}']
        words = self._words(x, 32)
        return [f"{name}({word});" for word in words]

    def matrices(self, atom: CopyAtom, rows: list[str], held: list[Registers]) -> Iterator[tuple[list[str], bool]]:
        name = atom.instruction.replace(".", "_")
        way, side = ("", atom.reads) if stores_rows(atom) else ("=", atom.writes)
        lines = []
        for row, own in zip(rows, held):
            words = self._words(own, side.bits)
            self._function(name, f"{atom.instruction} {{}};", [(way, "r", "unsigned int", len(words))], row=True)
            lines.append(f"{name}({', '.join([*words, f'&{row}'])});")
        yield lines, True

    def product(
        self, atom: MMAAtom, operands: list[dict[str, Registers]], tiles: list[dict[str, Tile]]
    ) -> Iterator[tuple[list[str], bool]]:
        if is_asynchronous(atom):
            yield self._of_warpgroups(atom, operands, tiles), True
            return
        name = atom.instruction.replace(".", "_").replace("::", "_")
        lines = []
        for given in operands:
            operands_of = {x: self._operand(atom, x, given[x]) for x in "DABC"}
            words = {x: held for x, (_form, held) in operands_of.items()}
            forms = [("=" if x == "D" else "", *form, len(held)) for x, (form, held) in operands_of.items()]
            self._function(name, f"{atom.instruction} {{}};", forms)
            lines.append(f"{name}({', '.join(w for x in 'DABC' for w in words[x])});")
        yield lines, True

    def _of_warpgroups(
        self, atom: MMAAtom, operands: list[dict[str, Registers]], tiles: list[dict[str, Tile]]
    ) -> list[str]:
        """Products of warpgroups, which add to registers: descriptors of operands in shared memory, steps from them."""
        told = _told(atom, [str(getattr(atom, f"major_{x}")) for x in tiles[0]])
        name = "_".join([atom.instruction.replace(".", "_"), *told]).replace("-", "minus_")
        made, described = descriptors(self.functions, tiles)
        calls = []
        for given, read in zip(operands, described):
            words, forms = [], []
            for x in "DAB":
                if x in read:
                    words.append(read[x])
                    forms.append(("", *_DESCRIPTOR, 1))
                else:
                    form, held = self._operand(atom, x, given[x])
                    words += held
                    forms.append(("+" if x == "D" else "", *form, len(held)))
            calls.append(f"{name}({', '.join(words)});")
            rest = "".join(f", {x}" for x in told)
            asm = f"{{ .reg .pred p; setp.eq.u32 p, 0, 0; {atom.instruction} {{}}, p{rest}; }}"
            self._function(name, asm, forms)
        return [*made, *calls]

    @staticmethod
    def _constraint(kind: str) -> tuple[str, str]:
        return _CONSTRAINTS.get(kind, ("r", "unsigned int"))

    def _operand(self, atom: MMAAtom, name: str, x: Registers) -> tuple[tuple[str, str], list[str]]:
        """An operand's constraint and type, and its registers; of tf32 the bits of floats, the first 19 of which it reads."""
        if getattr(atom, f"val_{name}") == tf32:
            return self._constraint(""), self._bits(x, 1)
        return self._constraint(x.kind), self._words(x, atom.register_bits)

    def _words(self, x: Registers, bits: int) -> list[str]:
        """The registers of elements that lie side by side in words, as variables."""
        if x.kind in _CONSTRAINTS:
            return [f"{x.name}[{n}]" for n in x.elements]
        return self._bits(x, bits // (8 * BYTES[x.kind]))

    @staticmethod
    def _bits(x: Registers, each: int) -> list[str]:
        """The bits of registers, so many in a word."""
        return [f"*reinterpret_cast<unsigned int *>(&{x.name}[{n}])" for n in x.elements[::each]]

    def _function(
        self, name: str, instruction: str, forms: list[tuple[str, str, str, int]], *, row: bool = False
    ) -> None:
        """Keep the function of an instruction around its operands: each (= or +, constraint, type, how many), and the
        address of a row.

        What is written stands first in PTX, so the address stands before registers that are only read.
        """
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
            several = ", ".join(f"%{at + i}" for i in range(count))
            numbers.append(several if constraint == "l" else f"{{{several}}}")
            (written if way else read).extend(f'"{way}{constraint}"({x})' for x in names)
            at += count
        if row:
            parameters.append("const void *row")
            numbers.insert(len(numbers) if written else 0, f"[%{at}]")
            read.append(f'"r"({SHARED.format("row")})')
        clobbered = ' : "memory"' if row else ""
        asm = f'asm volatile("{instruction.replace("{}", ", ".join(numbers))}" : {", ".join(written)} : {", ".join(read)}{clobbered});'
        self.functions[name] = [f"{DEVICE} {name}({', '.join(parameters)}) {{", f"    {asm}", "}"]


def _told(atom: MMAAtom, majors: list[str]) -> list[str]:
    """The numbers behind wgmma's operands: the signs of A and B, of 16 bits 1 for each tile that is MN-major."""
    signs = ["-1" if negated else "1" for negated in (atom.arithmetic.negate_A, atom.arithmetic.negate_B)]
    of_floats = not numpy_type(atom.val_D).startswith("int")
    return [*(signs if of_floats else []), *(str(int(x == "MN")) for x in majors if atom.val_A.bits == 16)]


#: Bytes of the text's element types that are narrower than a register, or as wide and no float.
BYTES = {"__half": 2, "__nv_bfloat16": 2, "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1}
BYTES |= {"signed char": 1, "unsigned char": 1, "int": 4, "unsigned int": 4}
