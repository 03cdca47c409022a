"""Random programs of JAX for TPUs: families of models, each of sizes that a seed draws.

A family is a function of a random.Random and the devices of a topology; it gives a function, its arguments (structs
with shardings) and options of jax.jit. One seed is one program, the same in every run.
"""

import functools
import itertools
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.ad_checkpoint
import jax.numpy as jnp
import numpy
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding


class Program(NamedTuple):
    """A function to compile, with its arguments."""

    function: object
    arguments: tuple
    options: Mapping[str, object] = MappingProxyType({})


FAMILIES = {}


def family(function):
    FAMILIES[function.__name__] = function
    return function


def struct(devices, shape, dtype="float32", kind=None):
    """An argument that lies on the first device."""
    sharding = SingleDeviceSharding(devices[0], memory_kind=kind) if kind else SingleDeviceSharding(devices[0])
    return jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=sharding)


def mesh_of(devices, rng, names=("data", "model")):
    """All devices as a mesh of two axes."""
    count = len(devices)
    first = rng.choice([k for k in (1, 2, 4, 8, 16) if count % k == 0 and k <= count])
    return Mesh(numpy.array(devices).reshape(first, count // first), names)


def placed(mesh, shape, spec, dtype="float32", kind=None):
    sharding = NamedSharding(mesh, P(*spec), memory_kind=kind) if kind else NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=sharding)


def width(rng, least=16, most=4096):
    """A size as models have them: a multiple of 128, a power of two, or an odd one."""
    n = int(2 ** rng.uniform(math.log2(least), math.log2(most)))
    return max(1, rng.choice([n, n, -(-n // 128) * 128, 1 << max(n.bit_length() - 1, 0), n | 1]))


def real(rng):
    return rng.choice(["float32", "bfloat16", "bfloat16"])


# ------------------------------------------------------------------------------------------------ dense models


@family
def mlp(rng, devices):
    """Layers of a perceptron, with a gradient or without."""
    sizes = [width(rng) for _ in range(rng.randint(3, 6))]
    batch, dtype, grad = width(rng, 8, 2048), real(rng), rng.random() < 0.6

    def forward(weights, x):
        for w in weights:
            x = jax.nn.gelu(x @ w)
        return x.astype("float32").mean()

    weights = [struct(devices, s, dtype) for s in itertools.pairwise(sizes)]
    return Program(jax.grad(forward) if grad else forward, (weights, struct(devices, (batch, sizes[0]), dtype)))


@family
def adam(rng, devices):
    """A training step with donated state."""
    n, m, layers, batch = width(rng, 64), width(rng, 64), rng.randint(1, 4), width(rng, 8, 512)

    def loss(p, x):
        for w, b in p:
            x = jnp.tanh(x @ w + b) @ w.T
        return (x**2).mean()

    def step(state, x):
        p, mu, nu = state
        g = jax.grad(loss)(p, x)
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, g)
        nu = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, nu, g)
        return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, mu, nu), mu, nu

    p = [(struct(devices, (n, m)), struct(devices, (m,))) for _ in range(layers)]
    return Program(step, ((p, p, p), struct(devices, (batch, n))), {"donate_argnums": (0,)})


@family
def attention(rng, devices):
    """Attention of grouped queries, causal or not."""
    b, s, groups, per, d = (
        rng.randint(1, 8),
        width(rng, 64, 1024),
        rng.choice([1, 2, 4]),
        rng.choice([1, 2, 4, 5]),
        rng.choice([64, 80, 128]),
    )
    dtype, causal, grad = real(rng), rng.random() < 0.5, rng.random() < 0.5

    def attend(q, k, v):
        scores = jnp.einsum("bsgpd,btgd->bgpst", q, k).astype("float32") / d**0.5
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, -1e30)
        return jnp.einsum("bgpst,btgd->bsgpd", jax.nn.softmax(scores).astype(v.dtype), v)

    args = struct(devices, (b, s, groups, per, d), dtype), *[struct(devices, (b, s, groups, d), dtype)] * 2
    return Program(jax.grad(lambda *a: attend(*a).astype("float32").sum(), (0, 1, 2)) if grad else attend, args)


@family
def decode(rng, devices):
    """One step of a decoder with a cache of keys and values that is donated."""
    layers, b, heads, s, d = (
        rng.randint(1, 5),
        rng.choice([1, 4, 8, 16]),
        rng.choice([2, 4, 8]),
        width(rng, 128, 2048),
        rng.choice([64, 128]),
    )
    n, dtype = heads * d, real(rng)

    def step(weights, cache, x, at):
        def layer(x, of):
            (wq, wk, wv, wo), (ks, vs) = of
            q, k, v = ((x @ w).reshape(b, heads, d) for w in (wq, wk, wv))
            ks = lax.dynamic_update_slice(ks, k[:, :, None], (0, 0, at, 0))
            vs = lax.dynamic_update_slice(vs, v[:, :, None], (0, 0, at, 0))
            scores = jnp.einsum("bhd,bhsd->bhs", q, ks).astype("float32")
            scores = jnp.where(jnp.arange(s) <= at, scores, -1e30)
            out = jnp.einsum("bhs,bhsd->bhd", jax.nn.softmax(scores).astype(x.dtype), vs)
            return x + out.reshape(b, n) @ wo, (ks, vs)

        return lax.scan(layer, x, (weights, cache))

    weights = tuple(struct(devices, (layers, n, n), dtype) for _ in range(4))
    cache = tuple(struct(devices, (layers, b, heads, s, d), dtype) for _ in range(2))
    return Program(
        step, (weights, cache, struct(devices, (b, n), dtype), struct(devices, (), "int32")), {"donate_argnums": (1,)}
    )


@family
def convolution(rng, devices):
    """A few convolutions: strides, groups, transposed ones; gradients."""
    b, size, c = rng.choice([1, 4, 8, 16]), rng.choice([14, 28, 56, 64, 96]), rng.choice([3, 24, 32, 64, 96])
    dtype, grad, layers = real(rng), rng.random() < 0.6, []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["plain", "plain", "depthwise", "transposed"])
        out = c if kind == "depthwise" else rng.choice([16, 24, 32, 64, 128])
        layers.append((kind, rng.choice([1, 2]), (3, 3, 1 if kind == "depthwise" else c, out), c))
        c = out

    def forward(weights, x):
        for w, (kind, stride, _s, channels) in zip(weights, layers):
            dims = ("NHWC", "HWIO", "NHWC")
            if kind == "transposed":
                x = lax.conv_transpose(x, w, (stride, stride), "SAME", dimension_numbers=dims)
            else:
                groups = channels if kind == "depthwise" else 1
                x = lax.conv_general_dilated(
                    x, w, (stride, stride), "SAME", dimension_numbers=dims, feature_group_count=groups
                )
            x = jax.nn.relu(x)
        return x.astype("float32").mean()

    weights = [struct(devices, s, dtype) for _k, _st, s, _c in layers]
    x = struct(devices, (b, size, size, layers[0][3]), dtype)
    return Program(jax.grad(forward) if grad else forward, (weights, x))


