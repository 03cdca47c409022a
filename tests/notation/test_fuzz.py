"""Thousands of broken texts, at night a million, from another seed in each run: a failure prints its seed.
tests/support/fuzz.py takes as many as you say."""

import random

import pytest

import fuzz
from night import amount, some


@pytest.mark.parametrize("grammar", some(fuzz.GRAMMARS, 2))
def test_broken_texts_are_read_or_refused(grammar):
    read, refused = fuzz.fuzz(grammar, cases=amount(2000, 1_000_000), seed=random.randrange(2**32))
    assert read > 20
    assert refused > 20
