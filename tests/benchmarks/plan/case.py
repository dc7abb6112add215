"""Case: one instance of a benchmark set, with what is known about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance


@dataclass(frozen=True)
class Case:
    """An instance that is made when it is needed.

    Attributes:
        name: unique in its set.
        tasks: how many the instance has, as far as it is known before it is made.
        best_known, lower_bound: published values in seconds, or None.
        proven: the best known value is known to be optimal.
        group: what it is summed up with, inside of its set.
    """

    name: str
    make: Callable[[], Instance]
    tasks: int
    best_known: float | None = None
    lower_bound: float | None = None
    proven: bool = False
    group: str = ""


@dataclass(frozen=True)
class CaseSet:
    """Cases that are measured and summed up together.

    Attributes:
        seconds: of planning for each case.
        goal: what the project wants to reach here, in words.
    """

    name: str
    title: str
    seconds: float
    cases: tuple[Case, ...]
    goal: str = ""


def some_of(cases: tuple[Case, ...], most: int | None, largest: int | None) -> tuple[Case, ...]:
    """At most `most` of them, spread evenly, none with more than `largest` tasks."""
    left = [case for case in cases if largest is None or case.tasks <= largest]
    if most is None or most >= len(left):
        return tuple(left)
    return tuple(left[k * len(left) // most] for k in range(most))
