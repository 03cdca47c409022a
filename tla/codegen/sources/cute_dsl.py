"""Layouts as Python of the CuTe DSL, where a number is static, and cutlass.Int32(n) or Int64(n) is dynamic.

Source: cutlass.cute.core of nvidia-cutlass-dsl 4.8.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.basis import ScaledBasis
from ...core.int_tuple import shown
from ...core.ints import Int, IntLike, IntTupleLike, is_constant
from ...core.layout import Layout
from ...core.swizzle import Swizzle
from ..expressions.target import CALL, Syntax
from ..indices.python import SYNTAX
from .cute_cpp import require_31_bits
from .integer_widths import Part, parts
from .sizes import INT32_MAX, Language, not_in


def _number(n: int, wide: bool) -> str:
    return f"cutlass.Int{64 if wide or abs(n) > INT32_MAX else 32}({n})"


# In an expression numbers are plain: its sizes make it dynamic. // rounds down, % does not.
_EXTREMES: Syntax = {op: (CALL, f"cutlass.{op}({{}}, {{}})") for op in ("min", "max")}
_DSL = Language(_number, str, {**SYNTAX, **_EXTREMES}, frozenset({"//"}), frozenset({"cute", "cutlass"}))


#: The element types of the DSL.
DSL_TYPES = {"half": "Float16", "bf16": "BFloat16", "float": "Float32", "tf32": "TFloat32", "double": "Float64"}
DSL_TYPES |= {"fp8_e4m3": "Float8E4M3FN", "fp8_e5m2": "Float8E5M2"}
DSL_TYPES |= {f"{name}{n}": f"{name.title()}{n}" for name in ("int", "uint") for n in (8, 16, 32, 64)}


def cute_dsl(x: object) -> str:
    """A layout, Swizzle, IntTuple or integer as Python of the CuTe DSL."""
    written = [*map(_part, parts(x))]
    if len(written) > 3:
        raise not_in("the CuTe DSL", shown(x), "one map after a plain layout", 'write source(x, "cute_cpp")')
    return written[0] if len(written) == 1 else f"cute.make_composed_layout({', '.join(written)})"


def _part(part: Part) -> str:
    x = part.value
    if isinstance(x, Swizzle):
        require_31_bits(x)
        return f"cute.make_swizzle({x.bits}, {x.base}, {x.shift})"
    if isinstance(x, Layout):
        return f"cute.make_layout({_tuple(x.shape, iter(part.extents))}, stride={_tuple(x.stride, iter(part.strides))})"
    return _tuple(x, iter(part.extents))


def _tuple(x: IntTupleLike, wide: Iterator[bool]) -> str:
    """An IntTuple; for each of its integers, from left to right, whether it is of 64 bits."""
    if isinstance(x, tuple):
        return f"({', '.join(_tuple(m, wide) for m in x)}{',' if len(x) == 1 else ''})"
    if not isinstance(x, ScaledBasis):
        return _integer(x, next(wide))
    value, path = _integer(x.value, next(wide), factor=True), x.path[0] if len(x.path) == 1 else [*x.path]
    element = f"cute.E({path})"
    return element if is_constant(1, x.value) else f"{value} * {element}"


def _integer(n: IntLike, wide: bool, factor: bool = False) -> str:
    return str(int(n)) if type(n) is Int else _DSL.dynamic(n, wide, factor)
