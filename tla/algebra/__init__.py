"""What is done with layouts: coalesce, composition, complement, inverses, divides and products, tiles, predicates, recasts."""
