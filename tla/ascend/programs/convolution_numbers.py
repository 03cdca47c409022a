"""The numbers of a convolution: as its tensors in global memory hold them, and by its definition.

Source: ours; the layouts are CATLASS's NDC1HWC0 and KDC1KHKWN1N0C0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..schedules.convolutions import ConvolutionBlock

#: The channels of a block of 16 bits.
C0 = 16


class Window(NamedTuple):
    """One axis of a convolution: the sizes of image and window, stride, dilation, and the border on both sides."""

    size: int
    kernel: int
    stride: int
    dilation: int
    padding: int

    @property
    def places(self) -> int:
        """The number of places of the window."""
        return (self.size + 2 * self.padding - self.dilation * (self.kernel - 1) - 1) // self.stride + 1

    def reach(self, first: int, count: int) -> tuple[int, int, int, int]:
        """The part of the image that some places take: its begin, its size, and the border before and behind it."""
        begin = first * self.stride - self.padding
        end = begin + (count - 1) * self.stride + self.dilation * (self.kernel - 1) + 1
        low, high = max(0, begin), min(self.size, end)
        return low, high - low, low - begin, end - high


def held(x: Any, w: Any, bias: Any) -> Mapping[str, Any]:
    """Arrays as the tensors in global memory hold them: channels in blocks of 16, zeros behind the last."""
    import numpy as np

    x, w = (
        np.pad(np.asarray(a), [(0, -n % C0 if i in up else 0) for i, n in enumerate(np.shape(a))])
        for a, up in ((x, (1,)), (w, (0, 1)))
    )
    filters, channels, kd, kh, kw = w.shape
    b = w.reshape(filters // C0, C0, channels // C0, C0, kd, kh, kw).transpose(4, 2, 5, 6, 0, 1, 3)
    found = {"A": blocked(x), "B": b.reshape(-1, filters // C0, C0, C0)}
    return found if bias is None else {**found, "bias": np.pad(np.asarray(bias), (0, -len(bias) % C0))}


def blocked(x: Any) -> Any:
    """Images (batch, channels, depth, height, width) as NDC1HWC0 has them, with zeros behind the last channel."""
    import numpy as np

    x = np.pad(x, [(0, 0), (0, -x.shape[1] % C0), (0, 0), (0, 0), (0, 0)])
    n, channels, *sizes = x.shape
    return np.moveaxis(x.reshape(n, channels // C0, C0, *sizes), (3, 2), (1, 5))


def definition(x: Any, w: Any, bias: Any, windows: Sequence[Window]) -> Any:
    """The convolution by its definition, in integers."""
    import numpy as np

    x = np.pad(x, [(0, 0), (0, 0), *((a.padding, a.padding) for a in windows)])
    out = np.zeros((x.shape[0], w.shape[0], *(a.places for a in windows)), np.int64)
    every = slice(None)
    for tap in np.ndindex(*(a.kernel for a in windows)):
        begins = ((a, t * a.dilation) for t, a in zip(tap, windows))
        ends = ((begin, begin + (a.places - 1) * a.stride + 1, a.stride) for a, begin in begins)
        parts = tuple(slice(*x) for x in ends)
        here, there = (every, every, *parts), (every, every, *tap)
        out += np.einsum("ncdhw,oc->nodhw", x[here], w[there])
    return out if bias is None else out + np.reshape(bias, (-1, 1, 1, 1))


def part_of(wanted: Any, blocks: Sequence[ConvolutionBlock], depths: int) -> Any:
    """The part of a result in NDC1HWC0 that a core makes; NaN elsewhere."""
    import numpy as np

    found = np.full(wanted.shape, np.nan)
    for b in blocks:
        (y, x, c), (ho, wo, co) = b.start[1:], b.extents[1:]
        for i in range(b.start[0], b.start[0] + b.extents[0]):
            here = (*divmod(i, depths), slice(c // C0, (c + co + C0 - 1) // C0), slice(y, y + ho), slice(x, x + wo))
            found[here] = wanted[here]
    return found
