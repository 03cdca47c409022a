"""Triton's prints of layouts: a type with its layout, a layout alone, and names for layouts, as at the top of its modules."""

from __future__ import annotations

import re

from ...core.errors import LeafTypeError
from ...linear import triton
from .operations import Term

_SHARED = (triton.NVMMASharedLayout, triton.PaddedSharedLayout, triton.SharedLinearLayout, triton.SwizzledSharedLayout)
_TENSOR_MEMORY = (triton.TensorMemoryLayout, triton.TensorMemoryScalesLayout)
_ALIAS = re.compile(r"#([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(#.*)")


def term(text: str, aliases: dict[str, str]) -> Term:
    """The value of a statement of Triton's, and its Python: who holds each element, or of shared memory where each lies.

    aliases    name -> the text that it stands for; a statement that gives a name adds to them

    >>> shared = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    >>> print(term(f"!ttg.memdesc<64x64xf16, {shared}, #ttg.shared_memory>", {}).value)
    Sw<3,3,3> o _0 o (_64,_64):(_64,_1)
    """
    if named := _ALIAS.fullmatch(text):
        aliases[named[1]] = text = named[2]
    used = {name: value for name, value in aliases.items() if value != text}
    found = triton.from_type(text, used)
    python = f"linear.triton.from_type({text!r}{f', {used}' if used else ''})"
    if isinstance(found.layout, _TENSOR_MEMORY):
        fix = "give one of registers or of shared memory; tla.linear.triton has the linear layout of this one"
        raise LeafTypeError(f"{text:.60}, a layout of tensor memory", "who holds each element, or where it lies", fix)
    if isinstance(found.layout, _SHARED):
        return Term(found.memory, f"{python}.memory", found.element_width)
    return Term(found.linear, f"{python}.linear", found.element_width)
