"""The instructions of operations, against those that Triton's own compile of the same program has in its PTX or
assembler text."""

import functools
import gzip
import json
import re
from collections import Counter

import pytest

from tla.core.element import Width
from tla.linear.triton import BlockedLayout, DotOperandLayout, NVMMADistributedLayout, from_text
from tla.ttgir import costs, program_of
from tla.ttgir.across import reduction
from tla.ttgir.conversions import conversion
from tla.ttgir.machines import machine

from night import NIGHT
from places import DATA, ROOT

PROGRAMS = {path.name.removesuffix(".ttgir.gz"): path for path in sorted((DATA / "ttgir").glob("*.ttgir.gz"))}
TRUTH = json.loads(gzip.decompress((DATA / "ttgir" / "instructions.json.gz").read_bytes()))
#: The class of an instruction, by how its name begins. An AMD instruction of two addresses is two.
CLASSES = {
    name: name
    for name in "ld.shared st.shared ldmatrix stmatrix shfl ld.global st.global cp.async.bulk cp.async".split()
}
CLASSES |= {"ds_read": "ds_read", "ds_load": "ds_read", "ds_write": "ds_write", "ds_store": "ds_write"}
CLASSES |= {"buffer_load": "buffer_load", "buffer_store": "buffer_store", "global_load_lds": "load to LDS"}
CLASSES |= {"global_load": "ld.global", "global_store": "st.global", "atom": "atom", "redux": "redux"}
#: What is not that of Triton: program -> class -> (Triton's, ours).
DIFFERENT = {
    # LLVM peels the loop of a pipelined kernel: three copies of its loads where TTGIR has two
    "matmul_bf16_gfx942": {"ds_read": (72, 48), "ds_write": (15, 10), "ld.global": (9, 6)},
    "matmul_f16_gfx942": {"ds_read": (60, 40), "ds_write": (9, 6), "ld.global": (6, 4)},
    "matmul_f16_gfx1100": {"ds_read": (48, 32), "ds_write": (30, 20), "ld.global": (12, 8)},
    # gfx950 transposes in its loads (ds_read_b64_tr_b16), and exchanges lanes by v_permlane
    "matmul_f16_gfx950": {"ds_read": (12, 36), "shfl": (0, 4)},
    "attention_f16_gfx950": {"ds_read": (31, 79), "ds_bpermute_b32": (4, 0), "shfl": (0, 4)},
    "matmul_bf16_gfx950": {"ds_read": (48, 144), "shfl": (0, 16)},
    # where tensor memory begins, and the first thread that issues its instructions
    "matmul_f16_sm100": {"ld.shared": (1, 0), "shfl": (1, 0)},
    "matmul_bf16_sm100": {"ld.shared": (1, 0), "shfl": (1, 0)},
    "matmul_fp8_sm100": {"ld.shared": (1, 0), "shfl": (1, 0)},
    "matmul_tma_sm100": {"ld.shared": (1, 0), "shfl": (1, 0)},
    "attention_bf16_sm100": {"ld.shared": (1, 0), "shfl": (5, 4)},
}


@functools.cache
def program(name):
    return program_of(gzip.decompress(PROGRAMS[name].read_bytes()).decode())


#: Operations whose instructions are not compared: of AMD's reductions most exchange lanes by modifiers of arithmetic.
LEFT_OUT = {"cuda": ("ttng.tensormap_create",), "hip": ("tt.reduce",)}


def emitted(name, found):
    """What Triton's text has of each class, without barriers and what is left out."""
    operations = LEFT_OUT[found.target.partition(":")[0]]
    left_out = {
        f"{op.sources[0].line}:{op.sources[0].column}" for op in found.ops if op.name in operations and op.sources
    }
    counted = Counter()
    for place, instructions in TRUTH[name].items():
        for instruction, count in instructions.items() if place not in left_out else ():
            beginning = next((b for b in sorted(CLASSES, key=len, reverse=True) if instruction.startswith(b)), None)
            counted[CLASSES.get(beginning, instruction)] += count * (
                2 if re.search("read2|write2|2addr", instruction) else 1
            )
    return counted


@functools.cache
def predicted(found):
    """What our rows of a program have of each class."""
    return instructions_of(costs(found))


def instructions_of(found):
    counted = Counter()
    operations = LEFT_OUT[found.program.target.partition(":")[0]]
    for row in found.rows:
        for part in row.parts if row.op.name not in operations else ():
            instruction = part.instruction.partition(".x")[0]
            instruction = "atom" if instruction.startswith("atom") else instruction
            counted[CLASSES.get(instruction, instruction)] += part.instructions
    return +counted


