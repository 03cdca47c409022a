"""Each regular expression of `tla` is fed its worst cases: the time grows as the text does.

The worst cases are made from the expression itself. At each of its repeats stands what may come before, then many of
what is repeated, then something that does not fit: an expression that can share the many out in two ways tries
all of them.
"""

import ast
import importlib
import random
import re
import time
from collections import defaultdict
from pathlib import Path

import pytest

import tla
from tla.codegen import TARGETS
from tla.codegen.sources import kernels_dsl
from tla.core import other_texts
from tla.core.reader import Reader
from tla.viz import placement
from tla.xla.programs import text_file

from night import NIGHT
from sources import nodes

try:
    from re import _compiler as sre_compile, _parser as sre_parse
except ImportError:  # Python 3.10
    import sre_compile
    import sre_parse

ROOT = Path(tla.__file__).parent
#: The longest text that is tried, and the time that it may take [characters, s]: linear ones take a hundredth of it,
#: quadratic ones more.
LONGEST, SECONDS = 34_000, 0.15
#: Lengths grow slowly: what is exponential takes little more than SECONDS where it is seen first.
LENGTHS = [*range(12, 40, 2), *(int(40 * 2**k) for k in range(10)), LONGEST]
ENDS = ("", "\0", "!", '"')
METHODS = {"match": "match", "fullmatch": "fullmatch"} | dict.fromkeys(
    ("search", "sub", "split", "findall", "finditer"), "search"
)
#: Expressions that stand in a table or in a local name: all that they may be.
GIVEN = {
    ("tla.viz.placement", "ends[0]"): placement._ENDS,
    ("tla.gpu.instructions.amd", "numbers if of_types else signs"): (
        r"(?:cbsz:([0-4]))?\s*(?:blgp:([0-4]))?",
        r"(?:neg_lo:\[([01]),([01])(?:,0)?\])?\s*(clamp)?",
    ),
    ("tla.codegen.expressions.target", "self.pattern"): {target.pattern for target in TARGETS.values()},
    ("tla.codegen.sources.kernels_dsl", "pattern"): (*kernels_dsl._MMAS, *kernels_dsl._COPIES),
    ("tla.xla.programs.targets", "pattern"): (r"\bversion:\s*TPU_VERSION_(\w+)", r'\bvariant:\s*"(\w*)"'),
    ("tla.xla.programs.text_file", "f.mark"): [foreign.mark for foreign in text_file._FOREIGN],
    ("tla.ascend.programs.any_text", "other"): (r"[\w>*&] +M\b|(::|\.|<)M\b|\bM(::|[(.[>]| \w)",),
    ("tla.ascend.programs.any_text", "f'int64_t {size}\\\\b'"): (r"int64_t M\b",),
    ("tla.core.other_texts", "begins"): [begins for begins, _read in other_texts._READERS],
    ("tla.core.reader", "self.tokens"): (),  # READERS has them
    ("tla.core.reader", "self.blank"): (),
}
#: Texts that are short by nature [characters]: the name of a file.
SHORT = {"tla.xla.programs.dumps": 255}


