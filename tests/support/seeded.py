"""Faults seeded into small programs of TTGIR, each with the program that is mended: after issues of GitHub, and of
their kinds."""

from typing import NamedTuple


class Seeded(NamedTuple):
    """A fault: its name, what it is after, by which advice, fault or refusal it is found ("": it is not),
    and both programs."""

    name: str
    after: str
    found_by: str
    fault: str
    mended: str


def blocked(size, threads, warps, order=(1, 0)):
    return f"#ttg.blocked<{{sizePerThread = {[*size]}, threadsPerWarp = {[*threads]}, warpsPerCTA = {[*warps]}, order = {[*order]}}}>"


def swizzled(vec, per, most, order=(1, 0)):
    return f"#ttg.swizzled_shared<{{vec = {vec}, perPhase = {per}, maxPhase = {most}, order = {[*order]}}}>"


def nvmma(width, bits=16, transposed="false"):
    return f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = {transposed}, elementBitWidth = {bits}}}>"


def operand(index, parent, k_width):
    return f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}, kWidth = {k_width}}}>"


def memdesc(shape, kind, layout):
    return f"!ttg.memdesc<{shape}x{kind}, {layout}, #smem, mutable>"


def module(body, target="cuda:80", warps=4):
    lanes = 64 if "gfx9" in target else 32
    attributes = f'"ttg.num-warps" = {warps} : i32, "ttg.threads-per-warp" = {lanes} : i32, ttg.target = "{target}"'
    return f"#smem = #ttg.shared_memory\nmodule attributes {{{attributes}}} {{\n{body}\n}}\n"


def through(shape, kind, memory, write, read, target="cuda:80", warps=4):
    """A tile stored to shared memory from one layout of registers, and loaded in another."""
    there = memdesc(shape, kind, memory)
    body = f"""  %m = ttg.local_alloc %x : (tensor<{shape}x{kind}, {write}>) -> {there}
  %y = ttg.local_load %m : {there} -> tensor<{shape}x{kind}, {read}>"""
    return module(body, target, warps)


def viewed(shape, kind, memory, read_as, registers, target="cuda:80"):
    """A tile that one layout of shared memory is written by, and another is read by."""
    there, view = memdesc(shape, kind, memory), memdesc(shape, kind, read_as)
    body = f"""  %m = ttg.local_alloc %x : (tensor<{shape}x{kind}, {registers}>) -> {there}
  %v = ttg.memdesc_reinterpret %m : {there} -> {view}
  %y = ttg.local_load %v : {view} -> tensor<{shape}x{kind}, {registers}>"""
    return module(body, target)


def global_tile(
    layout,
    rows=64,
    columns=64,
    kind="f16",
    stride="{tt.divisibility = 16 : i32}",
    pointer="{tt.divisibility = 16 : i32}",
    along=1,
    store=False,
    masked="",
):
    """A load or a store of a tile whose dimension `along` is contiguous in global memory, the other of stride %s."""
    shape, other = f"{rows}x{columns}", 1 - along
    slices = [f"#ttg.slice<{{dim = {1 - d}, parent = {layout}}}>" for d in (0, 1)]
    sizes = (rows, columns)
    thin = [f"{rows}x1", f"1x{columns}"]
    ptr = f"tensor<{shape}x!tt.ptr<{kind}>, {layout}>"
    int_ = f"tensor<{shape}xi32, {layout}>"
    lines = [f"tt.func public @f(%p: !tt.ptr<{kind}> {pointer}, %s: i32 {stride}, %N: i32 {masked}) {{"]
    for d in (0, 1):
        lines += [
            f"%r{d} = tt.make_range {{end = {sizes[d]} : i32, start = 0 : i32}} : tensor<{sizes[d]}xi32, {slices[d]}>",
            f"%e{d} = tt.expand_dims %r{d} {{axis = {1 - d} : i32}} : tensor<{sizes[d]}xi32, {slices[d]}> -> "
            f"tensor<{thin[d]}xi32, {layout}>",
            f"%b{d} = tt.broadcast %e{d} : tensor<{thin[d]}xi32, {layout}> -> {int_}",
        ]
    lines += [
        f"%t = tt.splat %s : i32 -> {int_}",
        f"%u = arith.muli %b{other}, %t : {int_}",
        f"%o = arith.addi %u, %b{along} : {int_}",
        f"%q = tt.splat %p : !tt.ptr<{kind}> -> {ptr}",
        f"%a = tt.addptr %q, %o : {ptr}, {int_}",
    ]
    mask = ""
    if masked:
        lines += [f"%n = tt.splat %N : i32 -> {int_}", f"%k = arith.cmpi slt, %b{along}, %n : {int_}"]
        mask = ", %k"
    if store:
        lines += [f"%c = arith.constant dense<0> : tensor<{shape}x{kind}, {layout}>", f"tt.store %a, %c{mask} : {ptr}"]
    else:
        lines += [f"%x = tt.load %a{mask} : {ptr}"]
    return module("\n".join(["  " + line for line in (*lines, "tt.return", "}")]))


