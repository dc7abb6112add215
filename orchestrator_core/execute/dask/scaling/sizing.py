"""Sizing: one thought about a cluster's size, from plain data; runs in a thread of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator_core.execute.scaling.scaling import Recommendation, Remaining


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is thought about.

    Attributes:
        runs: planned runs under way. held: bytes that each worker holds, by its name.
        seconds: a run that ends within these needs no more workers.
    """

    runs: tuple[Remaining, ...]
    held: Mapping[str, float]
    seconds: float


def thought(question: Question) -> Recommendation | None:
    """What is best for all runs together; None where there is nothing to say. Takes its time."""
    from orchestrator_core.execute.scaling.scaling import recommend, together
    from orchestrator_core.plan.warm import load

    if "repair" in load():
        return None  # compiled in the background: the next thought, or the one after that, has it
    parts = []
    for run in question.runs:
        known = run.instance.cluster.names
        lost = [name for name in known if name not in question.held]
        if len(lost) == len(known):
            return None
        part = recommend(
            run.instance,
            run.schedule,
            run.now,
            events=run.events,
            lost=lost,
            deadline=run.now + question.seconds,
            may_slow=False,
            held=question.held,
        )
        # Nothing is planned on workers that the run does not know: nobody misses them.
        strangers = tuple(name for name in question.held if name not in known)
        parts.append(replace(part, retire=(*strangers, *part.retire)))
    return together(parts, len(question.held))
