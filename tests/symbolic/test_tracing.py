"""layout(i, j) on what records or computes: torch tensors, torch.fx proxies, torch's SymInt, values of CuTe DSL.

JAX, in jit and in Pallas kernels, is in test_jax.py; numpy in test_layout.py. What is not installed is skipped.
"""

import collections

import numpy as np
import pytest

from tla import LeafTypeError, RangeError, offsets, parse, xla

from emitted import needs

LAYOUTS = [
    "(_4,_8):(_1,_4)",
    "((_16,_2),(_16,_4)):((_16,_1024),(_1,_256))",  # zN
    "((_3,_2),_4):((_1,_12),_3)",
    "((3,4),(2,5)):((1,3),(12,24))",
    "((_2,_2),(4,_3)):((_1,0),(_-2,_100))",
    "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
    "Sw<2,1,-3> o 4 o ((_4,_2),_8):((_16,_1),_2)",
    "(_4,_3):(_3,_1) o _0 o (_2,_6):(_6,_1)",
    "bf16[16,256]{0,1:T(8,128)(2,1)}",
    "f32[6,10]{1,0:T(3,5)(2,2)}",
]


def layout_of(text):
    return xla.lower(text) if "[" in text else parse(text)


# ----------------------------------------------------------------------------------------------------------- torch


@pytest.mark.parametrize("text", LAYOUTS)
def test_torch_tensors(text):
    torch = needs("torch")
    layout = layout_of(text)
    truth = offsets(layout)
    i, j = (torch.from_numpy(a) for a in np.indices(truth.shape, np.int32))
    found = layout(i, j)
    assert found.dtype == torch.int32
    np.testing.assert_array_equal(found, truth)
    np.testing.assert_array_equal(layout(torch.arange(truth.size)), truth.ravel(order="F"))
    np.testing.assert_array_equal(torch.vmap(lambda j: layout(1, j))(torch.arange(truth.shape[1])), truth[1])


def graph_of(layout):
    fx = needs("torch.fx")

    class Offsets(fx.Tracer):
        def trace_offset(self):
            self.graph, self.root = fx.Graph(), {}
            i, j = (self.create_proxy("placeholder", name, (), {}) for name in "ij")
            self.create_node("output", "output", (self.create_arg(layout(i, j)),), {})
            return fx.GraphModule({}, self.graph)

    return Offsets().trace_offset()


@pytest.mark.parametrize("text", LAYOUTS)
def test_proxies_of_torch_fx(text):
    torch = needs("torch")
    layout = layout_of(text)
    truth = offsets(layout)
    module = graph_of(layout)
    np.testing.assert_array_equal(module(*(torch.from_numpy(a) for a in np.indices(truth.shape))), truth)
    assert module(1, 2) == truth[1, 2]


def test_few_operations_in_a_graph():
    def counted(text):
        return dict(
            collections.Counter(
                n.target.__name__ for n in graph_of(layout_of(text)).graph.nodes if n.op == "call_function"
            )
        )

    assert counted("(_128,_64):(_1,_128)") == {"mul": 1, "add": 1}
    assert counted("((_16,_2),(_16,_4)):((_16,_1024),(_1,_256))") == {"mod": 2, "floordiv": 2, "mul": 3, "add": 3}
    assert counted("((_4,_8),_2):((_2,_8),_64)") == {"mul": 2, "add": 1}  # its digits are one
    assert counted("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)") == {"mul": 1, "add": 1, "and_": 1, "rshift": 1, "xor": 1}


def test_sizes_that_torch_does_not_know():
    torch, proxy_tensor = needs("torch"), needs("torch.fx.experimental.proxy_tensor")
    layout = parse("((_3,_2),_4):((_1,_12),_3)")
    traced = proxy_tensor.make_fx(lambda x: x + layout(x.shape[0], x.shape[1]), tracing_mode="symbolic")(
        torch.zeros(5, 3)
    )
    assert traced(torch.zeros(4, 2))[0, 0] == layout(4, 2)


def test_torch_coordinates_that_are_refused():
    torch = needs("torch")
    layout = layout_of(LAYOUTS[1])
    for value in (1.5, True, 1j):
        with pytest.raises(LeafTypeError, match="a coordinate array of torch"):
            layout(torch.tensor(value), 0)
    with pytest.raises(RangeError, match=r"coordinates of torch\.int8 for .*, where integers from 0 to 2047 arise"):
        layout(torch.tensor([1], dtype=torch.int8), 0)


# -------------------------------------------------------------------------------------------------------- CuTe DSL


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", LAYOUTS)
def test_values_of_cute_dsl(text):
    """A function that CuTe DSL compiles for this machine: its loops run over numbers that tla does not know."""
    torch, cutlass, cute = needs("torch"), needs("cutlass"), needs("cutlass.cute")
    from cutlass.cute.runtime import from_dlpack

    layout = layout_of(text)
    truth = offsets(layout)
    found = torch.zeros(truth.size, dtype=torch.int32)
    rows, columns = truth.shape

    @cute.jit
    def store(out: cute.Tensor, rows: cutlass.Int32, columns: cutlass.Int32):
        for i in range(rows):
            for j in range(columns):
                out[i * columns + j] = layout(i, j)

    store(from_dlpack(found), rows, columns)
    np.testing.assert_array_equal(found.reshape(truth.shape), truth)


@pytest.mark.filterwarnings("ignore")
def test_coordinates_of_cute_dsl_that_are_refused():
    cutlass, cute = needs("cutlass"), needs("cutlass.cute")
    errors = []

    @cute.jit
    def ask(x: cutlass.Float32, b: cutlass.Boolean, i: cutlass.Int8):
        errors.extend(_errors(parse("(_16,_16):(_16,_1)"), (x, b, i)))

    ask(cutlass.Float32(1), cutlass.Boolean(True), cutlass.Int8(1))
    assert errors == [LeafTypeError, LeafTypeError, RangeError]


def _errors(layout, values):
    for value in values:
        try:
            layout(value, 0)
        except (LeafTypeError, RangeError) as error:
            yield type(error)
