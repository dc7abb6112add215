"""The flow's context is serialised once for many submissions, and what may change is sent anew."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from threading import Lock
from typing import Any

import cloudpickle
import pytest
from prefect import flow
from prefect.context import FlowRunContext, hydrated_context, serialize_context
from prefect.flows import Flow
from prefect.task_runners import ThreadPoolTaskRunner

from orchestrator_prefect import optimized_flow
from orchestrator_prefect.sending.context import SerializedOnce

pytestmark = pytest.mark.usefixtures("prefect_server")


def sent() -> bytes:
    """The message with the present context."""
    message: bytes = cloudpickle.dumps(serialize_context())
    return message


def of_run(message: bytes) -> dict[str, Any]:
    """What a worker is told of the flow's run."""
    told: dict[str, Any] = pickle.loads(message)["flow_run_context"]
    return told


class Counted:
    """Is pickled with a flow that names it, and counts how often."""

    times = 0

    def __reduce__(self) -> str | tuple[Any, ...]:
        Counted.times += 1
        return (int, ())


def test_a_flow_is_pickled_once_for_many_submissions() -> None:
    Counted.times = 0
    counted = Counted()

    @flow
    def asks() -> None:
        assert counted
        once = SerializedOnce()
        for _ in range(5):
            with once.reused():
                sent()

    asks()
    assert Counted.times == 1


def test_workers_are_sent_a_plain_flow_even_of_a_deployed_one() -> None:
    @optimized_flow(store="sqlite:///hunter2.db", task_runner=ThreadPoolTaskRunner())
    def asks() -> bytes:
        with SerializedOnce().reused():
            return sent()

    asks.to_deployment("served")
    message = asks()
    assert b"hunter2" not in message
    assert type(of_run(message)["flow"]) is Flow


def test_it_is_what_prefect_sends() -> None:
    @flow(name="told", log_prints=True, persist_result=True)
    def asks(xs: list[int]) -> tuple[bytes, bytes]:
        with SerializedOnce().reused():
            ours = sent()
        return ours, sent()

    ours, stock = map(of_run, asks([1, 2]))
    flows = ours.pop("flow"), stock.pop("flow")
    assert ours == stock
    assert [each.name for each in flows] == ["told", "told"]
    assert {"parameters", "flow_run", "result_store"} < set(ours)


def test_what_arrives_needs_nothing_of_this_project() -> None:
    @flow
    def asks() -> bytes:
        with SerializedOnce().reused():
            return sent()

    message = asks()
    assert b"Pickled" not in message
    assert b"StandIn" not in message


def test_a_worker_lives_in_the_run_of_the_flow() -> None:
    @flow(name="at-home")
    def asks(x: int) -> bytes:
        with SerializedOnce().reused():
            return sent()

    with hydrated_context(pickle.loads(asks(3))):
        context = FlowRunContext.get()
        assert context is not None
        assert context.flow is not None
        assert (context.flow.name, context.parameters) == ("at-home", {"x": 3})


def test_parameters_that_the_flow_changes_are_sent_as_they_are_now() -> None:
    @flow
    def asks(xs: list[int]) -> list[bytes]:
        once, messages = SerializedOnce(), []
        for x in (1, 2):
            xs.append(x)
            with once.reused():
                messages.append(sent())
        return messages

    told = [of_run(message)["parameters"]["xs"] for message in asks([])]
    assert told == [[1], [1, 2]]


def test_what_the_submission_notes_of_the_run_is_noted() -> None:
    @flow
    def asks() -> None:
        context = FlowRunContext.get()
        assert context is not None
        with SerializedOnce().reused():
            inside = FlowRunContext.get()
            assert inside is not None
            inside.run_results[7] = ("state", "type", None)  # type: ignore[assignment]
            inside.detached = True
        assert FlowRunContext.get() is context
        assert 7 in context.run_results
        assert context.detached

    asks()


def test_the_next_run_is_noticed() -> None:
    once = SerializedOnce()

    @flow
    def asks(sending: Callable[[], Any]) -> Any:
        return sending()

    def sending() -> Any:
        with once.reused():
            return serialize_context()["flow_run_context"]["flow_run"]

    first, second = (asks(sending) for _ in range(2))
    assert first["id"] != second["id"]


def test_a_flow_that_cannot_be_pickled_says_so_as_always() -> None:
    lock = Lock()

    @flow
    def asks() -> None:
        assert lock
        with SerializedOnce().reused():
            sent()

    with pytest.raises(TypeError, match="cannot pickle"):
        asks()


def test_a_prefect_that_works_in_another_way_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlowRunContext, "__copy__", None)

    @flow
    def asks(x: int) -> bytes:
        with SerializedOnce().reused():
            return sent()

    assert of_run(asks(5))["parameters"] == {"x": 5}
