"""z3 as a prover of emitted functions: it proves those that are right, and refutes those with a fault."""

import random
import re

import pytest

from tla import (
    ComposedLayout,
    Int,
    LeafTypeError,
    MakeLayout,
    MakeTensor,
    RankError,
    Swizzle,
    Unproven,
    dim,
    dims,
    index,
    local_partition,
    local_tile,
    logical_divide,
    make_identity_tensor,
    parse,
    prove as provable,
    zipped_divide,
)
from tla.apps.cli import main
from tla.ascend import half, nZ, zN
from tla.codegen import emit, emit_guard, prove, prove_condition, prove_guard
from tla.codegen.proofs.prover import READ
from tla.codegen.proofs.reading import read_function

from night import amount

pytest.importorskip("z3", reason="needs z3: pip install z3-solver")


def static_layout(rng):
    """Two or three modes, nested, with compact, padded or any strides."""
    modes, d = [], rng.choice((1, 1, 2))
    for _ in range(rng.randint(2, 3)):
        leaves = [rng.choice((2, 3, 4, 5, 8, 16)) for _ in range(rng.randint(1, 2))]
        strides = []
        for n in leaves:
            strides.append(d if rng.random() < 0.8 else rng.randint(-9, 99))
            d *= n
        modes.append((leaves, strides))
    rng.shuffle(modes)
    shape, stride = (
        tuple(tuple(Int[n]() for n in m[k]) if len(m[k]) > 1 else Int[m[k][0]]() for m in modes) for k in (0, 1)
    )
    return MakeLayout(shape, stride)


def swizzled_layout(rng):
    b, m = rng.randint(1, 3), rng.randint(0, 3)
    rows, columns = rng.choice((8, 16, 64)), rng.choice((32, 64, 128))
    inner = rng.choice(
        (f"(_{rows},_{columns}):(_{columns},_1)", f"((_8,_{rows // 8}),_{columns}):((_{columns},_{8 * columns}),_1)")
    )
    return parse(f"Sw<{b},{m},{rng.randint(b, 4)}> o _0 o {inner}")


def symbolic_layout(rng):
    m, n, k = dims("M N K", multiple_of=rng.choice((1, 8, 16)))
    return rng.choice(
        [
            lambda: MakeLayout((m, n)),
            lambda: MakeLayout((m, n, k), (n * k, k, Int[1]())),
            lambda: MakeLayout((m, (n, k)), (Int[1](), (k * m, m))),
            lambda: logical_divide(MakeLayout((m * 4, n)), (Int[4](), Int[1]())),
            lambda: zipped_divide(MakeLayout((m * 8, n * 16), (n * 16, Int[1]())), (Int[8](), Int[16]())),
            lambda: MakeLayout[half, zN](*dims("M N", multiple_of=16)),
            lambda: MakeLayout[half, nZ](*dims("M N", multiple_of=16)),
            lambda: MakeLayout((m, rng.randint(2, 9)), (rng.randint(1, 9), n)),
        ]
    )()


MAKERS = [static_layout, static_layout, swizzled_layout, symbolic_layout]


def test_right_functions_are_proved():
    rng, decided, count = random.Random(34), 0, amount(100, 500)
    for _ in range(count):
        layout, target = rng.choice(MAKERS)(rng), rng.choice(READ)
        proof = prove(layout, target)
        assert proof.proved is not False, (layout, proof)
        decided += proof.proved is True
        if proof.proved is None:
            print(layout, target, proof.how)
    assert decided >= 0.95 * count


def value_of(t, names):
    """The value of a tree, with C's quotients of numbers that are not below 0."""
    if isinstance(t, int):
        return t
    if isinstance(t, str):
        return names[t]
    x, y = (value_of(part, names) for part in t[1:])
    arithmetic = {
        "+": x + y,
        "-": x - y,
        "*": x * y,
        "^": x ^ y,
        "&": x & y,
        "|": x | y,
        "min": min(x, y),
        "max": max(x, y),
    }
    arithmetic |= {"<": x < y, "<=": x <= y, "==": x == y, "&&": x and y, "and": x and y}
    if t[0] in arithmetic:
        return arithmetic[t[0]]
    return x << min(y, 64) if t[0] == "<<" else x >> min(y, 64) if t[0] == ">>" else x % y if t[0] == "%" else x // y


def called(function, names):
    names = dict(names)
    for name, t in function.steps:
        names[name] = value_of(t, names)
    return value_of(function.value, names)


