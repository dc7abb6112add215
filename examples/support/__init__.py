"""What the examples share: a local Prefect server, and flows made from recorded workflows."""
