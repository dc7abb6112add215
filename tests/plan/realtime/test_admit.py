"""Flows that run for ever: admitted with a schedule that can be repeated, or refused."""

from __future__ import annotations

import sys
from itertools import combinations
from math import floor

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.realtime import (
    Admitted,
    Flow,
    PeriodicFlow,
    Refused,
    SporadicFlow,
    admit,
)
from orchestrator_core.plan.realtime.admit import _overused
from orchestrator_core.plan.realtime.unroll import hyperperiod

PATIENT = Budget(seconds=30.0)
ONE = Cluster([Worker("w0")])


def single(seconds: float, cluster: Cluster = ONE) -> Instance:
    return Instance.price(TaskGraph.from_tasks([Task("t", seconds=seconds)]), cluster)


def test_hyperperiods() -> None:
    assert hyperperiod([2, 3, 4]) == 12
    assert float(hyperperiod([0.1, 0.25])) == 0.5
    assert float(hyperperiod([2e-9, 3e-9])) == pytest.approx(6e-9, rel=1e-12)


def test_flows_that_fit_get_a_schedule() -> None:
    flows = [PeriodicFlow("fast", single(1), 2), PeriodicFlow("slow", single(2), 4)]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert answer.hyperperiod == 4.0
    # The slow one's two seconds must lie together, between the two of the fast one.
    rows = sorted((a.start, a.end, a.task) for a in answer.schedule.assignments)
    assert rows == [(0, 1, "fast/0/t"), (1, 3, "slow/0/t"), (3, 4, "fast/1/t")]
    assert answer.response == {"fast": 2.0, "slow": 3.0}


def test_more_work_than_time() -> None:
    flows = [PeriodicFlow("a", single(1), 2), PeriodicFlow("b", single(2), 3.5)]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Refused)
    assert answer.proven
    assert answer.flows == ("a", "b")
    assert "107%" in answer.reason


def test_work_that_fits_in_the_long_run_but_not_in_time() -> None:
    # Nobody interrupts the 3 s of `long`, so one of the `short` ones misses its deadline.
    flows = [PeriodicFlow("short", single(1), 3, deadline=1), PeriodicFlow("long", single(3), 9)]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Refused)
    assert answer.proven
    assert set(answer.flows) == {"short", "long"}


def test_offsets_make_room() -> None:
    flows = [
        PeriodicFlow("a", single(1), 2, deadline=1),
        PeriodicFlow("b", single(1), 2, deadline=1, offset=1),
    ]
    assert isinstance(admit(ONE, flows, PATIENT), Admitted)
    together = [flows[0], PeriodicFlow("b", single(1), 2, deadline=1)]
    assert isinstance(admit(ONE, together, PATIENT), Refused)


def test_a_server_bounds_the_response_of_what_arrives_at_any_time() -> None:
    flows: list[Flow] = [
        PeriodicFlow("a", single(1), 2),
        SporadicFlow("s", single(1), gap=4, deadline=8),
    ]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert answer.served == ("s",)
    slots = sorted(a.start for a in answer.schedule.assignments if a.task.startswith("s/"))
    for arrival in np.arange(0.0, 3 * answer.hyperperiod, 0.25):
        turn = floor(arrival / answer.hyperperiod)
        coming = [s + k * answer.hyperperiod for k in (turn, turn + 1) for s in slots]
        served = min(s for s in coming if s >= arrival)
        assert served + 1 - arrival <= answer.response["s"] <= 8.0


def test_what_finds_a_slot_taken_waits_for_the_next_one() -> None:
    """Slots can only be at 0, 11 and 29 s of 30 s: of arrivals just after 0 s and 10 s the first
    one takes the slot at 11 s, so that the second one waits for that at 29 s."""
    busy = TaskGraph.from_tasks(
        [
            Task("x", seconds=10, release=1, deadline=11),
            Task("y", seconds=17, release=12, deadline=29),
        ]
    )
    flows: list[Flow] = [
        SporadicFlow("s", single(1), gap=10, deadline=20),
        PeriodicFlow("busy", Instance.price(busy, ONE), period=30),
    ]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Admitted)
    rows = [a for a in answer.schedule.assignments if a.task.startswith("s/")]
    assert sorted(a.start for a in rows) == [0, 11, 29]
    assert answer.response["s"] == 20.0


