from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Task, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
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


def test_a_band_of_all_tasks_finds_the_optimum_and_proves_it() -> None:
    """From a schedule that is twice as long as the optimum; where only places and order count."""
    for seed in range(8):
        instance = _layered(seed)
        best = _optimum(instance)
        assert best is not None
        found = ask(SubDagPlanner(), Brief(instance, ENOUGH, incumbent=_late(best)))
        assert found.schedule is not None
        check_schedule(instance, found.schedule)
        assert found.schedule.makespan == pytest.approx(best.makespan, rel=1e-9)
        assert found.lower_bound == pytest.approx(best.makespan, rel=1e-9)


def test_it_improves_no_schedule_that_is_optimal() -> None:
    instance = _layered(3)
    best = _optimum(instance)
    assert best is not None
    found = ask(SubDagPlanner(), Brief(instance, ENOUGH, incumbent=best))
    assert found.schedule is None
    assert found.lower_bound == pytest.approx(best.makespan, rel=1e-9)


def test_its_schedules_keep_every_constraint() -> None:
    for seed, instance in tiny_instances(range(2150, 2200)):
        best = _optimum(instance)
        if best is not None and SubDagPlanner().unsupported(instance) is None:
            found = ask(SubDagPlanner(), Brief(instance, ENOUGH, incumbent=_late(best)))
            assert found.lower_bound <= best.makespan * (1 + 1e-9), seed
            if found.schedule is not None:
                check_schedule(instance, found.schedule)


def test_no_optimal_schedule_is_shorter_than_a_load() -> None:
    """The sum of the prices where its tasks run, and what the load has before them."""
    seen = 0
    for seed, instance in tiny_instances(range(2200, 2260)):
        best = _optimum(instance)
        if best is None:
            continue
        known = HeadsAndTails(expand(instance), best.makespan * (1 + 1e-6))
        index, cluster = instance.graph.index, instance.cluster.index
        at = [
            (int(instance.graph.count[: index[a.task]].sum()) + a.instance, cluster[a.worker])
            for a in best.assignments
        ]
        for load in known.loads():
            whole = load.least + sum(float(load.price[single, worker]) for single, worker in at)
            assert whole <= best.makespan * (1 + 1e-6), seed
            seen += 1
    assert seen > 50


def test_loads_price_each_task_by_the_work_that_it_takes() -> None:
    """Three tasks of 2 s on two equal workers: half of all work, 3 s, and each worker's own."""
    instance = Instance.from_arrays(np.full((3, 2), 2.0), [])
    loads = HeadsAndTails(expand(instance), 4.5).loads()
    both, *one_by_one = loads
    assert both.least + both.price.min(axis=1).sum() == pytest.approx(3.0, rel=1e-3)
    assert len(one_by_one) == 2
    for load in one_by_one:
        assert load.least == 0.0
        assert sorted(load.price.sum(axis=0).tolist()) == pytest.approx([0.0, 6.0])


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
    pauses = instance_of([Task("a", seconds=4, checkpoints=(0.5,))], [Worker("w0")])
    assert "one piece" in str(SubDagPlanner().unsupported(pauses))
    small = SubDagPlanner(largest=10)
    assert small.unsupported(_layered(0)) == (
        "its size: 27 task instances x workers; it takes 10 at most"
    )
