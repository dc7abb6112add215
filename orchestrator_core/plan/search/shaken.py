"""HEFT again and again, with the weights of its tasks shaken: a search for a tenth of a second.

Each time some of the weights by which tasks are ranked are changed by chance, from those of the
best so far; where the list schedule ends no later, they are kept. Interpreted, a schedule of
fifty tasks takes two milliseconds, and a few dozen of them leave a third of what HEFT is above the
best that is known. Ranks of other weights are orders that keep to the graph (as in R. Haupt, A
survey of priority rule-based scheduling, 1989, for rules; here by hill climbing).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import upward_rank
from orchestrator_core.plan.schedule import Schedule

NAME = "shaken-heft"

DECODED, FEWEST, MOST = 6_000, 8, 80
"""Tasks that are decoded in all, and schedules that are made at least and at most."""

STEP, PART = 0.35, 0.5
"""Standard deviation of the logarithm of a weight's change, and part of the weights changed."""


def shaken(
    instance: Instance,
    value: Callable[[Schedule], Any] = attrgetter("makespan"),
    seed: int = 0,
) -> Schedule | None:
    """The best schedule found; the same arguments have the same one. None if none keeps the rules.

    Args:
        value: what is minimised; anything that can be compared.

    Raises:
        UnsupportedInstance: as `expand` does.
    """
    problem, dice = expand(instance), np.random.default_rng(seed)
    mean = _mean_seconds(problem)
    best: Schedule | None = None
    least: Any = None
    kept = np.zeros(len(mean))
    for turn in range(max(FEWEST, min(MOST, DECODED // max(1, len(mean))))):
        changed = dice.random(len(mean)) < PART
        shift = kept + (STEP * dice.standard_normal(len(mean)) * changed if turn else 0.0)
        rank = upward_rank(problem, mean * np.exp(shift), 0.0, 0.0)
        found = place(instance, Choice(np.argsort(-rank, kind="stable")))
        if not isinstance(found, Schedule):
            continue
        worth = value(found)
        if best is None or worth <= least:
            best, least, kept = found, worth, shift
    return best


def _mean_seconds(problem: Problem) -> Floats:
    """(n,) over the workers that may run a task."""
    seconds = best_seconds(problem)
    may = np.isfinite(seconds)
    mean: Floats = np.where(may, seconds, 0.0).sum(axis=1) / np.maximum(may.sum(axis=1), 1)
    return mean
