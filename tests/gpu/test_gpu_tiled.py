"""Tiled MMAs and copies at work: who owns what, whole kernels by fragments, refusals."""

import itertools

import numpy as np
import pytest

from tla import (
    DivisibilityError,
    Int,
    LeafTypeError,
    MakeTensor,
    RangeError,
    TlaError,
    dim,
    elem_less,
    make_identity_tensor,
    parse,
    product_each,
)
from tla.gpu import (
    Copy_Atom,
    SM75_U16x8_LDSM_T,
    SM75_U32x4_LDSM_N,
    SM80_16x8x8_F32TF32TF32F32_TN,
    SM80_16x8x16_F32F16F16F32_TN,
    SM90_64x64x16_F32F16F16_SS,
    SM90_U32x4_STSM_N,
    UniversalCopy,
    UniversalFMA,
    atom,
    atoms,
    axpby,
    copy,
    copy_if,
    fill,
    float,
    gemm,
    half,
    make_cotiled_copy,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_copy_C_atom,
    make_tiled_copy_S,
    make_tiled_mma,
    partition_fragment_C,
    partition_shape_A,
    partition_shape_B,
    partition_shape_C,
    transform,
    uint8,
    uint64,
    uint128,
    values_of,
)

import oracle
from operands import operand

rng = np.random.default_rng(0)
ATOMS = [
    UniversalFMA[float],
    atom("SM70_8x8x4_F32F16F16F32_NT"),
    SM80_16x8x16_F32F16F16F32_TN,
    SM80_16x8x8_F32TF32TF32F32_TN,
]


def tiled_mmas():
    """Random lawful ones: threads in either order, permutations of whole atoms."""
    for a in ATOMS:
        for m, n, k in itertools.product((1, 2), (1, 2), (1, 2)):
            strides = rng.permutation(3)
            sizes, compact, step = (m, n, k), [0, 0, 0], 1
            for i in strides:
                compact[i], step = step, step * sizes[i]
            thr = parse("({},{},{}):({},{},{})".format(*(f"_{x}" for x in (*sizes, *compact))))
            cover = [int(s) * t for s, t in zip(a.shape_mnk, sizes)]
            yield make_tiled_mma(a, thr, tuple(int(c * rng.integers(1, 3)) for c in cover))


def reaches_every_thread(mma):
    """Not so where quad pairs stand alone: then the thread-value layouts count other threads than those
    of the pairs."""
    return len({mma.thr_layout_vmnk(i) for i in range(mma.threads)}) == 1 + max(
        mma.thr_layout_vmnk(i) for i in range(mma.threads)
    )


@pytest.mark.parametrize("mma", [*filter(reaches_every_thread, tiled_mmas())], ids=repr)
def test_partitions_own_each_element_as_often_as_the_thread_value_layout_says(mma):
    used = np.unique([mma.thr_layout_vmnk(i) for i in range(mma.threads)])
    m, n, k = map(int, mma.tile_size)
    for side, shape in (("A", (m, k)), ("B", (n, k)), ("C", (m, n))):
        whole = MakeTensor(np.arange(4 * shape[0] * shape[1]).reshape(2 * shape[0], 2 * shape[1], order="F"))
        owned = np.bincount(values_of(mma[used].partition(side, whole)).ravel(), minlength=whole.data.size)
        tv = getattr(mma, f"{side}_TV")
        thread, value = np.ogrid[: mma.threads, : int(oracle.size(tv[1].shape))]
        tile = np.bincount(
            np.broadcast_to(tv(thread, value), (mma.threads, value.size)).ravel(), minlength=shape[0] * shape[1]
        )
        assert owned.size == 4 * tile.size
        assert (owned.reshape(2, shape[1], 2, shape[0]) == tile.reshape(1, shape[1], 1, shape[0])).all()


