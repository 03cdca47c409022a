"""What an argument is: a layout is not its shape, integers stay in their width, a value that does not fit is refused."""

import builtins
import re

import numpy
import pytest

import tla
from tla import E, LeafTypeError, Swizzle, parse

L = parse("(_64,_64):(_64,_1)")
COMPOSED = parse("Sw<3,3,3> o _0 o (_64,_64):(_64,_1)")


# ------------------------------------------------------------------------------- a layout is not its shape


@pytest.mark.parametrize("layout", [L, COMPOSED, parse("(4,(2,3)):(6,(3,1))")])
def test_the_index_of_a_coordinate_of_a_layout_is_its_offset(layout):
    for i in range(int(tla.size(layout))):
        assert tla.crd2idx(i, layout) == layout(i)
    assert tla.crd2idx((1, 5), layout) == layout(1, 5)


#: What wants integers, called with one argument that is none: x is a layout, a swizzle, a tensor or a text.
WANT_INTEGERS = {
    "idx2crd": lambda x: tla.idx2crd(38, x),
    "idx2crd by strides": lambda x: tla.idx2crd(38, (64, 64), x),
    "crd2idx by strides": lambda x: tla.crd2idx((1, 2), (64, 64), x),
    "crd2offset": lambda x: tla.crd2offset((1, 2), x, (64, 1)),
    "crd2crd from": lambda x: tla.crd2crd(3, x, (64, 64)),
    "crd2crd to": lambda x: tla.crd2crd(3, (64, 64), x),
    "elem_less": lambda x: tla.elem_less((1, 2), x),
    "elem_less, left": lambda x: tla.elem_less(x, (1, 2)),
    "elem_leq": lambda x: tla.elem_leq(x, x),
    "elem_gtr": lambda x: tla.elem_gtr(x, x),
    "elem_geq": lambda x: tla.elem_geq(x, x),
    "elem_scale": lambda x: tla.elem_scale(x, (1, 2)),
    "inner_product": lambda x: tla.inner_product(x, x),
    "max": lambda x: tla.max(x),
    "min": lambda x: tla.min(x, 3),
    "gcd": lambda x: tla.gcd(x),
    "lcm": lambda x: tla.lcm(3, x),
    "sum": lambda x: tla.sum(x),
    "product": lambda x: tla.product(x),
    "product_each": lambda x: tla.product_each(x),
    "round_up": lambda x: tla.round_up(x, 4),
    "shape_div": lambda x: tla.shape_div(x, 4),
    "ceil_div": lambda x: tla.ceil_div(x, 4),
    "evenly_divides": lambda x: tla.evenly_divides(x, 4),
    "filter_zeros by": lambda x: tla.filter_zeros(L, x),
    "complement in": lambda x: tla.complement(parse("_4:_1"), x),
    "with_shape": lambda x: tla.with_shape(L, x),
    "coalesce by": lambda x: tla.coalesce(L, x),
    "MakeLayout of a shape": lambda x: tla.MakeLayout((4, 8), x),
    "MakeOrderedLayout": lambda x: tla.MakeOrderedLayout((64, 64), x),
    "MakeOrderedLayout of": lambda x: tla.MakeOrderedLayout(x, (0, 1)),
    "compact_order": lambda x: tla.compact_order(x, (0, 1)),
    "tile_to_shape by": lambda x: tla.tile_to_shape(parse("(_2,_2):(_2,_1)"), (64, 64), x),
    "tile_to_shape": lambda x: tla.tile_to_shape(parse("(_2,_2):(_2,_1)"), x),
    "unflatten by": lambda x: tla.unflatten((64, 64), x),
    "compact_col_major": lambda x: tla.compact_col_major(x),
    "compact_row_major": lambda x: tla.compact_row_major((4, 8), x),
    "origin_shape": lambda x: tla.Layout((64, 64), (64, 1), origin_shape=x),
    "Layout, shape": lambda x: tla.Layout(x, (64, 1)),
    "Layout, stride": lambda x: tla.Layout((64, 64), x),
    "MakeIdentityLayout": lambda x: tla.MakeIdentityLayout(x),
    "MakeBasisLike": lambda x: tla.MakeBasisLike(x),
    "MakeShape": lambda x: tla.MakeShape(x),
    "MakeStride": lambda x: tla.MakeStride(x, 1),
    "MakeCoord": lambda x: tla.MakeCoord(x),
    "IntTuple": lambda x: tla.IntTuple(1, x),
    "ArithmeticTuple": lambda x: tla.ArithmeticTuple(x),
    "a coordinate": lambda x: L(x),
    "a coordinate of two": lambda x: L(1, x),
    "a coordinate, composed": lambda x: COMPOSED(x),
    "swizzle": lambda x: Swizzle[3, 0, 3]()(x),
    "offset": lambda x: tla.ComposedLayout(Swizzle[3, 0, 3](), x, L),
    "basis": lambda x: E[0] * x,
    "batch": lambda x: tla.MakeBatchedLayout(L, x, 4096),
    "tile": lambda x: tla.MakeLayoutTile(L, x),
    "start": lambda x: tla.GetTileLayout(L, (8, 8), x),
    "signum": lambda x: tla.signum(x),
    "safe_div": lambda x: tla.safe_div(x, 4),
    "dim": lambda x: tla.dim("M", at_least=x),
    "index": lambda x: tla.index("i", below=x),
    "FloorDiv": lambda x: tla.FloorDiv(x, 2),
    "Mod": lambda x: tla.Mod(7, x),
    "CeilDiv": lambda x: tla.CeilDiv(x, 2),
}


