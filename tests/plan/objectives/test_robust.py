from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.objectives import robust
from orchestrator_core.plan.objectives.robust import at_quantile, makespan_quantiles, robust_plan
from orchestrator_core.plan.schedule import Schedule


def _instance() -> Instance:
    tasks = [Task(f"t{i}", seconds=2.0 + i % 3) for i in range(12)]
    return Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w0"), Worker("w1")]))


def _longest_first(instance: Instance) -> Schedule:
    problem = expand(instance)
    longest = problem.seconds.min(axis=1)
    found = place(instance, Choice(np.argsort(-longest, kind="stable")))
    assert isinstance(found, Schedule)
    return found


def test_quantiles_of_a_spread() -> None:
    instance = _instance()
    spread = np.linspace(0.0, 1.0, 12)
    low, middle, high = (at_quantile(instance, q, spread=spread) for q in (0.1, 0.5, 0.9))
    assert np.allclose(middle.seconds, instance.seconds)
    assert (low.seconds <= middle.seconds).all()
    assert (middle.seconds <= high.seconds).all()
    # The 0.9 quantile of a standard normal distribution is 1.2816.
    assert high.seconds[11, 0] == pytest.approx(instance.seconds[11, 0] * np.exp(1.2816), rel=1e-4)
    assert high.seconds[0, 0] == instance.seconds[0, 0]


def test_quantiles_of_samples() -> None:
    samples: list[list[float]] = [[] for _ in range(12)]
    samples[3] = [1.0, 2.0, 3.0]
    found = at_quantile(_instance(), 0.5, samples=samples)
    factor = found.seconds / _instance().seconds
    assert factor[3, 0] == 2.0
    assert (np.delete(factor, 3, axis=0) == 1.0).all()


def test_the_plan_with_the_best_quantile_is_kept() -> None:
    instance, spread = _instance(), np.where(np.arange(12) % 3 == 0, 1.0, 0.05)
    best = robust_plan(instance, _longest_first, spread=spread)
    again = robust_plan(instance, _longest_first, spread=spread)
    check_schedule(instance, best.schedule)
    assert best.schedule.to_json() == again.schedule.to_json()
    assert best.makespan == again.makespan
    alone = [
        robust_plan(instance, _longest_first, spread=spread, planned_at=(q,)).makespan
        for q in (0.5, 0.7, 0.9)
    ]
    assert best.makespan == min(alone)


def test_a_larger_quantile_is_no_shorter() -> None:
    instance = _instance()
    spans = [
        robust_plan(instance, _longest_first, spread=0.5, quantile=q, planned_at=(0.5,)).makespan
        for q in (0.25, 0.5, 0.75, 0.95)
    ]
    assert spans == sorted(spans)


def test_without_spread_nothing_changes() -> None:
    instance = _instance()
    schedule = _longest_first(instance)
    assert makespan_quantiles([schedule], [instance], 0.9) == pytest.approx([schedule.makespan])
    plan = robust_plan(instance, _longest_first, spread=0.0)
    assert plan.makespan == pytest.approx(schedule.makespan)


def test_drawn_runs_are_not_held_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has durations of all tasks on all workers: there are two at most, the one that is looked
    at and the next."""
    drawn_run, most = robust._drawn_run, 0
    made: list[weakref.ref[Instance]] = []

    def noted(instance: Instance, factor: Floats) -> Instance | None:
        nonlocal most
        run = drawn_run(instance, factor)
        assert run is not None
        made.append(weakref.ref(run))
        most = max(most, sum(each() is not None for each in made))
        return run

    monkeypatch.setattr(robust, "_drawn_run", noted)
    robust_plan(_instance(), _longest_first, spread=0.3, samples=8)
    assert len(made) == 8
    assert most <= 2


def test_what_can_be_kept_at_its_own_durations_is_planned() -> None:
    """At the 0.7 quantile (11.7 s) and in some drawn runs the deadline of 11 s is out of reach."""
    tasks = [Task("a", seconds=10.0, deadline=11.0), Task("b", seconds=3.0)]
    instance = Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w0"), Worker("w1")]))
    found = robust_plan(instance, _longest_first, spread=0.3, quantile=0.1)
    assert found.planned_at == 0.5
    assert found.makespan < 11.0
    assert robust_plan(instance, _longest_first, spread=0.3, quantile=0.9).makespan == np.inf


def test_refuses_what_cannot_be() -> None:
    instance = _instance()
    with pytest.raises(InvalidInput, match=r"in \(0, 1\)"):
        at_quantile(instance, 1.0, spread=0.1)
    with pytest.raises(InvalidInput, match="one of the two"):
        at_quantile(instance, 0.5)
    with pytest.raises(InvalidInput, match=">= 0"):
        at_quantile(instance, 0.5, spread=-1.0)
    for wrong in ["x"], [-1.0], [float("nan")]:
        with pytest.raises(InvalidInput, match="must be numbers >= 0"):
            at_quantile(instance, 0.5, samples=[wrong] * 12)  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="samples of 1 tasks; the graph has 12"):
        at_quantile(instance, 0.5, samples=[[1.0]])
    with pytest.raises(InvalidInput, match="planned_at is \\[\\]; give quantiles"):
        robust_plan(instance, _longest_first, spread=0.1, planned_at=[])


@dataclass(frozen=True)
class Holder:
    """Holds a schedule, as the result of a plan does."""

    schedule: Schedule


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"plan": lambda i: Holder(_longest_first(i))}, r"plan makes is a Holder.* its \.schedule"),
        ({"plan": lambda i: None}, "what plan makes is None, not a Schedule"),
        ({"plan": None}, "plan is None; give a function that makes a Schedule"),
        ({"spread": "x"}, "spread must be a number >= 0, such as 0.3, .* found 'x'"),
        ({"spread": "0.3"}, "spread must be a number"),
        ({"spread": None}, "spread must be .* found None"),
        ({"spread": 10**400}, "spread must be a number"),
        ({"quantile": 1.5}, r"in \(0, 1\)"),
        ({"seed": -1}, "seed is -1; it must be a whole number >= 0"),
        ({"seed": None}, "seed is None; it must be"),
        ({"planned_at": 0.5}, "planned_at is 0.5; give quantiles"),
        ({"samples": 0}, "samples is 0; it must be a whole number >= 1"),
        ({"instance": None}, "an Instance, not of a NoneType"),
    ],
)
def test_what_no_robust_plan_is_made_of(given: dict[str, Any], message: str) -> None:
    fine = {"instance": _instance(), "plan": _longest_first, "spread": 0.3}
    with pytest.raises(InvalidInput, match=message):
        robust_plan(**{**fine, **given})
