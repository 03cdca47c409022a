"""JAX's values as XLA's: layouts, formats, arrays and shardings, and the arrays and instructions of a compiled program.

`import tla` does not load this module, and it loads JAX where a function needs more of it than its arguments bring
along: `from tla.xla import jax as tla_jax`. JAX comes with `pip install 'tla-layouts[jax]'`.

Source: JAX jax/_src/layout.py, named_sharding.py and stages.py for the meaning; the code is ours.
"""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..core.arrays import INT64_MIN, dtype_of, seen
from ..core.errors import LeafTypeError, LoweringError, RankError
from ..core.ints import known
from ..core.on_demand import jax_module
from ..core.values import converted
from .programs.program import Located, read_hlo
from .shapes.array_shape import BITS, COMBINE, ArrayLayout, ArrayShape, cover, groups, tiled
from .shapes.default import default_layout
from .shapes.foreign import element_type
from .shapes.grammar import as_shape
from .shapes.index import logical_dimensions, physical_dimensions, refuse_pieces
from .shapes.sizes import byte_size
from .shapes.values import Shape
from .shardings.mesh import Axis, DimSharding, Mesh, MeshSharding
from .shardings.sharding import AnySharding
from .shardings.sharding_text import parse_sharding

__all__ = [
    "DeviceBytes",
    "ProgramArray",
    "arrays",
    "bytes_per_device",
    "element_type",
    "instructions",
    "layout_of",
    "pack",
    "shape_of",
    "sharding_of",
    "to_format",
    "to_layout",
    "unpack",
]


class ProgramArray(NamedTuple):
    """An argument or a result of a compiled program.

    name         where it stands in the call: args[0]['w'], kwargs['x'], result[1]
    dimensions   of the whole array [elements]
    shape        what one device holds of it, with its layout
    sharding     which part each device holds; devices are numbered as the program's mesh lists them
    """

    name: str
    dimensions: tuple[int, ...]
    shape: ArrayShape
    sharding: AnySharding


#: The last tile of arrays whose elements have a byte each: four lie in a word of 32 bits.
_BYTES_IN_WORDS = (4, 1)
#: Devices that pack nothing of less than a byte, by JAX's device_kind: their scalars have the tiles of later ones.
_UNPACKED = frozenset({"TPU v2", "TPU v3"})


def layout_of(layout: Any, dtype: Any) -> ArrayLayout:
    """The XLA layout that a Layout of jax.experimental.layout stands for; that of a Format's.

    dtype    of the array: an integer of less than a byte is packed where the Layout has tiles, even an empty tuple of
             them, unless its last tile puts 4 in 32 bits, or the Format's sharding is of TPU v2 or v3: each has
             a byte there
    Raises   LeafTypeError for a Format without a Layout, or with Layout.AUTO: the compiler is to choose

    >>> from types import SimpleNamespace
    >>> given = SimpleNamespace(major_to_minor=(0, 1), tiling=((8, 128), (2, 1)), sub_byte_element_size_in_bits=0)
    >>> print(layout_of(given, "bfloat16"))
    {1,0:T(8,128)(2,1)}

    The memory space is not in it: in JAX that is the memory_kind of the sharding; shape_of has it. Source: JAX
    `Layout._to_xla_layout`.
    """
    given = layout.layout if hasattr(layout, "layout") else layout
    if not hasattr(given, "major_to_minor"):
        what = f"the layout {given!r:.60}"
        raise LeafTypeError(what, "a jax.experimental.layout.Layout", "take one of compiled.input_formats")
    tiling, bits, name = given.tiling, given.sub_byte_element_size_in_bits, element_type(dtype)
    is_narrow = BITS[name] < 8 and name[0] in "su" and not bits
    if is_narrow and tiling is not None and tuple(tiling[-1:]) != (_BYTES_IN_WORDS,):
        bits = 0 if _kind_of_device(getattr(layout, "sharding", None)) in _UNPACKED else BITS[name]
    tiles = tuple(tuple(COMBINE if t == INT64_MIN else t for t in tile) for tile in tiling or ())
    return ArrayLayout(tuple(reversed(given.major_to_minor)), tiles, element_size_in_bits=bits)


def _kind_of_device(sharding: Any) -> str:
    """JAX's device_kind of a sharding's devices; empty where it has none."""
    return next((str(device.device_kind) for device in getattr(sharding, "device_set", ())), "")


