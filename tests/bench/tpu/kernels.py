"""Blocks of Pallas kernels, compiled ahead of time by libtpu: whether Pallas and Mosaic take each, its memory
reference, its bytes in VMEM.

    pip install jax libtpu
    python tests/bench/tpu/kernels.py SEED COUNT [ODD] # compare `xla.block` with COUNT random blocks, and ODD odd ones

Of each block a kernel is compiled that copies it whole, `o_ref[...] = x_ref[...]`, with nearly all of VMEM as its
limit, so that XLA leaves the arrays in HBM. Results are kept in $TLA_TPU_CACHE/kernels.jsonl (see harness.py).
"""

import collections
import json
import math
import os
import random
import re
import select
import subprocess
import sys
import tempfile
from pathlib import Path

import harness

KEPT = harness.CACHE / "kernels.jsonl"
#: Of each generation: its topology, and the VMEM of a core [KiB].
TARGETS = {
    "v2": ("v2:2x2", 16384),
    "v3": ("v3:2x2", 16384),
    "v4": ("v4:2x2x1", 16384),
    "v5e": ("v5e:2x2", 131072),
    "v5p": ("v5p:2x2x1", 65536),
    "v6e": ("v6e:2x2", 131072),
    "tpu7x": ("tpu7x:2x2x1", 65536),
}
DTYPES = {
    "f32": "float32", "bf16": "bfloat16", "f16": "float16", "s32": "int32", "u32": "uint32", "s16": "int16", "u16": "uint16",
    "s8": "int8", "u8": "uint8", "s4": "int4", "u4": "uint4", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "pred": "bool",
}  # fmt: skip
SECONDS = 120


# ------------------------------------------------------------------------------------------------------- a worker


