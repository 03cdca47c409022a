"""A plugin of pytest: `import cutlass.cute` gives tla's algebra under the names that Colfax's `tract` asks of it."""

import sys
from types import ModuleType

from tla.compat import pycute


def make_layout(shape, *, stride=None):
    return pycute.Layout(shape, stride)


def coalesce(layout, *, target_profile=None):
    return pycute.coalesce(layout, target_profile)


def identity(x):
    return x


CUTE = {
    **{
        name: getattr(pycute, name)
        for name in "Layout complement composition logical_divide logical_product size".split()
    },
    "make_layout": make_layout,
    "coalesce": coalesce,
    "rank": len,
    "flatten_to_tuple": lambda x: tuple(pycute.flatten(x)),
    "jit": identity,
}


def pytest_configure():
    """Exchange them where the plugin is asked for, and not where this file is only read."""
    cutlass, cute = ModuleType("cutlass"), ModuleType("cutlass.cute")
    vars(cute).update(CUTE)
    vars(cutlass).update(cute=cute, Constexpr=dict, const_expr=identity, range_constexpr=range)
    sys.modules.update({"cutlass": cutlass, "cutlass.cute": cute})
