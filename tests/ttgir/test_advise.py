"""Advice: each change is made in the text, and what it saves is counted again; the page of the terminal;
two compiles compared."""

import gzip
import json
import re
import subprocess
import sys

import pytest

from tla import at
from tla.apps.cli import main
from tla.ttgir import advise, costs, difference, dots, program_of

from night import NIGHT, some
from places import DATA, ROOT

TEXTS = {
    p.name.removesuffix(".ttgir.gz"): gzip.decompress(p.read_bytes()).decode()
    for p in sorted((DATA / "ttgir").glob("*.ttgir.gz"))
}
SHARED = r"#ttg\.swizzled_shared<\{vec = \d+, perPhase = \d+, maxPhase = \d+, (order = \[\d, \d\])\}>"


def plain(name):
    """A program whose memories are not swizzled."""
    return re.sub(SHARED, r"#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, \1}>", TEXTS[name])


def followed(text, change):
    """The text with the layout that is advised."""
    was, now = (f"#{change.alias} = {layout}\n" for layout in (change.was, change.change))
    assert was in text or now in text  # two memories have one alias, and one advice
    return text.replace(was, now)


def sizes_of(found):
    return {a.name[1:]: 256 for a in found.program.arguments if a.type.startswith("i")}


#: Programs with the swizzles that Triton gave them taken away.
PLAIN = [
    "matmul_f16_sm80",
    "matmul_f16_nt_sm80",
    "attention_f16_sm80",
    "matmul_tf32_sm80",
    "matmul_i8_sm80",
    "matmul_f16_gfx942",
]


@pytest.mark.once
@pytest.mark.parametrize("name", some(PLAIN, 3))
def test_a_swizzle_that_is_taken_away_is_advised_again(name):
    """With all advice on memories followed, accesses take no more wavefronts than with Triton's own swizzles."""
    before, tritons = costs(program_of(plain(name))), costs(program_of(TEXTS[name]))
    text, sizes = plain(name), sizes_of(before)
    changes = [a for a in advise(before) if a.kind in ("swizzle", "padding")]
    assert changes
    for change in changes:
        text = followed(text, change)
    after = costs(program_of(text))
    counts = [at(found.totals()["wavefronts"], sizes) for found in (before, tritons, after)]
    assert counts[2] < counts[0]
    assert counts[2] <= counts[1]


@pytest.mark.parametrize("name", some(TEXTS, 6))
def test_the_gain_is_what_is_counted_with_the_change(name):
    """Each swizzle is written into the text, where its memory alone has that layout: the program costs as much
    less as was said."""
    found = costs(program_of(TEXTS[name]))
    sizes = sizes_of(found)
    for change in advise(found):
        assert at(change.after, sizes) < at(change.before, sizes)
        if change.kind != "swizzle":
            continue
        after = costs(program_of(followed(TEXTS[name], change)))
        lines = {row.op.line for row in change.rows}
        rows = [row for row in after.rows if row.op.line in lines]
        assert at(change.after, sizes) == sum(
            at(row.times, sizes) * p.cost for row in rows for p in row.parts if p.unit == "wavefronts"
        )


@pytest.mark.once
def test_attention_on_mi300_reads_k_through_one_bank():
    """As Triton 3.9 compiles it: rows of 128 bytes, each lane another row, 16 words of one bank at once."""
    found = costs(program_of(TEXTS["attention_f16_gfx942"]))
    first = advise(found)[0]
    assert (first.kind, str(first.before), str(first.after)) == ("swizzle", "ceil(T/32)*2080", "ceil(T/32)*160")
    assert max(p.degree for row in first.rows for p in row.parts) == 16


def test_nothing_is_advised_where_triton_is_free_of_conflicts():
    for name in ("matmul_f16_sm80", "attention_f16_sm80", "matmul_tma_sm90", "transpose_f16_sm80", "softmax_1024_sm80"):
        assert advise(costs(program_of(TEXTS[name]))) == ()


def test_memory_that_another_unit_reads_keeps_its_layout():
    """Matrix instructions of wgmma, and the TMA, read the layouts that they know."""
    text = TEXTS["matmul_fp8_sm90"]
    found = costs(program_of(text))
    assert any(p.degree > 1 for row in found.rows for p in row.parts)
    assert not [a for a in advise(found) if a.kind == "swizzle"]


RECOMPILE = """
import json, sys, triton
from collections import Counter
sys.path.insert(0, sys.argv[1])
import collect
from triton.backends.compiler import GPUTarget
for path in sys.argv[2:]:
    made = triton.compile(path, target=GPUTarget("cuda", 80, 32))
    print(json.dumps(sum(map(Counter, collect.instructions(made.asm["ptx"]).values()), Counter())))
"""


