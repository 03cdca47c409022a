"""draw of a whole kernel: which thread has which element, beside what the definition of each partition says."""

import re

import numpy as np
import pytest

from tla import Int, _1, ceil_div, dim, elem_less, local_tile, make_identity_tensor, make_layout, parse
from tla.core.errors import LeafTypeError, RangeError
from tla.gpu import Copy_Atom, UniversalCopy, float, make_fragment_like, make_tiled_copy, uint128
from tla.kernels import (
    barrier,
    block,
    clear,
    copy,
    copy_if,
    kernel,
    local_partition,
    loop,
    make_tma_copy,
    mbarriers,
    registers,
    set_barrier_transaction_bytes,
    shared,
    tensor,
    thread,
    when,
)
from tla.viz import draw, html, svg, text, tikz

THREADS = parse("(_8,_4):(_4,_1)")


def cells(grid):
    return [[cell.text for cell in row] for row in grid.cells]


def partitioned(rows, columns):
    """Cells of a tile of which thread (i,j) of 8 by 4, j fastest, has the elements (i + 8 x, j + 4 y), x fastest."""
    return [
        [f"T{4 * (i % 8) + j % 4}\nV{i // 8 + (rows // 8) * (j // 4)}" for j in range(columns)] for i in range(rows)
    ]


def moved(*, count=3):
    """A kernel: a goes to shared memory, a step of 16 columns each, and from there to registers, turned by a thread."""

    @kernel(threads=32, grid=lambda a: (ceil_div(a.shape[0], 16),))
    def moved(a):
        t, smem = thread(), shared(a.dtype, parse("Sw<2,0,4> o 0 o (_16,_16):(_16,_1)"))
        held = registers(a.dtype, parse("(_2,_4):(_1,_2)"))
        clear(held)
        for k in loop(count):
            tile, places = (local_tile(x, (16, 16), (block(0), k + 1)) for x in (a, make_identity_tensor(a.shape)))
            copy_if(
                elem_less(local_partition(places, THREADS, t), a.shape),
                *(local_partition(x, THREADS, t) for x in (tile, smem)),
            )
            barrier()
            copy(local_partition(smem, THREADS, (t + 1) % 32), held)
            barrier()

    return moved


def program(kernel=None):
    m, n = dim("m", at_most=2**15), dim("n", at_most=2**15)
    return (kernel or moved()).program(tensor(np.float32, make_layout((m, n), stride=(n, _1))))


def test_each_element_is_of_its_thread():
    drawing = draw(program())
    first, second = drawing.figures
    assert [re.sub(r"^.*  ", "", f.title) for f in drawing.figures] == ["copy shared0 = a", "copy registers0 = shared0"]
    smem, a = first.grids
    assert cells(smem) == cells(a) == partitioned(16, 16)
    assert a.title == "a (m,n):(n,_1) from (0,16)"
    assert smem.title.startswith("shared0 Sw<2,0,4>")
    turned = [
        [re.sub(r"T(\d+)", lambda t: f"T{(int(t[1]) - 1) % 32}", text) for text in row] for row in partitioned(16, 16)
    ]
    assert cells(second.grids[0]) == turned
    assert any(note.startswith("each thread holds registers0: (_2,_4)") for note in second.notes)
    assert any("after barrier" in note for note in second.notes)
    assert "in loop(3): the first step" in second.notes


def test_vectors_of_a_tiled_copy_and_its_coordinates():
    tiled = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (8, 4), (4, 1))

    @kernel(threads=32)
    def loaded(a):
        own = tiled[thread()]
        part = own.partition_S(a)
        copy(tiled, part, make_fragment_like(part))

    drawing = draw(loaded.program(tensor(np.float32, make_layout((Int[32](), Int[8]())))))
    expected = [[f"T{i // 4 + 8 * (j % 4)}\nV{i % 4 + 4 * (j // 4)}" for j in range(8)] for i in range(32)]
    assert cells(drawing.figures[0].grids[0]) == expected


