"""Memory of MLIR read back: addresses through views against strides by hand, what mlir-opt folds them to, loops, and
what is refused."""

import itertools
import random
import shutil
import subprocess

import numpy as np
import pytest

from tla import ParseError, RangeError, TlaError, layout_of, offsets

from night import amount

HEAD = "func.func @f(%i: index, %j: index, %m: memref<64x96xf32>) -> f32 {\n"
END = "  return %v : f32\n}"
STRIDED = "strided<[{}], offset: ?>"


def function(body, of="%m: memref<64x96xf32>"):
    return f"func.func @f(%i: index, %j: index, {of}) -> f32 {{\n{body}\n{END}"


def table(text, shape, **more):
    return offsets(layout_of(text, shape=shape, language="mlir", **more)).reshape(shape, order="F")


def by(f, shape=(8, 8)):
    return np.array([f(*c) for c in itertools.product(*map(range, shape))]).reshape(shape)


@pytest.mark.parametrize(
    ("body", "by_hand"),
    [
        ("%v = memref.load %m[%i, %j] : memref<64x96xf32>", lambda i, j: 96 * i + j),
        ("%v = affine.load %m[%i * 2 + 1, %j mod 4] : memref<64x96xf32>", lambda i, j: 96 * (2 * i + 1) + j % 4),
        (
            "%s = memref.subview %m[8, 16] [16, 16] [2, 1] : memref<64x96xf32> to memref<16x16xf32, strided<[192, 1], "
            "offset: 784>>\n"
            "%v = memref.load %s[%i, %j] : memref<16x16xf32, strided<[192, 1], offset: 784>>",
            lambda i, j: (8 + 2 * i) * 96 + 16 + j,
        ),
        (
            "%s = memref.subview %m[0, %i] [1, 32] [1, 2] : memref<64x96xf32> to memref<32xf32, strided<[2], offset: "
            "?>>\n"
            "%v = vector.load %s[%j] : memref<32xf32, strided<[2], offset: ?>>, vector<4xf32>",
            lambda i, j: i + 2 * j,
        ),
        (
            "%e = memref.expand_shape %m [[0, 1], [2, 3]] output_shape [8, 8, 12, 8] : memref<64x96xf32> into "
            "memref<8x8x12x8xf32>\n"
            "%t = memref.transpose %e (a, b, c, d) -> (b, a, d, c) : memref<8x8x12x8xf32> to memref<8x8x8x12xf32, "
            "strided<[96, 768, 1, 8]>>\n"
            "%v = memref.load %t[%i, %j, %j, %i] : memref<8x8x8x12xf32, strided<[96, 768, 1, 8]>>",
            lambda i, j: 96 * i + 768 * j + j + 8 * i,
        ),
        (
            "%c = memref.collapse_shape %m [[0, 1]] : memref<64x96xf32> into memref<6144xf32>\n"
            "%k = affine.apply affine_map<(a, b) -> (a * 70 + b)>(%i, %j)\n%v = memref.load %c[%k] : memref<6144xf32>",
            lambda i, j: 70 * i + j,
        ),
        (
            "%r = memref.reinterpret_cast %m to offset: [5], sizes: [8, 8], strides: [1, 9] : memref<64x96xf32> to "
            "memref<8x8xf32, strided<[1, 9], offset: 5>>\n"
            "%v = memref.load %r[%i, %j] : memref<8x8xf32, strided<[1, 9], offset: 5>>",
            lambda i, j: 5 + i + 9 * j,
        ),
        (
            "%n = memref.dim %m, %i0 : memref<64x96xf32>\n%a = memref.alloc(%n) {alignment = 64 : i64} : "
            "memref<8x?xf16, 3>\n"
            "%x = memref.load %a[%i, %j] : memref<8x?xf16, 3>\n%v = arith.extf %x : f16 to f32",
            lambda i, j: 64 * i + j,
        ),
    ],
)
def test_views_by_hand(body, by_hand):
    text = function(f"%i0 = arith.constant 0 : index\n{body}")
    assert (table(text, (8, 8)) == by(by_hand)).all()


