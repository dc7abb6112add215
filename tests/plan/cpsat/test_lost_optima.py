"""Optima that CP-SAT 9.15 loses from models of sub-graphs, and that ours keep."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.cpsat.reach import HeadsAndTails
from orchestrator_core.plan.cpsat.sub_dag import SubDag, directions, solver_of
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.schedule import Schedule


def all_for_all() -> Instance:
    """Three tasks that take no time send to three of 2 s and 2 threads. The first worker has 3
    threads, on which it sends all within 1 s and then does two of these, one after the other; the
    second has what it needs for the third after 3 s."""
    return Instance.from_arrays(
        np.repeat([[0.0, 0.0], [2.0, 2.0]], 3, axis=0),
        [(a, b, 2) for b in (3, 4, 5) for a in (0, 1, 2)],
        latency=2.0,
        encode_seconds_per_byte=0.5,
        output_bytes=[2, 2, 2, 0, 0, 0],
        threads=[3, 2],
        task_threads=[1, 1, 1, 2, 2, 2],
    )


def eight_tasks() -> Instance:
    """Of which two workers have 5 s of work each."""
    return Instance.from_arrays(
        np.array([[2, 1], [2, 2], [1, 1], [2, 2], [2, 0], [3, 0], [0, 2], [np.inf, 3]]),
        [(0, 2, 2), (0, 4, 2), (1, 4, 1), (3, 5, 0), (3, 6, 0), (4, 6, 0), (3, 7, 1)],
        latency=[[0, 1], [0, 0]],
        seconds_per_byte=[[0, 0], [1, 0]],
        output_bytes=[2, 1, 2, 1, 0, 1, 2, 2],
        release=[0, 0, 3, 0, 0, 3, 0, 0],
    )


CASES = {
    # A constraint that does not follow: 6 s were called optimal.
    "all for all": (all_for_all(), 7.0, True, [0, 1, 2, 5, 3, 4], [0, 0, 0, 0, 0, 1]),
    # Intervals with ends of their own: 6 s again.
    "eight tasks": (eight_tasks(), 11.0, False, [1, 3, 0, 5, 7, 4, 2, 6], [0, 0, 0, 1, 1, 1, 0, 1]),
}
"""An instance, a makespan below which all is looked for, whether loads are part of the model, and
an order and workers that take 5 s."""


def _whole(instance: Instance, makespan: float, with_loads: bool) -> SubDag:
    problem = expand(instance)
    known = HeadsAndTails(problem, makespan)
    arrays = (known.head, known.seconds, known.tail, known.makespan)
    sub = SubDag(problem, directions(problem)[0], list(range(problem.n_tasks)), *arrays, None)
    for load in known.loads() if with_loads else ():
        sub.add_load(load)
    return sub


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_better_than_what_is_called_optimal(name: str) -> None:
    instance, makespan, with_loads, order, workers = CASES[name]
    schedule = place(instance, Choice(np.array(order), worker=np.array(workers)))
    assert isinstance(schedule, Schedule)
    assert schedule.makespan == pytest.approx(5.0)
    sub, solver = _whole(instance, makespan, with_loads), solver_of(60.0, 60.0)
    solver.solve(sub.cp)
    assert solver.best_objective_bound * sub.tick <= 5.0
    assert solver.objective_value * sub.tick == pytest.approx(5.0)
