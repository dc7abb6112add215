"""Workers that look alike: what is observed of tasks on them, whatever their true speeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.learn.apart import tell_apart
from orchestrator_core.learn.columns import columns_of
from orchestrator_core.learn.estimator import fit

KIND = "4t-16g"
Spread = Callable[[np.random.Generator, int], Floats]


def modest(rng: np.random.Generator, n: int) -> Floats:
    return np.exp(rng.normal(0.0, 0.3, n))


def lognormal(rng: np.random.Generator, n: int) -> Floats:
    return np.exp(rng.normal(0.0, 1.0, n))


def pareto(rng: np.random.Generator, n: int) -> Floats:
    """Heavy tails: the variance is infinite."""
    return rng.pareto(1.2, n) + 0.2


def stragglers(rng: np.random.Generator, n: int) -> Floats:
    """One of fourteen takes twenty times as long."""
    return np.exp(rng.normal(0.0, 0.15, n)) * np.where(rng.random(n) < 0.07, 20.0, 1.0)


def bimodal(rng: np.random.Generator, n: int) -> Floats:
    return np.exp(rng.normal(0.0, 0.1, n)) * np.where(rng.random(n) < 0.3, 10.0, 1.0)


def runs(
    seed: int,
    speeds: Sequence[float],
    spread: Spread = modest,
    *,
    tasks: int = 100,
    kinds: int = 3,
    number: int = 1,
    names: Sequence[str] | None = None,
) -> list[Observation]:
    """Runs of the same tasks, the newest first; whoever is free first takes the next task.

    Each task takes its work over the worker's speed, 5 % noise, and 20 to 40 ms that no worker
    makes shorter. Workers are called "0", "1" and so on.
    """
    rng = np.random.default_rng(seed)
    names = names or [str(w) for w in range(len(speeds))]
    kind = rng.integers(0, kinds, tasks)
    work = (np.exp(rng.normal(0.5, 0.7, kinds))[kind] * spread(rng, tasks)).tolist()
    observed: list[Observation] = []
    for run in range(number):
        free = np.zeros(len(speeds))
        now = []
        for i in rng.permutation(tasks).tolist():
            w = int(np.argmin(free + 1e-6 * rng.random(len(free))))
            seconds = work[i] / speeds[w] * np.exp(rng.normal(0, 0.05)) + rng.uniform(0.02, 0.04)
            free[w] += seconds
            now.append(
                Observation(f"t{i}", f"k{kind[i]}", names[w], KIND, float(seconds), 0.0, f"r{run}")
            )
        observed = now + observed
    return observed


def found(observed: list[Observation], speeds: dict[str, float] | None = None) -> dict[str, str]:
    """By name, the finer kind of those that were told apart, without the kind."""
    return {each.name: each.finer.removeprefix(KIND) for each in fit(observed, speeds).named}


def suspects(observed: list[Observation]) -> list[str]:
    """The names that are told apart, where the overhead is known: quicker than `found`."""
    columns = columns_of(observed)
    finer = tell_apart(columns, np.full(len(columns.kinds), 0.03), np.zeros(1))
    return [name for (kind, name), new in zip(columns.names, finer, strict=True) if new != kind]