def test_types_with_strides_and_maps():
    for kind, by_hand in (
        ("memref<64x64xf16, strided<[72, 1]>, 3>", lambda i, j: 72 * i + j),
        ("memref<64x64xf16, affine_map<(a, b) -> (a * 80 + b * 2 + 3)>>", lambda i, j: 80 * i + 2 * j + 3),
        ("memref<16x32xf16, affine_map<(a, b) -> (a floordiv 4, b floordiv 8, a mod 4, b mod 8)>>",
         lambda i, j: ((i // 4 * 4 + j // 8) * 4 + i % 4) * 8 + j % 8),
        ("memref<16x32xf16, affine_map<(a, b) -> (b, a + 1)>, #gpu.address_space<workgroup>>", lambda i, j: j * 17 + i + 1),
    ):  # fmt: skip
        assert (table(f"memref.store %x, %m[%i, %j] : {kind}", (8, 8), coords="i,j") == by(by_hand)).all()


def test_open_sizes_are_names_and_only_those_that_count():
    text = function("%v = memref.load %m[%i, %j] : memref<?x?xf32>", "%m: memref<?x?xf32>")
    assert str(layout_of(text, shape=(8, 8), language="mlir", values={"m.size(1)": 40})) == "(_8,_8):(_40,_1)"
    with pytest.raises(ParseError, match=r"m.size\(1\), which has no range"):
        layout_of(text, shape=(8, 8), language="mlir")
    assert str(layout_of(text, shape=("M", "N"), language="mlir", values={"m.size(1)": "ld"})) == "(M,N):(ld,_1)"
    strided = text.replace("?x?xf32", "?x?xf32, strided<[?, ?], offset: ?>")
    found = layout_of(
        strided, shape=(8, 4), language="mlir", values={"m.stride(0)": 1, "m.stride(1)": 9, "m.offset": 2}
    )
    assert str(found) == "Sw<0,0,0> o _2 o (_8,_4):(_1,_9)"


def test_loops_are_coordinates():
    text = """
module {
  gpu.module @kernels {
    gpu.func @copy(%src: memref<64x64xf16>, %t: index) kernel {
      %shared = memref.alloca() : memref<64x72xf16, #gpu.address_space<workgroup>>
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      scf.for %r = %c0 to %c64 step %c8 {
        affine.for %k = 2 to 4 {
          %row = arith.addi %r, %t : index
          %x = memref.load %src[%row, %k] : memref<64x64xf16>
          memref.store %x, %shared[%row, %k] : memref<64x72xf16, #gpu.address_space<workgroup>>
        }
      }
      gpu.return
    }
  }
}"""
    assert (table(text, (8, 8, 2)) == by(lambda t, r, k: 72 * (8 * r + t) + 2 + k, (8, 8, 2))).all()
    text = """
func.func @f(%p: memref<*xbf16>, %n: i32) {
  %c0 = arith.constant 0 : index
  %r = memref.reinterpret_cast %p to offset: [%c0], sizes: [128], strides: [1] : memref<*xbf16> to memref<128xbf16, strided<[1]>>
  %a = memref.alloc() : memref<8x16xbf16, 2 : i32>
  scf.forall (%x, %y) in (8, 4) {
    %s = memref.subview %a[%x, 0] [1, 16] [1, 4] {a.b = 1 : i32} : memref<8x16xbf16, 2 : i32> to memref<16xbf16, strided<[4], offset: ?>, 2 : i32>
    memref.store %v, %s[%y] : memref<16xbf16, strided<[4], offset: ?>, 2 : i32>
  } {mapping = [#gpu.thread<y>]}
  return
}"""
    assert str(layout_of(text, language="mlir", coords="x,y")) == "(_8,_4):(_16,_4)"
    text = (
        "%m = memref.alloc() : memref<4x6xf32>\nscf.parallel (%i, %j) = (%a, %a) to (%b, %c) step (%d, %d) {\n  "
        "memref.store %x, %m[%i, %j] : memref<4x6xf32>\n  scf.reduce\n}"
    )
    values = {"a": 0, "b": 4, "c": 6, "d": 2}
    assert str(layout_of(text, language="mlir", values=values)) == "(_2,_3):(_12,_2)"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("%v = memref.load %n[%i, %j] : memref<8x8xf32>", "%n, which is no memref here"),
        ("%v = memref.load %m[%i] : memref<64x96xf32>", "1 indices of %m"),
        ("%v = memref.load %m[%i, %j] : memref<64x96xf32", "the text ends|unexpected"),
        (
            "%x = memref.load %m[%i, %j] : memref<64x96xf32>\n%v = memref.load %m[%x, %j] : memref<64x96xf32>",
            r"%x\[...\]: an index that depends on data",
        ),
        (
            "%s = memref.subview %m[0, 0] [8, 8] [1, 1] : memref<64x96xf32> to memref<8x8xf32, strided<[64, 1]>>\n%v = "
            "memref.load %s[%i, %j] : memref<8x8xf32>",
            "a view of 96 where its type says 64",
        ),
        (
            "%s = memref.subview %m[0, 0] [64, 90] [1, 1] : memref<64x96xf32> to memref<64x90xf32, strided<[96, 1]>>\n"
            "%c = memref.collapse_shape %s [[0, 1]] : memref<64x90xf32, strided<[96, 1]>> into memref<5760xf32>\n%v = "
            "memref.load %c[%i] : memref<5760xf32>",
            "not known to follow on one another",
        ),
        (
            "%e = memref.expand_shape %m [[0], [1]] output_shape [8, 8, 96] : memref<64x96xf32> into "
            "memref<8x8x96xf32>",
            "groups that do not have",
        ),
        ("%s = memref.view %m[%i][] : memref<64xi8> to memref<8xf32>", "the operation memref.view"),
        (
            "%a = memref.alloc() : memref<8x8xf32, affine_map<(a, b) -> (a * 2 mod 8, b)>>\n%v = memref.load %a[%i, "
            "%j] : memref<8x8xf32>",
            "remainder of a product",
        ),
        (
            "%a = memref.alloc() : memref<8x8xf32, affine_map<(a, b) -> (a - a floordiv 4, b)>>\n%v = memref.load "
            "%a[%i, %j] : memref<8x8xf32>",
            "a coordinate twice",
        ),
        ("scf.for %k = %i to %j step %i iter_args(%x = %i) -> (index) {", "a loop that carries values"),
        ("scf.for %k = %i to %j step %i {\n}", "a loop that neither loads nor stores"),
    ],
)
def test_what_is_refused(body, said):
    with pytest.raises(ParseError, match=said):
        layout_of(function(body), shape=(8, 8), language="mlir")


def random_views(rng):
    """A function whose memref goes through random views, and the place of its element by strides."""
    sizes = [rng.choice([4, 6, 8, 16]) for _ in range(rng.randint(2, 3))]
    strides = [int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))]
    lines, offset = [], 0
    kind = f"memref<{'x'.join(map(str, sizes))}xf32>"
    head, name = kind, "%m"
    for count in range(rng.randint(1, 4)):
        new = f"%v{count}"
        choice = rng.choice(["subview", "transpose", "expand"])
        if choice == "subview":
            at = [rng.randrange(n) // 2 for n in sizes]
            step = [rng.choice([1, 2]) for _ in sizes]
            extent = [max(1, (n - o) // s) for n, o, s in zip(sizes, at, step)]
            offset += sum(o * d for o, d in zip(at, strides))
            sizes, strides = extent, [d * s for d, s in zip(strides, step)]
            text = f"memref.subview {name}{at} {extent} {step} : {kind} to "
        elif choice == "transpose":
            order = rng.sample(range(len(sizes)), len(sizes))
            names = [f"d{k}" for k in range(len(sizes))]
            text = (
                f"memref.transpose {name} ({', '.join(names)}) -> ({', '.join(names[k] for k in order)}) : {kind} to "
            )
            sizes, strides = [sizes[k] for k in order], [strides[k] for k in order]
        else:
            k = rng.randrange(len(sizes))
            inner = rng.choice([d for d in range(1, sizes[k] + 1) if sizes[k] % d == 0])
            groups = [[*range(len(sizes))][:k], [k, k + 1], [*range(k + 2, len(sizes) + 1)]]
            groups = [[g] for g in groups[0]] + [groups[1]] + [[g] for g in groups[2]]
            sizes = [*sizes[:k], sizes[k] // inner, inner, *sizes[k + 1 :]]
            strides = [*strides[:k], strides[k] * inner, strides[k], *strides[k + 1 :]]
            text = f"memref.expand_shape {name} {groups} output_shape {sizes} : {kind} into "
        kind = f"memref<{'x'.join(map(str, sizes))}xf32, strided<{strides}, offset: {offset}>>".replace(
            ", offset: 0", ""
        )
        if strides == [int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))] and not offset:
            kind = f"memref<{'x'.join(map(str, sizes))}xf32>"
        lines.append(f"  {new} = {text}{kind}")
        name = new
    indices = [f"%i{k}" for k in range(len(sizes))]
    parameters = ", ".join(f"{i}: index" for i in indices)
    body = "\n".join([*lines, f"  %v = memref.load {name}[{', '.join(indices)}] : {kind}", "  return %v : f32"])
    wanted = offset + sum(
        np.arange(n).reshape([-1 if d == k else 1 for d in range(len(sizes))]) * s
        for k, (n, s) in enumerate(zip(sizes, strides))
    )
    return f"func.func @f(%m: {head}, {parameters}) -> f32 {{\n{body}\n}}", tuple(sizes), wanted


def test_random_views_and_what_mlir_opt_folds_them_to():
    rng = random.Random(7)
    for _ in range(amount(60, 3000)):
        text, shape, wanted = random_views(rng)
        assert (table(text, shape) == wanted).all(), text
    if not shutil.which("mlir-opt-19"):
        pytest.skip("the rest needs mlir-opt of LLVM 19")
    for _ in range(amount(12, 300)):
        text, shape, wanted = random_views(rng)
        command = ["mlir-opt-19", "--fold-memref-alias-ops", "--canonicalize", "--lower-affine", "--cse"]
        run = subprocess.run(command, input=text, capture_output=True, text=True)
        assert run.returncode == 0, (text, run.stderr)
        assert (table(run.stdout, shape) == wanted).all(), (text, run.stdout)


def test_texts_cut_off_or_changed_are_answered_or_refused():
    rng = random.Random(8)
    for _ in range(amount(300, 20_000)):
        text, shape, _ = random_views(rng)
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", rng.choice("%#()[]<>{}:,x?0-") + text[at:], text[at + 1 :], text[at + 7 :]])
        try:
            layout_of(text, shape=(2,) * len(shape), language="mlir")
        except (TlaError, RangeError) as error:
            assert len(str(error)) < 3000
