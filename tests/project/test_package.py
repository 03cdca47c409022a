"""The package: what an index shows, what the workflows run, and that each of their commands is one that is tried."""

import re
from pathlib import Path

import pytest

import tla
from tla.apps.explore.site import VERSION

ROOT = Path(tla.__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
if not WORKFLOWS:
    pytest.skip("needs a checkout", allow_module_level=True)
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_step_of_a_workflow_is_a_command_of_ci(path):
    """By what it runs and with which options, where its files lie left out."""
    for command in re.findall(r"- run: (.*)", path.read_text(encoding="utf-8")):
        name, *rest = command.split()
        if name in ("pip", "bash"):  # what is installed: pip is in every environment of CI
            assert rest[0] in ("install", ".ci/run")
            continue
        words = [word for word in (name, *rest) if "site" not in word and "dist" not in word and "npm/" not in word]
        assert any(all(word in line for word in words) for line in CI.splitlines()), command


def test_the_workflows_and_ci_use_the_versions_that_the_page_is_tested_with():
    for text in (CI, *(path.read_text(encoding="utf-8") for path in WORKFLOWS)):
        assert {*re.findall(r"pyodide@([\d.]+)", text)} <= {VERSION}


def test_addresses_are_those_of_one_project():
    urls = re.findall(r'= "(https://[^"]*)"', PROJECT)
    assert len(urls) == 5
    page = (ROOT / "tla" / "apps" / "explore" / "page" / "dom.js").read_text(encoding="utf-8")
    assert re.search(r'PUBLIC = "(.*?)"', page)[1] in urls
    assert all("tla-layouts" in url for url in urls)
    assert 'name = "tla-layouts"' in PROJECT
