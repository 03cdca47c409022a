"""XLA's tiled layouts: read, print, lower to shape:stride, size.

Every function takes a shape value or its text.

>>> from tla import xla
>>> print(xla.lower("bf16[16,256]{1,0:T(8,128)(2,1)}"))
((_2,_4,_2),(_128,_2)):((_1,_256,_2048),(_2,_1024))
"""

from typing import TYPE_CHECKING

from ..core.on_demand import load_on_demand

if TYPE_CHECKING:
    from .alternatives import Advice, Alternative, advise, alternatives
    from .array_shape import ArrayLayout, ArrayShape, Split
    from .block import Block, block
    from .census import Census, ProgramPeak, census, merge
    from .compare import Relayout, is_bitcast, relayout
    from .consistency import contradictions
    from .default import default_layout
    from .devices import Iota
    from .entry import Alias, Entry, EntryValue, ReplicaGroups, entry, parse_layout_mode, parse_replica_groups
    from .explain import Explanation, IndexStep, combined_shape, dimension_letters, dimension_number, explain, true_rank
    from .grammar import parse_shape
    from .hlo import Usage, shape_texts, shape_usage
    from .index import linear_index, linear_index_with_tile, multi_index, physical_dimensions, tiled_dimensions
    from .instruction import Instruction, Operand, parse_instruction
    from .lower import digits, lower, lower_padded
    from .memory import Buffer, Memory, Peak, memory
    from .mesh import Axis, DimSharding, Mesh, MeshSharding
    from .module import Module, SourceLine, read_module
    from .mosaic import MemRef, parse_memref, to_memref
    from .program import Located, read_hlo
    from .proto import from_proto, proto_bytes, proto_text, to_proto
    from .raising import raise_
    from .registers import RegisterLayout, parse_register_layout
    from .relayouts import Loop, Move, relayouts
    from .report import Total, totals
    from .shapes import BufferShape, OpaqueShape, TokenShape, TupleShape
    from .sharding import AnySharding, ShardGroup, Sharding, TupleSharding
    from .sharding_text import parse_sharding
    from .shardy import parse_shardy, parse_shardy_mesh, shardy_meshes, shardy_text
    from .sizes import byte_size, element_count, padded_element_count, waste, waste_by_dimension
    from .strip import padding_value, strip
    from .tile_padding import Digit, plan
    from .vocabulary import unknown_names
else:  # each module when the first of its names is asked for: to lower a shape takes no reader of programs
    _names = {
        "alternatives": "Advice Alternative advise alternatives",
        "array_shape": "ArrayLayout ArrayShape Split",
        "block": "Block block",
        "census": "Census ProgramPeak census merge",
        "compare": "Relayout is_bitcast relayout",
        "consistency": "contradictions",
        "default": "default_layout",
        "devices": "Iota",
        "entry": "Alias Entry EntryValue ReplicaGroups entry parse_layout_mode parse_replica_groups",
        "explain": "Explanation IndexStep combined_shape dimension_letters dimension_number explain true_rank",
        "grammar": "parse_shape",
        "hlo": "Usage shape_texts shape_usage",
        "index": "linear_index linear_index_with_tile multi_index physical_dimensions tiled_dimensions",
        "instruction": "Instruction Operand parse_instruction",
        "lower": "digits lower lower_padded",
        "memory": "Buffer Memory Peak memory",
        "mesh": "Axis DimSharding Mesh MeshSharding",
        "module": "Module SourceLine read_module",
        "mosaic": "MemRef parse_memref to_memref",
        "program": "Located read_hlo",
        "proto": "from_proto proto_bytes proto_text to_proto",
        "raising": "raise_",
        "registers": "RegisterLayout parse_register_layout",
        "relayouts": "Loop Move relayouts",
        "report": "Total totals",
        "shapes": "BufferShape OpaqueShape TokenShape TupleShape",
        "sharding": "AnySharding ShardGroup Sharding TupleSharding",
        "sharding_text": "parse_sharding",
        "shardy": "parse_shardy parse_shardy_mesh shardy_meshes shardy_text",
        "sizes": "byte_size element_count padded_element_count waste waste_by_dimension",
        "strip": "padding_value strip",
        "tile_padding": "Digit plan",
        "vocabulary": "unknown_names",
    }
    load_on_demand(__name__, _names)

__all__ = [
    "Advice",
    "Alias",
    "Alternative",
    "AnySharding",
    "ArrayLayout",
    "ArrayShape",
    "Axis",
    "Block",
    "Buffer",
    "BufferShape",
    "Census",
    "Digit",
    "DimSharding",
    "Entry",
    "EntryValue",
    "Explanation",
    "IndexStep",
    "Instruction",
    "Iota",
    "Located",
    "Loop",
    "MemRef",
    "Memory",
    "Mesh",
    "MeshSharding",
    "Module",
    "Move",
    "OpaqueShape",
    "Operand",
    "Peak",
    "ProgramPeak",
    "RegisterLayout",
    "Relayout",
    "ReplicaGroups",
    "ShardGroup",
    "Sharding",
    "SourceLine",
    "Split",
    "TokenShape",
    "Total",
    "TupleShape",
    "TupleSharding",
    "Usage",
    "advise",
    "alternatives",
    "block",
    "byte_size",
    "census",
    "combined_shape",
    "contradictions",
    "default_layout",
    "digits",
    "dimension_letters",
    "dimension_number",
    "element_count",
    "entry",
    "explain",
    "from_proto",
    "is_bitcast",
    "linear_index",
    "linear_index_with_tile",
    "lower",
    "lower_padded",
    "memory",
    "merge",
    "multi_index",
    "padded_element_count",
    "padding_value",
    "parse_instruction",
    "parse_layout_mode",
    "parse_memref",
    "parse_register_layout",
    "parse_replica_groups",
    "parse_shape",
    "parse_sharding",
    "parse_shardy",
    "parse_shardy_mesh",
    "physical_dimensions",
    "plan",
    "proto_bytes",
    "proto_text",
    "raise_",
    "read_hlo",
    "read_module",
    "relayout",
    "relayouts",
    "shape_texts",
    "shape_usage",
    "shardy_meshes",
    "shardy_text",
    "strip",
    "tiled_dimensions",
    "to_memref",
    "to_proto",
    "totals",
    "true_rank",
    "unknown_names",
    "waste",
    "waste_by_dimension",
]