@family
def vit(rng, devices):
    """Patches of images, embedded and normalised."""
    b, size, patch, n, dtype = (
        rng.choice([2, 8, 16]),
        rng.choice([96, 224]),
        rng.choice([8, 16]),
        width(rng, 64, 1024),
        real(rng),
    )

    def forward(w, scale, x):
        k = size // patch
        x = x.reshape(b, k, patch, k, patch, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, k * k, -1) @ w
        x = x - x.mean(-1, keepdims=True)
        return (x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale).sum(1)

    args = (
        struct(devices, (patch * patch * 3, n), dtype),
        struct(devices, (n,), dtype),
        struct(devices, (b, size, size, 3), dtype),
    )
    return Program(jax.grad(lambda *a: forward(*a).astype("float32").sum()) if rng.random() < 0.5 else forward, args)


@family
def quantised(rng, devices):
    """A matrix product of narrow elements."""
    dtype = rng.choice(["int8", "int4", "float8_e4m3fn", "float8_e5m2", "uint8"])
    n, m, k = width(rng, 64), width(rng, 64), width(rng, 64)

    def forward(x, w, scale):
        x8 = (x * 16).astype(dtype)
        out = lax.dot(x8, w, preferred_element_type="int32" if "int" in dtype else "float32")
        return (out * scale).astype("bfloat16")

    return Program(
        forward, (struct(devices, (n, k), "bfloat16"), struct(devices, (k, m), dtype), struct(devices, (m,)))
    )


# ------------------------------------------------------------------------------------------------------- loops


