"""Tiled MMAs and copies: atoms repeated over a tile, their partitions and fragments."""
