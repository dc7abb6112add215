"""Tasks and flows that the body of a flow calls itself: in a trace they are not run either."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from orchestrator_prefect.tracing.runner import TracingRunner
from orchestrator_prefect.tracing.watch import refuse


@contextmanager
def not_run(runner: TracingRunner) -> Iterator[None]:
    """Within it, Prefect's engines run nothing in this process."""

    def run_task(task: Any, **given: Any) -> Any:
        return _called(runner, "task", task, **given)

    def run_flow(flow: Any, **given: Any) -> Any:
        return _called(runner, "flow", flow, **given)

    with (
        patch("prefect.task_engine.run_task", run_task),
        patch("prefect.flow_engine.run_flow", run_flow),
    ):
        yield


def _called(
    runner: TracingRunner,
    kind: str,
    thing: Any,
    parameters: Any = None,
    wait_for: Any = None,
    return_type: str = "result",
    **_: Any,
) -> Any:
    if thing.isgenerator:
        refuse(f"{kind} {thing.name!r} yields, and how often, only a run can tell")

    async def later() -> Any:
        return runner.called(kind, thing, parameters, wait_for, return_type)

    return (
        later() if thing.isasync else runner.called(kind, thing, parameters, wait_for, return_type)
    )
