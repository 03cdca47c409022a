"""CUDA compiled by NVRTC where its packages are: PTX, machine code, and the instructions of both. No GPU, no driver."""

import collections
import ctypes
import functools
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+\s+)?([\w.]+)", re.M)


def installed(*patterns):
    """The files of packages, wherever Python looks for these: a virtual environment may stand over another one."""
    return sorted(
        path for folder in dict.fromkeys(sys.path) for pattern in patterns for path in Path(folder).glob(pattern)
    )


@functools.cache
def library():
    """The newest NVRTC that is installed; the test is skipped where there is none."""
    found = installed("nvidia/**/libnvrtc.so.*")
    if not found:
        pytest.skip("needs nvidia-cuda-nvrtc")
    return ctypes.CDLL(str(found[-1]))


def compiled(source, arch="sm_90"):
    """The PTX and the cubin of a source; an AssertionError with NVRTC's log where it is refused."""
    headers = [f"--include-path={path.parent}" for path in installed("nvidia/**/include/cuda_fp16.h")[:1]]
    if "#include <cuda_" in source and not headers:
        pytest.skip("needs the headers of CUDA: nvidia-cuda-runtime")
    nvrtc, program = library(), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    words = [f"--gpu-architecture={arch}", "--std=c++17", *headers]
    failed = nvrtc.nvrtcCompileProgram(
        program, len(words), (ctypes.c_char_p * len(words))(*(w.encode() for w in words))
    )

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


def listing(cubin, folder):
    """The machine code as text; the test is skipped without nvdisasm."""
    places = installed("nvidia/**/bin/nvdisasm", "triton/backends/nvidia/bin/nvdisasm")
    tool = shutil.which("nvdisasm") or next(map(str, places), None)
    if tool is None:
        pytest.skip("needs nvidia-cuda-nvdisasm, or Triton's")
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    return subprocess.run([tool, "-c", str(path)], capture_output=True, text=True, check=True).stdout


def opcodes(cubin, folder):
    """How often each instruction stands in the machine code, by its whole name."""
    text = listing(cubin, folder)
    lines = INSTRUCTION.findall(text)
    assert lines, text
    return collections.Counter(lines)


def main_loop(cubin, folder):
    """The number of instructions of the loop that has the most multiplications, without branches; and the
    registers of a thread.

    A loop is what lies between a label and a branch back to it; of two the shorter one.
    """
    text = listing(cubin, folder)
    labels, names, back = {}, [], []
    for line in text.splitlines():
        if label := re.match(r"(\.L_\w+):", line):
            labels[label[1]] = len(names)
        elif found := INSTRUCTION.match(line):
            names.append(found[1])
            branch = re.search(r"\bBRA\b.*`\((\.L_\w+)\)", line)
            if branch and branch[1] in labels:
                back.append((labels[branch[1]], len(names)))

    def heavy(loop):
        return sum(name.startswith(("HMMA", "HGMMA", "FFMA")) for name in names[slice(*loop)])

    loop = max(back, key=lambda b: (heavy(b), b[0] - b[1]))
    kept = [name for name in names[slice(*loop)] if name.split(".")[0] not in ("NOP", "BRA")]
    return len(kept), registers(cubin)


def registers(cubin):
    """The registers of a thread: the highest byte of what the section of the machine code says of
    itself (ELF's sh_info)."""
    (start,), (each, count) = struct.unpack_from("<Q", cubin, 0x28), struct.unpack_from("<HH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQII", cubin, start + each * k) for k in range(count)]
    return max(info >> 24 for _name, kind, flags, *_rest, info in sections if kind == 1 and flags & 4)
