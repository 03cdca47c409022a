"""An emitted function against its definition, proved by z3 for every coordinate, and for all sizes that
the facts allow.

The definition is written down once more in claim.py, from shape and stride alone. Of the text only the grammar is
known. Over integers where there is no exclusive or, else as bit vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...core.composed import ComposedLayout, gives_coordinates, innermost
from ...core.coord import CoordLike
from ...core.errors import LeafTypeError, ParseError, RankError
from ...core.int_tuple import leaves, modes_of, shown
from ...core.kinds import AnyLayout
from ...core.layout import require_origin
from ...core.valid import ALL
from ...symbolic import Condition
from ...tensors.tensor import Tensor
from ..expressions.signature import Parameter, with_parameters
from ..expressions.target import TARGETS
from ..indices.emit import emit
from ..indices.guard import emit_guard
from .bit_vectors import BitVectors
from .claim import Claim, ConditionClaim, GuardClaim, OffsetClaim, Proof
from .reading import Function, Tree, read_expression, read_function
from .terms import Integers

#: The targets whose text is read: those of C's family, and Python.
READ = ("c", "cpp", "cuda", "hip", "opencl", "python")
_SAID = re.compile(r"\bu?int(32|64):")
_WIDE = re.compile(r"\blong\b|\bu?int64_t\b")


def prove(
    layout: AnyLayout,
    target: str = "c",
    coords: CoordLike | None = None,
    *,
    text: str | None = None,
    name: str = "offset",
) -> Proof:
    """Prove by z3 that the emitted function of a layout is the layout, at every coordinate inside of its shape.

    target   one of c cpp cuda hip opencl python
    coords   the names of the coordinates, one for each mode, as emit takes them
    text     a function that was emitted before, or written by hand in the same words; by default what emit writes

    >>> from tla import parse
    >>> from tla.codegen import prove
    >>> prove(parse("(_8,_8):(_8,_1)"), "c", text="int offset(int i, int j) { return f(i, j); }").how.splitlines()[0]
    "the text is not read: unexpected '(', at position 35"

    Raises LeafTypeError for another target, for what is no layout of offsets, and without z3; RankError
    for other coordinates.
    """
    _require(layout, AnyLayout, "prove", "a layout", target, coords)
    if gives_coordinates(innermost(layout)):
        raise LeafTypeError(f"prove of {shown(layout)}", "a layout of offsets", "take each coordinate by itself")
    text = emit(layout, target, coords, name=name) if text is None else text
    dynamic: dict[str, Parameter] = {}
    return _proved(text, name, target, lambda *given: OffsetClaim(with_parameters(layout, dynamic), *given))


def prove_guard(
    what: AnyLayout | Tensor,
    target: str = "c",
    coords: CoordLike | None = None,
    *,
    below: CoordLike | None = None,
    text: str | None = None,
    name: str = "is_valid",
) -> Proof:
    """Prove by z3 that the emitted guard of a layout or a Tensor is true where an element is valid, and nowhere else.

    below   of a tensor of coordinates, the extents that they are to be below
    what, target, coords, text, name   as emit_guard and prove have them

    >>> from tla import parse
    >>> from tla.codegen import prove_guard
    >>> prove_guard(parse("(_8,_8):(_8,_1)"), "c", text="bool is_valid(int i, int j) { return f(i, j); }").proved is None
    True

    Raises as prove does. Source: TLA `origin_shape`; CuTe `elem_less` of an identity tensor.
    """
    _require(what, (AnyLayout, Tensor), "prove_guard", "a layout or a Tensor", target, coords)
    text = emit_guard(what, target, coords, below=below, name=name) if text is None else text
    layout: Any = what.layout if isinstance(what, Tensor) else what
    dynamic: dict[str, Parameter] = {}
    least = False
    if below is not None:
        place, start = with_parameters(layout, dynamic), what.offset if isinstance(what, Tensor) else ()
        bounds = tuple(leaves(below))
    elif isinstance(what, Tensor) and what._guard.place is not None:
        (bounds, _room, place, start), least = what._guard, True
        place = with_parameters(place, dynamic, "place_")
    else:
        # by what it is, not by what its dynamic integers hold
        is_whole = not isinstance(what, Tensor) and innermost(what)._valid is ALL
        place, start = innermost(with_parameters(layout, dynamic)).shape, ()
        bounds = () if is_whole else require_origin("prove_guard", what)
    if isinstance(place, ComposedLayout):
        return Proof(None, f"the layout of coordinates {shown(place)}", {}, text)
    return _proved(text, name, target, lambda *given: GuardClaim(place, start, modes_of(bounds), least, *given))


def prove_condition(condition: object, *, text: str | None = None) -> Proof:
    """Prove by z3 that a condition holds for all sizes that meet their facts: what `tla.prove` says, by another prover.

    text   the condition in tla's notation, as it was before it was simplified; by default str(condition)

    >>> from tla import dim
    >>> from tla.codegen import prove_condition
    >>> prove_condition(dim("N") <= 8, text="N +").how.splitlines()[0]
    'the text is not read: the text ends, at position 3'

    Raises LeafTypeError for anything else, and without z3.
    """
    if not isinstance(condition, Condition):
        what = f"prove_condition of a {type(condition).__name__}"
        raise LeafTypeError(what, "a condition such as i < N", "compare sizes: i*N + j < M*N")
    text = str(condition) if text is None else text
    names = tuple(sorted(n.name for n in condition.a.scope | condition.b.scope))
    return _outcome(text, lambda: ConditionClaim(condition, Function(names, (), read_expression(text))))


def _require(what: object, kind: Any, where: str, expected: str, target: str, coords: CoordLike | None) -> None:
    if target not in READ:
        known = f"one of {' '.join(READ)}"
        fix = "prove one of these" if target in TARGETS else f"write {known}"
        raise LeafTypeError(f"{where} for the target {target!r:.40}", known, fix)
    if not isinstance(what, kind):
        raise LeafTypeError(f"{where} of a {type(what).__name__}", expected, "parse a text, or lower an XLA shape")
    layout: Any = what.layout if isinstance(what, Tensor) else what
    names = coords.replace(" ", "").split(",") if isinstance(coords, str) else modes_of(coords)
    rank = len(modes_of(layout.shape))
    if coords is not None and (len(names) != rank or not all(isinstance(n, str) and n.isidentifier() for n in names)):
        raise RankError(
            f"{where} with the coordinates {shown(coords)}", f"{rank} names", "give one name for each top-level mode"
        )


def _proved(text: str, name: str, target: str, claim: Callable[[Function, int | None], Claim]) -> Proof:
    """The proof of what is claimed of the function of a text."""
    said = _SAID.search(text)  # in the comment that emit writes; else the types say it
    bits = None if target == "python" else int(said[1]) if said else 64 if _WIDE.search(text) else 32
    return _outcome(text, lambda: claim(read_function(text, name, python=target == "python"), bits))


def _outcome(text: str, claimed: Callable[[], Claim]) -> Proof:
    """The proof of a claim; None of what is not read, or has operations that these terms have not."""
    try:
        claim = claimed()
        function = claim.function
        bitwise = any(map(_has_bits, [*(t for _name, t in function.steps), function.value])) or claim.has_bits
        if bitwise and claim.symbolic:
            return Proof(None, "sizes that are not known together with bits", {}, text)
        return (BitVectors if bitwise else Integers)(claim).proof(text)
    except ParseError as error:
        return Proof(None, f"the text is not read: {error.reason.what}", {}, text)
    except KeyError as error:
        return Proof(None, f"{error.args[0]} in the text", {}, text)


def _has_bits(t: Tree) -> bool:
    return isinstance(t, tuple) and (t[0] in ("^", "|") or any(_has_bits(x) for x in t[1:]))
