"""Region tiling: pairwise computations done tile by tile, found and derived by dataflow."""