@family
def recurrent(rng, devices):
    """An LSTM or a GRU over time."""
    t, b, n, gru, grad = (
        rng.choice([16, 50, 128]),
        width(rng, 4, 256),
        width(rng, 16, 1024),
        rng.random() < 0.5,
        rng.random() < 0.5,
    )

    def cell(w, carry, x):
        if gru:
            h = carry[0]
            z, r, c = jnp.split(jnp.concatenate([x, h], -1) @ w, 3, -1)
            h = jax.nn.sigmoid(z) * h + (1 - jax.nn.sigmoid(z)) * jnp.tanh(c * jax.nn.sigmoid(r))
            return (h,), h
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), c

    def run(w, x):
        start = (jnp.zeros((b, n)),) * (1 if gru else 2)
        return lax.scan(functools.partial(cell, w), start, x)[1].sum()

    args = struct(devices, (2 * n, (3 if gru else 4) * n)), struct(devices, (t, b, n))
    return Program(jax.grad(run) if grad else run, args)


@family
def remat(rng, devices):
    """A scan over layers, of which the gradient computes some anew."""
    layers, b, n, m, dtype = (
        rng.choice([4, 12, 24]),
        width(rng, 32, 1024),
        width(rng, 64, 2048),
        width(rng, 64, 2048),
        real(rng),
    )
    policy = rng.choice([None, jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.nothing_saveable])

    def layer(x, w):
        up, down = w
        return x + jax.nn.silu(x @ up) @ down, None

    def loss(weights, x):
        return lax.scan(jax.checkpoint(layer, policy=policy), x, weights)[0].astype("float32").sum()

    weights = struct(devices, (layers, n, m), dtype), struct(devices, (layers, m, n), dtype)
    return Program(jax.value_and_grad(loss), (weights, struct(devices, (b, n), dtype)))


@family
def solver(rng, devices):
    """Conjugate gradients, until it is near enough."""
    n, many = width(rng, 64, 2048), rng.choice([1, 1, 4, 100])

    def solve(a, b):
        def step(state):
            x, r, p, k = state
            ap = a @ p
            alpha = (r * r).sum() / (p * ap).sum()
            new = r - alpha * ap
            return x + alpha * p, new, new + (new * new).sum() / (r * r).sum() * p, k + 1

        return lax.while_loop(lambda s: ((s[1] ** 2).sum() > 1e-6) & (s[3] < 100), step, (b * 0, b, b, 0))[0]

    return Program(solve, (struct(devices, (n, n)), struct(devices, (n, many))))


@family
def branches(rng, devices):
    """A switch, with a loop inside of it or around it."""
    n, m, ways, times = width(rng, 64, 2048), width(rng, 64, 2048), rng.randint(2, 4), rng.randint(1, 7)

    def forward(k, x, w):
        def run(x, i):
            kinds = [lambda x: x @ w @ w.T, lambda x: jnp.sort(x, 0), lambda x: jnp.cumsum(x, 1), lambda x: x * 2][
                :ways
            ]
            return lax.switch((k + i) % ways, kinds, x), None

        return lax.scan(run, x, jnp.arange(times))[0]

    return Program(forward, (struct(devices, (), "int32"), struct(devices, (n, m)), struct(devices, (m, m))))


@family
def pipeline(rng, devices):
    """Nested loops of slices and updates."""
    n, m, outer, inner = width(rng, 64, 2048), width(rng, 64, 1024), rng.randint(2, 9), rng.randint(2, 12)

    def run(x, w):
        def one(i, x):
            def two(j, x):
                row = lax.dynamic_slice(x, (j * 3 % n, 0), (min(8, n), m)) @ w
                return lax.dynamic_update_slice(x, row, (i * 5 % n, 0))

            return lax.fori_loop(0, inner, two, x)

        return lax.fori_loop(0, outer, one, x)

    return Program(
        run, (struct(devices, (n, m)), struct(devices, (m, m))), {"donate_argnums": (0,)} if rng.random() < 0.5 else {}
    )


# ----------------------------------------------------------------------------------- gathers, sorts, transforms


