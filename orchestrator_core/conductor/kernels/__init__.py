"""Kernels: what XLA does not fuse on a GPU, as one kernel each; see `rewrite`."""
