"""What becomes of a graph: as a pinned plan says, as it was last time, or as rewrites decide."""
