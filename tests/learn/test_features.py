"""Numbers that tasks are given: what depends on them is foretold by them, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.columns import columns_of
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.features import explained
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.learn.unseen import unseen

TASKS = 6
Given = Mapping[str, float]


def history(
    runs: list[Given], level: Callable[[Given], float], *, noise: float = 0.05
) -> list[Observation]:
    """Runs of six tasks of 1 to 2 s on a worker of speed 1, each run as many log seconds longer as
    `level` says of what its tasks are given; the newest first."""
    rng = np.random.default_rng(3)
    observed: list[Observation] = []
    for run, given in enumerate(runs):
        of_run = level(given) + rng.normal(0.0, noise)
        seconds = [(1.0 + i / 5) * np.exp(of_run + rng.normal(0.0, 0.02)) for i in range(TASKS)]
        observed = [
            Observation(
                f"k-{i}", "k", "w", "w", each, 0.0, f"{run}",
                overhead_seconds=0.0, features=Amounts(given),
            )
            for i, each in enumerate(seconds)
        ] + observed  # fmt: skip
    return observed


def expected(costs: HistoryCosts, given: Given, quantile: float = 0.5) -> float:
    """Log of what all tasks are expected to take over what they take at level 0."""
    builder = TaskGraph.build()
    for i in range(TASKS):
        builder.task(f"k-{i}", kind="k", features=given)
    found = costs.compute_seconds(builder.done(), Cluster([Worker("w", kind="w")]), quantile)
    return float(np.log(found.sum() / sum(1.0 + i / 5 for i in range(TASKS))))


def by_rows(given: Given) -> float:
    return float(np.log(given["rows"] / 1e4))


ROWS: list[Given] = [{"rows": rows} for rows in (1e4, 3e4, 1e4, 1e5, 2e4, 5e4)]


@pytest.mark.parametrize("rows", [1e3, 1e4, 1e6])
def test_work_that_grows_with_a_number_is_foretold_by_it(rows: float) -> None:
    """Without it, each was foretold as the middle of all, from a tenth to 25 times as long."""
    costs = fit(history(ROWS, by_rows))
    assert expected(costs, {"rows": rows}) == pytest.approx(np.log(rows / 1e4), abs=0.35)


def test_how_far_it_may_be_off_grows_with_the_way_from_what_was_seen() -> None:
    costs = fit(history(ROWS, by_rows))
    near, far = (
        expected(costs, {"rows": rows}, 0.9) - expected(costs, {"rows": rows})
        for rows in (5e4, 5e7)
    )
    assert far > near + 0.05


def test_two_numbers_may_matter() -> None:
    rng = np.random.default_rng(0)
    runs = [
        {"rows": float(10 ** rng.uniform(3, 5)), "epochs": float(rng.integers(1, 30)), "seed": s}
        for s in (5.0, 9.0, 1.0, 80.0, 7.0, 2.0, 30.0, 4.0)
    ]
    costs = fit(history(runs, lambda given: by_rows(given) + np.log(given["epochs"])))
    assert {each.name for each in costs.kinds[0].features if each.exponent} == {"rows", "epochs"}
    given = {"rows": 2e5, "epochs": 10.0, "seed": 3.0}
    assert expected(costs, given) == pytest.approx(np.log(20 * 10), abs=0.4)


@pytest.mark.parametrize(
    "level",
    [
        lambda given: 0.0,
        lambda given: float(np.random.default_rng(int(given["seed"])).normal(0.0, 0.3)),
        lambda given: 1.0 if given["seed"] == 30.0 else 0.0,
    ],
    ids=["steady", "scattered", "one odd run"],
)
def test_a_number_on_which_nothing_depends_changes_nothing(level: Callable[[Given], float]) -> None:
    runs: list[Given] = [{"seed": s} for s in (5.0, 9.0, 1.0, 80.0, 7.0, 2.0, 30.0, 4.0, 11.0)]
    columns = columns_of(history(runs, level))
    found, learned = explained(columns, np.zeros(1))
    assert found is columns
    assert [each.exponent for each in learned[0]] == [0.0]


def test_a_number_that_never_varied_says_nothing_of_others() -> None:
    costs = fit(history([{"rows": 1e4}] * 6, by_rows))
    assert expected(costs, {"rows": 1e6}) == expected(costs, {"rows": 1e4})


def test_tasks_of_one_run_that_differ_as_their_numbers_do_are_told_apart() -> None:
    """Each day other files: what `k-3` took says nothing of what it will take."""
    rng = np.random.default_rng(1)
    observed: list[Observation] = []
    for run in range(6):
        lines = 10 ** rng.uniform(3, 5, TASKS)
        observed = [
            Observation(
                f"k-{i}", "k", "w", "w", n / 1e4, 0.0, f"{run}",
                overhead_seconds=0.0, features=Amounts({"lines": n}),
            )
            for i, n in enumerate(lines.tolist())
        ] + observed  # fmt: skip
    builder = TaskGraph.build()
    for i, n in enumerate((1e3, 1e5)):
        builder.task(f"k-{i}", kind="k", features={"lines": n})
    cluster = Cluster([Worker("w", kind="w")])
    short, long = fit(observed).compute_seconds(builder.done(), cluster).ravel()
    assert short == pytest.approx(0.1, rel=0.3)
    assert long == pytest.approx(10.0, rel=0.3)


def test_runs_of_before_it_was_noted_count_as_they_did() -> None:
    observed = history(ROWS, by_rows)
    old = [replace(o, run_id=f"old {o.run_id}", features=NOTHING) for o in observed]
    costs = fit([*observed, *old])
    assert expected(costs, {"rows": 1e6}) > np.log(1e6 / 1e4) - 1.5
    assert np.isfinite(expected(costs, {}))


@pytest.mark.parametrize(
    ("runs", "given", "told"),
    [
        (
            [{"rows": 1e4}] * 4,
            {"rows": 1e6},
            "nothing learned yet with rows = 1,000,000, only with 10,000: foretold as of those",
        ),
        (
            ROWS,
            {"rows": 1e6},
            "nothing learned yet with rows = 1,000,000, only with 10,000 to 100,000: foretold as "
            "it grew until there",
        ),
        (ROWS, {"rows": 4e3}, "nothing learned yet with rows = 4,000, only with 10,000 to 100,000"),
        (ROWS, {"rows": 1.5e5}, ""),
        ([{"rows": 1e4}] * 4, {"rows": 1.1e4}, ""),
        ([{"rows": 1e4}] * 4, {}, ""),
        ([], {"rows": 1e4}, ""),
    ],
)
def test_what_no_run_was_given_is_told(runs: list[Given], given: Given, told: str) -> None:
    graph = TaskGraph.build()
    graph.task("k-0", kind="k", features=given)
    found = unseen(fit(history(runs, by_rows)).kinds, graph.done())
    assert found.startswith(told) if told else found == ""


def test_of_a_number_that_grew_while_all_grew_it_is_told_that_it_may_matter() -> None:
    """Ten percent more from run to run are foretold as such; who knows what a jump would do?"""
    runs: list[Given] = [{"rows": 1e4 * 1.1**i} for i in range(10)]
    graph = TaskGraph.build()
    graph.task("k-0", kind="k", features={"rows": 1e6})
    costs = fit(history(runs, by_rows, noise=0.01))
    assert costs.kinds[0].features[0].exponent == 0.0
    assert unseen(costs.kinds, graph.done()).startswith(
        "nothing learned yet with rows = 1,000,000, only"
    )


def test_what_a_single_run_says_of_a_jump_is_not_believed_and_that_is_told() -> None:
    """The next one was foretold as those before the jump, a tenth of what it took, without a word;
    once two have said the same, it is foretold by them."""
    few, jump = [{"rows": rows} for rows in (1.1e4, 9e3, 1.2e4, 1e4)], {"rows": 1e5}
    graph = TaskGraph.build()
    graph.task("k-0", kind="k", features=jump)
    once, twice = (fit(history(few + [jump] * times, by_rows)) for times in (1, 2))
    assert expected(once, jump) < 1.0
    assert unseen(once.kinds, graph.done()).startswith("nothing learned yet with rows = 100,000")
    assert unseen(twice.kinds, graph.done()) == ""
    assert expected(twice, jump) == pytest.approx(np.log(10.0), abs=0.35)


def test_of_a_number_on_which_nothing_depends_nothing_is_told() -> None:
    runs: list[Given] = [{"seed": s} for s in (5.0, 9.0, 1.0, 80.0, 7.0, 2.0)]
    graph = TaskGraph.build()
    graph.task("k-0", kind="k", features={"seed": 1e6})
    assert unseen(fit(history(runs, lambda given: 0.0)).kinds, graph.done()) == ""
