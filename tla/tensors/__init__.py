"""Layouts over memory: buffers, tensors and views, copies, algorithms, all offsets. numpy is imported inside."""

from . import operations as operations, predicated as predicated  # what operations are on tensors
