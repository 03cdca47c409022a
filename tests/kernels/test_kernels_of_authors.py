"""Kernels that people need beside products of matrices: an int8 product with scales, a matrix times a vector of each batch, the
place of each row's largest, prefix sums; executed beside numpy, as C, and compiled by others."""

import ctypes

import numpy as np
import pytest
from gluon_kernels import Launched, compiled

from tests.kernels.test_kernel_source import pointer
from tla import (
    Int,
    LeafTypeError,
    RangeError,
    RankError,
    _,
    _1,
    ceil_div,
    composition,
    dim,
    domain_offset,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    min as least,
    parse,
)
from tla.kernels import (
    barrier,
    block,
    clear,
    copy,
    copy_if,
    fill,
    gemm,
    kernel,
    local_partition,
    loop,
    reduce,
    registers,
    shared,
    shuffle_xor,
    tensor,
    thread,
    transform,
    when,
)

import hip
import nvrtc
from night import amount
from sources_of_kernels import c_function

SQUARE, ROWS, WARPS, LANES = (
    parse(x) for x in ("(_16,_16):(_1,_16)", "(_16,_16):(_16,_1)", "(_8,_32):(_32,_1)", "_256:_1")
)


def sizes(*names):
    return [dim(name, at_least=0, at_most=2**15) for name in names]


def rows(element, *shape):
    """An argument whose last mode is contiguous."""
    strides = [_1]
    for n in reversed(shape[1:]):
        strides.insert(0, n * strides[0])
    return tensor(element, make_layout(shape, stride=tuple(strides)))


def drawn(rank, most, seed):
    """Sizes with 0, 1 and tails, and random ones."""
    fixed = [(1,) * rank, (0, *(3,) * (rank - 1)), (*(2,) * (rank - 1), 0), (3, *(33,) * (rank - 1))]
    found = np.random.default_rng(seed).integers(0, most, (amount(1, 50), rank))
    return fixed + [tuple(map(int, x)) for x in found]


def scalars(*numbers):
    return map(ctypes.c_int, numbers)


# --------------------------------------------------------------------------------------------- int8 with scales


@kernel(threads=256, grid=lambda A, B, S, Z, C: (ceil_div(A.shape[0], 16), ceil_div(B.shape[0], 16)))
def scaled(A, B, S, Z, C):
    """C (M,N) = S (M) * Z (N) * the sums of A (M,K) * B (N,K)^T, of int8 in int32."""
    t, memory = thread(), [shared(np.int8, ROWS) for _operand in range(2)]

    def part(x):
        return local_partition(local_tile(x, (16, 16), (block(0), block(1))), SQUARE, t)

    total = registers(np.int32, (1, 1))
    clear(total)
    operands = [local_partition(x, SQUARE, t, proj=proj) for x, proj in zip(memory, ((1, _), (_, 1)))]
    for k in loop(ceil_div(A.shape[1], 16)):
        for x, to, i in (A, memory[0], block(0)), (B, memory[1], block(1)):
            tile, at = (
                local_partition(local_tile(y, (16, 16), (i, k)), ROWS, t) for y in (x, make_identity_tensor(x.shape))
            )
            to = local_partition(to, ROWS, t)
            clear(to)
            copy_if(elem_less(at, x.shape), tile, to)
        barrier()
        gemm(*operands, total)
        barrier()
    of_rows = composition(S, make_layout(C.shape, stride=(_1, Int[0]())))
    of_columns = composition(Z, make_layout(C.shape, stride=(Int[0](), _1)))
    transform(total, part(of_rows), part(of_columns), part(C), lambda x, s, z: x * s * z)


