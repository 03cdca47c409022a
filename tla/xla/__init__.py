"""XLA's tiled layouts: read, print, lower to shape:stride, size.

Every function takes a shape value or its text.

>>> from tla import xla
>>> print(xla.lower("bf16[16,256]{1,0:T(8,128)(2,1)}"))
((_2,_4,_2),(_128,_2)):((_1,_256,_2048),(_2,_1024))
"""

from typing import TYPE_CHECKING

from ..core.on_demand import load_on_demand

if TYPE_CHECKING:
    from .advice.measure import Measure, Trial, Trials
    from .advice.measured import try_advice
    from .mosaic.block import Block, block
    from .mosaic.kernel import KernelCall, Window, pallas_call
    from .mosaic.memref import MemRef, parse_memref, to_memref
    from .mosaic.registers import RegisterLayout, parse_register_layout
    from .programs.aliasing import Alias
    from .programs.alternatives import Advice, Alternative, advise, alternatives
    from .programs.census import Census, ProgramPeak, census, merge
    from .programs.collectives import Collective, collectives
    from .programs.consistency import contradictions
    from .programs.difference import Change, Difference, PeakChange, difference
    from .programs.dumps import program_file, programs_in
    from .programs.entry import Entry, EntryValue, ReplicaGroups, entry, parse_layout_mode, parse_replica_groups
    from .programs.hlo import Usage, shape_texts, shape_usage
    from .programs.instruction import Instruction, Operand, parse_instruction
    from .programs.memory import Buffer, Memory, Peak, memory
    from .programs.module import Module, SourceLine, read_module
    from .programs.profile import Profile, Time, read_profile
    from .programs.program import Located, read_hlo
    from .programs.relayouts import Loop, Move, relayouts
    from .programs.report import Total, totals
    from .programs.targets import Target, tpu
    from .programs.vocabulary import unknown_names
    from .shapes.array_shape import ArrayLayout, ArrayShape, Split
    from .shapes.compare import Relayout, is_bitcast, relayout
    from .shapes.default import default_layout
    from .shapes.explain import (
        Explanation,
        IndexStep,
        combined_shape,
        dimension_letters,
        dimension_number,
        explain,
        true_rank,
    )
    from .shapes.grammar import parse_shape
    from .shapes.index import linear_index, linear_index_with_tile, multi_index, physical_dimensions, tiled_dimensions
    from .shapes.lower import digits, lower, lower_padded
    from .shapes.proto import from_proto, proto_bytes, proto_text, to_proto
    from .shapes.raising import raise_
    from .shapes.sizes import byte_size, element_count, padded_element_count, waste, waste_by_dimension
    from .shapes.strip import padding_value, strip
    from .shapes.tile_padding import Digit, plan
    from .shapes.values import BufferShape, OpaqueShape, TokenShape, TupleShape
    from .shardings.devices import Iota
    from .shardings.mesh import Axis, DimSharding, Mesh, MeshSharding
    from .shardings.sharding import AnySharding, ShardGroup, Sharding, TupleSharding
    from .shardings.sharding_text import parse_sharding
    from .shardings.shardy import parse_shardy, parse_shardy_mesh, shardy_meshes, shardy_text
else:  # each module when the first of its names is asked for: to lower a shape takes no reader of programs
    _names = {
        "programs.alternatives": "Advice Alternative advise alternatives",
        "shapes.array_shape": "ArrayLayout ArrayShape Split",
        "advice.measure": "Measure Trial Trials",
        "advice.measured": "try_advice",
        "mosaic.block": "Block block",
        "programs.census": "Census ProgramPeak census merge",
        "shapes.compare": "Relayout is_bitcast relayout",
        "programs.consistency": "contradictions",
        "shapes.default": "default_layout",
        "programs.collectives": "Collective collectives",
        "programs.difference": "Change Difference PeakChange difference",
        "programs.targets": "Target tpu",
        "programs.dumps": "program_file programs_in",
        "shardings.devices": "Iota",
        "programs.aliasing": "Alias",
        "programs.entry": "Entry EntryValue ReplicaGroups entry parse_layout_mode parse_replica_groups",
        "shapes.explain": "Explanation IndexStep combined_shape dimension_letters dimension_number explain true_rank",
        "shapes.grammar": "parse_shape",
        "programs.hlo": "Usage shape_texts shape_usage",
        "shapes.index": "linear_index linear_index_with_tile multi_index physical_dimensions tiled_dimensions",
        "programs.instruction": "Instruction Operand parse_instruction",
        "shapes.lower": "digits lower lower_padded",
        "programs.memory": "Buffer Memory Peak memory",
        "shardings.mesh": "Axis DimSharding Mesh MeshSharding",
        "programs.module": "Module SourceLine read_module",
        "mosaic.kernel": "KernelCall Window pallas_call",
        "mosaic.memref": "MemRef parse_memref to_memref",
        "programs.profile": "Profile Time read_profile",
        "programs.program": "Located read_hlo",
        "shapes.proto": "from_proto proto_bytes proto_text to_proto",
        "shapes.raising": "raise_",
        "mosaic.registers": "RegisterLayout parse_register_layout",
        "programs.relayouts": "Loop Move relayouts",
        "programs.report": "Total totals",
        "shapes.values": "BufferShape OpaqueShape TokenShape TupleShape",
        "shardings.sharding": "AnySharding ShardGroup Sharding TupleSharding",
        "shardings.sharding_text": "parse_sharding",
        "shardings.shardy": "parse_shardy parse_shardy_mesh shardy_meshes shardy_text",
        "shapes.sizes": "byte_size element_count padded_element_count waste waste_by_dimension",
        "shapes.strip": "padding_value strip",
        "shapes.tile_padding": "Digit plan",
        "programs.vocabulary": "unknown_names",
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
    "Change",
    "Collective",
    "Difference",
    "Digit",
    "DimSharding",
    "Entry",
    "EntryValue",
    "Explanation",
    "IndexStep",
    "Instruction",
    "Iota",
    "KernelCall",
    "Located",
    "Loop",
    "Measure",
    "MemRef",
    "Memory",
    "Mesh",
    "MeshSharding",
    "Module",
    "Move",
    "OpaqueShape",
    "Operand",
    "Peak",
    "PeakChange",
    "Profile",
    "ProgramPeak",
    "RegisterLayout",
    "Relayout",
    "ReplicaGroups",
    "ShardGroup",
    "Sharding",
    "SourceLine",
    "Split",
    "Target",
    "Time",
    "TokenShape",
    "Total",
    "Trial",
    "Trials",
    "TupleShape",
    "TupleSharding",
    "Usage",
    "Window",
    "advise",
    "alternatives",
    "block",
    "byte_size",
    "census",
    "collectives",
    "combined_shape",
    "contradictions",
    "default_layout",
    "difference",
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
    "pallas_call",
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
    "program_file",
    "programs_in",
    "proto_bytes",
    "proto_text",
    "raise_",
    "read_hlo",
    "read_module",
    "read_profile",
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
    "tpu",
    "true_rank",
    "try_advice",
    "unknown_names",
    "waste",
    "waste_by_dimension",
]