@pytest.mark.parametrize("name", WANT_INTEGERS)
def test_what_wants_integers_takes_no_layout(name):
    for x in (L, parse("_64:_1"), COMPOSED, Swizzle[3, 0, 3](), parse("(64):(1)")):
        with pytest.raises(LeafTypeError) as refused:
            WANT_INTEGERS[name](x)
        assert refused.value.reason.fix


def test_profiles_and_sizes_are_those_of_the_layout():
    a = parse("((_4,2),3):((_1,4),8)")
    assert (tla.rank(a), tla.depth(a), tla.size(a), tla.shape(a)) == (2, 2, 24, ((4, 2), 3))
    assert tla.congruent(a, a.shape)
    assert tla.compatible(24, a)
    assert tla.weakly_congruent((0, 0), a)
    assert tla.weakly_compatible((4, 3), a)


@pytest.mark.parametrize(
    "text", ["((_4,2),3):((_1,4),8)", "_7:_3", "((_64,_1),(_64)):((_64,_0),(_1))", "Sw<3,3,3> o _0 o ((_8,_8),_64):((_64,_512),_1)"]
)
def test_a_layout_is_flattened_and_put_together_again(text):
    a = parse(text)
    assert tla.unflatten(tla.flatten(a), a.shape) == a
    assert tla.reverse(tla.reverse(a)) == a
    if tla.rank(a) == 2:
        assert all(tla.reverse(a)(j, i) == a(i, j) for i in range(8) for j in range(3))


# ------------------------------------------------------------------------------------- no text is evaluated


@pytest.mark.parametrize("divide", [tla.FloorDiv, tla.Mod, tla.CeilDiv])
def test_a_division_takes_integers_and_nothing_else(divide):
    import sympy

    x = sympy.Symbol("x", integer=True)
    for wrong in ("__import__('os').getpid()*2", "x", b"4", (4, 8), 2.5, True, None, [4], sympy.Rational(5, 2), L, E[0], sympy.true):
        for arguments in ((wrong, 2), (2, wrong), (x, wrong)):
            with pytest.raises(LeafTypeError):
                divide(*arguments)
    assert divide(tla._8, numpy.int8(2)) == divide(8, 2)
    assert divide(tla.dim("M"), 2) == divide(tla.dim("M").expr, 2)


#: Texts that do something where they are evaluated: they raise the flag, or read a file.
HOSTILE = (
    "__import__('builtins').raise_flag()",
    "raise_flag()",
    "().__class__.__base__.__subclasses__()",
    "{0.__class__}",
)
FLAG = []
#: What Python itself says of a call with other arguments than a function has.
ARITY = re.compile("positional argument|takes (exactly|no)|not subscriptable|not callable")


def raise_flag():
    FLAG.append(True)
    return 4


def public_callables():
    """Every public name that can be called or takes brackets, of tla and its packages."""
    for package in (tla, tla.ascend, tla.xla, tla.codegen, tla.viz):
        for name in package.__all__:
            value = getattr(package, name)
            if callable(value) or hasattr(type(value), "__getitem__"):
                yield f"{package.__name__}.{name}", value


def calls(f, text):
    """f of a text in every place of an argument, with and without brackets."""
    for arguments in ((text,), (text, 2), (2, text), (L, text), (text, L), (text, text), (2, 2, text), (text,) * 3):
        yield lambda a=arguments: f(*a)
        yield lambda a=arguments: f[a]
        yield lambda a=arguments: f[a](2)
        yield lambda a=arguments: f[1](*a)


def test_no_public_name_evaluates_text(monkeypatch, tmp_path):
    monkeypatch.setattr(builtins, "raise_flag", raise_flag, raising=False)
    monkeypatch.chdir(tmp_path)
    count = 0
    for name, f in public_callables():
        for text in HOSTILE:
            for call in calls(f, text):
                count += 1
                try:
                    call()
                except (tla.TlaError, OSError):
                    pass
                except (TypeError, AttributeError) as refused:  # plain data of tla.ascend takes what it is given
                    assert ARITY.search(str(refused)) or name.startswith("tla.ascend."), name
                assert not FLAG, name
    assert count > 10_000