def to_layout(shape: Shape | str) -> Any:
    """The jax.experimental.layout.Layout of an XLA array: for Format(to_layout(shape), sharding) as
    in_shardings of jax.jit.

    Raises   LoweringError for a layout with more than order, tiles and element size, which is all that JAX's has

    >>> to_layout("bf16[16,256]{1,0:T(8,128)(2,1)}")
    Layout(major_to_minor=(0, 1), tiling=((8, 128), (2, 1)), sub_byte_element_size_in_bits=0)

    Law: layout_of(to_layout(shape), dtype) is the layout of shape. Source: JAX `Layout.from_pjrt_layout`.
    """
    shape = as_shape(shape)
    layout = shape.effective_layout
    kept = ArrayLayout(layout.minor_to_major, layout.tiles, element_size_in_bits=layout.element_size_in_bits)
    if layout != kept:
        fix = "leave out the rest; S(n) is the memory_kind of a JAX sharding"
        raise LoweringError(f"{shape} as a Layout of JAX", "order, tiles and E(n) only", fix)
    tiling = tuple(tuple(INT64_MIN if t == COMBINE else t for t in tile) for tile in layout.tiles)
    order = tuple(reversed(layout.minor_to_major))
    return jax_module("jax.experimental.layout").Layout(order, tiling, layout.element_size_in_bits)


def shape_of(array: Any, layout: object = None) -> ArrayShape:
    """The XLA shape of an array of JAX or numpy, a tracer, or a ShapeDtypeStruct: of the whole array, over all devices.

    layout   a Layout or Format; without it that of the array, if it has one. An array of keys is what
             jax.random.key_data gives
    Raises   LeafTypeError for what has no shape and dtype, or a dtype that XLA does not have

    >>> import numpy
    >>> print(shape_of(numpy.zeros((3, 5), "int16")))
    s16[3,5]

    Source: JAX `jax.Array.format`.
    """
    dims, dtype = _physical(array)
    if layout is None:  # a struct and a tracer have no format, or one without a layout
        layout = getattr(getattr(array, "format", None), "layout", None)
    if layout is None:
        return ArrayShape(element_type(dtype), dims)
    space = _space(getattr(layout, "sharding", None) or getattr(array, "sharding", None))
    return ArrayShape(element_type(dtype), dims, layout_of(layout, dtype)._replace(memory_space=space))


#: JAX's kinds of memory that are another space than the device's own, by the number n of S(n). All that a CPU has is
#: unpinned_host.
MEMORY_KINDS = {"pinned_host": 5}


def _space(sharding: Any) -> int:
    """The number n of S(n) for the memory_kind of a sharding."""
    return MEMORY_KINDS.get(getattr(sharding, "memory_kind", None) or "", 0)


def to_format(shape: Shape | str, sharding: Any) -> Any:
    """The jax.experimental.layout.Format of an XLA array: its Layout, and the sharding in the memory that S(n) is.

    sharding   a jax.sharding.Sharding; of S(5) it gets the memory_kind pinned_host
    Raises     LoweringError for a memory space that JAX has no kind for, and what to_layout raises

    >>> from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
    >>> sharding = NamedSharding(AbstractMesh((2,), ("a",)), PartitionSpec("a"))
    >>> to_format("f32[16,128]{1,0:T(8,128)S(5)}", sharding).sharding.memory_kind
    'pinned_host'

    Source: JAX `Format`, `Sharding.with_memory_kind`.
    """
    shape = as_shape(shape)
    layout = shape.effective_layout
    kinds = {0: None, **{space: kind for kind, space in MEMORY_KINDS.items()}}
    if layout.memory_space not in kinds:
        what = f"{shape} as a Format of JAX"
        raise LoweringError(what, "S(0), the device's memory, or S(5), the host's", "leave S(n) out")
    if not hasattr(sharding, "with_memory_kind"):
        what = f"a sharding of type {type(sharding).__name__}"
        raise LeafTypeError(what, "a jax.sharding.Sharding", "take array.sharding")
    kind = kinds[layout.memory_space]
    plain = ArrayShape(shape.element_type, shape.dimensions, layout._replace(memory_space=0), shape.dynamic)
    placed = sharding if kind is None else sharding.with_memory_kind(kind)
    return jax_module("jax.experimental.layout").Format(to_layout(plain), placed)


class DeviceBytes(NamedTuple):
    """The bytes that arrays take on one device, padding included.

    total     of all arrays
    arrays    of each, by its name in the tree

    >>> print(DeviceBytes(1024, {"['w']": 1024}).total)
    1024
    """

    total: int
    arrays: dict[str, int]