@family
def dlrm(rng, devices):
    """Rows of tables by index, combined; the gradient scatters."""
    tables, rows, n, batch = (
        rng.randint(1, 6),
        width(rng, 1000, 200_000),
        rng.choice([8, 16, 32, 64, 128]),
        width(rng, 64, 8192),
    )
    grad = rng.random() < 0.5

    def forward(tables, ids, w):
        found = jnp.stack([t[i] for t, i in zip(tables, ids)], 1)
        dots = jnp.einsum("bin,bjn->bij", found, found).reshape(found.shape[0], -1)
        return jax.nn.relu(dots @ w).sum()

    args = (
        [struct(devices, (rows, n))] * tables,
        [struct(devices, (batch,), "int32")] * tables,
        struct(devices, (tables * tables, 64)),
    )
    return Program(jax.grad(forward) if grad else forward, args)


@family
def moe(rng, devices):
    """Tokens sorted by their expert, a product for each group."""
    tokens, n, m, experts, dtype = (
        width(rng, 128, 4096),
        width(rng, 64, 1024),
        width(rng, 64, 2048),
        rng.choice([4, 8, 16]),
        real(rng),
    )

    def forward(x, router, up):
        best = jnp.argmax(x @ router, -1)
        order = jnp.argsort(best)
        sizes = jnp.bincount(best, length=experts)
        y = lax.ragged_dot(x[order], up, sizes.astype("int32"))
        return jnp.zeros_like(y).at[order].add(y)

    args = (
        struct(devices, (tokens, n), dtype),
        struct(devices, (n, experts), dtype),
        struct(devices, (experts, n, m), dtype),
    )
    return Program(jax.grad(lambda *a: forward(*a).astype("float32").sum(), 2) if rng.random() < 0.4 else forward, args)


@family
def sorting(rng, devices):
    """Sorts, the largest few, ranks."""
    n, m, k = width(rng, 4, 512), width(rng, 64, 16384), rng.choice([1, 8, 50])
    kind = rng.choice(["sort", "topk", "argsort", "unique"])

    def run(x):
        if kind == "topk":
            return lax.top_k(x, min(k, m))
        if kind == "argsort":
            return jnp.take_along_axis(x, jnp.argsort(-x, axis=1), 1)
        if kind == "unique":
            return jnp.unique(x.astype("int32"), size=128, return_counts=True)
        return jnp.sort(x, axis=rng.choice([0, 1]))

    return Program(run, (struct(devices, (n, m), real(rng)),))


@family
def scatter(rng, devices):
    """Histograms and segment sums."""
    n, m, groups = width(rng, 128, 100_000), rng.choice([1, 3, 16, 128]), width(rng, 16, 10_000)

    def run(x, ids):
        sums = jax.ops.segment_sum(x, ids, groups)
        most = jax.ops.segment_max(x, ids, groups)
        return sums / (1 + jnp.zeros((groups, 1)).at[ids].add(1)) + most, jnp.bincount(ids, length=groups)

    return Program(run, (struct(devices, (n, m)), struct(devices, (n,), "int32")))


@family
def fourier(rng, devices):
    """Transforms there and back."""
    b, n, m = rng.choice([1, 3, 8]), rng.choice([64, 100, 256, 384, 1000]), rng.choice([1, 33, 64, 128])

    def run(x):
        f = jnp.fft.rfft(x, axis=1)
        return jnp.fft.irfft(f * jnp.conj(f), axis=1), jnp.abs(jnp.fft.fft(x, axis=2))

    return Program(run, (struct(devices, (b, n, m)),))


@family
def scans(rng, devices):
    """Sums along an axis, associative scans, windows."""
    b, t, n = rng.choice([1, 4, 16]), width(rng, 64, 4096), width(rng, 8, 512)

    def run(a, x):
        def combine(left, right):
            return left[0] * right[0], right[0] * left[1] + right[1]

        h = lax.associative_scan(combine, (a, x), axis=1)[1]
        return h, jnp.cumsum(x, 1), lax.reduce_window(x, -jnp.inf, lax.max, (1, 4, 1), (1, 2, 1), "SAME")

    return Program(run, (struct(devices, (b, t, n)), struct(devices, (b, t, n))))


@family
def einsums(rng, devices):
    """Products over several axes in odd orders."""
    a, b, c, d = (width(rng, 2, 128) for _ in range(4))
    text = rng.choice(["abcd,dcb->a", "abcd,bce->dae", "abc,cbd->dab", "abcd,abce->bde", "ab,cb,db->acd"])
    sizes = dict(zip("abcde", (a, b, c, d, width(rng, 2, 128))))
    args = tuple(struct(devices, [sizes[k] for k in part], real(rng)) for part in text.split("->")[0].split(","))
    return Program(lambda *x: jnp.einsum(text, *x), args)


