"""Repairs of random plans after random events are valid, and do no more than they have to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, InvalidSchedule
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.repair import (
    Event,
    Failed,
    Finished,
    Occupied,
    Pausable,
    Repairer,
    Running,
    WorkerLost,
    check_replan,
    replan,
)
from orchestrator_core.plan.schedule import Schedule
from tests.by_hand import unit_edges
from tests.random_instances import FLAGS, random_instance


def planned(seed: int) -> tuple[Instance, Schedule, np.random.Generator] | None:
    """A random instance and a list schedule of it, if there is one."""
    rng = np.random.default_rng(seed)
    flags = {flag: bool(rng.random() < 0.25) for flag in FLAGS} if seed % 2 else {}
    with contextlib.suppress(InfeasibleInstance):
        tasks, workers = int(rng.integers(3, 16)), int(rng.integers(2, 5))
        instance = random_instance(rng, tasks, workers, **flags)
        for planner in LIST_PLANNERS:
            if planner.unsupported(instance) is None:
                for proposal in planner.plan(Brief(instance)):
                    if proposal.schedule is not None:
                        return instance, proposal.schedule, rng
    return None


def some_events(plan: Schedule, now: float, rng: np.random.Generator) -> Iterator[Event]:
    """What may have happened to the tasks that run at `now`."""
    for run in plan.assignments:
        if run.start < now < run.end:
            draw = rng.random()
            if draw < 0.3:
                yield Running(run.task, now + float(rng.uniform(0, 10)), instance=run.instance)
            elif draw < 0.4:
                yield Failed(run.task, run.instance)
            elif draw < 0.5:
                end = float(rng.uniform(run.start, now))
                yield Finished(run.task, end, instance=run.instance)
            elif draw < 0.6:
                yield Pausable(run.task, run.instance)
    for name in plan.worker_names:
        if rng.random() < 0.3:
            yield Occupied(name, now + float(rng.uniform(0.0, 5.0)))


def cases(seeds: range) -> Iterator[tuple[Instance, Schedule, np.random.Generator]]:
    for seed in seeds:
        found = planned(seed)
        if found is not None:
            yield found


@pytest.mark.parametrize("part", range(4))
def test_repairs_are_valid(part: int) -> None:
    done = 0
    for instance, plan, rng in cases(range(60 * part, 60 * part + 60)):
        now = float(rng.uniform(0, plan.makespan))
        events = list(some_events(plan, now, rng))
        if rng.random() < 0.6:
            events.append(WorkerLost(str(rng.choice(instance.cluster.names))))
        budget = Budget(iterations=20) if rng.random() < 0.3 else None
        forgets = bool(rng.random() < 0.3)
        result = replan(instance, plan, now, events, budget=budget, forgets=forgets)
        check_replan(result)
        done += 1
        lost = [e.name for e in events if isinstance(e, WorkerLost)]
        for run in result.schedule.assignments:
            assert run.end <= now or run.worker not in lost
        gone = set(result.blocked)
        assert gone == set(instance.graph.names) - whole(result.schedule, instance)
        begun = {run.task for run in result.schedule.assignments if run.start < now}
        assert gone == closed(gone, begun, instance)
    assert done > 40


def whole(schedule: Schedule, instance: Instance) -> set[str]:
    """The tasks all of whose instances are in the schedule."""
    runs = [run.task for run in schedule.assignments]
    graph = instance.graph
    return {name for name, n in zip(graph.names, graph.count, strict=True) if runs.count(name) == n}


def closed(tasks: set[str], begun: set[str], instance: Instance) -> set[str]:
    """The tasks and those of which all instances need one of theirs, and that have not begun."""
    names, found = instance.graph.names, set(tasks)
    blocked = {(names[a], names[b]) for a, _, b, _, _ in unit_edges(instance.graph)}
    single = {n for n, count in zip(names, instance.graph.count, strict=True) if count == 1}
    for a, b in sorted(blocked, key=lambda edge: names.index(edge[1])):
        if a in found and a in single and b not in begun:
            found.add(b)
    return found


def test_without_events_nothing_changes_but_gaps() -> None:
    for instance, plan, rng in cases(range(300, 360)):
        now = float(rng.uniform(0, plan.makespan))
        result = replan(instance, plan, now)
        check_replan(result)
        check_schedule(instance, result.schedule)
        assert result.moved == ()
        assert result.again == ()
        assert result.makespan <= plan.makespan * (1 + 1e-9)


def test_one_repair_after_another() -> None:
    for instance, plan, rng in cases(range(400, 440)):
        repairer, now = Repairer(instance, plan), 0.0
        for lost in instance.cluster.names[:2]:
            now += float(rng.uniform(0, max(0.0, repairer.schedule.makespan - now)))
            events = list(some_events(repairer.schedule, now, rng))
            if rng.random() < 0.4 and lost != instance.cluster.names[-1]:
                events.append(WorkerLost(lost))
            check_replan(repairer.replan(now, events))


def test_exactly_the_lost_outputs_that_somebody_needs_are_made_again() -> None:
    some = 0
    for instance, plan, rng in cases(range(500, 580, 2)):
        now = float(rng.uniform(0, plan.makespan))
        lost = str(rng.choice(instance.cluster.names))
        result = replan(instance, plan, now, [WorkerLost(lost)])
        assert result.again == expected_again(instance, plan, now, lost)
        some += bool(result.again)
    assert some > 10


def expected_again(instance: Instance, plan: Schedule, now: float, lost: str) -> tuple[str, ...]:
    """By the definition, for tasks of one instance each: the slow and plain way."""
    names = instance.graph.names
    runs = {run.task: run for run in plan.assignments}
    holders = {name: {runs[name].worker} for name in names}
    for move in plan.transfers:
        if move.start < now and (move.end <= now or move.source != lost):
            holders[move.task].add(move.destination)
    consumers: dict[str, list[str]] = {name: [] for name in names}
    graph = instance.graph
    for a, _, b, _, e in unit_edges(graph):
        consumers[names[a]].append(names[b])
        if runs[names[b]].start < now and graph.nbytes[e] == graph.output_bytes[a]:
            holders[names[a]].add(runs[names[b]].worker)

    def waits(name: str) -> bool:
        run = runs[name]
        return run.start >= now or (run.end > now and run.worker == lost) or is_lost(name)

    def is_lost(name: str) -> bool:
        if runs[name].end > now or holders[name] - {lost}:
            return False
        return any(waits(other) for other in consumers[name])

    begun = (name for name in names if runs[name].start < now)
    return tuple(name for name in begun if waits(name))


def test_the_same_iterations_give_the_same_repair() -> None:
    for instance, plan, _ in cases(range(600, 606)):
        now = 0.4 * plan.makespan
        events = [WorkerLost(instance.cluster.names[-1])]
        one, two = (
            replan(instance, plan, now, events, budget=Budget(iterations=50)) for _ in range(2)
        )
        assert one.schedule.to_json() == two.schedule.to_json()


def test_the_check_sees_what_is_wrong() -> None:
    instance = Instance.from_arrays([[2.0, 2.0], [2.0, 2.0]], [(0, 1, 1.0)], latency=1.0)
    plan = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    assert plan is not None
    result = replan(instance, plan, 1.0)
    result._option.placed.start[1] = result._option.placed.end[1] = 0.5
    with pytest.raises(InvalidSchedule):
        check_replan(result)