def serve(target, dump):
    """Compile what comes in, a case a line, and print what comes of it."""
    os.environ.update(harness.ENVIRONMENT, LIBTPU_INIT_ARGS=f"--xla_mosaic_dump_to={dump}")
    import jax
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    topology, kib = TARGETS[target]
    device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]
    sharding = SingleDeviceSharding(device)
    print("ready", flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        for path in Path(dump).glob("*"):
            path.unlink()
        try:
            found = {"lowered": False}
            with jax.default_device(device):  # which Pallas asks for the generation
                lowered = lower(jax, case, sharding, kib)
            found["lowered"] = True
            found |= compiled(lowered, Path(dump))
        except Exception as error:  # what a compiler says of a kernel is data here
            found["error"] = re.sub(r"\s+", " ", str(error))[:300]
        print(json.dumps(found), flush=True)


def lower(jax, case, sharding, kib):
    """The kernel of a case, lowered by Pallas."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    shape, block, dtype = tuple(case["shape"]), tuple(case["block"]), DTYPES[case["type"]]
    mode = {"pipeline_mode": pl.Buffered(case["buffers"])} if case.get("buffers") else {}
    spec = pl.BlockSpec(block, lambda *i: i, **mode)

    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        copy,
        out_shape=jax.ShapeDtypeStruct(shape, dtype),
        grid=tuple(-(-n // (b or 1)) for n, b in zip(shape, block)),
        in_specs=[spec],
        out_specs=spec,
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=(kib - 64) * 1024),
    )
    return jax.jit(call).lower(jax.ShapeDtypeStruct(shape, dtype, sharding=sharding))


def compiled(lowered, dump):
    text = lowered.compile().as_text()
    line = next(line for line in text.splitlines() if "tpu_custom_call" in line)
    operand = re.search(r"custom-call\(([^)]*)\)", line)[1].split(", ")[0].lstrip("%")
    where = re.search(rf"^\s*%?{re.escape(operand)} = (\S+) ", text, re.MULTILINE)
    sizes = re.search(r'"used_scoped_memory_configs":\[([^\]]*)\]', line)
    return {
        "memref": memref(dump),
        "vmem": int(re.search(r'"memory_space":"1","offset":"\d+","size":"(\d+)"', sizes[1])[1]),
        "inside": [
            bool(re.search(r"S\([13]\)", text)) for text in (where[1], re.search(r"= (\S+) custom-call", line)[1])
        ],
    }


def memref(dump):
    """The memory reference of the first argument of a kernel that is no grid index, after Mosaic has
    inferred its layout."""
    path = max(dump.glob("*-post-infer-memref-layout.txt"), key=lambda path: path.stat().st_mtime)
    arguments = re.search(r"func\.func @\w+\((.*?)\) attributes", path.read_text())[1]
    return re.search(r"memref<(?:[^<>]|<[^<>]*>)*>", arguments)[0].replace("#xir.", "#tpu.")


class Worker:
    """A process that compiles for one generation; a kernel that ends it is a verdict too."""

    def __init__(self, target):
        self.target, self.process = target, None

    def ask(self, case):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            line = self.read(SECONDS)
        except (BrokenPipeError, TimeoutError):
            line = ""
        if not line:
            self.process.kill()
            self.process = None
            return {"lowered": True, "error": "the compiler ends"}
        return json.loads(line)

    def start(self):
        dump = tempfile.mkdtemp()
        command = [sys.executable, __file__, "--serve", self.target, dump]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, bufsize=1, **pipes)
        assert self.read(SECONDS).strip() == "ready"

    def read(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise TimeoutError
        return self.process.stdout.readline()

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(SECONDS)


def results(cases):
    """Each case with what comes of it; what was compiled before is not compiled again."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    for line in KEPT.read_text().splitlines() if KEPT.exists() else ():
        case, found = json.loads(line)
        known[json.dumps(case, sort_keys=True)] = found
    by_target = collections.defaultdict(list)
    for case in cases:
        by_target[case["target"]].append(case)
    for target, some in by_target.items():
        worker = Worker(target)
        for case in some:
            key = json.dumps(case, sort_keys=True)
            if key not in known:
                known[key] = worker.ask(case)
                with KEPT.open("a") as file:
                    file.write(json.dumps([case, known[key]]) + "\n")
            yield case, known[key]
        worker.stop()


# -------------------------------------------------------------------------------------------------------- cases


def random_case(rng):
    """A block as kernels have them: ranks 1 to 4, most of them legal, each dimension squeezed now and then."""
    rank = rng.choice([1, 2, 2, 2, 3, 3, 4])
    element = rng.choice([*DTYPES])
    shape, block = [], []
    for d in range(rank):
        near = rank - d
        unit = {1: 128, 2: 8}.get(near, 1)
        n = rng.choice(
            [unit * rng.randint(1, 6), rng.randint(1, 40), rng.choice([1, 2, 4, 32, 64, 96, 100, 127, 129, 300, 512])]
        )
        shape.append(n)
        b = rng.choice(
            [n, n, unit * rng.randint(1, 4), rng.randint(1, n), None if near > 2 or rng.random() < 0.2 else n]
        )
        block.append(b)
    if rank == 1 and rng.random() < 0.5:
        shape, block = [rng.choice([1024, 2048, 4096, 5000])], [rng.choice([128, 256, 512, 1024, 2048, 384])]
    return {"target": rng.choice([*TARGETS]), "type": element, "shape": shape, "block": block}


def odd_case(rng):
    """A block at the edges: extents of 1, squeezed last dimensions, rows of 8 bits that 32 divides, one
    or three buffers."""
    element, target = rng.choice([*DTYPES]), rng.choice([*TARGETS])
    kind = rng.choice(["one wide", "squeezed", "rows of 32", "small", "buffers", "single", "half"])
    rows, lanes = rng.choice([8, 16, 32, 64, 96]), rng.choice([1, 32, 64, 100, 127, 128, 200, 256])
    if kind == "one wide":
        shape, block = [rows, rng.choice([1, 128]), 1], [rng.choice([rows, 8]), None, 1]
    elif kind == "squeezed":
        shape = [rng.choice([1, 2, 16]), rng.choice([1, 8, 128]), rng.choice([1, 128, 512])]
        block = [rng.choice([None, n]) for n in shape]
    elif kind == "rows of 32":
        shape, block = [3 * rows, lanes], [rng.choice([32, rows]), lanes]
    elif kind == "small":
        shape = [rng.randint(1, 9) for _ in range(rng.randint(1, 4))]
        block = [rng.choice([n, n, None]) if k < len(shape) - 2 else n for k, n in enumerate(shape)]
    elif kind == "buffers":
        shape, block = [8 * rows, 256], [rows, 256]
        return {"target": target, "type": element, "shape": shape, "block": block, "buffers": rng.choice([1, 2, 3, 4])}
    elif kind == "single":
        shape, block = [lanes * 40], [rng.choice([128, 256, 512, 1024, lanes * 40])]
    else:
        element, shape, block = rng.choice(["f16", "s4", "u4", "pred"]), [rows, lanes], [rng.choice([8, rows]), lanes]
    return {"target": target, "type": element, "shape": shape, "block": block}


def main(seed, count, odd=0):
    from tla import xla

    rng = random.Random(seed)
    cases = [random_case(rng) for _ in range(count)] + [odd_case(rng) for _ in range(odd)]
    sums = collections.Counter()
    for case, found in results(cases):
        sums["blocks"] += 1
        for what in compared(xla, case, found):
            sums[what] += 1
            print(f"{what}: {json.dumps(case)} {json.dumps(found)}")
    print(dict(sums))


def compared(xla, case, found):
    """What `xla.block` and `xla.pallas_call` say otherwise than the compilers."""
    kind, shape, extents = case["type"], tuple(case["shape"]), tuple(case["block"])
    grid = tuple(-(-n // (b or 1)) for n, b in zip(shape, extents))
    row = (kind, shape, extents, lambda *i: i, *([case["buffers"]] if case.get("buffers") else []))
    call = xla.pallas_call(grid, [row], [row], target=case["target"]) if math.prod(grid) < 2**20 else None
    block = xla.block(kind, shape, extents, case.get("buffers"), target=case["target"])
    if "CompileTimeHbmOom" in found.get("error", ""):
        yield "HBM"  # the arrays are too large for it: nothing is said of the block
    elif block.legal != found["lowered"]:
        yield "Pallas"
    elif found["lowered"] and call is not None and call.compiles != ("error" not in found):
        yield "Mosaic"
    elif "memref" in found:
        if str(block.memref) != found["memref"]:
            yield "memref"
        if found["inside"] == [False, False] and call is not None and call.vmem != found["vmem"]:
            yield "VMEM"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:4])
    else:
        main(*map(int, sys.argv[1:4]))