def module_of(path):
    return ".".join(("tla", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def is_call_of(node, name):
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == name


def is_re(function):
    """Whether a function is one of the module `re`."""
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "re"


def expressions():
    """(module, pattern, method) for all that the sources of `tla` ask `re` for."""
    methods, named, found = defaultdict(set), [], set()
    for path in ROOT.rglob("*.py"):
        module = module_of(path)
        for node in nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.Assign) and is_call_of(node.value, "compile") and is_re(node.value.func):
                named.append((module, node.targets[0].id, node.value.args))
            elif isinstance(node, ast.Attribute) and node.attr in METHODS:
                if getattr(node.value, "id", "re") != "re":
                    methods[node.value.id].add(METHODS[node.attr])
                elif is_call_of(node.value, "compiled"):
                    found |= {(module, p, METHODS[node.attr]) for p in patterns(module, node.value.args)}
            elif isinstance(node, ast.Call) and is_re(node.func) and node.func.attr in METHODS:
                found |= {(module, p, METHODS[node.func.attr]) for p in patterns(module, node.args)}
    found |= {
        (module, p, method)
        for module, name, arguments in named
        for p in patterns(module, arguments)
        for method in methods[name]
    }
    readers = list(Reader.__subclasses__())
    for reader in readers:
        readers += reader.__subclasses__()
        if reader.__module__.startswith("tla."):
            found |= {
                (reader.__module__, re.compile(p), "match") for p in (getattr(reader, "tokens", ""), reader.blank)
            }
    return sorted(found, key=str)


def patterns(module, arguments):
    """What the first argument of a call of `re` may be, with the flags among the others."""
    names, flags = (
        vars(importlib.import_module(module)),
        [x for x in map(ast.unparse, arguments[1:]) if x.startswith("re.") and "(" not in x],
    )
    written = ast.unparse(arguments[0])
    given = GIVEN[module, written] if (module, written) in GIVEN else [eval(written, names)]
    return [re.compile(p, eval(flags[0]) if flags else 0) for p in given]


def one_character(op, value):
    """A few characters that one place of an expression takes."""
    place = sre_compile.compile(sre_parse.SubPattern(sre_parse.State(), [(op, value)]))
    return [*filter(place.match, 'a1_ ,({[<"\\/*-:.x\nA=+'), *filter(place.match, map(chr, range(128)))][:3]


def parts(op, value):
    """What an element of an expression is made of: other expressions."""
    if "REPEAT" in str(op):
        return [value[2]]
    if str(op) == "BRANCH":
        return value[1]
    return (
        [value[-1]]
        if str(op) in ("SUBPATTERN", "ASSERT", "ASSERT_NOT")
        else [value]
        if str(op) == "ATOMIC_GROUP"
        else []
    )


def sample(expression, rng):
    """A text that matches, but for what looks ahead or back."""
    text = ""
    for op, value in expression:
        if str(op) in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            text += rng.choice(one_character(op, value))
        elif not str(op).startswith("ASSERT") and (inner := parts(op, value)):
            times = min(value[1], value[0] + rng.randrange(2)) if "REPEAT" in str(op) else 1
            text += "".join(sample(rng.choice(inner), rng) for _ in range(times))
    return text


def many(expression, before, rng):
    """(what stands before, what is repeated) of every repeat without a small limit."""
    for k, (op, value) in enumerate(expression):
        start = before + sample(expression[:k], rng)
        if "REPEAT" in str(op) and value[1] >= 1000:
            yield from ((start, sample(value[2], rng) or "a") for _ in range(3))
            yield start, sample(value[2], rng) + sample(value[2], rng) or "a"
        for part in parts(op, value):
            yield from many(part, start, rng)


def slow(pattern, method, longest=LONGEST):
    """The first worst case that takes too long, with its length; by day among 8 of them."""
    rng, expression = random.Random(pattern.pattern), sre_parse.parse(pattern.pattern, pattern.flags)
    marks = sorted({c for c in pattern.pattern if not c.isalnum()} | set("a1 "))
    cases = {
        *many(expression, "", rng),
        *(("", c) for c in marks),
        *((sample(expression, rng), rng.choice(marks)) for _ in range(4)),
    }
    for before, repeated in sorted(cases) if NIGHT else rng.sample(sorted(cases), min(len(cases), 8)):
        for end in ENDS:
            for length in (x for x in LENGTHS if x <= longest):
                text = (before + repeated * (length // len(repeated) + 1))[:length] + end
                start = time.process_time()
                getattr(pattern, method)(text)
                if time.process_time() - start > SECONDS:
                    return before, repeated, end, length
    return None


def test_worst_cases_are_found():
    for text, method in ((r"(a+)+b", "match"), (r"\s*x?\s*y", "match"), (r"(\d|\d\d)*[.]", "fullmatch")):
        assert slow(re.compile(text), method), text


@pytest.mark.parametrize(
    ("module", "pattern", "method"), [pytest.param(*x, id=f"{x[0]}-{k}") for k, x in enumerate(expressions())]
)
def test_the_time_grows_as_the_text(module, pattern, method):
    assert slow(pattern, method, SHORT.get(module, LONGEST)) is None