@pytest.mark.parametrize("name", PROGRAMS)
def test_instructions_are_tritons(name):
    found = program(name)
    here, there = predicted(found), emitted(name, found)
    differ = {k: (there[k], here[k]) for k in {*here, *there} if here[k] != there[k]}
    assert differ == DIFFERENT.get(name, {})


def test_the_differences_are_the_few_that_are_listed():
    assert len(PROGRAMS) == 75
    assert len([name for name in PROGRAMS if "sm" in name and name not in DIFFERENT]) == 53


@pytest.mark.once
def test_the_page_lists_every_program():
    """docs/ttgir_kernels.md: of each program what Triton's text has of each class; where ours is another, both."""
    page = (ROOT / "docs" / "ttgir_kernels.md").read_text(encoding="utf-8")
    rows = []
    for name in PROGRAMS:
        found = program(name)
        here, there = predicted(found), emitted(name, found)
        rows.append(f"| `{name}` | {', '.join(listed(there, here, kind) for kind in sorted({*here, *there}))} |")
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def listed(there, here, kind):
    return f"{kind} {there[kind]}" if there[kind] == here[kind] else f"**{kind} {there[kind]}, ours {here[kind]}**"


# ------------------------------------------------------------------------------------------------- conversions

CONVERSIONS = json.loads(gzip.decompress((DATA / "ttgir" / "conversions.json.gz").read_bytes()))


@pytest.mark.once
def test_conversions_are_tritons():
    """Random pairs of layouts, compiled by Triton 3.9: its stores, loads, matrix instructions and shuffles,
    each as often.

    Of 150 the warps of the source hold all that those of the destination need.
    """
    equal = 0
    for row in CONVERSIONS:
        shape, element = [row["m"], row["n"]], Width(int(row["kind"][1:]), row["kind"])
        src, dst = (from_text(row[side]).linear(shape) for side in "ab")
        found = conversion(src, dst, element, machine(f"cuda:{row['target']}"))
        here = Counter({"shfl": found.shuffles})
        for part, name in ((found.write, "st.shared"), (found.read, "ld.shared")):
            if part is not None:
                here[name if part.name in ("store", "load") else part.name.partition(".")[0]] += part.instructions
        there = Counter()
        for instruction, count in row["ptx"].items():
            there[next(name for name in CLASSES if instruction.startswith(name))] += count
        equal += +here == there
    assert (equal, len(CONVERSIONS)) == (400, 400)


def test_conversions_cost_what_tritons_do():
    """Wavefronts of stores and loads together, as simulated from the addresses of Triton's PTX."""
    blocked, mma = BlockedLayout, NVMMADistributedLayout
    cases = [
        (mma([2, 0], [2, 4], [16, 8]), blocked([1, 4], [4, 8], [4, 2], [1, 0]), (32, 128), 16, 128),
        (blocked([2, 8], [16, 2], [2, 2], [1, 0]), blocked([2, 1], [16, 2], [1, 4], [1, 0]), (128, 32), 16, 128),
        (
            blocked([2, 1], [8, 4], [2, 2], [0, 1]),
            DotOperandLayout(1, mma([2, 0], [1, 4], [16, 8]), 1),
            (32, 32),
            32,
            64,
        ),
        (blocked([2, 1], [16, 2], [4, 2], [0, 1]), blocked([4, 1], [4, 8], [4, 2], [0, 1]), (64, 16), 16, 48),
    ]
    for a, b, shape, width, wavefronts in cases:
        found = conversion(a.linear(shape), b.linear(shape), Width(width, "given"), machine("cuda:90"))
        assert found.write.access.total + found.read.access.total == wavefronts


# ------------------------------------------------------------------------------------------------- threads together

TOGETHER = json.loads(gzip.decompress((DATA / "ttgir" / "together.json.gz").read_bytes()))
#: What is not that of Triton, by the program's number: (Triton's, ours).
TOGETHER_DIFFERENT = {
    # two bins of one warp, counted by ballots
    184: {"st.shared": (0, 1), "ld.shared": (0, 1), "atom": (0, 4)},
}


