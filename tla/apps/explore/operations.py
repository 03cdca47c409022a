"""The operations that a text may call, by name, and the values that it is made of."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import tla

from ... import xla
from ...core import element
from ...core.cache import plain_memo
from ...core.element import Element, Width
from ...core.errors import RankError
from ...core.ints import is_int, known
from ...core.kinds import AnyLayout
from ...core.on_demand import OnDemand
from ...notation.width import element_width

if TYPE_CHECKING:
    import inspect

    from ... import ascend, gpu
else:
    ascend, gpu, inspect = OnDemand("tla.ascend"), OnDemand("tla.gpu"), OnDemand("inspect")

_OPERATIONS = """Int MakeLayout MakeOrderedLayout MakeLayoutLike MakeIdentityLayout MakeLayoutFmap MakeLayoutL0C MakeLayoutTile
GetTileLayout MakeBatchedLayout Swizzle composition compose coalesce complement filter filter_zeros left_inverse
right_inverse logical_divide zipped_divide tiled_divide flat_divide logical_product zipped_product tiled_product
flat_product blocked_product raked_product tile_to_shape upcast downcast recast_layout flatten group select take size
cosize max_common_layout max_common_vector nullspace is_injective is_bijective is_compact same_map make_layout make_ordered_layout
make_shape make_stride make_coord make_tile make_identity_layout make_composed_layout slice_ dice crd2idx idx2crd static dynamic
layout_add layout_of"""
#: Those of them that are of tla.xla.
XLA_OPERATIONS = "lower", "relayout", "is_bitcast", "byte_size", "padded_element_count"
#: Those that are of tla.gpu.
_TILED = "make_tiled_mma make_tiled_copy make_tiled_copy_A make_tiled_copy_B make_tiled_copy_C make_layout_tv"
GPU_OPERATIONS = (*_TILED.split(), "Copy_Atom")


class _Operations(Mapping[str, Callable[..., Any]]):
    """Name -> operation; each is loaded when it is asked for."""

    def __init__(self, modules: Mapping[str, Any]) -> None:
        self._module_of = modules

    def __getitem__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self._module_of[name], name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._module_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._module_of)

    def __len__(self) -> int:
        return len(self._module_of)


#: What may be called, by name.
OPERATIONS = _Operations(
    {
        **dict.fromkeys(_OPERATIONS.split(), tla),
        **dict.fromkeys(XLA_OPERATIONS, xla),
        **dict.fromkeys(GPU_OPERATIONS, OnDemand("tla.gpu")),
    }
)
#: What others call them.
OTHER_NAMES = {"Layout": "make_layout", "ComposedLayout": "make_composed_layout", "TiledMMA": "make_tiled_mma"}
#: Operations whose result has elements of another width.
_RECASTS = "recast_layout", "upcast", "downcast"
#: A layout of shared memory that wgmma or tcgen05 reads, by CuTe's name.
CANONICAL = re.compile(r"Layout_((?:K|MN)_(?:INTER|SW32|SW64|SW128|SW128_32B))_Atom")


@plain_memo
def constants() -> dict[str, Any]:
    """Element types, tags and the orders of strides by name: each stands for itself."""
    found: dict[str, Any] = {name: x for name, x in vars(element).items() if isinstance(x, element.Element)}
    named = ((name, getattr(ascend, name)) for name in ascend.__all__)
    found |= {name: x for name, x in named if isinstance(x, (ascend.Element, ascend.Tag))}
    return found | {"LayoutLeft": tla.LayoutLeft, "LayoutRight": tla.LayoutRight}


def module_of(name: str) -> str:
    """The module of tla that an operation or a constant is of, with its dot; "" for tla itself.

    >>> module_of("lower"), module_of("half"), module_of("composition")
    ('xla.', 'ascend.', '')
    """
    if name in XLA_OPERATIONS:
        return "xla."
    if name in GPU_OPERATIONS:
        return "gpu."
    if not isinstance(constants().get(name), (ascend.Element, ascend.Tag)):
        return ""
    return "ascend." if hasattr(ascend, name) else "gpu."


def family(name: str) -> tuple[Any, str]:
    """An atom or a layout of shared memory with parameters in brackets, and its Python; None for an unknown name.

    >>> family("UniversalCopy")[1], family("Layout_K_SW128_Atom")[1], family("composition")[0]
    ('gpu.UniversalCopy', 'gpu.GMMA.K_SW128', None)
    """
    if canonical := CANONICAL.fullmatch(name):
        atom = {**gpu.UMMA.atoms, **gpu.GMMA.atoms}.get(canonical[1])
        return atom, f"gpu.{atom!r}"
    found = None if name in OPERATIONS or name in OTHER_NAMES else gpu.names.entry(name)
    return (found, f"gpu.{name}") if isinstance(found, gpu.Family) else (None, "")


def is_free(name: str) -> bool:
    """Whether a text may give a value to a name: it is none of the language's."""
    of_language = name in constants() or name in ("o", "Sw", "CS", "print")
    return not (of_language or hasattr(tla, name) or keyword.iskeyword(name))


