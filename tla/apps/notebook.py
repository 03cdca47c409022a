"""Notebook output for layouts, tuples, XLA shapes and the like: a picture, LaTeX, or text, made when asked for.

`%load_ext tla` shows lists of them too, errors of tla by what you wrote, without the frames inside of tla, and what
`%tla EXPRESSION` says.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ..core.errors import TlaError
from ..core.int_tuple import IntTuple, leaves
from ..core.layout import Layout
from ..core.on_demand import OnDemand
from ..symbolic import Condition, SymInt
from ..symbolic.symint import wrap

if TYPE_CHECKING:
    from ..viz import Scene

# What a notebook that shows no picture does without.
_expressions = OnDemand("tla.apps.expressions")
_viz, _svg, _compare = OnDemand("tla.viz"), OnDemand("tla.viz.svg"), OnDemand("tla.xla.shapes.compare")

#: Conditions in LaTeX.
_QUESTIONS = {"<": "{} < {}", "<=": r"{} \le {}", "==": "{} = {}", "divides": r"{} \mid {}"}
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
    """The text of a layout, a tuple or a condition, in LaTeX, where a size in it is not known; None for others.

    >>> from tla import MakeLayout, dims
    >>> print(latex(MakeLayout(dims("M N"))))
    $\\left(M,N\\right):\\left(\\mathtt{\\_1},M\\right)$
    """
    if isinstance(x, Condition):
        return f"${_QUESTIONS[x.question].format(*map(_latex, map(wrap, (x.a, x.b))))}$"
    parts = (x.shape, x.stride) if isinstance(x, Layout) else (x,) if isinstance(x, IntTuple) else ()
    if not any(isinstance(n, SymInt) for part in parts for n in leaves(part)):
        return None
    return f"${':'.join(map(_latex, parts))}$"


def _latex(x: object) -> str:
    if isinstance(x, tuple):
        return rf"\left({','.join(map(_latex, x))}\right)"
    return x.latex() if isinstance(x, SymInt) else r"\mathtt{" + str(x).replace("_", r"\_") + "}"


def _scene(x: Any) -> Scene | None:
    try:
        layouts = (x.source, x.destination) if isinstance(x, _compare.Relayout) else (x,)
        scene: Scene = _viz.draw(*layouts, color_by="offset" if len(layouts) > 1 else "auto", limit=LIMIT)
    except TlaError:
        return None
    return scene


# ------------------------------------------------------------------------------------------------- IPython

#: A longer list is shown as text.
MAX_LISTED = 16


def load_ipython_extension(shell: Any) -> None:
    """Show lists of layouts as pictures, errors of tla without its own frames, and what `%tla EXPRESSION` says.

    IPython calls it: `%load_ext tla`.
    """
    shell.display_formatter.formatters["text/html"].for_type(list, listed)
    shell.display_formatter.formatters["text/html"].for_type(tuple, listed)
    shell.set_custom_exc((TlaError,), _shown)
    shell.register_magic_function(value_of, "line_cell", "tla")


def value_of(line: str, cell: str = "") -> Any:
    """The value of an expression, in the language of the page: `%tla A = (8,6):(1,8); zipped_divide(A, (4,2))`, or a
    cell of `%%tla`.

    >>> value_of("A = (_8,_6):(_1,_8); coalesce(A)")
    parse('_48:_1')
    """
    return _expressions.read("\n".join(filter(None, (line, cell)))).value.value


def listed(values: Any) -> str | None:
    """The pictures of a list or a tuple one below the other; None where one of its values has none.

    >>> from tla import parse
    >>> listed([parse("(4,2):(1,4)"), parse("8:1")]).count("<svg")
    2
    >>> listed([1, 2]) is None
    True
    """
    if type(values) not in (list, tuple):  # as an IntTuple, which shows itself
        return values._repr_html_() if hasattr(values, "_repr_html_") else None
    if not 0 < len(values) <= MAX_LISTED:
        return None
    found = [x._repr_html_() if hasattr(x, "_repr_html_") else None for x in values]
    return "\n".join(map(str, found)) if None not in found else None


def _shown(
    shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None
) -> None:
    """The traceback of an error, up to the call of tla."""
    shell.showtraceback((kind, error, outside(trace)), tb_offset=tb_offset)


def outside(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without its frames inside of tla, which are its last."""
    if trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith("tla."):
        return None
    return types.TracebackType(outside(trace.tb_next), trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
