"""Kernels that use what Hopper's multiprocessors have: copies that run by themselves, and products
of matrices that read the shared memory, while two groups of warps take turns.

As in Shah and others, "FlashAttention-3" (2024), for whatever is done between two products.
"""
