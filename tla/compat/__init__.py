"""The interfaces of other libraries over the exact algebra: a program of theirs runs with the import changed."""
