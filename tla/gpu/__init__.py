"""GPU kernels' atoms: matrix and copy instructions as data.

>>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN
>>> print(SM80_16x8x16_F32F16F16F32_TN.C)
((_4,_8),(_2,_2)):((_32,_1),(_16,_8))
"""

import builtins
from typing import TYPE_CHECKING

from ..core import element
from ..tensors.make import make_fragment_like
from .descriptors.block_2d import Block2D, block_2d
from .descriptors.buffer_resource import BufferResource, buffer_resource, read_buffer_resource
from .descriptors.canonical import GMMA, UMMA, Canonical, CanonicalAtom, canonical, tile_to_mma_shape
from .descriptors.contracts import Contract, contracts
from .descriptors.descriptor import Descriptor, read_descriptor
from .descriptors.im2col import Im2colBox, Im2colCopy, make_im2col_copy
from .descriptors.instruction_descriptor import InstructionDescriptor, instruction_descriptor
from .descriptors.loads_to_lds import LoadsToLds, loads_to_lds
from .descriptors.matrix_descriptor import descriptor_steps, umma_descriptor, wgmma_descriptor
from .descriptors.multicast import create_tma_multicast_mask, tma_transaction_bytes
from .descriptors.operand_reads import OperandReads, operand_reads
from .descriptors.tensor_map import Im2colMap, TensorMap
from .descriptors.tma import TMACopy, make_tma_copy, tma_partition
from .instructions import names
from .instructions.arithmetic import Arithmetic, ScaleIn
from .instructions.atom import CopyAtom, Major, MMAAtom
from .instructions.elements import CPP
from .instructions.entries import Family
from .instructions.names import Copy_Atom, MMA_Atom, atom, atoms
from .instructions.tmem import TmemAddress, tmem_address, tmem_allocation, tmem_layout
from .run.algorithms import axpby, clear, fill, transform
from .run.bulk import BulkStep, bulk_facts, run_bulk
from .run.copy import copy, copy_if, run_copy
from .run.copy_facts import CopyStep, copy_facts
from .run.gemm import gemm, run_mma
from .run.mma_facts import MmaStep, mma_facts
from .run.values import values_of
from .tiled.printed import from_print
from .tiled.scale_factors import plain_scales, require_scale_strides, scale_factor_atom, scale_factor_layout
from .tiled.sparse import compress
from .tiled.tiled_copy import (
    ThrCopy,
    TiledCopy,
    make_cotiled_copy,
    make_layout_tv,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_C_atom,
    make_tiled_copy_D,
    make_tiled_copy_S,
)
from .tiled.tiled_mma import (
    ThrMMA,
    TiledMMA,
    make_tiled_mma,
    partition_fragment_C,
    partition_shape_A,
    partition_shape_B,
    partition_shape_C,
)
from .tiled.tmem_copy import make_tmem_copy, make_utccp_copy

K, MN = Major.K, Major.MN

__all__ = [
    "GMMA",
    "MN",
    "UMMA",
    "Arithmetic",
    "Block2D",
    "BufferResource",
    "BulkStep",
    "Canonical",
    "CanonicalAtom",
    "Contract",
    "CopyAtom",
    "CopyStep",
    "Copy_Atom",
    "Descriptor",
    "Family",
    "Im2colBox",
    "Im2colCopy",
    "Im2colMap",
    "InstructionDescriptor",
    "K",
    "LoadsToLds",
    "MMAAtom",
    "MMA_Atom",
    "Major",
    "MmaStep",
    "OperandReads",
    "ScaleIn",
    "TMACopy",
    "TensorMap",
    "ThrCopy",
    "ThrMMA",
    "TiledCopy",
    "TiledMMA",
    "TmemAddress",
    "atom",
    "atoms",
    "axpby",
    "block_2d",
    "buffer_resource",
    "bulk_facts",
    "canonical",
    "clear",
    "compress",
    "contracts",
    "copy",
    "copy_facts",
    "copy_if",
    "create_tma_multicast_mask",
    "descriptor_steps",
    "fill",
    "from_print",
    "gemm",
    "instruction_descriptor",
    "loads_to_lds",
    "make_cotiled_copy",
    "make_fragment_like",
    "make_im2col_copy",
    "make_layout_tv",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_C_atom",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_mma",
    "make_tma_copy",
    "make_tmem_copy",
    "make_utccp_copy",
    "mma_facts",
    "operand_reads",
    "partition_fragment_C",
    "partition_shape_A",
    "partition_shape_B",
    "partition_shape_C",
    "plain_scales",
    "read_buffer_resource",
    "read_descriptor",
    "require_scale_strides",
    "run_bulk",
    "run_copy",
    "run_mma",
    "scale_factor_atom",
    "scale_factor_layout",
    "tile_to_mma_shape",
    "tma_partition",
    "tma_transaction_bytes",
    "tmem_address",
    "tmem_allocation",
    "tmem_layout",
    "transform",
    "umma_descriptor",
    "values_of",
    "wgmma_descriptor",
]

if not TYPE_CHECKING:  # a name that is not there is an error for type checkers too
    #: The element types by our names and C++'s, but for float and int: Python's own are taken for these wherever
    #: a type is.
    _ELEMENTS = {
        name: x
        for name, x in (*vars(element).items(), *CPP.items())
        if isinstance(x, element.Element) and name.isidentifier()
    }
    __all__ += sorted({*_ELEMENTS, *names.names()} - {*vars(builtins)})

    def __getattr__(name):
        """The atoms and element types by their names: there are some thousands, made when they are first asked for."""
        found = names.entry(name)
        if found is None:
            found = _ELEMENTS.get(name)
        if found is None:
            near = (
                f": {names._nearest(name)}" if name[:1].isupper() else ""
            )  # as all atoms; a search of thousands takes 40 ms
            raise AttributeError(f"module 'tla.gpu' has no attribute {name!r}{near}")
        return found

    def __dir__():
        return [*globals(), *_ELEMENTS, *names.names()]