@family
def shuffles(rng, devices):
    """Reshapes, transposes, pads, reversals: what moves and does not compute."""
    a, b, c, d = (width(rng, 2, 96) for _ in range(4))

    def run(x, y):
        p = x.transpose(2, 0, 1).reshape(c, a * b)
        q = jnp.pad(y.transpose(1, 0), ((1, 2), (0, 3)))[::-1]
        r = jnp.concatenate([p, p[:, ::-1]], 1).reshape(2, -1)
        return p @ p.T, q * 2, r.T, jnp.roll(x, 3, 1).swapaxes(0, 2)

    return Program(run, (struct(devices, (a, b, c), real(rng)), struct(devices, (c, d), real(rng))))


@family
def booleans(rng, devices):
    """Masks, narrow integers, bits."""
    n, m, kind = width(rng, 16, 1024), width(rng, 16, 1024), rng.choice(["int8", "uint8", "int16", "uint16"])

    def run(x, y, mask):
        keep = (x > 0) & mask | (y[None] < 3)
        packed = jnp.packbits(keep, axis=1)
        return jnp.where(keep, x, 0), packed, keep.sum(1), lax.population_count(packed.astype("uint32")), ~keep

    return Program(run, (struct(devices, (n, m), kind), struct(devices, (m,), kind), struct(devices, (n, m), "bool")))


@family
def complexes(rng, devices):
    """Complex numbers, and sorts of several arrays by one key."""
    n, m = width(rng, 16, 512), width(rng, 16, 1024)

    def run(x, k):
        y = jnp.exp(1j * x.real) * x
        return y @ y.T.conj(), lax.sort((k, jnp.abs(x), x.real), num_keys=1)

    return Program(run, (struct(devices, (n, m), "complex64"), struct(devices, (n, m), "int32")))


@family
def linear_algebra(rng, devices):
    """Factors of matrices and what is solved with them."""
    b, n, m = rng.choice([1, 2, 8]), width(rng, 16, 512), rng.choice([1, 7, 64])

    def run(a, x):
        low = jnp.linalg.cholesky(a)
        return jax.scipy.linalg.solve_triangular(low, x, lower=True), jnp.linalg.qr(x)[0]

    return Program(run, (struct(devices, (b, n, n)), struct(devices, (b, n, m))))


@family
def randoms(rng, devices):
    """Random numbers and dropout."""
    n, m = width(rng, 64, 2048), width(rng, 64, 2048)

    def run(key, x):
        one, two = jax.random.split(jax.random.wrap_key_data(key))
        return x * jax.random.bernoulli(one, 0.9, x.shape) + jax.random.normal(two, x.shape), jax.random.permutation(
            one, x
        )

    return Program(run, (struct(devices, (2,), "uint32"), struct(devices, (n, m))))


# ------------------------------------------------------------------------------------- several devices, the host


@family
def fsdp(rng, devices):
    """Weights split over all devices, gathered where they are used."""
    mesh = mesh_of(devices, rng)
    layers, n, m, b, dtype = (
        rng.randint(1, 4),
        128 * rng.randint(1, 12),
        128 * rng.randint(1, 24),
        16 * rng.randint(1, 32),
        real(rng),
    )

    def loss(weights, x):
        for up, down in weights:
            x = x + jax.nn.gelu(x @ up) @ down
        return (x.astype("float32") ** 2).mean()

    def step(weights, x):
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights, x))

    weights = [
        (placed(mesh, (n, m), (("data", "model"),), dtype), placed(mesh, (m, n), (("data", "model"),), dtype))
        for _ in range(layers)
    ]
    x = placed(mesh, (b * len(devices), n), (("data", "model"),), dtype)
    return Program(step, (weights, x), {"donate_argnums": (0,)} if rng.random() < 0.5 else {})


@family
def megatron(rng, devices):
    """Tensors split over one axis of the mesh, the batch over the other."""
    mesh = mesh_of(devices, rng)
    n, m, b, dtype = 64 * rng.randint(2, 16), 128 * rng.randint(1, 16) * 16, 16 * rng.randint(1, 24), real(rng)

    def loss(up, down, x):
        for _ in range(2):
            x = x + jax.nn.silu(x @ up) @ down
        return (x.astype("float32") ** 2).mean()

    args = (
        placed(mesh, (n, m), (None, "model"), dtype),
        placed(mesh, (m, n), ("model", None), dtype),
        placed(mesh, (b * 16, n), ("data",), dtype),
    )
    return Program(jax.grad(loss, (0, 1)), args)


