"""Ahead: what a flow will submit, by what its earlier runs submitted."""
