"""Sending: from what a flow submits to what Dask is told, in epochs."""
