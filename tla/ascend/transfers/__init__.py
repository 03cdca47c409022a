"""Transfers of tiles between the positions of a core, down to the instruction."""

from .convolution import Conv2d
from .instruction import Bursts, TransferInstruction
from .moved import Edge, Moved
from .paths import tags_at
from .plan import Transfer, transfer
from .steps import Loop, When

__all__ = [
    "Bursts",
    "Conv2d",
    "Edge",
    "Loop",
    "Moved",
    "Transfer",
    "TransferInstruction",
    "When",
    "tags_at",
    "transfer",
]
