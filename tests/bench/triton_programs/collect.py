"""Programs that Triton compiled without a GPU, as test data: tests/data/ttgir, with the memory instructions of their
PTX or assembler text.

    python tests/bench/triton_programs/collect.py [NAME...]       # needs Triton 3.9

Of each program there is the TTGIR, and how often its last text has each memory instruction, by the line and the column
of the source.
"""

import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path

import gluon_kernels
import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource

DATA = Path(__file__).parents[2] / "data" / "ttgir"
SIXTEEN = [["tt.divisibility", 16]]
_PTX = r"(?:ld|st)\.(?:shared|global)\S*|ldmatrix\S*|stmatrix\S*|shfl\S*|redux\S*|atom\S*|cp\.async\.c[ag]\S*|cp\.async\.bulk\.tensor\S*"
_GCN = r"ds_\w+|(?:global|buffer)_(?:load|store)\w*"
_COUNTED = re.compile(rf"(?:^|\s)({_PTX}|{_GCN})\s")
_LOC = re.compile(r"\s*\.loc\s+\d+ (\d+) (\d+)")


def matmul(kind="fp16", out="fp16", tile=(64, 64, 32), major="nn", warps=4, stages=3, **target):
    strides = {"sak": 1, "scn": 1, **({"sbn": 1} if major == "nn" else {"sbk": 1} if major == "nt" else {})}
    kinds = {
        "a": f"*{kind}",
        "b": f"*{kind}",
        "c": f"*{out}",
        **dict.fromkeys(("M", "N", "K", "sam", "sak", "sbk", "sbn", "scm", "scn"), "i32"),
    }
    if major == "strided":
        strides = {}
    return dict(
        fn="matmul",
        kinds=kinds,
        constants={**strides, **dict(zip(("BM", "BN", "BK"), tile))},
        warps=warps,
        stages=stages,
        **target,
    )


def matmul_tma(tile, **target):
    kinds = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
    return dict(
        fn="matmul_tma", kinds=kinds, constants=dict(zip(("BM", "BN", "BK"), tile)), warps=4, stages=3, **target
    )


def attention(tile, kind="fp16", warps=4, stages=2, **target):
    kinds = {**dict.fromkeys("qkvo", f"*{kind}"), "sm": "fp32", "T": "i32"}
    return dict(
        fn="attention", kinds=kinds, constants=dict(zip(("BM", "BN", "D"), tile)), warps=warps, stages=stages, **target
    )


def simple(fn, kinds, warps=4, plain=(), **rest):
    """A kernel of pointers, integers and constants. plain: the arguments that nothing divides."""
    constants = {k: v for k, v in rest.items() if k[:1].isupper()}
    return dict(
        fn=fn,
        kinds=kinds,
        constants=constants,
        warps=warps,
        stages=2,
        plain=plain,
        **{k: v for k, v in rest.items() if k not in constants},
    )


SM80, SM90, SM100 = {"cuda": 80}, {"cuda": 90}, {"cuda": 100}
ROWS = {"x": "*fp16", "y": "*fp16", "M": "i32", "N": "i32"}
SOFTMAX = {"x": "*fp32", "y": "*fp32", "sx": "i32", "sy": "i32", "N": "i32"}
NORM = {"x": "*fp16", "y": "*fp16", "w": "*fp32", "b": "*fp32", "N": "i32", "eps": "fp32"}
COPY = {"x": "*fp32", "y": "*fp32", "S": "i32"}
PRODUCT = {"a": "*fp16", "b": "*fp16", "c": "*fp32", **dict.fromkeys("MNK", "i32")}
FLOATS, HALVES = dict.fromkeys("xy", "*fp32"), {"a": "*fp16", "b": "*fp16", "c": "*fp32"}

