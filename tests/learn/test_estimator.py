"""What was observed comes out as durations: right on workers where a task never ran."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import Floats, TaskGraph
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from tests.learn.observed import World, cluster, observe


def seconds_of(
    observations: list[Observation], task: str, *kinds: str, quantile: float = 0.5
) -> list[float]:
    """What one task takes on workers of these kinds, by what was observed."""
    builder = TaskGraph.build()
    builder.task(task, kind=task.split("-")[0])
    workers = Cluster([Worker(f"w{i}", kind=kind) for i, kind in enumerate(kinds)])
    found = fit(observations).compute_seconds(builder.done(), workers, quantile)
    return [float(s) for s in found[0]]


def errors_after(world: World, runs: int) -> Floats:
    """(tasks, workers) relative errors of the predictions after some runs."""
    observed: list[Observation] = []
    for i in range(runs):
        observed = world.run(f"run{i}") + observed
    predicted = fit(observed).compute_seconds(world.graph(), cluster())
    return np.abs(predicted / world.truth() - 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_one_run_tells_what_each_task_takes_on_each_worker(seed: int) -> None:
    """60 tasks, each seen once, on one of four workers with speeds 4 : 2 : 1 : 1."""
    errors = errors_after(World.make(seed), runs=1)
    assert np.median(errors) < 0.10
    assert np.quantile(errors, 0.9) < 0.25


@pytest.mark.parametrize("seed", range(3))
def test_more_runs_tell_more(seed: int) -> None:
    errors = errors_after(World.make(seed), runs=4)
    assert np.median(errors) < 0.03
    assert np.quantile(errors, 0.9) < 0.08


def test_speeds_are_recovered() -> None:
    world = World.make(7, tasks=240, within=0.1)
    slowness = {worker.kind: worker.log_seconds for worker in fit(world.run()).workers}
    assert math.exp(slowness["slow"] - slowness["fast"]) == pytest.approx(4.0, rel=0.1)
    assert math.exp(slowness["middle"] - slowness["fast"]) == pytest.approx(2.0, rel=0.1)


def test_short_tasks_do_not_hide_the_speeds() -> None:
    """Most tasks do 10 ms of work; by counting tasks, all workers would seem alike."""
    world = World.make(3, bases=(0.01, 0.01, 0.01, 4.0), tasks=80)
    slowness = {worker.kind: worker.log_seconds for worker in fit(world.run()).workers}
    assert math.exp(slowness["slow"] - slowness["fast"]) == pytest.approx(4.0, rel=0.2)


def test_the_overhead_is_found_and_no_worker_makes_it_shorter() -> None:
    world = World.make(5, bases=(0.1, 0.4, 1.6))
    world.overhead = (0.08, 0.1)
    observed = [o for i in range(3) for o in world.run(f"{i}")]
    costs = fit(observed)
    assert [kind.overhead for kind in costs.kinds] == pytest.approx([0.09] * 3, abs=0.015)


def test_work_that_no_worker_speeds_up_is_found_to_be_so() -> None:
    """`wait` takes 2 s anywhere, `compute` takes 4 s or 1 s: after some tasks that is plain."""
    observed = [
        observe(f"{kind}-{i}", worker, seconds * (1 + 0.01 * (i % 3)))
        for kind, slow, fast in (("wait", 2.0, 2.0), ("compute", 4.0, 1.0))
        for i in range(20)
        for worker, seconds in (("slow", slow), ("fast", fast))
    ]
    slow, fast = seconds_of(observed, "wait-new", "slow", "fast")
    assert slow / fast == pytest.approx(1.0, abs=0.2)
    slow, fast = seconds_of(observed, "compute-new", "slow", "fast")
    assert slow / fast == pytest.approx(4.0, rel=0.2)


def test_without_observations_nothing_is_known() -> None:
    costs = fit([])
    world = World.make(0)
    assert not costs.knows(world.graph())
    assert np.isnan(costs.compute_seconds(world.graph(), cluster())).all()
    assert np.isnan(costs.output_bytes(world.graph())).all()


def test_one_observation_is_believed() -> None:
    same, other = seconds_of([observe("load-1", "big", 2.0)], "load-1", "big", "small")
    assert same == pytest.approx(2.0, rel=0.02)
    assert other == pytest.approx(2.0, rel=0.02)


def test_a_task_that_was_seen_is_believed_more_than_its_kind() -> None:
    observed = [observe(f"load-{i}", "big", 1.0 + 0.1 * (i % 5)) for i in range(20)]
    observed.append(observe("load-huge", "big", 12.0))
    (huge,) = seconds_of(observed, "load-huge", "big")
    (new,) = seconds_of(observed, "load-new", "big")
    assert huge == pytest.approx(12.0, rel=0.1)
    assert new == pytest.approx(1.2, rel=0.1)


@pytest.mark.parametrize("runs", [1, 3])
def test_a_task_of_next_to_nothing_among_long_ones_stays_so(runs: int) -> None:
    """In logarithms its jitter would allow hours; it took 3 to 5 ms, and cannot take a second."""
    observed = []
    for run in range(runs):
        for i, seconds in enumerate((60.0, 0.9, 5.5, 0.02, 20.0)):
            observed.append(observe(f"load-{i}", "big", seconds, run_id=f"{run}"))
        observed.append(observe("load-tiny", "big", 0.003 + 0.001 * run, run_id=f"{run}"))
    (median,) = seconds_of(observed, "load-tiny", "big")
    (rarely,) = seconds_of(observed, "load-tiny", "big", quantile=0.9)
    assert median < 0.1
    assert rarely < 1.0
    (long,) = seconds_of(observed, "load-0", "big")
    assert long == pytest.approx(60.0, rel=0.1)


def test_one_hiccup_among_repetitions_is_ignored() -> None:
    usual = [observe("load-1", "big", 1.0, run_id=f"{i}") for i in range(4)]
    (found,) = seconds_of([observe("load-1", "big", 30.0, run_id="odd"), *usual], "load-1", "big")
    assert found == pytest.approx(1.0, rel=0.1)


def test_hiccups_do_not_slow_their_worker_down() -> None:
    """Every tenth task of the fast worker waited a minute for something else."""
    observed = [observe(f"load-{i}", "slow", 4.0 + 0.1 * (i % 5)) for i in range(30)]
    observed += [
        observe(f"load-{i}", "fast", 60.0 if i % 10 == 0 else 1.0 + 0.025 * (i % 5))
        for i in range(100, 130)
    ]
    slow, fast = seconds_of(observed, "load-new", "slow", "fast")
    assert slow / fast == pytest.approx(4.0, rel=0.15)


def test_old_runs_fade() -> None:
    """The function became three times slower 12 runs ago, after 30 runs."""
    new = [observe("fit-1", "big", 3.0 + 0.01 * i, run_id=f"new{i}") for i in range(20)]
    old = [observe("fit-1", "big", 1.0 + 0.01 * i, run_id=f"old{i}") for i in range(20)]
    (found,) = seconds_of(new + old, "fit-1", "big")
    assert found > 2.4


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, -1.0, 0.0])
def test_what_is_no_duration_is_ignored(seconds: float) -> None:
    good = [observe(f"load-{i}", "big", 1.0) for i in range(5)]
    assert fit([*good, observe("load-9", "big", seconds)]) == fit(good)
    assert fit([observe("load-9", "big", seconds)]) == fit([])


def test_the_order_within_a_run_does_not_matter() -> None:
    observed = World.make(1).run()
    assert fit(observed) == fit(observed[::-1])


def test_declared_speeds_are_believed_until_more_is_seen() -> None:
    """Two kinds of tasks, each on workers of one kind: nothing compares the workers."""
    observed = [observe(f"load-{i}", "cpu", 4.0) for i in range(5)]
    observed += [observe(f"fit-{i}", "gpu", 1.0) for i in range(5)]
    builder = TaskGraph.build()
    builder.task("load-new", kind="load")
    workers = Cluster([Worker("c", kind="cpu"), Worker("g", kind="gpu")])
    declared = fit(observed, {"cpu": 1.0, "gpu": 8.0})
    cpu, gpu = declared.compute_seconds(builder.done(), workers)[0]
    assert cpu / gpu == pytest.approx(8.0, rel=0.1)
    measured = [observe(f"load-{i}", "gpu", 2.0) for i in range(100, 140)]
    cpu, gpu = fit(observed + measured, {"cpu": 1.0, "gpu": 8.0}).compute_seconds(
        builder.done(), workers
    )[0]
    assert cpu / gpu == pytest.approx(2.0, rel=0.2)


def test_quantiles_hold_what_they_say() -> None:
    """Of 200 new tasks of a kind, about nine in ten stay below the 0.9 quantile."""
    rng = np.random.default_rng(0)
    observed = [
        observe(f"load-{i}", "big", float(2 * np.exp(rng.normal(0, 0.5)))) for i in range(100)
    ]
    low, middle, high = (
        seconds_of(observed, "load-new", "big", quantile=q)[0] for q in (0.1, 0.5, 0.9)
    )
    assert low < middle < high
    fresh = 2 * np.exp(rng.normal(0, 0.5, 200))
    assert np.mean(fresh < high) == pytest.approx(0.9, abs=0.07)
    assert np.mean(fresh < low) == pytest.approx(0.1, abs=0.07)


def test_a_task_that_was_seen_is_surer_than_a_new_one() -> None:
    observed = World.make(2, within=0.5).run()
    seen, new = (
        seconds_of(observed, task, "fast", quantile=0.9)[0] / seconds_of(observed, task, "fast")[0]
        for task in ("kind3-x", "kind3-y")
    )
    assert seen == new
    builder = TaskGraph.build()
    builder.task("t3", kind="kind3")
    costs, graph = fit(observed), builder.done()
    spread = costs.compute_seconds(graph, cluster(), 0.9) / costs.compute_seconds(graph, cluster())
    assert (spread < new).all()


def test_sizes_are_those_of_the_task_and_for_new_tasks_those_of_the_kind() -> None:
    observed = [observe(f"load-{i}", "big", 1.0, nbytes=1e6 * (1 + i % 3)) for i in range(30)]
    observed += [observe("load-huge", "big", 1.0, nbytes=5e9)]
    observed += [observe("load-odd", "big", 1.0, nbytes=math.nan)]
    builder = TaskGraph.build()
    for task in ("load-0", "load-huge", "load-odd", "load-new", "never-1"):
        builder.task(task, kind=task.split("-")[0])
    first, huge, odd, new, never = fit(observed).output_bytes(builder.done()).tolist()
    assert first == pytest.approx(1e6, rel=0.1)
    assert huge == pytest.approx(5e9, rel=0.01)
    assert odd == new == pytest.approx(2e6, rel=0.1)
    assert math.isnan(never)


def test_memory_is_what_most_executions_of_a_kind_did_not_exceed() -> None:
    """A process that freed memory keeps it: later tasks seem to take none."""
    peaks = [4e8, *[0.0] * 8, 3e8, *[0.0] * 7, 2e9, 3.1e8, 3.2e8]
    observed = [
        observe(f"load-{i}", "big", 1.0, nbytes=1e6, memory=peak) for i, peak in enumerate(peaks)
    ]
    observed += [observe("make-1", "big", 1.0, nbytes=5e8, memory=0.0)]
    observed += [observe("fit-1", "big", 1.0, nbytes=5e8)]
    observed += [observe("odd-1", "big", 1.0, nbytes=math.nan, memory=math.inf)]
    builder = TaskGraph.build()
    for task in ("load-7", "load-new", "make-1", "fit-1", "odd-1", "never-1"):
        builder.task(task, kind=task.split("-")[0])
    costs = fit(observed)
    old, new, make, *unknown = costs.memory_bytes(builder.done()).tolist()
    assert old == new == 4e8
    assert make == 5e8, "at least the output, which is made while it runs"
    assert np.isnan(unknown).all()
    assert np.isnan(HistoryCosts().memory_bytes(builder.done())).all()
    assert HistoryCosts.from_json(costs.to_json()) == costs


def test_memory_of_a_device_is_the_most_that_a_kind_needed() -> None:
    known = [
        replace(observe(f"step-{i}", "big", 1.0), device_memory=need)
        for i, need in enumerate([3e9, None, 5e9, 1e9])
    ]
    builder = TaskGraph.build()
    for task in ("step-7", "fit-1", "never-1"):
        builder.task(task, kind=task.split("-")[0])
    costs = fit([*known, observe("fit-1", "big", 1.0)])
    step, *unknown = costs.device_bytes(builder.done()).tolist()
    assert step == 5e9
    assert np.isnan(unknown).all()
    assert HistoryCosts.from_json(costs.to_json()) == costs


def test_outputs_without_size_have_none() -> None:
    builder = TaskGraph.build()
    builder.task("log-1", kind="log")
    costs = fit([observe("log-1", "big", 1.0, nbytes=0.0)])
    assert costs.output_bytes(builder.done()).tolist() == [0.0]


@given(
    st.lists(
        st.builds(
            observe,
            st.sampled_from(["a-1", "a-2", "b-1", "b-2", "c-1"]),
            st.sampled_from(["big", "small", "gpu"]),
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(allow_nan=True, allow_infinity=True),
            st.sampled_from(["r1", "r2", "r3"]),
        ),
        max_size=25,
    ),
    st.sampled_from([0.01, 0.5, 0.99]),
)
def test_predictions_are_finite_and_positive(observed: list[Observation], quantile: float) -> None:
    builder = TaskGraph.build()
    for task in ("a-1", "a-9", "b-1", "c-1"):
        builder.task(task, kind=task[0])
    graph = builder.done()
    workers = Cluster([Worker(kind, kind=kind, speed=3.0) for kind in ("big", "small", "new")])
    costs = fit(observed)
    seconds = costs.compute_seconds(graph, workers, quantile)
    known = np.array([any(k.kind == kind for k in costs.kinds) for kind in graph.kinds])
    known = known[graph.kind_of]
    assert np.isfinite(seconds[known]).all()
    assert (seconds[known] > 0).all()
    assert np.isnan(seconds[~known]).all()
    sizes = costs.output_bytes(graph)
    assert (np.isnan(sizes) | (np.isfinite(sizes) & (sizes >= 0))).all()


def other_flow(rng: np.random.Generator) -> list[Observation]:
    """Forty tasks on other machines, six runs; none ever takes as long as it did before."""
    return [
        observe(f"fetch-{i}", "far", float(np.exp(rng.normal())), run_id=f"far-{run}")
        for run in range(6)
        for i in range(40)
    ]


def test_what_varies_in_other_flows_makes_steady_tasks_no_less_sure() -> None:
    """Neither the tasks that were seen each time, nor new ones, on either worker."""
    steady = [
        observe(f"{kind}-{i if kind == 'train' else (run, i)}", worker, seconds, run_id=f"{run}")
        for run in range(4)
        for i in range(8)
        for kind, seconds, worker in (
            ("train", 4.0, ("big", "small")[(run + i) % 2]),
            ("clean", 0.5, ("big", "small")[i % 2]),
        )
    ]
    observed = other_flow(np.random.default_rng(3)) + steady
    for task, usual in (("train-1", 4.0), ("clean-new", 0.5)):
        middle = seconds_of(observed, task, "big", "small")
        high = seconds_of(observed, task, "big", "small", quantile=0.9)
        assert middle == pytest.approx([usual] * 2, rel=0.02)
        assert max(high) < 1.25 * usual


def test_a_task_seen_twice_may_vary_as_its_neighbours_in_the_same_runs_do() -> None:
    rng = np.random.default_rng(5)

    def seen(noise: float) -> list[Observation]:
        return [
            observe(
                f"step-{i}", "big", 2.0 * float(np.exp(rng.normal(0.0, noise))), run_id=f"{run}"
            )
            for run in range(2)
            for i in range(30)
        ] + [observe("sum-1", "big", 3.0, run_id=f"{run}") for run in range(2)]

    calm, rough = (
        seconds_of(seen(noise), "sum-1", "big", quantile=0.9)[0] for noise in (0.01, 0.5)
    )
    assert rough > calm + 0.3
