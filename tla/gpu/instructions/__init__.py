"""Matrix and copy instructions as data: a table for each vendor and generation, and their names."""
