"""The first bound takes what it can within its part of the time, and is always one."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan import first_bound as module
from orchestrator_core.plan.bounds import Bound, lower_bound
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.bounds.windows import ROUNDS
from orchestrator_core.plan.first_bound import first_bound, quick_bound
from orchestrator_core.plan.objective import MAKESPAN


def unrelated(n: int) -> Instance:
    """Layers of 12 tasks on 8 unrelated workers; outputs take as long as tasks."""
    dice = np.random.default_rng(n)
    edges = [
        (int(a), b, 1.0)
        for b in range(12, n)
        for a in dice.choice(np.arange(b - b % 12 - 12, b - b % 12), 2, False)
    ]
    return Instance.from_arrays(dice.uniform(1.0, 8.0, (n, 8)), edges, seconds_per_byte=4.0)


def test_fewer_rounds_prove_less_and_are_proven_all_the_same() -> None:
    instance = unrelated(60)
    proven = [lower_bound(instance, rounds) for rounds in (3, 5, ROUNDS)]
    seconds = [bound.seconds for bound in proven]
    assert seconds == sorted(seconds)
    for bound in proven:
        assert bound.certificate is not None
        assert verify(instance, bound.certificate) == pytest.approx(bound.seconds, rel=1e-6)


@pytest.mark.parametrize(
    ("seconds", "rounds"), [(None, ROUNDS), (10.0, ROUNDS), (2.0, 5), (0.5, 3)]
)
def test_windows_are_sought_as_long_as_there_is_time(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None, rounds: int
) -> None:
    """500 unrelated tasks x 8 took 0.8 s, though a fifth of 0.5 s was all there was."""
    asked = []

    def remembered(_: Instance, rounds: int) -> Bound:
        asked.append(rounds)
        return Bound(1.0, "remembered")

    monkeypatch.setattr(module, "lower_bound", remembered)
    first_bound(unrelated(500), MAKESPAN, seconds)
    assert asked == [rounds]


def test_without_time_nothing_is_solved() -> None:
    instance = unrelated(60)
    assert first_bound(instance, MAKESPAN, 0.0) == quick_bound(instance)


def test_only_workers_that_may_run_a_task_count_as_choices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2,000 tasks on 64 workers, each for four of them: 8,000 choices, whose program is solved in
    tenths of a second. For all 128,000 pairs there would be no time in two seconds."""
    seconds = np.full((2_000, 64), np.inf)
    for task in range(2_000):
        seconds[task, 4 * (task % 16) : 4 * (task % 16) + 4] = 1.0
    asked = []

    def remembered(_: Instance, rounds: int) -> Bound:
        asked.append(rounds)
        return Bound(1.0, "remembered")

    monkeypatch.setattr(module, "lower_bound", remembered)
    first_bound(Instance.from_arrays(seconds, []), MAKESPAN, 2.0)
    assert asked == [3]


def test_paths_count_transfers_where_there_is_no_time_for_a_linear_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two tasks of 1 s that may run on one worker each, and 5 s between them: 7 s. As long as
    transfers were free in the first bound, a stencil of 2,000 tasks on 30 workers had one of 208 s
    in place of 332 s for a plan of two seconds."""
    monkeypatch.setattr(module, "EFFORTS", ())
    instance = Instance.from_arrays([[1.0, np.inf], [np.inf, 1.0]], [(0, 1, 0.0)], latency=5.0)
    bound = first_bound(instance, MAKESPAN, 2.0)
    assert bound.seconds == pytest.approx(7.0)
    assert bound.certificate is not None
    assert verify(instance, bound.certificate) == pytest.approx(7.0)


def test_tasks_between_transfers_have_to_run_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first and a last task on a worker of their own, 5 s from the two that do eight tasks of 1 s
    between them: 1 + 5 + 4 + 5 + 1 with the best prices. The longest path is 13 s."""
    monkeypatch.setattr(module, "EFFORTS", ())
    ends, middle = [1.0, np.inf, np.inf], [np.inf, 1.0, 1.0]
    edges = [(0, i, 0.0) for i in range(1, 9)] + [(i, 9, 0.0) for i in range(1, 9)]
    instance = Instance.from_arrays([ends, *[middle] * 8, ends], edges, latency=5.0)
    assert 15.0 < first_bound(instance, MAKESPAN, 2.0).seconds <= 16.0
