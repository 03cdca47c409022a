"""Index expressions as text: their value and their operations, by the definition. Imports nothing from tla."""

import ast
import functools
import operator
import random

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
}


#: What an expression is of: Python computes it then, by its own operators.
KNOWN = (ast.Expression, ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.USub, ast.BinOp, ast.Call, *OPERATORS)


@functools.lru_cache(1000)
def compiled(text):
    """An expression of names, integers and + - * // % ^ min max as code, and nothing else."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        known = isinstance(node, KNOWN) and (not isinstance(node, ast.Constant) or isinstance(node.value, int))
        if not known or (isinstance(node, ast.Call) and node.func.id not in ("min", "max")):
            raise ValueError(ast.dump(node))
    return compile(tree, text, "eval")


def value(text, values):
    """What a Python expression of names, numbers and + - * // % ^ min max is, with a value for each name."""
    return eval(compiled(text), {"__builtins__": {}, "min": min, "max": max}, values)


def count(text):
    """(operations, divisions and modulos among them) of an expression as it is written; a minus is a sum's own,
    or one more."""
    tree = ast.parse(text, mode="eval")
    operations = [n for n in ast.walk(tree) if isinstance(n, (ast.BinOp, ast.UnaryOp))]
    calls = sum(len(n.args) - 1 for n in ast.walk(tree) if isinstance(n, ast.Call))
    divisions = [n for n in operations if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod))]
    return len(operations) + calls, len(divisions)


def samples(case, count, seed=1):
    """Values that meet the facts of a case: sizes first, then each index below its bound."""
    r = random.Random(seed)
    found = 0
    while found < count:
        values = {name: r.randint(1, 9) * unit for name, unit in case["sizes"].items()}
        for name, below in case["below"].items():
            if (bound := value(below, values)) < 1:
                break
            values[name] = r.randrange(bound)
        else:
            found += 1
            yield values


def random_text(r, depth, sizes=(), bits=False):
    """A random nest of + - * // % and constants over x, y, z; sizes multiply and divide too; with `bits`, ^ min
    max as well."""
    if depth == 0 or r.random() < 0.12:
        return r.choice("xyzx") if r.random() < 0.85 else str(r.randint(0, 9))
    a = random_text(r, depth - 1, sizes, bits)
    if bits and r.random() < 0.25:
        return r.choice(("({} ^ {})", "min({}, {})", "max({}, {})")).format(a, random_text(r, depth - 1, sizes, bits))
    kind = r.random()
    if kind < 0.36:
        return f"({a} {'+' if kind < 0.3 else '-'} {random_text(r, depth - 1, sizes, bits)})"
    by = r.choice(sizes) if sizes and r.random() < 0.4 else r.choice((2, 3, 4, 5, 6, 8, 16, 32))
    if kind < 0.52:
        return f"({a} * {r.choice((by, by, -1))})"
    return f"({a} {r.choice(('//', '%'))} {by})"
