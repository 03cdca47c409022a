"""AMD's instructions by the names of tensor-layouts: each is made when it is asked for.

>>> from tla.compat.tensor_layouts.atoms_amd import CDNA_32x32x8_F32F16F16_MFMA
>>> CDNA_32x32x8_F32F16F16_MFMA.ptx, CDNA_32x32x8_F32F16F16_MFMA.c_layout
('v_mfma_f32_32x32x8f16', Layout(((32, 2), (4, 4)), ((32, 4), (1, 8))))

Source: tensor-layouts 0.3.2, atoms_amd.py; AMD's manuals of the instructions.
"""

from __future__ import annotations

import re

from .atoms import Atom, named

#: The types of AMD's names of those in these names.
TYPES = {"F8": "fp8", "I4": "iu4"}


def __getattr__(name: str) -> Atom:
    match = re.fullmatch(r"([CR]DNA\d?P?)_(\d+x\d+x\d+)_([A-Z]+\d+)([A-Z]+\d+)([A-Z]+\d+)(_1K)?_(MFMA|WMMA)", name)
    if match is None:
        raise AttributeError(f"no instruction {name}")
    machine, shape, *types, _, unit = match.groups()
    d, a, b = (TYPES.get(t, t.lower()) for t in types)
    if unit == "WMMA":
        a, b = ("iu8" if t == "i8" else t for t in (a, b))
    endings = [a, f"_{a}", f"_{a}_{b}", f"{a}_1k"] if a == b else [f"_{a}_{b}"]
    texts = tuple(f"v_{unit.lower()}_{d}_{shape}{ending}" for ending in (endings[-1:] if match[6] else endings))
    return named(name, texts, machine.lower() if machine.startswith("R") else None)
