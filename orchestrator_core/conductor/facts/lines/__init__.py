"""Views whose axes step along one line, as the rows of a matrix laid end to end."""