@pytest.mark.parametrize("mma", [*tiled_mmas()], ids=repr)
def test_gemm_of_a_tile_is_numpys(mma):
    m, n, k = (2 * int(s) for s in mma.tile_size)
    used = np.arange(1 + max(mma.thr_layout_vmnk(i) for i in range(mma.threads)))
    types = {"half": np.float16}
    a, b = (rng.integers(-3, 4, s).astype(types.get(mma.atom.val_A.name, np.float32)) for s in ((m, k), (n, k)))
    c = np.zeros((m, n), np.float32)
    own = mma[used]
    along_k = int(mma.thr_layout_vmnk.shape[3])
    left, right, total = (
        own.partition_A(MakeTensor(a)),
        own.partition_B(MakeTensor(b)),
        own.partition_fragment_C(MakeTensor(c)),
    )
    gemm(mma, left, right, total)
    into, parts = values_of(own.partition_C(MakeTensor(np.arange(m * n).reshape(m, n)))), values_of(total)
    np.add.at(c.ravel(), into, parts)  # threads along K have partial sums
    assert (c == a.astype(np.float32) @ b.astype(np.float32).T).all(), along_k


def test_wgmma_reads_shared_memory():
    mma, t = make_tiled_mma(SM90_64x64x16_F32F16F16_SS, (2, 1)), np.arange(256)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((128, 32), (64, 32)))
    own, c = mma[t], np.zeros((128, 64), np.float32)
    left, right = (operand(mma.atom, side, x, "SW64") for side, x in (("A", a), ("B", b)))
    gemm(mma, own.partition_fragment_A(left), own.partition_fragment_B(right), own.partition_C(MakeTensor(c)))
    assert (c == a.astype(np.float32) @ b.astype(np.float32).T).all()


OF_A_WARP = [
    (SM75_U32x4_LDSM_N, "(_2,_4):(_1,_2)", "FF"),
    (SM75_U16x8_LDSM_T, "(_8,_1):(_1,_8)", "CF"),
    (SM90_U32x4_STSM_N, "(_2,_4):(_1,_2)", "FF"),
]


@pytest.mark.parametrize(("instruction", "values", "orders"), OF_A_WARP, ids=lambda x: getattr(x, "name", x))
def test_instructions_of_a_warp_move_every_element(instruction, values, orders):
    """Rows of 8 lie together in shared memory, pairs in registers; those of a transposed matrix are along
    the other mode."""
    tiled, t = make_tiled_copy(Copy_Atom[instruction, half], parse("(_4,_16):(_1,_4)"), parse(values)), np.arange(64)
    extents = tuple(map(int, tiled.tiler_mn))
    a, b = (
        rng.integers(0, 1000, extents).astype(np.float16, order=orders[0]),
        np.zeros(extents, np.float16, order=orders[1]),
    )
    copy(tiled, tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b)))
    assert (a == b).all()
    for wrong in ("FC" if orders == "CF" else "CF", "CC" if orders[0] == "F" else "FF"):
        a, b = (np.zeros(extents, np.float16, order=order) for order in wrong)
        with pytest.raises(DivisibilityError, match=r"[82] contiguous elements at a multiple of (16|4) bytes"):
            copy(tiled, tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("static", [False, True])
def test_plain_copies_go_by_index_as_cutes(dtype, static):
    """Without a tiled copy: (4,6) into (24) and into (6,4), the first mode fastest; by a predicate
    element by element."""
    a = rng.integers(0, 2, (4, 6)).astype(dtype)
    texts = ("(_4,_6):(_6,_1)", "_24:_1", "(_6,_4):(_4,_1)") if static else ("(4,6):(6,1)", "24:1", "(6,4):(4,1)")
    source = MakeTensor(a.ravel(), parse(texts[0]))
    for text, wanted in zip(texts[1:], (a.ravel("F"), a.reshape((6, 4), order="F").ravel())):
        out = np.zeros(24, dtype)
        copy(source, MakeTensor(out, parse(text)))
        assert (out == wanted).all()
    out = np.zeros((4, 6), dtype)
    copy_if((a == 1)[None], source, MakeTensor(out))
    assert (out == a).all()


def test_plain_copies_of_threads_are_their_own():
    """Global memory to registers and back, and to shared memory, of all threads, as CuTe's sgemm_1 has it;
    a predicate of each."""
    tiled, t = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], (4, 2), (1, 2)), np.arange(8)
    a, b = rng.random((8, 8)).astype(np.float32), np.zeros((8, 8), np.float32)
    source, target = tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b))
    registers = make_fragment_like(source)
    copy(source, registers)
    copy(registers, target)
    assert (a == b).all()
    b[:] = 0
    i, _j = values_of(tiled[t].partition_S(make_identity_tensor((8, 8))))
    copy_if(i < 5, source, target)
    assert (b[:5] == a[:5]).all()
    assert not b[5:].any()


