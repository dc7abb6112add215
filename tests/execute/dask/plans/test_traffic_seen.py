"""What a planned run knows of others, of a scheduler that is made up."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask.graphs.generation import Generation
from orchestrator_core.execute.dask.plans import traffic
from orchestrator_core.execute.dask.plans.steered import Steered
from orchestrator_core.execute.dask.plans.traffic import Traffic
from orchestrator_core.execute.live import Course
from orchestrator_core.execute.turns import Claim
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Assignment, Schedule

NOW = 1000.0


@dataclass
class World:
    """Two workers of a thread each, and the tasks that the scheduler knows."""

    tasks: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workers = {name: worker(name) for name in ("w0", "w1")}
        roster: Any = SimpleNamespace(name=lambda address: address)
        scheduler: Any = SimpleNamespace(tasks=self.tasks, workers=self.workers)
        self.traffic, self.scheduler = Traffic(scheduler, roster), scheduler

    def task(self, key: str, priority: tuple[float, ...], seconds: float = -1.0) -> Any:
        found = Task(key, priority, SimpleNamespace(duration_average=seconds))
        self.tasks[key] = found
        return found

    def members(self, tag: str, tasks: int, user: int = 0, generation: int = 7) -> Any:
        """What began now: tasks that have come."""
        names = [f"{tag}{i}" for i in range(tasks)]
        for place, name in enumerate(names):
            self.task(name, (user, generation, place))
        return Hashable(
            run_id=tag,
            generation=Generation(),
            started_at=NOW,
            snapshot=Members(names),
            open=set(names),
            coming=frozenset(),
            ended=[],
        )

    def run(self, tag: str, tasks: int, user: int = 0, generation: int = 7) -> Steered:
        """The same by a plan: each takes a second, one after the other on w0."""
        run = self.members(tag, tasks, user, generation)
        names = run.snapshot.names
        instance = Instance.from_arrays(np.ones((tasks, 2)), [], task_names=names)
        plan = Schedule([Assignment(name, "w0", i, i + 1.0) for i, name in enumerate(names)])
        course = Course(instance, retime(instance, plan))
        turn = self.traffic.turn(run, Claim(False, float(tasks)))
        steered = Steered(run, course, float(tasks), False, turn)
        self.traffic.enter(steered)
        return steered

    def sent(self, key: str, to: str = "w0", since: float | None = None) -> None:
        """A worker has the task; it runs it `since` so many seconds."""
        task, there = self.tasks[key], self.workers[to]
        there.processing[task] = 1.0
        task.processing_on = there
        if since is not None:
            there.executing[task] = since


@dataclass(eq=False)
class Task:
    key: str
    priority: tuple[float, ...]
    prefix: Any
    processing_on: Any = None


def worker(name: str) -> Any:
    found: dict[str, Any] = {"processing": {}, "executing": {}, "long_running": set()}
    return SimpleNamespace(address=name, nthreads=1, last_seen=NOW, **found)


class Members(SimpleNamespace):
    """Keys that are names."""

    def __init__(self, names: list[str]) -> None:
        key_of = {name: name for name in names}
        super().__init__(keys=names, names=names, key_of=key_of, stored={}, there={})

    def __len__(self) -> int:
        return len(self.names)


class Hashable(SimpleNamespace):
    """One like no other."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__


@pytest.fixture(autouse=True)
def it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "time", lambda: NOW)


def test_all_that_comes_first_is_before_what_is_behind() -> None:
    world = World()
    long, short = world.run("long", 9), world.run("short", 4)
    assert world.traffic.occupied(long, 0.0) == {"w0": [4.0]}
    assert world.traffic.occupied(short, 0.0) == {}


def test_what_runs_is_counted_once_and_for_what_is_left_of_it() -> None:
    world = World()
    long, short = world.run("long", 9), world.run("short", 4)
    world.sent("short0", since=0.25)
    assert world.traffic.occupied(long, 0.0) == {"w0": [4.0]}
    assert world.traffic.occupied(short, 0.0) == {}
    world.sent("long0", to="w1", since=0.25)
    assert world.traffic.occupied(short, 0.0) == {"w1": [0.75]}, "nobody takes it off its thread"


