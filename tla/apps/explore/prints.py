"""Statements of other systems: Triton's types, Gluon's classes, Mosaic's layouts, CuTe's tiled MMAs and copies.

    statement = Triton's type or attribute | Gluon's class "(" arguments ")" | Mosaic GPU's attribute, class or name
              | "memref<" ... ">" of Mosaic | CuTe's print of a TiledMMA, a TiledCopy or an atom, in several lines
              | "atom(" name [ "," architecture ] ")" [ "[" element type "]" ], as tla prints one

The text is data: each system has its own grammar, and nothing is evaluated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...core.errors import LeafTypeError, RankError
from ...core.on_demand import OnDemand
from ...core.reader import Reader
from .operations import Term

if TYPE_CHECKING:
    import inspect

    from ... import gpu, xla
    from ...linear import mosaic, triton
else:
    inspect = OnDemand("inspect")
    gpu, xla = OnDemand("tla.gpu"), OnDemand("tla.xla")
    mosaic, triton = OnDemand("tla.linear.mosaic"), OnDemand("tla.linear.triton")

#: Gluon's classes.
GLUON = """AMDMFMALayout AMDWMMALayout BlockedLayout DistributedLinearLayout DotOperandLayout NVMMADistributedLayout
NVMMASharedLayout PaddedSharedLayout SharedLinearLayout SliceLayout SwizzledSharedLayout TensorMemoryLayout
TensorMemoryScalesLayout""".split()  # noqa: SIM905  # a table is read more easily
_SHARED = ("NVMMASharedLayout", "PaddedSharedLayout", "SharedLinearLayout", "SwizzledSharedLayout")
_TENSOR_MEMORY = ("TensorMemoryLayout", "TensorMemoryScalesLayout")
_ALIAS = re.compile(r"#([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(#.*)", re.DOTALL)
_HEADER = r"(?:Tiled[ _]?(?:MMA|Copy)|(?:MMA|Copy)[ _]Atom|Thr(?:MMA|Copy))[ \t\r]*"
_KEY = r"[ \t]*(?:Thr|Permutation|Shape|Layout[ABC]|TV |Tile|Val)[\w ]*:[^\n]*"
_KERNEL = re.compile(rf"{_HEADER}\n(?:(?:[ \t]*{_HEADER}|{_KEY})(?:\n|\Z))+", re.ASCII)
_TRITON = re.compile(r"#(?!mosaic_gpu)|!(?:ttg|triton_gpu|tt)\.memdesc<|tensor<[^#]*#")
_PYTHON = re.compile(rf"(?:[A-Za-z_]\w*\.)*({'|'.join(GLUON)})\(", re.ASCII)
_MOSAIC = re.compile(
    r"#mosaic_gpu\.|(?:\w+\.)*(?:TiledLayout|WGStridedFragLayout)\(|(?:\w+\.)*[A-Z][A-Z0-9_]*_LAYOUT\b", re.ASCII
)
_MEMREF = re.compile(r"memref<")
_ATOM = re.compile(
    r"""(?:gpu\.)?atom\(\s*(["'])([^"'\n]{1,200})\1\s*(?:,\s*(["'])([\w/]+)\3\s*)?\)(?:\[(\w+)\])?""", re.ASCII
)


def length(text: str) -> int:
    """The number of characters of the statement of another system that a text begins with; 0 for none.

    >>> length("BlockedLayout([1], [32], [1], [0]); 4:1"), length("4:1")
    (34, 0)
    """
    if kernel := _KERNEL.match(text):
        return len(kernel[0].rstrip())
    if not any(form.match(text) for form in (_TRITON, _PYTHON, _MOSAIC, _MEMREF, _ATOM)):
        return 0
    depth = 0
    for at, c in enumerate(text):
        depth += (c in "([{<") - (c in ")]}>")
        if c == ";" or (c == "\n" and depth <= 0):
            return len(text[:at].rstrip())
    return len(text.rstrip())


def term(text: str, aliases: dict[str, str]) -> Term:
    """The value of a statement, and its Python: who holds each element, or where each lies.

    aliases    name -> the text of Triton's that it stands for; a statement that gives a name adds to them

    >>> shared = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    >>> print(term(f"!ttg.memdesc<64x64xf16, {shared}, #ttg.shared_memory>", {}).value)
    Sw<3,3,3> o _0 o (_64,_64):(_64,_1)
    >>> print(term("memref<16x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>>", {}).value)
    ((_2,_4,_2),(_128,_2)):((_1,_256,_2048),(_2,_1024))
    """
    if _KERNEL.match(text):
        return Term(gpu.from_print(text), f"gpu.from_print({text!r})")
    if found := _ATOM.fullmatch(text):
        atom = gpu.atom(found[2], found[4])
        return Term(atom[found[5]] if found[5] else atom, f"gpu.{text.removeprefix('gpu.')}")
    if _MEMREF.match(text):
        place = xla.parse_memref(text)
        return Term(place.lower(), f"xla.parse_memref({text!r}).lower()", place.element_width)
    if _MOSAIC.match(text):
        return _of_mosaic(text)
    if _PYTHON.match(text):
        text = triton.to_text((gluon := _Gluon(text)).whole(gluon.layout))
    if named := _ALIAS.fullmatch(text):
        aliases[named[1]] = text = named[2]
    used = {name: value for name, value in aliases.items() if value != text}
    return _of_tensor(triton.from_type(text, used), f"linear.triton.from_type({text!r}{f', {used}' if used else ''})")


def _of_tensor(found: triton.Typed, python: str) -> Term:
    kind = type(found.layout).__name__
    if kind in _TENSOR_MEMORY:
        fix = "give one of registers or of shared memory; tla.linear.triton has the linear layout of this one"
        raise LeafTypeError(f"a {kind}, of tensor memory", "who holds each element, or where it lies", fix)
    if kind in _SHARED:
        return Term(found.memory, f"{python}.memory", found.element_width)
    return Term(found.linear, f"{python}.linear", found.element_width)


def _of_mosaic(text: str) -> Term:
    """Who holds each element of the smallest tensor that a layout of Mosaic GPU's takes."""
    plain = text if text.startswith("#") else _without_modules(text)
    layout = mosaic.from_text(plain)
    shape = tuple(layout.tiling[0]) if isinstance(layout, mosaic.TiledLayout) else tuple(layout.shape)
    return Term(layout.linear(shape), f"linear.mosaic.from_text({plain!r}).linear({shape})")


