"""Running sums and the like along a tiled axis: from what each block of it comes to."""
