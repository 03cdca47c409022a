"""All names of tensor-layouts' module of layouts: tuples, values and operations.

Source: tensor-layouts 0.3.2, layouts.
"""

from . import expressions, modes, operations, tuples
from .expressions import *  # noqa: F403  # all its names
from .modes import *  # noqa: F403  # all its names
from .operations import *  # noqa: F403  # all its names
from .tuples import *  # noqa: F403  # all its names

__all__: list[str] = []
__all__ += tuples.__all__
__all__ += expressions.__all__
__all__ += modes.__all__
__all__ += operations.__all__
