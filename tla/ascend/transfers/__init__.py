"""Transfers of tiles between the positions of a core, down to the instruction."""

from .convolution import Conv2d
from .instruction import Bursts, TransferInstruction
from .moved import Edge, Moved
from .paths import tags_at
from .plan import Transfer, transfer

__all__ = ["Bursts", "Conv2d", "Edge", "Moved", "Transfer", "TransferInstruction", "tags_at", "transfer"]
