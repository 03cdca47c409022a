"""The parts that all targets share: the graph of a function's operations, its value ranges and integer
types, its signature."""