def faulty(rng, text):
    """The text with one number, operation or name of its computation changed."""
    start = text.rindex("return") if rng.random() < 0.5 or "t0 =" not in text else text.index("t0 =") + 4
    places = [m for m in re.finditer(r"\b\d+\b|[-+*^]|(?<!&)&(?!&)|<<|>>|\b[ijk]\b", text) if m.start() > start]
    m = rng.choice(places)
    old = m[0]
    new = (
        str(int(old) + rng.choice((1, 2)))
        if old.isdigit()
        else rng.choice([x for x in ("+", "-", "*") if x != old])
        if not old.isalpha()
        else "0"
    )
    return text[: m.start()] + new + text[m.end() :]


def test_seeded_faults_are_refuted():
    """Of functions of static sizes and of symbolic ones; each witness is a coordinate where the two texts differ."""
    rng, faults, wanted = random.Random(7), 0, amount(60, 200)
    while faults < wanted:
        layout, target = rng.choice(MAKERS)(rng), rng.choice(READ)
        text = emit(layout, target)
        bad = faulty(rng, text)
        proof = prove(layout, target, text=bad)
        right, wrong = (read_function(x, "offset", python=target == "python") for x in (text, bad))
        if proof.proved:  # the change makes no difference: `i & 7` of i below 4
            for _ in range(20):
                names = {n: rng.randrange(2) if n in "ijk" else 16 for n in right.parameters}
                assert called(right, names) == called(wrong, names)
            continue
        faults += 1
        assert proof.proved is False, (layout, proof)
        assert (
            called(right, proof.witness) != called(wrong, proof.witness)
            or "bits" in proof.how
            or "quotients" in proof.how
        )


def guarded(rng):
    """What has padding or tails, with the extents that coordinates are to be below, where it is a tensor of these."""
    m, n = dims("M N", multiple_of=rng.choice((1, 8)))
    start, thread = dim("bx", at_least=0), dim("t", at_least=0, at_most=31)
    tiler = rng.choice(((8, 16), (16, 4), (5, 7)))
    threads = parse(rng.choice(("(_8,_4):(_4,_1)", "(_4,_8):(_1,_4)")))
    tensor = local_tile(MakeTensor(None, MakeLayout((m, n), (n, Int[1]()))), tiler, (start, rng.choice((0, 1))))
    places = local_tile(make_identity_tensor((m, n)), tiler, (start, 0))
    return rng.choice(
        [
            lambda: (MakeLayout[half, rng.choice((zN, nZ))](m, n), None),
            lambda: (MakeLayout[half, zN](Int[rng.randint(1, 99)](), n), None),
            lambda: (MakeLayout[half, zN](Int[rng.randint(1, 99)](), Int[rng.randint(1, 99)]()), None),
            lambda: (tensor, None),
            lambda: (local_partition(tensor, threads, thread), None),
            lambda: (places, (m, n)),
            lambda: (local_partition(places, threads, thread), (m, n)),
        ]
    )()


def test_guards_are_proved_and_faults_in_them_refuted():
    rng, decided, count, refuted = random.Random(5), 0, amount(30, 300), 0
    for _ in range(count):
        (what, below), target = guarded(rng), rng.choice(READ)
        proof = prove_guard(what, target, below=below)
        assert proof.proved is not False, (what, proof)
        decided += proof.proved is True
        text = emit_guard(what, target, below=below)
        if not re.search(r"\d|[-+*]", text[text.rindex("return") :]):
            continue
        bad = faulty(rng, text)
        proof = prove_guard(what, target, below=below, text=bad)
        right, wrong = (read_function(x, "is_valid", python=target == "python") for x in (text, bad))
        if proof.proved is False and "quotients" not in proof.how:
            refuted += 1
            assert called(right, proof.witness) != called(wrong, proof.witness), (what, bad, proof)
        elif proof.proved:  # the change makes no difference inside of the shape
            names = {n: 0 if n in "ijk" else 16 for n in right.parameters}
            assert called(right, names) == called(wrong, names), (what, bad)
    assert decided >= 0.95 * count
    assert refuted >= 0.3 * count


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(("M", "N", "K", "i", "j", str(rng.randint(1, 40))))
    operation = rng.choice("++-**/%")
    left = expression(rng, depth - 1)
    if operation in "/%":
        return f"({left}){operation * (1 + (operation == '/'))}{rng.choice(('M', 'N', 'K', '2', '8', '16'))}"
    return f"({left}){operation}({expression(rng, depth - 1)})"


