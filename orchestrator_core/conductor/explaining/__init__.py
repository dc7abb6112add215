"""What was found in a function, what was done about it, and why: as data, text, HTML and JSON."""
