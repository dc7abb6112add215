"""A function and its pullback as one graph, rewritten together, then cut in two."""
