"""How many workers the rest of a run is worth."""
