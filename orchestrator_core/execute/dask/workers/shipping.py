"""Functions and plugins for workers, pickled by value: workers need not have this project."""

from __future__ import annotations

from orchestrator_core.execute.dask.workers import shipped as worker


def shipped(what: object) -> bytes:
    """A pickle of something from the package `worker`, with all the code that it needs of it."""
    import cloudpickle  # type: ignore[import-untyped]

    cloudpickle.register_pickle_by_value(worker)
    try:
        pickled: bytes = cloudpickle.dumps(what)
    finally:
        cloudpickle.unregister_pickle_by_value(worker)
    return pickled
