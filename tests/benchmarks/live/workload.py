"""Workload: a graph of sleeping tasks, as Dask takes it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tests.benchmarks.live.tasks import combined, work

Key = Hashable


@dataclass(frozen=True, slots=True)
class Step:
    """A task: seconds at speed 1, bytes of its output, keys of its inputs."""

    seconds: float
    nbytes: int = 8
    inputs: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Workload:
    """A graph of sleeping tasks.

    Attributes:
        name: as in the table. steps: by key, producers before their consumers.
        group: under which the figures are summed up.
    """

    name: str
    steps: Mapping[Key, Step]
    group: str = "made"

    @cached_property
    def wanted(self) -> list[Key]:
        """Keys that no other task needs."""
        used = {key for step in self.steps.values() for key in step.inputs}
        return [key for key in self.steps if key not in used]

    def graph(self) -> dict[Key, tuple[Any, ...]]:
        """The graph for `Client.get`."""
        return {
            key: (work, step.seconds, step.nbytes, *step.inputs) for key, step in self.steps.items()
        }

    def numbers(self) -> dict[Key, int]:
        """What each task's output must begin with."""
        found: dict[Key, int] = {}
        for key, step in self.steps.items():
            found[key] = combined([found[each] for each in step.inputs])
        return found

    def scaled(self, seconds: float = 1.0, nbytes: float = 1.0) -> Workload:
        """The same graph with durations and sizes times these factors."""
        steps = {
            key: replace(step, seconds=step.seconds * seconds, nbytes=int(step.nbytes * nbytes))
            for key, step in self.steps.items()
        }
        return replace(self, steps=steps)

    def with_slow(self, key: Key, factor: float) -> Workload:
        """One task takes `factor` times as long."""
        slow = replace(self.steps[key], seconds=self.steps[key].seconds * factor)
        return replace(self, steps={**self.steps, key: slow})
