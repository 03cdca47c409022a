"""tla.compat.torch: by definition, beside torch.distributed._pycute, under DeviceMesh, and by PyTorch's own tests where
TLA_PYTORCH is its checkout."""

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tla import TlaError, parse
from tla.compat import pycute, torch as ours

from night import amount

TESTS = Path(os.environ.get("TLA_PYTORCH", "pytorch")) / "test" / "distributed"
SUITE = TESTS / "_pycute"
NEEDS = "needs PyTorch: git clone https://github.com/pytorch/pytorch, and its folder in TLA_PYTORCH"


def offset(index, shape, stride):
    """The definition: an index goes through the modes from the last; the first takes what is left."""
    if not isinstance(shape, tuple):
        return index * stride
    total = 0
    for k in reversed(range(len(shape))):
        n = ours.product(shape[k])
        total += offset(index % n if k else index, shape[k], stride[k])
        index //= n
    return total


def values(layout):
    return [offset(i, layout.shape, layout.stride) for i in range(layout.size())]


def some(rng):
    """The shape and the strides of a layout of at most 96 places: nested, with gaps, in any order."""
    while True:
        shape = tuple(
            rng.choice((1, 2, 3, 4, 6, 8)) if rng.random() < 0.7 else (rng.choice((2, 3, 4)), 2)
            for _ in range(rng.randint(1, 3))
        )
        if ours.product(shape) <= 96:
            break
    flat = ours.flatten(shape)
    strides, d = [0] * len(flat), 1
    for k in rng.sample(range(len(flat)), len(flat)):
        strides[k] = d
        d *= flat[k] * rng.choice((1, 1, 1, 2))
    left = iter(strides)
    return shape, tuple(tuple(next(left) for _ in s) if isinstance(s, tuple) else next(left) for s in shape)


CASES = [(some(rng), some(rng)) for rng in [random.Random(8)] for _ in range(amount(100, 3000))]


def test_operations_by_definition():
    found = refused = 0
    for one, two in CASES:
        a, b = ours.Layout(*one), ours.Layout(*two)
        at = values(a)
        assert [a(i) for i in range(a.size())] == at
        assert values(ours.coalesce(a)) == at
        assert a.cosize() == max(at) + 1
        right, left = ours.right_inverse(a), ours.left_inverse(a)
        assert [at[i] for i in values(right)] == [*range(right.size())]
        assert [left(x) for x in at] == [*range(len(at))]
        reached = {x + y for x, y in itertools.product(at, values(ours.complement(a, 96)))}
        assert reached >= {*range(96)}
        try:
            c = ours.composition(a, b)
        except TlaError:
            refused += 1
            continue
        found += 1
        assert values(c) == [offset(x, a.shape, a.stride) for x in values(b)]
    assert found > 2 * refused


def test_beside_torch():
    """The same texts, or torch's is another function than the definition; what one of them refuses is not compared."""
    theirs = pytest.importorskip("torch.distributed._pycute", reason="needs torch: pip install torch")
    same = 0
    for one, two in CASES:
        a, b = (m.Layout(*one) for m in (ours, theirs))
        for name in ("coalesce", "filter", "right_inverse"):
            assert str(getattr(ours, name)(a)) == str(getattr(theirs, name)(b))
        assert str(ours.complement(a, 96)) == str(theirs.complement(b, 96))
        assert str(ours.suffix_product(one[0])) == str(theirs.suffix_product(one[0]))
        i = a.size() - 1
        assert ours.idx2crd(i, *one) == theirs.idx2crd(i, *one)
        assert ours.crd2idx(ours.idx2crd(i, one[0]), *one) == theirs.crd2idx(theirs.idx2crd(i, one[0]), *one)
        for name in (
            "composition",
            "logical_divide",
            "zipped_divide",
            "tiled_divide",
            "logical_product",
            "zipped_product",
        ):
            try:
                found = getattr(ours, name)(a, ours.Layout(*two))
                wanted = getattr(theirs, name)(b, theirs.Layout(*two))
            except (TlaError, AssertionError):
                continue
            same += str(found) == str(wanted)
            if str(found) != str(wanted) and [wanted(i) for i in range(found.size())] != values(found):
                inner = [offset(x, *two) for x in range(ours.product(two[0]))]
                assert max(inner) >= a.size() or values(ours.composition(a, ours.Layout(*two))) == [
                    offset(x, *one) for x in inner
                ]
    assert same > 3 * len(CASES)


