"""What clients submit: graphs, their names, hints and pins, and what becomes of them."""
