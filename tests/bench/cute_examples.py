"""Kernels of CUTLASS's own examples of CuTe's DSL, compiled without a GPU, as test data:
tests/data/ttgir/cute_examples.json.gz.

    python tests/bench/cute_examples.py CUTLASS # a checkout of github.com/NVIDIA/cutlass; needs
    nvidia-cutlass-dsl and torch

Each example is run as a script up to its first compilation, with torch on the CPU: its textual IR (CUTE_DSL_KEEP_IR),
and how often its PTX has each instruction that the tests count.
"""

import gzip
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

PATH = Path(__file__).parents[1] / "data" / "ttgir" / "cute_examples.json.gz"
FOLDER = "examples/python/CuTeDSL/cute"
_COUNTED = re.compile(
    r"\b(wgmma\.mma_async|mma\.sync|tcgen05\.(?:ld|st|cp|mma)|cp\.async\.bulk\.tensor|cp\.async\.c[ag]|stmatrix|ldmatrix|(?:ld|st)\.(?:shared|global))(?!::)"
)
_SMALL = ("--mnkl", "512,512,512,1", "--skip_ref_check")
_FP8 = ("--a_dtype", "Float8E4M3FN", "--b_dtype", "Float8E4M3FN", "--c_dtype", "Float16")
_COLUMNS = ("--a_major", "m", "--b_major", "n", "--c_dtype", "Float32")
_HOPPER, _BLACKWELL = "hopper/kernel/dense_gemm/dense_gemm.py", "blackwell/tutorial"
PROGRAMS = {
    "elementwise_sm80": ("sm_80", "ampere/kernel/elementwise/elementwise_add.py", "--skip_ref_check"),
    "gemm_sm80": ("sm_80", "ampere/kernel/dense_gemm/tensorop_gemm.py", *_SMALL),
    "attention_sm80": ("sm_80", "ampere/kernel/attention/flash_attention_v2.py", "--skip_ref_check"),
    "gemm_sm90": ("sm_90a", _HOPPER, *_SMALL),
    "gemm_fp8_sm90": ("sm_90a", _HOPPER, *_SMALL, *_FP8),
    "gemm_columns_sm90": ("sm_90a", _HOPPER, *_SMALL, *_COLUMNS),
    "gemm_cluster_sm90": ("sm_90a", _HOPPER, *_SMALL, "--tile_shape_mn", "128,256", "--cluster_shape_mn", "2,1"),
    "gemm_sm100": ("sm_100a", "blackwell/kernel/dense_gemm/dense_gemm.py", *_SMALL),
    "gemm_nvfp4_sm100": ("sm_100a", f"{_BLACKWELL}/tutorial_gemm/nvfp4_gemm_0.py"),
    "tma_sm100": ("sm_100a", f"{_BLACKWELL}/tutorial_tma/tma_v0.py"),
    "tma_transpose_sm100": ("sm_100a", f"{_BLACKWELL}/tutorial_tma/tma_v1.py"),
}


class Compiled(Exception):
    """An example has compiled its kernel: the rest needs a GPU."""


def without_gpu(arch):
    """Let torch, the driver and the DSL do without a GPU, up to the compilation."""
    import cuda.bindings.driver as driver
    import cutlass.cute.testing
    import cutlass.torch
    import cutlass.utils
    import torch
    from cutlass import cute

    def on_cpu(function):
        def called(*arguments, **named):
            named = {k: v for k, v in named.items() if k != "device"}
            return function(*(a for a in arguments if "cuda" not in str(a)[:4]), **named)

        return called

    torch.Tensor.cuda = lambda self, *_, **__: self
    for name in (
        "empty",
        "zeros",
        "ones",
        "randn",
        "rand",
        "randint",
        "full",
        "tensor",
        "arange",
        "empty_like",
        "empty_strided",
    ):
        setattr(torch, name, on_cpu(getattr(torch, name)))
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda *_: divmod(int(re.sub(r"\D", "", arch)), 10)
    torch.cuda.current_stream = lambda *_: type("Stream", (), {"cuda_stream": 0})
    driver.cuInit = lambda *_: (driver.CUresult.CUDA_SUCCESS,)
    driver.cuDeviceGetCount = lambda: (driver.CUresult.CUDA_SUCCESS, 1)
    cutlass.utils.HardwareInfo = type("HardwareInfo", (), {"get_max_active_clusters": lambda *_: 132})
    cutlass.torch.default_stream = lambda: driver.CUstream(0)
    cute.testing.convert = lambda *_, **__: None
    compile_ = cute.compile

    def once(function, *arguments, **named):
        found = compile_(function, *arguments, **{k: v for k, v in named.items() if k != "options"})
        if "cvt_sf" in getattr(
            function, "__name__", ""
        ):  # of a helper: its scales are converted before the kernel is compiled
            return lambda *_: found and None
        raise Compiled

    cute.compile = type(
        "Compile", (), {"__call__": lambda _, *a, **k: once(*a, **k), "__getitem__": lambda _, __: once}
    )()
    if arch == "sm_80":
        in_global_memory()


def in_global_memory():
    """Say of tensors on the CPU that they are in global memory, as cp.async wants it."""
    from cutlass._mlir import ir
    from cutlass.cute import runtime

    kind = runtime._Tensor.mlir_type
    runtime._Tensor.mlir_type = property(
        lambda self: ir.Type.parse(str(kind.fget(self)).replace(", generic,", ", gmem,"))
    )


def run(arch, script, *arguments):
    """Run an example up to its compilation."""
    sys.path[:0] = [os.path.dirname(script), str(Path(script).parents[4])]
    without_gpu(arch)
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    except Compiled:
        return


def compiled(cutlass, arch, script, *arguments):
    """The IR and the PTX of an example's kernel, the largest of those that it compiles."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"CUTE_DSL_KEEP_IR": "1", "CUTE_DSL_KEEP_PTX": "1", "CUTE_DSL_NO_CACHE": "1"}
        environment |= {"CUTE_DSL_DUMP_DIR": folder, "CUTE_DSL_ARCH": arch}
        command = [sys.executable, __file__, "--run", arch, str(Path(cutlass) / FOLDER / script), *arguments]
        subprocess.run(command, env=os.environ | environment, check=True, stdout=subprocess.DEVNULL)
        ir, ptx = (max((p.read_text() for p in Path(folder).glob(f"*.{kind}")), key=len) for kind in ("mlir", "ptx"))
    return ir, ptx


def main(cutlass):
    rows = []
    for name, program in PROGRAMS.items():
        ir, ptx = compiled(cutlass, *program)
        rows.append({"name": name, "ir": ir, "ptx": Counter(_COUNTED.findall(ptx))})
        print(name, rows[-1]["ptx"], flush=True)
    PATH.write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":"), sort_keys=True).encode(), mtime=0))


if __name__ == "__main__":
    run(*sys.argv[2:]) if sys.argv[1] == "--run" else main(sys.argv[1])
