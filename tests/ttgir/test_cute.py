"""The IR of CuTe's DSL: the instructions of its tiled copies against those of the PTX, and their wavefronts by the
definition."""

import gzip
import json
import random
from collections import Counter

import pytest

from tla.apps.cli import main
from tla.core.errors import TlaError
from tla.ttgir import advise, costs, program_of

from night import amount
from places import DATA

KERNELS = {row["name"]: row for row in json.loads(gzip.decompress((DATA / "ttgir" / "cute.json.gz").read_bytes()))}
CLASSES = {"cp.async": "cp.async.cg", "ldmatrix.x4": "ldmatrix", "ldmatrix.x4.trans": "ldmatrix"}


def found(name, target="cuda:80"):
    return costs(program_of(KERNELS[name]["ir"]), target=target)


@pytest.mark.parametrize("name", KERNELS)
def test_instructions_are_those_of_the_ptx(name):
    """Those of memory that no tiled copy partitions too: the result of a product, vectors and single elements."""
    here, there = Counter(), Counter(KERNELS[name]["ptx"])
    for row in found(name).rows:
        for part in row.parts:
            here[CLASSES.get(part.instruction, part.instruction)] += part.instructions
    assert +here == there
    assert not [row.refused for row in found(name).rows if row.refused]
    assert (None in {part.cost for row in found(name).rows for part in row.parts}) == name.startswith(
        ("product", "sum")
    )


def wavefronts(name, instruction):
    parts = [
        p
        for row in found(name).rows
        for p in row.parts
        if p.unit == "wavefronts" and p.instruction.startswith(instruction)
    ]
    return sum(p.cost for p in parts), sum(p.least for p in parts)


def conflict(row_bytes, mask):
    """The lanes that want one bank, of 8 rows of 16 bytes: the row's number, as far as the mask keeps it, is added to
    that of its vector."""
    groups = Counter((row * row_bytes // 16 ^ (row * row_bytes // 128 & mask)) % 8 for row in range(8))
    return max(groups.values())


@pytest.mark.parametrize(
    ("name", "row_bytes", "mask"),
    [("product", 64, 3), ("product_plain", 64, 0), ("product_k64", 128, 7), ("product_k64_short_swizzle", 128, 3)],
)
def test_conflicts_of_ldmatrix_by_the_definition(name, row_bytes, mask):
    cost, least = wavefronts(name, "ldmatrix")
    assert cost == least * conflict(row_bytes, mask)


def test_a_transpose_by_the_definition():
    """64 x 64 of f32: 128 reads of a warp down a column, 32 words of one bank, or of 32 where rows have
    one word more."""
    assert wavefronts("transpose_plain", "ld.shared") == (128 * 32, 128)
    assert wavefronts("transpose_padded", "ld.shared") == (128, 128)


@pytest.mark.parametrize(
    ("name", "mended"),
    [("product_plain", "product"), ("product_k64_short_swizzle", "product_k64"), ("transpose_plain", None)],
)
def test_the_swizzle_that_is_advised(name, mended):
    """The advice is the swizzle of the kernel that has it, and costs what is counted there."""
    advice = advise(found(name))
    assert {a.kind for a in advice} == {"swizzle"}
    assert sum(a.before for a in advice) == found(name).totals()["wavefronts"]
    if mended:
        assert advise(found(mended)) == ()
        assert sum(a.after for a in advice) == found(mended).totals()["wavefronts"]
        said = {a.change.partition(" ")[0] for a in advice}
        assert said == {{"product": "Sw<2,3,3>", "product_k64": "Sw<3,3,3>"}[mended]}


def test_memory_whose_address_is_used_keeps_its_layout():
    """As a descriptor of wgmma's would: the iterator of the tensor goes elsewhere."""
    text = KERNELS["transpose_plain"]["ir"]
    lines = text.splitlines()
    at, view = next(
        (k, line.split(" = ")[0].strip()) for k, line in enumerate(lines) if "cute.make_view" in line and "smem" in line
    )
    lines[at + 1 : at + 1] = [
        f"%it = cute.get_iter({view}) : !memref_smem_f32",
        "%d = cute_nvgpu.descriptor(%it) : !cute.ptr<f32, smem>",
    ]
    assert advise(costs(program_of("\n".join(lines)), target="cuda:80")) == ()
    assert advise(found("transpose_plain")) != ()


def test_loops_and_threads():
    rows = found("product").rows
    assert [row.times for row in rows if row.parts][-1] == 1
    assert {row.times for row in rows[:-1] if row.parts} == {8}
    assert found("product").program.warps == 4


def test_the_shell_reports_it(capsys, tmp_path):
    path = tmp_path / "product.mlir"
    path.write_text(KERNELS["product_plain"]["ir"])
    assert main(["ttgir", str(path), "--target", "cuda:80"]) == 0
    out = capsys.readouterr().out
    assert "ldmatrix.x4" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert main(["ttgir", str(path)]) == 1
    assert "--target cuda:80" in capsys.readouterr().err


def test_ir_cut_off_or_changed_is_read_or_refused():
    choose = random.Random(34)
    text = KERNELS["transpose_plain"]["ir"]
    for _ in range(amount(8, 200)):
        with pytest.raises(TlaError):
            program_of(text[: choose.randrange(text.index("gpu.module"), len(text) - 20)])
    for _ in range(amount(25, 3000)):
        changed = [*text]
        for _ in range(choose.randrange(1, 8)):
            changed[choose.randrange(len(text))] = choose.choice('%#!<>(){}[]:=,-> 0x9?\n"at')
        try:
            costs(program_of("".join(changed)), target="cuda:80").totals()
        except TlaError:
            continue
