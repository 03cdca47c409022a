"""Floats of less than 32 bits in kernels: numpy's and ml_dtypes' numbers, run, in C and in CUDA's text; products of
them; what is computed in float, so that no product of halves is rounded before it is added."""

import functools
import re

import gluon_kernels
import numpy as np
import pytest

from tests.kernels.test_kernel_source import argument, blocks, parts, pointer
from tla import (
    Int,
    LeafTypeError,
    RangeError,
    dim,
    elem_less,
    gpu,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
    tile_to_shape,
)
from tla.gpu import (
    GMMA,
    UMMA,
    Copy_Atom,
    K,
    SM100_TMEM_LOAD_32dp32b32x,
    UniversalCopy,
    UniversalFMA,
    atom,
    bf16,
    float as single,
    fp8_e4m3,
    fp8_e5m2,
    half,
    make_fragment_like,
    make_tiled_mma,
    make_tmem_copy,
    uint32,
)
from tla.kernels import (
    Allocator1Sm,
    axpby,
    barrier,
    block,
    clear,
    copy,
    copy_if,
    fence_view_async_shared,
    fence_view_async_tmem_load,
    fill,
    gemm,
    kernel,
    local_partition,
    mbarriers,
    registers,
    shared,
    shuffle_xor,
    tensor,
    thread,
    tmem,
    transform,
    umma_arrive,
    wait_barrier,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_wait,
)

import hip
import nvrtc
from night import NIGHT, amount
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

