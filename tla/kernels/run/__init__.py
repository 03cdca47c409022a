"""Running a kernel's function: on numpy, or with symbols, which gives its program."""
