"""The tutorial's last steps are examples: what it quotes of them stands there, and its table has what check counts."""

import doctest
import re

import numpy as np
import pytest

from tests.kernels.test_kernel_source import examples

from night import NIGHT
from places import DOCS, EXAMPLES

PAGE = (DOCS / "kernels_tutorial.md").read_text()
STEPS = {
    "5. the next tile on its way (gemm_tn)": ("variants of sgemm_2", "gemm_tn", np.float32, (1, 0)),
    "6. tensor cores": ("variants of gemm_atoms", "mma_sync", np.float16, ()),
    "7. stages": ("variants of sgemm_sm80", "gemm_tn", np.float16, (1, 0)),
}


def test_what_is_quoted_stands_in_the_example():
    quoted = [text for text in re.findall(r"```python\n(.*?)```", PAGE, re.S) if ">>>" not in text]
    assert len(quoted) == 3
    sources = [path.read_text() for path in (EXAMPLES / "kernels").glob("*.py")]
    for text in quoted:
        assert any(text in source for source in sources), text


@pytest.mark.parametrize("step", STEPS)
def test_the_table_has_what_check_counts(step):
    example, variant, element, scalars = STEPS[step]
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {step} |"))
    a, b, c = (np.zeros(shape, element) for shape in ((70, 48), (66, 48), (70, 66)))
    c = c if scalars else c.astype(np.float32)
    report = examples()[example]["VARIANTS"][variant][0].check(a, b, c, *scalars)
    found = [
        sum(r.wavefronts for r in report.conflicts if r.memory == f"{memory} memory") for memory in ("global", "shared")
    ]
    assert [f"{n:,}" for n in found] == [cell.strip() for cell in row.split("|")[2:4]]


@pytest.mark.skipif(not NIGHT, reason="a minute: pytest --night")
def test_the_first_step_at_the_sizes_of_the_others(capsys):
    page = doctest.DocTestParser().get_doctest(PAGE, {}, "page", None, 0)
    first = next(k for k, example in enumerate(page.examples) if example.source.startswith("told("))
    page.examples = page.examples[:first]
    doctest.DocTestRunner().run(page, clear_globs=False)
    page.globs["told"](page.globs["naive"])
    accesses, sectors = re.search(r"says ([\d,]+) accesses and ([\d,]+) sectors", PAGE).groups()
    assert f"global memory: {accesses} accesses, {sectors} sectors" in capsys.readouterr().out
    assert f"| 1. a thread for each element | {sectors} |" in PAGE