@pytest.mark.once
def test_sums_of_integers_become_floats_by_transform(tmp_path):
    m, n, k = sizes("m", "n", "k")
    given = rows(np.int8, m, k), rows(np.int8, n, k), rows(np.float32, m), rows(np.float32, n), rows(np.float32, m, n)
    source, rng = scaled.source("c", *given, parameters="m n k A B S Z C"), np.random.default_rng(1)
    call = c_function(tmp_path, source)
    for m, n, k in drawn(3, 60, 2):
        a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (n, k)))
        s, z = (2.0 ** rng.integers(-4, 5, x) for x in (m, n))
        s, z, c, d = *(x.astype(np.float32) for x in (s, z)), *np.zeros((2, m, n), np.float32)
        expected = (a.astype(np.int64) @ b.T.astype(np.int64)).astype(np.float32) * s[:, None] * z
        scaled.run(a, b, s, z, c)
        call(*scalars(m, n, k), *map(pointer, (a, b, s, z, d)))
        assert (c == expected).all(), (m, n, k)
        assert (d == expected).all(), (m, n, k)
    nvrtc.compiled(scaled.source("cuda", *given).text, "sm_80")
    assert (
        hip.opcodes(hip.without_headers(scaled.source("hip", *given).text), "gfx942", tmp_path)["v_cvt_f32_i32_e32"]
        == 1
    )


INTEGERS = "int8", "uint8", "int16", "uint16", "int32", "uint32"


@kernel(threads=32)
def converted(x, y):
    transform(*(local_partition(v, parse("_32:_1"), thread()) for v in (x, y)), lambda v: v / 2)


@pytest.mark.parametrize("element", amount(INTEGERS[-1:], INTEGERS))
def test_integers_are_computed_as_float32(element, tmp_path):
    """To the nearest, of those that float32 does not have too."""
    ends = np.iinfo(element)
    x = np.linspace(float(ends.min), float(ends.max), 64).astype(element)
    given = [tensor(np.dtype(kind), parse("_64:_1")) for kind in (element, "float32")]
    expected, found, text = x.astype(np.float32) / 2, *np.zeros((2, 64), np.float32)
    converted.run(x, found)
    c_function(tmp_path, converted.source("c", *given))(*map(pointer, (x, text)))
    assert (found == expected).all()
    assert (text == expected).all()
    if element == "int32":
        Launched(*compiled(converted, given, "x y", tmp_path), tmp_path)(x, text)
        assert (text == expected).all()


def test_integers_are_not_written_by_functions():
    for given in (np.zeros(64, np.float32), np.zeros(64, np.int32)), (np.zeros(64, np.int64), np.zeros(64, np.float32)):
        with pytest.raises(LeafTypeError, match="transform it to registers of float32"):
            converted.run(*given)


# ------------------------------------------------------------------------------------------------- a lane alone


def reduced(most, place, other):
    """The largest of a row's lanes, and its place: the first of several."""
    for mask in (16, 8, 4, 2, 1):
        for x, y in zip((most, place), other):
            shuffle_xor(x, y, mask)
        transform(
            *(most, place, *other, place),
            lambda x, i, y, j: np.where(y > x, j, np.where(y < x, i, np.fmin(i, j))),
        )
        transform(most, other[0], most, np.fmax)


def places_of(alone):
    @kernel(threads=256, grid=lambda X, numbers, best: (ceil_div(X.shape[0], 8),))
    def places(X, numbers, best):
        """best (M) = the number of the largest of each row of X (M,N), of the first of these."""

        def part(x, k):
            return local_partition(local_tile(x, (8, 32), (block(0), k)), WARPS, thread())

        columns = composition(numbers, make_layout(X.shape, stride=(Int[0](), _1)))
        x, i, most, place, *other = (registers(np.float32, (1, 1)) for _register in range(6))
        fill(most, -np.inf)
        clear(place)
        for k in loop(ceil_div(X.shape[1], 32)):
            inside = elem_less(part(make_identity_tensor(X.shape), k), X.shape)
            fill(x, -np.inf)
            clear(i)
            copy_if(inside, part(X, k), x)
            copy_if(inside, part(columns, k), i)
            transform(x, i, most, place, place, lambda x, i, y, j: np.where(x > y, i, j))
            transform(x, most, most, np.fmax)
        reduced(most, place, other)
        lanes = (best.shape[0], Int[32]())
        first = elem_less(part(make_identity_tensor(lanes), 0), (best.shape[0], 1 if alone else 32))
        copy_if(first, place, part(composition(best, make_layout(lanes, stride=(_1, Int[0]()))), 0))

    return places