def test_plain_copies_of_static_layouts_begin_at_what_cute_takes_them_to():
    """CuTe assumes 128 bits of static layouts, and nothing of dynamic ones."""
    data, out = np.arange(16, dtype=np.float32), np.zeros(8, np.float32)
    with pytest.raises(DivisibilityError, match="begin"):
        copy(MakeTensor(data[1:9], parse("_8:_1")), MakeTensor(out, parse("_8:_1"), alignment=16))
    copy(MakeTensor(data[1:9], parse("8:1")), MakeTensor(out, parse("8:1")))
    assert (out == data[1:9]).all()


@pytest.mark.parametrize("call", [copy, copy_if])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_copies_of_other_counts_of_operands_are_refused(call, count):
    with pytest.raises(TlaError, match=f"of {count} operands\n.*\n  fix +write {call.__name__}[(].*source, target[)]"):
        call(*[ONES] * count)


def test_predicates_keep_a_copy_inside():
    tiled, t = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (8, 4), (4, 1)), np.arange(32)
    a, b = rng.random((28, 7)).astype(np.float32, order="F"), np.zeros((28, 7), np.float32, order="F")
    source, target = tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b))
    with pytest.raises(TlaError, match="are not valid"):
        copy(tiled, source, target)
    i, j = values_of(tiled[t].partition_S(make_identity_tensor((Int[32](), Int[8]()))))
    copy_if(tiled, (i < 28) & (j < 7), source, target)
    assert (a == b).all()
    b[:] = 0
    with pytest.raises(LeafTypeError, match="true for 2 of the 4 values that thread 6 moves at once"):
        copy_if(tiled, (i < 26) & (j < 7), source, target)
    assert not b.any()


def test_a_symbol_as_thread():
    mma, t = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16)), dim("t", at_least=0, at_most=127)
    layout = parse("(_32,_16):(_16,_1)")
    offset = mma[t].partition_A(layout).offset
    assert all(
        int(offset.expr.subs(dict.fromkeys(offset.expr.free_symbols, i))) == mma[i].partition_A(layout).offset
        for i in range(128)
    )


def tiled_copies():
    """Random lawful ones: threads and values in either order, atoms of one thread and of a warp, with a
    layout of values."""
    for _k in range(24):
        threads = [int(2 ** rng.integers(0, 4)) for _mode in range(2)]
        values = [int(2 ** rng.integers(0, 3)) for _mode in range(2)]
        width = int(rng.choice([n for n in (8, 16, 32, 64, 128) if n <= 8 * np.prod(values)]))
        strides = [(1, n[0]) if rng.random() < 0.5 else (n[1], 1) for n in (threads, values)]
        layouts = [parse("(_{},_{}):(_{},_{})".format(*n, *d)) for n, d in zip((threads, values), strides)]
        yield make_tiled_copy(Copy_Atom[f"UniversalCopy<uint{width}_t>", uint8], *layouts)
    for warp in (SM75_U32x4_LDSM_N, SM75_U16x8_LDSM_T, SM90_U32x4_STSM_N):
        for text in ("(_32,_2):(_1,_32)", "(_4,_16):(_16,_1)", "(_8,_8):(_8,_1)"):
            yield make_tiled_copy(Copy_Atom[warp, half], parse(text), (1, 8) if rng.random() < 0.5 else (8, 1))


