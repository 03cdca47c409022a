"""Programs compiled ahead of time by libtpu, with XLA's own account of each: no TPU is needed.

    pip install jax libtpu
    python tests/bench/tpu/harness.py mlp:3:v5e:2x2 ...        # compile these programs, and print what XLA says of each

A program is FAMILY:SEED:TOPOLOGY, of a family of programs.py. What is compiled is kept in a folder of its own under
$TLA_TPU_CACHE (by default `tla-tpu` in the folder for temporary files):

    program.txt     the optimized, scheduled HLO module, as --xla_dump_to has it
    facts.json      peak: memory_analysis().peak_memory_in_bytes; heap: totals of the memory usage report by memory
                    space; ranges: the steps between which each value lives; values: the bytes of each value that buffer
                    assignment placed
"""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(os.environ.get("TLA_TPU_CACHE", Path(tempfile.gettempdir()) / "tla-tpu"))
#: libtpu asks for these before it compiles on a machine without a TPU.
ENVIRONMENT = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "JAX_PLATFORMS": "cpu",
    "TPU_ACCELERATOR_TYPE": "",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
TOPOLOGIES = ("v2:2x2", "v3:2x2", "v4:2x2x1", "v5e:2x2", "v5p:2x2x1", "v6e:2x2", "tpu7x:2x2x1")
SECONDS = 600


def folder_of(name):
    """The folder of a program: by its name, and by what the function of its family says."""
    tree = ast.parse(Path(__file__).with_name("programs.py").read_text())
    family, seed, topology = name.split(":", 2)
    body = next(ast.unparse(node) for node in tree.body if getattr(node, "name", "") == family)
    digest = hashlib.sha256((body + name).encode()).hexdigest()[:12]
    return CACHE / f"{family}_{seed}_{topology.replace(':', '_')}_{digest}"


def compiled(name):
    """The folder of a program, which is compiled if it is not there; None where JAX or libtpu refuses it."""
    folder = folder_of(name)
    if not (folder / "facts.json").exists() and not (folder / "refused.txt").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, "--one", name, str(folder)]
        try:
            done = subprocess.run(
                command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=SECONDS
            )
            error = done.stderr[-2000:] if done.returncode else ""
        except subprocess.TimeoutExpired:
            error = f"more than {SECONDS} seconds"
        if error:
            (folder / "refused.txt").write_text(error)
    return folder if (folder / "facts.json").exists() else None


def facts(folder):
    return json.loads((folder / "facts.json").read_text())


def one(name, folder):
    """Compile one program in this process, and keep what XLA says of it."""
    import random

    import programs
    from jax.experimental import topologies

    family, seed, topology = name.split(":", 2)
    devices = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
    program = programs.FAMILIES[family](random.Random(f"{family}:{seed}"), devices)
    keep(program, folder, topology)


def keep(program, folder, topology):
    import jax

    with tempfile.TemporaryDirectory() as dump:
        found = (
            jax.jit(program.function, **program.options)
            .lower(*program.arguments)
            .compile({"xla_dump_to": dump, "xla_dump_hlo_as_proto": True, "xla_dump_hlo_as_text": True})
        )
        (folder / "program.txt").write_text(dumped(dump, "after_optimizations.txt"))
        (folder / "program.pb").write_bytes(largest(dump, "after_optimizations.hlo.pb").read_bytes())
        analysis = found.memory_analysis()
        value = {
            "topology": topology,
            "peak": analysis.peak_memory_in_bytes,
            "arguments": analysis.argument_size_in_bytes,
            "results": analysis.output_size_in_bytes,
            "heap": heap(dumped(dump, "after_optimizations-memory-usage-report.txt")),
            "ranges": ranges(dumped(dump, "after_optimizations-live-range.txt")),
            "values": values(dumped(dump, "after_optimizations-buffer-assignment.txt")),
        }
        (folder / "facts.json").write_text(json.dumps(value))


def dumped(folder, end):
    """The text of the main module's file with this ending: the largest one."""
    found = largest(folder, end)
    return "" if found is None else found.read_text()


def largest(folder, end):
    return max(Path(folder).glob(f"*.{end}"), key=lambda path: path.stat().st_size, default=None)


def heap(text):
    return {color: int(size) for color, size in re.findall(r"\(color=(\d+)\)\nTotal bytes: (\d+)", text)}


def ranges(text):
    return {
        name: [int(a), int(b)] for name, a, b in re.findall(r"^    (\S+\{[\d,]*\}):(\d+)-(\d+)$", text, re.MULTILINE)
    }


def values(text):
    return {
        name: int(size) for name, size in re.findall(r"^ value: <\d+ (.+?) @\d+> \(size=(\d+),", text, re.MULTILINE)
    }


def main(names):
    for name in names:
        folder = compiled(name)
        if folder is None:
            print(f"{name:32} refused: {(folder_of(name) / 'refused.txt').read_text().strip().splitlines()[-1][:150]}")
        else:
            found = facts(folder)
            print(f"{name:32} peak {found['peak']:,} heap {found['heap']} in {folder}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]))
    else:
        main(sys.argv[1:])
