"""CUDA compiled by NVRTC where its packages are: PTX, machine code, and the instructions of both. No GPU, no driver."""

import collections
import ctypes
import functools
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

SITE = Path(sysconfig.get_paths()["purelib"])


@functools.cache
def library():
    """The newest NVRTC that is installed; the test is skipped where there is none."""
    found = sorted(SITE.glob("nvidia/**/libnvrtc.so.*"))
    if not found:
        pytest.skip("needs nvidia-cuda-nvrtc")
    return ctypes.CDLL(str(found[-1]))


def compiled(source, arch="sm_90"):
    """The PTX and the cubin of a source; an AssertionError with NVRTC's log where it is refused."""
    nvrtc, program = library(), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    headers = [f"--include-path={path.parent}" for path in [*SITE.glob("nvidia/**/include/cuda_fp16.h")][:1]]
    words = [f"--gpu-architecture={arch}", "--std=c++17", *headers]
    failed = nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*(w.encode() for w in words)))

    def read(size, get):
        n = ctypes.c_size_t()
        size(program, ctypes.byref(n))
        text = ctypes.create_string_buffer(n.value)
        get(program, text)
        return text.raw

    log = read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).decode(errors="replace")
    assert not failed, log
    ptx = read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX).decode().rstrip("\0")
    return ptx, read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)


def opcodes(cubin, folder):
    """How often each instruction stands in the machine code, by its whole name; the test is skipped without nvdisasm."""
    places = [*SITE.glob("nvidia/**/bin/nvdisasm"), *SITE.glob("triton/backends/nvidia/bin/nvdisasm")]
    tool = shutil.which("nvdisasm") or next(map(str, sorted(places)), None)
    if tool is None:
        pytest.skip("needs nvidia-cuda-nvdisasm, or Triton's")
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    text = subprocess.run([tool, "-c", str(path)], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^\s+/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+\s+)?([\w.]+)", text, re.M)
    assert lines, text
    return collections.Counter(lines)
