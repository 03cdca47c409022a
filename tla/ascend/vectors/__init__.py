"""Vector instructions of the unified buffer: planned from layouts, proved, executed, bank conflicts counted."""

from .banks import Banks
from .instruction import OPERATIONS as OPERATIONS, VectorInstruction
from .plan import vector

__all__ = ["Banks", "VectorInstruction", "vector"]
