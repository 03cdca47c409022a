"""The command `tla advise`: changes of a function of JAX, each compiled for a TPU and measured."""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import xla
from ..core.errors import LeafTypeError, RangeError
from ..core.on_demand import OnDemand, jax_module
from .terminal import Answer, option

if TYPE_CHECKING:
    import dataclasses
    import runpy
    import traceback

    from ..xla.advice import bench
else:  # the overview of all commands needs none of them
    dataclasses, runpy, traceback = OnDemand("dataclasses"), OnDemand("runpy"), OnDemand("traceback")
    bench = OnDemand("tla.xla.advice.bench")


def advise_options(sub: argparse.ArgumentParser) -> None:
    """The options of the command."""
    option(sub, "--arguments NAME", "its arguments there: a tuple, or a function that gives one", default="arguments")
    option(sub, "--topology T", "what it is compiled for, as libtpu names it: v5e:2x2, v6e:4x4", default="v5e:2x2")
    option(sub, "--most N", "try the first N changes; 24 by default", type=int, default=24)


def advise(arguments: argparse.Namespace) -> Answer:
    """Try changes of a function of JAX, each compiled by libtpu, without a TPU: what measures better is recommended."""
    path, _, name = arguments.function.rpartition(":")
    if not path or not name or not os.path.isfile(path):
        what = f"{path} is no file" if path and name else arguments.function
        raise LeafTypeError(what, "a file of Python and a function in it", "write tla advise script.py:step")
    if arguments.most < 1:
        raise RangeError(f"--most {arguments.most}", "1 or more", "leave it out for 24")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # for JAX would look for a TPU, and wait
    script = _run(functools.partial(runpy.run_path, path, run_name="tla_advise"), path, path)
    function, given = _named(script, name, path), _named(script, arguments.arguments, path)
    given = _run(given, f"{arguments.arguments} of {path}", path) if callable(given) else given
    if not isinstance(given, (tuple, list)):
        what = f"{arguments.arguments} of {path} is a {type(given).__name__}"
        raise LeafTypeError(what, "a tuple of arguments", "write arguments = (x, y)")
    if callable(function):  # else try_advice says so
        function = bench.jitted(function)
        _require_it_takes(function, given, f"{name} of {path}")
    found = xla.try_advice(function, *given, topology=arguments.topology, most=arguments.most)
    value = {
        "target": found.target,
        "before": dataclasses.asdict(found.before),
        "tried": [{"verdict": trial.verdict, **dataclasses.asdict(trial)} for trial in found.tried],
    }
    return value, lambda _: str(found)


def _run(f: Callable[[], Any], where: str, path: str) -> Any:
    """The answer of a script, or of a function of it; RangeError for what it raises, with its last line there."""
    try:
        return f()
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line = (error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None) or "?"
        what = f"{where}, line {line}: {type(error).__name__}: {error}"
        raise RangeError(what, "a script that runs to its end", f"try it by itself: python {path}") from error


def _require_it_takes(function: Any, given: Sequence[Any], where: str) -> None:
    """RangeError where a function raises as JAX traces it: it is the user's, and so is what it raises."""
    try:
        jax_module("jax").eval_shape(function, *given)
    except Exception as error:
        said = (str(error).splitlines() or [""])[0]
        what = f"{where}, called with its arguments: {type(error).__name__}: {said:.200}"
        fix = "call it in the script: jax.eval_shape(step, *arguments)"
        raise RangeError(what, "a function that JAX traces with them", fix) from error


def _named(script: Mapping[str, Any], name: str, path: str) -> Any:
    if name not in script:
        arrays = "write arguments = (...) in it: arrays, or jax.ShapeDtypeStruct"
        fix = arrays if name == "arguments" else "name what the script has"
        raise LeafTypeError(f"{path} has no {name}", "a name of the script", fix)
    return script[name]
