"""Contracts of the hardware: matrix descriptors, TMA boxes, buffer resources, and which instruction takes a tile."""
