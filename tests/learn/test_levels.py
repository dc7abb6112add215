"""Kinds whose tasks take longer from run to run: forecasts follow them, and only them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import Floats, TaskGraph
from orchestrator_core.learn.columns import columns_of
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.levels import lately, levelled

RUNS = 10
TASKS = 9


def history(levels: Floats, *, kind: str = "k", fresh: bool = False) -> list[Observation]:
    """Runs of nine tasks of 1 to 2 s on a worker of speed 2 and one of speed 1, each run as many
    log seconds longer as `levels` say; the newest first. `fresh`: no name comes twice."""
    rng = np.random.default_rng(5)
    observed: list[Observation] = []
    for run, level in enumerate(levels.tolist()):
        of_run = []
        for i in range(TASKS):
            worker, speed = (("fast", 2.0), ("slow", 1.0))[(i + run) % 2]
            seconds = (1.0 + i / 8) * np.exp(level + rng.normal(0.0, 0.03)) / speed
            name = f"{kind}-{run}-{i}" if fresh else f"{kind}-{i}"
            of_run.append(Observation(name, kind, worker, worker, seconds, 0.0, f"{run}"))
        observed = of_run + observed
    return [replace(o, overhead_seconds=0.0) for o in observed]


def level_of(observed: list[Observation], *, kind: str = "k", fresh: bool = False) -> float:
    """Log of what the next run is expected to take over what one at level 0 takes."""
    builder = TaskGraph.build()
    for i in range(TASKS):
        builder.task(f"{kind}-new-{i}" if fresh else f"{kind}-{i}", kind=kind)
    workers = Cluster([Worker("a", kind="fast"), Worker("b", kind="slow")])
    seconds = fit(observed).compute_seconds(builder.done(), workers)
    usual = sum((1.0 + i / 8) * 1.5 for i in range(TASKS))
    return float(np.log(seconds.sum() / usual))


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("growth", [0.05, 0.15, -0.10])
def test_data_that_grow_from_run_to_run_are_followed(growth: float, fresh: bool) -> None:
    """By a mean over runs that fade by half in eight, the forecast was half of the growth late."""
    foreseen = level_of(history(growth * np.arange(RUNS), fresh=fresh), fresh=fresh)
    assert foreseen == pytest.approx(growth * RUNS, abs=abs(growth) + 0.06)


@pytest.mark.parametrize("since", [3, 5])
def test_a_change_of_the_code_is_believed_after_three_runs(since: int) -> None:
    levels = np.where(np.arange(RUNS) >= RUNS - since, 1.0, 0.0)
    assert level_of(history(levels)) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize(
    "levels",
    [
        np.zeros(RUNS),
        np.random.default_rng(1).normal(0.0, 0.3, RUNS),
        np.where(np.arange(RUNS) == 6, 1.0, 0.0),
        np.where(np.arange(RUNS) == RUNS - 1, 1.0, 0.0),
        np.arange(RUNS) % 2 * 0.5,
    ],
    ids=["steady", "scattered", "one odd run", "the newest is odd", "to and fro"],
)
def test_what_is_no_change_changes_nothing(levels: Floats) -> None:
    columns = columns_of(history(levels))
    assert levelled(columns, np.zeros(2)) is columns


def test_only_the_kind_that_changed_is_moved() -> None:
    grows, steady = history(0.1 * np.arange(RUNS), kind="grows"), history(np.zeros(RUNS), kind="s")
    columns = columns_of([*grows, *steady])
    moved = levelled(columns, np.zeros(2))
    same = columns.kind == columns.kinds.index("s")
    assert np.array_equal(moved.seconds[same], columns.seconds[same])
    assert level_of([*grows, *steady], kind="grows") == pytest.approx(1.0, abs=0.15)
    assert level_of([*grows, *steady], kind="s") == pytest.approx(0.0, abs=0.05)


def test_tasks_of_hardly_any_work_take_more_than_nothing_however_much_sooner_they_end() -> None:
    """Moved by more than they took, they took less than nothing; and of that nothing was learned of
    any kind, from then on."""
    brief = [
        replace(o, seconds=o.seconds * scale)
        for o, scale in zip(
            history(-0.5 * np.arange(RUNS)), np.resize([1e-5, 1e-3], RUNS * TASKS), strict=True
        )
    ]
    columns = columns_of(brief)
    moved = levelled(columns, np.zeros(2))
    assert moved is not columns
    assert moved.seconds.min() > 0
    assert np.isfinite(level_of([*brief, *history(np.zeros(RUNS), kind="s")], kind="s"))


def test_how_workers_compare_is_kept() -> None:
    """Runs that are late in a growing series ran on the fast worker alone."""
    observed = history(0.2 * np.arange(RUNS))
    late = {f"{run}" for run in range(RUNS - 3, RUNS)}
    kept = [o for o in observed if o.run_id not in late or o.worker == "fast"]
    speeds = {worker.kind: worker.log_seconds for worker in fit(kept).workers}
    assert np.exp(speeds["slow"] - speeds["fast"]) == pytest.approx(2.0, rel=0.15)


def test_where_the_next_level_is_expected() -> None:
    newest_first = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    found = lately(newest_first)
    assert found is not None
    assert 5.0 < found <= 6.0
    assert lately(newest_first[:3]) is None, "too few"
    assert lately(np.array([1.0, 2.0, 1.0, 2.0, 1.0])) is None
