"""Lower bounds: values by hand, and never above an optimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, UnsupportedInstance
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.plan.bounds import Bound, area, lower_bound, relaxation, tiers
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.first_bound import quick_bound
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.known import KNOWN, Known
from tests.plan.papers import topcuoglu
from tests.plan.tiny import tiny_instances
from tests.strategies import instances

JUST_BELOW = 1e-9


def test_the_bound_of_a_chain_is_its_length() -> None:
    """Each task on its fastest worker, and no reason to leave it."""
    instance = Instance.from_arrays([[1, 2], [1, 2], [1, 2]], [(0, 1, 9), (1, 2, 9)], latency=5.0)
    assert lower_bound(instance).seconds == pytest.approx(3.0)


def test_a_chain_pays_for_the_transfer_that_it_cannot_avoid() -> None:
    """a runs only on w0, b only on w1; 2 bytes at 1 byte/s and 1 s of latency, encoded in 2 s."""
    tasks = [
        Task("a", seconds=1, output_bytes=2, eligible=("w0",)),
        Task("b", seconds=1, eligible=("w1",)),
    ]
    cluster = Cluster(
        [Worker("w0"), Worker("w1")], link=Link(latency=1.0, bandwidth=1.0, encode_rate=1.0)
    )
    instance = Instance.price(TaskGraph.from_tasks(tasks, [Edge("a", "b")]), cluster)
    assert lower_bound(instance).seconds == pytest.approx(1 + 2 + 1 + 2 + 1)


def test_a_join_waits_for_what_is_made_beside_it() -> None:
    """Four tasks of 2 s feed a fifth of 1 s; sending takes 5 s. At best two of them come from
    elsewhere at 7 s while at most three run here in 6 s: with k here the join starts at
    max(2 k, 7 if k < 4), so at 7 s; all four here would be 8 s. Ends at 8 s."""
    edges = [(i, 4, 0) for i in range(4)]
    instance = Instance.from_arrays([[2.0] * 4] * 4 + [[1.0] * 4], edges, latency=5.0)
    assert lower_bound(instance).seconds == pytest.approx(8.0)


def test_as_many_resources_count_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of 1, 2, ... 6 s, each twice, and a lock of its own for each pair, on three workers
    that have them all. Two of them count beside threads, by name, where there is room for 3 kinds
    of 12 tasks x 3 workers; all of them prove no less, and neither proves too much."""
    names = [f"lock{k}" for k in range(6)]
    tasks = [Task(f"t{i}", seconds=i // 2 + 1, resources={names[i // 2]: 1}) for i in range(12)]
    workers = [Worker(f"w{b}", threads=8, resources=dict.fromkeys(names, 1)) for b in range(3)]
    instance = Instance.price(TaskGraph.from_tasks(tasks), Cluster(workers))
    every = lower_bound(instance)
    monkeypatch.setattr(relaxation, "MOST_WORK", 120)
    some = lower_bound(instance)
    assert Relaxation.of(expand(instance)).work.shape == (3, 12, 3)
    assert some.seconds <= every.seconds <= 6.0
    assert some.certificate is not None
    assert verify(instance, some.certificate) == pytest.approx(some.seconds)


def test_three_equal_tasks_share_two_workers() -> None:
    """The work of 3 s on two workers: 1.5 s, though the optimum is 2 s."""
    bound = lower_bound(Instance.from_arrays(np.ones((3, 2)), []))
    assert bound.seconds == pytest.approx(1.5)
    assert "work" in bound.method


def test_related_workers_share_work_by_speed() -> None:
    """Speeds 4, 2, 1, 1; 80 s of work at speed 1: 10 s."""
    seconds = np.outer(np.full(80, 1.0), [1 / 4, 1 / 2, 1, 1])
    assert lower_bound(Instance.from_arrays(seconds, [])).seconds == pytest.approx(10.0)


def test_wide_tasks_count_all_their_threads() -> None:
    instance = Instance.from_arrays(np.ones((4, 1)), [], threads=4, task_threads=2)
    assert lower_bound(instance).seconds == pytest.approx(2.0)


def test_a_scarce_resource_is_a_capacity() -> None:
    """Four tasks of 1 s need the only GPU, of a worker with 8 threads: 4 s."""
    tasks = [Task(f"t{i}", seconds=1, resources={"GPU": 1}) for i in range(4)]
    cluster = Cluster([Worker("w0", threads=8, resources={"GPU": 1}), Worker("w1", threads=8)])
    instance = Instance.price(TaskGraph.from_tasks(tasks), cluster)
    assert lower_bound(instance).seconds == pytest.approx(4.0)


def test_windows_add_what_must_come_before_and_after() -> None:
    """A task of 5 s before, and one of 5 s after, eight tasks of 1 s on two workers: 5 + 4 + 5.
    The critical path is 11 s, the work of 18 s on two workers 9 s."""
    seconds = [[5.0, 5.0], *[[1.0, 1.0]] * 8, [5.0, 5.0]]
    edges = [(0, i, 0) for i in range(1, 9)] + [(i, 9, 0) for i in range(1, 9)]
    bound = lower_bound(Instance.from_arrays(seconds, edges))
    assert bound.seconds == pytest.approx(14.0)
    assert "windows" in bound.method


def test_releases_are_counted() -> None:
    instance = Instance.from_arrays([[1.0], [2.0]], [(0, 1, 0)], release=[7.0, 0.0])
    assert lower_bound(instance).seconds == pytest.approx(10.0)


def test_nothing_to_do_takes_no_time() -> None:
    nothing = Instance.price(TaskGraph.build().done(), Cluster([Worker("w0")]))
    assert lower_bound(nothing).seconds == 0.0


def test_a_sample_of_a_large_instance_proves_nearly_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = np.random.default_rng(5).uniform(1, 2, (400, 4))
    instance = Instance.from_arrays(seconds, [])
    whole = lower_bound(instance).seconds
    monkeypatch.setattr(tiers, "LP_SIZE", 100)
    monkeypatch.setattr(area, "_SAMPLE", 400)
    sampled = lower_bound(instance)
    assert "sample" in sampled.method
    assert 0.97 * whole <= sampled.seconds <= whole * (1 + 1e-9)


def test_more_workers_than_the_program_has_rows_share_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """520 tasks of 1 s on 130 workers: 4 s. With prices of 120 of them the others would be free,
    and a plan that counts steps had the longest task for its bound."""
    monkeypatch.setattr(tiers, "LP_SIZE", 100)
    instance = Instance.from_arrays(np.ones((520, 130)), [])
    assert lower_bound(instance).seconds == pytest.approx(4.0)


def test_paths_without_transfers_prove_less_but_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    full = lower_bound(topcuoglu()).seconds
    monkeypatch.setattr(tiers, "PATH_SECONDS", 0.0)
    plain = lower_bound(topcuoglu())
    # Shortest durations along n1 n2 n9 n10: 9 + 13 + 12 + 7.
    assert plain.seconds >= 41.0 * (1 - JUST_BELOW)
    assert plain.seconds <= full


@pytest.mark.parametrize("bound", [lower_bound, quick_bound])
@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_no_bound_exceeds_a_known_optimum(known: Known, bound: Callable[..., Bound]) -> None:
    assert bound(known.instance).seconds <= known.optimum * (1 + JUST_BELOW)


def test_no_bound_exceeds_the_optimum_of_the_oracle() -> None:
    met = 0
    for seed, instance in tiny_instances(range(40)):
        try:
            optimum = optimal_makespan(instance, 1.0)
        except (UnsupportedInstance, InfeasibleInstance):
            continue
        met += 1
        bound = max(lower_bound(instance).seconds, quick_bound(instance).seconds)
        assert bound <= optimum.makespan * (1 + JUST_BELOW), f"seed {seed}"
    assert met >= 20


@settings(max_examples=60)
@given(instances(max_tasks=16, any_constraints=True))
def test_no_bound_exceeds_a_schedule(instance: Instance) -> None:
    bound = max(lower_bound(instance).seconds, quick_bound(instance).seconds)
    for planner in LIST_PLANNERS:
        if planner.unsupported(instance) is None:
            found = next(planner.plan(Brief(instance))).schedule
            assert found is None or bound <= found.makespan * (1 + JUST_BELOW)
