"""Products whose columns are distances between positions, turned into those of positions."""
