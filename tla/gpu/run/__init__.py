"""Execution on numpy, all threads at once: copy, gemm and the algorithms on fragments."""
