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

    A loop is what comes back to an instruction that every way to it passes; of two the shorter one.
    """
    names, ways = _graph(listing(cubin, folder))
    back = [(to, at) for at, targets in enumerate(ways) for to in targets if to <= at and not _reach(ways, 0, to)[at]]
    turned = [[] for _name in names]
    for at, targets in enumerate(ways):
        for to in targets:
            turned[to].append(at)
    inside = [(first, _reach(turned, last, first)) for first, last in back]
    loops = [[name for k, name in enumerate(names) if k == first or found[k]] for first, found in inside]
    heavy = ("UTCHMMA",) if any(x.startswith("UTCHMMA") for x in names) else ("HMMA", "HGMMA", "FFMA")
    loop = max(loops, key=lambda x: (sum(name.startswith(heavy) for name in x), -len(x)))
    kept = [name for name in loop if name.split(".")[0] not in ("NOP", "BRA", "BSSY", "BSYNC")]
    return len(kept), registers(cubin)


def _graph(text):
    """The instructions of a listing, and the numbers of those that may come behind each."""
    labels, lines = {}, []
    for line in text.splitlines():
        if label := re.match(r"(\.L_\w+):", line):
            labels[label[1]] = len(lines)
        elif found := INSTRUCTION.match(line):
            lines.append((found[1], line))
    ways, meets = [], {}
    for at, (name, line) in enumerate(lines):
        word, to = name.split(".")[0], [labels[x] for x in re.findall(r"`\((\.L_\w+)\)", line) if x in labels]
        if word == "BSSY":
            meets[re.search(r"\bB\d+", line)[0]] = to
        always = not re.search(r"@!?U?P", line) and (name == "BRA" or word in ("EXIT", "RET"))
        there = to if word == "BRA" else meets.get(re.search(r"\bB\d+", line)[0], []) if word == "BSYNC" else []
        ways.append([*there, *([] if always or at + 1 == len(lines) else [at + 1])])
    return [name for name, _line in lines], ways


def _reach(ways, start, without):
    """Whether each instruction is reached from one, past another one."""
    found, waiting = [False] * len(ways), [start] if start != without else []
    while waiting:
        at = waiting.pop()
        if not found[at]:
            found[at] = True
            waiting += [to for to in ways[at] if to != without]
    return found


def registers(cubin):
    """The registers of a thread, as the machine code says of itself: EIATTR_REGCOUNT of its sections .nv.info."""
    return max(
        struct.unpack_from("<I", cubin, found.end() + 4)[0] for found in re.finditer(rb"\x04\x2f\x08\x00", cubin)
    )
