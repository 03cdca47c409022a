"""The plan of a conversion as a function of Triton's Gluon."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..core.errors import RangeError
from ..core.int_tuple import shown
from ..linear import LinearLayout, bits
from ..linear.building import unpack
from .by_bits import by_bits, offset_columns
from .device_text import require_name
from .rounds import exchanged_bits, permutes_bits, shared_changes
from .steps import BYTE_BITS, Load, Move, Shuffle, Step, Store

#: The lanes of a warp that Triton compiles for.
WAVES = (32, 64)
#: Triton 3.9 shuffles what exchanges fewer bits between registers and lanes; the rest of what stays in warps goes
#: through memory there.
MOST_SHUFFLED = 2


def gluon_function(name: str, steps: Sequence[Step], src: LinearLayout, dst: LinearLayout, width: int) -> str:
    """A function of Gluon that gives a tensor in the layout `dst`; RangeError if Triton's code had other steps."""
    require_name("gluon", name)
    _require_tritons(steps, src, dst, width)
    names = dst.get_out_dim_names()
    # dim0, dim1, ...: Gluon's dimensions have no names
    order = sorted(range(len(names)), key=lambda k: (len(names[k]), names[k]))
    owners = [_vectors(dst.bases[d], order) for d in ("register", "lane", "warp")]
    layout = ", ".join(map(str, [*owners, [], [dst.out_dims[names[k]] for k in order]]))
    lines = ["@gluon.jit", f"def {name}(x):", f"    layout: gl.constexpr = gl.DistributedLinearLayout({layout})"]
    stored = [step.layout for step in steps if isinstance(step, Store)]
    if not stored:
        return "\n".join([*lines, "    return gl.convert_layout(x, layout)"])
    if len(stored) > 1:
        what = f"gluon of {len(stored)} rounds through memory"
        raise RangeError(what, "one", "leave out scratch_bytes, or use plan.cuda()")
    sizes = [*dst.out_dims.values()]
    count = sum(map(bits.log2, sizes))
    elements = bits.inverse(offset_columns(stored[0], sizes) or [], count)
    if elements is None:
        what = f"gluon of the memory layout {shown(stored[0])}"
        raise RangeError(what, "swizzles, without padding", "use plan.cuda()")
    bases = [unpack(x, tuple(dst.out_dims.items())) for x in elements]
    lines += [f"    memory: gl.constexpr = gl.SharedLinearLayout({_vectors(bases, order)})"]
    lines += ["    smem = gl.allocate_shared_memory(x.dtype, x.shape, memory)", "    smem.store(x)"]
    return "\n".join([*lines, "    return smem.load(layout)"])


def _require_tritons(steps: Sequence[Step], src: LinearLayout, dst: LinearLayout, width: int) -> None:
    """Refuse what Triton 3.9 compiles to other instructions, or does not compile."""
    if (lanes := src.get_in_dim_size("lane")) not in WAVES:
        fix = "split or add lanes: layout.reshape_ins(...), or layout.resize_in_dim('lane', 32)"
        raise RangeError(f"gluon of warps of {lanes} lanes", "32, or 64 on CDNA", fix)
    for owners, name in itertools.product((src, dst), ("register", "lane")):
        for v in owners.bases[name]:
            if sum(n.bit_count() if name == "register" else bool(n) for n in v) > 1:
                what = f"gluon of {name}s ({', '.join(map(str, v))}) apart, on which Triton aborts"
                expected = "registers that change one bit of the element each, and lanes that change one dimension each"
                raise RangeError(what, expected, "use plan.cuda()")
    _require_once(steps[0], (src, dst))
    if any(isinstance(step, Shuffle) for step in steps):
        _require_shuffled(src, dst)
    moves = [step for step in steps if isinstance(step, (Store, Load))]
    for step in moves:
        owners = src if isinstance(step, Store) else dst
        at = None if step.matrices else by_bits(owners, step.layout, owners.get_in_dim_size("lane"))
        if at is not None and not at._replace(register=[c for c in at.register if c]).walks_alike(step.vector):
            order = "in another order in other lanes: Triton takes shorter ones"
            what = f"gluon of vectors of {step.vector} elements {order}"
            raise RangeError(what, "one order, and registers that walk along it bit by bit", "use plan.cuda()")
    if width <= BYTE_BITS and any(step.matrices and step.matrices.transposed for step in moves):
        what = "gluon of bytes that matrix instructions transpose in pairs: Triton does so for elements of 16 bits"
        raise RangeError(what, "other matrices, or vectors", 'plan vectors, memory="NVIDIA_SHARED", or use plan.cuda()')


def _require_once(first: Step, sides: Sequence[LinearLayout]) -> None:
    """Refuse bits that change what others together change: Triton 3.9 then does not shuffle, aborts on registers of
    that kind in memory, and copies only where the others are all registers, all lanes or all warps as well."""
    for owners in sides:
        if isinstance(first, Move):
            registers, lanes, warps = ([*map(owners.pack, owners.bases[name])] for name in ("register", "lane", "warp"))
            again = {*bits.intersection(registers, lanes + warps), *bits.intersection(lanes, warps)}
        else:
            again = shared_changes(owners, ("register",)) if isinstance(first, Store) else shared_changes(owners)
        if again:
            element = ", ".join(map(str, unpack(min(again), tuple(owners.out_dims.items()))))
            what = f"gluon of several bits of registers, lanes or warps that go on by ({element}), alone or together"
            raise RangeError(what, "bits that change nothing, or what no others do", "use plan.cuda()")


def _require_shuffled(src: LinearLayout, dst: LinearLayout) -> None:
    """Refuse shuffles that Triton 3.9 does not do, or does more of."""
    fix = 'plan the way through memory, through="memory", or use plan.cuda()'
    if (count := exchanged_bits(src, dst)) >= MOST_SHUFFLED:
        what = f"gluon of shuffles that exchange {count} bits between registers and lanes: Triton goes through memory"
        raise RangeError(what, f"{MOST_SHUFFLED - 1} at most", fix)
    if not permutes_bits(src, dst):
        what = "gluon of shuffles to sums of bits of the lane: Triton goes through memory"
        raise RangeError(what, "bits in another order", fix)
    given, wanted = (1 << sum(map(any, x.bases["register"])) for x in (src, dst))
    if given > wanted:
        what = f"gluon of shuffles of {given} registers to {wanted}: Triton shuffles all that there are"
        raise RangeError(what, f"{given} or more", fix)


def _vectors(bases: Sequence[Sequence[int]], order: Sequence[int]) -> list[list[int]]:
    return [[v[k] for k in order] for v in bases]
