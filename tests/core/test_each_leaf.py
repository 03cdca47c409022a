"""static and dynamic, of values and as blocks: the same answers as those of layouts that were written with Int[n]()."""

import asyncio
import contextvars
import copy
import itertools
import pickle
import random
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tla
import tla.gpu
from tla import (
    DivisibilityError,
    Int,
    LeafTypeError,
    Swizzle,
    Unproven,
    coalesce,
    complement,
    composition,
    dim,
    dynamic,
    left_inverse,
    make_layout,
    parse,
    right_inverse,
    static,
)

import oracle
from night import amount

TEXTS = [
    "(_4,_2):(_1,_4)",
    "((_2,_3),_4):((_12,_4),_1)",
    "(_4,_4):(_1@0,_1@1)",
    "Sw<2,0,3> o _8 o (_8,_8):(_8,_1)",
    "(_4,_0):(_0,_-3)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_there_and_back(text):
    known = parse(text)
    plain = dynamic(known)
    assert "_" not in str(plain).replace("Sw<", "")
    assert str(static(plain)) == text == str(static(known))
    assert str(dynamic(plain)) == str(plain)
    assert static(plain) == known


def test_what_else_has_integers():
    n = dim("N")
    assert str(static((4, (2, n), None, tla._))) == str((Int[4](), (Int[2](), n), None, tla._))
    assert type(static(np.int32(4))) is type(Int[4]())
    assert type(dynamic(Int[4]())) is int
    assert static(Swizzle[3, 0, 3]()) == Swizzle[3, 0, 3]()
    tiler = static((make_layout(4, 2), 8))
    assert str(tiler[0]) == "_4:_2"
    for bad in ("4", 1.5, object(), [4]):
        with pytest.raises(LeafTypeError):
            static(bad)


def test_what_is_valid_stays():
    padded = tla.Layout((8, 8), (1, 8), (5, 6))
    assert static(padded).origin_shape == (5, 6)
    assert str(dynamic(static(padded)).origin_shape) == "(5,6)"


def test_answers_are_those_of_static_integers():
    """Every pair of small layouts: plain integers, made known, answer as those that were written static."""
    shapes = [(s, d) for s in itertools.product((2, 4), (2, 3)) for d in ((1, 4), (3, 1), (4, 1), (1, 2))]
    for s, d in shapes:
        plain = make_layout(s, d)
        written = make_layout(tuple(Int[n]() for n in s), tuple(Int[n]() for n in d))
        assert str(right_inverse(static(plain))) == str(right_inverse(written))
        for (t, e), f in itertools.product(shapes, (composition, complement)):
            two = [
                written,
                make_layout(tuple(Int[n]() for n in t), tuple(Int[n]() for n in e)) if f is composition else 48,
            ]
            given = [static(plain), static(make_layout(t, e)) if f is composition else 48]
            answers = []
            for x in (two, given):
                try:
                    answers.append(str(f(*x)))
                except tla.TlaError as error:
                    answers.append(str(error))
            assert answers[0] == answers[1]


REFUSED = [
    (complement, (make_layout((2, 2), (4, 1)), 16), Unproven),
    (left_inverse, (make_layout((2, 2), (4, 1)),), Unproven),
    (composition, (make_layout((4, 6, 8), (1, 4, 7)), make_layout(6, 1)), DivisibilityError),
    (tla.logical_divide, (make_layout((4, 8)), make_layout((2, 4))), Unproven),
    (tla.tile_to_shape, (make_layout((4, 8)), (8, 8)), Unproven),
    (tla.layout_add, (make_layout((4, 8)), make_layout(32, 1)), Unproven),
    (tla.greatest_common_domain, ((4, 8), (8, 4)), Unproven),
    (tla.domain_distribute, ((4, 8), 16), Unproven),
    (tla.nullspace, (make_layout((4, parse("_2")), (parse("_1"), parse("_-2"))),), Unproven),
]


@pytest.mark.parametrize(("operation", "arguments", "error"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_errors_of_plain_integers_name_a_call_that_answers(operation, arguments, error):
    with pytest.raises(error) as caught:
        operation(*arguments)
    call = re.search(r"write (\w+\(.*\)), which answers$", caught.value.reason.fix)[1]
    names = dict(zip(re.findall(r"static\((\w+)\)", call), arguments))
    assert len(names) == len(arguments)
    answer = eval(call, {"static": static, operation.__name__: operation, **names})
    assert str(answer) == str(operation(*map(static, arguments)))


def test_errors_name_it_only_where_it_answers():
    """Every pair of small layouts: the fix of a composition of plain integers names static if and only if known
    integers answer."""
    named = 0
    for s, d, t, e in itertools.product(
        ((4, 2), (6, 2), (2, 3)), ((1, 4), (8, 2), (3, 1)), ((4, 3), (2, 4), (3, 2)), ((1, 4), (3, 1), (1, 2))
    ):
        a, b = make_layout(s, d), make_layout(t, e)
        try:
            composition(a, b)
            continue
        except DivisibilityError as error:
            fix = error.reason.fix
        try:
            composition(static(a), static(b))
            answers = True
        except DivisibilityError:
            answers = False
        assert answers == fix.endswith("write composition(static(a), static(b)), which answers"), (a, b, fix)
        named += answers
    assert named
    with pytest.raises(tla.TlaError) as caught:
        complement(make_layout((2, 2), (1, 1)), 16)
    assert "which answers" not in str(caught.value)


@pytest.mark.parametrize(
    ("operation", "texts", "small", "known"),
    [
        (right_inverse, ["(16,8):(1,16)"], "_1:_0", "_128:_1"),
        (tla.nullspace, ["(4,8):(1,0)"], "_1:_0", "_8:_4"),
        (tla.max_common_layout, ["(4,8):(1,4)"] * 2, "_1:_0", "_32:_1"),
    ],
)
def test_explain_has_a_note_of_small_answers(operation, texts, small, known):
    arguments = [parse(t) for t in texts]
    answer = operation(*arguments)
    (found,) = tla.explain(answer)
    assert (found.answer, found.known) == (small, known) == (str(answer), str(operation(*map(static, arguments))))
    assert str(found).startswith(f"Note: {found.called} is {small}, for plain integers")
    assert tla.explain(operation, *arguments) == [found]
    assert tla.explain(operation(*map(static, arguments))) == tla.explain(parse("_1:_0")) == []


@pytest.mark.parametrize(
    ("x", "fix"), [("_4:_1", r"write explain\(parse\('_4:_1'\)\)"), (tla.coalesce, "give its arguments")]
)
def test_explain_of_what_has_no_steps(x, fix):
    with pytest.raises(tla.LeafTypeError, match=f"(?s)explain of a .*{fix}"):
        tla.explain(x)


@pytest.mark.parametrize("x", [make_layout(4), parse("Sw<1,0,3> o _0 o 16:1"), len, tla.Layout, 5], ids=str)
def test_explain_of_arguments_wants_an_operation(x):
    """A layout is called with coordinates, and Python's functions have no notes."""
    with pytest.raises(tla.LeafTypeError, match=r"(?s)with 1 arguments.*an operation of tla and its arguments"):
        tla.explain(x, make_layout((16, 8), (1, 16)))


def test_explain_of_a_call_notes_what_known_integers_give():
    a, b = make_layout((4, 8), (1, 4)), make_layout((2, 4), (1, 2))
    known = {
        (coalesce, a): "_32:_1",
        (tla.max_common_vector, a, a): "_32",
        (composition, a, b): "(_2,_4):(_1,_2)",
        (right_inverse, parse("(_4,8):(_1,4)")): "_32:_1",
    }
    for (f, *arguments), text in known.items():
        (found,) = tla.explain(f, *arguments)
        assert found.known == text
        assert (
            str(
                eval(
                    found.instead,
                    {"static": static, f.__name__: f, "layout": arguments[0], "a": arguments[0], "b": arguments[-1]},
                )
            )
            == text
        )
    assert tla.explain(composition, make_layout(8, 2), 4) == []  # 4:2, and _4:_2


# ------------------------------------------------------------------------------------------------ with static():

#: Operation -> what it is applied to: layouts (L), shapes (S), integers (n); a name ends where a digit
#: in brackets follows.
OPERATIONS = {
    "L": "coalesce filter filter_zeros right_inverse left_inverse nullspace cosize coshape coprofile size depth rank flatten max_alignment "
    "is_injective is_surjective is_compact is_bijective is_ordered reverse make_layout_like MakeLayoutLike complement "
    "make_fragment_like",
    "S": "make_layout make_identity_layout compact_col_major compact_row_major product product_each size MakeShape make_basis_like",
    "LL": "composition logical_divide zipped_divide tiled_divide flat_divide logical_product zipped_product blocked_product raked_product "
    "max_common_layout max_common_vector append prepend same_map make_layout layout_add complement "
    "greatest_common_domain compose",
    "LS": "composition logical_divide zipped_divide tile_to_shape complement with_shape",
    "SS": "make_ordered_layout compact_order crd2idx idx2crd ceil_div shape_div elem_less weakly_congruent inner_product",
    "Ln": "complement composition logical_divide is_injective get_hier_coord get_flat_coord get_1d_coord upcast downcast",
    "LSn": "append prepend",
    "n": "Swizzle signum make_layout E",
    "nn": "gcd lcm ceil_div round_up max min make_layout",
    "SnS": "crd2crd",
}


def random_call(rng):
    """The name of an operation and arguments of plain integers: layouts as pairs (shape, stride)."""

    def shape():
        n = rng.choice([1, 1, 2, 2, 3])
        return (
            tuple(rng.choice([1, 2, 3, 4, 6, 8, (2, 2), (4, 2), (2, 3)]) for _ in range(n))
            if n > 1 or rng.random() < 0.5
            else 8
        )

    def layout():
        s = shape()
        order = list(range(len(list(oracle.leaves(s)))))
        rng.shuffle(order)
        strides, reached = dict.fromkeys(order, 0), rng.choice([1, 1, 1, 2])
        for k in order:
            strides[k], reached = (reached, reached * list(oracle.leaves(s))[k]) if rng.random() < 0.9 else (0, reached)
        return "layout", s, oracle.nest(s, iter([strides[k] for k in sorted(order)]))

    kinds = rng.choice(list(OPERATIONS))
    make = {"L": layout, "S": shape, "n": lambda: rng.choice([0, 1, 2, 3, 4, 8, 16, 24, 64])}
    return rng.choice(OPERATIONS[kinds].split()), [make[kind]() for kind in kinds]


def called(name, arguments, read):
    """The text of what an operation gives for arguments whose integers are read so; of an error, its name."""

    def value(x):
        if isinstance(x, tuple) and x[:1] == ("layout",):
            return make_layout(value(x[1]), value(x[2]))
        return tuple(map(value, x)) if isinstance(x, tuple) else read(x)

    try:
        if name == "Swizzle":
            return str(composition(Swizzle[2, 0, 3](), make_layout(read(8), read(8)))(value(arguments[0])))
        if name == "E":
            return str(make_layout((read(4), read(2)), (tla.E[0] * value(arguments[0]), tla.E[1] * read(3))))
        return str(getattr(tla, name)(*map(value, arguments)))
    except (tla.TlaError, AttributeError, TypeError) as error:
        return type(error).__name__


def test_in_a_static_block_plain_integers_answer_as_written_ones():
    rng, answered, differ = random.Random(30), set(), 0
    for _ in range(amount(500, 50_000)):
        name, arguments = random_call(rng)
        written = called(name, arguments, lambda n: Int[n]())
        plain = called(name, arguments, int)
        with static():
            assert called(name, arguments, int) == written, (name, arguments)
        assert called(name, arguments, int) == plain, (
            name,
            arguments,
        )  # what was remembered inside is not known outside
        differ += plain != written
        answered |= set() if written.endswith(("Error", "Unproven")) else {name}
    assert len(answered) >= 60
    assert differ > 200


IN_BRACKETS = [tla.upcast[2], tla.upcast[4], tla.downcast[2], tla.recast_layout[16, 8], tla.recast_layout[8, 32]]


def test_what_known_integers_answer_names_static():
    """Random calls of plain integers: one that is refused, and of known integers is not, says so; none crashes where
    these answer."""
    rng, named = random.Random(7), set()
    for _ in range(amount(800, 50_000)):
        name, arguments = random_call(rng)
        if name in ("Swizzle", "E"):
            continue
        operation = getattr(tla, name)
        values = [make_layout(*x[1:]) if isinstance(x, tuple) and x[:1] == ("layout",) else x for x in arguments]
        if len(values) == 1 and isinstance(values[0], tla.Layout) and rng.random() < 0.7:
            operation = rng.choice(IN_BRACKETS)
        if isinstance(values[0], tla.Layout) and rng.random() < 0.2:
            values[0] = composition(Swizzle[2, 0, 3](), values[0])
        try:
            known = operation(*map(static, values))
        except (tla.TlaError, TypeError):
            continue
        try:
            operation(*values)
        except tla.TlaError as error:
            assert "static(" in error.reason.fix, (name, values, known, error)
            named.add(name)
    assert len(named) > 8


def test_an_operation_inside_of_another_names_the_outer_one():
    """What is refused with known integers too keeps its own fix; a call that would answer by itself inside of
    it is none."""
    a, b = make_layout((6, 8), (8, 1)), make_layout((4, 2), (1, 8))
    with pytest.raises(Unproven) as caught:
        tla.logical_divide(a, b)
    assert "which answers" not in str(caught.value)
    with pytest.raises(tla.TlaError):
        tla.logical_divide(static(a), static(b))
    with pytest.raises(
        DivisibilityError, match=r"write recast_layout\[16, 8\]\(static\(layout\)\), which answers"
    ) as caught:
        tla.recast_layout[16, 8](make_layout((4, 8), (8, 1)))
    assert str(caught.value).count("which answers") == 1
    with pytest.raises(DivisibilityError, match=r"write compose\(static\(a\), static\(b\)\), which answers"):
        tla.compose(make_layout((4, 6, 8), (2, 3, 5)), make_layout(6, 3))


def test_a_small_inverse_of_a_swizzled_layout_has_a_note():
    swizzled = composition(Swizzle[2, 0, 3](), make_layout((8, 8), (8, 1)))
    (note,) = tla.explain(right_inverse(swizzled))
    assert note.known == str(right_inverse(static(swizzled)))


@pytest.mark.parametrize("other", [4, (4, 4), composition(Swizzle[2, 0, 3](), make_layout((8, 8)))], ids=str)
def test_sums_of_what_is_no_plain_layout_are_refused(other):
    with pytest.raises(LeafTypeError, match="layout_add of a"):
        tla.layout_add(make_layout((2, 2), (4, 1)), other)


def test_coordinates_beside_a_swizzled_layout_are_refused():
    with pytest.raises(LeafTypeError, match="a layout of coordinates"):
        make_layout(composition(Swizzle[2, 0, 3](), make_layout((8, 8))), make_layout(4, tla.E[0]))


def of_instructions(read):
    """Calls that need known integers, for they are a type in C++: of what `read` makes of layouts of plain ones."""
    atom = tla.gpu.Copy_Atom[tla.gpu.UniversalCopy[tla.gpu.uint128], tla.gpu.half]
    tile, two = read(make_layout((32, 4), (4, 1))), read(make_layout((2, 2, 1)))
    return {
        "make_tiled_copy": lambda: tla.gpu.make_tiled_copy(atom, tile, read(make_layout((1, 8)))),
        "make_layout_tv": lambda: tla.gpu.make_layout_tv(tile, read(make_layout((1, 8)))),
        "make_cotiled_copy": lambda: tla.gpu.make_cotiled_copy(
            atom, read(make_layout((32, 8), (8, 1))), read(make_layout(256))
        ),
        "make_tiled_mma": lambda: tla.gpu.make_tiled_mma(tla.gpu.SM80_16x8x16_F32F16F16F32_TN, two),
        "certificate": lambda: coalesce.certificate(tile),
    }


@pytest.mark.parametrize("name", of_instructions(lambda x: x))
def test_instructions_name_static(name):
    with pytest.raises(LeafTypeError) as caught:
        of_instructions(lambda x: x)[name]()
    assert caught.value.reason.fix.startswith("write static(")
    assert of_instructions(static)[name]()


def test_what_is_open_in_a_coordinate():
    layout = make_layout((4, 8))
    for x in (None, tla._):
        with pytest.raises(LeafTypeError, match=r"write slice_\(\(_, 3\), layout\)"):
            layout(x, 3)
        assert str(tla.slice_((x, 3), layout)) == "(4):(_1)"


def test_a_block_is_of_its_thread_and_its_task():
    def here():
        return str(make_layout((4, 2)))

    async def inside(started, go):
        with static():
            started.set()
            await go.wait()
            return here()

    async def both():
        started, go = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(inside(started, go))
        await started.wait()
        meanwhile = here()
        go.set()
        return meanwhile, await task

    assert asyncio.run(both()) == ("(4,2):(_1,4)", "(_4,_2):(_1,_4)")
    with static(), ThreadPoolExecutor(1) as threads:
        assert threads.submit(here).result() == "(4,2):(_1,4)"
    with static():
        with dynamic():
            assert here() == "(4,2):(_1,4)"
        with pytest.raises(ZeroDivisionError), static():
            raise ZeroDivisionError
        assert here() == "(_4,_2):(_1,_4)"
    assert here() == "(4,2):(_1,4)"


def test_blocks_of_generators_end_in_any_order():
    """Each takes itself away: what is read is what the last block that is still open says."""

    def blocks(block):
        with block():
            yield

    def here():
        return str(make_layout(4))

    one, two = blocks(static), blocks(dynamic)
    next(one), next(two)
    assert here() == "4:_1"
    one.close()
    assert here() == "4:_1"
    two.close()
    assert here() == "4:_1"
    one = blocks(static)
    next(one)
    with dynamic():
        one.close()
        assert here() == "4:_1"
    assert here() == "4:_1"
    one = blocks(dynamic)
    next(one)
    with static():
        one.close()
        assert here() == "_4:_1"
    assert here() == "4:_1"
    one = blocks(static)
    contextvars.copy_context().run(next, one)
    with static():
        one.close()  # where it never was open
        assert here() == "_4:_1"
    assert here() == "4:_1"


#: Operations and plain arguments of which they are refused, or answer less than of known integers.
LESS_OF_PLAIN = [
    (operation, arguments)
    for names, *arguments in [
        ("right_inverse coalesce", "(16,8):(1,16)"),
        ("max_common_vector max_common_layout", "(16,8):(1,16)", "(16,8):(1,16)"),
        ("nullspace", "(4,2):(0,1)"),
        ("left_inverse", "(8,4):(4,1)"),
        ("complement", "(2,2):(4,1)", 16),
        ("composition", "(4,6):(1,4)", "12:3"),
        ("logical_divide zipped_divide tiled_divide flat_divide", "(16,8):(1,16)", "4:2"),
        ("logical_divide zipped_divide tiled_divide flat_divide", "(16,8):(1,16)", "(4,2):(2,1)"),
        ("logical_product zipped_product tiled_product flat_product", "(2,2):(4,1)", "6:1"),
        ("blocked_product raked_product", "(2,2):(4,1)", "6:1"),
        ("upcast[2] downcast[2] recast_layout[16,8] recast_layout[8,16]", "(16,8):(1,16)"),
    ]
    for operation in names.split()
]


@pytest.mark.parametrize(("name", "texts"), LESS_OF_PLAIN, ids=str)
def test_what_is_less_of_plain_integers_names_static(name, texts):
    """The error's fix, or the note that `explain` prints of the call, is a call that answers as with known integers."""
    operation = eval(name, vars(tla))
    arguments = [parse(x) if isinstance(x, str) else x for x in texts]
    known = operation(*map(static, arguments))
    try:
        found = operation(*arguments)
    except tla.TlaError as error:
        call = re.search(r"(?s).*write (\S.*), which answers", str(error))[1]
    else:
        assert str(found) != str(known)
        (note,) = [x for x in tla.explain(operation, *arguments) if "static(" in str(x)]
        call = re.search(r"; (\S.*) is ", str(note))[1]
        assert str(note).endswith(f" is {known}")
    names = re.findall(r"static\((\w+)\)", call)
    assert len(names) == len(arguments)
    value = eval(call, {**vars(tla), **dict(zip(names, arguments))})
    assert str(value) == str(known)


def test_a_block_as_a_decorator():
    @static()
    def tile(n):
        return make_layout((n, 2))

    assert str(tile(4)) == str(tile(4)) == "(_4,_2):(_1,_4)"
    assert str(make_layout(4, 2)) == "4:2"


KEPT = [*map(parse, ["(4,_2):(_1,4)", "(4,(_3,8))", "Sw<2,0,3> o 8 o (8,_8):(8,_1)", "(4,4):(2@0,1@1)"]), dim("N") * 4]


@pytest.mark.parametrize("x", KEPT, ids=str)
def test_a_pickle_a_copy_and_a_text_keep_their_kinds_in_a_block(x):
    with static():
        assert (
            str(pickle.loads(pickle.dumps(x)))
            == str(copy.deepcopy(x))
            == str(eval(repr(x), {"parse": parse, "dim": dim}))
            == str(x)
        )
        assert str(dynamic(static(x))) == str(dynamic(x))


def test_operations_that_take_every_integer_of_a_python_user_in_a_block():
    with static():
        assert str(make_layout((np.int64(4), 2))) == "(_4,_2):(_1,_4)"
        assert str(tla.at(make_layout((dim("N"), 2)), N=8)) == "(_8,_2):(_1,_8)"
        a = make_layout((4, 8), (8, 1))
        assert [str(x) for x in (a(3, 2), a(9), a((1, 1)), a(0))] == ["_26", "_10", "_9", "_0"]
        assert np.array_equal(a(np.arange(4)), [0, 8, 16, 24])


def test_the_layout_of_a_tensor():
    t = tla.MakeTensor(np.arange(40), parse("(4,8):(10,1)"))
    known = static(t)
    assert str(known.layout) == "(_4,_8):(_10,_1)"
    assert known.data is t.data
    assert str(dynamic(known).layout) == "(4,8):(10,1)"
    known[1, 2] = -5
    assert t[1, 2] == -5
    tile = tla.local_tile(tla.MakeTensor(np.arange(60), make_layout((6, 10))), (4, 4), (1, 2))
    assert [str(x.origin_shape) for x in (tile, static(tile))] == ["(2,2)", "(2,2)"]
    assert np.array_equal(np.asarray(tile), np.asarray(static(tile)))
    coordinates = static(tla.make_identity_tensor((4, 8)))
    assert str(coordinates.layout) == "(_4,_8):(_1@0,_1@1)"
    assert coordinates[1, 2] == (1, 2)
