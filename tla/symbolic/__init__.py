"""Symbolic integers: sizes with facts, proofs, and expressions in their simplest form.

syms        SymInt, and what declares them: dim, dims, index
conditions  Condition, prove, assuming
poly        the normal form;  rules, what makes it;  proofs, how small and how large
forms       the cheapest way to write it;  tree, text, what that prints as
explain     simplify, explain, to_python, latex
reading     expressions as text, read
values      what holds sizes, where these have values
nodes       to and from sympy, loaded when it is asked for
"""

from typing import TYPE_CHECKING

from . import parse_expression as parse_expression  # parse knows symbols
from .conditions import Condition as Condition, assuming as assuming, prove as prove
from .declare import dim as dim, dims as dims, index as index
from .explain import Step as Step, explain as explain, latex as latex, simplify as simplify, to_python as to_python
from .substitute import at as at
from .symint import SymInt as SymInt

if TYPE_CHECKING:
    from .nodes import CeilDiv as CeilDiv, FloorDiv as FloorDiv, Mod as Mod
else:

    def __getattr__(name):
        """The nodes of sympy are made when they are first asked for: sympy takes its time to import."""
        if name not in ("CeilDiv", "FloorDiv", "Mod"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import nodes

        return getattr(nodes, name)