def test_what_the_engine_proves_is_proved_and_what_it_refutes_is_refuted(monkeypatch):
    """Each prover by itself: z3 reads the condition as it was before the engine's rules saw it."""
    monkeypatch.setattr("tla.codegen.proofs.terms.PATIENCE", 500)
    rng, agreed, said, count = random.Random(11), 0, 0, amount(60, 1000)
    m, n, k = dim("M"), dim("N", multiple_of=8), dim("K", at_least=4, at_most=64)
    symbols = [m, n, k, index("i", below=m), index("j", below=n)]
    while said < count:
        a, b = (expression(rng, 3) for _ in range(2))
        try:
            x, y = (parse(t, symbols=symbols) for t in (a, b))
            condition, relation = rng.choice(((x <= y, "<="), (x < y, "<"), (x <= x + y * y, "")))
        except Unproven:
            continue
        if isinstance(condition, bool) or provable(condition) is None:
            continue
        text = f"{a} {relation} {b}" if relation else f"{a} <= ({a})+({b})*({b})"
        found, engine = prove_condition(condition, text=text), provable(condition)
        said += 1
        agreed += found.proved is bool(engine)
        assert found.proved in (None, bool(engine)), (text, found, engine)
        if found.proved is False:
            assert condition.at(found.witness) is False
    assert agreed >= 0.7 * count  # of products of sizes z3 does not decide each


def test_conditions_on_the_way_are_enough():
    """Under what `assuming` has recorded the emitted tile is the tile: the text requires it."""
    m = dim("M", multiple_of=16)
    assert prove_condition((m // 16 * 16).equals(m)).proved
    assert prove_condition(dim("M").is_multiple_of(16)).witness == {"M": 1}
    with pytest.raises(LeafTypeError, match="a condition such as"):
        prove_condition(m)


def test_coordinates_are_one_name_for_each_mode():
    with pytest.raises(RankError, match="one name for each"):
        prove(parse("((_2,_4),_8):((_1,_2),_8)"), "c", "(i0,i1),j")
    with pytest.raises(RankError, match="one name for each"):
        prove(parse("(_8,_8):(_8,_1)"), "c", "i")


def test_what_is_not_decided_says_so():
    layout = parse("(_8,_8):(_1,_8)")
    for computed, why in (
        ("f(i)", "not read"),
        ("i < 3 ? i : j", "not read"),
        ("i < 3", "another kind"),
        ("i + j * k", "k in the text"),
        ("(i ^ j) + (i - 4) / 2", "a quotient of what may be below 0"),
        ("(i ^ j) + (i - 4) % 2", "a remainder of what may be below 0"),
        ("i + j % k", "k in the text"),
        ("(" * 500 + "i" + ")" * 500, "not read"),
        ("i + " * 5000 + "j", "not read"),
        ("-" * 5000 + "i", "not read"),
        ("offset_min(" * 500 + "i" + ", j)" * 500, "not read"),
    ):
        smaller = "int offset_min(int a, int b) {\n  return a < b ? a : b;\n}\n"
        proof = prove(layout, "c", text=f"{smaller}int offset(int i, int j) {{ return {computed}; }}")
        assert proof.proved is None
        assert why in proof.how
    for text in ("int offset(int i, int j) { int i = 3; return i; }", "int offset(int i, int i) { return i; }"):
        assert "not read" in prove(layout, "c", text=text).how
    swizzled = ComposedLayout(Swizzle[3, 0, 3](), Int[0](), MakeLayout((dim("M"), Int[64]()), (Int[64](), Int[1]())))
    assert prove(swizzled, "c").how == "sizes that are not known together with bits"


def test_values_past_the_bits_of_the_text_are_refuted():
    proof = prove(
        parse("(_8,_8):(_1,_8)"),
        "c",
        text="// int32: as said\nint offset(int i, int j) { return i + j * 4294967304 - j * 4294967296; }",
    )
    assert proof.proved is False
    assert "32 bits" in proof.how
    far, text = parse("(_8,_8):(_1,_1073741824)"), "int offset(int i, int j) { return i + j * 1073741824; }"
    assert prove(far, "c", text=text).proved is False  # by its types, where no comment says it
    assert prove(far, "c", text=text.replace("int", "long")).proved


def test_the_shell_proves(capsys):
    assert main(["prove", "MakeLayout[half, zN](M, N)", "--target", "cuda", "--multiple-of", "M=16", "N=16"]) == 0
    assert capsys.readouterr().out.endswith("proved over integers\n")
    assert main(["prove", "Sw<3,3,3> o (M,64):(64,1)"]) != 0
    assert "sizes that are not known" in capsys.readouterr().err


def test_bad_input():
    with pytest.raises(LeafTypeError, match="prove one of these"):
        prove(parse("(_8,_8)"), "triton")
    with pytest.raises(LeafTypeError, match="a layout"):
        prove(3)
    with pytest.raises(LeafTypeError, match="a layout of offsets"):
        prove(parse("(_4,_4):(_1@0,_1@1)"), "c")