def test_an_index_past_the_end_begins_again():
    """A coordinate is within its shape, as there."""
    assert (ours.idx2crd(99, (4, 8)), ours.idx2crd(-1, (4, 8)), ours.idx2crd(9, 4)) == ((0, 3), (3, 7), 1)
    theirs = pytest.importorskip("torch.distributed._pycute", reason="needs torch: pip install torch")
    for (shape, stride), _ in CASES[: amount(40, 3000)]:
        for i in range(-5, 2 * ours.product(shape) + 5, 3):
            assert ours.idx2crd(i, shape) == theirs.idx2crd(i, shape)
            assert ours.idx2crd(i, shape, stride) == theirs.idx2crd(i, shape, stride)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ours.suffix_product((2, 3), (1,)), r"suffix_product of \(2, 3\) from \(1,\)"),
        (lambda: ours.suffix_product(3, (1, 2)), r"suffix_product of 3 from \(1, 2\)"),
        (lambda: ours.crd2idx((1,), (4, 8)), r"crd2idx of \(1,\) in the shape \(4, 8\)"),
        (lambda: ours.idx2crd((1,), (4, 8)), r"idx2crd of \(1,\) in the shape \(4, 8\)"),
        (lambda: ours.composition(4, 2), "composition of a int"),
        (lambda: ours.logical_divide(4, 2), "logical_divide of a int"),
        (lambda: ours.coalesce(4), "coalesce of a int"),
        (lambda: ours.make_layout(), "make_layout of no layouts"),
    ],
)
def test_what_is_wrong_is_said_in_the_order_of_torch(make, says):
    with pytest.raises(TlaError, match=says):
        make()


def test_modes():
    a = ours.Layout((4, 6, 8))
    assert str(ours.composition(a, (2, None))) == "(2, 6, 8):(48, 8, 1)"
    assert str(ours.logical_divide(a, (2, None, 4))) == "((2, 2), 6, (4, 2)):((48, 96), 8, (1, 4))"
    assert str(ours.coalesce(ours.Layout((4, (2, 2), 8)), (None, None))) == "(4, 4, 8):(32, 8, 1)"
    assert [type(x) for x in (a[1], a(None, 1, 2), ours.slice_and_offset((1, None, 2), a)[0])] == [ours.Layout] * 3
    assert ours.slice_and_offset((1, None, 2), a)[1] == 50
    assert a != pycute.Layout(a.shape, a.stride)


def test_to_and_fro():
    a = ours.Layout((2, (3, 4)))
    assert str(ours.exact(a)) == "((_4,_3),_2):((_1,_4),_12)"
    assert ours.plain(ours.exact(a)) == a == ours.plain(parse("((4,3),2):((1,4),12)"))


def test_structure():
    assert ours.match_structure((1, (2, 3)), (4, (5, 6)))
    assert not ours.match_structure((1, 2), (1, (2,)))
    assert (ours.as_tuple(3), ours.as_tuple((3, 4))) == ((3,), (3, 4))
    assert ours.crd2crd((1, 2), 8, (2, 4)) == 6


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ours.composition(ours.Layout(8), (2, 2)), "1 at most"),
        (lambda: ours.complement(ours.Layout((2, 3), (1, 1)), 24), "past the reach"),
        (lambda: ours.suffix_product(3, (1, 2)), "one integer to begin with"),
    ],
)
def test_what_is_wrong_is_said(make, says):
    with pytest.raises(TlaError, match=says):
        make()


def test_a_refusal_is_an_assertion_error():
    """As torch's tests of what does not divide expect it."""
    with pytest.raises(AssertionError, match="pad that mode to 12"):
        ours.composition(ours.Layout((4, 6, 8, 10), (2, 3, 5, 7)), ours.Layout(6, 12))


