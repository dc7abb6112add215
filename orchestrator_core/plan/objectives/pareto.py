"""pareto: schedules of which none is better than another in everything (stage 3).

The heuristics of all criteria begin: orders, plans on subsets of the workers, tighter and tighter
memory. Then a Pareto local search (L. Paquete, M. Chiarandini, T. Stützle, 2004) looks for more:
again and again a point of the front is changed a little, and what no point dominates is added. Each
point is a valid schedule; the front is not proven to be complete.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput, InvalidSchedule
from orchestrator_core.graph.figures import as_float
from orchestrator_core.graph.text import shown
from orchestrator_core.plan import warm
from orchestrator_core.plan.budget import Budget, seconds_left
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.compiled import is_interpreting
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.given import check_budget, check_instance, check_is_schedule
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.finished import finished
from orchestrator_core.plan.objectives.front import Front
from orchestrator_core.plan.objectives.judge import Judge, Value, keeps
from orchestrator_core.plan.objectives.neighbours import Neighbours
from orchestrator_core.plan.objectives.planners import OBJECTIVE_PLANNERS
from orchestrator_core.plan.objectives.search import ObjectiveSearch
from orchestrator_core.plan.objectives.time_search import TimeSearch
from orchestrator_core.plan.objectives.worker_subsets import worker_subsets
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.turns import Turn, take_turns
from orchestrator_core.words import plural

ENDS = 0.4
"""Part of the time for the ends of the front."""

SHOWN = 8
"""Points that are written out, evenly chosen from all."""


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A valid schedule, and what it is worth by each criterion of the front."""

    value: Value
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """Points of which none dominates another, the best in the first criterion first.

    Attributes:
        criteria: what `ParetoPoint.value` holds, in this order; units as in `values.py`.
        seconds: wall seconds of planning.
    """

    criteria: tuple[str, ...]
    points: tuple[ParetoPoint, ...]
    seconds: float

    def __repr__(self) -> str:
        """What its points are worth, one on a line; of many some."""
        n, step = len(self.points), max(1, -(-len(self.points) // SHOWN))
        rows = [
            "    " + ", ".join(f"{value:.6g}" for value in point.value)
            for point in self.points[::step]
        ]
        names = ", ".join(self.criteria)
        head = f"ParetoFront of {names}: {plural(n, 'point')} in {self.seconds:.2g} s"
        return "\n".join([head, *rows])

    def within(self, criterion: str, limit: float) -> ParetoPoint | None:
        """The best point in the first criterion of those that keep a limit, such as a price; None
        if no point of the front keeps it.

        Raises:
            InvalidInput: if the front has no such criterion, or the limit is no number.
        """
        if criterion not in self.criteria:
            known = " and ".join(self.criteria)
            raise InvalidInput(f"the front has no criterion {criterion!r}; it has {known}")
        most = as_float(limit)
        if np.isnan(most):
            raise InvalidInput(f"the limit is {shown(limit)}; give a number, such as 1.5")
        k = self.criteria.index(criterion)
        return next((point for point in self.points if keeps(point.value[k], most)), None)


def pareto(
    instance: Instance,
    budget: Budget | None = None,
    objectives: Sequence[str] = ("makespan", "price"),
    seeds: Sequence[Schedule] = (),
) -> ParetoFront:
    """The front that is found within the budget; with `budget.iterations`, always the same.

    Args:
        objectives: the criteria, two or more; see `Objective`.
        seeds: valid schedules to begin with, such as a plan with the least makespan.

    Raises:
        InvalidInput: for a criterion that there is not, for one alone, and for seeds that are no
            schedules.
        InvalidSchedule: for a seed that breaks a rule of the instance; it says which.
    """
    check_instance(instance)
    check_budget(budget)
    budget = budget or Budget()
    names = tuple(objectives) if isinstance(objectives, Sequence) else objectives
    judge = Judge(instance, Objective.of(objectives if isinstance(objectives, str) else names))
    seeds = _schedules(instance, seeds)
    if len(judge.objective.criteria) < 2:
        raise InvalidInput(
            f"objectives={shown(objectives)}: a front has two criteria or more; for one: "
            "plan(instance, objective=...)"
        )
    if len(instance.graph) == 0:
        return ParetoFront(judge.objective.criteria, (), 0.0)
    front: Front[Schedule] = Front()
    with _loaded(budget):
        began = time.perf_counter()
        for schedule in _beginnings(judge, seeds):
            _add(front, judge, schedule, seconds_left(budget, began))
            if seconds_left(budget, began) <= 0:
                break
        _ends(front, judge, budget, began)
        _search(front, judge, budget, began)
    points = sorted(front.points, key=lambda point: point[0])
    return ParetoFront(
        judge.objective.criteria,
        tuple(ParetoPoint(value, schedule) for value, schedule in points),
        time.perf_counter() - began,
    )


@contextlib.contextmanager
def _loaded(budget: Budget) -> Iterator[None]:
    """As in `plan`: no budget pays for what is loaded, and nobody waits for a compiler unless
    iterations are counted."""
    if is_interpreting() or budget.iterations is not None:
        yield
        return
    warm.load()
    with warm.not_waiting():
        yield


def _schedules(instance: Instance, seeds: Sequence[Schedule]) -> tuple[Schedule, ...]:
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise InvalidInput(f"seeds is {shown(seeds)}; give a list: [plan(instance).schedule]")
    found = tuple(seeds)
    for number, seed in enumerate(found):
        check_is_schedule(seed, "a seed")
        try:
            check_schedule(instance, seed)
        except InvalidSchedule as error:
            raise InvalidSchedule(
                f"seeds[{number}]: {error}", rule=error.rule, task=error.task
            ) from None
    return found


def _beginnings(judge: Judge, seeds: Sequence[Schedule]) -> Iterator[Schedule]:
    yield from seeds
    for choice in worker_subsets(judge.instance):
        found = place(judge.instance, choice)
        if isinstance(found, Schedule):
            yield found
    for planner in OBJECTIVE_PLANNERS:
        if planner.unsupported(judge.instance, judge.objective) is None:
            yield from planner.schedules(judge.instance)


def _ends(front: Front[Schedule], judge: Judge, budget: Budget, began: float) -> None:
    """What is best in one criterion, and then in the others, each for a part of the time."""
    criteria = judge.objective.criteria
    leaves_out = is_interpreting() or warm.is_missing("objectives")
    searches = () if leaves_out else (TimeSearch(), ObjectiveSearch())
    parts = [(first, each) for first in criteria for each in searches] if front.points else []
    for first, search in parts:
        objective = Objective((first, *(each for each in criteria if each != first)))
        if search.unsupported(judge.instance, objective) is not None:
            continue
        left = ENDS * (budget.seconds - (time.perf_counter() - began)) / len(parts)
        part = replace(
            budget,
            seconds=max(0.0, left),
            iterations=None if budget.iterations is None else int(ENDS * budget.iterations),
        )
        best = _first_by(Judge(judge.instance, objective), front)
        turn = Turn(search, Brief(judge.instance, part, objective, best))
        for _, proposal in take_turns([turn]):  # who raises has ended, and costs the front no point
            if proposal is not None and proposal.schedule is not None:
                _add(front, judge, proposal.schedule, seconds_left(budget, began))


def _first_by(judge: Judge, front: Front[Schedule]) -> Schedule:
    return min((schedule for _, schedule in front.points), key=judge.value)


def _search(front: Front[Schedule], judge: Judge, budget: Budget, began: float) -> None:
    neighbours, steps = Neighbours(judge.instance, budget.seed), 0
    while front.points:
        if steps == budget.iterations or seconds_left(budget, began) <= 0:
            return
        steps += 1
        _, parent = front.points[int(neighbours.random.integers(len(front.points)))]
        child = neighbours.schedule(neighbours.near(neighbours.of_schedule(parent)))
        if child is not None:
            _add(front, judge, child, seconds_left(budget, began))


def _add(front: Front[Schedule], judge: Judge, schedule: Schedule, left: float) -> None:
    """Add the schedule, and the same placement with shorter leases, if they are valid."""
    with contextlib.suppress(InvalidSchedule):
        for each in (schedule, finished(judge, schedule, left=left)):
            value = judge.value(each)
            if front.takes(value):
                check_schedule(judge.instance, each)
                front.add(value, each)