def bytes_per_device(tree: Any, target: str = "v5e") -> DeviceBytes:
    """The bytes of a tree's arrays on the device that holds most of them: by their shardings, in the layouts that
    a TPU gives them.

    tree     arrays, ShapeDtypeStructs with or without a sharding, dicts, lists ...; or a compiled program: its
             arguments and results
    target   the TPU whose default layouts they have: v2 v3 v4 v5e v5p v6e tpu7x; an array of a compiled program
             has its own

    >>> import jax
    >>> found = bytes_per_device({"w": jax.ShapeDtypeStruct((1000, 3), "float32"), "b": jax.ShapeDtypeStruct((3,), "float32")})
    >>> found.total, found.arrays["['w']"]
    (16896, 16384)

    Raises LeafTypeError for what is no array. Source: default_layout; JAX `Sharding.shard_shape`.
    """
    if hasattr(tree, "output_formats"):
        sizes = {a.name: byte_size(a.shape) for a in arrays(tree)}
    else:
        leaves = jax_module("jax.tree_util").tree_flatten_with_path(tree)[0]
        sizes = {jax_module("jax.tree_util").keystr(path): byte_size(_local(leaf, target)) for path, leaf in leaves}
    return DeviceBytes(sum(sizes.values()), sizes)


def _local(array: Any, target: str) -> ArrayShape:
    """The part of an array that one device holds, in a TPU's default layout."""
    dims, dtype = _physical(array)
    sharding = getattr(array, "sharding", None)
    local = dims if sharding is None else (*sharding.shard_shape(tuple(array.shape)), *dims[len(array.shape) :])
    return default_layout(element_type(dtype), local, target)


