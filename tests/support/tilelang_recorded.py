"""A plugin of pytest: the calls of `tilelang.layout.cute`, with their results, as lines of JSON in the file that
TLA_RECORDED names."""

import functools
import json
import os

OPERATIONS = (
    "flatten size coalesce right_inverse left_inverse composition filter congruent compatible coshape cosize "
    "complement logical_divide "
    "logical_product tiled_product blocked_product make_layout make_column_major_layout make_row_major_layout "
    "make_identity_layout product rank"
).split()


LINES = set()


def recorded(name, f):
    @functools.wraps(f)
    def call(*arguments, **more):
        found = f(*arguments, **more)
        LINES.add(
            json.dumps(
                [name, [*map(str, arguments)], {key: str(x) for key, x in more.items() if x is not None}, str(found)]
            )
        )
        return found

    return call


def pytest_configure():
    """Record where the plugin is asked for, and not where this file is only read: it needs tilelang."""
    from tilelang.layout import cute

    for name in OPERATIONS:
        setattr(cute, name, recorded(name, getattr(cute, name)))
    places = cute.Layout.__call__
    cute.Layout.__call__ = recorded("crd2idx", lambda layout, crd: places(layout, crd))


def pytest_unconfigure():
    with open(os.environ["TLA_RECORDED"], "w") as file:
        file.write("\n".join(sorted(LINES)))