def test_generations_and_users_come_before_turns() -> None:
    world = World()
    first, later = world.run("first", 9), world.run("later", 2, generation=8)
    urgent = world.run("urgent", 30, user=-5)
    assert world.traffic.occupied(first, 0.0) == {"w0": [30.0]}
    assert world.traffic.occupied(later, 0.0) == {"w0": [39.0]}
    assert world.traffic.occupied(urgent, 0.0) == {}
    assert (first.turn.first, later.turn.first, urgent.turn.first) == (0.0, 0.0, 0.0)


def test_tasks_that_nobody_planned_count_by_their_prefix_where_they_come_first() -> None:
    world = World()
    run = world.run("run", 3)
    for key, priority in (("before", (0, 6, 50)), ("after", (0, 8, 0)), ("unknown", (0, 6, 51))):
        world.task(key, priority, seconds=-1.0 if key == "unknown" else 2.0)
        world.sent(key)
    assert world.traffic.occupied(run, 0.0) == {"w0": [2.0]}
    world.sent("after", since=0.5)
    assert world.traffic.occupied(run, 0.0) == {"w0": [3.5]}


def test_tasks_that_have_left_their_thread_hold_none() -> None:
    world = World()
    run = world.run("run", 3)
    task = world.task("seceded", (0, 8, 0), seconds=5.0)
    world.sent("seceded", since=1.0)
    world.workers["w0"].long_running.add(task)
    assert world.traffic.occupied(run, 0.0) == {}


def test_what_was_seen_last_of_a_run_counts_for_others() -> None:
    world = World()
    long, short = world.run("long", 9), world.run("short", 4)
    elsewhere = Schedule([Assignment(f"short{i}", "w1", i, i + 2.0) for i in range(4)])
    short.seen(retime(short.course.instance, elsewhere), 4.0)
    assert world.traffic.occupied(long, 0.0) == {"w1": [4.0]}
    world.traffic.leave(short.run)
    assert world.traffic.occupied(long, 0.0) == {}
    assert world.traffic.of_key("short0") is None


def test_whoever_has_dates_claims_his_turn_by_them() -> None:
    world = World()
    run = world.run("run", 3)
    assert run.claim(0.0) == Claim(False, 3.0)
    dated = Course(run.course.instance, run.course.schedule, objective=Objective(("tardiness",)))
    assert Steered(run.run, dated, 3.0, False).claim(0.0) == Claim(True, 3.0)


def test_a_run_whose_plan_is_still_read_has_its_turn() -> None:
    world = World()
    read, claim = world.members("read", 4), Claim(False, 4.0)
    world.traffic.expect(read, world.traffic.turn(read, claim), claim)
    assert world.run("short", 2).turn.last < 0.0
    assert world.run("long", 9).turn.first >= 4.0
    world.traffic.leave(read)
    assert world.run("middle", 4).turn.last < world.run("longer", 5).turn.first < 4.0


def test_parts_of_a_run_come_one_after_the_other() -> None:
    world = World()
    first, other = world.run("one", 5), world.run("other", 7)
    rest = world.members("rest", 2)
    rest.run_id = "one"
    turn = world.traffic.turn(rest, Claim(False, 2.0))
    assert first.turn.last < turn.first <= turn.last < other.turn.first


def test_what_has_not_come_yet_is_of_the_generation_that_it_joins() -> None:
    world = World()
    there = world.run("there", 5)
    coming = world.members("coming", 3)
    world.tasks = world.scheduler.tasks = {
        key: task for key, task in world.tasks.items() if not key.startswith("coming")
    }
    claim = Claim(False, 3.0)
    assert world.traffic.turn(coming, claim).first == 0.0, "of no generation yet"
    coming.coming = coming.open
    assert world.traffic.turn(coming, claim).first == 0.0, "of one that nobody knows yet"
    coming.generation = Generation(7.0)
    assert world.traffic.turn(coming, claim).last < there.turn.first
    coming.generation = Generation(8.0)
    assert world.traffic.turn(coming, claim).first == 0.0
