"""Who works in the helper: by the size and the shape of the instance."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Task, TaskGraph, Worker
from orchestrator_core.plan.phases import fitting, phases, search_share
from tests.plan.crew.fakes import Fake

ALL = ["cpsat", "windows", "sub-dags", "bounds"]


def chain(tasks: int, workers: int, way: float = 0.0) -> Instance:
    edges = [(i, i + 1, 1.0) for i in range(tasks - 1)]
    seconds = np.ones((tasks, workers)) * np.arange(1.0, workers + 1.0)
    return Instance.from_arrays(seconds, edges, seconds_per_byte=way)


def star(tasks: int, workers: int) -> Instance:
    edges = [(0, i, 1.0) for i in range(1, tasks)]
    seconds = np.ones((tasks, workers)) * np.arange(1.0, workers + 1.0)
    return Instance.from_arrays(seconds, edges)


def test_a_small_instance_is_solved_whole() -> None:
    assert fitting(chain(50, 8), ALL) == ["cpsat", "windows", "sub-dags", "bounds"]
    assert fitting(star(16, 8), ALL) == ["cpsat", "windows", "sub-dags", "bounds"]


def test_a_large_one_by_windows_and_exact_sub_graphs() -> None:
    assert fitting(chain(200, 8), ALL) == ["windows", "sub-dags", "bounds"]


def test_hubs_leave_exact_sub_graphs_out() -> None:
    assert fitting(star(200, 8), ALL) == ["windows", "bounds"]
    assert fitting(star(50, 8), ALL) == ["cpsat", "windows", "bounds"]


def test_what_is_scarce_beside_threads_is_left_to_cp_sat() -> None:
    tasks = [Task(f"t{i}", seconds=1 + i, output_bytes=1) for i in range(4)]
    edges = [Edge("t0", "t1"), Edge("t1", "t2"), Edge("t2", "t3")]
    graph = TaskGraph.from_tasks(tasks, edges)
    scarce = Cluster([Worker("w0", memory=2), Worker("w1", memory=2)])
    plenty = Cluster([Worker("w0"), Worker("w1", threads=2)])
    assert "sub-dags" not in fitting(Instance.price(graph, scarce), ALL)
    assert "sub-dags" in fitting(Instance.price(graph, plenty), ALL)


def test_a_graph_of_few_choices_may_be_wider() -> None:
    forks = [star(12, 8), star(12, 200)]
    names = [fitting(fork, ["windows", "sub-dags"]) for fork in forks]
    assert names == [["windows", "sub-dags"], ["windows"]]


def test_a_project_on_one_worker_has_no_places_to_choose() -> None:
    assert "cpsat" in fitting(chain(500, 1), ALL)


def test_who_is_asked_for_alone_works_in_any_case() -> None:
    assert fitting(chain(200, 8), ["cpsat"]) == ["cpsat"]


def test_the_bounds_come_first() -> None:
    first, then = phases(chain(50, 8), [Fake(name="cpsat"), Fake(name="bounds")])
    assert [planner.name for planner, _ in first.shares] == ["bounds"]
    assert first.until < then.until
    assert [planner.name for planner, _ in then.shares] == ["cpsat", "bounds"]


def test_bounds_have_more_than_exact_sub_graphs_where_transfers_are_long() -> None:
    # The mean task takes 4.5 s.
    planners = [Fake(name="sub-dags"), Fake(name="bounds")]
    for way, more in ((1.0, False), (30.0, True)):
        *_, then = phases(chain(100, 8, way), planners)
        (_, sub_dags), (_, bounds) = then.shares
        assert (bounds > sub_dags) == more


def test_one_thread_tries_the_whole_before_several_do() -> None:
    planners = [Fake(name=name) for name in ("cpsat", "sub-dags", "bounds")]
    first, between, then = phases(chain(50, 8), planners)
    assert [planner.name for planner, _ in between.shares] == ["sub-dags", "bounds"]
    assert first.until < between.until < then.until
    assert [planner.name for planner, _ in then.shares] == ["cpsat", "sub-dags", "bounds"]


def test_the_search_makes_room_for_exact_models() -> None:
    sub_dags, bounds = Fake(name="sub-dags"), Fake(name="bounds")
    assert search_share(chain(100, 8), [sub_dags, bounds]) < 1.0
    assert search_share(star(100, 8), [sub_dags, bounds]) == 1.0  # hubs: bounds alone
    assert search_share(chain(5_000, 8), [sub_dags, bounds]) == 1.0
    assert search_share(chain(50, 8), [Fake(name="cpsat"), bounds]) < 1.0


def test_a_shop_is_left_to_the_search_that_swaps() -> None:
    both = ["local-search", "local-search-general"]
    infinity = np.inf
    shop = Instance.from_arrays([[1.0, infinity], [infinity, 1.0]], [(0, 1, 0.0)])
    assert fitting(shop, both) == ["local-search-general"]
    assert fitting(chain(3, 2), both) == both


def test_interchangeable_workers_leave_nothing_to_choose() -> None:
    identical = Instance.from_arrays(np.ones((300, 8)), [])
    assert "cpsat" in fitting(identical, ALL)
