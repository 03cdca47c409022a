"""layout_of in a text: the layout of an index expression in quotes, or of a table of offsets."""

from __future__ import annotations

import re
from collections.abc import Mapping

import tla

from ...core.errors import RangeError
from ...core.int_tuple import IntTuple, shown
from ...core.ints import is_int
from ...recovery.values import values_of
from .operations import Term, given_python

#: A text in quotes: what it holds is left as it is.
QUOTED = re.compile(r"(\"\"\"|\'\'\'|\"|\')(.*?)\1", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")


def layout_term(terms: tuple[Term, ...], options: Mapping[str, Term], names: Mapping[str, Term]) -> Term:
    """The term of layout_of with these arguments. names: those of a text; of them an expression has its values, beside
    those that its own argument says.

    >>> layout_term((Term("i*ld + j", "'i*ld + j'"), Term((8, 8), "(8, 8)")), {}, {"ld": Term(72, "72")}).python
    "layout_of('i*ld + j', (8, 8), values={'ld': 72})"
    """
    first, *others = terms
    given, keywords = first.value, {**options}
    if isinstance(given, str):
        known = {n: names[n].value for n in _NAME.findall(given) if n in names and is_int(names[n].value)}
        python = {n: str(int(x)) if isinstance(x, int) else n for n, x in known.items()}
        said = values_of(options["values"].value) if "values" in options else {}
        if unknown := next((f"{n} = {x}" for n, x in said.items() if not is_int(x)), ""):
            raise RangeError(f"values={unknown!r}", "integers", f"write {unknown}; in front of layout_of")
        python |= {n: repr(x) for n, x in said.items()}
        shown_values = f"{{{', '.join(f'{n!r}: {x}' for n, x in python.items())}}}"
        keywords |= {"values": Term({**known, **said}, shown_values)} if python else {}
    elif isinstance(given, IntTuple):
        given, terms = [*given], (Term(None, repr([*given])), *others)
    else:
        fix = 'write layout_of("i*64 + j", (64, 64), language="c")'
        raise RangeError(f"layout_of of {shown(given)}", "an index expression in quotes, or a table of offsets", fix)
    value = tla.layout_of(given, *(x.value for x in others), **{key: x.value for key, x in keywords.items()})
    return Term(value, f"layout_of({given_python(terms, keywords)})")