@family
def ring(rng, devices):
    """Blocks that go around a ring of devices."""
    mesh = Mesh(numpy.array(devices), ("ring",))
    count, n, m, dtype = len(devices), 16 * rng.randint(1, 32), 128 * rng.randint(1, 8), real(rng)

    def local(x, w):
        def step(carry, _):
            acc, w = carry
            return (acc + x @ w, lax.ppermute(w, "ring", [(k, (k + 1) % count) for k in range(count)])), None

        start = jax.lax.pcast(jnp.zeros((x.shape[0], w.shape[1]), dtype), "ring", to="varying")
        return lax.scan(step, (start, w), None, length=count)[0][0]

    run = jax.shard_map(local, mesh=mesh, in_specs=(P("ring"), P("ring")), out_specs=P("ring"))
    return Program(
        run, (placed(mesh, (n * count, m), ("ring",), dtype), placed(mesh, (m * count, m), ("ring",), dtype))
    )


@family
def collectives(rng, devices):
    """Collectives by hand: all-gather, reduce-scatter, all-to-all."""
    mesh = Mesh(numpy.array(devices), ("x",))
    count, n, m = len(devices), len(devices) * rng.randint(1, 64), 128 * rng.randint(1, 8)

    def local(x, w):
        y = lax.all_gather(x, "x", tiled=True) @ w
        z = lax.psum_scatter(y, "x", tiled=True)
        t = lax.all_to_all(z, "x", 1, 0, tiled=True)
        return t * 2, lax.pmax(z.sum(), "x")

    run = jax.shard_map(local, mesh=mesh, in_specs=(P("x"), P()), out_specs=(P("x"), P()))
    return Program(run, (placed(mesh, (n * count, m), ("x",)), placed(mesh, (m, m * count), ())))


@family
def offload(rng, devices):
    """Activations, or weights, that wait in the host's memory."""
    n, m, layers, dtype = 128 * rng.randint(1, 16), 128 * rng.randint(1, 16), rng.randint(2, 8), real(rng)
    near = SingleDeviceSharding(devices[0], memory_kind="device")
    if rng.random() < 0.5:

        def forward(weights, x):
            def layer(x, w):
                return jnp.tanh(x @ jax.device_put(w, near)), None

            return lax.scan(layer, x, weights)[0]

        return Program(forward, (struct(devices, (layers, n, n), dtype, "pinned_host"), struct(devices, (m, n), dtype)))
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["x"], offload_src="device", offload_dst="pinned_host"
    )

    def layer(x, w):
        x = jax.ad_checkpoint.checkpoint_name(x, "x")
        return jnp.tanh(x @ w), None

    def loss(weights, x):
        return lax.scan(jax.checkpoint(layer, policy=policy), x, weights)[0].astype("float32").sum()

    return Program(jax.grad(loss), (struct(devices, (layers, n, n), dtype), struct(devices, (m, n), dtype)))


@family
def hosted(rng, devices):
    """A part of the step that the host computes."""
    from jax.experimental.compute_on import compute_on

    n, m = width(rng, 64, 1024), width(rng, 64, 1024)

    def run(x, y):
        @compute_on("device_host")
        @jax.jit
        def there(a):
            return a * 2 + 1

        h = jnp.sin(x) @ y
        return there(h) + jnp.cos(h)

    return Program(run, (struct(devices, (n, m)), struct(devices, (m, n))))


@family
def stencil(rng, devices):
    """A grid over a mesh, whose edges go to the neighbours in each step."""
    count = len(devices)
    rows, n, m, times = count // 2, rng.randint(8, 600), rng.randint(8, 900), rng.randint(2, 60)
    mesh = Mesh(numpy.array(devices).reshape(rows, 2), ("r", "c"))

    def local(u):
        def step(_, u):
            above = lax.ppermute(u[-1:], "r", [(k, (k + 1) % rows) for k in range(rows)])
            below = lax.ppermute(u[:1], "r", [(k, (k - 1) % rows) for k in range(rows)])
            left, right = lax.ppermute(u[:, -1:], "c", [(0, 1)]), lax.ppermute(u[:, :1], "c", [(1, 0)])
            p = jnp.concatenate([above, u, below], 0)
            p = jnp.concatenate([jnp.pad(left, ((1, 1), (0, 0))), p, jnp.pad(right, ((1, 1), (0, 0)))], 1)
            return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])

        u = lax.fori_loop(0, times, step, u)
        return u, lax.pmax(jnp.abs(u).max(), ("r", "c"))

    run = jax.shard_map(local, mesh=mesh, in_specs=P("r", "c"), out_specs=(P("r", "c"), P()))
    return Program(run, (placed(mesh, (n * rows, m * 2), ("r", "c")),), {"donate_argnums": (0,)})


