"""Conversions as Gluon's text, compiled by Triton for a GPU that is not there: what the machine's text has.

Triton's C++ asserts abort the process, so that each one is compiled in a process of its own, which is a copy
of this one.
"""

import functools
import importlib
import importlib.util
import os
import re
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import pytest

KINDS = {8: "*i8", 16: "*fp16", 32: "*fp32", 64: "*i64"}
KERNEL = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl


{function}


@gluon.jit
def kernel(p, q):
    a: gl.constexpr = {given}
    b: gl.constexpr = {wanted}
    x = gl.load(p + {begin_a})
    gl.store(q + {begin_b}, f(x))
"""
#: Instructions that are counted, by their names in PTX and in AMD's assembler; one with two addresses is two.
_NVIDIA = re.compile(r"^\s+(?:@\S+ )?(ld\.shared|st\.shared|ldmatrix|stmatrix|shfl)", re.M)
_AMD = re.compile(r"^\s+((?:ds|v_permlane|scratch)_\w+|\w+_dpp)\s", re.M)


@functools.cache
def require():
    """Skip the test without Triton 3.9; its caches go to a folder that nobody reads again."""
    release = pytest.importorskip("triton").__version__
    if tuple(map(int, release.split(".")[:2])) != (3, 9):
        pytest.skip(f"Triton {release}, not 3.9")
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    for name in ("experimental.gluon._runtime", "backends.compiler"):  # once, not in each process
        importlib.import_module(f"triton.{name}")


def compiled(plan, arch, folder):
    """The PTX, or AMD's assembler text, of a kernel that loads, converts by `plan.gluon()` and stores a tile,
    row by row."""
    wave, warps = (plan.src.get_in_dim_size(name) for name in ("lane", "warp"))
    return assembled(_kernel(plan), dict.fromkeys("pq", KINDS[plan.element_bits]), arch, wave, warps, folder)


def assembled(source, signature, arch, wave, warps, folder, aligned=False):
    """The PTX, or AMD's assembler text, of a module whose kernel is called `kernel`; an AssertionError with
    what Triton said.

    aligned   whether all pointers are multiples of 16 bytes
    """
    require()
    path = Path(folder) / "converted.py"
    path.write_text(source)
    child = os.fork()
    if not child:
        _compile_and_leave(path, signature, arch, wave, warps, aligned)
    status = os.waitpid(child, 0)[1]
    assert not status, path.with_suffix(".log").read_text()[-3000:]
    return path.with_suffix(".s").read_text()


def _compile_and_leave(path, *kernel):
    """In the child: write the text, and leave without what else this process would do at its end."""
    log = os.open(path.with_suffix(".log"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    try:
        warnings.simplefilter("ignore")  # of what Triton's next release changes
        os.dup2(log, 2)
        path.with_suffix(".s").write_text(_asm(path, *kernel))
        os._exit(0)
    except BaseException as error:
        os.write(log, str(error).encode())
        os._exit(1)


def _asm(path, signature, arch, wave, warps, aligned):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cuda = arch.startswith("sm_")
    target = GPUTarget("cuda", int(arch[3:]), wave) if cuda else GPUTarget("hip", arch, wave)
    pointers = [k for k, kind in enumerate(signature.values()) if kind.startswith("*") and aligned]
    aligned = {(k,): [["tt.divisibility", 16]] for k in pointers}
    made = triton.compile(
        GluonASTSource(module.kernel, signature, attrs=aligned), target=target, options={"num_warps": warps}
    )
    return made.asm["ptx" if cuda else "amdgcn"]


def _kernel(plan):
    names = sorted(plan.src.out_dims)
    shape = [plan.src.out_dims[name] for name in names]
    given, wanted = (_layout(x, names, shape) for x in (plan.src, plan.dst))
    return KERNEL.format(
        function=plan.gluon("f"), given=given, wanted=wanted, begin_a=index(shape, "a"), begin_b=index(shape, "b")
    )


def _layout(layout, names, shape):
    order = [layout.get_out_dim_names().index(name) for name in names]
    parts = [[[v[k] for k in order] for v in layout.bases[part]] for part in ("register", "lane", "warp")]
    return f"gl.DistributedLinearLayout({', '.join(map(str, parts))}, [], {shape})"


def index(shape, layout):
    """The index of each element of a tile of rows, in a layout that is a name of the kernel."""
    if len(shape) == 1:
        return f"gl.arange(0, {shape[0]}, {layout})"
    row, column = (f"gl.arange(0, {n}, gl.SliceLayout({1 - k}, {layout}))" for k, n in enumerate(shape))
    return f"({row} * {shape[1]})[:, None] + {column}[None, :]"


def counted(text, arch):
    """How many instructions of shared memory there are, and how many shuffles."""
    if arch.startswith("sm_"):
        found = Counter(_NVIDIA.findall(text))
        return sum(found.values()) - found["shfl"], found["shfl"]
    found = Counter(_AMD.findall(text))
    assert not any(op.startswith("scratch") for op in found), found
    shuffles = sum(n for op, n in found.items() if not op.startswith("ds_")) + found.pop("ds_bpermute_b32", 0)
    return sum(n * _addresses(op) for op, n in found.items() if op.startswith("ds_")), shuffles


def _addresses(op):
    return 2 if re.search("read2|write2|2addr", op) else 1


def moved_bits(text):
    """The bits that a lane moves by AMD's instructions of LDS, each with its width in its name."""
    found = Counter(re.findall(r"^\s+(ds_(?!bpermute)\w+)\s", text, re.M))
    return sum(n * _addresses(op) * int(re.search(r"_[bu](\d+)", op)[1]) for op, n in found.items())
