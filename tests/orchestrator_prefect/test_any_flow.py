"""Whatever was foreseen, every task that is submitted goes to the scheduler, once, and announced.

Random flows, cut into epochs anywhere, are followed by others that are like them to some point.
The scheduler is a stand-in that notes what it is told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator_core.execute.directives import Hold, Slot
from orchestrator_core.execute.ending import Ending
from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_prefect.advisor import AdvisorOnCall
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.session import FlowSession

from .earlier import Knowing, in_turns

CLUSTER = Cluster([Worker("w0"), Worker("w1")])

Order = tuple[str, str | int, tuple[int, ...]]
"""``submit``, a kind and the positions of inputs; or ``wait`` and the position of a task."""


class Scheduler:
    """Runs what it gets at once, a second each, and checks that it was told before."""

    ending = Ending()

    def __init__(self) -> None:
        self.expected: dict[str, str] = {}
        self.slots: dict[str, Slot] = {}
        self.ran: list[str] = []

    def take(self, message: Mapping[str, Any]) -> None:
        (key,) = message["keys"]
        assert key in self.expected, "nobody announced it"
        self.ran.append(key)

    def mode(self) -> str:
        return "director"

    def cluster(self) -> Cluster:
        return CLUSTER

    def begin(
        self,
        run_id: str,
        batch: Sequence[Submission],
        slots: Mapping[str, Slot],
        holds: Mapping[str, Hold],
        plan: Any,
        gone: Sequence[str] = (),
    ) -> float:
        for key in gone:
            assert key not in self.ran, "what came cannot be gone"
            self.expected.pop(key, None)
            self.slots.pop(key, None)
        keys = {submission.key: submission.name for submission in batch}
        assert slots.keys() <= keys.keys()
        if plan is not None:
            assert plan.instance.graph.index.keys() == set(keys.values())
        self.expected |= keys
        self.slots |= slots
        return 1000.0

    def prepared(self) -> Mapping[str, list[str]]:
        return {}

    def records(self, run_id: str) -> list[tuple[str, TaskRecord]]:
        return [
            (key, TaskRecord("", "", "w0", "", float(i), i + 1.0)) for i, key in enumerate(self.ran)
        ]

    def states(self, keys: Iterable[str]) -> Mapping[str, str]:
        return {}

    def running(self, keys: Iterable[str]) -> Mapping[str, tuple[str, float]]:
        return {}

    def end(self, run_id: str) -> Ending:
        return self.ending


def run(advisor: Knowing, orders: Sequence[Order]) -> tuple[Scheduler, RunRecord]:
    """A flow run that submits and waits in this order."""
    scheduler = Scheduler()
    client = SimpleNamespace(_send_to_scheduler=scheduler.take, status="running")
    info = FlowRunInfo("flow", "f" * 32, copy_context(), logging.getLogger(__name__))
    connect: Callable[[], Any] = lambda: scheduler  # noqa: E731
    session = FlowSession(
        client,
        info,
        advisor=AdvisorOnCall(lambda: advisor, owned=False),
        plans=True,
        connect=connect,
        report=False,
    )
    submitted: list[Submission] = []
    for what, which, inputs in orders:
        if what == "submit":
            after = list(dict.fromkeys(submitted[place].name for place in inputs))
            task = SimpleNamespace(name=which, task_key=which, fn=SimpleNamespace(__name__=which))
            with session.submitting(task, after, []) as submission:
                client._send_to_scheduler({"op": "update-graph", "keys": {submission.key}})
            submitted.append(submission)
        else:
            session.let_go(submitted[int(which)])
            session.ended(submitted[int(which)], "Completed")
    for submission in submitted:
        session.let_go(submission)
    session.close()
    assert sorted(scheduler.ran) == sorted(submission.key for submission in submitted)
    return scheduler, advisor.runs[-1]


def test_what_the_scheduler_says_at_the_end_is_in_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Scheduler, "ending", Ending(("the plan was mended",), others=1e6))
    _, record = run(Knowing(in_turns), [("submit", "load", ())])
    assert record.others == 1e6
    assert record.notes[0] == "the plan was mended"
    assert "tasks that are not its own had 100% of the workers' time" in record.notes[1]


@st.composite
def flows(draw: st.DrawFn, begun: Sequence[Order] = ()) -> list[Order]:
    """A flow that begins like this one and goes on anyhow."""
    orders = list(begun)
    tasks = sum(what == "submit" for what, _, _ in orders)
    for _ in range(draw(st.integers(1, 10))):
        if tasks and draw(st.booleans()):
            orders.append(("wait", draw(st.integers(0, tasks - 1)), ()))
        else:
            places = st.lists(st.integers(0, tasks - 1), max_size=3) if tasks else st.just([])
            orders.append(("submit", draw(st.sampled_from("abc")), tuple(draw(places))))
            tasks += 1
    return orders


@st.composite
def histories(draw: st.DrawFn) -> list[list[Order]]:
    """Runs, each of which is like one before it up to any point, or to the end."""
    found = [[("submit", "a", ()), *draw(flows([("submit", "a", ())]))[1:]]]
    for _ in range(3):
        like = draw(st.sampled_from(found))
        cut = draw(st.integers(1, len(like)))
        found.append(like if draw(st.booleans()) else draw(flows(like[:cut])))
    return found


@settings(max_examples=60, deadline=None)
@given(histories())
def test_every_task_runs_and_the_record_is_of_what_ran(runs: list[list[Order]]) -> None:
    advisor = Knowing(in_turns)
    for orders in runs:
        scheduler, record = run(advisor, orders)
        assert record.graph.n_instances == len(scheduler.ran) == len(record.tasks)
        assert sum(burst.size for burst in record.bursts) == len(record.graph)
        assert record.plan is not None
        planned = [row.task for row in record.plan.schedule.assignments]
        assert len(planned) == len(set(planned))
        assert set(planned) == set(record.graph.names), "each was planned in some epoch"
        assert record.plan.predicted >= record.plan.schedule.makespan - 1e-9
        assert RunRecord.from_json(record.to_json()) == record


@settings(max_examples=30, deadline=None)
@given(flows([("submit", "a", ())]))
def test_a_run_like_the_last_one_asks_once(orders: list[Order]) -> None:
    advisor = Knowing(in_turns)
    first = run(advisor, orders)[1]
    asked = len(advisor.asked)
    scheduler, second = run(advisor, orders)
    assert second.graph == first.graph
    # Pauses are those of this machine: where they matter the same graph is asked about again.
    assert len(advisor.asked) - asked <= 2
    assert scheduler.expected.keys() == set(scheduler.ran), "none was announced in vain"
    assert scheduler.slots.keys() == set(scheduler.ran)
