"""Expressions of sizes as C: of small values all are gone through, with C's division, which cuts off."""

import itertools
import operator
import random
import shutil
import subprocess

import pytest

from tla import dim, index
from tla.ascend.transfers.instruction import c_condition, c_text
from tla.core.leaf_arithmetic import larger, smaller
from tla.symbolic.conditions import Condition
from tla.symbolic.evaluate import value
from tla.symbolic.poly import number
from tla.symbolic.symint import SymInt

from night import amount


def cut_off(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


#: What C's operators do, the binding ones first; a quotient is cut off, and a rest has the sign of what is divided.
BINDS = (
    {"*": operator.mul, "/": cut_off, "%": lambda a, b: a - b * cut_off(a, b)},
    {"+": operator.add, "-": operator.sub},
    {"<": operator.lt, "<=": operator.le},
    {"==": operator.eq},
    {"^": operator.xor},
)


class C:
    """The value of an expression of C: its own grammar, from the loosest operators to the tightest."""

    def __init__(self, text, names):
        for sign in ("<=", "==", *"()+-*/%^,<"):
            text = text.replace(sign, f" {sign} ")
        text = text.replace("< =", "<=").replace("<  =", "<=").replace("= =", "==")
        self.tokens, self.names = text.split(), names

    def next(self):
        return self.tokens[0] if self.tokens else None

    def take(self):
        return self.tokens.pop(0)

    def level(self, n=len(BINDS) - 1):
        left = self.level(n - 1) if n else self.unary()
        while self.next() in BINDS[n]:
            sign = self.take()
            left = BINDS[n][sign](left, self.level(n - 1) if n else self.unary())
        return left

    def unary(self):
        token = self.take()
        if token == "-":
            return -self.unary()
        if token == "(":
            return self.closed()[0]
        if token in ("min", "max"):
            assert self.take() == "("
            return {"min": min, "max": max}[token](self.closed())
        return int(token) if token.isdigit() else self.names[token]

    def closed(self):
        found = [self.level()]
        while (sign := self.take()) != ")":
            assert sign == ","
            found.append(self.level())
        return found


def c(text, names):
    read = C(text, names)
    found = read.level()
    assert not read.tokens, text
    return found


#: Names with what they may be.
NAMES = {
    "x": (dim("x", at_least=1, at_most=5), range(1, 6)),
    "y": (dim("y", at_least=0, at_most=4), range(5)),
    "z": (dim("z", multiple_of=3, at_least=3, at_most=9), range(3, 10, 3)),
    "i": (index("i", 4), range(4)),
}


def random_expression(rng, depth):
    if not depth or rng.random() < 0.15:
        return rng.choice([n for n, _ in NAMES.values()]) if rng.random() < 0.75 else rng.randint(-9, 9)
    a = random_expression(rng, depth - 1)
    kind = rng.choice(["+", "-", "-", "*", "//", "//", "%", "%", "min", "max", "^", "neg"])
    if kind in ("//", "%"):
        d = rng.choice(
            [2, 3, 4, 7, -2, -5, NAMES["x"][0], NAMES["z"][0], NAMES["x"][0] + NAMES["i"][0], -NAMES["x"][0]]
        )
        return a // d if kind == "//" else a % d
    if kind == "neg":
        return -a
    b = random_expression(rng, depth - 1)
    if kind in ("min", "max"):
        return (smaller if kind == "min" else larger)(a, b)
    if kind == "^" and not (isinstance(a, int) and isinstance(b, int)):
        return a ^ b if all(n is NAMES["y"][0] or n is NAMES["i"][0] for n in (a, b)) else a + b
    return {"+": operator.add, "-": operator.sub, "*": operator.mul, "^": operator.xor}[kind](a, b)


def every(symbols):
    names = [str(s) for s in symbols]
    return [dict(zip(names, n)) for n in itertools.product(*(NAMES[x][1] for x in names))]


def expressions(count, seed=0):
    rng, found = random.Random(seed), []
    while len(found) < count:
        e = random_expression(rng, rng.randint(1, 4))
        if isinstance(e, SymInt):
            found.append(e)
    return found


def test_what_c_computes_is_what_python_computes():
    negative = 0
    for e in expressions(amount(250, 20000)):
        text = c_text(e)
        for values in every(e.symbols):
            assert c(text, values) == value(e.poly, values), (str(e), text, values)
        negative += "/" in text or "%" in text
    assert negative > amount(100, 8000)


x, y, z, i = (n for n, _ in NAMES.values())


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (x % 3, "x%3"),
        ((-x) % 3, "(3 - x%3)%3"),
        ((y - x) % 3, "((y - x)%3 + 3)%3"),
        ((x + 4 - i) // 3, "(x - i + 4)/3"),
        ((-y) // 4, "-((y + 3)/4)"),
        ((y - x) // 4, "(y - x - ((y - x)%4 + 4)%4)/4"),
    ],
)
def test_what_may_be_negative_is_written_so_that_c_rounds_down(e, text):
    assert c_text(e) == text


def test_conditions_hold_in_c_where_they_hold():
    rng, found = random.Random(5), expressions(amount(120, 4000), 1)
    for left, right in zip(found, reversed(found)):
        for question in ("<", "<=", "==", "divides"):
            a = number(rng.choice([2, 3, 4])) if question == "divides" else left.poly
            condition = Condition(question, a, right.poly)
            text = c_condition(condition)
            for values in rng.sample(every(NAMES), 12):
                assert bool(c(text, values)) is condition.at(values), text


def test_bits_are_taken_before_c_compares():
    condition = Condition("<=", (y ^ i).poly, x.poly)
    assert c_condition(condition) in ("(i ^ y) <= x", "(y ^ i) <= x")


@pytest.mark.skipif(shutil.which("gcc") is None and shutil.which("cc") is None, reason="no compiler of C")
def test_a_compiler_of_c_says_the_same(tmp_path):
    found = expressions(amount(60, 1500), 2)
    lines = ["#include <stdio.h>", "typedef long long L;"]
    lines += [f"static L {f}(L a, L b) {{ return a {s} b ? a : b; }}" for f, s in (("min", "<"), ("max", ">"))]
    names = ", ".join(f"L {n}" for n in NAMES)
    lines += [f"static L f{k}({names}) {{ return {c_text(e)}; }}" for k, e in enumerate(found)]
    lines += [f"L (*all[])({names}) = {{{', '.join(f'f{k}' for k in range(len(found)))}}};", "int main() {"]
    lines += [f"for (int k = 0; k < {len(found)}; ++k)"]
    lines += [f"for (L {n} = {r.start}; {n} < {r.stop}; {n} += {r.step})" for n, (_, r) in NAMES.items()]
    lines += [f'printf("%lld\\n", all[k]({", ".join(NAMES)})); }}']
    (tmp_path / "f.c").write_text("\n".join(lines))
    subprocess.run([shutil.which("gcc") or "cc", "-O0", "-w", "-o", tmp_path / "f", tmp_path / "f.c"], check=True)
    out = subprocess.run([tmp_path / "f"], check=True, capture_output=True, text=True).stdout.split()
    assert [*map(int, out)] == [value(e.poly, v) for e in found for v in every(NAMES)]
