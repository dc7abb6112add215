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
