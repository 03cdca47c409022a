"""What each generation of TPUs has of sync flags and of a SparseCore's memories, as libtpu says where it refuses a kernel.

    pip install jax libtpu
    python tests/bench/tpu/capacities.py [GENERATION...]      # print them, and keep them in tests/data/xla/capacities.json.gz

Kernels of Pallas ask for more and more scratch of one space, on the TensorCore, and on a SparseCore's sequencer and
its tiles. Of each space are kept: the words of the refusal that have its size; of a SparseCore's also the most elements
of 32 bits that compile (bisected), and then the bytes by color of the memory usage report, with the program's text.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import collect
import harness

KEPT = Path(__file__).parents[2] / "data" / "xla" / "capacities.json.gz"
TOPOLOGIES = {name.partition(":")[0]: name for name in harness.TOPOLOGIES}
SPARSE = ("v5p", "v6e", "tpu7x")
#: Where a kernel runs, and the scratch it asks for: the S(n) that it is. SPMEM is spread over sixteen tiles.
SCRATCH = {
    "core SEMAPHORE": 2, "scalar SEMAPHORE": 8, "vector SEMAPHORE": 10, "scalar SMEM": 11, "vector SMEM": 12,
    "vector VMEM": 15, "vector VMEM_SHARED": 15,
}  # fmt: skip
#: More than any has. Of the TensorCore's flags fewer: libtpu 0.0.52 takes minutes to refuse millions.
MANY, MANY_FLAGS = 1 << 22, 5000
REFUSALS = (
    r"would exceed memory \(size=\d+\)",
    r"user allocatable offset upper bound \(\d+ words\) in memory space \w+",
    r"Used [\d.]+\w? ?of [\d.]+\w? ?\w+",
)


def compiler(topology):
    """A function that compiles a kernel, and gives what the memory usage report says and the program's text."""
    import jax
    import jax.numpy as jnp
    from jax._src import mesh as meshes
    from jax.experimental import pallas as pl, topologies
    from jax.experimental.pallas import tpu as pltpu, tpu_sc as plsc
    from jax.sharding import AbstractMesh, AxisType, SingleDeviceSharding

    device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]
    kind = meshes.AbstractDevice(device.device_kind, device.num_cores, "tpu")
    mesh = AbstractMesh((1,), ("x",), axis_types=(AxisType.Auto,), abstract_device=kind)

    def scratch_of(space, count):
        if space == "SEMAPHORE":
            return pltpu.SemaphoreType.REGULAR((count,))
        return getattr(pltpu.MemorySpace, space)((count,), jnp.int32)

    def body(x, o, scratch, *, where, space, count):
        first = 0 if where == "core" else jax.lax.axis_index("c")
        if space == "SEMAPHORE":
            pl.semaphore_signal(scratch.at[first + count - 8], 1)
            pl.semaphore_wait(scratch.at[first + count - 8], 1)
        elif space == "SMEM":

            @pl.loop(0, count)
            def _(i):
                scratch[i] = i + first

            @pl.loop(0, count)
            def _(i):
                @pl.when(scratch[i * 7 % count] == 5)
                def _():
                    pltpu.sync_copy(x, o)
        else:
            pltpu.sync_copy(x.at[pl.ds(0, 8)], scratch.at[pl.ds(0, 8)])
            pltpu.sync_copy(scratch.at[pl.ds(0, 8)], o.at[pl.ds(0, 8)])
        if where == "core":
            o[...] = x[...]
        else:
            pltpu.sync_copy(x, o)

    def kernel(x, where, space, count):
        result, scratch = jax.ShapeDtypeStruct((1024,), jnp.int32), scratch_of(space, count)

        def run(x, o, scratch):
            body(x, o, scratch, where=where, space=space, count=count)

        if where == "core":
            return pl.pallas_call(run, out_shape=result, scratch_shapes=[scratch])(x)
        cores = (
            plsc.ScalarSubcoreMesh(axis_name="c")
            if where == "scalar"
            else plsc.VectorSubcoreMesh(core_axis_name="c", subcore_axis_name="s")
        )
        return pl.kernel(run, out_type=result, mesh=cores, scratch_types=[scratch])(x)

    def compiled(where, space, count):
        with tempfile.TemporaryDirectory() as dump, jax.sharding.use_abstract_mesh(mesh):
            x = jax.ShapeDtypeStruct((1024,), jnp.int32, sharding=SingleDeviceSharding(device))
            lowered = jax.jit(lambda x: kernel(x, where, space, count)).trace(x).lower(lowering_platforms=("tpu",))
            lowered.compile({"xla_dump_to": dump, "xla_dump_hlo_as_text": True})
            report = harness.heap(harness.dumped(dump, "after_optimizations-memory-usage-report.txt"))
            return report, collect.short(harness.dumped(dump, "after_optimizations.txt"))

    return compiled


def attempt(run, *arguments):
    """What a compilation gives, and None; or None, and the words of its refusal that have a size."""
    try:
        return run(*arguments), None
    except Exception as error:  # libtpu's own, of any class
        text = str(error)
    return None, next((m[0] for r in REFUSALS if (m := re.search(r, text))), text[:300])


def measure(generation):
    compiled = compiler(TOPOLOGIES[generation])
    found = {}
    for name, space in SCRATCH.items():
        where, scratch = name.split()
        if where != "core" and generation not in SPARSE:
            continue
        _none, refusal = attempt(compiled, where, scratch, MANY_FLAGS if where == "core" else MANY)
        row = found[name] = {"space": space, "refusals": [refusal]}
        if where == "core":
            continue
        low, high = 16, MANY
        while high - low > 1:
            middle = (low + high) // 2
            done, refusal = attempt(compiled, where, scratch, middle)
            if done:
                low, row["report"], row["text"] = middle, {k: v for k, v in done[0].items() if int(k) >= 8}, done[1]
            else:
                high, row["refusals"] = middle, [row["refusals"][0], refusal]
        row["most"] = low
    return found


def main(generations):
    kept = json.loads(gzip.decompress(KEPT.read_bytes())) if KEPT.exists() else {}
    for generation in generations or TOPOLOGIES:
        command = [sys.executable, __file__, "--one", generation]
        done = subprocess.run(command, env={**os.environ, **harness.ENVIRONMENT}, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        kept[generation] = json.loads(done.stdout.splitlines()[-1])
        for name, row in kept[generation].items():
            print(f"{generation:6} S({row['space']:<2}) {name:20} {row.get('most', ''):>8} {row['refusals']}")
    KEPT.write_bytes(gzip.compress(json.dumps(kept).encode(), mtime=0))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(sys.argv[1:])
