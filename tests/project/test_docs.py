"""The documentation: nothing public is missing, nothing is linked that is not there. Its examples are doctests
of their own."""

import doctest
import os
import re
import runpy
import shlex
from collections import Counter
from pathlib import Path

import pytest

import tla
from tla import access, ascend, codegen, gpu, kernels, linear, ttgir, viz, xla
from tla.apps.cli import COMMANDS, main
from tla.core import literals
from tla.core.element import Element
from tla.linear import mosaic, triton
from tla.xla import jax as tla_jax

ROOT = Path(tla.__file__).parents[1]
#: Addresses of this repository's files.
OWN = "https://github.com/tla-layouts/tla/blob/main/", "https://raw.githubusercontent.com/tla-layouts/tla/main/"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def public():
    """(module, name) of all that is public; what a star import must not take from Python too."""
    names = {
        "tla": {*tla.__all__, "filter", "max", "min", "sum"} - {*tla._PACKAGES} - {*literals.__all__},
        "tla.ascend": {*ascend.__all__, "float"},
    }
    names |= {
        module.__name__: {*module.__all__}
        for module in (xla, tla_jax, codegen, gpu, kernels, viz, linear, mosaic, triton, access, ttgir)
    }
    names["tla.gpu"] -= {
        name for name in gpu.__all__ if isinstance(getattr(gpu, name), (Element, gpu.MMAAtom, gpu.CopyAtom, gpu.Family))
    }
    return {(module, name) for module, found in names.items() for name in found}


def test_the_reference_has_every_public_name_once():
    blocks = [
        block for page in PAGES for block in re.findall(r"```\{api\} (\S+)\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    listed = Counter((module, name) for module, names in blocks for name in names.split())
    assert {*listed} == public()
    assert {*listed.values()} == {1}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_pages_name_are_there(page):
    folders = (ROOT, ROOT / "tla", ROOT / "tla" / "codegen")
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_0-9]+\.py)`", page.read_text())
    assert not [name for name in named if not any((folder / name).exists() for folder in folders)]


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem.endswith("_zh")], ids=lambda page: page.name)
def test_pages_in_chinese_have_the_examples_of_the_english_ones(page):
    """But for comments; what they print is so looked at once."""

    def examples(of):
        found = doctest.DocTestParser().get_examples(of.read_text(encoding="utf-8"))
        return [(x.source.partition("#")[0].strip(), x.want) for x in found]

    assert examples(page) == examples(page.with_stem(page.stem.removesuffix("_zh")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, heading = target.partition("#")
        for address in OWN:  # README's links are absolute: a package index shows it too
            path = os.path.relpath(ROOT / path.removeprefix(address), page.parent) if path.startswith(address) else path
        if path.startswith(("http:", "https:")):
            continue
        found = (page.parent / path) if path else page
        assert found.exists(), target
        titles = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
        assert heading in ("", *(re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles)), target


SHELL = re.compile(r"```sh\n([^`]*)```\n(?:<!-- end -->\n)?\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(
    ("commands", "shown"), [found for page in PAGES for found in SHELL.findall(page.read_text(encoding="utf-8"))]
)
def test_what_shell_blocks_show_is_what_the_commands_print(commands, shown, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    (words,) = (
        shlex.split(command)
        for command in re.split("&&|\n", commands)
        if command.strip().startswith(("tla ", "python "))
    )
    if words[0] == "tla":
        main(words[1:])
    else:
        monkeypatch.syspath_prepend(str(Path(words[1]).parent))
        monkeypatch.setattr("sys.argv", words[1:])
        runpy.run_path(words[1], run_name="__main__")
    assert capsys.readouterr().out == shown


def test_the_readme_draws(tmp_path, capsys):
    (command,) = re.findall(r"^tla (draw .*)$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    *words, _picture = shlex.split(command)
    assert main([*words, str(tmp_path / "picture.svg")]) == 0
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.once
def test_the_picture_of_the_packages_is_up_to_date():
    packages = runpy.run_path(str(ROOT / "docs/_sphinx/packages.py"))
    drawn = packages["drawn"](packages["graph"]())
    assert (ROOT / "docs/packages.svg").read_text(encoding="utf-8") == drawn, "run: python docs/_sphinx/packages.py"


def test_the_picture_of_the_first_page_is_up_to_date_and_its_grids_are_what_they_are_called():
    front = runpy.run_path(str(ROOT / "docs/_sphinx/front.py"))
    assert (ROOT / "docs/front.svg").read_text(encoding="utf-8") == front["picture"](), (
        "run: python docs/_sphinx/front.py"
    )
    cute, ascend, tpu = (tla.parse(text) for _title, text, _options in front["GRIDS"])
    assert sorted(cute(i, 0) % 8 for i in range(8)) == [*range(8)]  # a column has every bank once
    assert all(ascend(i, j) == ascend(i // 4 * 4, j // 4 * 4) + i % 4 * 4 + j % 4 for i in range(8) for j in range(8))
    assert tpu == xla.lower("bf16[8,8]{1,0:T(4,4)(2,1)}")


def test_the_picture_of_the_readme_is_up_to_date_and_says_what_is_counted():
    conflict = runpy.run_path(str(ROOT / "docs/_sphinx/conflict.py"))
    assert (ROOT / "docs/conflict.svg").read_text(encoding="utf-8") == conflict["picture"](), (
        "run: python docs/_sphinx/conflict.py"
    )
    assert [conflict["degree"](text) for _title, text in conflict["GRIDS"]] == [8, 1]
    for tile, degree in (("(64,64):(64,1)", 8), ("Sw<3,3,3> o 0 o (64,64):(64,1)", 1)):  # of halves, as the titles say
        assert access.access("ldmatrix.x4", tla.parse(tile), 16).degree == degree


def test_the_readme_shows_on_a_package_index():
    """Its links and pictures are absolute: an index has the text alone."""
    text = re.sub(r"```.*?```|`[^`]*`", "", PAGES[0].read_text(encoding="utf-8"), flags=re.DOTALL)
    assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)\s]+)\)", text))
    named = [
        word
        for row in re.findall(r"^\| \*\*.*$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
        for word in re.findall("`(tla .*?)`", row)
    ]
    assert len(named) >= 4
    assert all(shlex.split(command)[1] in COMMANDS for command in named)


def test_every_page_is_of_one_kind():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    kinds = dict(re.findall(r":caption: ([^\n]+)\n:hidden:\n\n(.*?)```", index, re.DOTALL))
    assert list(dict.fromkeys(kind.partition(":")[0] for kind in kinds)) == [
        "Tutorial",
        "How to",
        "Reference",
        "Explanation",
    ]
    assert sum(kind.startswith("How to: ") for kind in kinds) == 6  # by role
    listed = Counter(name for names in kinds.values() for name in names.split())
    assert listed == Counter(
        [*(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "index"), "api/index"]
    )
