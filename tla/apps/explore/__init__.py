"""`tla explore`: a page on which expressions of layouts are typed and looked at. See docs/explore.md."""

from typing import TYPE_CHECKING

from ...core.on_demand import load_on_demand

if TYPE_CHECKING:
    from .answer import answer
    from .grammar import read
    from .operations import drawn
    from .tilings import subjects
else:  # to read a layout takes no drawing, and no code
    load_on_demand(__name__, {"answer": "answer", "grammar": "read", "operations": "drawn", "tilings": "subjects"})

__all__ = ["answer", "drawn", "read", "subjects"]
