"""The text of an error."""

import pickle

import pytest

from tla import TlaError


def message(f):
    with pytest.raises(TlaError) as caught:
        f()
    assert isinstance(caught.value, (ValueError, TypeError))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return str(caught.value)
