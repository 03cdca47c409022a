"""Kernels whose tiles, steps and conditions elements of their arguments choose: a table's rows, the pages of a cache, the experts of a
mixture, lengths; run, as C, in CUDA's text, by others' compilers; and what may not be chosen so."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tla import (
    Int,
    LeafTypeError,
    RangeError,
    RankError,
    _,
    ceil_div,
    dim,
    domain_offset,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
    safe_div,
)
from tla.gpu import make_fragment_like
from tla.kernels import (
    atomic_add,
    barrier,
    block,
    clear,
    copy,
    copy_if,
    fill,
    kernel,
    local_partition,
    loop,
    read_index,
    reduce,
    registers,
    shared,
    tensor,
    thread,
    when,
)
from tla.viz import draw

import hip
import nvrtc
from night import amount
from sources_of_kernels import c_function, cuda_function, kernel_examples

LANES = parse("(_1,_32):(_0,_1)")
N, P, D = (dim(name, at_most=2**12) for name in "NPD")


def rows(kind, *extents):
    """A tensor of symbols, its last mode contiguous."""
    strides = [Int[1]()]
    for n in extents[:0:-1]:
        strides.insert(0, strides[0] * n)
    return tensor(kind, make_layout(extents, stride=tuple(strides)))


def parts(*tiles):
    return [local_partition(x, LANES, thread()) for x in tiles]


@kernel(threads=32, grid=lambda ids, table, out: (out.shape[0],))
def embedding(ids, table, out):
    row = read_index(ids, block(0), table.shape[0])
    at = make_identity_tensor(table.shape)
    for k in loop(ceil_div(table.shape[1], 64)):
        tiles = (local_tile(x, (1, 64), (i, k)) for x, i in ((table, row), (out, block(0)), (at, row)))
        source, target, places = parts(*tiles)
        copy_if(elem_less(places, table.shape), source, target)


@kernel(threads=32, grid=lambda slots, given, cache: (given.shape[0],))
def stored(slots, given, cache):
    slot = read_index(slots, block(0), cache.shape[0], distinct=True)
    copy(*parts(local_tile(given, (1, 64), (block(0), 0)), local_tile(cache, (1, 64), (slot, 0))))


@kernel(threads=32, grid=lambda lengths, given, total: (given.shape[0],))
def sums(lengths, given, total):
    n = read_index(lengths, block(0), given.shape[1] + 1)
    so_far = registers(np.float32, 1)
    clear(so_far)
    for k in loop(ceil_div(n, 64)):
        a, places = parts(*(local_tile(t, (1, 64), (block(0), k)) for t in (given, make_identity_tensor(given.shape))))
        part = make_fragment_like(a)
        clear(part)
        copy_if(elem_less(places, (given.shape[0], n)), a, part)
        reduce(part, so_far, np.add)
    for _some in when(0 < n):
        atomic_add(so_far, local_tile(total, (1,), (block(0),)))


@kernel(threads=32, grid=lambda pages, cache, out: (pages.shape[0],))
def gathered(pages, cache, out):
    """out (sequence, page, element) by pages, a table of pages for each sequence, by way of shared memory."""
    memory = shared(np.float32, parse("(_1,_64):(_64,_1)"))
    for k in loop(pages.shape[1]):
        page = read_index(pages, (block(0), k), cache.shape[0])
        copy(*parts(local_tile(cache, (1, 64), (page, 0)), memory))
        barrier()
        copy(*parts(memory, local_tile(out[block(0), _, _], (1, 64), (k, 0))))
        barrier()


@kernel(threads=32, grid=lambda bins, given, out: (given.shape[0],))
def scattered(bins, given, out):
    where = read_index(bins, block(0), out.shape[0])
    atomic_add(*parts(local_tile(given, (1, 64), (block(0), 0)), local_tile(out, (1, 64), (where, 0))))


def of_embedding(rng):
    n, p, d = rng.integers(1, 9), rng.integers(1, 9), rng.integers(1, 150)
    ids, table = rng.integers(0, p, n).astype(np.int32), rng.integers(-9, 9, (p, d)).astype(np.float32)
    return [ids, table, np.zeros((n, d), np.float32)], table[ids], (n, p, d)


def of_stored(rng):
    n = rng.integers(1, 9)
    p = n + rng.integers(0, 5)
    slots, x = rng.permutation(p)[:n].astype(np.int32), rng.integers(-9, 9, (n, 64)).astype(np.float32)
    wanted = np.full((p, 64), 7, np.float32)
    wanted[slots] = x
    return [slots, x, np.full((p, 64), 7, np.float32)], wanted, (n, p)


def of_sums(rng):
    n, d = rng.integers(1, 9), rng.integers(1, 200)
    lengths, x = rng.integers(0, d + 1, n).astype(np.int32), rng.integers(-9, 9, (n, d)).astype(np.float32)
    return [lengths, x, np.zeros(n, np.float32)], np.array([x[i, :m].sum() for i, m in enumerate(lengths)]), (n, d)


def of_gathered(rng):
    n, d, p = rng.integers(1, 5), rng.integers(1, 5), rng.integers(1, 9)
    pages, cache = rng.integers(0, p, (n, d)).astype(np.int32), rng.integers(-9, 9, (p, 64)).astype(np.float32)
    return [pages, cache, np.zeros((n, d, 64), np.float32)], cache[pages], (n, d, p)


def of_scattered(rng):
    n, p = rng.integers(1, 9), rng.integers(1, 5)
    bins, x, wanted = rng.integers(0, p, n), rng.integers(-9, 9, (n, 64)).astype(np.float32), np.zeros((p, 64))
    np.add.at(wanted, bins, x)
    return [bins.astype(np.uint8), x, np.zeros((p, 64), np.float32)], wanted, (n, p)


KERNELS = {
    "embedding": (embedding, of_embedding, (rows(np.int32, N), rows(np.float32, P, D), rows(np.float32, N, D)), (N, P, D)),
    "stored": (stored, of_stored, (rows(np.int32, N), rows(np.float32, N, Int[64]()), rows(np.float32, P, Int[64]())), (N, P)),
    "sums": (sums, of_sums, (rows(np.int32, N), rows(np.float32, N, D), rows(np.float32, N)), (N, D)),
    "gathered": (gathered, of_gathered, (rows(np.int32, N, D), rows(np.float32, P, Int[64]()), rows(np.float32, N, D, Int[64]())), (N, D, P)),
    "scattered": (scattered, of_scattered, (rows(np.uint8, N), rows(np.float32, N, Int[64]()), rows(np.float32, P, Int[64]())), (N, P)),
}  # fmt: skip


def source_of(name, target, **options):
    function, _of, given, _sizes = KERNELS[name]
    return function.source(target, *given, **options)


def called(source, names, folder):
    """A text as a function of arrays and sizes, in C or in CUDA on the CPU."""
    types = re.search(r"void (?:__\w+\(\d+, 1\) )?kernel_main\(([^)]*)\) \{", source.text)[1].split(", ")
    wide = ctypes.c_int if f"int {names[0]}" in types else ctypes.c_longlong
    if "__global__" in source.text:
        given = [x.replace("const ", "") for x in types]
        call = cuda_function(folder, source, given, lambda n, *_others: (n.value, 1))
    else:
        call = c_function(folder, source)
    return lambda values, *arrays: call(*(wide(int(n)) for n in values), *map(pointer, arrays))


@pytest.mark.once
@pytest.mark.parametrize("name", KERNELS)
def test_what_elements_choose_is_what_numpy_has(name, tmp_path):
    function, of, _given, sizes = KERNELS[name]
    names = [*map(str, sizes)]
    arguments = [*function.program(*_given).arguments]
    texts = [
        called(source_of(name, target, parameters=[*names, *arguments]), names, tmp_path) for target in ("c", "cuda")
    ]
    rng = np.random.default_rng(3)
    for _case in range(amount(8, 200)):
        arrays, wanted, values = of(rng)
        report = function.check(*arrays)
        assert not report.races
        assert not report.bounds
        for run in (lambda _values, *given: function.run(*given), *texts):
            got = [x.copy() for x in arrays]
            run(values, *got)
            assert (got[2] == wanted).all()


@pytest.mark.parametrize("name", KERNELS)
def test_no_race_for_any_sizes(name):
    function, _of, given, _sizes = KERNELS[name]
    report = function.check(*given)
    assert report.proved
    assert not [*report.bounds, *report.races]


def test_other_compilers_take_the_texts(tmp_path):
    for name in KERNELS:
        nvrtc.compiled(source_of(name, "cuda", arch="sm_80").text, "sm_80")
    text = source_of("embedding", "hip", arch="gfx942").text
    assert hip.opcodes(hip.without_headers(text), "gfx942", tmp_path)["s_trap"]


@pytest.mark.parametrize("variant", ["mma_sync", "fma"])
def test_products_of_experts(variant):
    made = kernel_examples()["variants of grouped_gemm"]["KERNELS"][variant]
    rng = np.random.default_rng(5)
    for m, n, k, e in (130, 70, 40, 3), (1, 1, 8, 1), (64, 65, 32, 2):
        experts = rng.integers(0, e, -(-m // 64)).astype(np.int32)
        a, w = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (e, n, k)))
        d = np.full((m, n), 7, np.float32)
        made.run(experts, a, w.transpose(1, 2, 0), d)
        of_rows = w.astype(np.float32)[np.repeat(experts, 64)[:m]]
        assert (d == np.einsum("mk,mnk->mn", a.astype(np.float32), of_rows)).all()


def test_an_element_that_is_no_index_stops_all(tmp_path):
    table, out = np.zeros((3, 64), np.float32), np.zeros((2, 64), np.float32)
    for wrong in (3, -1):
        with pytest.raises(
            RangeError, match=rf"read_index gives {wrong} at \(1\)\n  expected  0 or more, and less than 3"
        ):
            embedding.run(np.array([0, wrong], np.int32), table, out)
    with pytest.raises(RangeError, match=r"read_index gives 2 at \(0\), an element that 2 of the tensor are"):
        stored.run(np.array([2, 2], np.int32), out, table)
    source = source_of("embedding", "c", parameters="ids table out N P D")
    main = (
        "int main(void) { int ids[1] = {IDS}; float t[192] = {0}, o[64]; kernel_main(ids, t, o, 1, 3, 64); return 0; }"
    )
    for index, stops in ("2", False), ("3", True), ("-1", True):
        file = tmp_path / f"at{index}.c"
        file.write_text(source.text + main.replace("IDS", index))
        subprocess.run(["gcc", "-o", file.with_suffix(""), file], check=True)
        done = subprocess.run([file.with_suffix("")], capture_output=True, text=True, check=False)
        assert ("Assertion" in done.stderr) == stops == (done.returncode != 0)


def test_drawn_and_printed():
    program = embedding.program(*KERNELS["embedding"][2])
    assert re.search(r"^read_index ids at bid0: .* as i0 < P  ", str(program), re.MULTILINE)
    assert "read_index pages" in str(draw(gathered.program(*KERNELS["gathered"][2])))


def refused(function, given, kind, words):
    with pytest.raises(kind, match=words):
        function.source("cuda", *given)


def test_what_may_not_be_chosen():
    """Places that two blocks may be given, a place in shared memory, an element of each thread, one that is written,
    one that was read in a loop, and other arguments."""
    ids, table, out = KERNELS["embedding"][2]
    slots, x, cache = KERNELS["stored"][2]

    @kernel(threads=32, grid=lambda slots, given, cache: (given.shape[0],))
    def not_distinct(slots, given, cache):
        slot = read_index(slots, block(0), cache.shape[0])
        copy(*parts(local_tile(given, (1, 64), (block(0), 0)), local_tile(cache, (1, 64), (slot, 0))))

    refused(
        not_distinct, (slots, x, cache), RangeError, "writes cache where the element read at .* says: .* two blocks"
    )
    same, rows_of, wide = np.array([1, 1], np.int32), np.ones((2, 64), np.float32), np.zeros((3, 64), np.float32)
    assert not_distinct.check(same, rows_of, wide).races  # by the elements that were given

    @kernel(threads=32, grid=lambda slots, given, cache: (given.shape[0],))
    def of_half_the_blocks(slots, given, cache):
        slot = read_index(slots, block(0) // 2, cache.shape[0], distinct=True)
        copy(*parts(local_tile(given, (1, 64), (block(0), 0)), local_tile(cache, (1, 64), (slot, 0))))

    refused(of_half_the_blocks, (slots, x, cache), RangeError, r"two blocks may touch[^~]*read an element of its own")

    @kernel(threads=32, grid=lambda slots, given, cache: (given.shape[0],))
    def of_rows_behind(slots, given, cache):
        first = read_index(slots, block(0), cache.shape[0], distinct=True)
        for k in loop(2):
            places = make_identity_tensor(cache.shape)
            tiles = (local_tile(domain_offset((first, 0), t), (1, 64), (k, 0)) for t in (cache, places))
            target, at = parts(*tiles)
            source = parts(local_tile(given, (1, 64), (block(0), 0)))[0]
            copy_if(elem_less(at, cache.shape), source, target)

    refused(of_rows_behind, (slots, x, cache), RangeError, r"fix +read an element of its own in each block, and write")

    @kernel(threads=32, grid=lambda ids, table, out: (out.shape[0],))
    def in_shared(ids, table, out):
        memory = shared(np.float32, parse("(_4,_64):(_64,_1)"))
        copy(*parts(local_tile(memory, (1, 64), (read_index(ids, block(0), 4), 0)), local_tile(out, (1, 64), (0, 0))))

    refused(in_shared, (ids, table, out), LeafTypeError, "a place in shared memory or registers that the element")

    @kernel(threads=32)
    def of_threads(ids, table, out):
        read_index(ids, thread(), table.shape[0])

    refused(of_threads, (ids, table, out), LeafTypeError, "read_index of another element for each thread")
    with pytest.raises(LeafTypeError, match="read_index of another element for each thread"):
        of_threads.run(np.zeros(32, np.int32), wide, wide)

    @kernel(threads=1)
    def written(ids, table, out):
        fill(local_tile(ids, (1,), (0,)), 0)
        copy(local_tile(table, (1, 1), (read_index(ids, 0, table.shape[0]), 0)), local_tile(out, (1, 1), (0, 0)))

    refused(written, (ids, table, out), LeafTypeError, "read_index of ids, which the kernel writes at")

    @kernel(threads=1)
    def behind_its_loop(ids, table, out):
        row = 0
        for k in loop(ids.shape[0]):
            row = read_index(ids, k, table.shape[0])
        copy(local_tile(table, (1, 1), (row, 0)), local_tile(out, (1, 1), (0, 0)))

    refused(behind_its_loop, (ids, table, out), RangeError, "outside of the loop or the condition that it was read in")

    @kernel(threads=32, grid=lambda ids, table, out: (out.shape[0],))
    def bound_behind_its_condition(ids, table, out):
        n, at = table.shape[1], make_identity_tensor(table.shape)
        for _some in when(block(0) < 3):
            n = read_index(ids, block(0), table.shape[1] + 1)
        source, target, places = parts(*(local_tile(x, (1, 64), (0, 0)) for x in (table, out, at)))
        copy_if(elem_less(places, (table.shape[0], n)), source, target)

    refused(
        bound_behind_its_condition, (ids, table, out), RangeError, "outside of the loop or the condition that it was"
    )

    @kernel(threads=1)
    def of_whole_fours(ids, table, out):
        row = safe_div(read_index(ids, 0, table.shape[0]), 4)
        copy(local_tile(table, (1, 1), (row, 0)), local_tile(out, (1, 1), (0, 0)))

    refused(of_whole_fours, (ids, table, out), RangeError, "the condition 4 divides i0, which rests on an element")

    @kernel(threads=1)
    def past_the_end(ids, table, out):
        copy(local_tile(table, (1, 1), (read_index(ids, N, table.shape[0]), 0)), local_tile(out, (1, 1), (0, 0)))

    refused(past_the_end, (ids, table, out), RangeError, "read.* ids|coordinate")

    @kernel(threads=32, grid=lambda ids, table, out: (2,), cluster=(2,))
    def of_clusters(ids, table, out):
        read_index(ids, block(0), table.shape[0])

    refused(of_clusters, (ids, table, out), LeafTypeError, "read_index in a kernel of clusters")
    with pytest.raises(LeafTypeError, match="the statement read_index"):
        embedding.source("gluon", ids, table, out)

    for at, below, kind, words in (
        ((0, 0), 4, RankError, r"read_index at \(0,0\) of \(N\)"),
        (0, 0, RangeError, "read_index with below=0"),
        (0, 2.5, RangeError, "read_index with below=2.5"),
    ):

        @kernel(threads=1)
        def wrong(ids):
            read_index(ids, at, below)  # noqa: B023

        refused(wrong, (ids,), kind, words)

    @kernel(threads=1)
    def of_floats(ids, table, out):
        read_index(table, (0, 0), 3)

    refused(of_floats, (ids, table, out), LeafTypeError, "read_index of a tensor of float32")
    with pytest.raises(RangeError, match=r"read_index\(\) outside a kernel"):
        read_index(np.zeros(3, np.int32), 0, 3)


def test_a_condition_on_an_element_is_no_way_that_is_always_gone():
    """A barrier that stands where an element says so orders nothing that comes without it."""

    @kernel(threads=64)
    def sometimes(ids, out):
        memory = shared(np.float32, parse("_64:_1"))
        for k in loop(4):
            fill(local_partition(memory, parse("_64:_1"), thread()), 1)
            for _some in when(read_index(ids, k, 2) < 1):
                barrier()
            copy(
                local_partition(memory, parse("_64:_1"), 63 - thread()), local_partition(out, parse("_64:_1"), thread())
            )
            for _some in when(read_index(ids, k, 2) < 1):
                barrier()

    report = sometimes.check(tensor(np.int32, parse("_4:_1")), tensor(np.float32, parse("_64:_1")))
    assert not report.proved
    assert sometimes.check(np.ones(4, np.int32), np.zeros(64, np.float32)).races
    assert not sometimes.check(np.zeros(4, np.int32), np.zeros(64, np.float32)).races
