"""Advice that is measured: each change that is recommended makes something smaller and nothing larger, by the
compiler's own account."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from tla import LeafTypeError, RangeError, xla
from tla.apps.cli import main

from truth import DATA

jax = pytest.importorskip("jax")
libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed: pip install jax libtpu"
)

SCRIPT = """
import functools
import jax, jax.numpy as jnp

struct = jax.ShapeDtypeStruct
arguments = struct((16, 300, 5, 64), "bfloat16"), struct((16, 1, 5, 64), "bfloat16"), struct((), "int32")


def decode(cache, new, at):
    return jax.lax.dynamic_update_slice(cache, new, (0, at, 0, 0)), (cache * 2).sum()


donating = jax.jit(decode, donate_argnums=0)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def both(cache, bias, new):
    return cache + new, bias * 2


def state():
    return struct((300, 5, 64), "float32"), struct((70,), "float32"), struct((300, 5, 64), "float32")


def narrow():
    return struct((100000, 3), "float32"), struct((100000, 3), "float32")


def add(x, y):
    return (x * y).sum(0)


def square():
    return struct((256, 200), "float32"), struct((200, 200), "float32")


def tokens():
    return struct((64, 197, 256), "bfloat16"), struct((256, 256), "bfloat16")


def mixed(x, w):
    for _ in range(2):
        y = (x.reshape(-1, 256) @ w).reshape(x.shape)
        x = jnp.tanh(y) / (1 + jnp.abs(y).max(1, keepdims=True))
    return x


def huge():
    return (struct((65536, 65536), "float32"),) * 2


def product(x, w):
    return jnp.tanh(x @ w)


@functools.partial(jax.jit, donate_argnums=0)
def loop(state, weights):
    return jax.lax.fori_loop(0, 8, lambda _, x: jnp.tanh(x @ weights), state)
