"""JAX: layouts over tracers, in jit and in Pallas kernels; JAX's layouts, formats, shardings and programs as XLA's."""

import io
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs jax: pip install 'tla-layouts[jax]'")

import jax.numpy as jnp  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.layout import Format, Layout as JaxLayout  # noqa: E402
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding  # noqa: E402

from tla import (  # noqa: E402
    E,
    Layout,
    LeafTypeError,
    LoweringError,
    MakeTensor,
    RangeError,
    RankError,
    copy,
    crd2crd,
    dim,
    elem_leq,
    elem_less,
    get_flat_coord,
    idx2crd,
    offsets,
    parse,
    size,
    xla,
)
from tla.xla import jax as tla_jax  # noqa: E402

from truth import DATA  # noqa: E402

# --------------------------------------------------------------------------------------- layouts over tracers

LAYOUTS = [
    "(_4,8):(_1,_4)",
    "(7,9):(9,1)",
    "((_16,_2),(_16,_4)):((_16,_1024),(_1,_256))",  # zN
    "((3,5),(2,_4)):((1,3),(15,30))",
    "((_2,_2),(4,_3)):((_1,0),(_-2,_100))",
    "((_8,(_2,_3)),_5):((_2,(_1,_16)),_48)",
    "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
    "Sw<2,1,-3> o 4 o ((_4,_2),_8):((_16,_1),_2)",
    "(_4,_3):(_3,_1) o _0 o (_2,_6):(_6,_1)",
    "f32[100,300]{1,0:T(8,128)}",
    "bf16[16,256]{0,1:T(8,128)(2,1)}",
    "f32[6,10]{1,0:T(3,5)(2,2)}",
]


def layout_of(text):
    return xla.lower(text) if "[" in text else parse(text)


def grid(layout):
    return np.ogrid[tuple(slice(int(size(mode))) for mode in layout)]


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_layout_in_jit_is_its_offsets(text):
    layout = layout_of(text)
    truth = offsets(layout)
    coordinates = jax.jit(lambda i, j: layout(i, j))
    np.testing.assert_array_equal(coordinates(*grid(layout)), truth)
    np.testing.assert_array_equal(jax.vmap(lambda i: layout(i, 3))(jnp.arange(truth.shape[0])), truth[:, 3])
    index = jax.jit(lambda k: layout(k))
    np.testing.assert_array_equal(index(np.arange(truth.size)), truth.ravel(order="F"))
    for i, j in [(0, 0), (1, 2), (truth.shape[0] - 1, truth.shape[1] - 1)]:
        assert coordinates(i, j) == truth[i, j]
        assert coordinates(jnp.int32(i), j) == layout(jnp.int32(i), np.int32(j)) == truth[i, j]


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_layout_in_a_pallas_kernel_lays_an_array_out(text):
    layout = layout_of(text)
    truth = offsets(layout)
    source = np.arange(1, truth.size + 1, dtype=np.int32).reshape(truth.shape)
    room = int(truth.max()) - min(0, int(truth.min())) + 1

    def kernel(source_ref, target_ref):
        i, j = (jax.lax.broadcasted_iota(jnp.int32, source.shape, d) for d in (0, 1))
        target_ref[...] = jnp.zeros(room, jnp.int32).at[layout(i, j)].set(source_ref[...])

    found = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((room,), jnp.int32), interpret=True)(source)
    expected = np.zeros(room, np.int32)
    np.put(expected, truth, source)
    if np.unique(truth).size == truth.size:
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found != 0, expected != 0)


def test_a_pallas_kernel_copies_from_one_layout_to_another_element_by_element():
    """A row at a time, each from where it lies in TPU tiles to where it lies in fractals: the program's place
    is a tracer."""
    tiles, fractals = xla.lower("f32[16,256]{1,0:T(8,128)}"), parse("((_16,_1),(_8,_32)):((_8,_0),(_1,_128))")
    tiled = np.zeros(16 * 256, np.float32)
    tiled[offsets(tiles)] = matrix = np.arange(16 * 256, dtype=np.float32).reshape(16, 256)

    def kernel(tiled_ref, out_ref):
        i = pl.program_id(0)

        def one(j, _):
            out_ref[fractals(i, j)] = tiled_ref[tiles(i, j)]
            return _

        jax.lax.fori_loop(0, 256, one, 0)

    call = pl.pallas_call(kernel, grid=(16,), out_shape=jax.ShapeDtypeStruct(tiled.shape, tiled.dtype), interpret=True)
    np.testing.assert_array_equal(np.asarray(call(tiled))[offsets(fractals)], matrix)


def operations(layout, *dtypes):
    """The operations of layout(i, j) by name, those inside of calls too."""

    def names(jaxpr):
        for equation in jaxpr.eqns:
            inner = [p.jaxpr for p in equation.params.values() if hasattr(p, "jaxpr")]
            yield from itertools.chain(*map(names, inner)) if inner else [equation.primitive.name]

    arguments = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes or ("int32", "int32")]
    return sorted(names(jax.make_jaxpr(lambda *coord: layout(*coord))(*arguments).jaxpr))


