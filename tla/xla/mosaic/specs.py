"""Objects of Pallas where `block` and `pallas_call` take extents, a block or scratch: what they say, by their names, so
that JAX need not be there.

Source: JAX 0.10 jax/_src/pallas/core.py (BlockSpec, Blocked, Squeezed, Element, BoundedSlice, Buffered) and
jax/_src/pallas/mosaic/core.py (MemoryRef, SemaphoreType).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.errors import LeafTypeError, RangeError
from ...core.ints import leaf

_FIXES = {
    "Element": "write the extent, where blocks begin at multiples of it",
    "BoundedSlice": "pallas_call on TPU takes none: give its largest extent; pltpu.emit_pipeline takes it",
}


def extent_of(given: Any) -> int | None:
    """An extent as BlockSpec takes it: an integer, None, pl.Blocked(n), pl.Squeezed()."""
    name = type(given).__name__
    if given is None or name == "Squeezed":
        return None
    if name in _FIXES:
        raise RangeError(f"an extent {given}", "blocks side by side, numbered from 0", _FIXES[name])
    return int(leaf(given.block_size if name == "Blocked" else given))


def row_of(row: Any) -> Sequence[Any] | None:
    """A row of `pallas_call` with its block written out; None for an array that is not in VMEM."""
    if not isinstance(row, (tuple, list)) or len(row) != 3 or not hasattr(row[2], "block_shape"):
        return _checked_row(row)
    kind, shape, spec = row
    if spec.memory_space is not None and str(spec.memory_space) != "vmem":
        return None
    extents = shape if spec.block_shape is None else spec.block_shape
    index_map = (lambda *_step: (0,) * len(shape)) if spec.index_map is None else spec.index_map
    mode = _checked_mode(spec.pipeline_mode)
    return (kind, shape, extents, index_map) if mode is None else (kind, shape, extents, index_map, mode)


def _checked_mode(mode: Any) -> Any:
    """A pipeline mode that pallas_call on TPU takes, and whose copies are known."""
    if getattr(mode, "use_lookahead", False):
        what, fix = "a block with lookahead", "leave it out: pltpu.emit_pipeline takes it"
        raise RangeError(what, "pl.Buffered(1) or pl.Buffered(2), as pallas_call takes them", fix)
    if getattr(getattr(mode, "revisit", None), "value", "") == "any":
        what, fix = "a block with RevisitMode.ANY", "leave it out, and let equal steps follow each other"
        raise RangeError(what, "blocks that are visited once: how often others are copied is not known", fix)
    return mode


def _checked_row(row: Any) -> Sequence[Any]:
    if not isinstance(row, (tuple, list)) or len(row) not in (4, 5) or not callable(row[3]):
        fix = "write ('f32', (64, 128), (8, 128), lambda i: (i, 0)), or ('f32', (64, 128), pl.BlockSpec(...))"
        raise LeafTypeError(f"a block {row!r:.60}", "(element type, shape, extents, index map)", fix)
    return row


def buffers_of(given: Any) -> Any:
    """The number of buffers: an integer, or that of pl.Buffered(n)."""
    return getattr(given, "buffer_count", given)


def scratch_of(row: Any) -> tuple[Any, Any] | None:
    """The element type and shape of scratch, also of pltpu.VMEM(shape, dtype); None where it is not in VMEM."""
    if isinstance(row, (tuple, list)) and len(row) == 2:
        return row[0], row[1]
    if type(row).__name__ == "SemaphoreType":
        return None
    place, shape, dtype = (getattr(row, name, None) for name in ("memory_space", "shape", "dtype"))
    if place is not None and shape is not None and dtype is not None:
        return (dtype, tuple(shape)) if str(place).lower() == "vmem" else None
    raise LeafTypeError(f"scratch {row!r:.60}", "(element type, shape)", "write ('f32', (8, 128))")