@pytest.mark.once
def test_reductions_scans_gathers_histograms_and_atomics_are_tritons():
    """Random ones, compiled by Triton 3.9: each kind of instruction of the whole program as often as its PTX has it."""
    different = {}
    for k, row in enumerate(TOGETHER):
        found = costs(program_of(row["ttgir"]))
        here, there = instructions_of(found), Counter(row["ptx"])
        assert not any(x.refused for x in found.rows)
        if here != there:
            different[k] = {x: (there[x], here[x]) for x in {*here, *there} if here[x] != there[x]}
    assert len(TOGETHER) == 200
    assert different == TOGETHER_DIFFERENT


def test_redux_is_of_words():
    """Of integers from sm_80 on, of f32 on sm_100: not of halves, and not where four groups of lanes are more than
    three shuffles."""
    layout = BlockedLayout([1, 1], [1, 32], [1, 1], [1, 0]).linear([1, 32])
    groups = BlockedLayout([1, 1], [4, 8], [1, 1], [1, 0]).linear([4, 8])
    for owners, kind, operation, target, redux in (
        (layout, Width(32, "i32"), "arith.addi", "cuda:80", 1),
        (layout, Width(32, "i32"), "arith.addi", "cuda:75", 0),
        (layout, Width(32, "f32"), "arith.maxnumf", "cuda:100", 1),
        (layout, Width(32, "f32"), "arith.maxnumf", "cuda:90", 0),
        (layout, Width(16, "f16"), "arith.maxnumf", "cuda:100", 0),
        (groups, Width(32, "i32"), "arith.addi", "cuda:80", 0),
    ):
        found = reduction(owners, 1, None, [kind], machine(target), [operation])
        assert (found.redux, found.shuffles > 0) == (redux, not redux)


def test_a_reduction_by_the_definition():
    """Each element of a tile goes once into the sum of its row, whatever the order: lanes and warps are
    exchanged, none is lost."""
    owners = BlockedLayout([1, 4], [4, 8], [2, 2], [1, 0]).linear([16, 64])
    found = reduction(owners, 1, None, [Width(32, "f32")], machine("cuda:80"), ["arith.addf"])
    registers, lanes, warps = (owners.bases[name] for name in ("register", "lane", "warp"))
    rows = 2 ** sum(v[1] == 0 for v in registers)
    assert found.shuffles == rows * (sum(v[1] != 0 for v in lanes) + sum(v[1] != 0 for v in warps))
    assert len(found.conversions) == 1


# ---------------------------------------------------------------------------------------- wavefronts, by the definition


def banks(addresses, width):
    """Wavefronts of one access of a warp, of byte addresses: the lanes of a phase, and the words that each bank
    has to give them."""
    lanes = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    total = 0
    for start in range(0, len(addresses), lanes):
        words = {a // 4 + k for a in addresses[start : start + lanes] for k in range(max(1, width // 4))}
        total += max(Counter(w % 32 for w in words).values())
    return total


#: By day the small one.
COUNTED_AGAIN = ["matmul_f16_unpipelined_sm80"] if not NIGHT else [name for name in PROGRAMS if "sm" in name]


@pytest.mark.once
@pytest.mark.parametrize("name", COUNTED_AGAIN)
def test_wavefronts_by_the_definition(name):
    """Every vector load and store of shared memory, address by address: the offset of each register of each lane by the
    layouts' bases."""
    found = program(name)
    for row in costs(found).rows:
        if (
            row.op.name not in ("ttg.local_load", "ttg.local_store", "ttg.local_alloc")
            or "matrix" in row.parts[0].instruction
        ):
            continue
        register = row.op.result_types[0] if row.op.name == "ttg.local_load" else row.op.operand_types[0]
        typed, part = found.typed(register), row.parts[0]
        there = row.shared.linear.invert()
        owners, element = typed.linear, typed.bits // 8
        assert part.cost == sum(
            banks(a, part.vector // 8) for a in accesses(owners, there, element, part.vector // typed.bits)
        )


def accesses(owners, there, element, count):
    """The byte addresses of the lanes of each access: of each warp the distinct vectors of its registers."""
    sizes = [owners.get_in_dim_size(name) for name in ("register", "lane", "warp")]
    names = list(there.get_in_dim_names())
    for warp in range(sizes[2]):
        seen = set()
        for register in range(sizes[0]):
            lanes = []
            for lane in range(sizes[1]):
                at = owners.apply({"register": register, "lane": lane, "warp": warp, "block": 0})
                offset = there.apply({name: at[name] for name in names})["offset"]
                lanes.append(offset // count * count * element)
            if tuple(lanes) not in seen:
                seen.add(tuple(lanes))
                yield lanes
