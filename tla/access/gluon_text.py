"""The plan of a conversion as a function of Triton's Gluon."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import RangeError
from ..core.int_tuple import shown
from ..linear import LinearLayout, bits
from ..linear.building import unpack
from .by_bits import offset_columns
from .device_text import require_name
from .steps import Step, Store


def gluon_function(name: str, steps: Sequence[Step], dst: LinearLayout) -> str:
    """A function of Gluon that gives a tensor in the layout `dst`."""
    require_name("gluon", name)
    names = dst.get_out_dim_names()
    order = sorted(range(len(names)), key=lambda k: (len(names[k]), names[k]))  # dim0, dim1, ...: Gluon's dimensions have no names
    owners = [_vectors(dst.bases[d], order) for d in ("register", "lane", "warp")]
    layout = ", ".join(map(str, [*owners, [], [dst.out_dims[names[k]] for k in order]]))
    lines = ["@gluon.jit", f"def {name}(x):", f"    layout: gl.constexpr = gl.DistributedLinearLayout({layout})"]
    stored = [step.layout for step in steps if isinstance(step, Store)]
    if not stored:
        return "\n".join([*lines, "    return gl.convert_layout(x, layout)"])
    if len(stored) > 1:
        raise RangeError(f"gluon of {len(stored)} rounds through memory", "one", "leave out scratch_bytes, or use plan.cuda()")
    sizes = [*dst.out_dims.values()]
    count = sum(map(bits.log2, sizes))
    elements = bits.inverse(offset_columns(stored[0], sizes) or [], count)
    if elements is None:
        raise RangeError(f"gluon of the memory layout {shown(stored[0])}", "swizzles, without padding", "use plan.cuda()")
    bases = [unpack(x, tuple(dst.out_dims.items())) for x in elements]
    lines += [f"    memory: gl.constexpr = gl.SharedLinearLayout({_vectors(bases, order)})"]
    lines += ["    smem = gl.allocate_shared_memory(x.dtype, x.shape, memory, x)", "    return smem.load(layout)"]
    return "\n".join(lines)


def _vectors(bases: Sequence[Sequence[int]], order: Sequence[int]) -> list[list[int]]:
    return [[v[k] for k in order] for v in bases]