def looped(inside, before=""):
    """A loop of a kernel."""
    return module(f"""  tt.func public @f(%N: i32 {{tt.divisibility = 16 : i32}}, %w: tensor<64x64xf16, {ROWS}>) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
{before}
    %z = scf.for %i = %c0 to %N step %c1 iter_args(%acc = %w) -> (tensor<64x64xf16, {ROWS}>)  : i32 {{
{inside}
      scf.yield %acc : tensor<64x64xf16, {ROWS}>
    }}
    tt.return
  }}""")


def dot(a, b, c, kind="f16"):
    types = f"tensor<64x32x{kind}, {a}> * tensor<32x64x{kind}, {b}> -> tensor<64x64xf32, {c}>"
    return module(f"  %d = tt.dot %a, %b, %c : {types}")


def warp_group_dot(a, b, kind="f16", mma=None):
    there = [memdesc("64x64", kind, layout) for layout in (a, b)]
    return module(
        f"  %d = ttng.warp_group_dot %a, %b, %c : {there[0]} * {there[1]} -> tensor<64x64xf32, {mma or WGMMA}>",
        "cuda:90",
    )


def tma(shape, kind, layout, store=False):
    there = memdesc(shape, kind, layout)
    if store:
        return module(
            f"  ttng.async_tma_copy_local_to_global %d[%m, %n] %x : !tt.tensordesc<{shape}x{kind}>, {there}", "cuda:90"
        )
    rest = f"!tt.tensordesc<{shape}x{kind}>, !ttg.memdesc<1xi64, #s, #smem> -> {there}"
    return module(f"  ttng.async_tma_copy_global_to_local %d[%m, %n] %x, %b, %t : {rest}", "cuda:90")


def copied(layout, memory, kind="f16"):
    ptr = f"tensor<64x64x!tt.ptr<{kind}>, {layout}>"
    lines = global_tile(layout, kind=kind).splitlines()
    at = next(k for k, line in enumerate(lines) if "tt.load" in line)
    there = memdesc("64x64", kind, memory)
    lines[at] = f"  %t0 = ttg.async_copy_global_to_local %a, %m : {ptr} -> <64x64x{kind}, {memory}, #smem, mutable>"
    lines.insert(at, f"  %m = ttg.local_alloc : () -> {there}")
    return "\n".join(lines)


ROWS = blocked((1, 8), (4, 8), (4, 1))
COLUMNS = blocked((8, 1), (8, 4), (1, 4), (0, 1))
WIDE = blocked((1, 8), (8, 8), (4, 1))  # of 64 lanes
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
WGMMA = "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>"
MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], isTransposed = true}>"
MFMA4 = "#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [16, 16, 32], isTransposed = true}>"
A2, B2 = operand(0, MMA, 2), operand(1, MMA, 2)
SIXTEEN = "{tt.divisibility = 16 : i32}"
TURNED = f"tensor<64x64xf16, {COLUMNS}>"
CONVERT = f"ttg.convert_layout %w : tensor<64x64xf16, {ROWS}> -> {TURNED}"