@family
def ragged(rng, devices):
    """Rows that each device sends to the others, as many as its table says."""
    count, n, m = len(devices), 16 * rng.randint(1, 40), 8 * rng.randint(1, 100)
    mesh = Mesh(numpy.array(devices), ("e",))

    def local(x, out, *sizes):
        y = lax.ragged_all_to_all(x, out, *(s[0] for s in sizes), axis_name="e")
        return y * 2, y.sum()[None]

    run = jax.shard_map(local, mesh=mesh, in_specs=(P("e"),) * 6, out_specs=(P("e"), P("e")), check_vma=False)
    rows = [placed(mesh, (count * k * n, m), ("e",), "bfloat16") for k in (1, 2)]
    return Program(run, (*rows, *[placed(mesh, (count, count), ("e",), "int32")] * 4))


@family
def serving(rng, devices):
    """One step of a decoder that is split over a mesh, with a cache of int8 at a place of its own for each sequence."""
    mesh = mesh_of(devices, rng)
    shards = mesh.shape["model"]
    layers, b, t, heads, d = rng.randint(1, 4), 8 * mesh.shape["data"], width(rng, 64, 512), 2 * shards, 64

    def step(weights, keys, values, x, at):
        def put(cache, new):
            def one(cache, new, at):
                return lax.dynamic_update_slice(cache, new[None].astype(cache.dtype), (at, 0, 0))

            return jax.vmap(one)(cache, new, at)

        def layer(x, of):
            wq, wk, wv, wo, k, v = of
            q, new_k, new_v = (jnp.einsum("be,ehd->bhd", x, w) for w in (wq, wk, wv))
            k, v = put(k, new_k), put(v, new_v)
            scores = jnp.einsum("bhd,bthd->bht", q, k.astype(x.dtype)).astype("float32")
            scores = jnp.where(jnp.arange(t) <= at[:, None, None], scores, -1e9)
            out = jnp.einsum("bht,bthd->bhd", jax.nn.softmax(scores).astype(x.dtype), v.astype(x.dtype))
            return x + jnp.einsum("bhd,hde->be", out, wo), (k, v)

        return lax.scan(layer, x, (*weights, keys, values))

    n = heads * d
    weights = [placed(mesh, (layers, n, heads, d), (None, None, "model"), "bfloat16")] * 3
    weights.append(placed(mesh, (layers, heads, d, n), (None, "model"), "bfloat16"))
    cache = placed(mesh, (layers, b, t, heads, d), (None, "data", None, "model"), "int8")
    x, at = placed(mesh, (b, n), ("data",), "bfloat16"), placed(mesh, (b,), ("data",), "int32")
    return Program(step, (weights, cache, cache, x, at), {"donate_argnums": (1, 2)})


# ------------------------------------------------------------------------------------------------------ kernels


@family
def kernel(rng, devices):
    """A kernel of Pallas, with other work around it."""
    rows, n, block, dtype = 8 * rng.randint(4, 256), 128 * rng.randint(1, 16), 16 * rng.randint(1, 8), real(rng)

    def body(x_ref, o_ref):
        x = x_ref[...].astype("float32")
        e = jnp.exp(x - x.max(-1, keepdims=True))
        o_ref[...] = (e / e.sum(-1, keepdims=True)).astype(o_ref.dtype)

    def run(x, w):
        y = pl.pallas_call(
            body,
            out_shape=jax.ShapeDtypeStruct((rows * block // 8, n), dtype),
            grid=(rows // 8,),
            in_specs=[pl.BlockSpec((block, n), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((block, n), lambda i: (i, 0)),
            compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",)),
        )(x @ w)
        return y.sum(0)

    return Program(run, (struct(devices, (rows * block // 8, n), dtype), struct(devices, (n, n), dtype)))
