"""The layout of a table of offsets, of a function, or of an index expression: read back from what a kernel has."""
