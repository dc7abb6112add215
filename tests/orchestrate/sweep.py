"""A sweep of models on a fast and a slow worker: what its tasks take, which no graph states."""

from __future__ import annotations

from orchestrator_core import TaskGraph

SPEED = {"fast": 4.0, "slow": 1.0}
SECONDS = {"load": 2.0, "train": 8.0, "select": 1.0}


def sweep(models: int = 6) -> TaskGraph:
    """load -> train (x models) -> select; durations are nowhere stated."""
    builder = TaskGraph.build()
    builder.task("load-0", kind="load")
    names = [builder.task(f"train-{i}", kind="train", after=["load-0"]) for i in range(models)]
    builder.task("select-0", kind="select", after=names)
    return builder.done()
