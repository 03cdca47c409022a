"""The static integers by name."""

import pytest

import tla
from tla import Int, is_static
from tla.core import literals
from tla.core.ints import static_literal


def test_literals():
    from tla import _0, _4, _12345

    assert (_0, _4, _12345) == (0, 4, 12345)
    assert all(map(is_static, (_0, _4, _12345)))
    for name in literals.__all__:
        assert isinstance(getattr(literals, name), Int[int(name[1:])])
    for name in ("_x", "4", "_4x", "__", "_٣"):
        with pytest.raises(AttributeError):
            getattr(tla, name)
    for name in ("a4", "4", "44", "_04", "_-4", ""):
        assert static_literal(name) is None
    assert (static_literal("_0"), static_literal("_40")) == (0, 40)
