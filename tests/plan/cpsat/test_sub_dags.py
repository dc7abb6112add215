from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Task, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.cpsat.planner import CpSatPlanner
from orchestrator_core.plan.cpsat.reach import HeadsAndTails
from orchestrator_core.plan.cpsat.sub_dags import SubDagPlanner
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule
from tests.plan.asking import ask
from tests.plan.known import instance_of
from tests.plan.tiny import tiny_instances

ENOUGH = Budget(seconds=60.0)


def _optimum(instance: Instance) -> Schedule | None:
    return ask(CpSatPlanner(workers=1), Brief(instance, ENOUGH)).schedule


def _layered(seed: int) -> Instance:
    """Nine tasks in layers of three on three unrelated workers, transfers as long as tasks."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(1, 9, (9, 3)).astype(float)
    edges = [
        (3 * layer + a, 3 * layer + 3 + b, float(rng.integers(0, 12)))
        for layer in range(2)
        for a in range(3)
        for b in range(3)
        if rng.random() < 0.7
    ]
    per_byte = 1.0 - np.eye(3)
    return Instance.from_arrays(seconds, edges, seconds_per_byte=per_byte, output_bytes=12.0)


def _late(schedule: Schedule) -> Schedule:
    """The same, after doing nothing for as long as it lasts."""
    wait = schedule.makespan
    return Schedule(
        [replace(a, start=a.start + wait, end=a.end + wait) for a in schedule.assignments],
        [
            replace(t, start=t.start + wait, encoded=t.encoded + wait, end=t.end + wait)
            for t in schedule.transfers
        ],
    )


def test_bounds_never_exceed_the_optimum_whatever_the_constraints() -> None:
    for seed, instance in tiny_instances(range(2000, 2050)):
        best = _optimum(instance)
        if best is not None and SubDagPlanner().unsupported(instance) is None:
            proven = ask(SubDagPlanner(), Brief(instance, ENOUGH, incumbent=best)).lower_bound
            assert proven <= best.makespan * (1 + 1e-9), seed


def test_windows_prove_more_than_paths() -> None:
    sharper = 0
    for seed in range(8):
        instance = _layered(seed)
        best = _optimum(instance)
        assert best is not None
        late = _late(best)
        paths = HeadsAndTails(expand(instance), late.makespan).lower_bound()
        proven = ask(SubDagPlanner(), Brief(instance, ENOUGH, incumbent=late)).lower_bound
        assert paths <= proven + 1e-9
        assert proven <= best.makespan * (1 + 1e-9)
        sharper += proven > paths * (1 + 1e-6)
    assert sharper >= 3


def test_heads_exclude_no_worker_of_an_optimal_schedule() -> None:
    for seed, instance in tiny_instances(range(2100, 2140)):
        best = _optimum(instance)
        if best is None:
            continue
        known = HeadsAndTails(expand(instance), best.makespan * (1 + 1e-6))
        assert known.possible, seed
        index, cluster = instance.graph.index, instance.cluster.index
        for row in best.assignments:
            single = int(instance.graph.count[: index[row.task]].sum()) + row.instance
            worker = cluster[row.worker]
            assert known.head[single, worker] <= row.start + 1e-9, seed
            assert row.end + known.tail[single, worker] <= best.makespan + 1e-9, seed


def test_same_iterations_give_the_same_bounds() -> None:
    instance = _layered(1)
    brief = Brief(instance, Budget(iterations=20), incumbent=_optimum(instance))
    first, again = (list(SubDagPlanner().plan(brief)) for _ in range(2))
    assert first == again


def test_says_what_it_does_not_take() -> None:
    alone = instance_of([Task("a", seconds=1)], [Worker("w0")])
    assert SubDagPlanner().unsupported(alone) == ("a graph without edges: it has no paths to bound")
    assert "needs a schedule" in ask(SubDagPlanner(), Brief(_layered(0), ENOUGH)).note
    small = SubDagPlanner(largest=10)
    assert small.unsupported(_layered(0)) == (
        "its size: 27 task instances x workers; it takes 10 at most"
    )
