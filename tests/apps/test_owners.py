"""Who accesses a layout, from a text in the shell: names, atoms, tiled copies, layouts; and each fix tried as
it is printed."""

import itertools
import json
import shlex

import pytest

from tla import LeafTypeError, RankError, parse
from tla.access import access
from tla.access.pattern import PATTERNS
from tla.apps.cli import main
from tla.apps.owners import owners
from tla.gpu import Copy_Atom, SM75_U32x4_LDSM_N, SM80_16x8x16_F32F16F16F32_TN, half, make_tiled_copy_A, make_tiled_mma

TILE = "(64,64):(64,1)"
LDSM_A = make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, half], make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN))
#: A text of who accesses -> the pattern that it is, or None, and the ways of its conflict in a 64 by 64 tile of halves.
TEXTS = {
    "ldmatrix": ("ldmatrix.x4", 8),
    "LDMATRIX.x2.trans": ("ldmatrix.x2.trans", 8),
    "SM75_U32x4_LDSM_N": ("ldmatrix.x4", 8),
    "SM75_U16x8_LDSM_T": ("ldmatrix.x4.trans", 8),
    "SM90_U32x4_STSM_N": ("stmatrix.x4", 8),
    "Copy_Atom[SM75_U32x4_LDSM_N, half]": ("ldmatrix.x4", 8),
    "Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}": ("ldmatrix.x4", 8),
    "Copy_Atom[UniversalCopy[uint128], half]": ("UniversalCopy<uint128_t>", 1),
    "SM80_CP_ASYNC_CACHEGLOBAL[uint128]": ("cp.async.16", 1),
    "make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (_16,_8):(_8,_1), (_1,_8):(_0,_1))": (None, 1),
    "make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, half], make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN))": (None, 8),
    "(8,8):(1,64)": (None, 8),
    "cp.async 16": ("cp.async.16", 1),
    "a column, an element each": ("a column", 32),
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_who_accesses(text, capsys):
    name, degree = TEXTS[text]
    held = owners(text, None).held
    assert getattr(held, "name", None) == name
    assert main(["access", text, TILE, "--json", *([] if "half" in text else ["--bits", "16"])]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["degree"], found["element"]["bits"]) == (degree, 16)


def test_a_tiled_copy_is_taken_by_its_threads():
    """Each thread's address by hand: of ldmatrix the rows of 16 bytes that the atom's source has."""
    found = owners(
        "make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, half], make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN))", None
    )
    assert found.vector == 128
    assert found.width.bits == 16
    for t, v in itertools.product(range(32), range(8)):
        index = int(LDSM_A.S_TV(t, v))
        assert tuple(map(int, found.held(t, v))) == (index % 16, index // 16)


@pytest.mark.parametrize(
    "name", [n for n in PATTERNS if n not in ("global row", "global column", "UB rows", "UB column")]
)
def test_the_command_that_mends_a_conflict_does(name, capsys):
    """What `tla access` advises, typed as it stands, gives a layout without the conflict."""
    assert main(["access", name, TILE, "--bits", "16"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    if access(name, parse(TILE), 16).degree == 1:
        assert "tla swizzle" not in last
        return
    command = shlex.split(last.removeprefix("a layout without it: tla "))
    assert main([*command, "--json"]) == 0
    layout = json.loads(capsys.readouterr().out)["layout"]
    before, after = access(name, parse(TILE), 16), access(name, parse(layout), 16)
    assert after.degree < before.degree
    written = command[command.index("--write") + 1]
    assert access(written, parse(layout), 16).degree == 1
    amd = PATTERNS[name].memory.name.startswith("AMD")
    assert written == (name.replace("read", "write").replace("load", "store") if amd else "cp.async.16")
    if PATTERNS[name].bits == 128:
        assert after.wavefronts == after.least


def test_no_command_where_there_is_none(capsys):
    assert main(["access", "a column", "(48,48):(48,1)", "--bits", "32"]) == 0
    assert "tla swizzle" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("ldmatix", "an access by ldmatix", "write 'ldmatrix.x4'"),
        ("zzz", "an access by zzz", "write 'ldmatrix.x4', or a (thread, value) layout, such as (32,8):(8,1)"),
        ("8:1", "an access by 8:1", "write 'ldmatrix.x4', or a (thread, value) layout, such as (32,8):(8,1)"),
        (
            "SM80_16x8x16_F32F16F16F32_TN",
            "which reads registers",
            "write make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, half], make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN))",
        ),
        ("SM75_U32x1_MOVM_T", "of 32 threads", "write 'ldmatrix.x4', or another that reads shared memory"),
    ],
)
def test_what_accesses_no_memory(text, what, fix):
    with pytest.raises((LeafTypeError, RankError)) as found:
        owners(text, None)
    assert what in found.value.reason.what
    assert found.value.reason.fix == fix
    if fix.startswith("write make_tiled"):
        assert owners(fix.removeprefix("write "), None).vector == 128
