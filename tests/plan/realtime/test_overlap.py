"""Flows whose deadlines reach over the end of the hyperperiod: known answers, laid side by side."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.realtime import Admitted, PeriodicFlow, Refused, Unknown, admit, overlap

PATIENT = Budget(seconds=30.0)
ONE = Cluster([Worker("w0")])
TWO = Cluster([Worker("w0"), Worker("w1")])


def single(seconds: float, cluster: Cluster) -> Instance:
    return Instance.price(TaskGraph.from_tasks([Task("t", seconds=seconds)]), cluster)


def pipeline(cluster: Cluster) -> Instance:
    """a on w0, then b on w1, 1 s each."""
    tasks = [Task("a", seconds=1, eligible=("w0",)), Task("b", seconds=1, eligible=("w1",))]
    return Instance.price(TaskGraph.from_tasks(tasks, [Edge("a", "b")]), cluster)


def keeps(answer: Admitted, flows: list[PeriodicFlow]) -> bool:
    """Laid out again and again, does each worker with one thread do one thing at a time, and does
    each release begin and end in time?"""
    length, rows = answer.hyperperiod, answer.schedule.assignments
    copies = 1 + math.ceil(answer.schedule.makespan / length)
    for worker in {row.worker for row in rows}:
        busy = sorted(
            (row.start + k * length, row.end + k * length)
            for row in rows
            for k in range(copies)
            if row.worker == worker
        )
        if any(b[0] < a[1] - 1e-9 for a, b in itertools.pairwise(busy)):
            return False
    by_name = {flow.name: flow for flow in flows}
    for row in rows:
        name, number, _ = row.task.split("/")
        flow = by_name[name]
        at = (flow.offset - answer.begin) % flow.period + int(number) * flow.period
        if row.start < at - 1e-9 or row.end > at + flow.relative_deadline + 1e-9:
            return False
    return True


def test_a_pipeline_works_on_two_releases_at_once() -> None:
    flows = [PeriodicFlow("p", pipeline(TWO), period=1, deadline=2)]
    answer = admit(TWO, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert (answer.hyperperiod, answer.response) == (1.0, {"p": 2.0})
    assert keeps(answer, flows)


def test_a_pipeline_pays_for_its_transfer_within_the_deadline() -> None:
    slow = Cluster([Worker("w0"), Worker("w1")], link=Link(latency=0.5))
    late = admit(slow, [PeriodicFlow("p", pipeline(slow), period=1, deadline=2)], PATIENT)
    assert isinstance(late, Refused)
    assert late.proven
    answer = admit(slow, [PeriodicFlow("p", pipeline(slow), period=1, deadline=2.5)], PATIENT)
    assert isinstance(answer, Admitted)
    assert answer.response == {"p": 2.5}


def test_a_task_longer_than_its_period_needs_its_workers_in_turn() -> None:
    """3 s every 2 s: three quarters of two workers, each of which takes every other release."""
    flows = [PeriodicFlow("long", single(3, TWO), period=2, deadline=4)]
    answer = admit(TWO, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert answer.hyperperiod % 4 == 0
    assert keeps(answer, flows)
    alone = admit(ONE, [PeriodicFlow("long", single(3, ONE), period=2, deadline=4)], PATIENT)
    assert isinstance(alone, Refused)
    assert alone.proven


def test_a_worker_that_never_rests_at_the_beginning_of_a_hyperperiod() -> None:
    """`b` must run from 0.5 to 1.5 s, so that the 3 s of `a` end at 4.5 s, of 4 s."""
    flows = [
        PeriodicFlow("a", single(3, ONE), period=4, deadline=5),
        PeriodicFlow("b", single(1, ONE), period=4, deadline=1, offset=0.5),
    ]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert answer.response == {"a": 4.5, "b": 1.0}
    assert keeps(answer, flows)


def test_plans_that_do_not_repeat_themselves_are_tried_as_long_as_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """21 parts of each of many plans could: none does here. Without time one is tried."""
    tried: list[int] = []
    monkeypatch.setattr(overlap, "_repeats", lambda *part: bool(tried.append(1)))
    flows = overlap.Flows(TWO, [PeriodicFlow("f", single(3, TWO), 2, deadline=4)], 2.0, 0.0)
    for budget in (Budget(seconds=0.0), PATIENT):
        answer = overlap.cycle(flows, 6, budget)
        assert isinstance(answer, Unknown)
        assert "that repeats itself" in answer.reason
        tried.append(0)
    assert tried.index(0) == 1
    assert len(tried) > 2 + 2 * 21


def test_what_no_later_deadline_helps_is_refused_for_good() -> None:
    """Nobody interrupts the 3 s of `long`, so one of the `short` ones misses its deadline."""
    flows = [
        PeriodicFlow("short", single(1, ONE), period=3, deadline=1),
        PeriodicFlow("long", single(3, ONE), period=9, deadline=12),
    ]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Refused)
    assert answer.proven
    assert set(answer.flows) == {"short", "long"}


@pytest.mark.parametrize("seed", range(8))
def test_what_is_admitted_can_be_repeated(seed: int) -> None:
    """Random flows, at most three quarters of two workers, with deadlines up to two periods."""
    rng = np.random.default_rng(seed)
    flows = []
    for i, load in enumerate(rng.dirichlet(np.ones(3)) * 1.5):
        period = float(rng.choice([2, 3, 4, 6]))
        seconds = max(0.25, round(4 * load * period) / 4)
        deadline = max(seconds, float(rng.uniform(1, 2)) * period)
        offset = float(rng.integers(0, 3))
        flows.append(PeriodicFlow(f"f{i}", single(seconds, TWO), period, deadline, offset))
    answer = admit(TWO, flows, PATIENT)
    if isinstance(answer, Admitted):
        assert keeps(answer, flows)
        for flow in flows:
            assert answer.response[flow.name] <= flow.relative_deadline + 1e-9
