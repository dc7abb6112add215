"""Who interrupts a flow while it is being planned reads nothing of what fails for that reason."""

from __future__ import annotations

import logging
from contextvars import copy_context
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator_core.execute.advice import NoAdvisor
from orchestrator_prefect.advisor import AdvisorOnCall
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.session import FlowSession

LOST = "The run could not be recorded: ConnectionError: the scheduler went away"


class Leaving:
    """A scheduler that was asked something, and is left before it has answered."""

    def __init__(self) -> None:
        self.asked, self.left = Event(), Event()

    def mode(self) -> str:
        self.asked.set()
        self.left.wait(10.0)
        raise AttributeError("'NoneType' object has no attribute 'orchestrator_begin'")


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_fails_since_the_flow_was_interrupted_is_not_said(
    caplog: pytest.LogCaptureFixture, interrupted: bool
) -> None:
    sent: list[Any] = []
    client = SimpleNamespace(_send_to_scheduler=sent.append, status="running")
    scheduler: Any = Leaving()
    session = FlowSession(
        client,
        FlowRunInfo("flow", "f" * 32, copy_context(), logging.getLogger(__name__)),
        advisor=AdvisorOnCall(NoAdvisor, owned=False),
        plans=True,
        connect=lambda: scheduler,
        report=False,
    )
    task = SimpleNamespace(name="work", task_key="work", fn=SimpleNamespace(__name__="work"))
    with session.submitting(task, [], []) as submission:
        client._send_to_scheduler({"op": "update-graph", "keys": {submission.key}})
    planning = Thread(target=session.let_go, args=[submission])
    planning.start()
    assert scheduler.asked.wait(10.0)
    if interrupted:
        session.close(left="cancelled")
    scheduler.left.set()
    planning.join()
    if not interrupted:
        session.close()
    said = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert bool(said) is not interrupted
    assert bool(sent) is not interrupted, "what was not sent yet is dropped"


@pytest.mark.parametrize(("status", "said"), [("running", []), ("connecting", [LOST])])
def test_a_scheduler_that_went_away_is_not_waited_for(
    caplog: pytest.LogCaptureFixture, status: str, said: list[str]
) -> None:
    """Dask looks for it for half a minute before it answers."""

    def connect() -> Any:
        raise ConnectionRefusedError

    session = FlowSession(
        SimpleNamespace(status=status, _send_to_scheduler=print),
        FlowRunInfo("flow", "f" * 32, copy_context(), logging.getLogger(__name__)),
        advisor=AdvisorOnCall(NoAdvisor, owned=False),
        plans=True,
        connect=connect,
        report=False,
    )
    session.close()
    found = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert found == said
