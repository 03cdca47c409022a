"""Whole pallas_calls, compiled ahead of time by libtpu: whether each compiles, and its bytes in VMEM.

    pip install jax libtpu
    python tests/bench/tpu/calls.py TARGET SEED COUNT   # TARGET of kernels.py: v5e

Random are the grid, index maps (scalars that are prefetched in them), squeezed dimensions, buffers, arrays in other
memory spaces, scratch, semaphores, aliases and dimension semantics. The same specs go to Pallas and to
`xla.pallas_call`. Copies are counted by the grid's own loops.
"""

import collections
import itertools
import os
import random
import re
import sys
import tempfile
from pathlib import Path

import harness
import kernels

DTYPES = {"float32": "f32", "bfloat16": "bf16", "int8": "s8", "int32": "s32", "int16": "s16", "uint8": "u8"}


def map_of(kinds, grid):
    """An index map: of each dimension a constant, a step, a half of one, what is always 0, or a prefetched scalar."""
    ways = {
        "constant": lambda a, n: n, "step": lambda a, n: a[n], "half": lambda a, n: a[n] // 2, "zero": lambda a, n: a[n] * 0,
        "eighth": lambda a, n: a[n] // 8, "table": lambda a, n: a[len(grid)][a[n]], "first": lambda a, n: a[len(grid)][2],
    }  # fmt: skip
    return lambda *a: tuple(ways[kind](a, n) for kind, n in kinds)


def window(rng, grid, prefetched, pl):
    """A random array with its block: its type, its shape, extents, index map and buffers."""
    rank, rows, lanes = rng.choice([2, 2, 3, 4]), rng.choice([8, 8, 16, 32]), rng.choice([128, 128, 256])
    names = ["constant", "step", "step", "half", "zero", "eighth", *(["table", "first"] if prefetched else [])]
    kinds = [(kind := rng.choice(names), rng.randrange(3 if kind == "constant" else len(grid))) for _ in range(rank)]
    block = (
        *(rng.choice([None, pl.Squeezed(), 1, 2]) for _ in range(rank - 2)),
        rows,
        rng.choice([lanes, pl.Blocked(lanes)]),
    )
    sizes = [n if isinstance(n, int) else getattr(n, "block_size", 1) for n in block]
    shape = tuple(n * (4 if d else 40) for d, n in enumerate(sizes))  # large: XLA leaves it in HBM
    mode = rng.choice([{}, {}, {"pipeline_mode": pl.Buffered(1)}, {"pipeline_mode": pl.Buffered(2)}])
    return rng.choice([*DTYPES]), shape, pl.BlockSpec(block, map_of(kinds, grid), **mode)


def case_of(rng, pl, pltpu):
    grid = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([1, 1, 2, 3])))
    table = [rng.randrange(3) for _ in range(8)] if rng.random() < 0.3 else None
    windows = [window(rng, grid, table, pl) for _ in range(rng.randint(1, 3))]
    beside = rng.choice([None, None, pl.ANY, pltpu.HBM, pltpu.SMEM])
    scratch = [pltpu.VMEM(rng.choice([(8, 128), (1, 128), (3, 5)]), "float32") for _ in range(rng.choice([0, 0, 1, 2]))]
    scratch += rng.choice(
        [[], [], [pltpu.SMEM((4,), "int32")], [pltpu.SemaphoreType.DMA((3,)), pltpu.SemaphoreType.REGULAR]]
    )
    semantics = rng.choice([None, None, tuple(rng.choice(["parallel", "arbitrary"]) for _ in grid)])
    return grid, table, windows, beside, scratch, semantics, rng.random() < 0.3


def lowered(jax, pl, pltpu, case, sharding, kib):
    grid, table, windows, beside, scratch, semantics, aliased = case
    first, count = int(table is not None), len(windows)

    def copy(*refs):
        arguments, rest = refs[first : first + count], refs[first + count + (beside is not None) :]
        for a, b in zip(arguments, rest):
            b[...] = a[...]
        for ref, kept in zip(rest[count:], scratch):
            if str(getattr(kept, "memory_space", "")).lower() == "vmem":
                ref[...] = ref[...] + 1

    structs = [(shape, kind) for kind, shape, _spec in windows]
    specs = [spec for *_, spec in windows]
    beside_specs = [] if beside is None else [pl.BlockSpec(memory_space=beside)]
    arguments = [((8,), "int32")] * first + structs + [((64,), "int32")] * len(beside_specs)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=first, grid=grid, in_specs=specs + beside_specs, out_specs=specs, scratch_shapes=scratch
    )
    parameters = {"vmem_limit_bytes": (kib - 64) * 1024, **({"dimension_semantics": semantics} if semantics else {})}
    call = pl.pallas_call(
        copy,
        grid_spec=spec,
        out_shape=[jax.ShapeDtypeStruct(*s) for s in structs],
        input_output_aliases={first: 0} if aliased else {},
        compiler_params=pltpu.CompilerParams(**parameters),
    )
    return jax.jit(call).lower(*(jax.ShapeDtypeStruct(*s, sharding=sharding) for s in arguments))


def copies(case):
    """How often the blocks of all windows change, arguments and results."""
    grid, table, windows, *_ = case
    count = 0
    for *_, spec in windows:
        before = None
        for step in itertools.product(*map(range, grid)):
            now = tuple(spec.index_map(*step, *([table] if table is not None else [])))
            count, before = count + 2 * (now != before), now
    return count


def main(target, seed, count):
    dump = tempfile.mkdtemp()
    os.environ.update(harness.ENVIRONMENT, LIBTPU_INIT_ARGS=f"--xla_mosaic_dump_to={dump}")
    import jax
    from jax.experimental import pallas as pl, topologies
    from jax.experimental.pallas import tpu as pltpu
    from jax.sharding import SingleDeviceSharding

    from tla import xla

    topology, kib = kernels.TARGETS[target]
    device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]
    rng, sums = random.Random(f"{seed} {target}"), collections.Counter()
    for _ in range(int(count)):
        case = grid, table, windows, beside, scratch, *_ = case_of(rng, pl, pltpu)
        rows = [(DTYPES[kind], shape, spec) for kind, shape, spec in windows]
        others = [] if beside is None else [("s32", (64,), pl.BlockSpec(memory_space=beside))]
        prefetch = () if table is None else (table,)
        found = xla.pallas_call(grid, rows + others, rows, scratch, target, prefetch)
        wrong = {"copies"} if sum(w.copies for w in found.windows) != copies(case) else set()
        try:
            with jax.default_device(device):
                text = lowered(jax, pl, pltpu, case, SingleDeviceSharding(device), kib).compile().as_text()
        except Exception as error:  # what a compiler says of a kernel is data here
            wrong |= {f"verdict: {str(error)[:200]}"} if found.compiles else set()
        else:
            wrong |= {"verdict"} if not found.compiles and "visited again" not in found.refused else set()
            line = next(line for line in text.splitlines() if "tpu_custom_call" in line)
            used = re.search(r'"used_scoped_memory_configs":\[([^\]]*)\]', line)[1]
            space = re.search(r'"memory_space":"1","offset":"\d+","size":"(\d+)"', used)
            vmem = int(space[1]) if space else 0
            if not re.search(r"S\([13]\)", text) and vmem != found.vmem:
                wrong.add(f"VMEM {found.vmem}, {vmem}")
        for path in Path(dump).glob("*"):
            path.unlink()
        sums["calls"] += 1
        for what in sorted(wrong):
            sums[what.partition(" ")[0]] += 1
            print(f"{what}: {case}")
    print(dict(sums))


if __name__ == "__main__":
    main(*sys.argv[1:4])