"""

MEASURED = """
import json, sys
from tla.apps.cli import main
for command in json.loads(sys.argv[1]):
    main(["advise", *command, "--json"])
    print("----")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the command answers for the script's functions, in a process whose JAX sees no device but the CPU."""
    script = tmp_path_factory.mktemp("advise") / "script.py"
    script.write_text(SCRIPT)
    commands = [
        [f"{script}:decode"],
        [f"{script}:donating"],
        [f"{script}:both", "--arguments", "state"],
        [f"{script}:add", "--arguments", "narrow", "--topology", "v6e"],
        [f"{script}:loop", "--arguments", "square", "--topology", "v2:2x2"],
        [f"{script}:mixed", "--arguments", "tokens", "--most", "7"],
        [f"{script}:product", "--arguments", "huge", "--most", "4"],
    ]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(DATA.parent.parent)}
    command = [sys.executable, "-c", MEASURED, json.dumps(commands)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    found = [json.loads(part) for part in done.stdout.split("----\n")[:-1]]
    assert len(found) == 7, done.stderr[-2000:]
    return dict(zip(("decode", "donating", "both", "add", "loop", "mixed", "product"), found))


@libtpu
@pytest.mark.parametrize("name", ["decode", "donating", "add", "mixed"])
def test_what_is_recommended_helps_and_makes_nothing_worse(answers, name):
    before = answers[name]["before"]
    some = [t for t in answers[name]["tried"] if t["verdict"] == "recommended"]
    for trial in some:
        now = trial["measured"]
        pairs = [
            (now["peaks"]["0"], before["peaks"]["0"]),
            (now["reported"], before["reported"]),
            (now["moved"], before["moved"]),
        ]
        pairs.append((now["sent"], before["sent"]))
        pairs.append((now["moved"] + now["prefetched"], before["moved"] + before["prefetched"]))
        assert all(a <= b for a, b in pairs), trial
        assert any(a < b for a, b in (pairs[0], pairs[2], pairs[3])), trial
    assert some or name == "donating"


@libtpu
def test_what_is_predicted_comes_true(answers):
    """Within 1 %, HBM at its peak: the argument's bytes, and no more."""
    compared = [
        (t["predicted"], t["measured"]["peaks"]["0"])
        for found in answers.values()
        for t in found["tried"]
        if t["measured"] is not None and t["predicted"] is not None
    ]
    assert len(compared) >= 3
    for predicted, measured in compared:
        assert abs(predicted - measured) <= 0.01 * measured
    trials = [t for found in answers.values() for t in found["tried"]]
    assert all(bool(t["assumes"]) == (t["predicted"] is not None) for t in trials)
    inside = [
        t for t in trials if t["kind"] in ("pad", "shard", "again", "keep", "lay", "merge", "split", "auto", "all")
    ]
    assert all(t["predicted"] is None for t in inside)


@libtpu
def test_what_takes_more_than_the_chip_has_is_measured_too(answers):
    """It was a traceback: RESOURCE_EXHAUSTED. XLA's dump has the program all the same."""
    found, array = answers["product"], 65536**2 * 4
    assert found["before"]["peaks"]["0"] == found["before"]["reported"] == 3 * array
    split = [t for t in found["tried"] if t["kind"] == "shard" and t["verdict"] == "recommended"]
    assert split
    assert split[0]["measured"]["peaks"]["0"] < 3 * array
    # A product reads all of its operand for each element: no result is written over it, and none was to be predicted.
    (donated,) = (t for t in found["tried"] if t["kind"] == "donate")
    assert (donated["predicted"], donated["measured"]["peaks"]["0"]) == (None, 3 * array)


def test_what_does_not_compile_as_it_is_says_so(monkeypatch):
    def refused(*_):
        raise ValueError("INTERNAL: no\nmore")

    monkeypatch.setattr("tla.xla.advice.measured.devices_of", lambda _: tuple(jax.devices("cpu")))
    monkeypatch.setattr("tla.xla.advice.bench._text", refused)
    with pytest.raises(RangeError, match="does not compile for v5e:2x2: INTERNAL: no\n"):
        xla.try_advice(lambda x: x + 1, jax.ShapeDtypeStruct((8, 128), "float32"))


@libtpu
def test_changes_of_every_kind_are_tried_and_compile(answers):
    tried = [t for found in answers.values() for t in found["tried"]]
    assert {t["kind"] for t in tried} >= {"donate", "auto", "shard", "pad", "again", "lay"}
    refused = [t for t in answers["mixed"]["tried"] if t["measured"] is None]
    assert {t["kind"] for t in refused} <= {"all"}  # JAX donates no argument whose result is laid out inside


@libtpu
def test_rows_of_197_laid_out_as_the_next_product_takes_them_are_moved_no_more(answers):
    found = [t for t in answers["mixed"]["tried"] if t["kind"] == "lay" and t["verdict"] == "recommended"]
    assert found
    assert 2 * found[0]["measured"]["moved"] < answers["mixed"]["before"]["moved"]


@libtpu
def test_what_devices_send_to_each_other_is_a_price(answers):
    """The sums of a product whose operands are apart have to be added up."""
    split = [t for found in answers.values() for t in found["tried"] if t["kind"] == "shard"]
    sending = [t for t in split if t["measured"] is not None and t["measured"]["sent"]]
    assert sending
    assert {t["verdict"] for t in sending} <= {"a trade", "no gain"}


def measure(hbm, reported, moved):
    return xla.Measure({0: hbm}, reported, moved, 0)


def test_fewer_prefetches_alone_are_no_gain():
    """Numbers of libtpu 0.0.52, v5e: a product over a mesh of 2 by 2, whose argument was recommended with Layout.AUTO. The
    layout that it chose is the one that there was; temporaries, all of them in VMEM, were fewer."""
    before, after = measure(4303360, 8663040, 0), measure(4302848, 6451200, 0)
    assert after.no_worse(before)
    assert not after.gains_on(before)
    assert measure(4200000, 8663040, 0).gains_on(before)
    assert measure(1000, 2000, 299).gains_on(measure(1000, 2000, 300))
    assert xla.Measure({0: 1000}, 2000, 300, 0, 7).gains_on(xla.Measure({0: 1000}, 2000, 300, 0, 8))
    assert not measure(9995, 2000, 300).gains_on(measure(10000, 2000, 300))  # less than a thousandth


def test_verdicts_in_words():
    before = measure(1000, 2000, 300)
    trials = (
        xla.Trial("donate", "donate args[0]", "donate_argnums", 500, measure(500, 1500, 300), "", True, True),
        xla.Trial("order", "args[0] in the order {0,1}", "Layout", 900, measure(900, 2500, 300), "", False, True),
        xla.Trial("merge", "args[0]: dimensions 0 and 1 as one", "reshape", 990, measure(1000, 2000, 300)),
        xla.Trial("auto", "args[1] as the compiler chooses", "AUTO", None, None, "no such layout"),
    )
    found = xla.Trials(before, trials, "v5e")
    assert [t.verdict for t in trials] == ["recommended", "a trade", "no gain", "refused"]
    assert found.recommended == trials[:1]
    lines = str(found).splitlines()
    assert lines[0].startswith("before      HBM 1,000 (0.0%), XLA's peak 2,000, moved 300")
    assert lines[1].endswith("HBM predicted 500")
    assert lines[2] == "            donate_argnums"
    assert lines[-1] == "refused     args[1] as the compiler chooses: no such layout"
    assert before.no_worse(before)
    assert not measure(1000, 2000, 301).no_worse(before)


def test_what_cannot_be_tried(tmp_path, capsys):
    with pytest.raises(LeafTypeError, match="try_advice of something of type int"):
        xla.try_advice(3)
    for topology in (
        "v99",
        "v5e:0x1",
        "v5e:",
        "v5e:2x",
        "v5e:2x2 ",
        "v5e:16x32",
        "v5e:100x100",
    ):  # libtpu ends the process
        with pytest.raises(RangeError, match=f"the topology '{topology}'"):
            xla.try_advice(len, topology=topology)
    script = tmp_path / "s.py"
    script.write_text("def step(x):\n    return x\nwrong = 3\n")
    for command, says in (
        ([str(script)], "script.py:step"), ([f"{script}:other"], "has no other"), ([f"{script}:step"], "write arguments ="),
        ([f"{script}:step", "--arguments", "wrong"], "a tuple of arguments"), ([f"{tmp_path}/none.py:step"], "a file of Python"),
        ([f"{script}:step", "--most", "0"], "1 or more"), ([f"{script}:"], "script.py:step"),
    ):  # fmt: skip
        assert main(["advise", *command]) == 1
        assert says in capsys.readouterr().err
    for text, says in (  # what the script raises is one line, with its place; before, a traceback of ours
        ("x = (", "SyntaxError"), ("import there_is_none", "ModuleNotFoundError: No module named 'there_is_none'"),
        ("x = 1\0", "SyntaxError"), ("\nx = 1 / 0\n", "ZeroDivisionError: division by zero"), ("raise SystemExit(0)", "SystemExit: 0"),
    ):  # fmt: skip
        script.write_text(text)
        assert main(["advise", f"{script}:step"]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"tla: {script}, ")
        assert says in said
        assert "line None" not in said
        assert f"python {script}" in said
    assert "line 1: SystemExit" in said
    script.write_text("def arguments():\n    return 1 / 0\ndef step(x):\n    return x\n")
    assert main(["advise", f"{script}:step"]) == 1
    assert f"tla: arguments of {script}, line 2: ZeroDivisionError: division by zero" in capsys.readouterr().err
    script.write_text("def step(x, y):\n    return x + y['a']\none, two = (1.0,), (1.0, 2.0)\n")
    for arguments, says in (("one", "TypeError: step() missing 1"), ("two", "Error: ")):
        assert main(["advise", f"{script}:step", "--arguments", arguments]) == 1
        assert f"step of {script}, called with its arguments: " in (said := capsys.readouterr().err)
        assert says in said


@pytest.mark.parametrize("already", [False, True])
def test_a_function_is_traced_once_by_the_command_and_all_that_it_compiles(already):
    from tla.apps.advise import _require_it_takes
    from tla.xla.advice.bench import Bench, jitted

    traced = []

    def step(x, factors):
        traced.append(x)
        return x * factors["a"]

    function = jitted(jax.jit(step, donate_argnums=0) if already else step)
    given = jax.ShapeDtypeStruct((8, 128), "bfloat16"), {"a": 2.0}
    _require_it_takes(function, given, "step")
    bench = Bench.of(function, given, {}, tuple(jax.devices("cpu")), "v5e")
    assert (len(traced), bench.donated, bench.results) == (1, {0} if already else set(), (((8, 128), "bfloat16"),))
