"""What the rewrite is called."""

NAME = "kernels"
