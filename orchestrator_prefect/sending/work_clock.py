"""The work clock: how long the code of a task itself ran, beside what Prefect does around it.

Starting a task run and telling its states takes a tenth of a second, several times that where a
worker runs several at a time, and no faster processor makes it shorter. Prefect's engine counts the
seconds of the code (`TaskRun.total_run_time`), and drops them when the task ends; here the last
count is kept and told to the scheduler, in the span of times that Dask sends it anyway.

Shipped by value, as all of `worker_side` is: functions inside functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KEPT = 10_000
"""Counts that a process keeps of tasks which no worker asks for, such as tasks within tasks."""


def listen_to_engine() -> Callable[[], None]:
    """For a worker that has imported Prefect: its engine's counts are kept."""
    most = KEPT

    def listen() -> None:
        import functools
        from importlib import import_module

        engine: Any = import_module("prefect.task_engine")
        emit = engine.emit_task_run_state_change_event
        if hasattr(emit, "seconds"):
            return
        seconds: dict[Any, float] = {}

        @functools.wraps(emit)
        def told(*args: Any, **kwargs: Any) -> Any:
            run = kwargs.get("task_run")
            if run is not None and run.state is not None and run.state.is_final():
                seconds[run.id] = run.total_run_time.total_seconds()
                if len(seconds) > most:
                    seconds.pop(next(iter(seconds)), None)
            return emit(*args, **kwargs)

        told.seconds = seconds  # type: ignore[attr-defined]
        engine.emit_task_run_state_change_event = told

    return listen


def tell_work(entry: str) -> Callable[[Any, str, Any], None]:
    """For each finished task: an `entry` of seconds in the span of its computation, if they were
    counted. (Of what a process begins before it listens they are not.)"""

    def finished(worker: Any, key: str, value: Any) -> None:
        import sys

        if type(value).__name__ != "State":
            return
        engine: Any = sys.modules["prefect.task_engine"]
        emit = engine.emit_task_run_state_change_event
        work = getattr(emit, "seconds", {}).pop(value.state_details.task_run_id, None)
        spans = worker.state.tasks[key].startstops
        computed = [span for span in spans if span["action"] == "compute"]
        if work is not None and computed:
            computed[-1][entry] = work

    return finished
