"""A kernel for a grid of threads, in CUDA or HIP, which differ in the names of their runtimes.

Source: the CUDA C++ Programming Guide; AMD's HIP documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ...codegen.c_languages import C_FAMILY
from ...codegen.expressions.integer_types import Integer
from ...codegen.sources.contracts import emit_tma
from ...gpu.descriptors.tensor_map import TensorMap
from ...symbolic import SymInt
from ..program.instructions import Instructions
from ..program.resources import alignment, placed
from ..program.statements import Program
from ..text.names import WORD
from ..text.source import Form, Parts, Source, shared_bytes
from ..text.statements import Writer
from ..tiles.whole import with_whole_tiles

#: The bytes of shared memory that arrays of a kernel may have. Source: CUDA C++ Programming Guide, "Technical
#: Specifications".
MOST_STATIC = 48 * 1024
#: The blocks of a cluster that every GPU with clusters runs. Source: the same, "Thread Block Clusters".
_PORTABLE = 8
#: The driver's function that makes a tensor map, and its type since CUDA 12. Source: the CUDA driver API,
#: cudaTypedefs.h.
_ENCODE, _ENCODE_TYPE = "cuTensorMapEncodeTiled", "PFN_cuTensorMapEncodeTiled_v12000"


class Runtime(NamedTuple):
    """A runtime, and what the text of a kernel for it may have.

    name           what its functions and types begin with, which is the language's name too
    without_host   the macro of a compiler that has no code of the host
    registers      what bounds the registers of a thread, in place of the threads of a block; None where
                   a compiler chooses
    exchanged      the value of another thread of the warp: of the thread's own, and the mask of the threads'
                   difference
    adds           how an element of memory is added to atomically: of it, and what is added
    instructions   of whether tensor memory is used, makes what writes asynchronous copies and instructions
                   of several threads
    """

    name: str
    without_host: str
    registers: str | None
    exchanged: str
    adds: str
    instructions: Callable[[bool], Instructions]


def write_grid(parts: Parts, runtime: Runtime) -> Source:
    """The text of a program for a grid of threads, and its launch by a runtime. Source: ours."""
    parts = parts._replace(program=with_whole_tiles(parts.program))
    p, language = parts.program, C_FAMILY[runtime.name]
    instructions = runtime.instructions(bool(p.tmem))
    writer = Writer(p, language, "{}[{}]", "{}[{}]", runtime.adds, instructions, exchanged=runtime.exchanged)
    blocks = [*writer.blocks()]
    kind = language.integers[str(Integer(writer.bits, True))]
    body = [*_shared(p, writer), *(f"unsigned int tmem{k};" for k, x in enumerate(p.tmem) if x.data is not None)]
    waits = {"{barrier}": writer.barrier()} | ({"{cluster_sync}": writer.cluster_sync()} if p.cluster else {})
    body += [f"__align__(16) {writer.element_type(t)} {name}[{len(t.data)}];" for name, t in writer.registers.values()]
    for block in blocks:
        lines = [waits.get(line, line.replace("{int}", kind)) for line in block.lines]
        if block.threads:
            lines = [lines[0], "{", *(f"    {line}" for line in lines[1:]), "}"]
        body += [f"{'    ' * block.indent}{line}" for line in lines]
    words = {*WORD.findall("\n".join(body))}
    indices = {"tid": "threadIdx.x"} | {f"bid{k}": f"blockIdx.{'xyz'[k]}" for k in range(len(p.grid))}
    body = [*(f"const {kind} {name} = {x};" for name, x in indices.items() if name in words), *body]
    bounds = f"__launch_bounds__({p.threads}, 1)"
    if p.registers is not None and runtime.registers is not None:
        bounds = runtime.registers.format(p.registers)
    before = f'extern "C" __global__ void {bounds}'
    device, of_map = "static __device__ __forceinline__", "const __grid_constant__ CUtensorMap"
    form = Form(language.head(), before, device, kind, map=of_map)
    return parts.source(writer, body, form, after=_launch(parts, writer, kind, runtime))


def _shared(p: Program, writer: Writer) -> list[str]:
    """The arrays in shared memory; past what a compiler takes, parts of the memory that the launch asks for."""
    if not _is_asked_for(p):
        named = ((f"__align__({alignment(t.data.nbytes)}) {writer.element_type(t)}", t) for t in p.shared)
        return [f"__shared__ {kind} smem{k}[{len(t.data)}];" for k, (kind, t) in enumerate(named)]
    lines = ["extern __shared__ __align__(1024) unsigned char shared_memory[];"]
    for k, (t, start) in enumerate(zip(p.shared, placed(t.data.nbytes for t in p.shared)[0])):
        kind = writer.element_type(t)
        lines.append(f"{kind} *const smem{k} = reinterpret_cast<{kind} *>(shared_memory + {start});")
    return lines


def _is_asked_for(p: Program) -> bool:
    """Whether shared memory is more than what an array of the kernel may have: then the launch asks for it."""
    return shared_bytes(p) > MOST_STATIC


def _launch(parts: Parts, writer: Writer, kind: str, runtime: Runtime) -> Callable[[list[str], list[str]], list[str]]:
    """The lines of the host's launch: it refuses sizes that break a condition, and does nothing for no block."""
    p, name, api = parts.program, parts.name, runtime.name
    grid = writer.values(p.grid)

    def lines(parameters: list[str], required: list[str]) -> list[str]:
        refused = [f"if (!{name}_requires({', '.join(required)})) return {api}ErrorInvalidValue;"] if required else []
        blocks, maps = [grid.of(n) for n in p.grid], [f"map{k}" for k in range(len(writer.maps))]
        asked = shared_bytes(p) if _is_asked_for(p) else 0
        attribute = f"{api}FuncAttributeMaxDynamicSharedMemorySize"
        settings = [(attribute, asked)] if asked else []
        if math.prod(p.cluster) > _PORTABLE:
            settings.append((f"{api}FuncAttributeNonPortableClusterSizeAllowed", 1))
        enough = [f"{api}FuncSetAttribute((const void *){name}, {what}, {value})" for what, value in settings]
        started = _started(name, api, f"dim3({', '.join(blocks)})", p.threads, asked, [*parts.order, *maps], p.cluster)
        body = [
            *refused,
            *(f"if ({api}Error_t error = {x}; error != {api}Success) return error;" for x in enough),
            *(line.format(int=kind) for line in grid.lines),
            f"if ({' || '.join(f'{n} == 0' for n in blocks)}) return {api}Success;",
            *_maps_made(writer, name),
            *started,
        ]
        head = f"static inline {api}Error_t {name}_launch({', '.join([*parameters, f'{api}Stream_t stream'])}) {{"
        function = [head, *(f"    {line}" for line in body), "}"]
        return [f"#ifndef {runtime.without_host}", *_encoders(writer, name), *function, "#endif"]

    return lines


