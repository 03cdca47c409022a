"""Addresses written after real projects: each layout against what Python's own parser, or a C++ compiler, makes
of the same text."""

import itertools
import json
import random
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from c_tables import c_tables, compiler

from tla import TlaError, layout_of, offsets

from night import amount

DATA = Path(__file__).parents[1] / "data" / "recovery"
SNIPPETS, ATTACKS = (
    json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")) for name in ("snippets", "attacks")
)
#: Those of which a C++ compiler said the offsets: their checksum is in the row.
COMPILED = [row for row in (*SNIPPETS, *ATTACKS) if "crc" in row and row["language"] in ("c", "cpp", "cuda", "hip")]


class T:
    """TVM's functions, by their definition."""

    bitwise_xor = staticmethod(lambda a, b: a ^ b)
    floordiv = FloorDiv = truncdiv = staticmethod(lambda a, b: a // b)  # of what is not negative
    floormod = FloorMod = truncmod = staticmethod(lambda a, b: a % b)
    Cast = staticmethod(lambda kind, x: x)


def by_python(row):
    """The offsets that Python's own parser and integers give: all quotients here are of what is not negative."""
    text, names = row["text"], {"T": T, "ModularIndexing": lambda a, b, c: a // b % c, **row.get("values", {})}
    if row["language"] in ("c", "cuda"):
        text = re.sub(r"^\w+\[(.*)\]$", r"\1", text)
    if row["language"] == "mlir":
        text = (
            re.sub(r"affine_map<|\(d0[^)]*\)(\[s0\])? -> |>\Z", "", text)
            .replace(" floordiv ", "//")
            .replace(" mod ", "%")
        )
    text = re.sub(r"\[:, None\]|\[None, :\]", "", text)
    if text.startswith("def"):
        exec(text, names)  # our own rows
        f = names[re.match(r"def (\w+)", text)[1]]
    else:
        text = re.sub(r"(?<!/)/(?!/)", "//", text)
        f = eval(text if text.startswith("lambda") else f"lambda {row['coords']}: {text}", names)
    values = np.array([f(*c) for c in itertools.product(*map(range, row["shape"]))])
    if values.ndim > 1:  # an index map: row by row in the box of its coordinates
        values = np.ravel_multi_index(tuple(values.T), tuple(values.max(0) + 1))
    return values.reshape(row["shape"])


def answer(row):
    text = "\n".join(part for part in (row.get("before"), row["text"]) if part)
    return layout_of(
        text, shape=tuple(row["shape"]), coords=row.get("coords"), language=row["language"], values=row.get("values")
    )


def table(layout, shape):
    """The offsets of a layout, -1 outside of its box."""
    found, box = offsets(layout).reshape(shape, order="F"), layout.origin_shape
    inside = tuple(slice(int(n)) for n in box) if isinstance(box, tuple) and len(box) == len(shape) else ...
    whole = np.full(found.shape, -1)
    whole[inside] = found[inside]
    return whole


def checksum(table):
    return zlib.crc32(table.astype("<i8").tobytes())


def counted(rows):
    """How many rows are found, each as its truth says, and how many are refused, each for its reason."""
    found = refused = 0
    for row in rows:
        if row["layout"] is None:
            with pytest.raises(TlaError, match=re.escape(row.get("refused", "no layout of shape:stride"))):
                answer(row)
            refused += 1
            continue
        layout = answer(row)
        assert str(layout) == row["layout"], row["after"]
        if "crc" in row:
            assert checksum(table(layout, row["shape"])) == row["crc"], row["after"]
        else:
            assert (table(layout, row["shape"]) == by_python(row)).all(), row["after"]
        found += 1
    return found, refused


def test_snippets_after_real_projects():
    assert counted(SNIPPETS) == (350, 11)
    assert len({row["after"] for row in SNIPPETS}) == len(SNIPPETS) > 200


def test_texts_of_an_attack():
    """Rows by someone who had not written the reader: the forms of many projects, and what has to be refused."""
    assert counted(ATTACKS) == (180, 34)


@pytest.mark.once
def test_the_checksums_are_those_of_a_compiler(tmp_path):
    if not compiler():
        pytest.skip("no C++ compiler")
    for row, truth in zip(COMPILED, c_tables(COMPILED, tmp_path)):
        assert checksum(truth) == row["crc"], row["after"]


def test_a_text_cut_off_or_mutilated_is_answered_or_refused():
    rng = random.Random(33)
    for _ in range(amount(500, 40_000)):
        row = rng.choice([*SNIPPETS, *ATTACKS])
        text = "\n".join(part for part in (row.get("before"), row["text"]) if part)
        cut = rng.randrange(len(text))
        text = text[:cut] + rng.choice(
            ["", "", text[cut + 1 :], rng.choice("()[]{};,<>*&#\"'?:=0a") + text[cut:], text[cut + 9 :] + text[:cut]]
        )
        try:
            layout_of(
                text,
                shape=(2,) * len(row["shape"]),
                coords=row.get("coords"),
                language=row["language"],
                values=row.get("values"),
            )
        except TlaError as error:
            assert len(str(error)) < 3000
