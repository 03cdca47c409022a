"""XLA's shapes: their text, their sizes, the layout that each lowers to, and the way back."""