def test_no_arrival_waits_longer_than_the_response() -> None:
    """Random arrivals, one slot for each, the oldest first."""
    rng = np.random.default_rng(4)
    flows: list[Flow] = [
        PeriodicFlow("a", single(3), 12, deadline=9),
        SporadicFlow("s", single(2), gap=4, deadline=12),
    ]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Admitted)
    slots = sorted(a.start for a in answer.schedule.assignments if a.task.startswith("s/"))
    rounds = [s + k * answer.hyperperiod for k in range(40) for s in slots]
    for _ in range(50):
        coming, now = iter(rounds), 0.0
        for _ in range(60):
            now += 4.0 + float(rng.choice([0.0, 0.0, rng.uniform(0.0, 6.0)]))
            assert next(s for s in coming if s >= now) + 2 - now <= answer.response["s"] + 1e-9


def test_what_comes_seldom_has_no_slot_whenever_all_else_repeats() -> None:
    """Five seconds of work in each second would be too much; every 50 s is soon enough."""
    two = Cluster([Worker("w0"), Worker("w1")])
    flows: list[Flow] = [
        PeriodicFlow("often", single(0.1, two), 1),
        SporadicFlow("seldom", single(5, two), gap=1000, deadline=100),
    ]
    answer = admit(two, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert answer.hyperperiod == 50.0
    rows = [row.task.split("/")[0] for row in answer.schedule.assignments]
    assert (rows.count("often"), rows.count("seldom")) == (50, 1)
    assert answer.response["often"] <= 1.0
    assert answer.response["seldom"] <= 100.0


def test_slots_are_seldomer_where_so_many_do_not_fit() -> None:
    """Two gaps of 1 s in 4 s: of three tasks of 0.6 s one has to wait for the next 4 s. They are
    1.8 s of the 2 s that are left, so that no sum tells."""
    graph = TaskGraph.from_tasks([Task(f"t{i}", seconds=0.6) for i in range(3)])
    flows: list[Flow] = [
        PeriodicFlow("a", single(1), 4, deadline=1),
        PeriodicFlow("b", single(1), 4, deadline=1, offset=2),
        SporadicFlow("s", Instance.price(graph, ONE), gap=1000, deadline=40),
    ]
    answer = admit(ONE, flows, Budget(seconds=4.0))
    assert isinstance(answer, Admitted)
    assert answer.hyperperiod == 20.0
    assert answer.response["s"] <= 40.0


def test_releases_and_deadlines_of_what_is_served_count_from_its_arrival() -> None:
    tasks = [Task("now", seconds=1, deadline=12), Task("later", seconds=1, release=4)]
    flow = SporadicFlow("s", Instance.price(TaskGraph.from_tasks(tasks), ONE), gap=20, deadline=24)
    answer = admit(ONE, [flow], PATIENT)
    assert isinstance(answer, Admitted)
    length, rows = answer.hyperperiod, answer.schedule.assignments
    slots: dict[str, dict[str, float]] = {}
    for row in rows:
        _, slot, task = row.task.split("/")
        slots.setdefault(slot, {})[task] = row.start
    # A slot serves what arrives in time for both of its tasks, and after the slot before it.
    times = [
        {task: start + round_ * length for task, start in slots[slot].items()}
        for round_ in range(3)
        for slot in sorted(slots, key=int)
    ]
    until = [min(slot["now"], slot["later"] - 4) for slot in times]
    for slot, before, last in zip(times[1:], until, until[1:], strict=False):
        assert slot["now"] >= last
        assert slot["later"] >= last + 4
        assert slot["now"] + 1 <= before + 12
        assert max(slot.values()) + 1 <= before + answer.response["s"] + 1e-9
    assert answer.response["s"] <= 24


def test_a_deadline_that_no_slot_can_keep_is_refused() -> None:
    graph = TaskGraph.from_tasks([Task("t", seconds=2, deadline=3)])
    answer = admit(ONE, [SporadicFlow("s", Instance.price(graph, ONE), gap=10, deadline=20)])
    assert isinstance(answer, Refused)
    assert not answer.proven
    assert answer.flows == ("s",)


def test_a_hyperperiod_that_is_too_long_is_served_in_slots() -> None:
    periods = {"a": 7.001, "b": 9.013, "c": 11.017, "d": 13.019}
    flows = [PeriodicFlow(name, single(0.5), period) for name, period in periods.items()]
    assert hyperperiod(list(periods.values())) > 1e6
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert set(answer.served) == set(periods)
    for name, period in periods.items():
        assert answer.response[name] <= period


def test_so_is_one_that_no_float_can_tell() -> None:
    periods = np.random.default_rng(0).uniform(1.0, 100.0, 60).tolist()
    assert hyperperiod(periods) > 10**309
    flows = [PeriodicFlow(f"f{i}", single(0.001), period) for i, period in enumerate(periods)]
    answer = admit(ONE, flows, PATIENT)
    assert isinstance(answer, Admitted)
    assert len(answer.served) == 60


def test_more_slots_than_can_be_looked_at_are_refused_at_once() -> None:
    """A day has 1.7 million of them."""
    day = PeriodicFlow("day", single(60.0), 86_400)
    answer = admit(ONE, [day, SporadicFlow("soon", single(0.001), gap=10, deadline=0.1)], PATIENT)
    assert isinstance(answer, Refused)
    assert not answer.proven
    assert answer.flows == ("soon",)
    assert "slots for 1.73e+06 tasks" in answer.reason
    assert "'soon' needs a slot every 0.05 s" in answer.reason


def test_what_is_due_at_once_can_wait_for_no_slot() -> None:
    graph = TaskGraph.from_tasks([Task("t", seconds=0, deadline=0)])
    instance = Instance.price(graph, ONE)
    answer = admit(ONE, [SporadicFlow("s", instance, gap=10, deadline=5)])
    assert isinstance(answer, Refused)
    assert "'s' would run in slots" in answer.reason
    assert isinstance(admit(ONE, [PeriodicFlow("s", instance, 10)]), Admitted)


def test_names_with_slashes_are_told_apart_or_refused() -> None:
    long = Instance.price(TaskGraph.from_tasks([Task("ns/t", seconds=3.0)]), ONE)
    answer = admit(ONE, [PeriodicFlow("f", long, 9), PeriodicFlow("g", single(1), 3, deadline=1)])
    assert isinstance(answer, Refused)
    assert set(answer.flows) == {"f", "g"}
    inner = Instance.price(TaskGraph.from_tasks([Task("1/t", seconds=1.0)]), ONE)
    with pytest.raises(InvalidInput, match="'a', 'a/0' two have tasks that would be called alike"):
        admit(ONE, [PeriodicFlow("a", inner, 10), PeriodicFlow("a/0", single(1), 5)])


def test_what_cannot_be_asked() -> None:
    other = Cluster([Worker("x")])
    with pytest.raises(InvalidInput, match="no flows"):
        admit(ONE, [])
    with pytest.raises(InvalidInput, match="two flows"):
        admit(ONE, [PeriodicFlow("a", single(1), 9), PeriodicFlow("a", single(1), 9)])
    with pytest.raises(InvalidInput, match="another cluster"):
        admit(ONE, [PeriodicFlow("a", single(1, other), 9)])
    with pytest.raises(InvalidInput, match="flows is 'a'; give a list of flows"):
        admit(ONE, "a")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="cluster is None"):
        admit(None, [PeriodicFlow("a", single(1), 9)])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="period '9'"):
        PeriodicFlow("a", single(1), "9")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="period"):
        PeriodicFlow("a", single(1), 0)
    with pytest.raises(InvalidInput, match="offset"):
        PeriodicFlow("a", single(1), 1, offset=-1)
    with pytest.raises(InvalidInput, match="gap"):
        SporadicFlow("a", single(1), gap=float("inf"), deadline=1)


