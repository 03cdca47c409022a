"""A plugin of pytest: `import tensor_layouts` gives tla's module of that interface, with its modules."""

import importlib
import sys

NAMES = "layouts tensor layout_utils analysis atoms atoms_nv atoms_amd viz"

sys.modules["tensor_layouts"] = importlib.import_module("tla.compat.tensor_layouts")
for name in NAMES.split():
    sys.modules[f"tensor_layouts.{name}"] = importlib.import_module(f"tla.compat.tensor_layouts.{name}")
