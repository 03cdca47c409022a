"""Formulas of LaTeX read back: against Python's own values, and what a reader may take in two ways is refused."""

import pytest

from tla import ParseError, layout_of
from tla.recovery.evaluate import table_of
from tla.recovery.texts import coordinates_of, read


@pytest.mark.parametrize(
    ("text", "by_definition"),
    [
        (r"64 i + j", lambda i, j: 64 * i + j),
        (r"ij + i (j + 1)", lambda i, j: i * j + i * (j + 1)),
        (r"f(i, j) = i \cdot 8 - j \times 2", lambda i, j: 8 * i - 2 * j),
        (
            r"$$\left\lfloor \frac{i}{4} \right\rfloor 32 + (i \bmod 4) 8 + j$$",
            lambda i, j: i // 4 * 32 + i % 4 * 8 + j,
        ),
        (r"\lfloor (i - 3) / 4 \rfloor + \lceil \frac{j - 3}{2} \rceil", lambda i, j: (i - 3) // 4 + -(-(j - 3) // 2)),
        (r"\lfloor \frac{i}{4} + \frac{j}{2} \rfloor", lambda i, j: (i + 2 * j) // 4),
        (r"8 i + (j \oplus i)", lambda i, j: 8 * i + (j ^ i)),
        (r"(8 i + j) \oplus 2 \, (i \bmod 4) \oplus 1", lambda i, j: (8 * i + j) ^ (2 * (i % 4)) ^ 1),
        (r"\min(i, j, 3) + \max\left(i, 2\right)", lambda i, j: min(i, j, 3) + max(i, 2)),
        (
            "\\begin{aligned}\nr &= \\left\\lfloor\\frac{i}{2}\\right\\rfloor \\\\\nf(i, j) &= -r + 3 \\, "
            "j\n\\end{aligned}\n",
            lambda i, j: 3 * j - i // 2,
        ),
        (r"g(\mathrm{row}_{x}, c_0) = 8 \mathrm{row}_{x} + c_{0} % the column", lambda i, j: 8 * i + j),
        (r"f(\mathrm{a\_b\_c}, j) = \mathrm{a\_b\_c} j", lambda i, j: i * j),
    ],
)
def test_a_formula_means_what_it_says(text, by_definition):
    code = read(text, "latex")
    table = table_of(code, coordinates_of(code, None, 2, {}), (9, 8), {}, "int64").tolist()
    assert table == [[by_definition(i, j) for j in range(8)] for i in range(9)]


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        (r"8 i \bmod 4 + j", 4, r"\bmod beside another operation"),
        (r"i \bmod 4 + j", 10, "+ beside another operation"),
        (r"i + j \oplus 3", 6, r"\oplus beside another operation"),
        (r"i \oplus 3 + j", 11, "+ beside another operation"),
        (r"i / 2 j + 1", 6, "j beside another operation"),
        (r"\frac{i}{2} + j", 0, "a quotient with a fraction"),
        (r"\lfloor \frac{8}{i} \rfloor + j", 0, "a division by a value that may be 0"),
        (r"\alpha i + j", 0, "a name"),
        (r"i^2 + j", 1, "the end of the text"),
        (r"f(i, j) = 8 i + (j", 18, "close the '('"),
        (r"8 i + j \\ i", 11, "the lines before it name a value"),
        (r"i +", 3, "the text ends"),
    ],
)
def test_what_is_refused_with_its_place(text, at, said):
    with pytest.raises(ParseError) as info:
        layout_of(text, shape=(8, 8), language="latex")
    assert said in str(info.value)
    assert info.value.position == at