def test_one_lane_writes_what_all_lanes_have(tmp_path):
    m, n = sizes("m", "n")
    given = rows(np.float32, m, n), rows(np.float32, n), rows(np.float32, m)
    call, rng = (
        c_function(tmp_path, places_of(alone=True).source("c", *given, parameters="m n X numbers best")),
        np.random.default_rng(1),
    )
    for m, n in [x for x in drawn(2, 100, 3) if x[1]]:
        x, numbers = rng.integers(-9, 9, (m, n)).astype(np.float32), np.arange(n, dtype=np.float32)
        found, text = np.full((2, m), -1, np.float32)
        places_of(alone=True).run(x, numbers, found)
        call(*scalars(m, n), *map(pointer, (x, numbers, text)))
        assert (found == x.argmax(axis=1)).all(), (m, n)
        assert (text == found).all(), (m, n)
    with pytest.raises(RangeError, match=r"fix +let one thread write it, by copy_if\(elem_less\(lane, 1\), \.\.\.\)"):
        places_of(alone=False).source("c", *given)


# ------------------------------------------------------------------------------------- a vector as a matrix of rows


@kernel(threads=256, grid=lambda A, X, Y: (ceil_div(A.shape[1], 8), A.shape[0]))
def times(A, X, Y):
    """Y (batch,M) = A (batch,M,N) * X (batch,N)."""

    def part(x, columns, k):
        return local_partition(local_tile(x, (8, columns), (block(0), k)), WARPS, thread())

    a, y = A[block(1), _, _], Y[block(1), _]
    x = composition(X[block(1), _], make_layout(a.shape, stride=(Int[0](), _1)))
    held, total, other = (
        [registers(np.float32, (1, 4)) for _operand in range(2)],
        *(registers(np.float32, (1, 1)) for _sum in range(2)),
    )
    clear(total)
    for k in loop(ceil_div(a.shape[1], 128)):
        inside = elem_less(part(make_identity_tensor(a.shape), 128, k), a.shape)
        for source, to in zip((a, x), held):
            clear(to)
            copy_if(inside, part(source, 128, k), to)
        transform(*held, held[0], np.multiply)
        reduce(held[0], total, np.add)
    for mask in (16, 8, 4, 2, 1):
        shuffle_xor(total, other, mask)
        transform(total, other, total, np.add)
    lanes = (a.shape[0], Int[32]())
    first = elem_less(part(make_identity_tensor(lanes), 32, 0), (a.shape[0], 1))
    copy_if(first, total, part(composition(y, make_layout(lanes, stride=(_1, Int[0]()))), 32, 0))


@pytest.mark.once
def test_a_vector_without_elements_is_a_matrix_of_rows_too(tmp_path):
    batch, m, n = sizes("batch", "m", "n")
    given = rows(np.float32, batch, m, n), rows(np.float32, batch, n), rows(np.float32, batch, m)
    call, rng = c_function(tmp_path, times.source("c", *given, parameters="batch m n A X Y")), np.random.default_rng(1)
    for sizes_ in [(2, 8, 0), (2, 0, 8), (1, 9, 130), *drawn(3, 20, 4)]:
        batch, m, n = sizes_
        a, x = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((batch, m, n), (batch, n)))
        found, text = np.full((2, batch, m), 9, np.float32)
        times.run(a, x, found)
        call(*scalars(batch, m, n), *map(pointer, (a, x, text)))
        assert (found == np.einsum("bmn,bn->bm", a, x)).all(), sizes_
        assert (text == found).all(), sizes_


def test_layouts_without_elements_compose_as_others_do():
    for n in (0, 3):
        found = composition(parse(f"({n}):(5)"), parse(f"(4,{n}):(_0,_1)"))
        assert str(found) == f"(4,{n}):(_0,5)"
        assert str(composition(parse(f"{n}:4"), parse(f"({n},3):(1,_0)"))) == f"({n},3):(4,_0)"
    with pytest.raises(RangeError, match="has no elements"):
        composition(parse("(0):(5)"), parse("(4):(1)"))


# ---------------------------------------------------------------------------------------------------- prefix sums


