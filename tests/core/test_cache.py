"""Results that are remembered: of which arguments, how many, and when not."""

import pytest

from tla import E, Int, Layout, assuming, cache_clear, dims, parse
from tla.core import cache
from tla.core.cache import memo, memory, plain_memo


@pytest.fixture
def calls(monkeypatch):
    """A memo of a function, and what it was called with."""
    seen = []

    @memo
    def f(*arguments, **named):
        seen.append((arguments, named))
        return len(seen)

    return f, seen


def test_integers_by_kind_and_value_tuples_by_what_they_hold_all_else_by_identity(calls):
    f, _seen = calls
    one, other = [4], [4]
    arguments = [4, Int[4](), (4,), (Int[4](),), ((4,), 4), (4, (4,)), True, one, other, None]
    first = [f(x) for x in arguments]
    assert first == [*range(1, len(arguments) + 1)]
    assert [f(x) for x in [4, Int[4](), (4,), (Int[4](),), ((4,), 4), (4, (4,)), True, one, other, None]] == first
    assert f(4, 4) not in first
    cache_clear()
    assert f(4) not in first


def test_layouts_and_strides_along_modes_by_their_parts(calls):
    f, _seen = calls
    m, n = dims("M N")
    twice = 2 * m
    texts = ["(4,2):(1,4)", "(4,2):(2,1)", "(_4,2):(1,4)", "(4,2):(_1,4)", "((4,2)):((1,4))", "(4,2):(1@0,4@1)"]
    texts += ["(4,2):(1@1,4@0)", "(4,2):(1@0@1,4@1)", "4:_1@0+2@1", "4:_1@0+1@1"]

    def made():
        yield from map(parse, texts)
        yield from (Layout((4, 2), (1, 4), valid) for valid in ((4, 1), (3, 2), ...))
        yield from (Layout((m, 2), (1, m)), Layout((n, 2), (1, n)), Layout((m, 2), (1, twice)))
        yield from ((4, 2), 1 * E[0], 2 * E[0], 1 * E[1])

    first = [f(x) for x in made()]
    assert first == [*range(1, len(first) + 1)]
    assert [f(x) for x in made()] == first
    assert [f(x, 4) for x in made()] != first


def test_named_arguments_are_not_remembered(calls):
    f, seen = calls
    assert f(4, x=1) != f(4, x=1)
    assert len(seen) == 2


def test_as_many_as_the_limit_are_kept_and_then_it_begins_anew(calls, monkeypatch):
    f, seen = calls
    assert cache.LIMIT == 4096
    monkeypatch.setattr(cache, "LIMIT", 3)
    for n in (0, 1, 2, 0, 1, 2):
        f(n)
    assert len(seen) == 3
    f(3)  # which forgets these
    f(3)
    assert len(seen) == 4
    f(0)
    assert len(seen) == 5


def test_nothing_is_remembered_in_a_block_and_again_behind_it(calls):
    f, seen = calls
    with assuming():
        with assuming():
            assert f(4) != f(4)
        assert f(4) != f(4)
    assert f(4) == f(4)
    assert len(seen) == 5
    one, other = assuming(), assuming()  # blocks of generators end in any order
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert f(5) != f(5)
    other.__exit__(None, None, None)
    assert f(5) == f(5)
    with pytest.raises(KeyError), assuming():
        raise KeyError
    assert f(6) == f(6)


def test_what_is_not_kept():
    class Buffer:
        is_kept = False

    class Other:
        pass

    made, kept = memo(lambda x: Buffer()), memo(lambda x: Other())
    assert made(4) is not made(4)
    assert kept(4) is kept(4)


def test_deep_arguments_pass(calls):
    f, _seen = calls
    deep = 4
    for _level in range(64):  # as deep as any layout is
        deep = (deep,)
    assert f(deep) == f(deep)
    for _level in range(100_000):
        deep = (deep,)
    assert f(deep) != f(deep)


def test_memories_of_one_kind_are_cleared():
    seen = []
    f, results = plain_memo(lambda n: seen.append(n) or n), memory()
    results[1] = 2
    assert f(3) == f(3) == 3
    assert seen == [3]
    cache_clear()
    assert not results
    assert f(3) == 3
    assert seen == [3, 3]