@pytest.mark.skipif(not NIGHT, reason="compiles with Triton: pytest --night")
def test_triton_compiles_what_is_advised(tmp_path):
    """The text with the advice followed, compiled: its instructions are those that are counted."""
    pytest.importorskip("triton")
    paths, predicted = [], []
    for name in (n for n in PLAIN if "sm80" in n):
        text = plain(name)
        for change in advise(costs(program_of(text))):
            text = followed(text, change) if change.kind == "swizzle" else text
        paths.append(tmp_path / f"{name}.ttgir")
        paths[-1].write_text(text)
        rows = costs(program_of(text)).rows
        predicted.append(sum(p.instructions for r in rows for p in r.parts if p.unit == "wavefronts"))
    bench = ROOT / "tests" / "bench" / "triton_programs"
    done = subprocess.run([sys.executable, "-c", RECOMPILE, bench, *paths], capture_output=True, text=True, check=True)
    for line, count in zip(done.stdout.splitlines(), predicted):
        found = json.loads(line)
        assert count == sum(
            n for name, n in found.items() if name.startswith(("ld.shared", "st.shared", "ldmatrix", "stmatrix"))
        )


def test_where_operands_of_dots_come_from():
    found = {
        name: dots(costs(program_of(TEXTS[name])))
        for name in ("matmul_f16_sm80", "matmul_tma_sm90", "matmul_f16_sm100")
    }
    assert [(d.shape, d.operands, str(d.times)) for d in found["matmul_f16_sm80"]] == [
        ((64, 64, 16), ("registers, kWidth 2",) * 2, "ceil(K/32)")
    ] * 2
    (wgmma,) = found["matmul_tma_sm90"]
    assert wgmma.shape == (128, 64, 64)
    assert wgmma.operands == ("shared memory, 128-byte swizzle", "shared memory, 128-byte swizzle, transposed")
    assert {d.shape for d in found["matmul_f16_sm100"]} == {(128, 128, 64)}


# ------------------------------------------------------------------------------------------------------ two compiles


def test_two_compiles_are_compared():
    before, after = costs(program_of(plain("matmul_f16_sm80"))), costs(program_of(TEXTS["matmul_f16_sm80"]))
    changes = difference(before, after)
    for k, found in enumerate((before, after)):
        totals = {}
        for c in changes:
            totals[c.unit] = totals.get(c.unit, 0) + c[3 + k]
        assert totals == found.totals()
    assert {c.operation for c in changes if c.differs} == {"ttg.local_load"}
    assert not [c for c in difference(after, after) if c.differs]


# -------------------------------------------------------------------------------------------------------- the shell


def run(capsys, *words):
    code = main(["ttgir", *map(str, words)])
    return code, *capsys.readouterr()


PATH = DATA / "ttgir" / "attention_f16_gfx942.ttgir.gz"


def test_the_tables_fit_80_columns(capsys):
    for name in some(TEXTS, 4):
        sizes = [f"{a.name[1:]}=4096" for a in program_of(TEXTS[name]).arguments if a.name in ("%K", "%N", "%T")]
        options = ["--size", *sizes] if sizes else []
        code, out, err = run(capsys, DATA / "ttgir" / f"{name}.ttgir.gz", *options)
        assert (code, err) == (0, "")
        assert all(len(line) <= 80 for line in out.splitlines()), name


@pytest.mark.once
def test_json_says_the_same(capsys):
    value = json.loads(run(capsys, PATH, "--json", "--size", "T=64")[1])
    found = costs(program_of(TEXTS["attention_f16_gfx942"]), {"T": 64})
    assert value["totals"] == found.totals()
    assert [row["line"] for row in value["rows"]] == [row.op.line for row in found.rows]
    assert {row["shared_layout"] for row in value["rows"]} > {None}
    advice = json.loads(run(capsys, PATH, "--json", "--advise", "--size", "T=64")[1])
    assert advice[0]["before"] == 2080 * 2
    compared = json.loads(run(capsys, PATH, PATH, "--json")[1])
    assert compared["changes"] == []
    assert compared["same"] > 5


def test_sizes_of_0_and_of_one_program_alone(capsys):
    value = json.loads(run(capsys, DATA / "ttgir" / "matmul_f16_sm80.ttgir.gz", "--json", "--size", "K=0")[1])
    assert {row["times"] for row in value["rows"]} == {0, 1}
    other = DATA / "ttgir" / "softmax_odd_sm80.ttgir.gz"
    compared = json.loads(
        run(capsys, DATA / "ttgir" / "matmul_f16_sm80.ttgir.gz", other, "--json", "--size", "K=64")[1]
    )
    assert compared["totals"][0] == {"unit": "sectors", "before": 1280, "after": 160}


def test_what_the_shell_refuses(capsys, tmp_path):
    broken = tmp_path / "broken.ttgir"
    broken.write_text(TEXTS["transpose_f16_sm80"][:3000])
    packed = tmp_path / "cut.gz"
    packed.write_bytes(b"\x1f\x8b" + bytes(100))
    hlo = next((DATA / "hlo").glob("*.txt"))
    for words, said in (
        ((broken,), "a region"),
        ((packed,), "gzipped"),
        ((hlo,), "no operation of TTGIR"),
        ((tmp_path / "none",), "No such file"),
        ((PATH, "--size", "T"), "write --size K=4096"),
        ((PATH, "--size", "M=3"), "of the kernel: "),
        ((PATH, PATH, "--size", "M=3"), "the size M"),
        ((PATH, "--target", "cuda:90"), "leave --target out"),
        ((PATH, PATH, "--advise"), "one program"),
    ):
        code, out, err = run(capsys, *words)
        assert (code, out) == (1, "")
        assert said in err
