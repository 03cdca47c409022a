"""A function of JAX as numbered values and steps, and the function again with some of its values made otherwise.

Every edit keeps the results: a value is given another layout, kept in another shape until it is read again, or
computed again there.

Source: JAX docs/jaxpr.md; jax.lax.optimization_barrier, which jax.checkpoint uses for the same end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.on_demand import jax_module

#: Loops whose body is looked into, with the parameter that has it.
_BODIES = {"scan": "jaxpr", "while": "body_jaxpr"}
#: Calls that are taken apart, with the parameter that has what they call. Nothing is differentiated afterwards.
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}


@dataclass(frozen=True, slots=True)
class Step:
    """An equation of a program.

    number     its place, counted through loops
    name       the primitive
    reads      the numbers of the values that it reads; a literal stands for itself
    writes     the numbers of the values that it writes
    inner      the body of a loop
    equation, holder   JAX's equation, and the jaxpr that it is from
    """

    number: int
    name: str
    reads: tuple[Any, ...]
    writes: tuple[int, ...]
    inner: Steps | None
    equation: Any
    holder: Any


@dataclass(frozen=True, slots=True)
class Steps:
    """A program: its values are numbers, each written once.

    inputs    the numbers of its arguments
    constants   of each constant its number and value
    steps     in their order
    results   numbers, or literals
    types     the type of each value, those of loops' bodies too: it has a shape and a dtype
    """

    inputs: tuple[int, ...]
    constants: Mapping[int, Any]
    steps: tuple[Step, ...]
    results: tuple[Any, ...]
    types: Mapping[int, Any]

    def everywhere(self) -> Iterator[Steps]:
        """The program, and the bodies of its loops."""
        yield self
        for step in self.steps:
            if step.inner is not None:
                yield from step.inner.everywhere()


@dataclass(frozen=True, slots=True)
class Edit:
    """A value that is made otherwise.

    value   its number
    order   its dimensions major to minor: the compiler is to lay it out so
    dims    a shape in which it is kept until step `at`
    chain   the numbers of the steps that compute it again, before step `at`
    at      the step from which on the kept, or the newly computed, value is read
    """

    value: int
    order: tuple[int, ...] = ()
    dims: tuple[int, ...] = ()
    chain: tuple[int, ...] = ()
    at: int = -1


class _Reader:
    """The numbers of a program that is being read."""

    def __init__(self) -> None:
        self.types: dict[int, Any] = {}
        self.steps = 0

    def value(self, variable: Any) -> int:
        self.types[len(self.types)] = variable.aval
        return len(self.types) - 1

    def program(self, closed: Any) -> Steps:
        inputs = tuple(self.value(v) for v in closed.jaxpr.invars)
        constants: dict[int, Any] = {}
        steps: list[Step] = []
        results = self.body(closed, inputs, constants, steps)
        return Steps(inputs, constants, tuple(steps), results, self.types)

    def body(self, closed: Any, inputs: Sequence[Any], constants: dict[int, Any], steps: list[Step]) -> tuple[Any, ...]:
        """The results of a jaxpr, whose steps are added; calls in it are taken apart."""
        jaxpr = closed.jaxpr
        known: dict[Any, Any] = dict(zip(jaxpr.invars, inputs))
        for variable, constant in zip(jaxpr.constvars, closed.consts):
            known[variable] = self.value(variable)
            constants[known[variable]] = constant
        for it in jaxpr.eqns:
            reads = tuple(v if hasattr(v, "val") else known[v] for v in it.invars)
            name = it.primitive.name
            if name in _CALLS and _free(it.params):
                found = self.body(it.params[_CALLS[name]], reads, constants, steps)
            else:
                found = tuple(self.value(v) for v in it.outvars)
                inner = self.program(it.params[_BODIES[name]]) if name in _BODIES else None
                steps.append(Step(self.steps, name, reads, found, inner, it, jaxpr))
                self.steps += 1
            known.update(zip(it.outvars, found))
        return tuple(v if hasattr(v, "val") else known[v] for v in jaxpr.outvars)


def _free(params: Mapping[str, Any]) -> bool:
    """Whether a call says nothing of where its values are."""
    said = [*params.get("in_shardings", ()), *params.get("out_shardings", ())]
    said += [x for k in ("in_layouts", "out_layouts") for x in params.get(k, ()) if x is not None]
    return all(type(x).__name__ == "UnspecifiedValue" for x in said)


def steps_of(function: Callable[..., Any], arguments: Sequence[Any]) -> Steps:
    """Read a function of leaves as steps.

    function    of JAX; its results are a flat sequence
    arguments   what it is traced with: arrays, or structs
    """
    return _Reader().program(jax_module("jax").make_jaxpr(function)(*arguments))


def evaluate(program: Steps, arguments: Sequence[Any], edits: Sequence[Edit] = ()) -> list[Any]:
    """Compute the results of a program, or trace it, with edits."""
    values: dict[int, Any] = {**program.constants, **dict(zip(program.inputs, arguments))}
    kept: dict[Edit, Any] = {}
    by_number = {step.number: step for step in program.steps}
    for number in program.inputs:
        _written(number, values, edits, kept)
    for step in program.steps:
        for edit in edits:
            if edit.at == step.number:
                _late(edit, step, values, kept, by_number)
        for number, found in zip(step.writes, bound(step, [_value(x, values) for x in step.reads], edits)):
            values[number] = found
            _written(number, values, edits, kept)
    return [_value(x, values) for x in program.results]


def _value(x: Any, values: Mapping[int, Any]) -> Any:
    return values[x] if isinstance(x, int) else x.val


def _written(number: int, values: dict[int, Any], edits: Sequence[Edit], kept: dict[Edit, Any]) -> None:
    """Do what edits ask of a value as soon as it is there."""
    for edit in edits:
        if edit.value == number and edit.order:
            layout = jax_module("jax.experimental.layout")
            values[number] = layout.with_layout_constraint(values[number], layout.Layout(edit.order))
        if edit.value == number and edit.dims:
            kept[edit] = jax_module("jax.lax").optimization_barrier(values[number].reshape(edit.dims))


def _late(
    edit: Edit, step: Step, values: dict[int, Any], kept: Mapping[Edit, Any], by_number: Mapping[int, Step]
) -> None:
    """Give the steps from here on the value that was kept, or compute it again: after this step's other operands."""
    chain = [by_number[number] for number in edit.chain]
    made = {number for link in chain for number in link.writes}
    needed = {x: values[x] for link in chain for x in link.reads if isinstance(x, int) and x not in made}
    others = {x: values[x] for x in step.reads if isinstance(x, int) and x != edit.value and x not in needed}
    stored = [kept[edit]] if edit in kept else []
    stored, needed, others = jax_module("jax.lax").optimization_barrier((stored, needed, others))
    values.update(others)
    if stored:
        values[edit.value] = stored[0].reshape(values[edit.value].shape)
    for link in chain:
        found = bound(link, [_value(x, needed) for x in link.reads], ())
        needed.update(zip(link.writes, found))
    values[edit.value] = needed.get(edit.value, values[edit.value])


