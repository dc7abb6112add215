"""Importing a module to look at its flows: what it calls at its top level is refused, not run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from prefect.flows import Flow
from prefect.tasks import Task

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.text import shown
from orchestrator_prefect.tracing.watch import line_of

ENGINES = (("prefect.flow_engine.run_flow", "flow"), ("prefect.task_engine.run_task", "task"))
"""What runs flows and tasks, however they are called."""

METHODS = (
    (Flow, "serve", "flow"),
    (Flow, "deploy", "flow"),
    (Flow, "adeploy", "flow"),
    (Task, "apply_async", "task"),
    (Task, "serve", "task"),
)
"""What has the server or another process run them."""

GUARD = 'put that under `if __name__ == "__main__":`'


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Within it, who runs or serves a flow or a task is refused, naming the line.

    Scripts that call their flow at their end run it whenever they are imported.
    """
    with ExitStack() as stack:
        for engine, kind in ENGINES:
            stack.enter_context(patch(engine, _refusing(kind)))
        for owner, method, kind in METHODS:
            stack.enter_context(patch.object(owner, method, _refusing(kind)))
        yield


def _refusing(kind: str) -> Callable[..., Any]:
    def refuse(*args: Any, **given: Any) -> Any:
        name = shown((args[0] if args else given[kind]).name)
        where = line_of(sys._getframe(1))
        raise InvalidInput(f"{where}importing the file would run {kind} {name}; {GUARD}")

    return refuse
