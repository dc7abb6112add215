"""The disjunctive graph of the local search: renewed in part, it is as if reckoned anew."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core import Budget, Instance, plan
from orchestrator_core.plan.engine.decoder import decode
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.lists.orders import heft
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.search.arc_anneal import anneal_arcs, load
from orchestrator_core.plan.search.arc_state import new_arcs
from orchestrator_core.plan.search.lane_engine import LaneEngine
from tests.strategies import random_instance


def begun(seed: int, eligible: bool = False):
    """A problem, and HEFT's schedule of it as a graph."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 40, 4, release=True, eligible=eligible)
    problem = expand(instance)
    decoded = decode(problem, next(heft(problem)))
    depth = np.empty(problem.n_tasks, dtype=np.int64)
    depth[problem.topological] = np.arange(problem.n_tasks)
    order = np.lexsort((depth, decoded.start)).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(problem.worker_threads)])
    lane, busy = np.empty(problem.n_tasks, dtype=np.int64), np.zeros(first[-1])
    for t in order:
        lanes = np.arange(first[decoded.worker[t]], first[decoded.worker[t] + 1])
        lane[t] = lanes[np.argmin(busy[lanes])]
        busy[lane[t]] = decoded.end[t]
    arcs = new_arcs(problem, best_seconds(problem))
    load(problem, arcs, order, decoded.worker, lane)
    return problem, arcs, decoded


@pytest.mark.parametrize("seed", range(4))
def test_a_schedule_is_no_later_as_a_graph(seed):
    _, arcs, decoded = begun(seed)
    assert (arcs.end <= decoded.end + 1e-9).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("heat", [1e-9, 0.1, 10.0])
@pytest.mark.parametrize("eligible", [False, True])
def test_heads_and_tails_are_those_of_the_whole_graph(seed, heat, eligible):
    """After many moves, kept ones and such that were undone."""
    problem, arcs, _ = begun(seed, eligible)
    anneal_arcs(problem, arcs, seed, 2_000, 1 << 40, heat, 0.0)
    anew = new_arcs(problem, best_seconds(problem))
    value = load(problem, anew, arcs.order.copy(), arcs.worker.copy(), arcs.lane.copy())
    assert value == arcs.value[0]
    assert (anew.start == arcs.start).all()
    assert (anew.end == arcs.end).all()
    assert anew.tail == pytest.approx(arcs.tail)


def test_a_longest_path_is_as_long_as_the_schedule_through_each_of_its_tasks():
    _, arcs, _ = begun(1)
    longest = (arcs.end + arcs.tail).max()
    assert longest == pytest.approx(arcs.value[0])


def test_the_best_schedule_is_kept_while_worse_ones_are_passed():
    problem, arcs, decoded = begun(2)
    anneal_arcs(problem, arcs, 0, 5_000, 1 << 40, 5.0, 0.0)
    assert arcs.best_end.max() == arcs.value[1] <= decoded.end.max() + 1e-9
    seconds = best_seconds(problem)[np.arange(problem.n_tasks), arcs.best_worker]
    assert arcs.best_end - arcs.best_start == pytest.approx(seconds)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("heat", [0.1, 10.0])
def test_no_task_comes_to_where_it_may_not_run(seed, heat):
    """Not by moves whose estimate has no limit, such as those of a chain, either."""
    problem, arcs, _ = begun(seed, eligible=True)
    anneal_arcs(problem, arcs, seed, 20_000, 1 << 40, heat, 0.0)
    seconds, each = best_seconds(problem), np.arange(problem.n_tasks)
    assert np.isfinite(seconds[each, arcs.worker]).all()
    assert np.isfinite(seconds[each, arcs.best_worker]).all()
    assert (arcs.lane >= 0).all()
    assert (
        sorted(arcs.row[x, i] for x in range(len(arcs.length)) for i in range(arcs.length[x]))
        == each.tolist()
    )


def test_what_takes_no_time_on_one_worker_only_may_end_last():
    """The second task takes 1 s on w0, and none on w1, where its input arrives at 3 s: it has a
    lane at first, and none once it has been moved."""
    instance = Instance.from_arrays([[1.0, 3.0], [1.0, 0.0]], [(0, 1, 3.0)], seconds_per_byte=2 / 3)
    engine = LaneEngine(instance, MAKESPAN, 0)
    engine.begin(engine.solution_of(plan(instance, Budget(iterations=0), ["heft"]).schedule))
    engine.go(200, 1 << 40, 10.0, 0.0, True)
    assert engine.steps == 200
    assert engine.value == engine.schedule().makespan == 2.0
