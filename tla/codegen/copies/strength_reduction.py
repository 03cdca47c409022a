"""Offsets along a loop nest: a start, what each loop adds, and what it takes back when it ends.

Source: strength reduction of induction variables; ours.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...algebra.coalesce import coalesce
from ...core.composed import ComposedLayout, gives_coordinates, innermost
from ...core.errors import LeafTypeError
from ...core.int_tuple import leaves, shown
from ...core.ints import Int, IntLike, Leaf, is_constant
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.leaf_arithmetic import mul, plus
from ...symbolic.declare import unnamed
from ..c_languages import C_FAMILY, CLanguage
from ..expressions.plan import facts_among
from ..expressions.signature import Parameter, symbols_of, with_parameters
from ..expressions.target import commented, required, target_of
from .c_expressions import Terms

#: Names that emitted loops use.
_TAKEN = re.compile(r"at|out|k\d+")
#: Targets with loops over pointers, wherever these point to.
_TARGETS = [name for name, language in C_FAMILY.items() if not language.space]


class Step(NamedTuple):
    """A loop of a nest, with what keeps an offset up to date by addition alone.

    extent   the number of iterations
    step     added to the offset after each iteration [elements]
    wrap     added where the loop ends: the step of the next loop out, less extent * step; of the outermost
             loop -extent * step

    >>> from tla import parse
    >>> from tla.codegen import loop_nest
    >>> loop_nest(parse("_4:_3"))
    (Step(extent=Int[4](), step=Int[3](), wrap=Int[-12]()),)

    Source: strength reduction.
    """

    extent: Any
    step: Any
    wrap: Any


def loop_nest(layout: Layout) -> tuple[Step, ...]:
    """The loops that go through the offsets of a layout from 0 on, first mode fastest: the fastest loop first.

    Modes that continue each other are one loop; of extent 1 there is none.

    >>> from tla import parse
    >>> from tla.codegen import loop_nest
    >>> for s in loop_nest(parse("(_4,(_2,3)):(_1,(_16,_4))")):
    ...     print(*s)
    _4 _1 _12
    _2 _16 _-28
    3 _4 -12

    Raises LeafTypeError for composed layouts, whose offsets have no steps. Source: strength reduction.
    """
    if not isinstance(layout, Layout):
        raise LeafTypeError(
            f"the steps of {shown(layout)}", "a layout of shape and stride", "take those of its inner layout"
        )
    flat = coalesce(layout)
    modes = [(s, d) for s, d in zip(leaves(flat.shape), leaves(flat.stride)) if not is_constant(1, s)]
    following = [*(d for _s, d in modes[1:]), Int[0]()]
    return tuple(Step(s, d, plus(after, mul(mul(s, d), Int[-1]()))) for (s, d), after in zip(modes, following))


def emit_loops(layout: AnyLayout, target: str = "c", *, name: str = "offsets") -> str:
    """The text of a function that writes the offsets of all coordinates to out, first mode fastest, by additions alone.

    layout   a Layout; of a composed one the inner offsets step, and the outer map is worked out for each
    target   c, cpp, cuda or hip

    Static leaves are numbers in the text; dynamic leaves and symbols are parameters, as emit() has them.

    >>> from tla import parse
    >>> from tla.codegen import emit_loops
    >>> print(emit_loops(parse("(_4,_2):(_2,_1)")))
    #include <stdint.h>
    <BLANKLINE>
    // offsets: of (_4,_2):(_2,_1) [elements]
    static inline void offsets(int64_t *out) {
        int64_t at = 0;
        for (int64_t k1 = 0; k1 < 2; ++k1, at += -7) {
            for (int64_t k0 = 0; k0 < 4; ++k0, at += 2) {
                *out++ = at;
            }
        }
    }
    <BLANKLINE>

    Raises LeafTypeError for names that the target does not take, and targets that have no loops. Source: ours.
    """
    found = target_of(target)
    if target not in _TARGETS:
        fix = "use emit(layout, target=...), which writes the offset of one coordinate"
        raise LeafTypeError(f"loops in {target}", f"one of {', '.join(_TARGETS)}", fix)
    if not isinstance(layout, AnyLayout):
        raise LeafTypeError(
            f"the loops of a {type(layout).__name__}", "a layout", "parse the text of one, or lower an XLA shape"
        )
    if gives_coordinates(innermost(layout)):
        what = f"loops of {shown(layout)}, in which coordinates step"
        raise LeafTypeError(what, "offsets that step", "write emit(layout), which writes the offset of one coordinate")
    dynamic: dict[str, Parameter] = {}
    opened = with_parameters(layout, dynamic)
    steps = loop_nest(innermost(opened))
    at = unnamed("at", None)
    value = _outer(opened, at)
    used = {n for x in (value, *(y for s in steps for y in s)) for n in symbols_of(x) if n != at}
    sizes = sorted(used, key=lambda n: (str(n) in dynamic, str(n)))
    names = [str(n) for n in sizes]
    found.require_names(name, names)
    for word in (name, *names):
        if _TAKEN.fullmatch(word):
            raise LeafTypeError(f"the name {word} in loops", "other names than out, at, k0, k1 ...", "use another name")
    remarks = [f"{name}: of {shown(layout, 200)} [elements]", *required(facts_among(sizes))]
    return _written(remarks, steps, value, C_FAMILY[target], name, names)


def _outer(layout: AnyLayout, at: IntLike) -> Leaf:
    """The offset of a layout where that of its innermost one is `at`."""
    return layout.outer(plus(layout.offset, _outer(layout.inner, at))) if isinstance(layout, ComposedLayout) else at


def _written(
    remarks: list[str], steps: tuple[Step, ...], value: object, language: CLanguage, name: str, names: list[str]
) -> str:
    integer = language.integers["int64"]
    terms = Terms(name, integer, language.function)
    lines = [f"{integer} at = 0;"]
    for depth, k in enumerate(reversed(range(len(steps)))):
        by = terms.text(steps[k - 1].wrap if k else steps[0].step)
        lines.append(
            f"{'    ' * depth}for ({integer} k{k} = 0; k{k} < {terms.compared(steps[k].extent)}; ++k{k}, at += {by}) {{"
        )
    lines.append(f"{'    ' * len(steps)}*out++ = {terms.text(value)};")
    lines += ["    " * depth + "}" for depth in reversed(range(len(steps)))]
    parameters = ", ".join([f"{integer} *out", *(f"{integer} {n}" for n in names)])
    body = "".join(f"    {line}\n" for line in lines)
    head = language.head("int")
    function = f"{commented('//', remarks)}{language.function} void {name}({parameters}) {{\n{body}}}"
    return "\n\n".join([*(["\n".join(head)] if head else []), *terms.helpers(), function]) + "\n"
