"""Threads that somebody else has for a while."""

from __future__ import annotations

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput, InvalidSchedule
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.repair import Occupied, Running, WorkerLost, replan
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.repair.by_hand import repaired, row, their_plan, two_workers


def halves(threads: int = 1, memory: float = float("inf")) -> Instance:
    """Four tasks of 2 s on two workers."""
    return Instance.from_arrays(
        [[2.0, 2.0]] * 4,
        [],
        threads=threads,
        memory=memory,
        task_memory=1.0,
        task_names=["a", "b", "c", "d"],
    )


def two_each() -> Schedule:
    return Schedule(
        [
            Assignment("a", "w0", 0, 2),
            Assignment("b", "w1", 0, 2),
            Assignment("c", "w0", 2, 4),
            Assignment("d", "w1", 2, 4),
        ]
    )


def test_what_waits_begins_when_the_thread_is_free() -> None:
    # c keeps its worker, although w0 idles: there it would end at 6 + 3 s, and that is no sooner.
    result = repaired(two_workers(), their_plan(), 4.0, [Occupied("w1", until=4.5)])
    assert row(result, "c") == Assignment("c", "w1", 4.5, 7.5)


def test_what_can_run_elsewhere_goes_there() -> None:
    result = repaired(halves(), two_each(), 0.0, [Occupied("w0", until=5.0)])
    assert result.makespan == 7.0, "three of four tasks run on the other worker"
    assert sorted(run.worker for run in result.schedule.assignments) == ["w0", "w1", "w1", "w1"]
    assert result.kept_makespan == 9.0, "if all had stayed"


def test_other_threads_of_the_worker_stay_free() -> None:
    result = repaired(halves(threads=2), two_each(), 0.0, [Occupied("w0", until=9.0)])
    assert result.makespan == 4.0
    assert result.moved == ()


def test_it_adds_to_what_runs_there() -> None:
    running = [Running("a", expected_end=3.0), Running("b", expected_end=2.0)]
    events = [*running, Occupied("w0", until=6.0)]
    result = repaired(halves(), two_each(), 1.0, events)
    assert row(result, "c") == Assignment("c", "w1", 2, 4)
    assert row(result, "d") == Assignment("d", "w1", 4, 6)


@pytest.mark.parametrize("memory", [100.0, float("inf")])
def test_who_counts_bytes_counts_the_threads_too(memory: float) -> None:
    result = repaired(halves(memory=memory), two_each(), 0.0, [Occupied("w1", until=6.0)])
    assert result.makespan == 8.0
    assert sum(run.worker == "w0" for run in result.schedule.assignments) in (3, 4)


def test_a_lost_workers_threads_are_nobodys() -> None:
    events = [Occupied("w0", until=50.0), WorkerLost("w0")]
    assert repaired(halves(), two_each(), 0.0, events).makespan == 8.0


def test_the_check_sees_who_takes_an_occupied_thread() -> None:
    result = repaired(halves(), two_each(), 0.0, [Occupied("w0", until=5.0)])
    rest = result.remainder
    rows = [
        run if run.worker != "w0" or run.task not in "abcd" else Assignment(run.task, "w0", 0, 2)
        for run in rest.schedule.assignments
    ]
    with pytest.raises(InvalidSchedule, match="threads"):
        check_schedule(rest.instance, Schedule(rows))


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Occupied("w7", until=3.0), "there is no worker 'w7'; there are"),
        (Occupied("w0", until=1.0), "it is occupied until before now, 2 s"),
        (Occupied("w0", until=float("inf")), "it is occupied until before now, 2 s"),
        (Occupied("w0", until="soon"), "it is occupied until before now, 2 s"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(event: Occupied, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        replan(two_workers(), their_plan(), 2.0, [event])
