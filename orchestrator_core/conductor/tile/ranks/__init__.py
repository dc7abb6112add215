"""The k largest numbers along an axis that is tiled, and where they are: nearest neighbours, codes
of a book, attention to the best keys alone."""
