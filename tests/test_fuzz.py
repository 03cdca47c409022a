"""Half a minute of fuzzing, from another seed in each run: a failure prints its seed. tests/fuzz.py runs for longer."""

import random

import fuzz
import pytest


@pytest.mark.parametrize("grammar", fuzz.GRAMMARS)
def test_broken_texts_are_read_or_refused(grammar):
    read, refused = fuzz.fuzz(grammar, seconds=8, seed=random.randrange(2**32))
    assert read > 50
    assert refused > 50
