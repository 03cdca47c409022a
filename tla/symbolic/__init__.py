"""Symbolic integers: sizes with facts, proofs, and expressions in their simplest form.

symint            SymInt: the integer with its operators
declare           dim, dims, index: sizes and indices with their facts;  facts, as they are checked and printed
conditions        Condition, prove, assuming;  multiples, required of addresses
poly              the normal form, a polynomial;  rules, which bring it about;  proofs, its lower and upper bounds
forms             the cheapest way to write a polynomial;  factoring, of a sum;  tree, text: what is printed
explain           simplify, explain, to_python, latex
parse_expression  an expression from its text
substitute, evaluate   layouts, tuples and polynomials whose symbols have values
nodes, from_sympy      sympy expressions and back; these two import sympy
"""

from typing import TYPE_CHECKING

from ..core.on_demand import OnDemand
from .conditions import Condition as Condition, assuming as assuming, prove as prove
from .declare import dim as dim, dims as dims, index as index
from .explain import Step as Step, explain as explain, latex as latex, simplify as simplify, to_python as to_python
from .substitute import at as at
from .symint import SymInt as SymInt

_NODES = OnDemand("tla.symbolic.nodes")  # with sympy

if TYPE_CHECKING:
    from .nodes import CeilDiv as CeilDiv, FloorDiv as FloorDiv, Mod as Mod
else:

    def __getattr__(name):
        """The nodes of sympy are made when they are first asked for: sympy takes its time to import."""
        if name not in ("CeilDiv", "FloorDiv", "Mod"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_NODES, name)
