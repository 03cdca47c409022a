"""Meta's tensor-layouts over the exact algebra: its names and plain tuples, with answers that are right or refused.

`from tla.compat import tensor_layouts` stands for `import tensor_layouts`, and its modules for those of that library.

>>> from tla.compat.tensor_layouts import Layout, Swizzle, compose, logical_divide
>>> compose(Layout((4, 8), (8, 1)), Layout(4, 4)), logical_divide(Layout((8, 8)), (2, 4))
(Layout(4, 1), Layout(((2, 4), (4, 2)), ((1, 2), (8, 32))))
>>> print(compose(Swizzle(3, 0, 3), Layout((8, 8), (8, 1))))
(Swizzle(3, 0, 3)) o ((8, 8) : (8, 1))

Source: tensor-layouts 0.3.2.
"""

from .atoms import CopyAtom as CopyAtom, MMAAtom as MMAAtom
from .layouts import *  # noqa: F403  # all its names
from .tensor import Tensor as Tensor, TensorStorageError as TensorStorageError