def test_a_layout_is_itself_a_function_that_jax_takes():
    layout, swizzle = parse("((_16,_2),(_16,_4)):((_16,_1024),(_1,_256))"), parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")
    for function in (layout, swizzle):
        assert jax.jit(function)(5, 6) == function(5, 6)
        assert (jax.vmap(function)(jnp.arange(8), jnp.arange(8)) == jnp.array([function(k, k) for k in range(8)])).all()
    assert jax.jit(swizzle.outer)(9) == swizzle.outer(9) == 8


def test_few_operations():
    zN = layout_of("((_16,_2),(_16,_4)):((_16,_1024),(_1,_256))")
    assert operations(zN) == ["add"] * 3 + ["and"] * 2 + ["mul"] * 3 + ["shift_right_arithmetic"] * 2
    assert operations(zN, "uint32", "uint32") == ["add"] * 3 + ["and"] * 2 + ["mul"] * 3 + ["shift_right_logical"] * 2
    assert operations(parse("(_128,_64):(_1,_128)")) == ["add", "mul"]
    assert operations(parse("(_1,_64):(_7,_1)")) == ["add", "mul"]  # past its shape the first mode goes on
    assert operations(parse("((_4,_8),_2):((_2,_8),_64)")) == ["add", "mul", "mul"]  # its digits are one
    odd = operations(parse("((_3,_2),_4):((_1,_12),_3)"))
    assert (odd.count("div"), odd.count("rem")) == (1, 2)  # JAX's own //, which looks at the remainder, and %


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_shifts_and_masks_round_down_as_division_does(dtype):
    layout = parse("((_4,_2),_4):((_1,_16),_4)")
    info = jnp.iinfo(dtype)
    for x in (info.min, info.min + 5, -9, -1, 0, 3, 4, 7, 8, 31):
        if x >= info.min:
            reduced = jax.jit(lambda x: layout((x, 0)) - x // 4 * 16)(jnp.asarray(x, dtype))
            expected = (x % 4 + x // 4 * 16 - x // 4 * 16) % (info.max - info.min + 1)
            assert int(reduced) % (info.max - info.min + 1) == expected


def test_coordinates_of_a_dtype_that_wraps_are_refused():
    large = parse("(_65536,_65536):(_65536,_1)")
    with pytest.raises(RangeError, match=r"coordinates of int32 for .*, where integers from 0 to 4294967295 arise"):
        jax.jit(lambda i, j: large(i, j))(1, 2)
    with pytest.raises(RangeError, match="fix       convert them to a wider dtype, or take a tile"):
        large(jnp.int32(1), 2)
    with jax.enable_x64(True):
        assert large(jnp.int64(65535), 65535) == 2**32 - 1
        assert jax.jit(lambda i, j: large(i, j))(65535, 65535) == 2**32 - 1
    assert int(large(jnp.uint32(65535), jnp.uint32(65535))) == 2**32 - 1
    with pytest.raises(RangeError, match="int8"):
        parse("(16,16):(16,1)")(jnp.int8(1), jnp.int8(1))
    assert parse("(16,8):(8,1)")(jnp.int8(15), jnp.int8(7)) == 127
    with pytest.raises(RangeError, match=r"uint8 .* from -7 to 15 arise"):
        parse("(16,8):(1,-1)")(jnp.uint8(1), 0)
    for text in ("Sw<1,0,1> o -8 o (16):(1)", "Sw<1,0,1> o 8 o (16):(-1)", "Sw<1,0,1> o 250 o (16):(1)"):
        with pytest.raises(RangeError, match="uint8 for"):
            parse(text)(jnp.uint8(9))
    assert parse("Sw<1,0,1> o 8 o (16):(1)")(jnp.uint8(9)) == 17
    with pytest.raises(RangeError, match="int32 for Sw<2,0,-31>"):
        parse("Sw<2,0,-31> o _0 o (_8,_8):(_8,_1)")(jnp.int32(1), 3)
    assert parse("(16,8):(1,0)")(jnp.int8(1), 2**40) == 1  # what is no array has no dtype


#: Functions of a coordinate of int8, in which an integer past 127 arises.
WRAP_AT_INT8 = {
    "a layout after an offset": lambda x: parse("(_100):(_1) o _100 o (_4):(_40)")(x),
    "a swizzle after an offset": lambda x: parse("Sw<1,0,1> o _100 o (_4):(_40)")(x),
    "a coordinate": lambda x: parse("(_4):(_100@0)")(x).value,
    "coordinates that add up": lambda x: parse("(_2,_2):(_100@0,_100@0)")(x, x)[0],
    "a basis element": lambda x: (E[0] * 300 * x).value,
    "idx2crd": lambda x: tuple(idx2crd(x, (1000, 4))),
    "idx2crd by strides": lambda x: tuple(idx2crd(x, (4, 10), (1000, 1))),
    "crd2crd": lambda x: tuple(crd2crd(x, 400, (200, 2))),
    "get_flat_coord": lambda x: tuple(get_flat_coord(parse("(_2,_200):(_200,_1)"), x)),
    "elem_less": lambda x: elem_less((x,), (300,)),
    "elem_leq": lambda x: elem_leq((x,), (300,)),
}


@pytest.mark.parametrize("name", WRAP_AT_INT8)
def test_no_path_wraps(name):
    for call in (WRAP_AT_INT8[name], jax.jit(WRAP_AT_INT8[name])):
        with pytest.raises(RangeError, match="coordinates of int8 for"):
            call(jnp.array([1], jnp.int8))
        call(jnp.array([1], jnp.int32))


@pytest.mark.parametrize(
    "text",
    ["(_4,_1):(_1,_1099511627776)", "Sw<1,0,1> o 1099511627776 o (_4):(_4)", "(_1,1):(1099511627776,1099511627776)"],
)
def test_constants_that_no_dtype_holds_are_refused(text):
    with pytest.raises(RangeError, match="coordinates of int32 for"):
        parse(text)(jnp.array([3]))


def test_sizes_that_are_not_known_meet_no_array():
    with pytest.raises(LeafTypeError, match="give values to the sizes that are not known"):
        Layout((dim("M"), 2), (1, 4))(jnp.array([3]))


@pytest.mark.parametrize("value", [1.0, True, 1j])
def test_coordinates_that_are_no_integers_are_refused(value):
    with pytest.raises(LeafTypeError, match="an integer array"):
        parse("(4,8):(8,1)")(jnp.asarray(value), 1)
    with pytest.raises(LeafTypeError, match="coordinate array of bfloat16"):
        jax.jit(lambda i: parse("(4,8):(8,1)")(i))(jnp.zeros((), "bfloat16"))
    with pytest.raises(LeafTypeError, match="coordinate array of key<fry>"):
        parse("(4,8):(8,1)")(jax.random.key(0), 1)


# ------------------------------------------------------------------------------------------- layouts and shapes

DTYPES = """bool int2 int4 int8 int16 int32 uint2 uint4 uint8 uint16 uint32 bfloat16 float16 float32 complex64
float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
float4_e2m1fn""".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_what_the_compiled_program_calls_it(dtype):
    compiled = jax.jit(lambda x: x).lower(jax.ShapeDtypeStruct((3, 5), dtype)).compile()
    assert entry_shapes(compiled) == [str(a.shape) for a in tla_jax.arrays(compiled)]
    assert (
        entry_shapes(compiled)[0].partition("[")[0]
        == tla_jax.element_type(dtype)
        == tla_jax.element_type(jnp.dtype(dtype))
    )


def test_wide_dtypes():
    assert [tla_jax.element_type(d) for d in (np.float64, "int64", np.dtype("uint64"), "complex128")] == [
        "f64",
        "s64",
        "u64",
        "c128",
    ]
    assert [tla_jax.element_type(d) for d in (jnp.bool_, np.bool_, bool, jnp.bfloat16, "float6_e2m3fn")] == [
        "pred"
    ] * 3 + [
        "bf16",
        "f6e2m3fn",
    ]


@pytest.mark.parametrize(("target", "bits"), [("v2", 0), ("v3", 0), ("v4", 4), ("v5e", 4)])
def test_integers_of_four_bits_are_packed_where_xla_packs_them(target, bits):
    """As the compiled programs of each generation say: arrays of s4 have T(8,128)(4,1) on the first
    two, (8,1)E(4) later."""
    for dtype, width in (("int4", bits), ("int2", bits // 2)):
        shape = xla.default_layout(tla_jax.element_type(dtype), (300, 255), target)
        given = JaxLayout((0, 1), shape.layout.tiles)  # compiled.input_formats have no sub_byte_element_size_in_bits
        assert shape.layout.element_size_in_bits == width
        assert tla_jax.layout_of(given, dtype) == shape.layout


@pytest.mark.parametrize("dtype", ["int4", "int8", "float32", "bfloat16", "uint2", "float4_e2m1fn"])
@pytest.mark.parametrize("tiling", [None, (), ((8, 128),), ((8, 128), (2, 1)), ((-(2**63), 4),)])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_layout_is_what_jax_makes_of_it(dtype, tiling, order):
    given = JaxLayout(order, tiling)
    assert str(tla_jax.layout_of(given, dtype)) == str(given._to_xla_layout(jnp.dtype(dtype)))
    sharding = SingleDeviceSharding(jax.devices()[0])
    assert tla_jax.layout_of(Format(given, sharding), dtype) == tla_jax.layout_of(given, dtype)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2"])
@pytest.mark.parametrize("target", ["v2", "v3", "v4", "v5e", "tpu7x"])
def test_scalars_of_less_than_a_byte_are_packed_where_the_device_packs(dtype, target):
    """The tiles of a scalar are the same on all generations: only the device says that v2 and v3 give each
    element a byte."""
    kinds = {"v2": "TPU v2", "v3": "TPU v3", "v4": "TPU v4", "v5e": "TPU v5 lite", "tpu7x": "TPU7x"}
    for dims in ((), (7,), (8, 300)):
        shape = xla.default_layout(tla_jax.element_type(dtype), dims, target)
        given = JaxLayout(tuple(reversed(shape.layout.minor_to_major)), shape.layout.tiles)
        form = SimpleNamespace(
            layout=given, sharding=SimpleNamespace(device_set=[SimpleNamespace(device_kind=kinds[target])])
        )
        assert tla_jax.layout_of(form, dtype) == shape.layout


def test_the_layouts_of_tpu_programs_there_and_back():
    kept = refused = 0
    for line in (DATA / "hlo" / "shapes.txt").read_text().splitlines():
        shape = xla.parse_shape(line)
        if shape.layout is None:
            continue
        try:
            given = tla_jax.to_layout(shape)
        except LoweringError:
            assert "S(" in line or "SC(" in line or "L(" in line or "M(" in line
            refused += 1
            continue
        assert tla_jax.layout_of(given, "float32" if shape.bits >= 8 else "int4") == shape.layout
        kept += 1
    assert (kept, refused) == (419, 323)


def test_the_shape_of_arrays_tracers_and_structs():
    x = jnp.zeros((3, 5), jnp.bfloat16)
    assert str(tla_jax.shape_of(x)) == "bf16[3,5]{1,0}"
    assert str(tla_jax.shape_of(np.asarray(x))) == "bf16[3,5]"
    assert str(tla_jax.shape_of(jax.ShapeDtypeStruct((3,), jnp.int4))) == "s4[3]"
    assert str(tla_jax.shape_of(jax.random.split(jax.random.key(0), 4))) == "u32[4,2]"
    assert str(tla_jax.shape_of(x, JaxLayout((1, 0), ((2, 2),)))) == "bf16[3,5]{0,1:T(2,2)}"
    seen = []
    jax.jit(lambda x: seen.append(str(tla_jax.shape_of(x))) or x)(x)
    assert seen == ["bf16[3,5]"]


# ---------------------------------------------------------------------------------------------------- shardings


def meshes():
    devices = np.array(jax.devices("cpu")[:8])
    for dims, names in (
        ((8,), "a"),
        ((2, 4), "ab"),
        ((4, 2), "ab"),
        ((2, 2, 2), "abc"),
        ((1, 8), "ab"),
        ((2, 1, 4), "abc"),
    ):
        yield Mesh(devices.reshape(dims), tuple(names))
        yield Mesh(devices[[3, 1, 7, 5, 0, 6, 2, 4]].reshape(dims), tuple(names))


def specs(names, rank):
    """Every PartitionSpec of `rank` entries that uses each axis at most once, in every order."""
    for count in range(len(names) + 1):
        for used in itertools.permutations(names, count):
            for cuts in itertools.combinations_with_replacement(range(count + 1), rank):
                parts = [used[lo:hi] for lo, hi in itertools.pairwise((0, *cuts))]
                yield PartitionSpec(*(p if len(p) > 1 else p[0] if p else None for p in parts))


def bounds_of(index, dims):
    return tuple(s.indices(n)[:2] for s, n in zip(index, dims))


def test_every_named_sharding_has_the_slices_that_jax_says():
    checked = set()
    for mesh in meshes():
        for rank, dims in ((1, (16,)), (2, (16, 24)), (3, (8, 16, 32))):
            for spec in specs(mesh.axis_names, rank):
                sharding = NamedSharding(mesh, spec)
                ours = tla_jax.sharding_of(sharding, rank)
                expected = {d: bounds_of(index, dims) for d, index in sharding.devices_indices_map(dims).items()}
                assert {mesh.devices.flat[k]: b for k, b in ours.slices(dims, 8).items()} == expected, sharding
                checked.add((mesh, spec, rank))
                assert str(ours.tiled(rank)) == str(xla.parse_sharding(str(sharding._to_xla_hlo_sharding(rank))))
    assert len(checked) == 912


def test_other_shardings():
    device = jax.devices("cpu")[3]
    assert tla_jax.sharding_of(SingleDeviceSharding(device), 2).slices((3, 5), 1) == {0: ((0, 3), (0, 5))}
    mesh = Mesh(np.array(jax.devices("cpu")[:8]).reshape(2, 4), ("a", "b"))
    free = PartitionSpec.UNCONSTRAINED
    open_ = tla_jax.sharding_of(NamedSharding(mesh, PartitionSpec(free, "a")), 3)
    assert str(open_) == "{mesh['a'=2,'b'=4], [{?}, {'a'}, {}]}"
    abstract = AbstractMesh((2, 4), ("a", "b"), axis_types=(AxisType.Explicit, AxisType.Explicit))
    sums = tla_jax.sharding_of(NamedSharding(abstract, PartitionSpec("a", unreduced={"b"})), 1)
    assert str(sums) == "{mesh['a'=2,'b'=4], [{'a'}], unreduced={'b'}}"
    partly = AbstractMesh((2, 4), ("a", "b"), axis_types=(AxisType.Auto, AxisType.Manual))
    for sharding in (
        NamedSharding(abstract, PartitionSpec("a", unreduced={"b"})),
        NamedSharding(partly, PartitionSpec("a")),
    ):
        assert str(tla_jax.sharding_of(sharding, 1).tiled()) == str(sharding._to_xla_hlo_sharding(1))
    one = Mesh(np.array([device]), ("a",))
    assert tla_jax.sharding_of(NamedSharding(one, PartitionSpec("a")), 1).slices((5,), 1) == {0: ((0, 5),)}


# ----------------------------------------------------------------------------------------------------- programs


def entry_shapes(compiled):
    """The shapes in entry_computation_layout, those of a tuple of results one by one."""
    line = compiled.as_text().partition("\n")[0]
    text = line.partition("entry_computation_layout={")[2]
    arguments, _, rest = text.partition("->")
    results = rest[: next(k for k in range(len(rest)) if rest[:k].count("{") < rest[:k].count("}")) - 1]
    found = [xla.parse_shape(arguments), xla.parse_shape(results)]
    return [str(leaf) for shape in found for leaf in (shape.elements if hasattr(shape, "elements") else [shape])]


def programs():
    mesh = Mesh(np.array(jax.devices("cpu")[:8]).reshape(2, 4), ("a", "b"))
    x = jax.ShapeDtypeStruct((8, 16), jnp.float32)
    cut = jax.device_put(jnp.ones((8, 16)), NamedSharding(mesh, PartitionSpec("a", "b")))
    keys = jax.device_put(jax.random.split(jax.random.key(0), 8), NamedSharding(mesh, PartitionSpec("b")))
    yield jax.jit(lambda x: x.T @ x), (x,), {}
    yield (
        jax.jit(lambda x, unused, *, y: {"a": x @ y["w"], "b": (y["i"] + 1, 3)}),
        (x, x),
        {"y": {"w": x.update(shape=(16, 3)), "i": jnp.zeros(5, jnp.int4)}},
    )
    yield jax.jit(lambda x: (x.T @ x, x.sum())), (cut,), {}
    yield jax.jit(lambda x: x * 2, out_shardings=NamedSharding(mesh, PartitionSpec(None, ("b", "a")))), (cut,), {}
    yield jax.jit(lambda keys: (jax.vmap(lambda key: jax.random.normal(key, (3,)))(keys), keys)), (keys,), {}
    yield jax.jit(lambda key: jax.random.split(key)), (jax.random.key(0),), {}
    yield jax.jit(lambda x: jax.lax.scan(lambda c, y: (c * y + 1, c), x[0], x)), (x,), {}
    yield (
        jax.jit(lambda x: (jnp.sort(x, 0), jnp.argsort(x), jax.lax.top_k(x, 3), jnp.cumsum(x, 0), jnp.pad(x, 1))),
        (x,),
        {},
    )
    yield jax.jit(lambda x, at: (x.at[at].add(1.0), x[at], x[:0], None)), (x, jax.ShapeDtypeStruct((3,), jnp.int32)), {}
    yield (
        jax.jit(lambda x: jax.lax.cond(x[0, 0] > 0, lambda x: x @ x.T, lambda x: jnp.linalg.qr(x)[0][:, :8], x)),
        (x,),
        {},
    )
    images, kernels = jax.ShapeDtypeStruct((2, 16, 16, 3), jnp.float32), jax.ShapeDtypeStruct((3, 3, 3, 8), jnp.float32)
    convolved = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    yield jax.jit(lambda x, w: jax.lax.conv_general_dilated(x, w, **convolved)), (images, kernels), {}
    gathered = jax.shard_map(
        lambda x: jax.lax.all_gather(x, "b"),
        mesh=mesh,
        in_specs=PartitionSpec("a", "b"),
        out_specs=PartitionSpec("a", "b"),
    )
    yield jax.jit(gathered), (x,), {}
    yield (
        jax.jit(
            lambda x: x + 1,
            in_shardings=Format(tla_jax.to_layout("f32[8,16]{0,1}"), SingleDeviceSharding(mesh.devices.flat[0])),
        ),
        (x,),
        {},
    )


def test_the_arrays_of_a_program_are_those_of_its_entry():
    names = []
    for f, args, kwargs in programs():
        compiled = f.lower(*args, **kwargs).compile()
        found = tla_jax.arrays(compiled)
        assert [str(a.shape) for a in found] == entry_shapes(compiled)
        for a in found:
            held = a.sharding.slices(a.dimensions, 8)
            assert {tuple(hi - lo for lo, hi in bounds) for bounds in held.values()} == {a.shape.dimensions}
        names.append([a.name for a in found])
    assert names[1] == [
        "args[0]",
        "kwargs['y']['i']",
        "kwargs['y']['w']",
        "result['a']",
        "result['b'][0]",
        "result['b'][1]",
    ]


def test_the_instructions_of_a_program():
    for f, args, kwargs in programs():
        compiled = f.lower(*args, **kwargs).compile()
        lines = compiled.as_text().split("\n")
        found = list(tla_jax.instructions(compiled))
        assert [line for line in lines if line.startswith("  ")] == [str(x.instruction) for x in found]
        assert sum(t.count for t in xla.totals(found, "operation", interiors=True)) >= len(found)
        assert sum(t.count for t in xla.totals(found, "operation")) <= len(found)


@pytest.mark.parametrize("print_of", ["canonical", "fingerprint", "short_parsable"])
def test_every_print_of_xla_is_read(print_of):
    hlo = pytest.importorskip("jaxlib._hlo")
    step = jax.jit(lambda x: jax.lax.while_loop(lambda v: v.sum() < 9, lambda v: jax.nn.softmax(v) + v, x))
    module = step.lower(jax.ShapeDtypeStruct((3, 5), "float32")).compile().runtime_executable().hlo_modules()[0]
    text = module.to_string(getattr(hlo.HloPrintOptions, print_of)())
    found = [*xla.read_hlo(io.StringIO(text))]
    lines = text.split("\n")
    assert len(found) == sum(" = " in line for line in lines)
    assert all("\n".join(lines[x.line - 1 :]).startswith(str(x.instruction)) for x in found)
    assert any("/" in x.computation for x in found) == (print_of != "short_parsable")


def test_what_is_refused():
    x = jnp.ones((3, 5))
    lowered = jax.jit(lambda x: x).lower(x)
    for ask, error, text in (
        (
            lambda: tla_jax.arrays(lowered),
            LeafTypeError,
            r"the arrays of a Lowered\n.*\n  fix       write jax.jit\(f\).lower",
        ),
        (lambda: tla_jax.instructions(lowered), LeafTypeError, "the instructions of a Lowered"),
        (lambda: tla_jax.layout_of(JaxLayout.AUTO, "int8"), LeafTypeError, "the layout A"),
        (lambda: tla_jax.layout_of(Format(None, x.sharding), "int8"), LeafTypeError, "the layout None"),
        (lambda: tla_jax.element_type(np.dtype("datetime64[s]")), LeafTypeError, "the dtype datetime64"),
        (lambda: tla_jax.element_type(jax.dtypes.float0), LeafTypeError, "the dtype"),
        (lambda: tla_jax.element_type(3), LeafTypeError, "the dtype 3"),
        (lambda: tla_jax.shape_of(3), LeafTypeError, "the shape of a int"),
        (lambda: tla_jax.shape_of(SimpleNamespace(shape=(3,))), LeafTypeError, "the shape of a SimpleNamespace"),
        (lambda: tla_jax.shape_of(SimpleNamespace(dtype=jnp.int8)), LeafTypeError, "the shape of a SimpleNamespace"),
        (lambda: tla_jax.sharding_of("{replicated}", 1), LeafTypeError, "a sharding of type str"),
        (
            lambda: tla_jax.sharding_of(NamedSharding(next(meshes()), PartitionSpec(None, "a")), 1),
            RankError,
            "an array of 1 dimensions",
        ),
        (lambda: tla_jax.to_layout("f32[8]{0:T(128)S(1)}"), LoweringError, "memory_kind"),
        (lambda: tla_jax.to_layout("f32[8]{0:T(8)L(1024)}"), LoweringError, "order, tiles and E"),
    ):
        with pytest.raises(error, match=text):
            ask()


# ------------------------------------------------------------------------------------- dumps printed with other options

PROGRAMS = {
    "dot": lambda x: jnp.sum(jnp.dot(x, x.T) + 1, axis=0),
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, a: a * 2 + i, x),
    "cond": lambda x: jax.lax.cond(x[0, 0] > 0, lambda a: a + 1, lambda a: a * 2, x),
    "sort": lambda x: jnp.sort(x, axis=1),
    "constants": lambda x: x + jnp.arange(16.0) * jnp.array([[1.5], [2.5]] * 4),
    "casts": lambda x: (x.astype(jnp.bfloat16).reshape(16, 8), jnp.argmax(x, 1)),
}
OPTIONS = [
    {"print_metadata": False},
    {"print_backend_config": False, "print_control_dependencies": False},
    {"print_operand_shape": True},
    {"print_percent": False},
    {"print_percent": False, "print_operand_shape": True, "print_metadata": False},
    {"print_large_constants": True},
    {"compact_operands": True},
    {"print_extra_attributes": False},
    {"indent_amount": 4},
]


def test_dumps_printed_with_other_options_read_the_same():
    """54 of them: names, shapes, operations, computations are those of the lines as they are printed by default."""
    hlo = pytest.importorskip("jaxlib._hlo")

    def read(module, options):
        text = module.to_string(options)
        return [
            (x.instruction.name, str(x.instruction.shape), x.instruction.opcode, x.computation)
            for x in xla.read_hlo(io.StringIO(text))
        ]

    for name, f in PROGRAMS.items():
        (module,) = jax.jit(f).lower(jnp.ones((8, 16))).compile().runtime_executable().hlo_modules()
        default = read(module, hlo.HloPrintOptions())
        assert len(default) > 3
        for changed in OPTIONS:
            options = hlo.HloPrintOptions()
            for option, value in changed.items():
                setattr(options, option, value)
            assert read(module, options) == default, (name, changed)


# ------------------------------------------------------------------------- memory of arrays, tiles as programs


NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4")


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_arrays_of_jax_are_buffers(dtype):
    array = jnp.arange(12).reshape(3, 4).astype(dtype)
    source = MakeTensor(array, parse("(3,4):(4,1)"))
    assert source.dtype == array.dtype
    assert float(source[1, 2]) == 6
    target = np.zeros(12, array.dtype)
    copy(source, MakeTensor(target, parse("(3,4):(1,3)")))
    assert (target.reshape(4, 3).T == np.asarray(array)).all()
    with pytest.raises(LeafTypeError):
        source[0, 0] = 1


#: The types of arrays, by XLA's names.
DTYPES = {
    "f32": np.float32,
    "bf16": jnp.bfloat16,
    "f16": np.float16,
    "f8e4m3fn": jnp.float8_e4m3fn,
    "s4": jnp.int4,
    "u8": np.uint8,
}
DTYPES |= {"s32": np.int32, "s64": np.int64}


@pytest.mark.parametrize(
    "text",
    ["f32[3,5]{1,0:T(2,2)}", "f32[100,300]{0,1:T(8,128)}", "bf16[9,130]{1,0:T(8,128)(2,1)}", "f32[7]{0:T(8,128)}", "f32[]{:T(128)}", "f32[0,3]{1,0:T(8,128)}",
     "f32[2,7,8,3,5]{4,3,2,1,0:T(*,*,2,*,3)}", "s32[40]{0:T(16)L(64)}", "f32[6,10]{1,0:T(3,5)(2,2)}", "f32[2,3,4]{0,2,1}"],
)  # fmt: skip
def test_tiled_layouts_are_packed_and_unpacked_by_programs(text):
    shape = xla.parse_shape(text)
    array = np.arange(xla.element_count(shape)).reshape(shape.dimensions).astype(DTYPES[shape.element_type])
    packed = jax.jit(lambda x: tla_jax.pack(x, shape, -1))(jnp.asarray(array))
    assert packed.tolist() == [*xla.strip(shape, array.ravel().tolist(), -1)]
    assert (tla_jax.pack(array, shape, -1) == packed).all()
    assert (jax.jit(lambda x: tla_jax.unpack(x, shape))(packed) == array).all()
    assert (tla_jax.unpack(np.asarray(packed), shape) == array).all()
    with pytest.raises(RankError):
        tla_jax.pack(np.zeros((2, 2, 2, 2)), shape)
    with pytest.raises(RankError):
        tla_jax.unpack(np.zeros(7), shape)


@pytest.mark.parametrize(("text", "padding", "holds"), [
    ("u8", 300, False), ("u8", -1, False), ("u8", 255, True), ("s4", 9, False), ("s4", -8, True), ("f16", 1e9, False), ("f16", 65504, True),
    ("f16", float("inf"), True), ("f8e4m3fn", float("inf"), False), ("f8e4m3fn", 448, True), ("f8e4m3fn", float("nan"), True),
    ("s32", 2**31, False), ("bf16", 3e38, True), ("bf16", 1e39, False), ("f32", 1e39, False), ("s64", 2**63, False),
])  # fmt: skip
def test_padding_that_elements_do_not_hold(text, padding, holds):
    """Padding is an element: it is stored as any other, by numpy, by JAX and in a program."""
    shape = f"{text}[2,3]{{1,0:T(2,2)}}"
    array = np.ones((2, 3), DTYPES[text])
    calls = [lambda: tla_jax.pack(array, shape, padding)]
    if text != "s64":  # which JAX has only with x64
        calls += [
            lambda: tla_jax.pack(jnp.asarray(array), shape, padding),
            lambda: jax.jit(lambda x: tla_jax.pack(x, shape, padding))(array),
        ]
    for call in calls:
        if holds:
            found = np.asarray(call()).astype(np.float64)
            assert (
                sorted(set(found.tolist()), key=str)
                == sorted({1.0, float(np.array(padding, np.float64).astype(DTYPES[text]))}, key=str)
                or padding != padding
            )
        else:
            with pytest.raises(RangeError, match=r"^padding: .* as "):
                call()


def test_what_is_no_element_of_an_array():
    """A number of another kind as padding; an array of other elements than the shape's, packed and unpacked."""
    ones = np.ones((2, 3), np.uint8)
    for padding in (1.5, float("nan"), 1j):
        with pytest.raises(LeafTypeError, match=r"elements of (float64|complex128) into uint8"):
            tla_jax.pack(ones, "u8[2,3]{1,0:T(2,2)}", padding)
    with pytest.raises(LeafTypeError, match="a tracer of float32"):
        jax.jit(lambda p: tla_jax.pack(jnp.asarray(ones), "u8[2,3]{1,0:T(2,2)}", p))(1.5)
    assert jax.jit(lambda p: tla_jax.pack(jnp.asarray(ones), "u8[2,3]{1,0:T(2,2)}", p))(jnp.uint8(7)).max() == 7
    for array, text in (
        (ones, "f32"),
        (ones, "s8"),
        (np.ones((2, 3), np.float32), "u8"),
        (np.ones((2, 3), bool), "u8"),
    ):
        with pytest.raises(LeafTypeError, match=f"elements of {array.dtype}, which are .*, as {text}") as refused:
            tla_jax.pack(array, f"{text}[2,3]{{1,0:T(2,2)}}")
        given = refused.value.reason.fix.split()[-4]  # the other fix: its own type in the shape
        assert tla_jax.pack(array, f"{given}[2,3]{{1,0:T(2,2)}}").dtype == array.dtype
        with pytest.raises(LeafTypeError, match="convert them first"):
            tla_jax.unpack(np.ones(8, array.dtype), f"{text}[2,3]{{1,0:T(2,2)}}")


def test_tensors_go_out_by_dlpack():
    buffer = np.arange(12, dtype="float32")
    tensor = MakeTensor(buffer, parse("(3,4):(1,3)"))
    assert np.shares_memory(np.from_dlpack(tensor), buffer)
    assert (jnp.from_dlpack(tensor) == tensor.numpy()).all()
    for bad in (MakeTensor(np.zeros(4, jnp.bfloat16), parse("(4):(1)")), MakeTensor(None, parse("(4):(1)"))):
        with pytest.raises(LeafTypeError):
            np.from_dlpack(bad)


def test_indices_under_tracers():
    text = "bf16[100,300]{1,0:T(8,128)(2,1)}"
    i, j = jnp.arange(100)[:, None], jnp.arange(300)
    found = jax.jit(lambda i, j: xla.linear_index(text, (i, j)))(i, j)
    assert (np.asarray(found) == offsets(xla.lower(text))[:100, :300]).all()
    back = jax.jit(lambda k: xla.multi_index(text, k))(found)
    assert (back[0] == i).all()
    assert (back[1] == j).all()
    padding = jax.jit(lambda k: xla.multi_index(text, k))(jnp.int32(xla.padded_element_count(text) - 1))
    assert [int(x) for x in padding] == [-1, -1]
    with pytest.raises(RangeError, match="int16"):
        xla.linear_index(text, (jnp.int16(3), 2))
    with pytest.raises(LeafTypeError):
        xla.linear_index(text, (jnp.float32(3), 2))


def test_structs_and_dtypes_are_taken_where_shapes_and_types_are():
    struct = jax.ShapeDtypeStruct((3, 5), "bfloat16")
    assert xla.byte_size(struct) == 30
    assert str(xla.lower(struct)) == "(_3,_5):(_5,_1)"
    assert xla.true_rank(jnp.zeros((3, 1, 5))) == 2
    assert jax.jit(lambda x: xla.element_count(x) * x.sum())(jnp.ones((3, 5))) == 225
    assert xla.default_layout(jnp.bfloat16, (8, 300)) == xla.default_layout("bf16", (8, 300))
    assert xla.default_layout(np.dtype("int8"), (64, 300)) == xla.default_layout("s8", (64, 300))
    assert xla.block(jnp.float8_e4m3fn, (512, 512), (32, 128)).element_type == "f8e4m3fn"
    assert xla.padding_value("LOWEST_PAD", np.int16) == -(2**15)
    for bad in (np.dtype("U3"), object):
        with pytest.raises(LeafTypeError):
            xla.default_layout(bad, (8, 300))


def test_kinds_of_memory_are_kept():
    sharding = NamedSharding(AbstractMesh((2,), ("a",)), PartitionSpec("a"))
    form = tla_jax.to_format("f32[16,128]{1,0:T(8,128)S(5)}", sharding)
    assert form.sharding.memory_kind == "pinned_host"
    back = tla_jax.shape_of(jax.ShapeDtypeStruct((16, 128), "float32"), form)
    assert str(back) == "f32[16,128]{1,0:T(8,128)S(5)}"
    with pytest.raises(LoweringError, match="Format"):
        tla_jax.to_format("f32[16,128]{1,0:T(8,128)S(1)}", sharding)
    with pytest.raises(LeafTypeError):
        tla_jax.to_format("f32[16,128]{1,0:T(8,128)}", None)


def test_bytes_on_a_device_in_one_call():
    mesh = AbstractMesh((2, 4), ("a", "b"))
    struct = jax.ShapeDtypeStruct((1024, 512), "bfloat16", sharding=NamedSharding(mesh, PartitionSpec("a", "b")))
    found = tla_jax.bytes_per_device({"w": struct, "b": [jax.ShapeDtypeStruct((3,), "float32")]})
    assert found.arrays == {"['w']": 512 * 128 * 2, "['b'][0]": 512}
    assert found.total == sum(found.arrays.values())
    compiled = jax.jit(lambda x: x.T).lower(jax.ShapeDtypeStruct((3, 5), "float32")).compile()
    assert tla_jax.bytes_per_device(compiled) == (120, {"args[0]": 60, "result": 60})
    with pytest.raises(LeafTypeError):
        tla_jax.bytes_per_device({"w": "text"})
