"""Where does a JAX program keep its arrays? A transformer block, compiled here for CPU: its arrays, what they would take on a
TPU, the largest ones on the way, and the copies that only change a layout.

pip install 'tla-layouts[jax]'
python examples/jax_program.py
"""

import io
import sys

from tla import xla
from tla.xla import jax as tla_jax

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:
    sys.exit("this example needs JAX: pip install 'tla-layouts[jax]'")

BATCH, SEQUENCE, MODEL, HEADS, HIDDEN = 2, 100, 192, 3, 768


def block(weights, x):
    """Attention and a feed-forward layer."""
    normal = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weights["scale"]
    q, k, v = (jnp.einsum("bsd,dhe->bhse", normal, weights[name]) for name in "qkv")
    scores = jnp.einsum("bhse,bhte->bhst", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((SEQUENCE, SEQUENCE), bool)), scores, -1e9)
    heads = jnp.einsum("bhst,bhte->bshe", jax.nn.softmax(scores), v)
    x = x + jnp.einsum("bshe,hed->bsd", heads, weights["o"])
    return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]


def arguments():
    head = (MODEL, HEADS, MODEL // HEADS)
    dims = {"scale": head[:1], **dict.fromkeys("qkv", head), "o": head[1:] + head[:1], "up": (MODEL, HIDDEN), "down": (HIDDEN, MODEL)}
    struct = {name: jax.ShapeDtypeStruct(sizes, jnp.float32) for name, sizes in dims.items()}
    return struct, jax.ShapeDtypeStruct((BATCH, SEQUENCE, MODEL), jnp.float32)


def on_tpu(shape):
    """The layout that the TPU compiler gives an argument of this type and these dimensions, and the bytes of it."""
    chosen = xla.default_layout(shape.element_type, shape.dimensions)
    return [str(chosen.layout), f"{xla.byte_size(chosen):,}", f"{100 * xla.waste(chosen) / xla.byte_size(chosen):.0f} %"]


def table(title, header, rows):
    print(f"\n{title}\n")
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    for row in (header, *rows):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def origin(instruction):
    """The operation of JAX that an instruction is from."""
    return instruction.metadata.get("op_name", "").removeprefix("jit(block)/")


def largest(program, count=8):
    """The arrays that the entry computation writes: the largest ones, each with the line of the model that it is from."""
    found = [x.instruction for x in program if x.is_entry and x.instruction.opcode not in ("parameter", "constant", "bitcast")]
    arrays = [x for x in found if isinstance(x.shape, xla.ArrayShape)]
    return sorted(arrays, key=lambda x: -xla.byte_size(x.shape))[:count]


def main():
    compiled = jax.jit(block).lower(*arguments()).compile()
    program = [*tla_jax.instructions(compiled)]
    print(f"A transformer block, compiled by JAX {jax.__version__} for {jax.default_backend()}: {len(program)} instructions")
    table(
        "What it takes and gives, here and on a TPU (v5e), where tiles pad the two minor dimensions",
        ["array", "shape and layout", "bytes", "on a TPU", "bytes", "padding"],
        [[a.name, str(a.shape), f"{xla.byte_size(a.shape):,}", *on_tpu(a.shape)] for a in tla_jax.arrays(compiled)],
    )
    table(
        "The largest arrays on the way",
        ["shape and layout", "as shape:stride", "bytes", "from"],
        [[str(x.shape), str(xla.lower(x.shape)), f"{xla.byte_size(x.shape):,}", origin(x)] for x in largest(program)],
    )
    moves = [m for m in xla.relayouts(io.StringIO(compiled.as_text()), interiors=True) if "order" in m.changes]
    table(
        "Copies, transposes and reshapes that change the order in memory, and how many elements stay together in each",
        ["operation", "bytes", "run", "from and to"],
        [[m.line.instruction.opcode, f"{m.bytes:,}", str(m.run or "?"), f"{m.source} -> {m.destination}"] for m in moves],
    )


if __name__ == "__main__":
    main()
