"""The code of a value for the page: its text in Python, its layout in other systems, its index in every target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tla

from ...codegen import emit, emit_copy, source
from ...core.errors import TlaError
from ...linear import LinearLayout
from ...viz.kernels import KINDS
from ..expressions import layout_of
from .grammar import read
from .operations import Program, drawn
from .question import Question

_SYSTEMS = {
    "CuTe C++": "cute_cpp",
    "CuTe DSL": "cute_dsl",
    "TLA C++": "tla_cpp",
    "CATLASS DSL": "catlass_dsl",
    "XLA": "xla",
}
_TARGETS = {
    "C": "c",
    "C++": "cpp",
    "CUDA": "cuda",
    "HIP": "hip",
    "OpenCL": "opencl",
    "Triton": "triton",
    "Pallas": "pallas",
    "JAX": "jax",
    "numpy": "numpy",
    "MLIR": "mlir",
    "affine map": "affine",
    "LaTeX": "latex",
}
_NAMES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.])([A-Za-z_]\w*)")


def code(question: Question) -> dict[str, Any]:
    """The code of a text's value in every language; for a language that cannot express it, the reason.

    >>> found = code(Question("Sw<1,0,1> o _0 o (_4,_2):(_1,_4)"))
    >>> [*found["code"]][:4], [*found["refused"]][:3]
    (['Python', 'CuTe C++', 'CuTe DSL', 'index in C'], ['TLA C++', 'CATLASS DSL', 'XLA'])
    """
    program = read(question.text)
    value = program.value.value
    found, refused = {"Python": python(program)}, dict[str, str]()
    for name, make in _kernel(value) if isinstance(value, KINDS) else _of_layouts(drawn(value)):
        try:
            found[name] = make()
        except TlaError as error:
            refused[name] = error.reason.what.split("\n")[0]
    return {"code": found, "refused": refused}


def python(program: Program) -> str:
    """The Python that gives what a program gives.

    >>> print(python(read("A = (_8,_6):(_1,_8); logical_divide(A, (_4, _))")))
    from tla import _, _4, logical_divide, parse
    <BLANKLINE>
    A = parse('(_8,_6):(_1,_8)')
    print(logical_divide(A, (_4, _)))
    """
    lines = [f"{name} = {x.python}" for name, x in program.names]
    if not any(x is program.value for _name, x in program.names):
        lines.append(f"print({program.value.python})")
    if program.assumed:
        lines = ["with assuming() as conditions:", *(f"    {line}" for line in lines)]
    imports = sorted({name for name in _NAMES.findall("\n".join(lines)) if name and hasattr(tla, name)})
    return "\n".join([f"from tla import {', '.join(imports)}", "", *lines] if imports else lines)


def _of_layouts(found: tuple[Any, ...]) -> Iterator[tuple[str, Callable[[], str]]]:
    """The languages of layouts, each with what makes its text: of the first layout, its offsets, the copy to a next."""
    if not found:
        return
    layouts = [layout_of(x) for x in found[:2]]
    for name, system in _SYSTEMS.items():
        yield name, partial(source, layouts[0], system)
    for name, target in _TARGETS.items():
        yield f"index in {name}", partial(emit, layouts[0], target)
    if len(found) == 2:
        yield "copy in C", partial(emit_copy, layouts[0], layouts[1])


def _kernel(x: Any) -> Iterator[tuple[str, Callable[[], str]]]:
    """An atom, a tiled MMA or a tiled copy in CuTe; a linear layout is none there."""
    if not isinstance(x, LinearLayout):
        for name, system in _SYSTEMS.items():
            if system.startswith("cute"):
                yield name, partial(source, x, system)
