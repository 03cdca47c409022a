"""Copies between two layouts as loops and kernels."""
