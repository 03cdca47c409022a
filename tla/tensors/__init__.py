"""Layouts over memory: buffers, tensors and their views, copies and algorithms, all offsets at once. numpy
is imported inside."""

from . import operations as operations, predicated as predicated  # what operations are on tensors
