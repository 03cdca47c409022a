"""CATLASS's block swizzles whose offset and direction are told at run time.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.errors import LeafTypeError
from .schedule import Schedule
from .swizzles import (
    BlockSwizzle,
    GemmIdentityBlockSwizzle,
    SingleCoreSplitkGemmIdentityBlockSwizzle,
    SplitkGemmIdentityBlockSwizzle,
    StreamkGemmIdentityBlockSwizzle,
)

__all__ = [
    "DynamicBlockSwizzle",
    "DynamicGemmIdentityBlockSwizzle",
    "DynamicSingleCoreSplitkGemmIdentityBlockSwizzle",
    "DynamicSplitkGemmIdentityBlockSwizzle",
    "DynamicStreamkGemmIdentityBlockSwizzle",
]


@dataclass(frozen=True)
class DynamicBlockSwizzle:
    """A block swizzle whose arguments stand in parentheses: the same blocks as of the one in square brackets.

    name    as CATLASS has it;  fixed  the swizzle in square brackets

    >>> from tla.ascend import DynamicGemmIdentityBlockSwizzle
    >>> problem, tile = (64, 96, 32), (32, 32, 32)
    >>> print(DynamicGemmIdentityBlockSwizzle(problem, tile, swizzleOffset=2, swizzleDirection=1, cores=4))
    0 1 1
    2 3 0

    Raises what the swizzle in square brackets raises. Source: CATLASS block_swizzle.hpp.
    """

    name: str
    fixed: BlockSwizzle

    def __call__(
        self, problem: object, tile: object, swizzleOffset: Any = 1, swizzleDirection: Any = 0, **more: Any
    ) -> Schedule:
        return self.fixed[swizzleOffset, swizzleDirection](problem, tile, **more)

    def __getitem__(self, arguments: object) -> BlockSwizzle:
        what, fix = (
            f"{self.name}[...]",
            f"write {self.name}(problem, tile, 3, 0), or {self.fixed.name}[3, 0](problem, tile)",
        )
        raise LeafTypeError(what, "offset and direction in parentheses: they are told at run time", fix)

    def __repr__(self) -> str:
        return self.name


DynamicGemmIdentityBlockSwizzle = DynamicBlockSwizzle("DynamicGemmIdentityBlockSwizzle", GemmIdentityBlockSwizzle)
DynamicSplitkGemmIdentityBlockSwizzle = DynamicBlockSwizzle(
    "DynamicSplitkGemmIdentityBlockSwizzle", SplitkGemmIdentityBlockSwizzle
)
DynamicStreamkGemmIdentityBlockSwizzle = DynamicBlockSwizzle(
    "DynamicStreamkGemmIdentityBlockSwizzle", StreamkGemmIdentityBlockSwizzle
)
DynamicSingleCoreSplitkGemmIdentityBlockSwizzle = DynamicBlockSwizzle(
    "DynamicSingleCoreSplitkGemmIdentityBlockSwizzle", SingleCoreSplitkGemmIdentityBlockSwizzle
)
