"""Statements of each thread seen as statements of whole tiles."""
