"""Emitted text against the layout's definition, by z3."""