def bound(step: Step, given: Sequence[Any], edits: Sequence[Edit] = ()) -> list[Any]:
    """Compute a step of these operands; the edits are of its loop's body."""
    core, it = jax_module("jax.core"), step.equation
    if step.inner is not None and (inside := edits_in(step.inner, edits)):
        it = it.replace(params={**it.params, _BODIES[step.name]: _again(step.inner, inside)})
    variables = [(v, x) for v, x in zip(it.invars, given) if not hasattr(v, "val")]
    alone = step.holder.replace(constvars=[], invars=[v for v, _ in variables], outvars=it.outvars, eqns=[it])
    return list(core.eval_jaxpr(alone, (), *(x for _, x in variables)))


def edits_in(program: Steps, edits: Sequence[Edit]) -> list[Edit]:
    """The edits of values that a program, or a loop in it, has."""
    own = {n for part in program.everywhere() for n in (*part.inputs, *(w for s in part.steps for w in s.writes))}
    return [edit for edit in edits if edit.value in own]


def _again(program: Steps, edits: Sequence[Edit]) -> Any:
    """A loop's body with edits, as a jaxpr."""
    jax = jax_module("jax")
    types = [jax.ShapeDtypeStruct(program.types[n].shape, program.types[n].dtype) for n in program.inputs]
    return jax.make_jaxpr(lambda *given: evaluate(program, given, edits))(*types)
