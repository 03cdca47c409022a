"""Every reader of text from outside: what is misspelt is named, and a text of 1 MB is answered or refused in 5 s, in
plain characters."""

import io
import random
import re
import time

import pytest
from readers import READERS

from tla import TlaError, xla

from night import NIGHT

#: An attribute: a word with its value behind it, which is no name of an HLO instruction, nor of an alias of MLIR.
ATTRIBUTE = re.compile(r"""(?<![%\w.#"'])([A-Za-z_]\w*)(?=\s*=(?!=))""")
#: Names that the one who writes a text gives to what is his: any other is as good.
FREE = {
    ("shardy meshes", "mesh"),
    ("shardy meshes", "m"),
    ("replica groups", "a"),
    ("replica groups", "b"),
    ("page", "A"),
    ("page", "a"),
}
#: Names of an instruction's result, which stand before it.
RESULT = re.compile(r"\s*(ROOT )?%?[\w.-]+(?= = )")

SAMPLES = [pytest.param(name, text, id=f"{name}-{k}") for name, r in READERS.items() for k, text in enumerate(r.texts)]


@pytest.mark.parametrize(("name", "text"), SAMPLES)
def test_samples_are_read(name, text):
    READERS[name].read(text)


def misspelt(word):
    """The word with a letter too few, one too many, and two that have changed places."""
    yield word + word[-1]
    if len(word) > 2:
        yield word[:-1]
        yield word[:-2] + word[-1] + word[-2] if word[-1] != word[-2] else word[1:]


def said(name, text):
    """What is said of a text: its error, or the warnings of a reader whose language has new attributes
    with each release."""
    try:
        READERS[name].read(text)
    except TlaError as error:
        return str(error)
    if name == "instruction":
        return "\n".join(xla.unknown_names(xla.read_hlo(io.StringIO(text))))
    if name in ("module", "header"):
        return "\n".join(xla.unknown_names(xla.read_module(io.StringIO(text))))
    return ""


@pytest.mark.parametrize("name", READERS)
def test_no_attribute_is_dropped(name):
    """A misspelt attribute is refused, or warned of where XLA may have a new one; by its name, or by that of the one
    which is missing. By day one misspelling of each."""
    rng = random.Random(name)
    for text in READERS[name].texts:
        start = RESULT.match(text).end() if name == "instruction" else 0
        for m in ATTRIBUTE.finditer(text, start):
            if (name, m[1]) in FREE:
                continue
            words = [*misspelt(m[1])]
            for word in words if NIGHT else rng.sample(words, 1):
                found = said(name, text[: m.start()] + word + text[m.end() :])
                assert word in found or m[1] in found, (name, m[1], word, found)


def large(text, size):
    """Texts of a size, made of a text that is read."""
    half = len(text) // 2
    yield text * (size // len(text) + 1)
    for c in ("(", "[", "{", "<", "1", "9", "a", "-", " ", "\n", ",", '"', "\x1b[31m", "=", "%", "\\", "(*", "/*"):
        yield c * (size // len(c))
        yield text[:half] + c * (size // len(c)) + text[half:]


@pytest.mark.parametrize("name", READERS)
def test_a_large_text_is_answered_or_refused(name):
    """By day one text of each reader, by night all."""
    rng = random.Random(name)
    texts = [x for text in READERS[name].texts[:1] for x in large(text, 10**6)]
    for text in texts if NIGHT else rng.sample(texts, 1):
        start, found = time.process_time(), ""
        try:
            READERS[name].read(text)
        except TlaError as error:
            found = str(error)
        assert time.process_time() - start < 5, (name, text[:40], text[500_000:500_040])
        assert len(found) < 6000
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", found), (name, found)
