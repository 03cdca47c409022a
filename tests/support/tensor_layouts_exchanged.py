"""A plugin of pytest: `import tensor_layouts` gives tla's module of that interface, with its modules."""

import importlib
import sys

NAMES = "layouts tensor layout_utils analysis atoms atoms_nv atoms_amd viz"


def pytest_configure():
    """Exchange them where the plugin is asked for, and not where this file is only read: doctests are looked for in
    every file."""
    sys.modules["tensor_layouts"] = importlib.import_module("tla.compat.tensor_layouts")
    for name in NAMES.split():
        sys.modules[f"tensor_layouts.{name}"] = importlib.import_module(f"tla.compat.tensor_layouts.{name}")
