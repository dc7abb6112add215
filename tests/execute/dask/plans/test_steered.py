"""When a planned run is looked at again: by what has ended since the last look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask.plans.steered import Steered
from orchestrator_core.execute.live import Course
from orchestrator_core.execute.mending_rules import PAUSE
from orchestrator_core.execute.turns import Claim
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.schedule import Assignment, Schedule

WORKERS = ("w0",)


class Run:
    """Ten tasks of a second each, planned one after the other; what ended, and a look."""

    def __init__(self) -> None:
        instance = Instance.from_arrays(np.ones((10, 1)), [])
        plan = retime(
            instance, Schedule([Assignment(f"t{i}", "w0", i, i + 1.0) for i in range(10)])
        )
        self.ended: list[Any] = []
        names = {name: f"k-{name}" for name in instance.graph.names}
        followed: Any = SimpleNamespace(
            ended=self.ended,
            snapshot=SimpleNamespace(key_of=names, keys=list(names.values()), stored={}, there={}),
            started_at=0.0,
            notes=[],
            open=set(names.values()),
        )
        self.steered = Steered(followed, Course(instance, plan), plan.makespan, prefetch=False)
        self.look(0.0)

    def end(self, task: str, moment: float) -> None:
        self.steered.run.open.discard(f"k-{task}")  # type: ignore[attr-defined]
        self.steered.sent.pop(f"k-{task}", None)
        self.ended.append((f"k-{task}", "ok", ("w0", "w0"), moment - 1.0, moment))

    def look(self, now: float, takes: float = 0.0) -> bool:
        """Was it time to look? Then somebody has, which takes some seconds."""
        if not self.steered.is_due(now, WORKERS):
            return False
        sight: Any = SimpleNamespace(now=now, cluster=SimpleNamespace(names=WORKERS))
        self.steered.asked(sight)
        self.steered.answered(now + takes)
        return True


def test_nobody_looks_while_the_plan_is_kept() -> None:
    run = Run()
    for i in range(4):
        run.end(f"t{i}", i + 1.0)
        assert not run.look(i + 1.5)


def test_one_task_that_was_far_off_does_not_hide_what_comes_after_it() -> None:
    """It ended four seconds early: more than all others will be late."""
    run = Run()
    run.end("t4", 1.0)
    assert run.look(1.5)
    looks = []
    for i in range(4):
        moment = 2.0 + 1.4 * i
        run.end(f"t{i}", moment)
        looks.append(run.look(moment + 0.3))
    assert all(looks)


def test_a_delay_that_was_seen_is_not_looked_at_again() -> None:
    run = Run()
    run.end("t0", 1.5)
    assert run.look(1.8)
    assert not run.look(2.2)
    run.end("t1", 2.5)
    assert not run.look(2.8)


def test_it_is_looked_at_when_others_come_or_go_however_well_it_goes() -> None:
    run = Run()
    run.end("t0", 1.0)
    assert not run.look(1.2)
    run.steered.look_again()
    assert run.look(1.2)
    assert not run.look(1.3)
    run.steered.look_again()
    assert not run.look(1.3), "not twice in a moment"
    assert run.look(1.2 + PAUSE)


def test_what_is_left_of_it_is_by_what_was_seen_last() -> None:
    run = Run()
    run.steered.sent |= {f"k-t{i}": 0.0 for i in range(4)}
    run.end("t0", 1.0)
    run.end("t1", 2.0)
    assert run.steered.left(2.5) == {"w0": 7.5}
    assert run.steered.left(2.55) == {"w0": 7.5}, "that is fresh enough"
    run.end("t2", 3.0)
    assert run.steered.left(3.5) == {"w0": 6.5}
    late = Schedule([Assignment(f"t{i}", "w0", i + 3.0, i + 4.0) for i in range(10)])
    run.steered.seen(late, 13.0)
    assert run.steered.left(3.5) == {"w0": 7.0}, "it begins at 6"
    assert run.steered.claim(3.5) == Claim(False, 7.0)


def test_a_run_whose_tasks_are_kept_from_running_has_as_much_left_as_before() -> None:
    """The first runs on, by a quarter of its age; one thread has begun no other."""
    run = Run()
    run.steered.sent |= {f"k-t{i}": 0.0 for i in range(10)}
    assert run.steered.claim(8.0) == Claim(False, 2.0 + 9.0)
    assert run.steered.claim(80.0) == Claim(False, 20.0 + 9.0)


@pytest.mark.parametrize(("times", "told"), [(0, 0), (3, 3), (7, 4)])
def test_people_are_told_how_it_was_mended_and_then_how_often(times: int, told: int) -> None:
    run = Run()
    for number in range(times):
        run.steered.mended(run.steered.course.schedule, f"reason {number}")
    run.steered.ended()
    notes = run.steered.run.notes
    assert notes[:3] == [f"reason {number}" for number in range(min(times, 3))]
    assert notes[3:] == ["its plan was mended 7 times in all"][: told - min(times, 3)]


@pytest.mark.parametrize(("takes", "pause"), [(0.0, PAUSE), (0.3, 3.0), (2.0, 5.0)])
def test_repairs_that_take_long_are_made_less_often(takes: float, pause: float) -> None:
    """Ten times as long as the last one took nothing is repaired, and five seconds at most."""
    run = Run()
    run.end("t0", 3.0)
    assert run.look(3.0, takes)
    run.end("t1", 9.0)
    again = 3.0 + takes + pause
    assert not run.look(again - 0.01)
    assert run.look(again + 0.01)
