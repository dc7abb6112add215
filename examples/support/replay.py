"""A recorded workflow as the body of a flow: the same graph, sleeping instead of computing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from prefect import task

from orchestrator_core import TaskGraph


def replay_flow(graph: TaskGraph, time_scale: float, byte_scale: float) -> Callable[[], None]:
    """The body of a flow that submits every task of `graph` with its recorded time and size.

    It knows nothing of planning: give it to `prefect.flow` or to `optimized_flow`.
    """
    steps = {kind: task(_step, name=kind) for kind in graph.kinds}
    seconds = (graph.mode_seconds[graph.mode_ptr[:-1]] * time_scale).tolist()
    nbytes = (graph.output_bytes * byte_scale).astype(int).tolist()

    def body() -> None:
        futures: dict[int, Any] = {}
        for place in graph.topological.tolist():
            inputs = [futures[producer] for producer in graph.predecessors(place).tolist()]
            step = steps[graph.kind(place)]
            futures[place] = step.submit(seconds[place], nbytes[place], inputs)
        for future in futures.values():
            future.wait()

    return body


def _step(seconds: float, nbytes: int, inputs: list[bytes]) -> bytes:
    """Take as long as the recorded task would take on this worker; return as much as it did."""
    time.sleep(seconds / float(os.environ.get("DEMO_SPEED", "1")))
    return bytes(nbytes)


class Stopwatch:
    """Takes the time of a flow's body; `seconds` is that of its last run."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, body: Callable[[], None]) -> Callable[[], None]:
        def timed() -> None:
            begun = time.perf_counter()
            body()
            self.seconds = time.perf_counter() - begun

        return timed
