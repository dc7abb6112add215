"""The same numbers with less: what is equal is computed once, what is known not at all."""
