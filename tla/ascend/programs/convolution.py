"""Convolutions as blocks: the statements of a core for boxes of the result, checked, executed and written out.

The sum over a window is that of slices: one for each depth of the window and each block of input channels. A slice is a
product of what LoadData3D makes of an image, a row for each place, and of the filters of these channels. Two or more
stages of L1 and L0 hold slices; depths that lie in the border are no slices.

Source: CATLASS `BlockConv` (block_conv3d_pingpong_bias.hpp, block_conv2d_pingpong.hpp), whose blocks of conv3d are runs
of places, and not boxes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import element as types
from ...core.element import Element
from ...core.errors import RangeError
from ...core.int_tuple import shown
from ...core.ints import IntLike
from ...core.layout import Layout
from ...core.values import rounded
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..architecture import Architecture
from ..element import dtype_of
from ..schedules.convolutions import ConvolutionBlock
from ..tags import KDC1KHKWN1N0C0, L0C, NDC1HWC0, VectorLayout, nZ, zN, zZ
from ..transfers import Conv2d, transfer
from ..transfers.side import tensor_at
from .block import once, placed
from .check import check_numbers
from .convolution_numbers import C0, Window, blocked, definition, held, part_of
from .mmad import mmad
from .results import Report, of_cores, together
from .statements import FILLED, Buffer, Fill, Move, Multiply, Part, PipeBarrier, Program, SetFlag, WaitFlag, in_gm
from .text import of_programs, require_kernel_name
from .values import execute_program, merged, numbers_of

if TYPE_CHECKING:
    import numpy.typing as npt


class Slice(NamedTuple):
    """A part of the sum: a depth of the window with the depth of the image there, and a block of input channels.

    depth   None in the border, where the image is zeros
    """

    tap: int
    depth: int | None
    channels: int


@dataclass(frozen=True)
class ConvolutionBlocks:
    """A convolution in blocks, for cores of Ascend: `ascend.conv_block(...)` makes it.

    arch       the architecture;  batch, channels, filters  of the problem;  windows  along depth, height and width
    tile       (ho, wo, cout) of a block;  element  of images, filters and results;  bias  whether there are biases
    table      the blocks of each core: batches and depths together, height, width, channels

    >>> from tla.ascend import conv_block
    >>> c = conv_block((1, 20, 3, 9, 10), (33, 3, 3, 3), (4, 10, 32), padding=(1, 1, 1))
    >>> c.result, len(c.programs), c.check().holds
    ((1, 33, 3, 9, 10), 1, True)

    Source: CATLASS `BlockConv`.
    """

    arch: Architecture
    batch: int
    channels: int
    filters: int
    windows: tuple[Window, Window, Window]
    tile: tuple[int, int, int]
    element: Element
    bias: bool
    stages: int
    table: tuple[tuple[ConvolutionBlock, ...], ...]

    @property
    def result(self) -> tuple[int, int, int, int, int]:
        """The sizes of the result: (batch, channels, depth, height, width)."""
        d, h, w = (x.places for x in self.windows)
        return self.batch, self.filters, d, h, w

    @functools.cached_property
    def tensors(self) -> dict[str, Buffer]:
        """The tensors in global memory: A images, B filters, C results, and the biases."""
        d, h, w = self.windows
        blocks, out = -(-self.channels // C0), -(-self.filters // C0)
        layouts = {
            "A": NDC1HWC0.MakeLayout(self.element, self.batch, d.size, blocks, h.size, w.size),
            "B": KDC1KHKWN1N0C0.MakeLayout(self.element, d.kernel * blocks * h.kernel * w.kernel, out, C0),
            "C": NDC1HWC0.MakeLayout(self.element, self.batch, d.places, out, h.places, w.places),
        }
        found = [in_gm(name, self.element, x) for name, x in layouts.items()]
        found += [in_gm("bias", types.float, Layout((out * C0,), (1,)))] if self.bias else []
        return {b.name: b for b in found}

    @functools.cached_property
    def buffers(self) -> dict[str, Buffer]:
        """Every buffer of a core by name, each stage one of its own."""
        (ho, wo, cout), (_, h, w) = self.tile, self.windows
        size = [min(x.size, (n - 1) * x.stride + x.dilation * (x.kernel - 1) + 1) for x, n in ((h, ho), (w, wo))]
        depth, tag = h.kernel * w.kernel * C0, zZ if "AtlasA" in self.arch.name else zN
        rows: list[Any] = [
            ("l1A", "L1", self.element, NDC1HWC0.MakeLayout(self.element, 1, 1, 1, *size), "L1"),
            ("l1B", "L1", self.element, KDC1KHKWN1N0C0.MakeLayout(self.element, depth // C0, cout // C0, C0), "L1"),
            *([("l1Bias", "L1", types.float, VectorLayout.MakeLayout(types.float, cout), "")] if self.bias else []),
            ("l0A", "L0A", self.element, tag.MakeLayout(self.element, ho * wo, depth), "L0"),
            ("l0B", "L0B", self.element, nZ.MakeLayout(self.element, depth, cout), "L0"),
            ("l0C", "L0C", types.float, L0C(ho * wo, cout).layout, ""),
            *([("bt", "Bias", types.float, VectorLayout.MakeLayout(types.float, cout), "")] if self.bias else []),
        ]
        return {b.name: b for b in placed(rows, {"L1": self.stages, "L0": self.stages}, self.arch)}

    @functools.cached_property
    def programs(self) -> tuple[Program, ...]:
        """The program of each core: its buffers, and its statements in the order of issue."""
        every = {**self.tensors, **self.buffers}
        return tuple(Program(self.arch, every, tuple(self._statements(blocks))) for blocks in self.table)

    # ------------------------------------------------------------------------------------------------- statements

    def _own_flags(self) -> list[tuple[str, int]]:
        """The flags that say that a buffer may be filled."""
        found = [(event, i) for event in ("MTE1_MTE2", "M_MTE1") for i in range(2 * self.stages)]
        more = [("MTE1_MTE2", 2 * self.stages), ("M_MTE1", 2 * self.stages)] if self.bias else []
        return [*found, ("FIX_M", 0), *more]

    def _statements(self, blocks: tuple[ConvolutionBlock, ...]) -> Iterator[Any]:
        yield from (SetFlag(*flag) for flag in self._own_flags())
        stage = 0
        for block in blocks:
            for i in range(block.start[0], block.start[0] + block.extents[0]):
                n, depth = divmod(i, self.windows[0].places)
                box = _Box(n, depth, block.start[1:], block.extents[1:])
                slices = self.slices(depth)
                yield from self._box(box, slices, stage)
                stage = (stage + len(slices)) % self.stages
        yield PipeBarrier("ALL")
        yield from (WaitFlag(*flag) for flag in self._own_flags())

    def slices(self, depth: int) -> list[Slice]:
        """The slices of the sum at a depth of the result; where the window lies in the border alone, one of zeros."""
        x = self.windows[0]
        taps = [(tap, depth * x.stride - x.padding + tap * x.dilation) for tap in range(x.kernel)]
        inside = [(tap, at) for tap, at in taps if 0 <= at < x.size]
        return [Slice(tap, at, c) for tap, at in inside for c in range(-(-self.channels // C0))] or [Slice(0, None, 0)]

    def _box(self, box: _Box, slices: list[Slice], stage: int) -> Iterator[Any]:
        """One box of the result: its slices, each loaded while the one before it is multiplied, and the way out."""
        last = 2 * self.stages
        if self.bias:
            yield from _moved("MTE1_MTE2", last, self._bias(box), "MTE2_MTE1", "biases to L1")
            yield WaitFlag("M_MTE1", last)
            yield from _moved("MTE2_MTE1", last, self._bias_table(box), "MTE1_MTE2", "biases to the table")
            yield from (SetFlag("MTE1_M", 1), WaitFlag("MTE1_M", 1))
        yield WaitFlag("FIX_M", 0)
        yield from self._fill(box, slices[0], stage)
        for number in range(len(slices)):
            own, following = (stage + number) % self.stages, (stage + number + 1) % self.stages
            fill = [*self._fill(box, slices[number + 1], following)] if number + 1 < len(slices) else []
            yield from fill if self.stages > 1 else ()
            yield from self._multiply(box, own, slices[number], first=number == 0)
            yield from () if self.stages > 1 else fill
        yield from [SetFlag("M_MTE1", last)] if self.bias else []
        yield from (SetFlag("M_FIX", 0), WaitFlag("M_FIX", 0))
        yield Part("out of L0C", None, None, self._out(box))
        yield SetFlag("FIX_M", 0)

    def _fill(self, box: _Box, part: Slice, stage: int) -> Iterator[Any]:
        """The image and the filters of a slice to a stage of L1."""
        _, _, to_l1 = self._once
        filters = to_l1(part.tap * -(-self.channels // C0) + part.channels, box.start[2], box.blocks)
        if part.depth is not None:
            images = tuple(Move(f"l1A{stage}", "A", i) for i in self._image(box, part))
            yield from _moved("MTE1_MTE2", stage, images, "MTE2_MTE1", "A to L1")
        elif not self._fills_l0a:
            zeros = _zeros(self.buffers[f"l1A{stage}"])
            yield from _moved("MTE1_MTE2", stage, (zeros,), "MTE2_MTE1", "zeros to L1")
        moves = tuple(Move(f"l1B{stage}", "B", i) for i in filters)
        yield from _moved("MTE1_MTE2", stage + self.stages, moves, "MTE2_MTE1", "B to L1")

    @property
    def _fills_l0a(self) -> bool:
        """Whether a slice of zeros is made in L0A, as CATLASS does; Ascend950 makes an image of zeros in L1."""
        return "AtlasA" in self.arch.name

    def _multiply(self, box: _Box, stage: int, part: Slice, first: bool) -> Iterator[Any]:
        """A slice from L1 to L0, and multiplied."""
        tensors = {}
        to_l0a, to_l0b, _ = self._once
        columns = to_l0a(self._reaches(box), box.extents[0] * box.extents[1])
        for name, made, flag in (("A", columns, stage), ("B", to_l0b(box.blocks), stage + self.stages)):
            moves, tensors[name] = made
            yield WaitFlag("M_MTE1", flag)
            if name == "A" and part.depth is None and self._fills_l0a:
                tile = replace(self.buffers[f"l0A{stage}"], layout=tensors["A"].layout)
                yield Part("zeros to L0", None, None, (_zeros(tile),))
                continue
            instructions = tuple(Move(f"l0{name}{stage}", f"l1{name}{stage}", i) for i in moves)
            yield from _moved("MTE2_MTE1", flag, instructions, "MTE1_MTE2", f"{name} to L0")
        yield from (SetFlag("MTE1_M", 0), WaitFlag("MTE1_M", 0))
        (ho, wo, _), biased = box.extents, first and self.bias
        c = tensor_at("L0C", L0C(ho * wo, box.blocks * C0).layout)
        table = tensor_at("Bias", VectorLayout.MakeLayout(types.float, box.blocks * C0)) if biased else None
        made_ = mmad(tensors["A"], tensors["B"], c, self.arch, element=self.element, init=first, bias=table)
        yield Multiply("l0C", f"l0A{stage}", f"l0B{stage}", "bt" if biased else None, made_)
        yield PipeBarrier("M")
        yield from (SetFlag("M_MTE1", flag) for flag in (stage, stage + self.stages))

    # ------------------------------------------------------------------------------------------------- transfers

    def _move(self, src: Tensor, dst: Tensor, **options: Any) -> tuple[Any, ...]:
        return tuple(transfer(src, dst, self.arch, element=self.element, **options))

    def _gm(self, name: str) -> Tensor:
        return tensor_at("GM", self.tensors[name].layout)

    def _reaches(self, box: _Box) -> tuple[tuple[int, int, int, int], ...]:
        return tuple(x.reach(s, n) for x, s, n in zip(self.windows[1:], box.start, box.extents))

    def _image_in_l1(self, high: int, wide: int) -> Tensor:
        return tensor_at("L1", NDC1HWC0.MakeLayout(self.element, 1, 1, 1, high, wide))

    def _image(self, box: _Box, part: Slice) -> tuple[Any, ...]:
        (y, high, _, _), (x, wide, _, _) = self._reaches(box)
        src = GetTile(self._gm("A"), (box.batch, part.depth, part.channels, y, x, 0), (1, 1, 1, high, wide, C0))
        return self._move(src, self._image_in_l1(high, wide))

    def _filters_in_l1(self, blocks: int) -> Tensor:
        places = self.windows[1].kernel * self.windows[2].kernel
        return tensor_at("L1", KDC1KHKWN1N0C0.MakeLayout(self.element, places, blocks, C0))

    def _filters_to_l1(self, part: int, channel: int, blocks: int) -> tuple[Any, ...]:
        places = self.windows[1].kernel * self.windows[2].kernel
        src = GetTile(self._gm("B"), (part * places, channel // C0, 0, 0), (places, blocks, C0, C0))
        return self._move(src, self._filters_in_l1(blocks))

    @functools.cached_property
    def _once(self) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """The transfers to L0A, to L0B and of filters to L1, each planned once."""
        return once(self._window), once(self._filters_to_l0), once(self._filters_to_l1)

    def _window(self, reaches: tuple[tuple[int, int, int, int], ...], points: int) -> tuple[tuple[Any, ...], Tensor]:
        (_, high, top, bottom), (_, wide, left, right) = reaches
        h, w = self.windows[1:]
        steps = (h.stride, w.stride), (h.dilation, w.dilation)
        window = Conv2d((h.kernel, w.kernel), *steps, (left, right, top, bottom))
        tag = zZ if "AtlasA" in self.arch.name else zN
        dst = tensor_at("L0A", tag.MakeLayout(self.element, points, h.kernel * w.kernel * C0))
        return self._move(self._image_in_l1(high, wide), dst, conv=window), dst

    def _filters_to_l0(self, blocks: int) -> tuple[tuple[Any, ...], Tensor]:
        depth = self.windows[1].kernel * self.windows[2].kernel * C0
        dst = tensor_at("L0B", nZ.MakeLayout(self.element, depth, blocks * C0))
        return self._move(self._filters_in_l1(blocks), dst), dst

    def _bias(self, box: _Box) -> tuple[Move, ...]:
        count = box.blocks * C0
        dst = tensor_at("L1", VectorLayout.MakeLayout(types.float, count))
        made = transfer(GetTile(self._gm("bias"), (box.start[2],), (count,)), dst, self.arch, element=types.float)
        return tuple(Move("l1Bias", "bias", i) for i in made)

    def _bias_table(self, box: _Box) -> tuple[Move, ...]:
        src, dst = (tensor_at(p, VectorLayout.MakeLayout(types.float, box.blocks * C0)) for p in ("L1", "Bias"))
        return tuple(Move("bt", "l1Bias", i) for i in transfer(src, dst, self.arch, element=types.float))

    def _out(self, box: _Box) -> tuple[Move, ...]:
        (y, x, channel), (ho, wo, _) = box.start, box.extents
        dst = GetTile(self._gm("C"), (box.batch, box.depth, channel // C0, y, x, 0), (1, 1, box.blocks, ho, wo, C0))
        src = tensor_at("L0C", L0C(ho * wo, box.blocks * C0).layout)
        return tuple(Move("C", "l0C", i) for i in self._move(src, dst))

    # ------------------------------------------------------------------------------------------------- uses

    def check(self, core: IntLike | None = None) -> Report:
        """Check the programs of all cores, or of one: each element of the result is its sum, in every order that the
        flags allow.

        Nothing else is touched. Sums are polynomials of the images and the filters; they are compared at two points of
        large random integers, without rounding: a wrong one is taken for right with a probability below one in 10^8.
        """
        import numpy as np

        bits = (51 - math.ceil(math.log2(self.channels * math.prod(x.kernel for x in self.windows) + 1))) // 2
        reports, depths = [], self.windows[0].places
        chosen = of_cores([*zip(self.programs, self.table)], core)
        for seed in range(2):
            rng = np.random.default_rng(seed)
            x, w, bias = (rng.integers(1, 2**bits, n) for n in self._shapes())
            given = (x, w, bias if self.bias else None)
            wanted, tensors = blocked(definition(*given, self.windows)), held(*given)
            for program, blocks in chosen:
                reports.append(check_numbers(program, tensors, {"C": part_of(wanted, blocks, depths)}))
        return together(reports)

    def execute(self, x: npt.NDArray[Any], w: npt.NDArray[Any], bias: npt.NDArray[Any] | None = None) -> Any:
        """Execute the programs of all cores on numpy arrays, in memories that hold nothing before.

        x, w      images (batch, channels, depth, height, width) and filters (filters, channels, depth, height, width)
        bias      of the filters, where the block has biases
        Returns   the result, (batch, filters, depth, height, width)

        >>> import numpy as np
        >>> from tla.ascend import conv_block
        >>> c = conv_block((1, 2, 1, 3, 3), (1, 1, 2, 2), (2, 2, 16))
        >>> c.execute(np.ones((1, 2, 1, 3, 3)), np.ones((1, 2, 1, 2, 2)))[0, 0, 0]
        array([[8., 8.],
               [8., 8.]], dtype=float16)

        Raises RangeError for arrays of other sizes, and for biases without need.
        """
        import numpy as np

        for name, array, wanted in zip(("images", "filters", "biases"), (x, w, bias), self._shapes()):
            given = None if array is None else numbers_of(name, array).shape
            if given != (wanted if name != "biases" or self.bias else None):
                expected = f"{wanted if name != 'biases' or self.bias else None}"
                raise RangeError(f"{name} of the shape {given}", expected, "give such an array")
        result: Any = None
        for program in self.programs:
            result = merged(result, execute_program(program, held(x, w, bias)).get("C"))
        n, _, d, h, wide = self.result
        plain = np.moveaxis(result, 5, 3).reshape(n, d, -1, h, wide)[:, :, : self.filters]
        return rounded(np.moveaxis(plain, 2, 1), dtype_of(self.element))

    def text(self, name: str = "kernel_main") -> str:
        """The kernel in AscendC: every statement that check looks at, those that repeat in loops.

        >>> from tla.ascend import conv_block
        >>> c = conv_block((1, 16, 1, 8, 8), (16, 1, 3, 3), (6, 6, 16))
        >>> next(line.strip() for line in c.text().splitlines() if "LoadData3D" in line)[:44]
        '{ AscendC::LoadData3DParamsV2<half> p; p.pad'

        Raises RangeError for a name that C++ has not.
        """
        require_kernel_name(name)
        images, (count, _, *kernel), _ = self._shapes()
        shape = f"{shown(images)} by {shown((count, *kernel))}"
        what = f"C = A convolved with B{' + bias' * self.bias}, {shape} on {self.arch}, {len(self.table)} cores."
        remarks = [f"{name}: {what}", "Made by tla from the statements that its check looks at."]
        return of_programs(self.programs, name, remarks)

    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        d, h, w = self.windows
        filters = (self.filters, self.channels, d.kernel, h.kernel, w.kernel)
        return (self.batch, self.channels, d.size, h.size, w.size), filters, (self.filters,)


class _Box(NamedTuple):
    """A box of the result: of a batch and a depth, from a place and a channel on."""

    batch: int
    depth: int
    start: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def blocks(self) -> int:
        """The blocks of channels of the result."""
        return -(-self.extents[2] // C0)


def _zeros(tile: Buffer) -> Fill:
    """The InitConstValue that makes a tile zeros."""
    blocks = -(-tile.size // FILLED[tile.position])
    return Fill(tile.name, 0, tile.element, {"repeatTimes": 1, "blockNum": blocks, "dstGap": 0})


def _moved(waits: str, flag: int, moves: tuple[Any, ...], sets: str, what: str) -> Iterator[Any]:
    """A transfer between two flags of one number."""
    yield WaitFlag(waits, flag)
    yield Part(what, None, None, moves)
    yield SetFlag(sets, flag)
