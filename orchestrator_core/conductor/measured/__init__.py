"""What is measured while planning, where a GPU is at hand."""
