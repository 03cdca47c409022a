"""What every target shares: the graph of a function's operations, its value ranges and integer types, its signature."""