@kernel(threads=256, grid=lambda X, Y: (X.shape[0],))
def sums_so_far(X, Y):
    """Y (M,256) = the sums of each row's first elements: by 1, 2, 4 ... to the left, in two halves of shared memory, zeros before."""
    t, memory = thread(), [shared(np.float32, parse("_512:_1")) for _half in range(2)]

    def half(x, at):
        return local_partition(local_tile(domain_offset(at, x), (256,), (0,)), LANES, t)

    here, other = (registers(np.float32, Int[1]()) for _register in range(2))
    for x in memory:
        clear(half(x, 0))
    copy(local_partition(X[block(0), _], LANES, t), here)
    for step in range(8):
        copy(here, half(memory[step % 2], 256))
        barrier()
        copy(half(memory[step % 2], 256 - 2**step), other)
        transform(here, other, here, np.add)
    copy(here, local_partition(Y[block(0), _], LANES, t))


def test_prefix_sums(tmp_path):
    (m,) = sizes("m")
    given = [rows(np.float32, m, Int[256]())] * 2
    call = c_function(tmp_path, sums_so_far.source("c", *given, parameters="m X Y"))
    with pytest.raises(
        LeafTypeError, match="256 elements of smem0 from 255 on, in Gluon\n  expected  a multiple of 256"
    ):
        sums_so_far.source("gluon", *given)
    for m in (0, 1, 3):
        x = np.random.default_rng(m).integers(-9, 9, (m, 256)).astype(np.float32)
        found, text = np.full((2, m, 256), 99, np.float32)
        sums_so_far.run(x, found)
        call(*scalars(m), *map(pointer, (x, text)))
        assert (found == x.cumsum(axis=1)).all(), m
        assert (text == found).all(), m
    report = sums_so_far.check(x, found)
    assert report.holds
    assert not report.idle


@kernel(threads=128)
def exchanged(x, y):
    """The halves of a vector the other way round."""
    memory = shared(np.float32, parse("_512:_1"))

    def half(v, k):
        return local_partition(local_tile(v, (256,), (k,)), parse("_128:_1"), thread())

    for k in range(2):
        copy(half(x, k), half(memory, 1 - k))
    barrier()
    for k in range(2):
        copy(half(memory, k), half(y, k))


def test_a_vector_in_shared_memory_is_plain_in_gluon(tmp_path):
    call = Launched(*compiled(exchanged, [tensor(np.float32, parse("_512:_1"))] * 2, "x y", tmp_path), tmp_path)
    assert "gl.SwizzledSharedLayout(1, 1, 1, [0])" in call.source.text
    x, y = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    call(x, y)
    assert (y == np.roll(x, 256)).all()


def test_arguments_of_another_number_are_refused_with_the_number():
    with pytest.raises(RankError, match=r"3 arguments of sums_so_far\(X, Y\)\n  expected  2 of them"):
        sums_so_far.run(1, 2, 3)


def test_tiles_past_the_end_are_stated_under_a_condition():
    def sums_of(guarded):
        @kernel(threads=32)
        def sums(x, y):
            total, held = (registers(np.float32, Int[1]()) for _register in range(2))
            clear(total)
            for k in loop(2):
                for _tile in when(k < ceil_div(x.shape[0], 32)) if guarded else (0,):
                    part, at = (
                        local_partition(local_tile(v, (32,), (k,)), parse("_32:_1"), thread())
                        for v in (x, make_identity_tensor(x.shape))
                    )
                    clear(held)
                    copy_if(elem_less(at, x.shape), part, held)
                    transform(total, held, total, np.add)
            copy(total, local_partition(y, parse("_32:_1"), thread()))

        return sums

    x, y = np.ones(20, np.float32), np.zeros(32, np.float32)
    with pytest.raises(RangeError, match=r"1 of 1 in a coordinate.*\n.*\n.*state it in `for _ in when\(k < tiles\)`"):
        sums_of(guarded=False).run(x, y)
    sums_of(guarded=True).run(x, y)
    assert y.sum() == 20


# ------------------------------------------------------------------------------------- scales of blocks of 32


@kernel(threads=256, grid=lambda Q, S, Y: tuple(ceil_div(n, tile) for n, tile in zip(Q.shape, (8, 128))))
def with_scales(Q, S, Y):
    """Y (M,N) = Q (M,N) of int8 * S (M,N/32), a scale of each 32 columns."""

    def part(x):
        return local_partition(local_tile(x, (8, 128), (block(0), block(1))), WARPS, thread())

    blocks_of_32 = make_layout((Int[32](), S.shape[1]), stride=(Int[0](), _1))
    inside = elem_less(part(make_identity_tensor(Q.shape)), Q.shape)
    held = [registers(kind, (1, 4)) for kind in (np.int8, np.float32, np.float32)]
    for source, to in zip((Q, composition(S, (make_layout(Q.shape[0]), blocks_of_32))), held):
        clear(to)
        copy_if(inside, part(source), to)
    transform(*held, np.multiply)
    copy_if(inside, held[2], part(Y))


