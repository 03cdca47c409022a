"""Operations on layouts: coalesce, composition, complement, inverses, divides and products,
tiles, predicates, recasts."""
