"""Asking for plans, and mending them while their runs last."""