@pytest.mark.parametrize("tiled", [*tiled_copies()], ids=repr)
def test_copies_own_each_element_once_on_both_sides(tiled):
    """Of two tiles in each mode; and what a thread has of one tile is what the thread-value layouts say."""
    m, n = map(int, tiled.tiler_mn)
    whole = MakeTensor(np.arange(4 * m * n).reshape(2 * n, 2 * m).T)
    t = np.arange(tiled.threads)
    for part, tv in ((tiled[t].partition_S, tiled.S_TV), (tiled[t].partition_D, tiled.D_TV)):
        owned = values_of(part(whole))
        assert (np.bincount(owned.ravel(), minlength=4 * m * n) == 1).all()
        thread, value = np.ogrid[: tiled.threads, : m * n // tiled.threads]
        index = np.broadcast_to(tv(thread, value), (tiled.threads, value.size))
        first = owned[:, :, 0, 0].reshape(tiled.threads, -1)
        assert (np.sort(first, 1) == np.sort(index % m + index // m * 2 * m, 1)).all()


MMA = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
COPY = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (32, 4), (8, 1))
ONES = MakeTensor(np.ones((32, 32), np.float16))
READ_ONLY = MakeTensor(np.frombuffer(bytes(2048), np.float16), parse("(32,32):(32,1)"))
REFUSED = [
    (lambda: MMA[128], "0 <= thread < 128"),
    (lambda: MMA[-1], "0 <= thread < 128"),
    (lambda: MMA[np.arange(129)], "0 <= thread < 128"),
    (lambda: MMA[1.5], "an integer"),
    (lambda: MMA[np.arange(128)[::-1]], "rising ones"),
    (lambda: COPY[np.array([0, 0])], "rising ones"),
    (lambda: MMA[dim("t", at_most=200)], r"t+1 <= 128"),
    (lambda: COPY[dim("t")], "at_most=127"),
    (lambda: MMA[make_identity_tensor((4, 4))], "numpy.arange(128)"),
    (lambda: MMA[0].make_fragment_A(None), "a tensor, or a numpy array"),
    (lambda: MMA.thrfrg("Q", parse("(_32,_16):(_16,_1)")), "one of A, B, C"),
    (lambda: MMA[0].partition("Q", parse("(_32,_16):(_16,_1)")), "one of A, B, C"),
    (lambda: values_of(None), "a tensor, or a numpy array"),
    (lambda: axpby(2, ONES, "a", ONES), "write 2 or 0.5"),
    (lambda: fill(ONES, ()), "write 2 or 0.5"),
    (lambda: transform(ONES, ONES, None), "numpy.sqrt"),
    (lambda: make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (0, 2)), "write 1 for a mode"),
    (lambda: make_tiled_copy_S(Copy_Atom[UniversalCopy[half], half], None), "write make_tiled_copy(...)"),
    (lambda: make_tiled_copy_C_atom(Copy_Atom[UniversalCopy[half], half], "x"), "write make_tiled_mma(...)"),
    (lambda: make_tiled_copy(UniversalCopy, (2, 2), (1, 1)), "with its arguments"),
    (lambda: make_tiled_copy("x", (2, 2), (1, 1)), "write Copy_Atom"),
    (lambda: atoms(arch="sm75", kind="x"), "MMAAtom or CopyAtom"),
    (lambda: atoms(arch="sm75", shape_mnk=-1), "write (16, 8, 16)"),
    (lambda: atom("SM80_16x8x16_F32F16F16F32_TN", np.ones(3)), "write 'sm80'"),
    (lambda: gemm(MMA, np.zeros(3), *[MMA[np.arange(128)].partition(x, ONES) for x in "ABC"]), "partition both alike"),
    (
        lambda: copy_if(COPY, make_identity_tensor((4, 4)), COPY[0].partition_S(ONES), COPY[0].partition_D(ONES)),
        "compare first",
    ),
    (lambda: COPY[128], "0 <= thread < 128"),
    (lambda: MMA[0].partition_A(parse("_32:_1")), "two modes at least"),
    (lambda: COPY[0].partition_S(parse("_32:_1")), "2 modes at least"),
    (lambda: make_tiled_mma(SM75_U32x4_LDSM_N), "a matrix instruction's atom"),
    (lambda: make_tiled_mma(UniversalFMA), "with its arguments"),
    (lambda: make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (1, 1), (0, 8, 16)), "1 or more"),
    (lambda: make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (1, 1), (-16, 8, 16)), "1 or more"),
    (lambda: make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 24)), "a multiple of the _16"),
    (
        lambda: make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (parse("(_4,_8):(_1,_8)"), 32)),
        "each of 0 to 31 once",
    ),
    (lambda: make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (16, 32)), "a multiple of the _32"),
    (lambda: make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2, 1, 1)), "at most 3 modes"),
    (lambda: make_tiled_copy(SM75_U32x4_LDSM_N, (32, 1)), "without an element type"),
    (lambda: make_tiled_copy(Copy_Atom[SM75_U32x4_LDSM_N, half], (16, 1), (8, 1)), "a multiple of the atom's"),
    (lambda: make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (32, 1), (4, 1)), "a multiple of the atom's"),
    (
        lambda: make_tiled_copy(Copy_Atom[UniversalCopy[half], half], parse("(_4,_2):(_1,_8)")),
        "each thread and value once",
    ),
    (lambda: Copy_Atom[UniversalCopy[half], float], "no wider than what a thread holds"),
    (
        lambda: gemm(
            MMA,
            MMA[np.arange(64)].partition_A(ONES),
            MMA[np.arange(64)].partition_B(ONES),
            MMA[np.arange(64)].partition_C(ONES),
        ),
        "threads 0 to 127",
    ),
    (lambda: gemm(ONES, ONES), "D, A, B, C, or A, B, C"),
    (lambda: make_tiled_mma(MMA.atom, parse("(_2,_2):(_1,_1)")), "two atoms of the tile have the same"),
    (lambda: make_tiled_mma(MMA.atom, parse("(_2,_2):(_1,_0)")), "threads of its own for each atom"),
    (lambda: MMA[None], "an array of integers or a symbol"),
    (lambda: MMA[np.array([0.5, 1.0])], "an array of integers or a symbol"),
    (lambda: COPY[0].retile_D(parse("_8:_1")), "3 modes at least"),
    (
        lambda: make_cotiled_copy(Copy_Atom[UniversalCopy[half], half], parse("_32:_2"), parse("(_8,_8):(_8,_1)")),
        "(thread, value)",
    ),
    (lambda: transform(ONES, ONES, lambda x: x[0, 0]), "as many elements"),
    (lambda: partition_fragment_C(MMA.atom, (32, 32)), "write make_tiled_mma(...)"),
    (lambda: partition_shape_C(MMA, None), "the extents of a tile"),
    (lambda: partition_fragment_C(MMA, "32"), "the extents of a tile"),
    (lambda: partition_fragment_C(MMA, (2**40, 2**20)), "what memory holds"),
    (lambda: make_tiled_copy(UniversalCopy[half], (2, 4)), 'write Copy_Atom["UniversalCopy<half_t>", half]'),
    (lambda: copy(COPY, *2 * [COPY[np.arange(128)].partition_S(MakeTensor(np.ones((32, 32))))]), "elements of 16 bits"),
    (lambda: fill(READ_ONLY, 2), "its buffer is read-only"),
    (
        lambda: gemm(MMA, *[MMA[np.arange(128)].partition(x, MakeTensor(np.ones((32, 32), np.int8))) for x in "ABC"]),
        "float16, for half",
    ),
    (
        lambda: copy(
            COPY,
            COPY[np.arange(128)].partition_S(ONES),
            COPY[np.arange(128)].partition_D(MakeTensor(np.ones((32, 32)))),
        ),
        "one type",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[m for _f, m in REFUSED])
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(TlaError) as refused:
        make()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: fill(t, 1000),
        lambda t: transform(np.full(3, 1000), t, lambda x: x),
        lambda t: axpby(300, np.ones(3, np.int64), 0, t),
    ],
)
def test_an_integer_that_does_not_fit_is_refused(write):
    target = np.zeros(3, np.int8)
    with pytest.raises(RangeError, match="-128 to 127"):
        write(MakeTensor(target))
    assert not target.any()


