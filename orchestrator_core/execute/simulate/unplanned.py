"""Unplanned: Dask left to itself, made ready to be simulated many times."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInstance
from orchestrator_core.execute.simulate.default_policy import DefaultPolicy
from orchestrator_core.execute.simulate.event_loop import EventLoop
from orchestrator_core.execute.simulate.outcome import schedule_of
from orchestrator_core.execute.simulate.replay import seconds_of
from orchestrator_core.execute.simulate.units import Units, units_of
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.schedule import Schedule


def simulate_default(
    instance: Instance, believed: Mapping[str, float] | None = None, seed: int = 0
) -> Schedule:
    """The schedule that Dask would come to by itself.

    Breaks no rule but memory, deadline and stock, which Dask does not know.

    Args:
        believed: seconds that Dask expects of each kind of task; what is missing is taken as the
            mean over the kind's tasks and their eligible workers.
        seed: in which order workers are taken that Dask sees no difference between, however fast
            they are; 0 for the cluster's own.

    Raises:
        InvalidInstance: if a believed duration is no finite number >= 0.
    """
    return schedule_of(Unplanned(instance, believed).run(seed))


class Unplanned:
    """What does not change from one simulation of Dask's own policy to the next."""

    def __init__(self, instance: Instance, believed: Mapping[str, float] | None = None) -> None:
        """Arguments and errors as of `simulate_default`."""
        self.instance = instance
        self._units = units_of(instance.graph)
        self._believed = expected(instance, believed or {})
        self._priority = depth_first(self._units)
        mode_of_task: list[int] = first_modes(instance).tolist()
        self._mode = [mode_of_task[task] for task in self._units.task]

    def run(self, seed: int = 0, seconds: ArrayLike | None = None) -> EventLoop:
        """A loop that has run to its end, with these (modes, workers) seconds if they are given."""
        table = seconds_of(self.instance, seconds)
        loop = EventLoop(self.instance, self._units, self._mode, self._priority, table)
        loop.run(DefaultPolicy(self.instance, self._units, loop, self._believed, seed))
        return loop


def first_modes(instance: Instance) -> Ints:
    """(n,) the first mode of each task that may run anywhere."""
    graph, runs = instance.graph, instance.eligible.any(axis=1)
    modes = np.where(runs, np.arange(graph.n_modes), graph.n_modes)
    first = np.minimum.reduceat(modes, graph.mode_ptr[:-1]) if len(graph) else modes
    return np.asarray(first, dtype=np.int64)


def expected(instance: Instance, believed: Mapping[str, float]) -> Floats:
    """(kinds,) seconds that are believed of each kind on any worker."""
    graph = instance.graph
    seconds = instance.seconds[first_modes(instance)]
    finite = np.isfinite(seconds)
    kinds = len(graph.kinds)
    total = np.bincount(graph.kind_of, np.where(finite, seconds, 0.0).sum(axis=1), kinds)
    number = np.bincount(graph.kind_of, finite.sum(axis=1), kinds)
    mean = total / np.maximum(number, 1)
    for kind, value in enumerate(believed.get(name, mean[k]) for k, name in enumerate(graph.kinds)):
        if not 0 <= value < math.inf:
            raise InvalidInstance(
                f"believed seconds of kind {graph.kinds[kind]!r} are {value!r}; "
                "they must be finite and >= 0"
            )
        mean[kind] = value
    return np.asarray(mean, dtype=np.float64)


def depth_first(units: Units) -> list[int]:
    """(u,) priority of each unit, smallest first: what a result needs comes right before it."""
    rank = [-1] * len(units)
    free = 0
    for sink in (unit for unit in units.order if not units.consumers[unit]):
        stack = [sink]
        while stack:
            unit = stack[-1]
            if rank[unit] >= 0:
                stack.pop()
                continue
            missing = [producer for producer, _ in units.inputs[unit] if rank[producer] < 0]
            if missing:
                stack.extend(reversed(missing))
            else:
                rank[unit] = free
                free += 1
                stack.pop()
    return rank
