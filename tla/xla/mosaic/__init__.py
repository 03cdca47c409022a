"""Mosaic, the TPU's kernel compiler: memref types, register layouts, and what it does with a Pallas block."""