def test_the_predicate_of_elements_is_that_of_their_scales(tmp_path):
    """Where 32*c + lane < 32*n, c < n."""
    (m,), n = sizes("m"), dim("n", at_least=0, at_most=2**15, multiple_of=128)
    given = rows(np.int8, m, n), rows(np.float32, m, n // 32), rows(np.float32, m, n)
    call = c_function(tmp_path, with_scales.source("c", *given, parameters="m n Q S Y"))
    rng = np.random.default_rng(3)
    for m, n in (9, 256), (1, 128), (3, 0), (0, 128):
        q = rng.integers(-128, 128, (m, n)).astype(np.int8)
        s, found, text = rng.integers(-3, 4, (m, n // 32)).astype(np.float32), *np.zeros((2, m, n), np.float32)
        with_scales.run(q, s, found)
        call(*scalars(m, n), *map(pointer, (q, s, text)))
        assert (found == q * np.repeat(s, 32, axis=1)).all(), (m, n)
        assert (text == found).all(), (m, n)


# --------------------------------------------------------------------------------------- a stencil with a halo


def laplacian_of(apart):
    """The kernel; apart: whether blocks write the 14 by 14 elements alone whose neighbours they have."""

    @kernel(threads=256, grid=lambda A, B: tuple(ceil_div(n - 2, 14) for n in A.shape))
    def laplacian(A, B):
        """B inside = the sum of the four neighbours in A, less four times A, by tiles that overlap."""
        memory, places = shared(np.float32, parse("(_18,_18):(_18,_1)")), make_identity_tensor(A.shape)
        origin = 14 * block(0), 14 * block(1)

        def part(x, at=(0, 0)):
            return local_partition(local_tile(domain_offset(at, x), (16, 16), (0, 0)), ROWS, thread())

        clear(part(memory))
        copy_if(elem_less(part(places, origin), A.shape), part(A, origin), part(memory))
        barrier()
        held = [registers(np.float32, (1, 1)) for _neighbour in range(5)]
        for at, to in zip(((1, 1), (0, 1), (2, 1), (1, 0), (1, 2)), held):
            copy(part(memory, at), to)
        transform(*held, held[0], lambda x, a, b, c, d: a + b + c + d - 4 * x)
        ends = tuple(least(n - 1, at + 15) if apart else n - 1 for n, at in zip(A.shape, origin))
        inner = [domain_offset((1, 1), x) for x in (places, B)]
        copy_if(elem_less(part(inner[0], origin), ends), held[0], part(inner[1], origin))

    return laplacian


def test_a_stencil_with_a_halo(tmp_path):
    m, n = (dim(name, at_least=2, at_most=2**12) for name in "mn")
    given = [rows(np.float32, m, n)] * 2
    made, rng = laplacian_of(apart=True), np.random.default_rng(5)
    call = c_function(tmp_path, made.source("c", *given, parameters="m n A B"))
    for m, n in (20, 37), (3, 3), (2, 5), (16, 16):
        a, found, text = rng.integers(-3, 4, (m, n)).astype(np.float32), *np.zeros((2, m, n), np.float32)
        expected = np.zeros_like(a)
        expected[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]
        made.run(a, found)
        call(*scalars(m, n), *map(pointer, (a, text)))
        assert (found == expected).all(), (m, n)
        assert (text == expected).all(), (m, n)


def test_blocks_that_write_one_element_are_told_that_no_barrier_helps():
    m, n = (dim(name, at_least=2, at_most=2**12) for name in "mn")
    with pytest.raises(RangeError, match="blocks do not wait for each other") as raised:
        laplacian_of(apart=False).source("c", *[rows(np.float32, m, n)] * 2)
    assert "fix       let each block have its own, by tiles that do not overlap" in str(raised.value)
