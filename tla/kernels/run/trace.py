"""A kernel's function called with symbols: what it states, in order, becomes a program.

It is called twice, alike but for the arguments: tensors of elements, whose offsets a target prints and whose
instructions are asked what they can take; and tensors of coordinates in their place, which say where in its argument
each element lies.

Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ...algebra.codomain import cosize
from ...core.composed import ComposedLayout, innermost
from ...core.errors import LeafTypeError, RangeError, Unproven
from ...core.int_tuple import leaves, product_each, shown, size
from ...core.ints import Int, IntLike, Leaf, is_int, known, leaf
from ...core.kinds import AnyLayout
from ...core.layout import as_layout
from ...core.leaf_arithmetic import add
from ...core.values import require_numbers
from ...gpu.descriptors.tma import TMACopy
from ...gpu.run.bulk import bulk_facts
from ...gpu.run.copy_facts import copy_facts, plain_copy
from ...gpu.run.mma_facts import mma_facts
from ...symbolic import Condition, SymInt, assuming, index
from ...symbolic.conditions import require_condition
from ...symbolic.facts import symbols_in
from ...symbolic.symint import of_symbol, poly_of, wrap
from ...tensors.buffers import as_dtype
from ...tensors.guard import whole
from ...tensors.make import make_identity_tensor
from ...tensors.make_tensor import MakeTensor, as_tensor, new_buffer
from ...tensors.predicated import Within
from ...tensors.tensor import Tensor, tensor_of
from ..block.allocation import Allocation, require_allocated, require_group
from ..block.lines import Line, line_of
from ..program.elements import Scalar, Value, number_of, numbers_of, value_of
from ..program.grids import require_whole_clusters
from ..program.instructions import is_of_tensor_memory, require_load
from ..program.multicast import Multicast
from ..program.offsets import Offsets
from ..program.reads import require_reads
from ..program.statements import (
    Access,
    Atomic,
    Axpby,
    Barrier,
    Copy,
    Counter,
    Either,
    Fill,
    Load,
    Loop,
    Order,
    Product,
    Program,
    Read,
    Shuffle,
    Signal,
    Statement,
    Transform,
)
from .elementwise import (
    not_registers,
    of_one_place,
    require_as_many,
    require_atomic,
    require_elements,
    require_other_registers,
)

#: The names of the text's own variables: no size and no argument may have one.
OWN_NAME = re.compile(
    r"\b(tid(_\d+_\d+)?|bid\d|k\d+(_\d+(_phase)?_of_\d+)?|map\d+|[ertv]\d+|[ab]\d+_\d+"
    r"|(all_)?([st]mem\d+|r\d+|rows)|lane(_at)?|shared_memory|cluster\d?|config|(to_)?cta|i\d+(_\d+)?|layout\d+|shared\d+)\b"
)
_0 = Int[0]()


def tensor(element: object, layout: Any) -> Tensor:
    """A tensor among a kernel's arguments, of which no more is known than its element type and its layout.

    element   a type of numpy
    layout    its layout; sizes and strides may be symbols
    Raises    LeafTypeError for another type or layout

    >>> import numpy as np
    >>> from tla import dims, make_layout, _1
    >>> from tla.kernels import tensor
    >>> M, K, lda = dims("M K lda")
    >>> print(tensor(np.float32, make_layout((M, K), stride=(lda, _1))).layout)
    (M,K):(lda,_1)

    Source: CuTe `make_tensor(make_gmem_ptr(A), layout)`.
    """
    layout = layout if isinstance(layout, ComposedLayout) else as_layout("tensor", layout)
    rank = len(product_each(layout.shape))
    return tensor_of(None, new_buffer(0, as_dtype("tensor", element)), _0, layout, [_0] * rank, whole(layout.shape))


class Trace:
    """A call of a kernel's function with symbols.

    arguments   what the function is called with
    grid        the number of blocks along each mode
    threads     the number of threads of a block
    cluster     the blocks of a cluster along each mode; none without clusters
    held        the arguments themselves, where those that it is called with are tensors of coordinates in their place:
                then no instruction is asked
    """

    def __init__(
        self,
        arguments: tuple[Any, ...],
        grid: tuple[IntLike, ...],
        threads: int,
        cluster: tuple[int, ...] = (),
        held: tuple[Any, ...] | None = None,
    ) -> None:
        self.arguments, self.threads, self.cluster = arguments, threads, cluster
        self.places, self.steps, self.reads = held is not None, 0, 0
        self._held = arguments if held is None else held
        self.shared: list[Tensor] = []
        self.tmem: list[Allocation] = []
        self.released = False
        self.bodies: list[list[Statement]] = [[]]
        self.counters: list[tuple[SymInt, list[Counter]]] = []
        self.thread = index("tid", threads)
        self.blocks = tuple(index(f"bid{k}", n) for k, n in enumerate(grid))

    def allocate(self, dtype: Any, layout: AnyLayout) -> Tensor:
        """A tensor in shared memory."""
        import numpy as np

        made: Tensor = MakeTensor(np.empty(int(cosize(layout)), dtype), layout, position="smem")
        self.shared.append(made)
        return made

    def loop(self, line: Line, n: IntLike) -> Iterator[Leaf]:
        """One step, a symbol: what is stated while it lasts is the loop's body. Of no steps there is no loop."""
        if not is_int(n):
            what = f"loop({shown(n)})"
            raise LeafTypeError(what, "a number of steps", "take it from the tensors' shapes: loop(a.shape[1])")
        count = known(n)
        if count is not None and count < 1:
            return
        step = index(f"k{self.steps}", n)
        self.steps += 1
        self.bodies.append([])
        self.counters.append((step, []))
        yield step
        body = tuple(self.bodies.pop())
        self.bodies[-1].append(Loop(line, step, n, body, tuple(self.counters.pop()[1])))

    def when(self, line: Line, condition: object) -> Iterator[None]:
        """One step, of which what is stated is stated where a condition holds."""
        asked = _asked("when", condition)
        if isinstance(asked, bool):
            yield from (None,) * asked
            return
        self.bodies.append([])
        yield None
        inside = tuple(self.bodies.pop())
        self.state(Either(line, asked, inside, ()))

    def stage(self, k: IntLike, n: int) -> Leaf:
        """k % n, for a step of a loop and a number a symbol that the loop counts."""
        found = self._counted(k)
        if found is None:
            return leaf(k) % n
        step, first, counters = found
        return _kept(counters, Counter(index(f"{step}_{first % n}_of_{n}", n), first % n, n))

    def read_index(self, line: Line, one: Tensor, below: IntLike, *, distinct_of: Tensor | None) -> Leaf:
        """A symbol for the element of a tensor of one; distinct_of: the tensor that it is of, all of whose elements are
        to differ: no more than there are integers below."""
        if distinct_of is not None:
            room = Condition("<=", poly_of(size(distinct_of.shape)), poly_of(below))
            if not require_condition(room, "read_index"):
                what = f"read_index of {shown(size(distinct_of.shape))} distinct elements below {shown(below)}"
                raise RangeError(what, "so many integers at least", "leave distinct= out")
        if self.cluster:
            what = "read_index in a kernel of clusters, that is traced"
            raise LeafTypeError(what, "blocks by themselves", "leave cluster= out; or use run")
        found = index(f"i{self.reads}", below)
        self.reads += 1
        self.state(Read(line, found, Access(one), below, distinct_of is not None))
        return found

    def phase(self, k: IntLike, n: int) -> Leaf:
        """k // n % 2, for a step of a loop and a number a symbol that the loop counts."""
        found = self._counted(k)
        if found is None:
            return leaf(k) // n % 2
        step, first, counters = found
        of = _kept(counters, Counter(index(f"{step}_{first % n}_of_{n}", n), first % n, n))
        return _kept(counters, Counter(index(f"{step}_{first % (2 * n)}_phase_of_{n}", 2), first // n % 2, 2, of))

    def _counted(self, k: IntLike) -> tuple[SymInt, int, list[Counter]] | None:
        """The loop that k is a step of, and a number more, with its counters; None of another integer."""
        for step, counters in reversed(self.counters):
            first = known(add(k, -step))
            if first is not None:
                return step, first, counters
        return None

    def argument(self, t: Tensor) -> Tensor:
        """The argument itself of a tensor that the kernel was called with."""
        return next((x for x in self._held if isinstance(x, Tensor) and x.data is t.data), t)

    def signal(self, line: Line, word: str, barrier: Any, number: IntLike, mask: Multicast | None = None) -> None:
        """A statement about an mbarrier, or those of several blocks."""
        self.state(Signal(line, word, barrier.of.held, barrier.at, leaf(number), mask))

    def load(self, line: Line, tma: TMACopy, source: Tensor, target: Tensor) -> None:
        """copy by TMA."""
        step = None if self.places else bulk_facts(tma, source, target)
        of, at = (None, _0) if tma.barrier is None else (tma.barrier.of.held, tma.barrier.at)
        self.state(Load(line, step, Access(source), Access(target), of, at, tma.mask))  # type: ignore[arg-type]

    def state(self, statement: Statement) -> None:
        self.bodies[-1].append(statement)

    def copy(self, line: Line, given: tuple[Any, ...], predicate: object) -> None:
        """copy, or copy_if: the instruction is asked, but for a predicate of symbols, which each access has alone."""
        *tiled, source, target = given
        where = "copy" if predicate is None else "copy_if"
        source, target = as_tensor(where, source), as_tensor(where, target)
        if predicate is not None and not isinstance(predicate, Within):
            what = f"copy_if with a predicate of type {type(predicate).__name__}, in a kernel that is traced"
            fix = "write elem_less(identity tensor cut the same way, shape)"
            raise LeafTypeError(what, "a comparison of coordinates", fix)
        if predicate is not None and size(predicate.coordinates.shape) != size(source.shape):
            what = f"copy_if with a predicate of {shown(predicate.coordinates.shape)} for {shown(source.shape)}"
            raise LeafTypeError(what, "one truth value for each element", "partition the identity tensor the same way")
        require_allocated(self.tmem, source, target)
        atom = None
        if not self.places:
            atom = copy_facts(tiled[0] if tiled else plain_copy(source, target, predicated=True), source, target).atom
            require_load(atom)
        self.state(Copy(line, atom, Access(source), Access(target), predicate))  # type: ignore[arg-type]

    def gemm(self, line: Line, operands: tuple[Any, ...]) -> None:
        step = None if self.places else mma_facts(*operands)
        names = ("D", "A", "B", "C")
        given = [x for x in operands if isinstance(x, Tensor)]
        given = [given[-1], *given] if len(given) == 3 else given
        tensors = dict(zip(names, given)) if step is None else step.operands
        require_allocated(self.tmem, *tensors.values())
        if step is not None and is_of_tensor_memory(step.mma.atom):
            require_group(step.mma.atom.name, self.tmem, int(size(step.mma.atom.thr_id)))
        accumulates = True if step is None else _asked("with_", step.mma.accumulate_)
        self.state(Product(line, step, {name: Access(t) for name, t in tensors.items()}, accumulates))  # type: ignore[arg-type]

    def axpby(self, line: Line, alpha: object, x: object, beta: object, y: object) -> None:
        source, target = as_tensor("axpby", x), as_tensor("axpby", y)
        self._own_places("axpby", target)
        self.state(Axpby(line, _number("alpha", alpha), Access(source), _number("beta", beta), Access(target)))

    def transform(self, line: Line, tensors: Sequence[object], f: object) -> None:
        """transform: what the function makes of names is the statement's value."""
        given = [as_tensor("transform", x) for x in tensors]
        self._each("transform", given)
        self._own_places("transform", given[-1])
        self.state(Transform(line, tuple(map(Access, given)), _function("transform", f, given[:-1])))

    def reduce(self, line: Line, source: object, target: object, f: object) -> None:
        """reduce: a transform of what there is so far, where several elements have one place."""
        x, y = as_tensor("reduce", source), as_tensor("reduce", target)
        self._each("reduce", [x, y])
        self._require_registers("reduce", y)
        self.state(Transform(line, (Access(y), Access(x), Access(y)), _function("reduce", f, [y, x])))

    def shuffle(self, line: Line, source: object, target: object, mask: int) -> None:
        x, y = as_tensor("shuffle_xor", source), as_tensor("shuffle_xor", target)
        self._each("shuffle_xor", [x, y])
        for t in (x, y):
            self._require_registers("shuffle_xor", t)
        require_other_registers(x, y)
        self._own_places("shuffle_xor", y)
        self.state(Shuffle(line, Access(x), Access(y), mask))

    def atomic_add(self, line: Line, source: object, target: object) -> None:
        x, y = as_tensor("atomic_add", source), as_tensor("atomic_add", target)
        if not self.places:
            require_atomic(x, y)
        require_as_many("atomic_add", [x, y], [int(size(t.shape)) for t in (x, y)])
        self.state(Atomic(line, Access(x), Access(y)))

    def _own_places(self, where: str, t: Tensor) -> None:
        """Require a place of its own for each element that is written."""
        places = [] if self.places else [(number, *map(poly_of, terms)) for terms, number in Offsets(t).parts]
        if len({*places}) < len(places):
            raise of_one_place(where, t)

    def _each(self, where: str, tensors: Sequence[Tensor]) -> None:
        """Ask tensors that are gone through together for as many elements, of types that functions take."""
        if not self.places:
            require_elements(where, tensors)
        require_as_many(where, tensors, [int(size(t.shape)) for t in tensors])

    def _require_registers(self, where: str, t: Tensor) -> None:
        if any(x.data is t.data for x in (*self.shared, *self.arguments) if isinstance(x, Tensor)):
            raise not_registers(where, "memory")

    def fill(self, line: Line, t: object, value: object) -> None:
        self.state(Fill(line, Access(as_tensor("fill", t)), _number("the value", value)))

    def barrier(self, line: Line, *, of_cluster: bool = False) -> None:
        self.state(Barrier(line, of_cluster))

    def order(self, line: Line, word: str, pending: int) -> None:
        self.state(Order(line, word, pending))


def _asked(where: str, condition: object) -> bool | tuple[tuple[Leaf, Leaf], ...]:
    """A condition of the block as comparisons c < n, or its truth value where that is known."""
    if isinstance(condition, Condition) and condition.holds is not None:
        condition = condition.holds
    if isinstance(condition, bool):
        return condition
    if not isinstance(condition, Condition) or condition.question not in ("<", "<=") or _of_thread(condition):
        what = f"{where}({condition!r:.60})"
        fix = f"write {where}(k + 1 < steps); copy_if by elem_less has a condition of each thread"
        raise LeafTypeError(what, "a comparison by < or <=, the same for all threads", fix)
    c, n = wrap(condition.a), wrap(condition.b)
    return ((c, n if condition.question == "<" else add(n, 1)),)


def _of_thread(condition: Condition) -> bool:
    """Whether a condition is not the same for all threads."""
    return any(n.name == "tid" for side in (condition.a, condition.b) for n in symbols_in(side))


def _kept(counters: list[Counter], counter: Counter) -> SymInt:
    """A counter's symbol, which the loop counts from now on."""
    if counter not in counters:
        counters.append(counter)
    return counter.symbol


def _number(what: str, x: object) -> int | float | Scalar:
    found = number_of(x)
    if found is not None:
        return found
    fix = "give the argument a type: np.float32"
    raise LeafTypeError(f"{what} {shown(x)}, in a kernel that is traced", "a number, or a scalar argument", fix)


def _function(where: str, f: object, sources: Sequence[Tensor]) -> Value:
    """The value that a function makes of elements. RangeError for a number in it that float32 does not hold."""
    import numpy as np

    value = value_of(where, f, len(sources))
    if all(t.dtype != np.float64 for t in sources):
        require_numbers(f"{where}: a number in the function", np.array(numbers_of(value), float), np.dtype(np.float32))
    return value


def traced(
    function: Callable[..., None],
    names: tuple[str, ...],
    given: tuple[Any, ...],
    threads: int,
    grid: Any,
    cluster: tuple[int, ...],
    call: Callable[..., None],
) -> Program:
    """The program of a kernel's function for arguments of symbols.

    names   the names of the function's parameters
    call    runs the function with a Trace in place of a block that runs
    """
    arguments = {name: _argument(name, x) for name, x in zip(names, given)}
    _require_names(arguments)
    passed = tuple(arguments.values())
    extents: Any = grid(*passed) if callable(grid) else grid
    extents = (*extents,) if isinstance(extents, (tuple, list)) else (extents,)
    if any(known(n) == 0 for n in extents):
        fix = "give sizes that have elements, or names: dim('M', at_least=0); run does nothing for no blocks"
        what = f"{function.__name__} with a grid of {shown(extents)}"
        raise RangeError(what, "one block at least, in a text and its program", fix)
    with assuming() as conditions:
        require_whole_clusters(extents, cluster)
        first = Trace(passed, extents, threads, cluster)
        _called(call, function, first)
        second = Trace(tuple(map(_of_coordinates, passed)), extents, threads, cluster, held=passed)
        _called(call, function, second)
    held = [x.data for x in passed if isinstance(x, Tensor)]
    body = tuple(_placed(s, p, held) for s, p in zip(first.bodies[0], second.bodies[0], strict=True))
    name, symbols, memory = function.__name__, (first.blocks, first.thread), (tuple(first.shared), tuple(first.tmem))
    made = Program(name, arguments, extents, threads, *symbols, *memory, body, tuple(conditions), cluster=cluster)
    require_reads(made)
    return made


def _called(call: Callable[..., None], function: Callable[..., None], trace: Trace) -> None:
    """Call a kernel's function with a Trace. What Python asks of symbols or elements is refused with the line."""
    conditional = "write copy_if by elem_less or `for _ in when(k < n)` for a condition"
    others = "`for k in loop(n)` for a loop, read_index for an element that is an index"
    fix = f"{conditional}, {others}; or give the size as a number"
    try:
        call(function, trace.arguments, trace)
    except Unproven as error:
        what = f"{line_of(function, error)}: {error.reason.what}"
        expected = f"{error.reason.expected}; a kernel that is traced has no values of symbols"
        raise Unproven(what, expected, fix) from None
    except IndexError as error:  # arguments have no elements
        what = f"{line_of(function, error)}: the value of an element"
        raise LeafTypeError(what, "tensors: a kernel that is traced has no values of elements", fix) from None


def _argument(name: str, x: Any) -> Any:
    """An argument as what the function is called with: a type of numpy is a scalar's."""
    import numpy as np

    if isinstance(x, (type, np.dtype)):
        return Scalar(name, np.dtype(x))
    if is_int(x):
        return x
    if hasattr(x, "__array_interface__") and not isinstance(x, Tensor):
        x = MakeTensor(x)
    if isinstance(x, Tensor) and x.dtype is not None:
        return tensor(x.dtype, x.layout)  # over a buffer of its own, which tells it from the others
    what = f"argument {name} of type {type(x).__name__}, of a kernel that is traced"
    fix = "write tensor(np.float32, layout), or np.float32"
    raise LeafTypeError(what, "a tensor, an array, a size, or a type of numpy for a scalar", fix)


def _require_names(arguments: Mapping[str, object]) -> None:
    """RangeError for a size or an argument that has a name of the text's own."""
    for name, x in arguments.items():
        found = OWN_NAME.search(f"{name} {x.layout if isinstance(x, Tensor) else x}")
        if found is not None:
            what = f"an argument or a size named {found[0]}"
            raise RangeError(what, "another name: the text has this one for itself", "rename it: dim('n')")


def _of_coordinates(x: Any) -> Any:
    """A tensor of the coordinates of an argument's elements, with a buffer of its type."""
    if not isinstance(x, Tensor):
        return x
    places = make_identity_tensor(x.layout.shape)
    return tensor_of(None, x.data, places.offset, places.layout, places.coord, whole(x.layout.shape))


def _placed(s: Statement, other: Statement, held: list[Any]) -> Statement:
    """A statement with the places of what it accesses in arguments, which the statement of coordinates has.

    held   the buffers of the arguments
    """
    if type(s).__name__ != type(other).__name__ or s.line != other.line:
        expected = "the same statements whenever the kernel is called"
        raise RangeError(f"the statement at {s.line}", expected, "let no other value choose them")
    changed: dict[str, Any] = {}
    for name in (f.name for f in fields(s)):
        mine, theirs = getattr(s, name), getattr(other, name)
        if isinstance(mine, Access):
            changed[name] = _with_places(mine, theirs, held)
        elif isinstance(s, Transform) and name == "operands":
            changed[name] = tuple(_with_places(a, b, held) for a, b in zip(mine, theirs, strict=True))
        elif name == "operands":
            changed[name] = {k: _with_places(x, theirs[k], held) for k, x in mine.items()}
        elif name in ("body", "inside", "otherwise"):
            changed[name] = tuple(_placed(a, b, held) for a, b in zip(mine, theirs, strict=True))
    return replace(s, **changed)


def _with_places(access: Access, places: Access, held: list[Any]) -> Access:
    return Access(access.tensor, places.tensor if any(x is access.tensor.data for x in held) else None)


def sizes_of(program: Program) -> tuple[SymInt, ...]:
    """The sizes that a program's arguments and grid have, each once, in order."""
    found: dict[str, SymInt] = {}

    for x in (*program.arguments.values(), program.grid):
        for n in leaves((x.layout.shape, innermost(x.layout).stride) if isinstance(x, Tensor) else x):
            if isinstance(n, SymInt):
                found |= {s.name: of_symbol(s) for s in symbols_in(poly_of(n)) if s.name not in found}
    return tuple(found.values())
