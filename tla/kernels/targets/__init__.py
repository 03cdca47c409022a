"""The targets of a kernel's text, a file each: C on a CPU, CUDA, Gluon, HIP.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ascend.programs.text import LANGUAGES
from ...codegen.c_languages import C_FAMILY
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...tensors.tensor import Tensor
from ..program.elements import Scalar
from ..program.resources import ARCHITECTURES
from ..program.statements import Program, accesses
from ..run.trace import OWN_NAME, sizes_of
from ..text.source import Parts, Source
from . import c, cuda, gluon, hip

#: A target's name -> the function that writes a program.
TARGETS = {"c": c.write, "cuda": cuda.write, "gluon": gluon.write, "hip": hip.write}
#: AMD's own floats of 8 bits -> those of the Open Compute Project; and the other way.
_TWINS = {"float8_e4m3fnuz": "float8_e4m3fn", "float8_e5m2fnuz": "float8_e5m2"}
_TWINS |= {ocp: own for own, ocp in _TWINS.items()}


def require_target(target: str, arch: str | None) -> None:
    """LeafTypeError for what is no target, and for an architecture that is not one of its own."""
    if target in LANGUAGES:  # of kernels whose body is a block
        what, fix = f"a kernel of threads in {target}", f"write AscendKernel(ascend.block(...)).source({target!r})"
        raise LeafTypeError(what, f"one of {', '.join(TARGETS)}", fix)
    if target not in TARGETS:
        what = f"the target {shown(target)} of a kernel"
        raise LeafTypeError(what, f"one of {', '.join(TARGETS)}", "write k.source('cuda', ...)")
    known = ARCHITECTURES.get(target)
    if arch is not None and not (isinstance(arch, str) and known and known.fullmatch(arch)):
        what = f"arch={shown(arch)} of {target}"
        raise LeafTypeError(what, "an architecture of the target, or None", "write k.source('cuda', ..., arch='sm_80')")


def require_types(program: Program, target: str, arch: str | None) -> None:
    """LeafTypeError for elements of a type that an architecture does not convert: each of AMD's has at most one kind of
    floats of 8 bits, NVIDIA's have none of AMD's own.

    Source: clang's BuiltinsAMDGPU.def; Triton's backend of NVIDIA, its floats of 8 bits.
    """
    floats = C_FAMILY["hip"].floats
    tensors = [*program.arguments.values(), *(x.tensor for s in program.statements() for _verb, x in accesses(s))]
    for kind in dict.fromkeys(str(x.dtype) for x in tensors if isinstance(x, (Tensor, Scalar))):
        machines = floats[kind].machines if kind in floats else ()
        if arch is None or not machines or arch in machines or (target != "hip" and not kind.endswith("fnuz")):
            continue
        twin = _TWINS[kind]
        has_twin = target != "hip" or arch in floats[twin].machines
        what = f"{program.name}: elements of {kind} on {arch}"
        fix = f"take {twin}, or another arch=" if has_twin else "take bfloat16, or another arch="
        raise LeafTypeError(what, f"a type that it converts; {kind} is one of {', '.join(machines)}", fix)


def source_of(program: Program, target: str, name: str, parameters: str | Sequence[str] | None, checked: str) -> Source:
    """The text of a program by a target's name. Raises what Kernel.source raises."""
    return TARGETS[target](Parts(program, name, _order(program, parameters), checked))


def _order(program: Program, given: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of the text's parameters: those given, or the arguments' and then the sizes'."""
    sizes = [str(n) for n in sizes_of(program)]
    named = [name for name, x in program.arguments.items() if isinstance(x, (Tensor, Scalar))]
    order = tuple(given.split() if isinstance(given, str) else given or (*named, *(n for n in sizes if n not in named)))
    missing, unknown = [n for n in (*named, *sizes) if n not in order], [n for n in order if n not in (*named, *sizes)]
    if missing or unknown or len({*order}) < len(order) or any(map(OWN_NAME.fullmatch, order)):
        what = f"parameters {' '.join(order)}"
        raise RangeError(what, f"each of {' '.join((*named, *sizes))} once", "leave parameters= out for that order")
    return order