def test_a_float_is_not_cut_to_an_integer():
    with pytest.raises(LeafTypeError, match="elements of float64 into int32"):
        fill(MakeTensor(np.zeros(3, np.int32)), 2.5)


def test_parts_of_a_layout_that_tiles_do_not_divide_are_its_elements():
    """Of 10 rows in tiles of 4, 10 are some thread's: each element once, none past the end."""
    mma = make_tiled_mma(UniversalFMA[float], parse("(_4,_2,_1):(_1,_4,_0)"))
    whole = parse("(_10,_5):(_1,_16)")
    seen = []
    for thread in range(8):
        part = mma[thread].partition_C(whole)
        for coord in itertools.product(*map(range, map(int, product_each(part.shape)))):
            try:
                seen.append(int(part[coord]))
            except RangeError:
                continue
    assert sorted(seen) == sorted(int(whole(i, j)) for i in range(10) for j in range(5))


def test_threads_of_numpy_are_integers():
    assert (
        repr(MMA[np.int64(33)].partition_A(ONES))
        == repr(MMA[np.array(33)].partition_A(ONES))
        == repr(MMA[33].partition_A(ONES))
    )


def test_threads_along_k_add_up_parts():
    """Each has its part of a sum: registers hold them all, one place of memory does not, and stays as it was."""
    mma = make_tiled_mma(MMA.atom, (1, 1, 2))
    own, rng = mma[np.arange(64)], np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((16, 32), (8, 32)))
    c = MakeTensor(np.full((16, 8), 7, np.float32))
    factors = own.partition_A(MakeTensor(a)), own.partition_B(MakeTensor(b))
    with pytest.raises(TlaError, match="elements that differ go to one place"):
        gemm(mma, *factors, own.partition_C(c))
    assert (np.asarray(c) == 7).all()
    parts, total = partition_fragment_C(mma, (16, 8)), np.zeros((16, 8))
    gemm(mma, *factors, parts)
    values = values_of(parts)
    np.add.at(
        total,
        tuple(np.broadcast_to(x, values.shape) for x in values_of(own.partition_C(make_identity_tensor((16, 8))))),
        values,
    )
    assert (total == a.astype(np.float64) @ b.astype(np.float64).T).all()


