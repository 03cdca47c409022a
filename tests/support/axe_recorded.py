"""What TVM says of Axe's layouts, as lines of JSON: [text, [[index, {axis: value}], ...], the text of
its canonical form].

A plugin of pytest: of all layouts that tests make, in the file that TLA_RECORDED names. A program: of the texts
of its input.
"""

import functools
import json
import os
import sys

#: What takes and gives layouts.
OPERATIONS = "canonicalize tile slice direct_sum is_tile_inner is_tile_outer tile_to broadcast pack unpack group permute_dims storage".split()
FOUND = {}


def said(layout, canonicalize):
    """Its values at 60 or more indices that are spread over it, if its sizes are known."""
    try:
        size = int(layout.size())
        places = [*range(0, size, max(1, size // 60))]
        values = [[i, {str(axis): int(n) for axis, n in layout.apply(i).items()}] for i in places]
        return [str(layout), values, str(canonicalize(layout))]
    except (TypeError, ValueError, RuntimeError):  # a size with a name; a layout that TVM does not take as one whole
        return None


def noted(f, base, canonicalize):
    @functools.wraps(f)
    def call(*arguments, **more):
        found = f(*arguments, **more)
        for x in (*arguments, *more.values(), *(found if isinstance(found, tuple) else [found])):
            if isinstance(x, base) and str(x) not in FOUND:
                FOUND[str(x)] = said(x, canonicalize)
        return found

    return call


def pytest_configure():
    """Record where the plugin is asked for, and not where this file is only read: it needs TVM."""
    from tvm.tirx import layout

    canonicalize = layout.Layout.canonicalize
    for kind in (layout.Layout, layout.TileLayout, layout.ComposeLayout):
        for name in OPERATIONS:
            if name in vars(kind):
                setattr(kind, name, noted(vars(kind)[name], layout.Layout, canonicalize))


def pytest_unconfigure():
    with open(os.environ["TLA_RECORDED"], "w") as file:
        file.write("\n".join(json.dumps(x) for x in FOUND.values() if x))


if __name__ == "__main__":
    from tvm.tirx import layout

    class Names(dict):
        def __missing__(self, name):
            return layout.Axis.get(name)

    for line in sys.stdin:
        made = eval(line, Names(vars(layout)))  # what tla wrote for a program of TVM
        print(
            json.dumps(
                said(made if isinstance(made, layout.Layout) else layout.TileLayout(made), layout.Layout.canonicalize)
            )
        )
