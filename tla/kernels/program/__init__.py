"""A kernel as plain data: its statements, offsets, grids, instructions and resources."""