ml_dtypes = pytest.importorskip("ml_dtypes")
SINGLE = np.dtype(np.float32)
NARROW = [np.dtype(getattr(ml_dtypes, n, n)) for n in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")]
FNUZ = [np.dtype(getattr(ml_dtypes, n)) for n in ("float8_e4m3fnuz", "float8_e5m2fnuz")]
N = dim("N", at_most=2**20)


def called(target, function, given, folder):
    """A text of a kernel of arrays, executed, as a function of these."""
    source = function.source(target, *(argument(N, x.dtype) for x in given))
    if target == "c":
        call = c_function(folder, source)
    else:
        types = {name: kind for kind, name in re.findall(r"(\w+) \*([ab])\b", source.text)}
        names = [*(f"{types[name]} *{name}" for name in "ab"), "int N"]
        call = cuda_function(folder, source, names, lambda a, b, n: (-(-n // 64), 1))
    return lambda *arrays: call(*map(pointer, arrays), arrays[0].size)


def words(x):
    return x.view(f"uint{8 * x.dtype.itemsize}")


def require_same(found, expected, given):
    """Equal to the bit, but for which of the NaNs."""
    nan = np.isnan(found.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    wrong = (words(found) != words(expected)) & ~nan
    assert not wrong.any(), [x[wrong][:5] for x in (given, found, expected)]


def all_of(dtype):
    return np.arange(2 ** (8 * dtype.itemsize), dtype=f"uint{8 * dtype.itemsize}").view(dtype)


def around(dtype):
    """Floats that are numbers of a type, between two of them, and next to that; and any others."""
    numbers = all_of(dtype).astype(SINGLE)
    finite = np.unique(numbers[np.isfinite(numbers)])
    middle = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(SINGLE)
    beside = [np.nextafter(middle, np.float32(end)) for end in (np.inf, -np.inf)]
    drawn = np.random.default_rng(0).integers(0, 2**32, 10_000, dtype=np.uint32).view(SINGLE)
    ends = np.array([1e30, -1e30, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 0, -0.0, 464, 465, 61440, 61441], SINGLE)
    return np.concatenate([numbers, middle, *beside, drawn, ends])


@kernel(threads=32, grid=lambda x, y: blocks(x))
def converted(x, y):
    transform(*parts(x, y), lambda x: 1 * x)


@pytest.mark.parametrize("dtype", [*NARROW, *FNUZ], ids=str)
def test_conversions_in_c_are_those_of_ml_dtypes(dtype, tmp_path):
    """All codes of a type, and all floats at which rounding changes."""
    for given, of in ((all_of(dtype), SINGLE), (around(dtype), dtype)):
        folder = tmp_path / of.name
        folder.mkdir()
        found = np.zeros(given.size, of)
        called("c", converted, (given, found), folder)(given, found)
        with np.errstate(all="ignore"):
            require_same(found, given.astype(of), given)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_run_rounds_as_the_text(dtype, tmp_path):
    """Of values that the type holds; run refuses others."""
    given = around(dtype)
    largest = float(ml_dtypes.finfo(dtype).max)
    given = given[np.abs(given) <= largest]
    given = given[:: amount(7, 1)].copy() if dtype.itemsize > 1 else given
    ran, made = np.zeros(given.size, dtype), np.zeros(given.size, dtype)
    converted.run(given, ran)
    called("c", converted, (given, made), tmp_path)(given, made)
    require_same(ran, made, given)


def scaled(alpha, beta):
    @kernel(threads=32, grid=lambda a, b: blocks(a))
    def made(a, b):
        own, total = parts(a, b)
        axpby(alpha, own, beta, total)

    return made


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_axpby_is_computed_in_float_and_rounded_once(dtype, target, tmp_path):
    """3 * 683 = 2049 is none of float16's numbers, 2049 + 1 is: rounded twice it is another one."""
    draw = np.random.default_rng(1)
    x, y = (draw.integers(0, 1000 if dtype.itemsize == 2 else 100, 64).astype(dtype) for _ in range(2))
    if dtype.itemsize == 2:
        x[0], y[0] = 683, 1
    expected = (3 * x.astype(SINGLE) + y.astype(SINGLE)).astype(dtype)
    ran, made = y.copy(), y.copy()
    scaled(3, 1).run(x, ran)
    np.testing.assert_array_equal(ran, expected)
    called(target, scaled(3, 1), (x, made), tmp_path)(x, made)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(("dtype", "arch"), [*zip(NARROW, ("sm_80", "sm_80", "sm_89", "sm_90"))], ids=str)
def test_cuda_computes_in_float(dtype, arch):
    ptx, _cubin = nvrtc.compiled(scaled(3, 1).source("cuda", *2 * [argument(N, dtype)]).text, arch)
    assert not re.search(r"\b(fma|mul|add)[\w.]*f16", ptx)
    assert re.search(r"cvt\.rn\.(b?f16|satfinite\.e\dm\dx2)\.f32", ptx)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("element", [half, bf16], ids=str)
def test_a_product_of_halves_is_not_rounded_before_it_is_added(element, target, tmp_path):
    """99 * 101 = 9999 is none of float16's numbers: so it was in CUDA, whose operator of two halves rounds."""
    mma = make_tiled_mma(UniversalFMA[single, element, element, single], parse("(_2,_2,_1):(_1,_2,_0)"))

    @kernel(threads=4)
    def product(A, B, C):
        own = mma[thread()]
        sides = own.partition_A(A), own.partition_B(B), own.partition_C(C)
        held = [make_fragment_like(x) for x in sides]
        for x, register in zip(sides, held):
            copy(x, register)
        gemm(mma, *held)
        copy(held[2], sides[2])

    layouts = [make_layout((Int[2](), Int[n]()), stride=(Int[n](), Int[1]())) for n in (3, 3, 2)]
    dtypes = [tensor(element, layouts[0]).dtype] * 2 + [SINGLE]
    a, b, c = (np.full((2, n), x).astype(dtype) for n, x, dtype in zip((3, 3, 2), (99, 101, 0), dtypes))
    expected = a.astype(SINGLE) @ b.T.astype(SINGLE)
    ran = c.copy()
    product.run(a, b, ran)
    np.testing.assert_array_equal(ran, expected)
    source = product.source(target, *map(tensor, dtypes, layouts))
    if target == "c":
        c_function(tmp_path, source)(*map(pointer, (a, b, c)))
    else:
        nvrtc.compiled(source.text, "sm_90")
        kind = {half: "__half", bf16: "__nv_bfloat16"}[element]
        names = [f"{kind} *A", f"{kind} *B", "float *C"]
        cuda_function(tmp_path, source, names, lambda *_given: (1, 1))(*map(pointer, (a, b, c)))
    np.testing.assert_array_equal(c, expected)


LANES_OF_32 = parse("_32:_1")


@pytest.mark.parametrize("target", ["c", "cuda", "hip", "gluon"])
@pytest.mark.parametrize("to", [NARROW[1], SINGLE], ids=str)
@pytest.mark.parametrize("of", [NARROW[1], NARROW[2], SINGLE], ids=str)
def test_registers_of_any_floats_are_exchanged(of, to, target, tmp_path):
    """CUDA exchanges no floats of 8 bits, HIP no bfloat16, and C assigns no bfloat16 to a float."""

    @kernel(threads=32)
    def exchanged(a, b):
        x, y = registers(of, (2,)), registers(to, (2,))
        copy(local_partition(a, LANES_OF_32, thread()), x)
        shuffle_xor(x, y, 1)
        copy(y, local_partition(b, LANES_OF_32, thread()))

    given = [tensor(x, parse("_64:_1")) for x in (of, to)]
    a, b = (np.arange(64) % 15).astype(of), np.zeros(64, to)
    if target == "c":
        expected = a.reshape(-1, 2)[:, ::-1].ravel().astype(to)
        exchanged.run(a, b)
        np.testing.assert_array_equal(b, expected)
        b[:] = 0
        c_function(tmp_path, exchanged.source("c", *given))(*map(pointer, (a, b)))
        np.testing.assert_array_equal(b, expected)
    elif target == "cuda":
        ptx, _cubin = nvrtc.compiled(exchanged.source("cuda", *given).text, "sm_89")
        assert ptx.count("shfl.sync.bfly") == 2
    elif target == "hip":
        text = exchanged.source("hip", *given).text
        assert text.count(f"__shfl_xor({'' if of == SINGLE else ('(float)' if of == NARROW[1] else 'float_of_')}") == 2
    else:
        _source, asm = gluon_kernels.compiled(exchanged, given, None, tmp_path, "sm_89")
        assert "shfl" in asm


def test_numbers_of_numpy_and_ml_dtypes_are_numbers(tmp_path):
    half_of = ml_dtypes.bfloat16(0.5)

    @kernel(threads=32, grid=lambda a, b: blocks(a))
    def made(a, b):
        x, y = parts(a, b)
        transform(x, y, lambda x: half_of * x)
        axpby(np.float32(2), x, np.int64(1), y)

    a = np.arange(64).astype(NARROW[1])
    ran, called_c = np.zeros_like(a), np.zeros_like(a)
    made.run(a, ran)
    called("c", made, (a, called_c), tmp_path)(a, called_c)
    np.testing.assert_array_equal(called_c, ran)
    np.testing.assert_array_equal(ran, (2.5 * np.arange(64)).astype(NARROW[1]))


def test_a_function_of_no_element_is_rounded_in_gluon(tmp_path):
    @kernel(threads=32)
    def made(a, b):
        transform(*(local_partition(x, LANES_OF_32, thread()) for x in (a, b)), lambda x: 0.5)

    given = 2 * [tensor(bf16, parse("_64:_1"))]
    _source, asm = gluon_kernels.compiled(made, given, None, tmp_path, "sm_80")
    assert "st.global" in asm


# ------------------------------------------------------------------------------------------------------------ products


def variants():
    return kernel_examples()["variants of gemm_narrow"]["VARIANTS"]


@functools.cache
def text_of(variant, target):
    return emitted(variants()[variant], target)


VARIANTS = "mma_bf16", "mma_e4m3", "mma_e5m2", "mfma_bf16", "mfma_e4m3fnuz"


def matrices(dtype, m, n, k, rng):
    a, b = (rng.integers(-3, 4, (rows, k)).astype(dtype) for rows in (m, n))
    d = rng.integers(-3, 4, (m, n)).astype(SINGLE)
    return a, b, d, a.astype(SINGLE) @ b.T.astype(SINGLE) + d


def sizes(rng, count):
    drawn = rng.integers(1, 200, (count, 3)).tolist()
    return [(1, 1, 0), (0, 5, 16), (129, 127, 64), *((m, n, k // 16 * 16) for m, n, k in drawn)]


@pytest.mark.parametrize("variant", VARIANTS if NIGHT else [VARIANTS[1], VARIANTS[4]])
def test_products_run_and_in_c_equal_numpy(variant, tmp_path):
    rng, call = np.random.default_rng(5), c_function(tmp_path, text_of(variant, "c"))
    made, (matrix, *_rest), _parameters = variants()[variant]
    for at, (m, n, k) in enumerate(sizes(rng, amount(0, 50))):
        a, b, d, expected = matrices(matrix.dtype, m, n, k, rng)
        if NIGHT or at < 1:
            ran = d.copy()
            made.run(a, b, ran)
            np.testing.assert_array_equal(ran, expected)
        call(m, n, k, *map(pointer, (a, b, d)))
        np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize("variant", VARIANTS[:3] if NIGHT else VARIANTS[:1])
def test_cuda_of_products_executed_by_threads_of_a_cpu_equals_numpy(variant, tmp_path):
    rng, (_made, (matrix, *_rest), _names) = np.random.default_rng(6), variants()[variant]
    source = text_of(variant, "cuda")
    kind = re.search(r"const (\w+) \*A", source.text)[1]
    names = ["int m", "int n", "int k", f"{kind} *A", f"{kind} *B", "float *D"]
    call = cuda_function(tmp_path, source, names, lambda m, n, *_rest: (-(-m // 128), -(-n // 128)))
    for m, n, k in sizes(rng, amount(0, 20)):
        a, b, d, expected = matrices(matrix.dtype, m, n, k, rng)
        call(m, n, k, *map(pointer, (a, b, d)))
        np.testing.assert_array_equal(d, expected)


def of_tf32():
    """A product of float32 by tf32's instruction: its kernel, arguments of any sizes, and their names."""
    mma, f32 = make_tiled_mma(gpu.SM80_16x8x8_F32TF32TF32F32_TN, (2, 2)), gpu.float
    element, rows = Copy_Atom[UniversalCopy[f32], f32], make_layout((Int[32](), Int[4]()), stride=(Int[4](), Int[1]()))
    fetch = [made(element, mma) for made in (gpu.make_tiled_copy_A, gpu.make_tiled_copy_B)]
    load, memory = gpu.make_tiled_copy(element, rows, (1, 1)), parse("(_64,_16):(_17,_1)")
    by = kernel_examples()["variants of gemm_atoms"]["product_by"]
    made = by(mma, (Int[64](), Int[64](), Int[16]()), np.float32, (memory, memory), (load, load), fetch)
    m, n, k = (dim(name, at_least=0, at_most=2**12) for name in "mnk")
    shapes = (m, k), (n, k), (m, n)
    return made, [tensor(np.float32, make_layout(x, stride=(x[1], Int[1]()))) for x in shapes], "m n k A B D"


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_products_of_tf32_read_the_first_19_bits_of_floats(target, tmp_path):
    made, arguments, names = of_tf32()
    source, rng = made.source(target, *arguments, parameters=names), np.random.default_rng(8)
    call = c_function(tmp_path, source) if target == "c" else None
    if call is None:
        parameters = ["int m", "int n", "int k", "float *A", "float *B", "float *D"]
        call = cuda_function(tmp_path, source, parameters, lambda m, n, *_rest: (-(-m // 64), -(-n // 64)))
    for m, n, k in ((70, 66, 37), (1, 3, 1), *sizes(rng, amount(0, 5))):
        a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (n, k)))
        d = np.zeros((m, n), np.float32)
        call(m, n, k, *map(pointer, (a, b, d)))
        np.testing.assert_array_equal(d, a @ b.T)
        ran = np.zeros_like(d)
        made.run(a, b, ran)
        np.testing.assert_array_equal(ran, d)
        a, b, d = *(rng.standard_normal(x.shape).astype(np.float32) for x in (a, b)), np.zeros((m, n), np.float32)
        call(m, n, k, *map(pointer, (a, b, d)))
        read = [(x.view(np.uint32) & 0xFFFFE000).view(np.float32) if target == "cuda" else x for x in (a, b)]
        np.testing.assert_allclose(d, read[0].astype(float) @ read[1].T, rtol=0, atol=2e-5)


def test_cuda_of_tf32_has_its_instructions(tmp_path):
    made, arguments, names = of_tf32()
    counts = nvrtc.opcodes(nvrtc.compiled(made.source("cuda", *arguments, parameters=names).text, "sm_80")[1], tmp_path)
    assert sum(n for name, n in counts.items() if name.startswith("HMMA.1688.F32.TF32")) == 32, counts


def test_rows_of_2_by_2_warps_are_proved_to_be_inside():
    """Their row is 32 * bid0 + 8 * (tid//32) + tid//4 - 32 * (tid//64): as simplified, of three quotients."""
    mma = make_tiled_mma(gpu.SM89_16x8x32_F32E4M3E4M3F32_TN, (2, 2))

    @kernel(threads=128, grid=lambda D: tuple(-(-n // x) for n, x in zip(D.shape, (32, 16))))
    def ones(D):
        at = (block(0), block(1))
        cut = (local_tile(x, (32, 16), at) for x in (D, make_identity_tensor(D.shape)))
        mine, places = map(mma[thread()].partition_C, cut)
        held = make_fragment_like(mine)
        fill(held, 1)
        copy_if(elem_less(places, D.shape), held, mine)

    m, n = (dim(name, at_least=0, at_most=2**12) for name in "mn")
    D = tensor(np.float32, make_layout((m, n), stride=(n, Int[1]())))
    assert not ones.check(D).bounds
    for shape in (33, 17), (1, 1), (70, 40):
        d = np.zeros(shape, np.float32)
        ones.run(d)
        assert (d == 1).all()


def test_tf32_is_no_element_of_memory():
    with pytest.raises(LeafTypeError, match="float32, whose first 19 bits") as raised:
        tensor(gpu.tf32, parse("_8:_1"))
    assert "ml_dtypes has" in str(raised.value)


@pytest.mark.parametrize(
    ("element", "target", "arch", "fix"),
    [
        ("float8_e4m3fn", "hip", "gfx942", "take float8_e4m3fnuz"),
        ("float8_e5m2fnuz", "hip", "gfx950", "take float8_e5m2,"),
        ("float8_e5m2", "hip", "gfx1100", "take bfloat16"),
        ("float8_e4m3fnuz", "gluon", "sm_90", "take float8_e4m3fn,"),
        ("float8_e4m3fnuz", "cuda", "sm_90", "take float8_e4m3fn,"),
    ],
)
def test_what_a_machine_does_not_convert_is_refused_by_source(element, target, arch, fix):
    @kernel(threads=32, grid=blocks)
    def copied(a, b):
        x, y, at = parts(a, b, make_identity_tensor(a.shape))
        copy_if(elem_less(at, a.shape), x, y)

    def source(element):
        given = [argument(element=getattr(ml_dtypes, element, None) or np.dtype(element)) for _side in range(2)]
        return copied.source(target, *given, arch=arch)

    with pytest.raises(LeafTypeError, match=f"elements of {element} on {arch}") as raised:
        source(element)
    assert fix in str(raised.value)
    assert source(re.search(r"take (\w+),", str(raised.value))[1]).text  # the fix works


@pytest.mark.parametrize(("variant", "arch"), [*zip(VARIANTS[:3], ("sm_80", "sm_89", "sm_89"))])
def test_cuda_of_products_has_their_instructions(variant, arch, tmp_path):
    _ptx, cubin = nvrtc.compiled(text_of(variant, "cuda").text, arch)
    counts = nvrtc.opcodes(cubin, tmp_path)
    kind = "HMMA" if variant == "mma_bf16" else "QMMA"
    assert sum(n for name, n in counts.items() if name.startswith(kind)) == 128, counts


@pytest.mark.parametrize(
    ("variant", "arch", "name"),
    [("mfma_bf16", "gfx942", "v_mfma_f32_32x32x8_bf16"), ("mfma_e4m3fnuz", "gfx942", "v_mfma_f32_32x32x16_fp8_fp8")],
)
def test_hip_of_products_has_their_instructions(variant, arch, name, tmp_path):
    counts = hip.opcodes(hip.without_headers(text_of(variant, "hip").text), arch, tmp_path)
    assert sum(n for x, n in counts.items() if x.startswith(name)) == 2 * 16, counts  # two loops


LANES = parse("(_8,_16):(_16,_1)")


def in_shared_memory(element, rows, form, *matrices):
    """Tiles of matrices, each row 32 bytes, which a machine's products read, when all threads have brought them."""
    k = Int[256 // element.bits]()
    memory = [shared(element, tile_to_shape(form.K_SW32[element], (Int[m](), k))) for m in rows]
    for matrix, to in zip(matrices, memory):
        copy(*(local_partition(x, LANES, thread()) for x in (matrix, to)))
    fence_view_async_shared()
    barrier()
    return memory


def of_a_warpgroup(element, name):
    mma = make_tiled_mma(atom(name))

    @kernel(threads=128)
    def product(A, B, C):
        memory, own = in_shared_memory(element, (64, 64), GMMA, A, B), mma[thread()]
        mine = own.partition_C(C)
        total = make_fragment_like(mine)
        clear(total)
        warpgroup_arrive()
        gemm(mma, own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1]), total)
        warpgroup_commit_batch()
        warpgroup_wait[0]()
        copy(total, mine)

    return product, (64, 64)


def in_tensor_memory(element, form):
    umma = make_tiled_mma(getattr(gpu, form)[element, element, single, 128, 32, K, K])

    @kernel(threads=128)
    def product(A, B, C):
        own, done, allocator = umma[0], mbarriers(1), Allocator1Sm()
        columns = allocator.allocate(32)
        memory = in_shared_memory(element, (128, 32), UMMA, A, B)
        mine = own.partition_C(local_tile(C, (Int[128](), Int[32]()), (0, 0)))
        total = tmem(np.float32, own.make_fragment_C(mine).layout, columns)
        gemm(umma.with_(False), own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1]), total)
        umma_arrive(done[0])
        wait_barrier(done[0], 0)
        load = make_tmem_copy(SM100_TMEM_LOAD_32dp32b32x, total, single)
        target = load[thread()].partition_D(mine)
        held = make_fragment_like(target)
        copy(load, load[thread()].partition_S(total), held)
        fence_view_async_tmem_load()
        copy(held, target)
        barrier()
        allocator.free(columns)

    return product, (128, 32)


@pytest.mark.parametrize(
    ("element", "made", "form", "arch", "opcode"),
    [
        (bf16, of_a_warpgroup, "SM90_64x64x16_F32BF16BF16_SS", "sm_90a", "HGMMA"),
        (fp8_e4m3, of_a_warpgroup, "SM90_64x64x32_F32E4M3E4M3_SS_TN", "sm_90a", "QGMMA"),
        (fp8_e5m2, of_a_warpgroup, "SM90_64x64x32_F32E5M2E5M2_SS_TN", "sm_90a", "QGMMA"),
        (bf16, in_tensor_memory, "SM100_MMA_F16BF16_SS", "sm_100a", "UTCHMMA"),
        (fp8_e4m3, in_tensor_memory, "SM100_MMA_F8F6F4_SS", "sm_100a", "UTCQMMA"),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_products_of_shared_memory(element, made, form, arch, opcode, tmp_path):
    product, (m, n) = made(element, form)
    k = 256 // element.bits
    layouts = [make_layout((Int[a](), Int[b]()), stride=(Int[b](), Int[1]())) for a, b in ((m, k), (n, k), (m, n))]
    given = [*map(tensor, (element, element, np.float32), layouts)]
    a, b, d, expected = matrices(given[0].dtype, m, n, k, np.random.default_rng(7))
    expected -= d
    for call in (product.run, lambda *x: c_function(tmp_path, product.source("c", *given))(*map(pointer, x))):
        d[:] = 0
        call(a, b, d)
        np.testing.assert_array_equal(d, expected)
    _ptx, cubin = nvrtc.compiled(product.source("cuda", *given, arch=arch).text, arch)
    counts = nvrtc.opcodes(cubin, tmp_path)
    assert sum(x for name, x in counts.items() if name.startswith(opcode)) == 1, counts


@pytest.mark.parametrize(
    ("variant", "arch", "instruction", "count"),
    [
        ("mma_bf16", "sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 64),
        ("mma_e4m3", "sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 64),
        ("mfma_bf16", "gfx942", "v_mfma_f32_32x32x8_bf16", 16),
        ("mfma_e4m3fnuz", "gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 16),
    ],
)
def test_gluon_of_products_has_their_instructions(variant, arch, instruction, count, tmp_path):
    made, given, parameters = variants()[variant]
    _source, asm = gluon_kernels.compiled(made, given, parameters.split(), tmp_path, arch)
    assert asm.count(instruction) == count


# ------------------------------------------------------------------------------------------------------------- refused


def test_an_operand_of_another_type_than_the_instructions_is_refused():
    """float16 for an instruction of bfloat16: run multiplies the numbers, the machine takes their bits."""
    made, given, _parameters = variants()["mma_bf16"]
    halves = [tensor(np.float16, x.layout) for x in given[:2]]
    a, b, d, expected = matrices(np.float16, 40, 33, 32, np.random.default_rng(0))
    of_halves = kernel_examples()["variants of gemm_atoms"]["by_rows"]
    with pytest.raises(LeafTypeError, match="one type"):
        made.run(a, b, d)
    mma = make_tiled_mma(atom("SM80_16x8x16_F32BF16BF16F32_TN"), (2, 2), (32, 32, 16))
    mixed = of_halves(mma, half, uint32)
    mixed.run(a, b, d)
    np.testing.assert_array_equal(d, expected)
    with pytest.raises(LeafTypeError, match=r"A of float16 for SM80_16x8x16_F32BF16BF16F32_TN, in a kernel's text"):
        mixed.source("cuda", *halves, given[2])


def test_a_number_that_float32_does_not_hold_is_refused():
    """It was printed, as 1e+40f."""

    @kernel(threads=32, grid=lambda a, b: blocks(a))
    def made(a, b):
        transform(*parts(a, b), lambda x: np.where(x < 0, 1e40, x))

    given = argument(N, NARROW[1])
    for target in ("c", "cuda", "gluon"):
        with pytest.raises(RangeError, match=r"a number in the function: 1e\+40 as float32"):
            made.source(target, given, given)
    assert "1e+40" in made.source("c", *2 * [argument(N, np.float64)]).text


@pytest.mark.parametrize(
    "ask",
    [
        lambda alpha, x, y: transform(x, y, lambda x: x * (1 / alpha)),
        lambda alpha, x, y: transform(x, y, lambda x: x + 2 * alpha),
        lambda alpha, x, y: transform(x, y, lambda x: x * np.sqrt(alpha)),
        lambda alpha, x, y: transform(x, y, lambda x: np.where(alpha < 3, x, 0)),
        lambda alpha, x, y: axpby(-alpha, x, 1, y),
        lambda alpha, x, y: axpby(float(alpha), x, 1, y),
        lambda alpha, x, y: axpby(alpha, x, 1, y) if alpha else None,
    ],
)
def test_what_asks_for_the_value_of_a_scalar_is_refused(ask):
    """They were TypeErrors of Python's, and a condition was always taken."""

    @kernel(threads=32, grid=lambda alpha, a, b: blocks(a))
    def made(alpha, a, b):
        ask(alpha, *parts(a, b))

    with pytest.raises(LeafTypeError, match="the value of the scalar alpha, in a kernel that is traced"):
        made.source("c", np.float32, *2 * [argument(N, NARROW[1])])


def test_a_scalar_beside_elements_is_theirs(tmp_path):
    @kernel(threads=32, grid=lambda alpha, a, b: blocks(a))
    def made(alpha, a, b):
        transform(*parts(a, b), lambda x: alpha * x + np.fmax(alpha, x) - np.where(x < alpha, alpha, 1 - x))

    text = made.source("c", ml_dtypes.bfloat16, *2 * [argument(N, NARROW[1])]).text
    assert "fmaxf(float_of_bfloat16(alpha), v0)" in text


def test_a_type_that_a_language_has_not_is_refused():
    with pytest.raises(LeafTypeError, match="one of float16, bfloat16, float8_e4m3fn, float8_e5m2, float32"):
        converted.source("cuda", argument(N, FNUZ[0]), argument(N, SINGLE))


def test_a_float_that_the_machine_does_not_convert_is_refused_by_source():
    @kernel(threads=4)
    def zeros(a):
        clear(local_partition(a, parse("_4:_1"), thread()))

    given = tensor(fp8_e4m3, parse("_8:_1"))
    with pytest.raises(LeafTypeError) as found:
        zeros.source("hip", given, arch="gfx942")
    assert str(found.value) == (
        "zeros: elements of float8_e4m3fn on gfx942\n"
        "  expected  a type that it converts; float8_e4m3fn is one of gfx950, gfx1200, gfx1201\n"
        "  fix       take float8_e4m3fnuz, or another arch="
    )
    assert zeros.source("hip", given, arch="gfx950").text
    with pytest.raises(LeafTypeError, match="elements of float8_e4m3fnuz on sm_90"):
        zeros.source("gluon", tensor(FNUZ[0], parse("_8:_1")), arch="sm_90")
