"""A question of the page: a text, and how its value is to be looked at."""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import LeafTypeError

#: What may be looked at: the offsets of coordinates, who holds each element of a tile, or memory line by line.
VIEWS = "offsets", "threads", "memory"


class Question(NamedTuple):
    """A question of the page.

    text       of the grammar of tla.apps.explore
    color_by   what colours mean, as tla.viz.draw has it
    bits       the width of an element where the text does not say it
    access     who accesses it, as tla.apps.owners has it; "" for none
    view       one of VIEWS; "" for offsets, and for threads where it is drawn by these
    tile       of threads: rows and columns, as 16,8; "" for those that fit
    format     of a file: svg, html, tikz, csv or txt

    >>> Question.of({"text": "4:1", "bits": 16}).bits
    16
    """

    text: str
    color_by: str = "auto"
    bits: int | None = None
    access: str = ""
    view: str = ""
    tile: str = ""
    format: str = "svg"

    @classmethod
    def of(cls, asked: object) -> Question:
        """The question of a JSON object; LeafTypeError for anything else."""
        if not isinstance(asked, dict) or "text" not in asked or not {*asked} <= {*cls._fields}:
            what = "a question without a text, or with another field"
            raise LeafTypeError(what, f"an object of {', '.join(cls._fields)}", "give its text")
        found = cls(**{name: x for name, x in asked.items() if x is not None})
        texts = (x for name, x in found._asdict().items() if name != "bits")
        if not all(isinstance(x, str) for x in texts) or type(found.bits) not in (int, type(None)):
            what = "a question whose fields are no texts"
            raise LeafTypeError(what, "texts, and an integer for bits", "give them as such")
        return found._replace(access=found.access.strip(), tile=found.tile.strip())
