"""Notebook output for layouts, tuples, XLA shapes and the like: a picture, LaTeX, or text. It is made only when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import TlaError
from ..core.int_tuple import IntTuple, leaves
from ..core.layout import Layout
from ..core.on_demand import OnDemand
from ..symbolic import SymInt

if TYPE_CHECKING:
    from ..viz import Scene

# With numpy, which a notebook that shows no picture does without.
_viz, _svg = OnDemand("tla.viz"), OnDemand("tla.viz.svg")

#: Of a layout with more coordinates than this a notebook shows the corner.
LIMIT = 2**12


def svg(x: object) -> str | None:
    """The picture of x; None where it cannot be drawn, as its sizes are not known.

    >>> from tla import parse
    >>> svg(parse("(4,2):(1,4)"))[:4]
    '<svg'
    """
    scene = _scene(x)
    return None if scene is None else _viz.svg(scene)


def html(x: object) -> str | None:
    """The picture of x in HTML; where it cannot be drawn its text, escaped, or None if there is LaTeX.

    >>> from tla import parse
    >>> html(parse("(4,2):(1,4)"))[:42]
    '<div style="overflow-x: auto">\\n<svg xmlns='
    """
    if (picture := svg(x)) is not None:
        return f'<div style="overflow-x: auto">\n{picture}</div>'
    return f"<code>{_svg.escape(str(x))}</code>" if latex(x) is None else None


def latex(x: object) -> str | None:
    """The text of a layout, or of a tuple, in LaTeX, where a size in it is not known; None for others.

    >>> from tla import MakeLayout, dims
    >>> print(latex(MakeLayout(dims("M N"))))
    $\\left(M,N\\right):\\left(\\mathtt{\\_1},M\\right)$
    """
    parts = (x.shape, x.stride) if isinstance(x, Layout) else (x,) if isinstance(x, IntTuple) else ()
    if not any(isinstance(n, SymInt) for part in parts for n in leaves(part)):
        return None
    return f"${':'.join(map(_latex, parts))}$"


def _latex(x: object) -> str:
    if isinstance(x, tuple):
        return rf"\left({','.join(map(_latex, x))}\right)"
    return x.latex() if isinstance(x, SymInt) else r"\mathtt{" + str(x).replace("_", r"\_") + "}"


def _scene(x: object) -> Scene | None:
    try:
        scene: Scene = _viz.draw(x, limit=LIMIT)
    except TlaError:
        return None
    return scene
