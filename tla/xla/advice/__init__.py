"""Advice that is measured: changes of a function of JAX, each compiled for a TPU."""
