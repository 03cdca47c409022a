"""A function of JAX that is compiled for a TPU with a change, and what that compile took.

Source: JAX docs/aot.rst, jax.experimental.layout and jax.experimental.topologies; the accounts are those of `memory`
and `relayouts`.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import RangeError
from ...core.on_demand import jax_module
from ...core.values import rounded
from ..programs.collectives import collectives
from ..programs.dumps import programs_in
from ..programs.memory import Memory, memory
from ..programs.relayouts import relayouts
from ..shapes.array_shape import ArrayShape
from ..shapes.default import default_layout
from ..shapes.foreign import element_type
from .measure import Measure
from .padding import padded
from .steps import Edit, Steps, evaluate, steps_of

#: What libtpu asks for before it compiles on a machine without a TPU.
_ENVIRONMENT = {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_ACCELERATOR_TYPE": ""}
#: The topology of a generation that is given by its name alone.
_TOPOLOGIES = {"v4": "v4:2x2x1", "v5p": "v5p:2x2x1", "tpu7x": "tpu7x:2x2x1"}


def devices_of(topology: str) -> tuple[Any, ...]:
    """The devices of a topology that libtpu compiles for."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    name = topology if ":" in topology else _TOPOLOGIES.get(topology, f"{topology}:2x2")
    try:
        found = jax_module("jax.experimental.topologies").get_topology_desc(platform="tpu", topology_name=name)
        return tuple(found.devices)
    except Exception as error:  # of libtpu, or that there is none: JAX has no type for it
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        fix = "pip install libtpu, and write topology='v5e:2x2'"
        raise RangeError(f"the topology {name}: {text}", "one that the installed libtpu has", fix) from None