def _started(
    name: str, api: str, grid: str, threads: int, asked: int, given: list[str], cluster: tuple[int, ...]
) -> list[str]:
    """The lines of a launch that start the kernel: in clusters by an attribute of the launch."""
    if not cluster:
        return [f"{name}<<<{grid}, {threads}, {asked}, stream>>>({', '.join(given)});", f"return {api}GetLastError();"]
    sizes = zip("xyz", (*cluster, 1, 1))
    return [
        f"{api}LaunchAttribute cluster;",
        f"cluster.id = {api}LaunchAttributeClusterDimension;",
        *(f"cluster.val.clusterDim.{axis} = {n};" for axis, n in sizes),
        f"{api}LaunchConfig_t config = {{}};",
        f"config.gridDim = {grid};",
        f"config.blockDim = dim3({threads});",
        f"config.dynamicSmemBytes = {asked};",
        "config.stream = stream;",
        "config.attrs = &cluster;",
        "config.numAttrs = 1;",
        f"return {api}LaunchKernelEx(&config, {', '.join([name, *given])});",
    ]


def _encoders(writer: Writer, name: str) -> list[str]:
    """The host's functions that make tensor maps, each by the driver's function given; sizes are of 64 bits."""
    lines = []
    for k, (_argument, made) in enumerate(writer.maps):
        sizes = "".join(f", cuuint64_t {n}" for n in _sizes(made))
        *before, call = emit_tma(made).splitlines()
        given = f"{_ENCODE_TYPE} {_ENCODE}, CUtensorMap &map, void *address{sizes}"
        lines.append(f"static inline CUresult {name}_map{k}({given}) {{")
        lines += [*(f"    {line}" for line in (*before, f"return {call}")), "}"]
    return lines


def _maps_made(writer: Writer, name: str) -> list[str]:
    """The lines of a launch that make its tensor maps."""
    if not writer.maps:
        return []
    lines = [
        "void *encode = nullptr;",
        "cudaDriverEntryPointQueryResult found;",
        "#if CUDART_VERSION >= 12050",
        f'cudaError_t error = cudaGetDriverEntryPointByVersion("{_ENCODE}", &encode, 12000, cudaEnableDefault, &found);',
        "#else",
        f'cudaError_t error = cudaGetDriverEntryPoint("{_ENCODE}", &encode, cudaEnableDefault, &found);',
        "#endif",
        "if (error != cudaSuccess) return error;",
    ]
    for k, (argument, made) in enumerate(writer.maps):
        given = "".join(f", {n}" for n in _sizes(made))
        call = f"{name}_map{k}(reinterpret_cast<{_ENCODE_TYPE}>(encode), map{k}, (void *){argument}{given})"
        lines += [f"CUtensorMap map{k};", f"if ({call} != CUDA_SUCCESS) return cudaErrorInvalidValue;"]
    return lines


def _sizes(made: TensorMap) -> list[str]:
    """The sizes that a tensor map is of."""
    found = (n for x in (*made.shape, *made.strides) if isinstance(x, SymInt) for n in x.symbols)
    return [*dict.fromkeys(map(str, found))]
