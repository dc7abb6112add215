"""What the rewrite is called, and an operation that only kernels have."""

NAME = "kernels"

APPROXIMATE_TANH = "approximate_tanh"
