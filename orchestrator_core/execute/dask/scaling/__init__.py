"""Adaptive clusters: how many workers, and which may go."""
