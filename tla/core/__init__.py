"""The values of the language: errors, integers, IntTuples, coordinates, layouts, swizzles, and their text."""