def test_one_thread_has_a_star_and_colours():
    drawing = draw(program(), thread=5)
    grid = drawing.figures[0].grids[0]
    coloured = [cell.text for row in grid.cells for cell in row if cell.fill]
    assert coloured == [f"T5\nV{v}*" for v in (0, 2, 4, 6, 1, 3, 5, 7)]
    assert {cell.text for row in draw(program(), color_by="value").figures[0].grids[0].cells for cell in row} == {
        text for row in partitioned(16, 16) for text in row
    }


def test_memory_of_three_modes_and_of_one():
    @kernel(threads=4)
    def stages(a):
        t, smem = thread(), shared(np.float32, parse("(_4,_2,_3):(_1,_4,_8)"))
        for k in loop(2):
            clear(local_partition(smem[:, :, k + 1], parse("_4:_1"), t))
        copy(local_partition(a, parse("_4:_1"), t), registers(np.float32, parse("_2:_1")))

    drawing = draw(stages.program(tensor(np.float32, parse("_8:_1"))))
    (memory,), (vector,) = (f.grids for f in drawing.figures)
    assert memory.title.endswith("from (0,0,1)")
    assert cells(memory) == [[f"T{i}\nV{j}" for j in range(2)] for i in range(4)]
    assert cells(vector) == [[f"T{j % 4}\nV{j // 4}" for j in range(8)]]


def test_a_limit_shows_the_corner_and_every_format_prints_it():
    drawing = draw(program(), limit=100, titles="moved once")
    assert len(drawing.figures[0].grids[0].cells) == 8
    assert str(drawing).startswith("moved once, test_viz_programs.py")
    assert "of each the first 8 rows" in str(drawing)
    for form in (svg, html, tikz, text):
        assert "T31" in form(draw(program()))


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda: draw(moved()), LeafTypeError, "its program"),
        (lambda: draw(program(), color_by="bank"), RangeError, "thread or value"),
        (lambda: draw(program(), thread=32), RangeError, "one of its 32 threads"),
        (lambda: draw(program(), tile=(4, 4)), LeafTypeError, "leave tile out"),
        (lambda: draw(program(), parse("4:1")), LeafTypeError, "draw each by itself"),
        (
            lambda: draw(kernel(threads=4)(lambda: clear(registers(np.float32, parse("_4:_1")))).program()),
            LeafTypeError,
            "no memory",
        ),
        (
            lambda: draw(kernel(threads=4)(lambda a: clear(a)).program(np.zeros(0, np.float32))),
            LeafTypeError,
            "no memory",
        ),
        (
            lambda: draw(
                kernel(threads=1024)(lambda a: clear(a)).program(tensor(np.float32, parse("(_1024,_2048):(_1,_1024)")))
            ),
            RangeError,
            "smaller tiles",
        ),
    ],
)
def test_refused(make, kind, said):
    with pytest.raises(kind, match=re.escape(said)):
        make()


def test_loads_and_conditions_are_drawn():
    @kernel(threads=32)
    def loaded(a, n):
        smem, full = shared(np.float32, parse("(_8,_4):(_4,_1)")), mbarriers(1)
        tma = make_tma_copy("SM90_TMA_LOAD", a, smem)
        barrier()
        for _tile in when(1 < n):
            set_barrier_transaction_bytes(full[0], 128)
            copy(tma.with_(full[0]), local_tile(a, (8, 4), (1, 0)), smem)

    shown = str(draw(loaded.program(tensor(np.float32, parse("(20,4):(4,_1)")), dim("n", at_least=0, at_most=9))))
    assert "load shared0 = a" in shown
    assert "in when(1 < n)\n" in shown
    assert "a (20,4):(4,_1) from (8,0), of all threads" in shown
    assert "after initialize_barrier" in shown
    assert "set_barrier_transaction_bytes" in shown
