"""Changes of where a function's arguments are: split over the devices of the topology.

What one device then holds, moves and sends is measured. What sends more than before is a trade.

Source: jax.sharding.NamedSharding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.on_demand import jax_module
from ..shapes.sizes import byte_size
from .bench import Bench, Change

#: How many sizes, and how many arguments, are tried.
_MOST = 3


def placement_changes(bench: Bench) -> Iterator[Change]:
    """The changes of placement to try, those of most bytes first."""
    if len(bench.devices) > 1 and all(len(s.sharding.device_set) == 1 for s in bench.structs):
        yield from _from_one(bench)
    else:
        yield from _from_several(bench)


def _from_one(bench: Bench) -> Iterator[Change]:
    """All dimensions of one size split over all devices; the largest argument alone."""
    count = len(bench.devices)
    mesh = jax_module("jax.sharding").Mesh(jax_module("numpy").array(bench.devices), ("d",))
    sizes: dict[int, int] = {}
    for k in range(len(bench.structs)):
        for n in {*bench.dims(k)}:
            if n % count == 0 and n:
                sizes[n] = sizes.get(n, 0) + byte_size(bench.shape(k))
    largest = max(range(len(bench.structs)), key=lambda k: byte_size(bench.shape(k)), default=0)
    for n in sorted(sizes, key=lambda n: -sizes[n])[:_MOST]:
        split = {k: bench.dims(k).index(n) for k in range(len(bench.structs)) if n in bench.dims(k)}
        yield _split(bench, mesh, split, f"dimensions of {n}")
        if len(split) > 1 and largest in split:
            yield _split(bench, mesh, {largest: split[largest]}, f"dimension {split[largest]}")


def _split(bench: Bench, mesh: Any, split: Mapping[int, int], what: str) -> Change:
    """Some arguments split along a dimension each, all others whole on each device."""
    spec, named = jax_module("jax.sharding").PartitionSpec, jax_module("jax.sharding").NamedSharding
    placed = {}
    for k, struct in enumerate(bench.structs):
        axes = ["d" if split.get(k) == axis else None for axis in range(len(struct.shape))]
        placed[k] = named(mesh, spec(*axes), memory_kind=struct.sharding.memory_kind)
    names = ", ".join(bench.names[k] for k in [*split][:4]) + (" ..." if len(split) > 4 else "")
    sharding = f"NamedSharding(Mesh(devices, ('d',)), PartitionSpec('d' at {what}))"
    code = f"in_shardings: {sharding} of {names}, () of the others"
    return Change("shard", f"{names}: {what} split over {mesh.size} devices", code, placed=placed)


def _from_several(bench: Bench) -> Iterator[Change]:
    """An argument that axes of its mesh leave whole split over these, along the first dimension that they divide."""
    found = 0
    for k in sorted(range(len(bench.structs)), key=lambda k: -byte_size(bench.shape(k))):
        struct, sharding = bench.structs[k], bench.structs[k].sharding
        if not hasattr(sharding, "spec") or found == _MOST:
            continue
        spec = [*sharding.spec, *[None] * (len(struct.shape) - len(sharding.spec))]
        taken = {name for part in spec if part is not None for name in ((part,) if isinstance(part, str) else part)}
        free = tuple(name for name in sharding.mesh.axis_names if name not in taken and sharding.mesh.shape[name] > 1)
        parts = 1
        for name in free:
            parts *= sharding.mesh.shape[name]
        uncut = [axis for axis, part in enumerate(spec) if part is None]
        places = [axis for axis in uncut if struct.shape[axis] and struct.shape[axis] % parts == 0]
        if free and places:
            found += 1
            spec[places[0]] = free
            kinds = jax_module("jax.sharding")
            cut = kinds.NamedSharding(sharding.mesh, kinds.PartitionSpec(*spec), memory_kind=sharding.memory_kind)
            placed = {k: cut}
            what = f"{bench.names[k]}: dimension {places[0]} split over the mesh's {', '.join(map(str, free))}"
            yield Change("shard", what, f"PartitionSpec{tuple(spec)} for {bench.names[k]}", placed=placed)
