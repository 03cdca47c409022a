"""Proofs for all sizes: every access inside of its tensor, and no race."""
