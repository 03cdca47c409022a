"""tla: one language for memory layouts.

CuTe's layout algebra, the TLA layouts of Ascend's CATLASS and XLA's tiled layouts as one exact algebra over static
(`Int[N]`), dynamic and symbolic integers. What C++ writes as a template argument stands in square brackets here.

>>> from tla import MakeLayout, MakeShape, MakeStride, _1, _2, _12
>>> print(MakeLayout(MakeShape(_2, 4), MakeStride(_12, _1)))
(_2,4):(_12,_1)

The first name that is asked for loads the core, the algebra and tensors; symbols come with the first of theirs, and
neither loads numpy or sympy.
"""

from .core.build import BuildInfo as BuildInfo, build_info as build_info  # isort: skip  # first: it decides which files are imported

from importlib import import_module
from typing import TYPE_CHECKING

from .core.composed import ComposedLayout as ComposedLayout
from .core.display import register_display
from .core.ints import is_sympy, register_foreign
from .core.kinds import defined_in
from .core.on_demand import OnDemand
from .core.other_texts import register_text
from .core.swizzle import CoordSwizzle as CoordSwizzle, Swizzle as Swizzle

if TYPE_CHECKING:
    from .core.literals import *  # noqa: F403
    from .names import *  # noqa: F403
    from .names import (
        __all__ as __all__,
        composed as composed,
        filter as filter,
        max as max,
        min as min,
        operations as operations,
        sum as sum,
        swizzled as swizzled,
    )

__version__ = "0.2.0"

_PACKAGES = ("access", "ascend", "codegen", "gpu", "kernels", "linear", "symbolic", "ttgir", "viz", "xla")

# What the core meets and other packages know: operations on composed layouts, expressions of sympy as leaves, pictures
# in a notebook; and what parse meets, maps of isl.
for _kind in (ComposedLayout, CoordSwizzle, Swizzle):
    defined_in(_kind, "tla.algebra.composed", "tla.algebra.swizzled")
_names, _sympy, _notebook = OnDemand("tla.names"), OnDemand("tla.symbolic.from_sympy"), OnDemand("tla.apps.notebook")
_recovery = OnDemand("tla.recovery.door")
register_foreign(is_sympy, lambda x: _sympy.from_sympy(x))
register_display("html", lambda x: _notebook.html(x))
register_display("svg", lambda x: _notebook.svg(x))
register_display("latex", lambda x: _notebook.latex(x))
register_text(r"\s*(?:\[[^]]*\]\s*->\s*)?\{", lambda text: _recovery.layout_of_isl(text))


def load_ipython_extension(shell):  # type: ignore[no-untyped-def]
    """Answer `%load_ext tla`: see tla.apps.notebook."""
    _notebook.load_ipython_extension(shell)


if not TYPE_CHECKING:  # `__all__` too comes with the first name

    def __getattr__(name):
        if name in _PACKAGES:
            return import_module(f"tla.{name}")
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module 'tla' has no attribute {name!r}")
        value, loaded = getattr(_names, name), vars(import_module("tla.names"))
        if name in loaded:  # the others that it has come with it; a literal, like _48, is made each time
            globals().update({n: x for n, x in loaded.items() if n == "__all__" or not n.startswith("__")})
        return value

    def __dir__():
        return [*globals(), *_PACKAGES, *_names.__all__]
