"""Functions of JAX made otherwise inside, or with longer dimensions: the results stay, whatever the arguments hold."""

import itertools

import numpy as np
import pytest

from tla.xla.advice.bench import Bench, Change
from tla.xla.advice.inside import _chain, _lives
from tla.xla.advice.padding import padded
from tla.xla.advice.steps import Edit, evaluate, steps_of

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def layers(w1, w2, x):
    def loss(w1, w2):
        h = jax.nn.gelu(x @ w1)
        h = jax.nn.softmax(h @ w2, -1)
        return (h * h).sum() + jnp.log(h).max()

    return jax.grad(loss, (0, 1))(w1, w2)


def attention(q, k, v):
    b, s, n = q.shape
    q, k, v = (t.reshape(b, s, 5, n // 5) for t in (q, k, v))
    scores = jnp.einsum("bshd,bthd->bhst", q, k)
    scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, -jnp.inf)
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, -1), v).reshape(b * s, n).sum(0), scores.min((0, 2))


def recurrent(w, x):
    def cell(h, x):
        y = jnp.exp(-jnp.abs(h))
        h = jnp.tanh((x + h) @ w) + y
        return h * y, h * 2

    return jax.jit(lambda w, x: lax.scan(cell, jnp.zeros(x.shape[1:]), x))(w, x)


def counted(w, x):
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1]) @ w), (0, x))[1]


def others(x, y):
    z = jnp.exp(x)[:, None] + y
    z = z / z.sum((0, 2), keepdims=True)
    rows = x.T.reshape(x.shape[1], 1, -1)[:, 0]
    moved = jnp.cumsum(z, 1), jnp.sort(x, 0), z.prod(2), (x > 0).any(1), (z > 0).all(2), (x > 9).astype("uint8").max(0)
    return *moved, lax.rsqrt(z).reshape(-1), rows.max(1), (x * np.float32(np.inf)).sum(1), 1 / (x.sum(1) - x.sum(1))


def infinite(x, w):
    """Zeros of a padding times infinities are no zeros."""
    return (x * w) @ w.T, (w.T * 0 + 1) @ w, jnp.maximum(x, w).sum(0), (x - x.max(1, keepdims=True)).sum(1)


def arrays(*shapes):
    rng = np.random.default_rng(7)
    return tuple(jnp.asarray(rng.normal(size=s), "float32") for s in shapes)


INFINITE = (
    jnp.asarray([[1, np.inf, 3], [0, 1, -np.inf]], "float32"),
    jnp.asarray([[np.inf, 2, 0], [1, 1, 1]], "float32"),
)
PROGRAMS = {
    "layers": (layers, arrays((13, 20), (20, 13), (7, 13))),
    "attention": (attention, arrays((2, 13, 35), (2, 13, 35), (2, 13, 35))),
    "recurrent": (recurrent, arrays((13, 13), (4, 5, 13))),
    "counted": (counted, arrays((13, 13), (5, 13))),
    "others": (others, arrays((13, 6), (13, 3, 6))),
    "infinite": (infinite, INFINITE),
}


def flat(name):
    function, given = PROGRAMS[name]
    return lambda *leaves: jax.tree.leaves(function(*leaves)), given


def same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_steps_compute_the_function(name):
    function, given = flat(name)
    for a, b in zip(evaluate(steps_of(function, given), given), function(*given)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)  # XLA adds up in another order in one computation


@pytest.mark.parametrize("name", PROGRAMS)
def test_longer_dimensions(name):
    """Every size, by one, and to a multiple of 8; all sizes at once."""
    function, given = flat(name)
    program, sizes = steps_of(function, given), sorted({n for a in given for n in a.shape})
    grown = [{n: m} for n in sizes for m in (n + 1, n + 8 - n % 8) if n > 1] + [{n: n + 3 for n in sizes if n > 1}]
    for longer in grown:
        dims = {k: tuple(longer.get(n, n) for n in a.shape) for k, a in enumerate(given)}
        filled = [jnp.pad(a, [(0, m - n) for n, m in zip(a.shape, dims[k])]) for k, a in enumerate(given)]
        same(jax.jit(padded(program, dims))(*filled), function(*given))


def edits_of(program):
    """Every value that can be computed again, or kept in other dimensions, until it is read late."""
    for life in _lives(program):
        if chain := _chain(life, products=True):
            yield Edit(life.number, chain=tuple(step.number for step in chain), at=life.late)
        dims = program.types[life.number].shape
        if len(dims) > 1:
            yield Edit(life.number, dims=(dims[0] * dims[1], *dims[2:]), at=life.late)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_computed_again_or_kept_in_another_shape(name):
    """Every such edit alone (of many every fifth), and all of a kind together."""
    function, given = flat(name)
    program = steps_of(function, given)
    edits = [*edits_of(program)]
    together = [[e for e in edits if e.chain], [e for e in edits if e.dims]]
    for some in itertools.chain(([e] for e in edits[:: 1 + len(edits) // 12]), together):
        same(jax.jit(lambda *leaves, some=some: evaluate(program, leaves, some))(*given), function(*given))


def test_what_is_computed_again_is_in_the_program_twice():
    def function(x):
        y = jnp.exp(x)
        return [jnp.tanh(jnp.tanh(y + 1)) * y]

    given = arrays((4, 4))
    program = steps_of(function, given)
    edits = [edit for edit in edits_of(program) if edit.chain]
    assert [(edit.chain, edit.at) for edit in edits] == [((0,), len(program.steps) - 1)]
    text = str(jax.make_jaxpr(lambda x: evaluate(program, (x,), edits))(*given))
    assert text.count(" exp ") == 2
    assert "optimization_barrier" in text


def test_an_edit_in_a_loop_is_of_its_body():
    function, given = flat("recurrent")
    program = steps_of(function, given)
    assert [step.name for step in program.steps if step.inner is not None] == [
        "scan"
    ]  # the call around it is taken apart
    inside = program.steps[-1].inner
    value = next(step.writes[0] for step in inside.steps if step.name == "exp")
    text = str(jax.make_jaxpr(lambda *leaves: evaluate(program, leaves, [Edit(value, order=(1, 0))]))(*given))
    assert text.index("scan") < text.index("layout_constraint")


def test_nothing_that_takes_long_is_computed_again():
    program = steps_of(
        lambda x, w: [(lambda y: jnp.tanh(jnp.sin(y @ w) + 1) * y)(jnp.cumsum(x, 0) @ w)], arrays((4, 4), (4, 4))
    )
    lives = [life for life in _lives(program) if life.step.name == "dot_general"]
    assert lives
    assert not any(_chain(life, products=False) for life in lives)
    assert any(_chain(life, products=True) for life in lives)


def test_a_function_is_traced_once_however_often_it_is_changed():
    """Tracing a model may take longer than a compile of it."""
    times = []

    def counted_twice(x, y):
        times.append(1)
        return jnp.tanh(x @ y), x.sum()

    structs = jax.ShapeDtypeStruct((8, 16), "float32"), jax.ShapeDtypeStruct((16, 4), "float32")
    bench = Bench.of(counted_twice, structs, {}, tuple(jax.devices()), "v5e")
    changes = (
        Change(),
        Change(longer={0: (16, 16)}),
        Change(edits=(Edit(bench.steps.steps[0].writes[0], order=(1, 0)),)),
    )
    for change in changes:
        given = [jax.ShapeDtypeStruct(change.longer.get(k, s.shape), s.dtype) for k, s in enumerate(structs)]
        jax.jit(bench._with(change)).lower(*given)
    assert len(times) == 1
    assert bench.results == (((8, 4), "float32"), ((), "float32"))
