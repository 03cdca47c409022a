"""The texts of instructions, assembled: names, types and how many registers a lane has, as the vendors'
assemblers take them."""

import re
import subprocess
from pathlib import Path

import pytest

from tla.gpu import MMAAtom, atoms

import oracle
from emitted import needs

PROCESSORS = {
    "cdna1": "gfx908",
    "cdna2": "gfx90a",
    "cdna3": "gfx942",
    "cdna4": "gfx950",
    "rdna3": "gfx1100",
    "rdna4": "gfx1200",
}


def registers(found, side, bits=32):
    """The registers of a lane for an operand."""
    values = int(oracle.size(getattr(found, side).shape)) // int(oracle.size(found.thr_id.shape))
    element = getattr(found, f"val_{side}").bits
    if side == "A" and found.sparsity:  # so many elements are stored as one
        values //= found.sparsity[0]
        element = 8 if found.arch == "sm120" else element
    half_used = side == "C" and element == 16 and found.arch == "rdna3"  # a register for each value
    return -(-values * (32 if half_used else element) // bits)


def vgprs(count, first, kind="v"):
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


@pytest.mark.parametrize("arch", PROCESSORS)
def test_amds_instructions_are_its_assemblers(arch):
    """LLVM assembles each by its text and the registers that its layouts have."""
    pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9: pip install triton==3.9.0")
    libtriton = needs("triton._C.libtriton")
    libtriton.llvm.init_targets()
    total = "a" if arch == "cdna1" else "v"  # there accumulators have registers of their own
    for found in atoms(arch=arch):
        a, b, c = (registers(found, side) for side in "ABC")
        name, _, modifiers = found.instruction.partition(" ")
        operands = [
            vgprs(c, 0, total),
            vgprs(a, 64),
            vgprs(b, 96),
            vgprs(c, 0, total),
            *["v120", "v121"] * (found.val_SF is not None),
        ]
        text = f"{name} {', '.join(operands)} {modifiers}\n"
        assert libtriton.amd.assemble_amdgcn(
            text, "amdgcn-amd-amdhsa", PROCESSORS[arch], f"+wavefrontsize{found.wave}"
        ), text
    assert not libtriton.amd.assemble_amdgcn("v_mfma_none v0, v1\n", "amdgcn-amd-amdhsa", PROCESSORS[arch], "")


#: PTX's registers of an operand, by its type: what they are called, their bits.
KINDS = {"f32": ("f", 32), "f64": ("d", 64), "s32": ("r", 32)}


def operand(found, side, code):
    kind, bits = KINDS.get(code, ("r", 32))
    return "{" + ", ".join(f"%{kind}{i}" for i in range(registers(found, side, bits))) + "}"


def statement(found):
    """An instruction of PTX over the registers that its layouts have."""
    codes = re.findall(r"\.(f16|bf16|tf32|f32|f64|s32|[su][48]|b1|e\dm\d)(?=\.|$)", found.instruction)
    d, a, b, c = (operand(found, side, code) for side, code in zip("CABC", [*codes, codes[0]]))
    if found.wave == 128:
        majors = ", 0" * (2 if found.frg_A and found.val_A.bits == 16 else 1 if found.val_A.bits == 16 else 0)
        signs = "" if found.val_D.name == "int32" else ", 1, 1"
        left = "%rd0" if found.frg_A else a
        metadata = ", %r0, 0x0" * (found.sparsity is not None)
        return f"{found.instruction} {d}, {left}, %rd1{metadata}, p{signs}{majors};"
    more = ["%r0", "0x0"] * (found.sparsity is not None) + ["{%r0}, {%h0, %h1}, {%r1}, {%h0, %h1}"] * (
        found.val_SF is not None
    )
    return f"{found.instruction} {', '.join([d, a, b, c, *more])};"


def assembled(statements, target, tmp_path, version):
    path = tmp_path / "text.ptx"
    body = "\n".join(statements)
    regs = ".reg .b32 %r<256>; .reg .f32 %f<256>; .reg .f64 %d<64>; .reg .b64 %rd<4>; .reg .b16 %h<2>; .reg .pred p;"
    path.write_text(
        f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{regs}\n{body}\nret;\n}}\n"
    )
    tools = Path(needs("triton").__file__).parent / "backends/nvidia/bin"
    ptxas = next(p for p in (tools / "ptxas-blackwell", tools / "ptxas") if p.exists())
    done = subprocess.run(
        [ptxas, f"-arch={target}", "-o", tmp_path / "k.cubin", path], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr if done.returncode else ""


WARP = [
    a
    for a in atoms(kind=MMAAtom)
    if a.instruction.startswith("mma.sync") and a.arch in ("sm75", "sm80", "sm89", "sm90", "sm120")
]
WARP = [a for a in WARP if "complex" not in f"{a.val_A}{a.val_D}"]  # those are four instructions


@pytest.mark.parametrize("arch", ["sm75", "sm80", "sm89", "sm90", "sm120"])
def test_instructions_of_a_warp_are_ptxs(arch, tmp_path):
    found = [a for a in WARP if a.arch == arch]
    target = f"sm_{arch[2:]}" + "a" * (arch in ("sm90", "sm120"))
    assert found
    assert assembled(map(statement, found), target, tmp_path, "8.7") == ""


def test_instructions_of_a_warpgroup_are_ptxs(tmp_path):
    found = [a for a in atoms(arch="sm90", kind=MMAAtom) if a.wave == 128 and a.shape_mnk[1] in (8, 96)]
    assert len(found) > 60
    assert assembled(map(statement, found), "sm_90a", tmp_path, "8.7") == ""
    assert "error" in assembled(["wgmma.none;"], "sm_90a", tmp_path, "8.7")


def test_dot_products_of_a_thread_are_ptxs(tmp_path):
    found = [a.instruction for a in atoms(arch="sm61")]
    assert assembled([f"{text} %r0, %r1, %r2, %r3;" for text in found], "sm_80", tmp_path, "8.7") == ""
