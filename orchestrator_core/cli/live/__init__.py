"""`orchestrator live`: commands that talk to a running Dask cluster."""
