"""XLA's tiled layouts: read, print, lower to shape:stride, size.

Every function takes a shape value or its text.

>>> from tla import xla
>>> print(xla.lower("bf16[16,256]{1,0:T(8,128)(2,1)}"))
((_2,_4,_2),(_128,_2)):((_1,_256,_2048),(_2,_1024))
"""

from .grammar import parse_shape
from .hlo import Usage, shape_texts, shape_usage
from .index import linear_index, multi_index, physical_dimensions, tiled_dimensions
from .instruction import Instruction, Operand, parse_instruction
from .lower import Digit, digits, lower, plan
from .program import Located, read_hlo
from .shapes import BufferShape, OpaqueShape, TokenShape, TupleShape
from .sizes import byte_size, element_count, padded_element_count, waste
from .spec import ArrayLayout, ArrayShape, Split

__all__ = [
    "ArrayLayout",
    "ArrayShape",
    "BufferShape",
    "Digit",
    "Instruction",
    "Located",
    "OpaqueShape",
    "Operand",
    "Split",
    "TokenShape",
    "TupleShape",
    "Usage",
    "byte_size",
    "digits",
    "element_count",
    "linear_index",
    "lower",
    "multi_index",
    "padded_element_count",
    "parse_instruction",
    "parse_shape",
    "physical_dimensions",
    "plan",
    "read_hlo",
    "shape_texts",
    "shape_usage",
    "tiled_dimensions",
    "waste",
]