def test_a_predicate_of_all_threads_by_elem_less():
    """elem_less of the partition of an identity tensor is a predicate of every thread, as the comparison by hand is."""
    m, n, t = 40, 50, np.arange(128)
    data, out = (
        MakeTensor(x.astype(np.float16, order="F")) for x in (np.arange(m * n).reshape(m, n), np.zeros((m, n)))
    )
    places = COPY[t].partition_S(make_identity_tensor((m, n)))
    inside = elem_less(places, (m, n))
    rows, columns = values_of(places)
    assert (values_of(inside) == (rows < m) & (columns < n)).all()
    copy_if(COPY, inside, COPY[t].partition_S(data), COPY[t].partition_D(out))
    assert np.array_equal(data, out)


def test_shapes_of_parts():
    tile = make_identity_tensor((64, 96))
    for side, f in zip("ABC", (partition_shape_A, partition_shape_B, partition_shape_C)):
        assert f(MMA, (64, 96)) == MMA[5].partition(side, tile).shape
    total = partition_fragment_C(MMA, (64, 96))
    assert (total.shape, values_of(total).shape) == (MMA[5].partition_C(tile).shape, (128, 4, 2, 6))


@pytest.mark.parametrize("tile", [(32, 16, 16), (32, 64, 16), (64, 16, 16)])
def test_the_smallest_copy_of_accumulators_in_tiles_that_are_not_square(tile):
    """Each thread's values of the copy are its first ones of C."""
    mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), tile)
    made = make_tiled_copy_C_atom(Copy_Atom[UniversalCopy[uint64], float], mma)
    where = make_identity_tensor(tile[:2])
    for t in (0, 1, 37, 127):
        c, d = mma[t].partition_C(where), made[t].partition_S(where)
        assert [d[(v, 0), 0, 0] for v in range(2)] == [c[(v, 0), 0, 0] for v in range(2)]