PROGRAMS = {
    "matmul_f16_sm80": matmul(**SM80),
    "matmul_f16_sm90": matmul(tile=(128, 128, 64), **SM90),
    "matmul_f16_sm100": matmul(tile=(128, 128, 64), **SM100),
    "matmul_f16_nt_sm80": matmul(major="nt", **SM80),
    "matmul_f16_strided_sm80": matmul(major="strided", **SM80),
    "matmul_f16_large_sm80": matmul(tile=(128, 128, 32), warps=8, **SM80),
    "matmul_bf16_sm80": matmul("bf16", "bf16", **SM80),
    "matmul_bf16_sm90": matmul("bf16", "bf16", tile=(64, 128, 64), **SM90),
    "matmul_tf32_sm80": matmul("fp32", "fp32", **SM80),
    "matmul_tf32_sm90": matmul("fp32", "fp32", tile=(64, 64, 32), **SM90),
    "matmul_i8_sm80": matmul("i8", "i32", tile=(64, 64, 64), **SM80),
    "matmul_i8_nt_sm80": matmul("i8", "i32", tile=(64, 64, 64), major="nt", **SM80),
    "matmul_fp8_sm90": matmul("fp8e4nv", "fp16", tile=(64, 64, 64), **SM90),
    "matmul_fp8_nt_sm90": matmul("fp8e4nv", "fp16", tile=(64, 64, 64), major="nt", **SM90),
    "matmul_f16_unpipelined_sm80": matmul(stages=1, **SM80),
    "matmul_f16_unpipelined_sm90": matmul(stages=1, tile=(64, 64, 64), **SM90),
    "matmul_tma_sm90": matmul_tma((128, 64, 64), **SM90),
    "attention_f16_sm80": attention((64, 32, 64), **SM80),
    "attention_f16_sm90": attention((64, 64, 64), **SM90),
    "attention_bf16_d128_sm80": attention((64, 32, 128), "bf16", **SM80),
    "softmax_1024_sm80": simple("softmax", SOFTMAX, B=1024, **SM80),
    "softmax_256_sm90": simple("softmax", SOFTMAX, warps=1, B=256, **SM90),
    "softmax_odd_sm80": simple("softmax", SOFTMAX, plain=("sx", "sy", "N"), B=512, **SM80),
    "layernorm_sm80": simple("layernorm", NORM, B=1024, **SM80),
    "layernorm_sm90": simple("layernorm", NORM, warps=8, B=2048, **SM90),
    "transpose_f16_sm80": simple("transpose", ROWS, B0=64, B1=64, **SM80),
    "transpose_f32_sm90": simple("transpose", {**ROWS, "x": "*fp32", "y": "*fp32"}, B0=32, B1=64, **SM90),
    "transpose_i8_sm80": simple("transpose", {**ROWS, "x": "*i8", "y": "*i8"}, B0=128, B1=64, **SM80),
    "transpose_f64_sm80": simple("transpose", {**ROWS, "x": "*fp64", "y": "*fp64"}, B0=32, B1=32, **SM80),
    "row_sums_sm80": simple("row_sums", {"x": "*fp32", "y": "*fp32", "N": "i32"}, B0=32, B1=128, **SM80),
    "gather_sm80": simple(
        "gather", {"x": "*fp16", "index": "*i32", "y": "*fp16", "N": "i32", "D": "i32"}, B=64, W=64, **SM80
    ),
    "permute_sm80": simple("permute", {"x": "*fp16", "y": "*fp16"}, A=16, B=16, C=32, **SM80),
    "copy_columns_sm80": simple("copy_columns", COPY, B0=64, B1=32, **SM80),
    "copy_columns_odd_sm80": simple("copy_columns", COPY, plain=("S",), B0=64, B1=32, **SM80),
    "matmul_f16_gfx942": matmul(stages=2, hip="gfx942"),
    "matmul_f16_gfx950": matmul(stages=2, hip="gfx950"),
    "matmul_f16_gfx1100": matmul(stages=2, hip="gfx1100"),
    "matmul_bf16_gfx942": matmul("bf16", "bf16", tile=(128, 64, 32), stages=2, hip="gfx942"),
    "attention_f16_gfx942": attention((64, 32, 64), hip="gfx942"),
    "softmax_1024_gfx942": simple("softmax", SOFTMAX, B=1024, hip="gfx942"),
    "transpose_f16_gfx942": simple("transpose", ROWS, B0=64, B1=64, hip="gfx942"),
    "layernorm_gfx1100": simple("layernorm", NORM, B=1024, hip="gfx1100"),
    "matmul_bf16_sm100": matmul("bf16", "bf16", tile=(128, 64, 64), **SM100),
    "matmul_fp8_sm100": matmul("fp8e4nv", "fp16", tile=(128, 128, 64), **SM100),
    "matmul_tma_sm100": matmul_tma((128, 128, 64), **SM100),
    "matmul_f16_tn_sm90": matmul(major="nt", tile=(64, 64, 64), **SM90),
    "matmul_i8_sm90": matmul("i8", "i32", tile=(64, 64, 64), **SM90),
    "matmul_fp8_e5_sm90": matmul("fp8e5", "fp16", tile=(128, 64, 64), major="nt", **SM90),
    "matmul_split_sm80": simple("matmul_split", PRODUCT, BM=64, BN=64, BK=32, S=4, **SM80),
    "matmul_split_sm90": simple("matmul_split", PRODUCT, BM=64, BN=64, BK=32, S=4, **SM90),
    "matmul_quantized_sm80": simple(
        "matmul_quantized", {**PRODUCT, "b": "*i8", "s": "*fp32", "c": "*fp16"}, BM=64, BN=64, BK=64, **SM80
    ),
    "attention_bf16_sm100": attention((64, 64, 64), "bf16", **SM100),
    "cross_entropy_sm80": simple(
        "cross_entropy", {"x": "*bf16", "label": "*i64", "y": "*fp32", "V": "i32"}, B=1024, **SM80
    ),
    "rope_sm90": simple(
        "rope", {**dict.fromkeys(("x", "cos", "sin", "y"), "*fp32"), "N": "i32"}, H=64, warps=1, **SM90
    ),
    "cumulative_sm80": simple("cumulative", {"x": "*fp32", "y": "*fp32", "N": "i32"}, A=8, B=256, **SM80),
    "best_sm90": simple("best", {"x": "*fp32", "y": "*i32", "N": "i32"}, A=16, B=256, **SM90),
    "bins_sm80": simple("bins", {"x": "*i32", "y": "*i32", "N": "i32"}, A=1024, B=64, **SM80),
    "column_sums_sm90": simple("column_sums", {"x": "*fp16", "y": "*fp32", "N": "i32"}, A=64, B=128, **SM90),
    "quantized_sm80": simple("quantized", {"x": "*fp16", "y": "*i8", "s": "*fp32", "N": "i32"}, B=1024, **SM80),
    "sorted_rows_sm80": simple("sorted_rows", {"x": "*fp32", "y": "*fp32", "N": "i32"}, A=8, B=64, **SM80),
    "softmax_1024_sm100": simple("softmax", SOFTMAX, B=1024, **SM100),
    "attention_f16_gfx950": attention((64, 32, 64), hip="gfx950"),
    "matmul_bf16_gfx950": matmul("bf16", "bf16", tile=(128, 128, 64), stages=2, hip="gfx950"),
    "transpose_f32_gfx950": simple("transpose", {**ROWS, "x": "*fp32", "y": "*fp32"}, B0=64, B1=64, hip="gfx950"),
    "matmul_f16_gfx1200": matmul(stages=1, hip="gfx1200"),
    "softmax_1024_gfx1200": simple("softmax", SOFTMAX, B=1024, hip="gfx1200"),
    "transpose_f16_gfx1200": simple("transpose", ROWS, B0=64, B1=64, hip="gfx1200"),
    "transpose_f16_gfx1100": simple("transpose", ROWS, B0=64, B1=64, hip="gfx1100"),
    "softmax_1024_gfx1100": simple("softmax", SOFTMAX, B=1024, hip="gfx1100"),
    "gather_gfx942": simple(
        "gather", {"x": "*fp16", "index": "*i32", "y": "*fp16", "N": "i32", "D": "i32"}, B=64, W=64, hip="gfx942"
    ),
    "gluon_transpose_sm90": simple("gluon_transpose", FLOATS, M=64, N=64, V=4, P=8, **SM90),
    "gluon_transpose_plain_sm80": simple("gluon_transpose", FLOATS, M=64, N=64, V=1, P=1, **SM80),
    "gluon_copy_sm80": simple("gluon_copy", FLOATS, M=64, N=64, **SM80),
    "gluon_mma_sm80": simple("gluon_mma", HALVES, M=64, N=64, K=64, V=8, P=8, **SM80),
    "gluon_mma_plain_sm90": simple("gluon_mma", HALVES, M=64, N=64, K=64, V=1, P=1, **SM90),
}
#: Warps of 64 lanes.
WIDE = ("gfx9",)


