"""Runs: what is promised of a flow run, and the record of what came of it."""
