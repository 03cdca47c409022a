"""The common part of tiled MMAs and tiled copies: thread layouts, tensors cut by threads, a thread's own part.

Source: CuTe include/cute/atom/mma_atom.hpp and copy_atom.hpp.
"""

from __future__ import annotations

from typing import Any

from ...algebra.codomain import cosize, get_flat_coord
from ...algebra.complement import complement
from ...algebra.composition import composition
from ...algebra.inverse import right_inverse
from ...algebra.modes import append
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import IntTuple, shown, size
from ...core.ints import Int, IntLike, is_constant, is_int, known
from ...core.layout import Layout, join
from ...core.leaf_arithmetic import add
from ...core.make_layout import MakeLayout, shape
from ...core.questions import at_most, require

_0, _1 = Int[0](), Int[1]()
ONE = Layout(_1, _0)


def vector(n: IntLike) -> Layout:
    """n elements side by side: CuTe's make_layout(n)."""
    return Layout(n, _0 if is_constant(1, n) else _1)


def as_threads(where: str, x: object, r: int) -> Layout:
    """A layout of threads, (m, n, ...) -> thread: a shape stands for the compact one, ranks below r are filled up."""
    if x is None:
        return Layout(IntTuple(*[_1] * r), IntTuple(*[_0] * r))
    layout = x if isinstance(x, Layout) else MakeLayout(x) if isinstance(x, tuple) or is_int(x) else None
    if layout is None:
        raise LeafTypeError(f"{where} with the threads {shown(x)}", "a layout of threads, or its shape", "write (2, 2)")
    what = f"{where} with the threads {layout}"
    if not layout.is_static:
        raise LeafTypeError(what, "static integers: it is a type in C++", "write static(...) around it")
    if size(layout) == 0:
        raise RangeError(what, "extents of 1 or more", "write 1 for a mode of one thread")
    layout = layout if isinstance(layout.shape, tuple) else join([layout])
    if len(layout.shape) > r:
        raise RankError(what, f"at most {r} modes", f"drop the last {len(layout.shape) - r}")
    filled: Layout = append[r](layout, ONE)
    return filled


def as_thread(t: Any) -> Any:
    """A thread's index, an array of them or a symbol, a numpy integer as a plain one; LeafTypeError for others."""
    array = hasattr(t, "dtype") and hasattr(t, "shape")
    if (array and getattr(t.dtype, "kind", "") not in ("i", "u")) or (not array and not is_int(t)):
        fix = "write mma[0], or mma[numpy.arange(128)]"
        raise LeafTypeError(f"thread {shown(t)}", "an integer, an array of integers or a symbol", fix)
    return t.item() if array and t.shape == () and type(t).__module__ == "numpy" else t


def thread_coordinate(where: str, threads: Layout, t: Any) -> Any:
    """The coordinate of thread t in a layout of threads, one integer per mode. RangeError for a thread past them.

    Of a symbol it is proved that it is one of them, or recorded by assuming(): Unproven where it is not.
    """
    limit = cosize(threads)
    if _past(t, limit):
        given = t if is_int(t) else f"{t.min()} to {t.max()}"
        fix = f"take it modulo {int(limit)}, or tile over more threads"
        raise RangeError(f"thread {given} of {where}", f"0 <= thread < {int(limit)}", fix)
    if is_int(t) and known(t) is None:

        def thread() -> str:
            return f"thread {t} of {where}"

        require("<=", _0, t, thread)
        require("<=", add(t, 1), limit, thread)
    return get_flat_coord(threads, t)


def _past(t: Any, limit: IntLike) -> bool:
    """Whether a thread, or any of an array of them, is known to be none of `limit`."""
    if getattr(t, "shape", ()) == ():
        return at_most(t, -1) is True or at_most(limit, t) is True
    flat = t.ravel()
    if (flat[1:] <= flat[:-1]).any():
        what = "threads in another order, or one of them twice"
        raise RangeError(what, "rising ones: gemm and copy count on it", "use numpy.arange(128)")
    return bool((t < 0).any() or (t >= int(limit)).any())


def by_thread(threads: Layout) -> Layout:
    """thread -> its coordinate in a layout of threads, as one integer: the inverse; copies for threads without one."""
    n = size(threads)
    identity = join([Layout(n, _1), ONE])
    return composition(identity, right_inverse(join([threads, complement(threads)])))


def rank_of(x: Any) -> int:
    """The number of modes that a layout or a tensor has at the top. LeafTypeError for what is neither."""
    if not hasattr(x, "shape"):
        what = f"a partition of a {type(x).__name__}"
        raise LeafTypeError(what, "a tensor, a layout or a numpy array", "write MakeTensor(x, layout)")
    s = shape(x) if isinstance(x, Layout) else x.shape
    return len(s) if isinstance(s, tuple) else 1


def require_kind(where: str, x: object, kind: type, named: str) -> Any:
    """x, if it is of a kind, which has this name; else LeafTypeError."""
    if not isinstance(x, kind):
        maker = named.replace("a ", "make_").replace(" ", "_").lower()
        raise LeafTypeError(f"{where} of {shown(x)}", named, f"write {maker}(...)")
    return x