SEEDED = [
    # ------------------------------------------------------------------------------------------ after issues
    Seeded(
        "an M-major tile loaded by ldmatrix.trans without the swizzle",
        "cutlass#3172",
        "swizzle",
        through("128x32", "f16", swizzled(1, 1, 1, (0, 1)), blocked((8, 1), (16, 2), (1, 4), (0, 1)), A2),
        through("128x32", "f16", swizzled(8, 1, 8, (0, 1)), blocked((8, 1), (16, 2), (1, 4), (0, 1)), A2),
    ),
    Seeded(
        "an annotated layout that ldmatrix cannot take, j ^ (i % 2)",
        "tilelang#2642",
        "swizzle",
        through("64x64", "f16", swizzled(1, 1, 2), ROWS, A2),
        through("64x64", "f16", swizzled(8, 1, 8), ROWS, A2),
    ),
    Seeded(
        "a TMA box narrower than its swizzle",
        "tilelang#2630",
        "refused",
        tma("64x32", "f16", nvmma(128)),
        tma("64x32", "f16", nvmma(64)),
    ),
    Seeded(
        "rows of 32 bytes under a swizzle of 64",
        "tilelang#2578",
        "refused",
        tma("128x16", "f16", nvmma(64)),
        tma("128x16", "f16", nvmma(32)),
    ),
    Seeded(
        "conflicts of a layout that swizzles another dimension",
        "triton#9661",
        "swizzle",
        through(
            "32x32",
            "f64",
            swizzled(1, 1, 1),
            blocked((1, 2), (2, 16), (4, 1)),
            blocked((2, 1), (16, 2), (1, 4), (0, 1)),
        ),
        through("32x32", "f64", swizzled(2, 1, 16), blocked((1, 2), (2, 16), (4, 1)), blocked((1, 2), (2, 16), (4, 1))),
    ),
    Seeded(
        "a linear layout of registers whose lanes go down a column",
        "triton#8521",
        "swizzle",
        through(
            "32x32",
            "f32",
            swizzled(1, 1, 1),
            blocked((1, 4), (4, 8), (4, 1)),
            "#ttg.linear<{register = [[0, 8], [0, 16], [0, 4]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp "
            "= [[0, 1], [0, 2]], block = []}>",
        ),
        through(
            "32x32",
            "f32",
            swizzled(1, 1, 1),
            blocked((1, 4), (4, 8), (4, 1)),
            "#ttg.linear<{register = [[0, 1], [0, 2], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp "
            "= [[4, 0], [8, 0]], block = []}>",
        ),
    ),
    Seeded(
        "a swizzle that knows nothing of the phases of gfx950",
        "iree#24428",
        "swizzle",
        through("64x64", "f16", swizzled(8, 4, 2), WIDE, operand(0, MFMA4, 8), "hip:gfx950"),
        through("64x64", "f16", swizzled(8, 1, 8), WIDE, operand(0, MFMA4, 8), "hip:gfx950"),
    ),
    Seeded(
        "rows without padding or XOR",
        "iree#23778",
        "swizzle",
        through("64x64", "f16", swizzled(1, 1, 1), WIDE, operand(0, MFMA, 4), "hip:gfx942"),
        through("64x64", "f16", swizzled(4, 1, 16), WIDE, operand(0, MFMA, 4), "hip:gfx942"),
    ),
    Seeded(
        "scales written swizzled and read as rows",
        "vllm#50084",
        "layouts",
        viewed("64x64", "i8", swizzled(16, 1, 4), swizzled(16, 1, 1), blocked((1, 16), (8, 4), (4, 1))),
        viewed("64x64", "i8", swizzled(16, 1, 4), swizzled(16, 1, 4), blocked((1, 16), (8, 4), (4, 1))),
    ),
    Seeded(
        "masks of the store's and the load's swizzle that differ",
        "rocm-libraries#10845",
        "layouts",
        viewed("64x64", "f16", swizzled(4, 1, 16), swizzled(4, 1, 8), WIDE, "hip:gfx942"),
        viewed("64x64", "f16", swizzled(4, 1, 16), swizzled(4, 1, 16), WIDE, "hip:gfx942"),
    ),
    # -------------------------------------------------------------------------------------- of their kinds: conflicts
    Seeded(
        "operand b of an mma in plain rows",
        "",
        "swizzle",
        through("32x128", "f16", swizzled(1, 1, 1), blocked((1, 8), (2, 16), (4, 1)), B2),
        through("32x128", "f16", swizzled(8, 1, 8), blocked((1, 8), (2, 16), (4, 1)), B2),
    ),
    Seeded(
        "perPhase of another row length",
        "",
        "swizzle",
        through("64x64", "f16", swizzled(8, 4, 8), ROWS, A2),
        through("64x64", "f16", swizzled(8, 1, 8), ROWS, A2),
    ),
    Seeded(
        "maxPhase too small",
        "",
        "swizzle",
        through("64x64", "f16", swizzled(8, 1, 2), ROWS, A2),
        through("64x64", "f16", swizzled(8, 1, 8), ROWS, A2),
    ),
    Seeded(
        "vec of 4 elements where ldmatrix takes 8",
        "",
        "swizzle",
        through("64x64", "f16", swizzled(4, 1, 8), ROWS, A2),
        through("64x64", "f16", swizzled(8, 1, 8), ROWS, A2),
    ),
    Seeded(
        "memory by columns, loaded and stored by rows",
        "",
        "swizzle",
        through("64x64", "f16", swizzled(8, 1, 8, (0, 1)), ROWS, ROWS),
        through("64x64", "f16", swizzled(8, 1, 8), ROWS, ROWS),
    ),
    Seeded(
        "tf32 operand in plain rows",
        "",
        "swizzle",
        through("64x32", "f32", swizzled(1, 1, 1), blocked((1, 4), (4, 8), (4, 1)), operand(0, MMA, 1)),
        through("64x32", "f32", swizzled(4, 1, 8), blocked((1, 4), (4, 8), (4, 1)), operand(0, MMA, 1)),
    ),
    Seeded(
        "int8 operand in plain rows",
        "",
        "swizzle",
        through("64x64", "i8", swizzled(1, 1, 1), blocked((1, 16), (8, 4), (4, 1)), operand(0, MMA, 4)),
        through("64x64", "i8", swizzled(16, 2, 4), blocked((1, 16), (8, 4), (4, 1)), operand(0, MMA, 4)),
    ),
    Seeded(
        "transpose through plain shared memory",
        "",
        "swizzle",
        through(
            "32x32",
            "f32",
            swizzled(1, 1, 1),
            blocked((1, 1), (1, 32), (4, 1)),
            blocked((1, 1), (32, 1), (1, 4), (0, 1)),
        ),
        through(
            "32x32",
            "f32",
            swizzled(1, 1, 32),
            blocked((1, 1), (1, 32), (4, 1)),
            blocked((1, 1), (32, 1), (1, 4), (0, 1)),
        ),
    ),
    Seeded(
        "padding of whole rows of banks",
        "",
        "swizzle",
        through(
            "64x64",
            "f16",
            "#ttg.padded_shared<[64:+64] {order = [1, 0], shape = [64, 64]}>",
            WIDE,
            operand(0, MFMA, 4),
            "hip:gfx942",
        ),
        through("64x64", "f16", swizzled(4, 1, 16), WIDE, operand(0, MFMA, 4), "hip:gfx942"),
    ),
    Seeded(
        "rows of LDS without padding on RDNA3",
        "",
        "swizzle",
        through("64x64", "f16", swizzled(1, 1, 1), ROWS, blocked((8, 1), (8, 4), (1, 4), (0, 1)), "hip:gfx1100"),
        through("64x64", "f16", swizzled(8, 1, 8), ROWS, ROWS, "hip:gfx1100"),
    ),
    # ---------------------------------------------------------------------------------------------- copies
    Seeded(
        "cp.async into plain rows that ldmatrix loads",
        "",
        "swizzle",
        copied(ROWS, swizzled(1, 1, 1)).replace(
            "  tt.return",
            f"  %y = ttg.local_load %m : {memdesc('64x64', 'f16', swizzled(1, 1, 1))} -> tensor<64x64xf16, {A2}>\n  "
            "tt.return",
        ),
        copied(ROWS, swizzled(8, 1, 8)).replace(
            "  tt.return",
            f"  %y = ttg.local_load %m : {memdesc('64x64', 'f16', swizzled(8, 1, 8))} -> tensor<64x64xf16, {A2}>\n  "
            "tt.return",
        ),
    ),
    Seeded(
        "cp.async of 2 bytes",
        "",
        "copy",
        copied(blocked((1, 1), (1, 32), (4, 1)), swizzled(8, 1, 8)),
        copied(ROWS, swizzled(8, 1, 8)),
    ),
    Seeded(
        "cp.async that the swizzle cuts to 2 bytes",
        "",
        "copy",
        copied(ROWS, swizzled(1, 1, 8)),
        copied(ROWS, swizzled(8, 1, 8)),
    ),
    # ------------------------------------------------------------------------------------------ global memory
    Seeded("a load down the columns of rows", "", "order", global_tile(COLUMNS), global_tile(ROWS)),
    Seeded(
        "a store down the columns of rows", "", "order", global_tile(COLUMNS, store=True), global_tile(ROWS, store=True)
    ),
    Seeded("a load along the rows of columns", "", "order", global_tile(ROWS, along=0), global_tile(COLUMNS, along=0)),
    Seeded(
        "threads down a column, vectors along rows",
        "",
        "order",
        global_tile(blocked((1, 4), (32, 1), (1, 4))),
        global_tile(ROWS),
    ),
    Seeded("loads of single elements", "", "vectors", global_tile(blocked((1, 1), (1, 32), (4, 1))), global_tile(ROWS)),
    Seeded(
        "stores of 4 bytes",
        "",
        "vectors",
        global_tile(blocked((1, 2), (1, 32), (4, 1)), store=True),
        global_tile(ROWS, store=True),
    ),
    Seeded(
        "f32 loads of 8 bytes",
        "",
        "vectors",
        global_tile(blocked((1, 2), (1, 32), (4, 1)), kind="f32"),
        global_tile(blocked((1, 4), (2, 16), (4, 1)), kind="f32"),
    ),
    Seeded("a stride of which nothing is known", "", "divisibility", global_tile(ROWS, stride=""), global_tile(ROWS)),
    Seeded(
        "a pointer that is not known to be aligned",
        "",
        "divisibility",
        global_tile(ROWS, pointer=""),
        global_tile(ROWS),
    ),
    Seeded(
        "a mask of a size of which nothing is known",
        "",
        "divisibility",
        global_tile(ROWS, masked="{tt.max_divisibility = 1 : i32}"),
        global_tile(ROWS, masked=SIXTEEN),
    ),
    # ---------------------------------------------------------------------------------------------- conversions
    Seeded(
        "a conversion in the loop of a value from before it",
        "",
        "hoist",
        looped(f"      %y = {CONVERT}"),
        looped("", before=f"    %y = {CONVERT}"),
    ),
    Seeded(
        "a conversion there and back in a loop",
        "",
        "repeat",
        looped(
            f"      %y = {CONVERT.replace('%w', '%acc')}\n      %v = ttg.convert_layout %y : {TURNED} -> "
            f"tensor<64x64xf16, {ROWS}>"
        ),
        looped(f"      %y = {CONVERT.replace('%w', '%acc')}"),
    ),
    Seeded(
        "the same conversion twice",
        "",
        "repeat",
        looped(f"      %y = {CONVERT.replace('%w', '%acc')}\n      %v = {CONVERT.replace('%w', '%acc')}"),
        looped(f"      %y = {CONVERT.replace('%w', '%acc')}"),
    ),
    Seeded(
        "a conversion of a constant",
        "",
        "repeat",
        looped(
            "",
            before=f"    %w0 = arith.constant dense<0.0> : tensor<64x64xf16, {ROWS}>\n    %y = {CONVERT.replace('%w', '%w0')}",
        ),
        looped("", before=f"    %y = arith.constant dense<0.0> : {TURNED}"),
    ),
    # ---------------------------------------------------------------------------------------------- products
    Seeded(
        "kWidth of a and of b that differ",
        "",
        "dot",
        dot(operand(0, MMA, 2), operand(1, MMA, 4), MMA),
        dot(A2, B2, MMA),
    ),
    Seeded(
        "wgmma of fp8 whose b is not contiguous along k",
        "",
        "dot",
        warp_group_dot(nvmma(64, 8), nvmma(64, 8), "f8E4M3FN"),
        warp_group_dot(nvmma(64, 8), nvmma(64, 8, "true"), "f8E4M3FN"),
    ),
    Seeded(
        "wgmma of a memory swizzled for ldmatrix of half the width",
        "",
        "dot",
        warp_group_dot(swizzled(4, 1, 8), nvmma(128)),
        warp_group_dot(swizzled(8, 1, 8), nvmma(128)),
    ),
]
