"""What is stored is asked of the server once; one that does not answer delays a flow once."""

from __future__ import annotations

import logging
from contextvars import copy_context
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator_prefect.resume import stored
from orchestrator_prefect.resume.earlier_tries import EarlierTries
from orchestrator_prefect.resume.stored import Stored
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.sending.epoch import Submission


def test_all_submissions_together_wait_for_the_server_only_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, clock, waited = Event(), [100.0], []

    class Asked:
        """A server that never answers; who waits for it lets the clock go on."""

        def result(self, seconds: float) -> EarlierTries:
            waited.append(seconds)
            clock[0] += seconds
            raise TimeoutError

    monkeypatch.setattr(stored, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(EarlierTries, "of", lambda flow_run_id: answers.wait(60.0))
    again = SimpleNamespace(id="0", run_count=2, empirical_policy=SimpleNamespace(pause_keys=()))
    info = FlowRunInfo("f", "f" * 32, copy_context(), logging.getLogger(__name__), again)
    made: Any = Stored(info)
    made._tries = Asked()
    batch = [Submission(f"t-{i}", "t", f"key-{i}") for i in range(20)]
    for each in batch:
        made.look(each, None, {})
    answers.set()
    assert sum(waited) == pytest.approx(stored.READY_SECONDS)
    assert made.marked(batch) == batch, "all count in full"
