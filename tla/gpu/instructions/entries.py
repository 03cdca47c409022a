"""Rows of the tables of instructions: a name, an architecture, what makes the atom, and the parameters of its template.

Every vendor's file yields Entries; names.py finds them. A template's arguments are bound to its parameters by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.ints import Int
from .arithmetic import ScaleIn
from .atom import Atom, Major, MMAAtom
from .elements import as_element, cpp_name

if TYPE_CHECKING:
    from .atom import CopyAtom


class Parameter(NamedTuple):
    """A parameter of a template.

    name     as the vendor's header has it, and the keyword of what makes the atom
    read     (template's name, argument) -> its value; refuses what the instruction does not take
    text     a value as C++ writes it
    default  the value where no argument is given: ... for none, {"D"} for that of the parameter D
    kind     the class of its arguments: one of another class is for a later parameter, where this one has a default
    """

    name: str
    read: Callable[[str, Any], Any]
    text: Callable[[Any], str] = str
    default: object = ...
    kind: type = object


def element(name: str, noun: str, *allowed: Element, default: object = ...) -> Parameter:
    """A parameter that is an element type: one of the types listed, or any if none are."""
    return Parameter(name, partial(one_of, noun, allowed), cpp_name, default)


def integer(name: str, noun: str, *allowed: int) -> Parameter:
    """A parameter that is an integer: one of those listed."""
    return Parameter(name, partial(extent, noun, allowed))


def major(
    name: str, noun: str, namespace: str, default: object = ..., why_k: str = "", named: bool = True
) -> Parameter:
    """The contiguous mode of an operand in memory. why_k: the reason why it can only be K, where that is so;
    named: in C++."""
    text = f"{namespace}::Major::{{}}" * named
    return Parameter(name, partial(_read_major, noun, why_k), text.format, default, Major)


def _read_major(noun: str, why_k: str, where: str, x: object) -> Major:
    if not isinstance(x, Major):
        raise LeafTypeError(f"{where}: the major {x!r}", "K or MN", "write K")
    if why_k and x is Major.MN:
        raise RangeError(f"{where}: {noun} is MN-major", f"K: {why_k}", "write K")
    return x


def option(name: str, namespace: str, default: ScaleIn | bool) -> Parameter:
    """A parameter of the class of its default, which may be left out: the sign of an operand, or whether
    something is done."""
    kind = type(default)
    return Parameter(name, partial(_read_option, name, kind), f"{namespace}::{{}}".format, default, kind)


def choice(name: str, *allowed: str) -> Parameter:
    """A template parameter of C++ that changes nothing here: one of the names allowed, by default the first."""
    return Parameter(name, partial(_read_choice, name, allowed), str, allowed[0])


def _read_choice(name: str, allowed: tuple[str, ...], where: str, x: object) -> object:
    if x not in allowed:
        raise LeafTypeError(f"{where}: {name} is {x!r}", " or ".join(allowed), "leave it out")
    return x


def _read_option(name: str, kind: type, where: str, x: object) -> object:
    if not isinstance(x, kind):
        raise LeafTypeError(f"{where}: {name} is {x!r}", f"a {kind.__name__}", "leave it out")
    return x


@dataclass(frozen=True, eq=False)
class Entry:
    """A row of the tables: a name, and what makes its atom.

    name         with its namespaces
    arch         "sm80", "cdna3", "xe", ...
    make         name with its arguments, parameters by keyword -> atom
    parameters   of the template, in order
    examples     arguments: of each the atom is listed by atoms()
    wave         the lanes of a wave, where an architecture has waves of several sizes
    unlisted     whether atoms() leaves it out: making it is refused, as its operands are no layouts
    """

    name: str
    arch: str
    make: Callable[..., Atom]
    parameters: tuple[Parameter, ...] = ()
    examples: tuple[tuple[Any, ...], ...] = ((),)
    wave: int | None = None
    unlisted: bool = False

    @property
    def signature(self) -> str:
        """The parameters that have to be given, and dots for the others."""
        names = [p.name for p in self.parameters if p.default is ...]
        return ", ".join([*names, *["..."] * (len(names) < len(self.parameters))])

    @property
    def is_template(self) -> bool:
        """Whether it is an atom with arguments only."""
        return any(p.default is ... for p in self.parameters)

    def is_of(self, arch: str | None) -> bool:
        """Whether it is of an architecture, "sm80", or "rdna3/64" for one of its waves; of any for None."""
        return arch in (None, self.arch, f"{self.arch}/{self.wave}")

    def atom(self, *arguments: object) -> Atom:
        """The atom of the template's arguments. RankError for too few or too many of them, and what
        their parameters refuse."""
        values, given, rest = dict[str, Any](), list[str](), [*arguments]
        for p in self.parameters:
            if rest and (p.default is ... or isinstance(rest[0], p.kind)):
                values[p.name] = p.read(self.name, rest.pop(0))
                given += filter(None, [p.text(values[p.name])])
            elif p.default is ...:
                self._wrong_number(arguments)
            else:
                values[p.name] = values[next(iter(p.default))] if isinstance(p.default, set) else p.default
        if len(arguments) > len(self.parameters):
            self._wrong_number(arguments)
        if rest:
            what, names = f"{self.name} with the argument {rest[0]!r}", ", ".join(p.name for p in self.parameters)
            raise LeafTypeError(what, f"those of {names}, in this order", f"leave {rest[0]} out")
        found = self.make(f"{self.name}<{','.join(given)}>" if given else self.name, **values)
        has_options = self.parameters and not self.is_template
        return replace(found, template=self) if has_options and isinstance(found, MMAAtom) else found

    def _wrong_number(self, arguments: tuple[Any, ...]) -> None:
        least = sum(p.default is ... for p in self.parameters)
        names = ", ".join(p.name for p in self.parameters)
        count = f"{least}" if least == len(self.parameters) else f"{least} to {len(self.parameters)}"
        fix = f"{self.name}[{self.signature}]" if least else self.name
        raise RankError(f"{self.name} with {len(arguments)} arguments", f"{count}: {names}", f"write {fix}")


class Family:
    """A template of atoms: brackets take what C++ has in angle brackets, `UniversalCopy[uint128]`.

    >>> from tla.gpu import K, SM100_MMA_F16BF16_SS, half
    >>> print(SM100_MMA_F16BF16_SS, SM100_MMA_F16BF16_SS[half, half, float, 128, 256, K, K].C)
    SM100_MMA_F16BF16_SS[a_type, b_type, c_type, M, N, a_major, b_major, ...] (_1,(_128,_256)):(_0,(_1,_128))

    Raises RankError for too few arguments or too many, LeafTypeError and RangeError for those that the
    instruction does not take.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    @property
    def name(self) -> str:
        """The name, with its namespaces."""
        return self.entry.name

    @property
    def arch(self) -> str:
        """The architecture."""
        return self.entry.arch

    def __getitem__(self, arguments: object) -> CopyAtom | MMAAtom:
        return self.entry.atom(*arguments if isinstance(arguments, tuple) else (arguments,))

    def __iter__(self) -> Iterator[Atom]:
        return (self.entry.atom(*arguments) for arguments in self.entry.examples)

    def __repr__(self) -> str:
        return f"{self.name}[{self.entry.signature}]"


def extent(noun: str, allowed: tuple[int, ...], where: str, x: object) -> int:
    """An extent of a template, checked against those of the instruction."""
    if not isinstance(x, (int, Int)) or isinstance(x, bool):
        raise LeafTypeError(f"{noun} of {where} of {x!r}", "an integer", f"write {allowed[0]}")
    if int(x) not in allowed:
        some = f"{allowed[0]}, {allowed[1]}, ..., {allowed[-1]}" if len(allowed) > 4 else ", ".join(map(str, allowed))
        raise RangeError(f"{noun} of {where} of {int(x)}", some, f"take {min(allowed, key=lambda a: abs(a - int(x)))}")
    return int(x)


def one_of(noun: str, allowed: tuple[Element, ...], where: str, x: object) -> Element:
    """An element type of a template, checked against those of the instruction."""
    element = as_element(x)
    if allowed and element not in allowed:
        what, fix = f"{noun} of {where} of {element}", f"take {allowed[0]}, or another instruction"
        raise LeafTypeError(what, ", ".join(map(repr, allowed)), fix)
    return element