def edf_fits(flows: list[PeriodicFlow], length: float) -> bool:
    """Does earliest deadline first, one task after another, keep all deadlines from time 0 on?"""
    waiting = [
        (k * f.period, k * f.period + f.relative_deadline, float(f.instance.seconds[0, 0]))
        for f in flows
        for k in range(round(length / f.period))
    ]
    clock = 0.0
    while waiting:
        ready = [job for job in waiting if job[0] <= clock]
        if not ready:
            clock = min(job[0] for job in waiting)
            continue
        job = min(ready, key=lambda each: each[1])
        waiting.remove(job)
        clock += job[2]
        if clock > job[1]:
            return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_what_earliest_deadline_first_can_do_is_admitted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    flows = []
    for i in range(3):
        period = float(rng.choice([4, 6, 8, 12]))
        deadline = float(rng.integers(2, int(period) + 1))
        seconds = single(float(rng.integers(1, 3)))
        flows.append(PeriodicFlow(f"f{i}", seconds, period, deadline))
    answer = admit(ONE, flows, PATIENT)
    if edf_fits(flows, float(hyperperiod([flow.period for flow in flows]))):
        assert isinstance(answer, Admitted)
        assert all(answer.response[f.name] <= f.relative_deadline for f in flows)
    else:
        assert isinstance(answer, Admitted) or answer.proven


