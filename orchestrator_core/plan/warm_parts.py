"""The parts of the compiled code, and tiny instances that need all of it (stage 3)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Planner
from orchestrator_core.plan.schedule import Schedule

STEPS = Budget(iterations=70)
"""Enough for every kernel of a search to be called."""

INFINITY = float("inf")


def _heft() -> None:
    from orchestrator_core.plan.engine.expand import expand
    from orchestrator_core.plan.engine.thrift import thrifty_order
    from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS

    for instance in (plain(), crowded(), project()):
        _run(LIST_PLANNERS[0], instance)
    thrifty_order(expand(crowded()), 0, 0.0)  # which is asked only if memory does not do


def _lists() -> None:
    from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS

    for planner in LIST_PLANNERS:
        for instance in (plain(), plain(100.0), crowded(), project()):
            _run(planner, instance)


def _bounds() -> None:
    from orchestrator_core.plan.objectives.bounds import value_bound

    for instance in (plain(), crowded(), project()):
        value_bound(instance, MAKESPAN)


def _local_search() -> None:
    from orchestrator_core.plan.search.lane_engine import LaneEngine
    from orchestrator_core.plan.search.local_search import LocalSearch

    _run(LocalSearch(), plain())
    engine = LaneEngine(plain(), MAKESPAN, 0)
    engine.begin(engine.solution_of(_first(plain())))
    engine.go(10, 1_000, 0.1, 0.0, arcs=True)  # which so short a search does not come to


def _beam() -> None:
    from orchestrator_core.plan.search.beam_search import BeamSearch

    _run(dataclasses.replace(BeamSearch(), most_lost=1.0), plain())


def _general_search() -> None:
    from orchestrator_core.plan.search.general_search import GeneralSearch

    for instance in (project(), crowded(), shop()):
        _run(GeneralSearch(), instance)


def _coarsen() -> None:
    from orchestrator_core.plan.reduce.coarse_search import CoarseSearch

    _run(dataclasses.replace(CoarseSearch(), smallest=1, few=3), plain())


def _objectives() -> None:
    from orchestrator_core.plan.objectives.bounds import value_bound
    from orchestrator_core.plan.portfolio import registered

    for text in ("tardiness,makespan", "price,makespan", "busy-price", "memory,makespan"):
        objective = Objective.of(text)
        for instance in (plain(), crowded()):
            value_bound(instance, objective)
            for planner in registered():
                if planner.lane is Lane.SEARCH:
                    _run(planner, instance, objective)


def _repair() -> None:
    from orchestrator_core.plan.repair import replan

    for instance in (plain(), crowded()):
        begun = _first(instance)
        replan(instance, begun, begun.makespan / 2, budget=STEPS)


def _solvers() -> None:
    """In the helper's process, where they are at home."""
    from orchestrator_core.plan.portfolio import plan, registered

    for planner in registered():
        if planner.lane is Lane.HELPER and planner.unsupported(plain()) is None:
            plan(plain(), Budget(iterations=50), ["heft", planner.name])
    _cuts()


def _cuts() -> None:
    """A limit that bounds need not come to in so few steps."""
    from orchestrator_core.plan.bounds.cuts.alone import never_at_once
    from orchestrator_core.plan.bounds.cuts.attempt import Attempt, first_credit
    from orchestrator_core.plan.bounds.cuts.node import terms_of
    from orchestrator_core.plan.bounds.relaxation import Relaxation
    from orchestrator_core.plan.bounds.state import initial
    from orchestrator_core.plan.engine.expand import expand

    instance = plain()
    problem, limit = expand(instance), 2.0 * _first(instance).makespan
    relaxation = Relaxation.of(problem)
    terms = terms_of(relaxation, never_at_once(instance, problem))
    state, credit = initial(relaxation, limit), first_credit(relaxation)
    Attempt(relaxation, terms, state, limit, credit).go_on(50)


RUNS: dict[str, Callable[[], None]] = {
    "heft": _heft,
    "lists": _lists,
    "local-search": _local_search,
    "beam": _beam,
    "local-search-general": _general_search,
    "bounds": _bounds,
    "coarsen": _coarsen,
    "repair": _repair,
    "objectives": _objectives,
    "solvers": _solvers,
}
"""How each of `warm.PARTS` is loaded, or compiled."""


def _run(planner: Planner, instance: Instance, objective: Objective = MAKESPAN) -> None:
    if planner.unsupported(instance, objective) is None:
        for _ in planner.plan(Brief(instance, STEPS, objective, _first(instance))):
            pass


def _first(instance: Instance) -> Schedule:
    from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS

    schedule = next(iter(LIST_PLANNERS[0].plan(Brief(instance)))).schedule
    assert schedule is not None
    return schedule


@functools.cache
def plain(deadline: float = INFINITY) -> Instance:
    """Only threads are scarce."""
    edges = [(0, 2, 1.0), (1, 2, 2.0), (1, 3, 1.0), (2, 4, 1.0), (3, 5, 1.0)]
    seconds = [[3.0 + t % 3, 2.0 + t % 2] for t in range(6)]
    return Instance.from_arrays(seconds, edges, latency=0.5, deadline=deadline)


@functools.cache
def crowded() -> Instance:
    """Outputs are encoded, and held in scarce memory."""
    workers = [Worker(f"w{k}", threads=2, memory=30.0) for k in range(2)]
    modes = (Mode(seconds=2.0, memory=4.0), Mode(seconds=1.0, threads=2, memory=9.0))
    tasks = [Task(name=f"t{k}", modes=modes, output_bytes=4.0, due=3.0) for k in range(5)]
    edges = [Edge("t0", "t2"), Edge("t1", "t2"), Edge("t2", "t3"), Edge("t2", "t4")]
    cluster = Cluster(workers, link=Link(latency=0.1, bandwidth=4.0, encode_rate=4.0))
    return Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)


@functools.cache
def project() -> Instance:
    """A resource, a stock, and modes that take from them."""
    modes = (
        Mode(seconds=2.0, resources={"GPU": 1.0}, consumes={"energy": 1.0}),
        Mode(seconds=3.0, consumes={"energy": 2.0}),
    )
    tasks = [Task(name=f"t{k}", modes=modes) for k in range(5)]
    edges = [Edge("t0", "t2"), Edge("t1", "t3"), Edge("t2", "t4")]
    workers = [Worker("w", threads=3, resources={"GPU": 1.0})]
    cluster = Cluster(workers, stock={"energy": 9.0})
    return Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)


@functools.cache
def shop() -> Instance:
    """Two jobs on two machines, the other way round."""
    seconds = [[2.0, INFINITY], [INFINITY, 3.0], [INFINITY, 2.0], [4.0, INFINITY]]
    return Instance.from_arrays(seconds, [(0, 1, 0.0), (2, 3, 0.0)])
