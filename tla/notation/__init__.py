"""The text of layouts, IntTuples and sizes, read back."""
