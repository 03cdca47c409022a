"""The conflicts of an access marked in a drawing of banks: the degree in the title, a star on what collides."""

from __future__ import annotations

from ..access import ASCEND_UB, NVIDIA_SHARED, Access, access
from ..core.errors import RangeError
from ..tensors.tensor import Tensor
from .drawable import Subject
from .scene import Cell, Figure


def marked(figure: Figure, subject: Subject, drawn: object, owners: object, color_by: object) -> Figure:
    """The figure of a layout of memory, or of a tensor in it, with what collides in its owners' worst instruction."""
    if color_by not in ("bank", "ub_bank"):
        raise RangeError(
            f"owners with color_by {color_by!r:.40}", "color_by='bank'", "write color_by='bank', or leave owners out"
        )
    memory = NVIDIA_SHARED if color_by == "bank" else ASCEND_UB
    found = access(owners, drawn if isinstance(drawn, Tensor) else subject.layout, subject.element_width, memory=memory)
    degree = f"{found.degree}-way conflict" if found.degree > 1 else "no conflict"
    clash = {*collisions(found)}
    grids = tuple(
        grid._replace(cells=tuple(tuple(_starred(c, clash) for c in row) for row in grid.cells))
        for grid in figure.grids
    )
    notes = (*figure.notes, str(found).split("\n")[0])
    return Figure(f"{figure.title}: {degree}", notes, grids)


def collisions(found: Access) -> list[str]:
    """The offsets of the elements that collide in the worst instruction of an access, as they stand in cells."""
    bits = found.element.bits
    starts = found.witness.addresses if found.witness else ()
    return [str(start * 8 // bits + k) for start in starts for k in range(found.vector // bits)]


def _starred(cell: Cell, clash: set[str]) -> Cell:
    return cell._replace(text=f"{cell.text}*") if cell.text in clash else cell