def compiled(fn, kinds, constants, warps, stages, plain=(), cuda=None, hip=None):
    gluon = fn.startswith("gluon")
    function = getattr(gluon_kernels if gluon else kernels, fn)
    names = function.arg_names
    signature = {name: "constexpr" if name in constants else kinds[name] for name in names}
    divides = {
        (k,): SIXTEEN
        for k, name in enumerate(names)
        if name not in constants and name not in plain and signature[name] != "fp32"
    }
    source = (GluonASTSource if gluon else ASTSource)(function, signature, constants, divides)
    target = GPUTarget("cuda", cuda, 32) if cuda else GPUTarget("hip", hip, 64 if hip.startswith(WIDE) else 32)
    return triton.compile(source, target=target, options={"num_warps": warps, "num_stages": stages})


def instructions(text):
    """How often each memory instruction is in a text of PTX or of AMD's assembler, by "line:column" of the source:
    {"23:13": {"ld.shared.v4.b32": 8}}."""
    found, place = {}, "?"
    for line in text.splitlines():
        if at := _LOC.match(line):
            place = f"{at[1]}:{at[2]}"
        elif not line.lstrip().startswith(("//", ";")):
            for name in _COUNTED.findall(line):
                found.setdefault(place, Counter())[name] += 1
    return found


def main(names):
    DATA.mkdir(parents=True, exist_ok=True)
    path = DATA / "instructions.json.gz"
    truth = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}
    for name in names or PROGRAMS:
        made = compiled(**PROGRAMS[name])
        text = made.asm["ttgir"]
        text = re.sub(r'"/[^"]*/(\w+\.py)"', r'"\1"', text)
        (DATA / f"{name}.ttgir.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        truth[name] = instructions(made.asm["ptx"] if "ptx" in made.asm else made.asm["amdgcn"])
        print(name, len(text), truth.get(name, ""), flush=True)
    path.write_bytes(gzip.compress(json.dumps(truth, separators=(",", ":"), sort_keys=True).encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