class Term(NamedTuple):
    """A value, and the Python that gives it.

    width   of an element of it, where the text says that
    parts   the terms of a tuple
    """

    value: Any
    python: str
    width: Width | None = None
    parts: tuple[Term, ...] = ()

    @property
    def element_width(self) -> Width | None:
        """The width of an element, as the text says it, or the value."""
        return self.width or getattr(self.value, "element_width", None)


class Call(NamedTuple):
    """An operation that was done: how it was written, its arguments by place, and what it gave."""

    name: str
    text: str
    arguments: tuple[Term, ...]
    result: Term


class Program(NamedTuple):
    """The value of a text.

    names     what it binds to each name, in order
    sizes     the names that it gives no value
    assumed   what its operations need of these, as text
    calls     the operations, as they were done
    value     that of the last statement
    """

    names: tuple[tuple[str, Term], ...]
    sizes: tuple[str, ...]
    assumed: tuple[str, ...]
    calls: tuple[Call, ...]
    value: Term


def with_brackets(name: str, operation: Any, brackets: tuple[Any, ...]) -> Any:
    """An operation with what stands in its square brackets."""
    if not hasattr(type(operation), "__getitem__"):
        raise RankError(f"{name}[...]", f"{name}(...)", "leave the square brackets out")
    return operation[brackets if len(brackets) != 1 else brackets[0]]


def width_of(name: str, brackets: list[Any], given: Width | None) -> Width | None:
    """The element width of a call's result: from its brackets, or from its arguments."""
    sizes: list[Any] = [x for x in brackets if isinstance(x, Element) or (is_int(x) and known(x))]
    if not sizes or not (name.startswith("Make") or name in _RECASTS):
        return given
    if name.startswith("Make"):
        return element_width(sizes[0])
    if name == "recast_layout":
        return element_width(sizes[-1])
    bits = given and (given.bits * int(sizes[0]) if name == "upcast" else given.bits // int(sizes[0]))
    return Width(bits, f"{name} of {given.said}") if given and bits else None


def in_order(
    name: str, operation: Callable[..., Any], given: list[tuple[str, Term]]
) -> tuple[tuple[Term, ...], dict[str, Term]]:
    """The arguments by place, those with names too where they have one, and the others by name."""
    signature = inspect.signature(operation)
    names = [key for key, _x in given if key]
    if twice := next((key for key in names if names.count(key) > 1), None):
        raise RankError(f"{name} with {twice:.40} twice", "each argument once", f"leave one {twice:.40} out")
    try:
        bound = signature.bind(*(x for key, x in given if not key), **{key: x for key, x in given if key})
    except TypeError as error:
        usage = f"{name}({', '.join(map(str, signature.parameters.values()))})".replace("'", "")
        raise RankError(f"{name} with {len(given)} arguments: {error}", usage, "give these arguments") from None
    return bound.args, bound.kwargs


def given_python(arguments: tuple[Term, ...], options: Mapping[str, Term]) -> str:
    """The Python of a call's arguments."""
    return ", ".join([*(x.python for x in arguments), *(f"{key}={x.python}" for key, x in options.items())])


def drawn(value: object) -> tuple[Any, ...]:
    """The layouts of a value: it, those of a tuple, or where a relayout goes from and to.

    >>> from .grammar import read
    >>> drawn(read("A = (_4,_2):(_1,_4); (A, coalesce(A), size(A))").value.value)
    (parse('(_4,_2):(_1,_4)'), parse('_8:_1'))
    """
    if isinstance(value, (AnyLayout, xla.ArrayShape)):
        return (value,)
    if isinstance(value, xla.Relayout):
        return value.source, value.destination
    return tuple(x for x in value if isinstance(x, (AnyLayout, xla.ArrayShape))) if isinstance(value, tuple) else ()
