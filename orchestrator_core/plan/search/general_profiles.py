"""ProfileEngine: instances with encoding or scarce memory, searched by `walk` (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.decoder import Choice, Decoded, capacity, decode, to_schedule
from orchestrator_core.plan.engine.expand import Problem, expand, frozen
from orchestrator_core.plan.engine.goal import goal_of
from orchestrator_core.plan.engine.modes import over_modes
from orchestrator_core.plan.engine.place import thrifty, thrifty_modes
from orchestrator_core.plan.engine.placing import empty_draft, empty_placed, empty_sent
from orchestrator_core.plan.engine.profiles import idle_profiles
from orchestrator_core.plan.engine.ranks import depth_first_order, ready_order
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.engine.thrift import thrifty_choices
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.general_project import urgency
from orchestrator_core.plan.search.general_solution import BEST, NEXT, Stock, Tools, Walk
from orchestrator_core.plan.search.general_walk import walk

LOOK_BACK = 50
"""How many steps the walk looks back at first."""

FARTHEST = 20_000
"""How many at most."""

LISTED_TASKS = 1_000
"""Up to this many tasks the walk also begins with what list heuristics make."""

LISTED_WORK = 8.0
"""Of those whose `work` is at most this."""


class ProfileEngine:
    """See `general_search.Engine`."""

    steps_per_task = 3

    def __init__(self, instance: Instance, objective: Objective, budget: Budget) -> None:
        self.instance, self.seed = instance, budget.seed
        self.problem = expand(instance)
        self.goal = goal_of(instance, objective)
        self.value, self.steps = np.inf, 0
        self._stock = stock_of(instance)
        self._penalty = _penalty(self.problem)
        self._room = 16 * (self.problem.n_tasks + len(self.problem.in_task)) + 64
        self._tools = _tools(self.problem, self._room)
        self._walk = _empty_walk(self.problem)
        self._taken: list[tuple[Choice, bool]] = []
        self._starts = _starts(instance, self.problem)

    def take(self, schedule: Schedule) -> None:
        row, worker, mode = placement(self.instance, self.problem, schedule)
        start, end = schedule.start[row], schedule.end[row]
        for moment in (start, end):
            order = ready_order(self.problem, -moment)
            choices = (Choice(order, worker=worker, mode=mode), Choice(order))
            self._taken += [(choice, bool(way)) for choice in choices for way in range(2)]

    def go(self, steps: int, target: float) -> None:
        """Try the starts first, one in each step."""
        while steps > 0:
            start = self._taken.pop(0) if self._taken else next(self._starts, None)
            if start is None:
                break
            self._begin(*start)
            self._walk_on(1, target, given=True)
            steps -= 1
        if steps > 0:
            self._walk_on(steps, target, given=False)

    def _begin(self, choice: Choice, reserve: bool) -> None:
        x = self._walk
        x.order[NEXT], x.hopeful[NEXT] = choice.order, not reserve
        x.worker[NEXT] = -1 if choice.worker is None else choice.worker
        x.mode[NEXT] = -1 if choice.mode is None else choice.mode

    def _walk_on(self, steps: int, target: float, *, given: bool) -> None:
        x = self._walk
        seed = (self.seed * 1_000_003 + self.steps) % 2**32
        self.steps += walk(
            self.problem,
            self.goal,
            self._stock,
            self._penalty,
            x,
            self._tools,
            seed,
            steps,
            target,
            given,
        )
        if x.state[4]:
            x.state[4], self._room = 0, 2 * self._room
            self._tools = _tools(self.problem, self._room)
        if x.breach[BEST] == 0.0:
            self.value = min(self.value, float(x.cost[BEST]))

    def schedule(self) -> Schedule:
        x = self._walk
        choice = Choice(x.order[BEST].copy(), worker=x.worker[BEST], mode=x.mode[BEST])
        decoded = decode(self.problem, choice, reserve=not x.hopeful[BEST], general=True)
        assert isinstance(decoded, Decoded)
        return to_schedule(self.instance, decoded)


def _penalty(problem: Problem) -> float:
    """More than everything takes, one after the other: what one broken rule costs."""
    longest = np.where(np.isfinite(problem.seconds), problem.seconds, 0.0).max(initial=0.0)
    slowest = float(problem.per_byte.max() + problem.encode.max())
    sent = problem.n_tasks * float(problem.latency.max()) + slowest * problem.output_bytes.sum()
    work = problem.n_tasks * float(longest)
    return float(work + sent + problem.release.max(initial=0.0) + 1.0)


def _starts(instance: Instance, problem: Problem) -> Iterator[tuple[Choice, bool]]:
    """Orders to begin with, each in both ways of keeping memory; the urgent one first, those of
    list heuristics last, with the workers that they give to tasks."""
    choices = [Choice(ready_order(problem, urgency(problem)))]
    if np.isfinite(capacity(problem)[:, 1]).any():
        choices += thrifty_choices(problem)
    if len(stock_of(instance).have):
        modes = thrifty_modes(instance, problem)
        choices += [thrifty(problem, choice, modes) for choice in choices]
    for choice in choices:
        yield choice, True
        yield choice, False
    if problem.n_tasks <= LISTED_TASKS:
        for planner in LIST_PLANNERS:
            if planner.work <= LISTED_WORK:
                for choice in planner.choices(problem):
                    yield from _as_placed(problem, choice)


def _as_placed(problem: Problem, choice: Choice) -> Iterator[tuple[Choice, bool]]:
    """The choice and its relative that uses up outputs sooner, fixed where the kernel puts them."""
    urgency = np.empty(problem.n_tasks)
    urgency[choice.order] = -np.arange(problem.n_tasks, dtype=np.float64)
    deep = replace(choice, order=depth_first_order(problem, urgency))
    for each, reserve in ((choice, True), (choice, False), (deep, True), (deep, False)):
        found = decode(problem, each, reserve=reserve, general=True)
        if isinstance(found, Decoded):
            yield replace(each, worker=found.worker, mode=found.mode), reserve
            return


def _tools(problem: Problem, room: int) -> Tools:
    n, w = problem.n_tasks, problem.n_workers
    limit = capacity(problem)
    most = int(np.diff(problem.in_ptr).max(initial=1))
    return Tools(
        idle_profiles(limit, room + 64 * w),
        empty_placed(n, np.diff(problem.out_ptr)),
        empty_sent(n, min(len(problem.in_task), n * (w - 1))),
        empty_draft(most, limit.shape[1]),
        np.zeros((0, 2), dtype=np.int64),
        np.zeros((0, 0)),
    )


def _empty_walk(problem: Problem) -> Walk:
    n = problem.n_tasks
    order, worker, mode = np.full((3, 3, n), -1, dtype=np.int64)
    place, chain = np.zeros((2, n), dtype=np.int64)
    home = over_modes(problem, np.maximum, np.isfinite(problem.seconds).astype(np.int64))
    return Walk(
        order=order,
        worker=worker,
        mode=mode,
        hopeful=np.zeros(3, dtype=np.int64),
        cost=np.full(3, np.inf),
        breach=np.full(3, np.inf),
        past=np.full(FARTHEST, np.inf),
        state=np.array([LOOK_BACK, 0, 0, 0, 0], dtype=np.int64),
        place=place,
        chain=chain,
        home=np.ascontiguousarray(home).copy(),
    )


def stock_of(instance: Instance) -> Stock:
    """What each mode consumes of what is in stock, and the stock."""
    graph = instance.graph
    names = sorted({name for demand in graph.demands for name in demand.consumes})
    each = np.array([[d.consumes.get(name, 0.0) for name in names] for d in graph.demands])
    consumed = each.reshape(len(graph.demands), len(names))[graph.demand_of]
    have = np.array([instance.cluster.stock.get(name, 0.0) for name in names])
    return Stock(frozen(consumed), frozen(have * (1 + 1e-12)))
