"""Plans of a convolution: images and filters to L1, windows of an image to L0A, filters to L0B.

Source: CATLASS include/catlass/conv/tile.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.ints import is_int, leaf
from .instruction import TransferInstruction
from .moved import ROWS, Axis, gaps_of
from .side import Side


@dataclass(frozen=True)
class Conv2d:
    """A window that moves over an image: what LoadData3D asks for besides the layouts.

    kernel     (height, width) of the filter
    stride     (along height, along width); dilation likewise
    padding    (left, right, top, bottom), how many zeros the image is taken to have around it

    >>> from tla.ascend import Conv2d
    >>> Conv2d((3, 3), padding=(1, 1, 1, 1)).places((14, 14))
    (14, 14)

    Raises LeafTypeError and RangeError for anything but integers that fit the fields. Source: CATLASS
    `Conv2dFilterParams`.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        fields = ("kernel", 2, 1, 255), ("stride", 2, 1, 63), ("dilation", 2, 1, 255), ("padding", 4, 0, 255)
        for name, count, least, most in fields:
            given = getattr(self, name)
            if not isinstance(given, tuple) or len(given) != count or not all(map(is_int, given)):
                text = shown(given) if isinstance(given, tuple) else repr(given)
                fix = "write Conv2d((3, 3), padding=(1, 1, 1, 1))"
                raise LeafTypeError(f"{name}={text:.60} of a Conv2d", f"{count} integers", fix)
            values = tuple(int(leaf(n)) for n in given)
            if not all(least <= n <= most for n in values):
                fix = f"use at least {least} and at most {most}: the fields of LoadData3D hold no more"
                raise RangeError(f"{name}={shown(values)} of a Conv2d", f"{least} to {most}", fix)
            object.__setattr__(self, name, values)

    def places(self, size: tuple[int, int]) -> tuple[int, int]:
        """The number of places of the window along the height and the width of an image; RangeError where it has none."""
        left, right, top, bottom = self.padding
        for i, (axis, border) in enumerate((("height", (top, bottom)), ("width", (left, right)))):
            span, most = self.dilation[i] * (self.kernel[i] - 1) + 1, size[i] + sum(border)
            if span > most:
                what = f"a window of {span} along the {axis} of {size[i]}, with a border of {shown(border)}"
                raise RangeError(what, f"at most {most}", "take more padding, or a smaller window")
        fields = self._fields(*size)
        high, wide = (Axis.of(fields, *names) for names in (("H", "Top", "Bottom"), ("W", "Left", "Right")))
        return high.places, wide.places

    def _fields(self, height: int, width: int) -> dict[str, int]:
        """The fields of LoadData3D that it decides."""
        pairs = {"stride": self.stride, "filter": self.kernel, "dilationFilter": self.dilation}
        pads = {f"pad{side}": n for side, n in zip(("Left", "Right", "Top", "Bottom"), self.padding)}
        window = {f"{name}{axis}": pair[i] for name, pair in pairs.items() for i, axis in ((1, "W"), (0, "H"))}
        return {**pads, "l1H": height, "l1W": width, **window}

    def plan(self, src: Side, dst: Side, wide: bool) -> Iterator[TransferInstruction]:
        """One LoadData3D; on Ascend950 into columns of fractals, at the stride of L0A."""
        *_, height, width, c0 = src.valid
        points, columns = dst.padded(dst.valid)
        channels = columns // (self.kernel[0] * self.kernel[1] * c0) * c0
        fields = {**self._fields(height, width), "channelSize": channels, "kExtension": columns}
        fields |= {"mExtension": points, "enTranspose": 0, "fMatrixCtrl": 0}
        if wide:
            fields["dstStride"] = -(-points // ROWS)
        yield TransferInstruction("LoadData3DWithStride" if wide else "LoadData3D", dst.at, src.at, fields, src.element)

    def wanted(self, src: Side, dst: Side) -> Any:
        """The source of each valid element of dst, in numpy: (points, columns), and -1 for the border."""
        import numpy as np

        *_, height, width, c0 = src.valid
        image = src.offsets(src.valid)[0].reshape(-1, height, width, c0)
        blocks = len(image)
        left, right, top, bottom = self.padding
        image = np.pad(image, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=-1)
        (kh, kw), (sh, sw), (dh, dw), (ho, wo) = self.kernel, self.stride, self.dilation, self.places((height, width))
        parts = [
            image[:, i * dh : i * dh + (ho - 1) * sh + 1 : sh, j * dw : j * dw + (wo - 1) * sw + 1 : sw]
            for i in range(kh)
            for j in range(kw)
        ]
        matrix = np.stack(parts).transpose(2, 3, 1, 0, 4).reshape(ho * wo, blocks * kh * kw * c0)
        return matrix[: dst.valid[0], : dst.valid[1]]


def image(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """An image to L1, a block of channels after another, of one depth after another; each line of it is a burst."""
    *outer, high, wide, c0 = src.valid
    gaps = gaps_of((src.outer(len(outer)) // c0, dst.outer(len(outer)) // c0), wide, high)
    fields = {"blockCount": high, "blockLen": wide, **gaps}
    for coord in itertools.product(*map(range, outer)):
        to, begin = (side.at + sum(n * side.outer(i) for i, n in enumerate(coord)) for side in (dst, src))
        yield TransferInstruction("DataCopy", to, begin, fields, src.element)


def filters(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Filters to L1: the output channels of one place of the window are a burst."""
    blocks, kh, kw, channels, c0 = src.valid
    gaps = {name: side.outer(2) // c0 - channels for name, side in (("srcStride", src), ("dstStride", dst))}
    fields = {"blockCount": blocks * kh * kw, "blockLen": channels, **gaps}
    yield TransferInstruction("DataCopy", dst.at, src.at, fields, src.element)


def filters_of_depths(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Filters of several depths to L1: the output channels of one place of the window, or a block of them, a burst."""
    count, groups, channels, c0 = src.valid
    whole = groups == 1 or all(side.outer(1) == channels * c0 for side in (src, dst))
    length, parts = (groups * channels, 1) if whole else (channels, groups)
    gaps = gaps_of((src.outer(0) // c0, dst.outer(0) // c0), length, count)
    for i in range(parts):
        to, begin = (side.at + i * side.outer(1) for side in (dst, src))
        yield TransferInstruction("DataCopy", to, begin, {"blockCount": count, "blockLen": length, **gaps}, src.element)


def _place_step(src: Side) -> Any:
    """The step from one place of the window to the next, in filters."""
    return src.outer(2 if len(src.valid) == 5 else 0)


def filters_to_l0b(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Filters to L0B, the fractals of one place of the window after another."""
    fields = {"repeatTimes": dst.blocks(1), "srcStride": 1, "dstGap": 0, "ifTranspose": 0}
    for i in range(dst.blocks(0)):
        to, begin = dst.at + i * dst.outer(0), src.at + i * _place_step(src)
        yield TransferInstruction("LoadData2D", to, begin, fields, src.element)


def wide_filters_to_l0b(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Filters to L0B as one rectangle of fractals."""
    fields = {"mStartPosition": 0, "kStartPosition": 0, "mStep": dst.blocks(1), "kStep": dst.blocks(0)}
    size = ROWS * src.valid[-1]
    fields |= {"srcStride": -(-_place_step(src) // size), "dstStride": dst.outer(0) // size, "ifTranspose": 0}
    yield TransferInstruction("LoadData2DV2", dst.at, src.at, fields, src.element)


def filters_wanted(src: Side, dst: Side) -> Any:
    """The source of each valid element of L0B: rows (blocks of channels, window, channel), columns output channels."""
    places, c0 = (3 if len(src.valid) == 5 else 1), src.valid[-1]
    offsets = src.offsets(src.valid).reshape(*src.valid[:places], -1, c0).swapaxes(-1, -2)
    return offsets.reshape(-1, offsets.shape[-1])[: dst.valid[0], : dst.valid[1]]


def image_wanted(src: Side, dst: Side) -> Any:
    """The source of each valid element of an image: rows of L0C are its points, columns its channels."""
    import numpy as np

    *outer, blocks, high, wide, c0 = dst.valid
    offsets = src.offsets((math.prod(outer) * high * wide, blocks * c0))
    return np.moveaxis(offsets.reshape(*outer, high, wide, blocks, c0), -2, len(outer))