def jitted(function: Callable[..., Any]) -> Any:
    """A function of JAX that remembers how it was traced."""
    return function if hasattr(function, "trace") else jax_module("jax").jit(function)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the call: of arguments by their number among the leaves.

    layouts   a Layout of JAX for an argument, or None for the compiler's choice
    donated   arguments whose memory a result may take
    given     for an argument: what is given in its place, and how the function gets the argument back
    placed    a Sharding of JAX for an argument
    longer    the dimensions with which an argument is given, padded by zeros at their ends
    edits     what is made otherwise inside
    """

    kind: str = ""
    what: str = ""
    code: str = ""
    saved: int | None = None
    layouts: Mapping[int, tuple[int, ...] | None] = field(default_factory=dict)
    donated: frozenset[int] = frozenset()
    given: Mapping[int, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    placed: Mapping[int, Any] = field(default_factory=dict)
    longer: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()

    @property
    def arguments(self) -> frozenset[int]:
        """The arguments that are given otherwise."""
        return frozenset({*self.layouts, *self.given, *self.placed, *self.longer})

    @property
    def key(self) -> tuple[Any, ...]:
        """A value that is equal for two changes that do the same."""
        mappings = (self.layouts, self.given, self.placed, self.longer)
        return (*(tuple(sorted(m.items(), key=lambda item: item[0])) for m in mappings), self.donated, self.edits)


@dataclass(frozen=True, slots=True)
class Bench:
    """A function of leaves, ready to be compiled with changes.

    function   of the leaves of the arguments; JAX traces it once for one device and once for several, however often it
               is compiled
    steps      the same as steps, its results flat
    names      of each leaf, as a call has it
    structs    of each leaf, with its sharding
    results    dimensions and dtype of each leaf of the result
    donated    the leaves that the function itself donates
    devices    of the topology
    target     the generation
    """

    function: Callable[..., Any]
    steps: Steps
    names: tuple[str, ...]
    structs: tuple[Any, ...]
    results: tuple[tuple[tuple[int, ...], str], ...]
    donated: frozenset[int]
    devices: tuple[Any, ...]
    target: str

    @staticmethod
    def of(
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        devices: tuple[Any, ...],
        target: str,
    ) -> Bench:
        """Prepare a function: its arguments as structs, on the first device where nothing else is said."""
        tree, jax = jax_module("jax.tree_util"), jax_module("jax")
        found, whole = tree.tree_flatten_with_path((args, dict(kwargs)))
        one = jax_module("jax.sharding").SingleDeviceSharding(devices[0])
        structs = tuple(_struct(leaf, one) for _, leaf in found)
        names = tuple(_name(tree.keystr(path)) for path, _ in found)
        traced = jitted(function)

        @jax.jit  # type: ignore[untyped-decorator]
        def call(*leaves: Any) -> Any:
            given, named = tree.tree_unflatten(whole, leaves)
            return traced(*given, **named)

        given, named = tree.tree_unflatten(whole, structs)
        infos = tree.tree_leaves(traced.trace(*given, **named).args_info)
        donated = frozenset(k for k, info in enumerate(infos) if info.donated)
        results = tuple((tuple(x.shape), str(x.dtype)) for x in tree.tree_leaves(jax.eval_shape(call, *structs)))
        plain = [jax.ShapeDtypeStruct(s.shape, s.dtype, weak_type=s.weak_type) for s in structs]
        steps = steps_of(lambda *leaves: tree.tree_leaves(call(*leaves)), plain)
        return Bench(call, steps, names, structs, results, donated, devices, target)

    def shape(self, k: int) -> ArrayShape:
        """An argument as one device has it."""
        struct = self.structs[k]
        return default_layout(element_type(struct.dtype), struct.sharding.shard_shape(tuple(struct.shape)), self.target)

    def dims(self, k: int) -> tuple[int, ...]:
        """The dimensions of an argument."""
        return tuple(self.structs[k].shape)

    def measured(self, change: Change) -> tuple[Measure, Memory]:
        """Compile the function with a change, and take its account."""
        jax = jax_module("jax")
        structs = [_changed(self.structs[k], k, change) for k in range(len(self.structs))]
        chosen = change.layouts
        formats = tuple(_format(s.sharding, chosen[k]) if k in chosen else s.sharding for k, s in enumerate(structs))
        donated = tuple(sorted(self.donated | change.donated))
        # JAX refuses a donated argument in the compiler's layout if the result in its place has another one.
        free = any(change.layouts.get(k, ()) is None for k in donated)
        results = {"out_shardings": _format(None, None)} if free else {}
        call = jax.jit(self._with(change), in_shardings=formats, **results, donate_argnums=donated, keep_unused=True)
        found = memory(io.StringIO(_text(call.lower(*structs))), target=self.target)
        moves = relayouts(found.module)
        moved, prefetched = (sum(m.bytes for m in moves if m.overlapped is kind) for kind in (False, True))
        sent = sum(c.bytes for c in collectives(found.module))
        peaks = {space: peak.bytes for space, peak in found.peak.items()}
        return Measure(peaks, found.reported, moved, prefetched, sent), found

    def _with(self, change: Change) -> Callable[..., Any]:
        """The function with a change: of its inside, or of what it is given."""
        inside = self.function
        if change.longer:
            inside = padded(self.steps, change.longer)
        elif change.edits:

            def inside(*leaves: Any) -> Any:
                return evaluate(self.steps, leaves, change.edits)

        def call(*leaves: Any) -> Any:
            back = {k: rounded(leaves[k].reshape(self.dims(k)), self.structs[k].dtype) for k in change.given}
            return inside(*(back.get(k, x) for k, x in enumerate(leaves)))

        return call


def _text(lowered: Any) -> str:
    """The text of a compiled program. JAX does not print what a SparseCore does meanwhile, nor a program that takes more
    memory than the chip has; XLA's own dump has both."""
    try:
        return str(lowered.compile().as_text())
    except Exception as error:  # of XLA: JAX has several types for it
        too_large = "RESOURCE_EXHAUSTED" in str(error)
        if "async-update" not in str(error) and not too_large:
            raise
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.suppress(*((Exception,) if too_large else ())):
                lowered.compile({"xla_dump_to": folder, "xla_dump_hlo_as_text": True})
            texts = [path.read_text() for path in programs_in(folder)[0]]
        if not texts:
            raise
        return max(texts, key=len)


def in_turn(*kinds: Iterator[Change]) -> Iterator[Change]:
    """The changes of several kinds, one of each in turn."""
    waiting = [*kinds]
    while waiting:
        for kind in [*waiting]:
            if (change := next(kind, None)) is None:
                waiting.remove(kind)
            else:
                yield change


def _changed(struct: Any, k: int, change: Change) -> Any:
    """An argument as a change gives it."""
    dims, dtype = change.given.get(k, (change.longer.get(k, struct.shape), struct.dtype))
    sharding, weak = change.placed.get(k, struct.sharding), struct.weak_type and k not in change.given
    return jax_module("jax").ShapeDtypeStruct(dims, dtype, sharding=sharding, weak_type=weak)


def _struct(leaf: Any, one: Any) -> Any:
    """A leaf as a struct with a sharding; a number of Python takes the type of what it is computed with."""
    jax = jax_module("jax")
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        leaf = jax_module("jax.numpy").asarray(leaf)
    sharding = leaf.sharding if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.sharding is not None else one
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=getattr(leaf, "weak_type", False))


def _name(path: str) -> str:
    """An argument as a call names it: args[0]['w'] of [0][0]['w']."""
    return f"args{path[3:]}" if path.startswith("[0]") else f"kwargs{path[3:]}"


def _format(sharding: Any, order: tuple[int, ...] | None) -> Any:
    """A format of JAX: the dimensions in an order, major to minor, or as the compiler chooses."""
    layout = jax_module("jax.experimental.layout")
    return layout.Format(layout.Layout.AUTO if order is None else layout.Layout(order), sharding)
