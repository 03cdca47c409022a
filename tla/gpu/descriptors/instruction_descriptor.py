"""The instruction descriptor of tcgen05.mma: 32 bits that say types, majors, shape and scales, derived from the atom.

Source: the PTX manual, "Instruction descriptor" of tcgen05; CuTe include/cute/arch/mma_sm100_desc.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ..instructions.atom import Major, MMAAtom

_FIELDS = {
    "sparse_id2": (0, 2),
    "sparse_flag": (2, 1),
    "a_format": (7, 3),
    "b_format": (10, 3),
    "a_negate": (13, 1),
    "b_negate": (14, 1),
}
_FIELDS |= {"a_major": (15, 1), "b_major": (16, 1), "n_dim": (17, 6), "m_dim": (24, 5)}
#: The fields as (lowest bit, bits), without and with scale factors.
PLAIN = MappingProxyType({**_FIELDS, "saturate": (3, 1), "c_format": (4, 2), "max_shift": (30, 2)})
SCALED = MappingProxyType(
    {**_FIELDS, "b_sf_id": (4, 2), "scale_format": (23, 1), "a_sf_id": (29, 2), "k_size": (31, 1)}
)

#: The codes of element types, by the kind of the instruction.
_F16 = {"half": 0, "bf16": 1, "tf32": 2, "float": 2}
_F8 = {"fp8_e4m3": 0, "fp8_e5m2": 1, "fp6_e2m3": 3, "fp6_e3m2": 4, "fp4_e2m1": 5}
FORMATS = {
    "f16": _F16,
    "tf32": _F16,
    "i8": {"uint8": 0, "int8": 1},
    "f8f6f4": _F8,
    "mxf8f6f4": _F8,
    "mxf4nvf4": {"fp4_e2m1": 1},
}
C_FORMATS = {"half": 0, "float": 1, "int32": 2}
SCALE_FORMATS = {"fp8_ue4m3": 0, "fp8_e8m0": 1}


@dataclass(frozen=True)
class InstructionDescriptor:
    """The fields of an instruction descriptor by their names, and the 32 bits.

    >>> from tla.gpu import K, SM100_MMA_F16BF16_SS, float, half, instruction_descriptor
    >>> d = instruction_descriptor(SM100_MMA_F16BF16_SS[half, half, float, 128, 256, K, K])
    >>> d["n_dim"], d["m_dim"], hex(d.bits)
    (32, 8, '0x8400010')

    Source: the PTX manual.
    """

    fields: tuple[tuple[str, int], ...]
    scaled: bool

    def __getitem__(self, field: str) -> int:
        found = dict(self.fields)
        if not isinstance(field, str) or field not in found:
            what = f"the field {shown(field)} of an instruction descriptor"
            raise RangeError(what, f"one of {', '.join(found)}", "name one of these")
        return found[field]

    @property
    def bits(self) -> int:
        """The 32 bits."""
        places = SCALED if self.scaled else PLAIN
        return sum(value << places[field][0] for field, value in self.fields)

    def __int__(self) -> int:
        return self.bits

    __index__ = __int__


def instruction_descriptor(
    atom: MMAAtom, *, a_negate: bool | None = None, b_negate: bool | None = None, saturate: bool | None = None
) -> InstructionDescriptor:
    """The instruction descriptor of an atom of tcgen05.mma.

    a_negate, b_negate   negate A or B: floating point only; saturate clamp C: 8-bit integers only; by default what the
                         atom's template arguments say
    Raises               LeafTypeError for another instruction, and for what its kind does not have

    >>> from tla.gpu import K, MN, SM100_MMA_S8_SS, int32, int8, instruction_descriptor
    >>> instruction_descriptor(SM100_MMA_S8_SS[int8, int8, int32, 64, 64, MN, K], saturate=True)["a_major"]
    1

    Source: CuTe `UMMA::make_instr_desc`, `make_instr_desc_block_scaled`.
    """
    kind = atom.kind if isinstance(atom, MMAAtom) else ""
    if kind not in FORMATS:
        fix = "take SM100_MMA_F16BF16_SS[...] and its kin"
        raise LeafTypeError(f"instruction_descriptor of {shown(atom)}", "an atom of tcgen05.mma", fix)
    own = atom.arithmetic
    negate_a, negate_b = _choice("a_negate", a_negate, own.negate_A), _choice("b_negate", b_negate, own.negate_B)
    saturates = _choice("saturate", saturate, own.saturate)
    scale = atom.val_SF
    if (saturates and kind != "i8") or ((negate_a or negate_b) and kind == "i8"):
        what = f"{atom.name}: saturate={saturates}, negate={negate_a or negate_b}"
        raise LeafTypeError(what, "negation of floating point, saturation of i8", "leave it out")
    m, n, k = map(int, atom.shape_mnk)
    a, b = atom.types or (atom.val_A, atom.val_B)
    fields = {"sparse_id2": 0, "sparse_flag": int(atom.sparsity is not None)}
    fields |= {"a_format": FORMATS[kind][a.name], "b_format": FORMATS[kind][b.name]}
    fields |= {"a_negate": int(negate_a), "b_negate": int(negate_b), "a_major": int(atom.major_A is Major.MN)}
    fields |= {"b_major": int(atom.major_B is Major.MN), "n_dim": n >> 3, "m_dim": m >> 4}
    if scale is not None:
        fields |= {"b_sf_id": 0, "scale_format": SCALE_FORMATS[scale.name], "a_sf_id": 0, "k_size": int(k == 96)}
    else:
        fields |= {"saturate": int(saturates), "c_format": C_FORMATS[atom.val_C.name], "max_shift": 0}
    return InstructionDescriptor(tuple(fields.items()), scale is not None)


def _choice(name: str, given: object, own: bool) -> bool:
    """Take what is given, or else the atom's own."""
    if not (given is None or isinstance(given, bool)):
        raise LeafTypeError(f"instruction_descriptor with {name}={shown(given)}", "True or False", "leave it out")
    return own if given is None else given
