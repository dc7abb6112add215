"""Looking whether a rewritten program is what it is said to be: by values, and by the clock."""
