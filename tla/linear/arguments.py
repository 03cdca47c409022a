"""Arguments of the kinds that annotations say: anything else is refused, with what was expected."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

from ..core.errors import LeafTypeError
from ..core.int_tuple import shown
from ..core.ints import value_of

P = ParamSpec("P")
R = TypeVar("R")


class Kind(NamedTuple):
    """The kind of argument that an annotation asks for, and what the function is given for one."""

    fits: Callable[[Any], bool]
    expected: str
    fix: str
    made: Callable[[Any], Any] = lambda x: x


def _is_list(x: object) -> bool:
    return isinstance(x, (list, tuple))


def _is_mapping(x: Any) -> bool:
    return isinstance(x, Mapping) and all(isinstance(name, str) for name in x)


_LAYOUT = Kind(
    lambda x: hasattr(x, "get_out_dim_names") and not callable(x), "a LinearLayout", "linear(layout) gives one"
)
_RADIX = Kind(lambda x: hasattr(x, "radices") and not callable(x), "a RadixLayout", "radix(layout) gives one")
_NAMES = Kind(
    lambda x: isinstance(x, str) or (_is_list(x) and all(isinstance(n, str) for n in x)),
    "a list of names",
    "write ['register', 'lane']",
)
#: annotation -> the kind; parameters of other annotations are not looked at.
KINDS = {
    "LinearLayout": _LAYOUT,
    "L": _LAYOUT,
    "RadixLayout": _RADIX,
    "LinearLayout | RadixLayout": Kind(
        lambda x: _LAYOUT.fits(x) or _RADIX.fits(x), "a LinearLayout or RadixLayout", _LAYOUT.fix
    ),
    "str": Kind(lambda x: isinstance(x, str), "a text", "put it in quotes"),
    "int": Kind(lambda x: value_of(x) is not None, "a known integer", "give its value", value_of),
    "bool": Kind(lambda x: isinstance(x, bool), "True or False", "write True"),
    "Sequence[str]": _NAMES,
    "Sequence[int]": Kind(_is_list, "a list of integers", "write [64, 64]"),
    "Sequence[Any]": Kind(_is_list, "a list", "put it in square brackets"),
    "Mapping[str, int]": Kind(_is_mapping, "a dict from names to sizes", "write {'dim0': 64}"),
    "Mapping[str, str]": Kind(_is_mapping, "a dict from names to names", "write {'dim0': 'row'}"),
    "Mapping[str, Radices]": Kind(
        _is_mapping, "a dict from names to sizes or radices", "write {'dim0': 48}, or {'dim0': (16, 3)}"
    ),
    "Mapping[str, object]": Kind(_is_mapping, "a dict from names to values", "write {'lane': 5}"),
    "Mapping[str, Any]": Kind(_is_mapping, "a dict from names to values", "write {'lane': 5}"),
}


def checked(f: Callable[P, R]) -> Callable[P, R]:
    """f, which refuses arguments that are not of the kind that it says; None is taken where it may be.

    >>> @checked
    ... def twice(n: int) -> int:
    ...     return 2 * n
    >>> twice("2")
    Traceback (most recent call last):
    tla.core.errors.LeafTypeError: twice: n is '2'
      expected  a known integer
      fix       give its value
    """
    parameters = [*inspect.signature(f).parameters.values()]
    annotations = {p.name: str(p.annotation) for p in parameters}
    kinds = [(d, KINDS.get(said.removesuffix(" | None")), said.endswith("None")) for d, said in annotations.items()]
    by_name = {name: (kind, empty) for name, kind, empty in kinds}
    call: Callable[..., R] = f

    def taken(name: str, kind: Kind | None, may_be_none: bool, x: Any) -> Any:
        if kind is None or (x is None and may_be_none):
            return x
        if not kind.fits(x):
            text = repr(x) if isinstance(x, str) else shown(x)
            raise LeafTypeError(f"{f.__name__}: {name} is {text[:80]}", kind.expected, kind.fix)
        return kind.made(x)

    @functools.wraps(f)
    def g(*args: P.args, **options: P.kwargs) -> R:
        positional: Any = [*map(taken, *zip(*kinds), args), *args[len(kinds) :]] if kinds else args
        named: Any = {name: taken(name, *by_name.get(name, (None, True)), x) for name, x in options.items()}
        return call(*positional, **named)

    return g
