"""The compiled engine: from an order of tasks to a schedule."""
