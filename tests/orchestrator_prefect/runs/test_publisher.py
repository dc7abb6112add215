"""Artifacts are published aside: a slow server holds up nobody, a broken one costs a warning."""

from __future__ import annotations

import logging
from contextvars import ContextVar, copy_context
from threading import Event

import pytest

from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.runs.publisher import Publisher

inside: ContextVar[str] = ContextVar("inside")


@pytest.fixture
def failures() -> list[str]:
    return []


def publisher(failures: list[str]) -> Publisher:
    info = FlowRunInfo("flow", "f" * 32, copy_context(), logging.getLogger(__name__))
    return Publisher(info, lambda what, error: failures.append(f"{what}: {error}"))


def test_all_is_published_in_order_inside_the_flow_run(
    failures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        "orchestrator_prefect.runs.artifacts.publish",
        lambda what, flow, text: found.append((what, flow, text, inside.get())),
    )
    inside.set("the flow run")
    made = publisher(failures)
    made.publish("plan", "# Plan")
    made.publish("outcome", "# Outcome")
    made.close()
    made.wait(30.0)
    assert found == [
        ("plan", "flow", "# Plan", "the flow run"),
        ("outcome", "flow", "# Outcome", "the flow run"),
    ]
    assert failures == []


def test_a_server_that_does_not_answer_holds_up_no_task_and_the_end_not_for_long(
    failures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Event()
    monkeypatch.setattr(
        "orchestrator_prefect.runs.artifacts.publish", lambda *said: answers.wait(60.0)
    )
    made = publisher(failures)
    made.publish("plan", "# Plan")
    made.close()
    made.wait(0.05)
    assert not answers.is_set(), "it came back before the server answered"
    assert failures == ["The artifacts are not published yet: the server did not answer in time"]
    answers.set()


def test_what_fails_is_told_and_the_next_one_is_published(
    failures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def publish(what: str, flow: str, text: str) -> None:
        if what == "plan":
            raise OSError("503")
        found.append(what)

    monkeypatch.setattr("orchestrator_prefect.runs.artifacts.publish", publish)
    made = publisher(failures)
    made.publish("plan", "# Plan")
    made.publish("outcome", "# Outcome")
    made.close()
    made.wait(30.0)
    assert failures == ["The plan could not be published as an artifact: 503"]
    assert found == ["outcome"]


def test_nothing_to_publish_starts_no_thread(failures: list[str]) -> None:
    made = publisher(failures)
    made.close()
    made.wait()
    assert made._thread is None
