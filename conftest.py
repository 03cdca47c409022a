"""JAX, where it is installed, runs on eight virtual CPU devices; where it is not, what needs it is skipped."""

import importlib.util
import os

import pytest

# JAX reads these when it is first used, which is in a test.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"


def pytest_collection_modifyitems(items):
    """The examples in tla/xla/jax.py and docs/jax.md need JAX; tests/test_jax.py skips itself."""
    if importlib.util.find_spec("jax") is None:
        for item in items:
            if item.path.name in ("jax.py", "jax.md"):
                item.add_marker(pytest.mark.skip(reason="needs jax: pip install 'tla-layouts[jax]'"))