def test_a_refusal_tells_where_the_slots_come_from() -> None:
    """Dates of slots are nobody's dates, and no budget helps."""
    answer = admit(ONE, [SporadicFlow("alarm", single(5.0), gap=100, deadline=9.9)])
    assert isinstance(answer, Refused)
    assert not answer.proven
    assert answer.reason.startswith(
        "served, since arrivals may just miss one: "
        "'alarm' in slots every 4.95 s that end within 4.95 s. "
    )
    both = [PeriodicFlow("a", single(4.0), 9.973), PeriodicFlow("b", single(4.0), 10.007)]
    late = admit(ONE, both)
    assert isinstance(late, Refused)
    assert "since all together repeat too late: 'a' in slots every 3.336 s" in late.reason
    plain = admit(ONE, [PeriodicFlow("p", single(4.0), 8.0, deadline=3.0)])
    assert isinstance(plain, Refused)
    assert "slots" not in plain.reason


def test_more_arrivals_than_can_be_worked_off_are_refused_for_good() -> None:
    """They may come every 10 s, and take 20."""
    answer = admit(ONE, [SporadicFlow("x", single(20.0), gap=10, deadline=100)])
    assert isinstance(answer, Refused)
    assert answer.proven
    assert "200%" in answer.reason


def test_many_sets_of_workers_are_looked_at_together() -> None:
    """Three of twelve workers for each task, as a file has three copies: all 220 sets of them take
    fewer calls than there are sets. Only what is confined to w0, w1 and w2 is too much: 3.9 s of
    work in each second."""
    seconds = np.full((220, 12), np.inf)
    for row, workers in zip(seconds, combinations(range(12), 3), strict=True):
        row[list(workers)] = 0.001
    few, many = Instance.from_arrays(seconds, []), seconds.copy()
    many[0, :3] = 3.9
    made: list[str] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: made.append(event) if event.endswith("call") else None)
    try:
        assert _overused([PeriodicFlow("f", few, 1)]) is None
    finally:
        sys.setprofile(before)
    assert len(made) < 220
    crowded = _overused([PeriodicFlow("f", Instance.from_arrays(many, []), 1)])
    assert crowded is not None
    assert "use 3.9 threads of workers w0, w1, w2 all the time" in crowded.reason


def test_of_many_crowded_workers_some_are_named() -> None:
    many = Cluster([Worker(f"w{k}") for k in range(64)])
    answer = admit(many, [PeriodicFlow("f", single(65, many), 1)])
    assert isinstance(answer, Refused)
    assert "65 threads of workers w0, w1, w2, w3, w4, w5 and 58 more all the time" in answer.reason