def _without_modules(text: str) -> str:
    """A call of Python without the modules in front of names: ttgl.BlockedLayout(...)."""
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_]\w*\()|\A(?:[A-Za-z_]\w*\.)+", "", text)


class _Gluon(Reader):
    """A layout of Gluon's as Python writes it: a class of integers, booleans, None, lists and layouts."""

    tokens = r"-?[0-9]+|[A-Za-z_][A-Za-z0-9_]*|[][(),=.]"
    noun, example = "a layout of Gluon's", "write BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])"
    trailing = True

    def layout(self) -> Any:
        while self.text[self.after : self.after + 1] == ".":  # a module
            self.advance()
            self.advance()
        if self.token not in GLUON:
            self.unexpected(f"one of {', '.join(GLUON)}")
        kind = getattr(triton, self.next())
        given = self.listed("()", self.argument)
        signature, named = inspect.signature(kind), {name: x for name, x in given if name}
        try:
            bound = signature.bind(*(x for name, x in given if not name), **named)
        except TypeError as error:
            usage = str(signature).replace("'", "").partition(" ->")[0]
            raise RankError(f"{kind.__name__}: {error}", f"{kind.__name__}{usage}", "give these arguments") from None
        return kind(*bound.args, **bound.kwargs)

    def argument(self) -> tuple[str, Any]:
        name = self.token
        if name.isidentifier() and self.text[self.after :].lstrip()[:1] == "=":
            self.advance()
            self.advance()
            return name, self.value()
        return "", self.value()

    def value(self) -> Any:
        if self.token in ("[", "("):
            return self.listed("[]" if self.token == "[" else "()", self.value)
        words = {"True": True, "False": False, "None": None}
        if self.token in words:
            return words[self.next()]
        return self.layout() if self.token.isidentifier() else self.integer("an integer, a list or a layout")