MESH = """
import sys
from tla.compat import torch as ours
sys.modules["torch.distributed._pycute"] = ours
import torch
from torch.distributed import _mesh_layout, init_process_group
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore
assert _mesh_layout.composition is ours.composition
init_process_group("fake", rank=5, world_size=24, store=FakeStore())
mesh = init_device_mesh("cpu", (2, 3, 4), mesh_dim_names=("a", "b", "c"))
flat = mesh["a", "c"]._flatten("ac")
print(mesh["b", "c"].mesh.tolist(), mesh["c"].mesh.tolist(), flat.mesh.tolist(), list(mesh.get_coordinate()))
print(mesh._unflatten(2, (2, 2), ("d", "e"))["a", "e"].mesh.tolist())
"""


def test_device_mesh():
    """DeviceMesh slices, flattens and unflattens over this module as numpy does with an arange."""
    pytest.importorskip("torch.distributed._mesh_layout", reason="needs torch: pip install torch")
    done = subprocess.run([sys.executable, "-c", MESH], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == [
        "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]] [4, 5, 6, 7] [4, 5, 6, 7, 16, 17, 18, 19] [0, 1, 1]",
        "[[4, 5], [16, 17]]",
    ], done.stderr


def test_device_mesh_programs():
    """Random slices, flattenings, unflattenings and concatenations of a DeviceMesh give what they give over
    torch's own module."""
    theirs = pytest.importorskip("torch.distributed._mesh_layout", reason="needs torch: pip install torch")
    if not hasattr(theirs._MeshLayout, "collapse"):
        pytest.skip("needs torch 2.13")
    script = Path(__file__).parents[1] / "support" / "device_mesh_programs.py"
    command = [sys.executable, str(script), "3", str(amount(30, 5000))]
    environ = {**os.environ, "PYTHONPATH": str(script.parents[2])}
    texts = [
        subprocess.run([*command, *more], capture_output=True, text=True, timeout=500, env=environ)
        for more in ([], ["exchanged"])
    ]
    theirs, found = (done.stdout.splitlines() for done in texts)
    assert (theirs[-1:], found[-1:]) == (["torch.distributed._pycute.layout"], ["tla.compat.torch"]), [
        done.stderr for done in texts
    ]
    assert found[:-1] == theirs[:-1]
    assert sum("refused" in line for line in found) < len(found) / 5


RUN = """
import runpy, sys
from tla.compat import torch as ours
sys.modules["torch.distributed._pycute"] = ours
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


@pytest.mark.skipif(not SUITE.is_dir(), reason=NEEDS)
@pytest.mark.parametrize("path", sorted(SUITE.glob("test_*.py")), ids=lambda path: path.stem)
def test_torch_own_tests(path):
    pytest.importorskip("torch", reason="needs torch: pip install torch")
    pytest.importorskip("expecttest", reason="torch's tests need it: pip install expecttest")
    done = subprocess.run([sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not (TESTS / "test_device_mesh.py").is_file(), reason=NEEDS)
def test_torch_own_tests_of_device_mesh():
    """Each test of DeviceMesh and _mesh_layout ends as it does over torch's own module, and most of them pass; those of
    GPUs are skipped."""
    pytest.importorskip("torch.distributed._mesh_layout", reason="needs torch: pip install torch")
    pytest.importorskip("expecttest", reason="torch's tests need it: pip install expecttest")
    script = Path(__file__).parents[1] / "support" / "device_mesh_tests.py"
    environ = {**os.environ, "PYTHONPATH": str(script.parents[2]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), str(TESTS / "test_device_mesh.py")]
    texts = [
        subprocess.run([*command, *more], capture_output=True, text=True, timeout=900, env=environ)
        for more in ([], ["exchanged"])
    ]
    theirs, found = (done.stdout.splitlines() for done in texts)
    assert (theirs[-1:], found[-1:]) == (["torch.distributed._pycute.layout"], ["tla.compat.torch"]), [
        done.stderr for done in texts
    ]
    assert found[:-1] == theirs[:-1], texts[1].stderr
    assert sum(line.endswith(" passed") for line in found) > 50
