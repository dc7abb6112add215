"""Options: every worker on which a task could have been, and what that would have cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.plan.result import PlanResult, PlanStatus
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.report.planning import kept, solve
from orchestrator_core.report.why.cost import Cost, cost_of, forced

MOST_WORKERS = 64
"""Workers that are looked at; those beyond are not."""

MOST_SOLVED = 3
"""Workers for which all is planned anew, of those that do best when the task alone is moved."""


@dataclass(frozen=True, slots=True)
class Option:
    """A worker on which the task could have been.

    Attributes:
        alike: how many other workers are of its kind and would take as long.
        seconds: of the task there.
        moved: seconds by which the plan gets longer if the task is moved there and all else keeps
            its place and its order; None if that cannot be.
        cost: with all planned anew around it; None if that was not looked at.
    """

    worker: str
    kind: str
    alike: int
    seconds: float
    moved: float | None
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """The options, the cheapest first.

    Attributes:
        best: makespan in seconds of the best plan that is known. optimal: is it proven to be so?
    """

    options: tuple[Option, ...]
    best: float
    optimal: bool

    @property
    def runner_up(self) -> Option | None:
        """The cheapest of those for which all was planned anew."""
        first = self.options[0] if self.options else None
        return first if first is not None and first.cost is not None else None


def options_of(instance: Instance, schedule: Schedule, task: int, chosen: int) -> Options:
    """The other workers for the task of a plan that has it on `chosen`.

    One worker stands for all of its kind that would take as long.

    Raises:
        OrchestratorError: if the instance cannot be planned.
    """
    plan = kept(instance, schedule)
    free = solve(instance, plan)
    looked = sorted(_moved(instance, plan, task, chosen), key=lambda each: _by_moved(each.option))
    each = _one_of_each(looked)
    solved = dict(_solved(each[:MOST_SOLVED]))
    best = min([free.makespan, *(there.makespan for there in solved.values())])
    costs = {worker: cost_of(free, there, best) for worker, there in solved.items()}
    options = [replace(e.option, cost=costs.get(e.option.worker)) for e in each]
    options.sort(key=_by_cost)
    return Options(tuple(options), best, free.status is PlanStatus.OPTIMAL)


@dataclass(frozen=True, slots=True)
class _Place:
    """An option, the instance with the task forced there, and the plan with it moved there."""

    option: Option
    instance: Instance
    moved: Schedule | None


def _moved(instance: Instance, plan: Schedule | None, task: int, chosen: int) -> Iterator[_Place]:
    """Each worker that can take the task, and what moving it alone there does."""
    graph, cluster = instance.graph, instance.cluster
    modes = slice(int(graph.mode_ptr[task]), int(graph.mode_ptr[task + 1]))
    for place, worker in enumerate(cluster.workers[:MOST_WORKERS]):
        there = None if place == chosen else forced(instance, task, place)
        if there is not None:
            mode = int(there.seconds[modes, place].argmin())
            moved = None if plan is None else _alone(there, plan, task, worker.name, mode)
            longer = None if moved is None or plan is None else moved.makespan - plan.makespan
            seconds = float(there.seconds[modes, place][mode])
            option = Option(worker.name, worker.kind, 0, seconds, longer)
            yield _Place(option, there, moved)


def _alone(there: Instance, plan: Schedule, task: int, worker: str, mode: int) -> Schedule | None:
    """The plan with the task there and all else as it was; None if that cannot be."""
    name = there.graph.names[task]
    rows = (replace(a, worker=worker, mode=mode) if a.task == name else a for a in plan.assignments)
    return kept(there, Schedule(rows, plan.transfers))


def _one_of_each(looked: Sequence[_Place]) -> list[_Place]:
    """The first of each kind with equal seconds, and how many more there are of it."""
    first: dict[tuple[str, float], _Place] = {}
    for place in looked:
        option = place.option
        key = option.kind, round(option.seconds, 9)
        known = first.get(key)
        if known is None:
            first[key] = place
        else:
            more = replace(known.option, alike=known.option.alike + 1)
            first[key] = replace(known, option=more)
    return list(first.values())


def _solved(places: Sequence[_Place]) -> Iterator[tuple[str, PlanResult]]:
    """The best plan with the task forced to each of the places, by name of the worker."""
    for place in places:
        try:
            yield place.option.worker, solve(place.instance, place.moved)
        except OrchestratorError:
            continue


def _by_moved(option: Option) -> tuple[bool, float]:
    return option.moved is None, option.moved or 0.0


def _by_cost(option: Option) -> tuple[bool, float, bool, float]:
    cost = option.cost
    return cost is None, 0.0 if cost is None else cost.seconds, *_by_moved(option)