def pack(array: Any, shape: Shape | str, padding: Any = 0) -> Any:
    """The memory of an XLA array: its elements in the order of their offsets, padding included; a program of
    JAX under jit.

    array     of JAX or numpy, or a tracer, of the dimensions and the element type of `shape`
    shape     with its layout: order of the dimensions and tiles
    padding   what stands in the slots that hold no element, a number that its type holds
    Returns   an array of one dimension: element k is that at offset k
    Raises    RankError where the dimensions differ; LeafTypeError for other elements, RangeError for padding that these
              do not hold; LoweringError for pieces (SC) or dimensions without a bound

    >>> import numpy
    >>> print(*pack(numpy.arange(6).reshape(2, 3), "s64[2,3]{1,0:T(2,2)}", -1))
    0 1 3 4 2 -1 5 -1

    Law: pack(array, shape)[linear_index(shape, index)] == array[index]. Source: XLA docs/tiled_layout.md.
    """
    shape = _packed(shape)
    dims = tuple(n for n in shape.dimensions if n is not None)
    if tuple(getattr(array, "shape", ())) != dims:
        what = f"an array of {getattr(array, 'shape', type(array).__name__)} as {shape}"
        raise RankError(what, f"the dimensions {dims}", "reshape it")
    _require_elements(array, shape)
    padding = _fitting(padding, array.dtype)
    layout, xp = shape.effective_layout, _namespace(array)
    x = xp.transpose(xp.asarray(array), tuple(reversed(layout.minor_to_major)))
    for tile in layout.tiles:
        left, sizes = cover(x.shape, tile)
        merged = [*groups(sizes[left:], tile)]
        x = x.reshape((*sizes[:left], *(math.prod(group) for group, _t in merged)))
        widths = [(0, 0)] * left + [(0, -n % t) for n, (_g, t) in zip(x.shape[left:], merged)]
        x = xp.pad(x, widths, constant_values=padding)
        x = x.reshape((*x.shape[:left], *(k for n, (_g, t) in zip(x.shape[left:], merged) for k in (n // t, t))))
        pairs = range(len(merged))
        x = xp.transpose(x, (*range(left), *(left + 2 * k for k in pairs), *(left + 2 * k + 1 for k in pairs)))
    flat = x.reshape((-1,))
    return xp.pad(flat, [(0, -flat.shape[0] % layout.tail_padding_alignment_in_elements)], constant_values=padding)


def unpack(memory: Any, shape: Shape | str) -> Any:
    """The array whose memory is given, padding dropped: pack undone; a program of JAX under jit.

    memory   an array of one dimension, as pack gives it
    Raises   RankError for another size, and what pack raises of the elements

    >>> import numpy
    >>> print(unpack(numpy.array([0, 1, 3, 4, 2, -1, 5, -1]), "s64[2,3]{1,0:T(2,2)}").tolist())
    [[0, 1, 2], [3, 4, 5]]

    Law: unpack(pack(array, shape), shape) == array. Source: XLA docs/tiled_layout.md.
    """
    shape = _packed(shape)
    layout, xp = shape.effective_layout, _namespace(memory)
    levels = [physical_dimensions(shape)]
    for tile in layout.tiles:
        levels.append(tiled(levels[-1], tile))
    count, unit = math.prod(levels[-1]), layout.tail_padding_alignment_in_elements
    if tuple(getattr(memory, "shape", ())) != (-(-count // unit) * unit,):
        given = getattr(memory, "shape", type(memory).__name__)
        what = f"memory of {given} for {shape}"
        raise RankError(what, f"one dimension of {-(-count // unit) * unit}", "pack gives it")
    _require_elements(memory, shape)
    x = xp.asarray(memory)[:count].reshape(levels[-1])
    for sizes, tile in reversed([*zip(levels, layout.tiles)]):
        left, covered = cover(sizes, tile)
        merged = [*groups(covered[left:], tile)]
        n = len(merged)
        x = xp.transpose(x, (*range(left), *(left + k + half for k in range(n) for half in (0, n))))
        x = x.reshape((*covered[:left], *(x.shape[left + 2 * k] * t for k, (_g, t) in enumerate(merged))))
        x = x[(slice(None),) * left + tuple(slice(math.prod(group)) for group, _t in merged)].reshape(sizes)
    order = tuple(reversed(layout.minor_to_major))
    return xp.transpose(x, tuple(order.index(d) for d in range(len(order))))


def _require_elements(array: Any, shape: ArrayShape) -> None:
    """LeafTypeError for an array of other elements than an XLA array's."""
    given = element_type(array.dtype)
    if given != shape.element_type:
        what = f"elements of {array.dtype}, which are {given}, as {shape}"
        raise LeafTypeError(what, shape.element_type, f"convert them first, or write {given} in the shape")


def _fitting(padding: Any, dtype: Any) -> Any:
    """The number in padding as an element of a type; of a tracer only the type can be seen."""
    import numpy as np

    if not dtype_of(padding) or seen(padding) is not None:
        return converted("padding", np.asarray(padding), np.dtype(dtype))
    if padding.dtype != dtype:
        what = f"padding that is a tracer of {padding.dtype}"
        raise LeafTypeError(what, str(dtype), f"write padding.astype({str(dtype)!r})")
    return padding


def _packed(shape: Shape | str) -> ArrayShape:
    shape = as_shape(shape)
    refuse_pieces(shape)
    if any(known(n) is None for n in logical_dimensions(shape)):
        raise LoweringError(f"{shape} to pack", "known sizes", "give its dimensions numbers")
    return shape


def _namespace(array: Any) -> Any:
    """The functions for an array: numpy's or JAX's."""
    return importlib.import_module("numpy") if type(array).__module__ == "numpy" else jax_module("jax.numpy")


def sharding_of(sharding: Any, rank: int) -> AnySharding:
    """The sharding of XLA that a sharding of JAX stands for: a NamedSharding keeps its axes, others become tiles.

    rank      of the array
    Returns   device k of it is the k-th that the JAX sharding lists: of a NamedSharding, sharding.mesh.devices.flat[k]
    Raises    LeafTypeError for no sharding of JAX; RankError for a PartitionSpec of more dimensions than rank

    >>> from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
    >>> mesh = AbstractMesh((2, 4), ("a", "b"))
    >>> sharding = sharding_of(NamedSharding(mesh, PartitionSpec("b")), 2)
    >>> print(sharding, sharding.slices((16, 24), 8)[5])
    {mesh['a'=2,'b'=4], [{'b'}, {}]} ((4, 8), (0, 24))

    Law: its slices(dims, count) are sharding.devices_indices_map(dims). Source: JAX
    `NamedSharding._to_xla_hlo_sharding`.
    """
    if hasattr(sharding, "mesh") and hasattr(sharding, "spec"):
        return _named(sharding, rank)
    if not hasattr(sharding, "_to_xla_hlo_sharding"):
        what = f"a sharding of type {type(sharding).__name__}"
        raise LeafTypeError(what, "a jax.sharding.Sharding", "take array.sharding")
    return parse_sharding(str(sharding._to_xla_hlo_sharding(rank)))


def _named(sharding: Any, rank: int) -> MeshSharding:
    mesh, spec = sharding.mesh, sharding.spec
    entries = tuple(getattr(spec, "partitions", spec))  # JAX before 0.10.2 has the tuple only
    if len(entries) > rank:
        what = f"{spec} for an array of {rank} dimensions"
        raise RankError(what, f"at most {rank} entries", "give the rank of the whole array")
    kinds = {name: kind.name for name, kind in zip(mesh.axis_names, mesh.axis_types)}
    dims = tuple(_dim(entry, type(spec).UNCONSTRAINED) for entry in (*entries, *[None] * (rank - len(entries))))
    used = {axis.name for dim in dims for axis in dim.axes}
    manual = tuple(Axis(str(name)) for name in mesh.axis_names if kinds[name] == "Manual" and str(name) not in used)
    unreduced = tuple(Axis(str(name)) for name in mesh.axis_names if name in spec.unreduced)
    axes = tuple((str(name), size) for name, size in mesh.shape.items())
    return MeshSharding(Mesh(axes), dims, unreduced=unreduced, manual=manual)


def _dim(entry: object, unconstrained: object) -> DimSharding:
    """One entry of a PartitionSpec: None, an axis, a tuple of axes, or UNCONSTRAINED."""
    if entry is None or entry is unconstrained:
        return DimSharding(open=entry is not None)
    return DimSharding(tuple(Axis(str(name)) for name in (entry if isinstance(entry, tuple) else (entry,))))


# ------------------------------------------------------------------------------------------ compiled programs


def arrays(compiled: Any) -> tuple[ProgramArray, ...]:
    """The arguments and the results of a compiled program, each with the shape and layout that it has on one device.

    compiled   jax.jit(f).lower(...).compile()
    Returns    in the order of the call; arguments that the program does not use are left out: it never sees them
    Raises     LeafTypeError for what is not compiled

    >>> import jax
    >>> x = jax.ShapeDtypeStruct((3, 5), "bfloat16")
    >>> for array in arrays(jax.jit(lambda p: p["x"].T).lower({"x": x}).compile()):
    ...     print(array.name, array.shape)
    args[0]['x'] bf16[3,5]{1,0}
    result bf16[5,3]{1,0}

    Law: their shapes are those of entry_computation_layout in compiled.as_text(), memory spaces S(n) included.
    Source: JAX `jax.stages.Compiled`.
    """
    if not hasattr(compiled, "output_formats"):
        what = f"the arrays of a {type(compiled).__name__}"
        raise LeafTypeError(what, "a compiled program", "write jax.jit(f).lower(...).compile()")
    (args, kwargs), (arg_formats, kwarg_formats) = compiled.args_info, compiled.input_formats
    given = *_leaves("args", args, arg_formats), *_leaves("kwargs", kwargs, kwarg_formats)
    return (*given, *_leaves("result", compiled.out_info, compiled.output_formats))


def _leaves(name: str, infos: object, formats: object) -> Iterator[ProgramArray]:
    tree = jax_module("jax.tree_util")
    paths, _ = tree.tree_flatten_with_path(infos)
    for (path, info), form in zip(paths, tree.tree_leaves(formats), strict=True):
        if form.layout is not None:
            dims, dtype = _physical(info)
            local = (*form.sharding.shard_shape(tuple(info.shape)), *dims[len(info.shape) :])
            layout = layout_of(form, dtype)._replace(memory_space=_space(form.sharding))
            shape = ArrayShape(element_type(dtype), local, layout)
            yield ProgramArray(name + tree.keystr(path), dims, shape, sharding_of(form.sharding, len(dims)))


def instructions(compiled: Any) -> Iterator[Located]:
    """The instructions of a compiled program, as read_hlo gives those of a file:
    `totals(instructions(compiled), "copy")`.

    Raises   LeafTypeError for what is not compiled: its text is no HLO

    >>> import jax
    >>> x = jax.ShapeDtypeStruct((3, 5), "float32")
    >>> for found in instructions(jax.jit(lambda x: x).lower(x).compile()):
    ...     print(found.is_entry, found.instruction.opcode, found.instruction.shape)
    True parameter f32[3,5]{1,0}
    True copy f32[3,5]{1,0}

    Source: JAX `jax.stages.Compiled.as_text`.
    """
    if not hasattr(compiled, "output_formats"):
        what = f"the instructions of a {type(compiled).__name__}"
        raise LeafTypeError(what, "a compiled program", "write jax.jit(f).lower(...).compile()")
    return read_hlo(io.StringIO(compiled.as_text()))


def _physical(array: Any) -> tuple[tuple[int, ...], Any]:
    """The dimensions and the dtype of what an array is in memory: an array of keys is one of their integers."""
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        what = f"the shape of a {type(array).__name__}"
        raise LeafTypeError(what, "an array, or a jax.ShapeDtypeStruct", "take what jax.eval_shape gives")
    if str(array.dtype).startswith("key<"):
        jax = jax_module("jax")
        array = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(array.shape, array.dtype))
    dims: Sequence[int] = array.shape
    return tuple(dims), array.dtype
