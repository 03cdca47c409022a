"""The text of a program, in what its targets have in common."""
