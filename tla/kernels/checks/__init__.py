"""Watching a launch: races between threads and between blocks, what accesses cost, and the report."""
