"""Gluon's layouts as the rows of truth files name them."""

from tla.linear import triton


def made(spec):
    """Gluon's class with its parameters, as a row says it."""
    parameters = {k: made(v) if k == "parent" else v for k, v in spec.items() if k != "class"}
    return getattr(triton, spec["class"])(**parameters)
