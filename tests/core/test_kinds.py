"""Operations kind by kind: what is found for which argument, and what is said where there is none."""

import pytest

import tla
from tla import Int, LeafTypeError, parse
from tla.core import kinds
from tla.core.cache import memo
from tla.core.kinds import by_kind, defined_in, is_operation, layout_fix, on, over, own
from tla.core.layout import Layout


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(kinds, "_KINDS", set())
    monkeypatch.setattr(kinds, "_DEFINED_IN", {})


class One:
    pass


class Other(One):
    pass


def test_the_kind_of_the_argument_decides(table):
    @by_kind(One)
    def first(x, y=None, *, z=None):
        return "written", x, y, z

    @by_kind(One, argument=1)
    def second(x, y=None):
        return "written", x, y

    a, b = One(), Other()
    assert first(a) == ("written", a, None, None)
    assert first(b, 2, z=3) == ("written", b, 2, 3)
    assert first(x=a, y=4) == ("written", a, 4, None)
    assert second(1, a) == second(1, y=a) == ("written", 1, a)
    on(Other, first)(lambda x, *more, **options: ("own", x, more, options))
    on(Other, second, argument=1)(lambda x, y: ("own", x, y))
    assert first(b, 2, z=3) == ("own", b, (2,), {"z": 3})
    assert second(1, b) == ("own", 1, b)
    assert second(b, a) == ("written", b, a)
    for f, arguments in ((first, (4,)), (second, (a, 4))):
        with pytest.raises(LeafTypeError, match=f"{f.__name__} of a int"):
            f(*arguments)
    assert own(first, b) is not None
    assert own(first, a) is own(first, b, 1) is own(second, b) is None
    remembered = memo(first)
    assert is_operation(remembered, first)
    assert not is_operation(remembered, second)
    on(One, remembered)(lambda x: "known to both")
    assert own(first, a) is own(remembered, a)
    assert remembered(a) == ("written", a, None, None)  # of the kind that it is written for it is what is written


def test_an_operation_on_coordinates_is_done_to_what_a_kind_is_made_of(table):
    class Wrapped:
        def __init__(self, inside):
            self.inside = inside

        def over(self, operation, *more, **options):
            return Wrapped(operation(self.inside, *more, **options))

    over(Wrapped, tla.coalesce, tla.take)
    layout = parse("(_2,_2,_3):(_1,_2,_8)")
    try:
        assert tla.coalesce(Wrapped(Wrapped(layout)), profile=(1,)).inside.inside == layout
        assert tla.take[0, 2](Wrapped(layout)).inside == parse("(_2,_2):(_1,_2)")
    finally:
        for operation in (tla.coalesce, tla.take):
            del operation.kinds[Wrapped, 0]


def test_modules_are_loaded_when_one_is_first_asked_for(table, tmp_path, monkeypatch):
    (tmp_path / "defines_it.py").write_text(
        "import builtins\nbuiltins.loaded_here = getattr(builtins, 'loaded_here', 0) + 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import builtins

    @by_kind(object)
    def f(x):
        return x

    defined_in(One, "defines_it")
    assert not hasattr(builtins, "loaded_here")
    assert own(f, Other()) is None
    assert not hasattr(builtins, "loaded_here")
    try:
        assert own(f, One()) is own(f, One()) is None
        assert builtins.loaded_here == 1
        assert One not in kinds._DEFINED_IN
    finally:
        del builtins.loaded_here


@pytest.mark.parametrize(
    ("x", "fix"),
    [
        ("(4,2):(1,4)", "write parse('(4,2):(1,4)')"),
        ("x" * 100, "write parse('" + "x" * 59 + ")"),
        (Int[4], "write Int[4]() for the value"),
        ([4, 8], "write a tuple: MakeLayout((4, 8))"),
        (tla.MakeTensor(None, parse("4:1")), "give its .layout, and add its .offset to what comes of it"),
        (parse("Sw<1,0,1> o _0 o 4:1"), "cut or compose it until it is a plain Layout"),
        (4, "make one with MakeLayout"),
        (None, "make one with MakeLayout"),
    ],
)
def test_the_fix_for_what_is_no_layout(x, fix):
    assert layout_fix(x) == fix


def test_a_layout_of_its_own():
    class Tag:
        layout = parse("4:1")

    assert layout_fix(Tag()) == "give its .layout"
    assert isinstance(Tag.layout, Layout)
