"""The instance as the model sees it: units with their choices, in ticks.

A unit is one instance of a task; a choice is a mode on a worker. Units are numbered in topological
order of their tasks. What bounds have found out enters here, through `Reach`: choices that no
sought schedule takes are left out, and those that stay carry a head and a tail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.cpsat.lengths import all_times, piece_seconds, serial_seconds
from orchestrator_core.plan.cpsat.ticks import MOST_TICKS, Ticks, choose_ticks


@dataclass(frozen=True, slots=True)
class Choice:
    """A mode (position among all modes) on a worker.

    Attributes:
        pieces: ticks of each piece of the task.
        head: ticks before which no unit that takes it starts.
        tail: ticks from its end to the makespan, at least.
    """

    mode: int
    worker: int
    pieces: tuple[int, ...]
    head: int = 0
    tail: int = 0

    @property
    def ticks(self) -> int:
        return sum(self.pieces)


@dataclass(frozen=True, slots=True)
class Unit:
    """Instance `number` of `task`.

    Attributes:
        choices: the ways to run it; none if no schedule within the horizon exists.
        inputs: (producer, nbytes): units whose output it needs, and the part that it waits for.
        consumers: units that need its output.
        release, deadline: ticks; no deadline is the horizon.
    """

    task: int
    number: int
    choices: tuple[Choice, ...]
    inputs: tuple[tuple[int, float], ...]
    consumers: tuple[int, ...]
    release: int
    deadline: int

    @property
    def workers(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(choice.worker for choice in self.choices))


@dataclass(frozen=True)
class Expanded:
    """An instance in units, choices and ticks; no better schedule ends after `horizon` ticks."""

    instance: Instance
    ticks: Ticks
    units: tuple[Unit, ...]
    horizon: int

    def encode_ticks(self, unit: int, source: int, destination: int) -> int:
        """Ticks of a thread of `source` to encode the unit's output."""
        per_byte = self.instance.cluster.encode_seconds_per_byte[source, destination]
        return capped(self.ticks, self.output_bytes(unit) * float(per_byte), self.horizon)

    def transit_ticks(self, source: int, destination: int, nbytes: float) -> int:
        """Ticks from encoded at the source to `nbytes` present at the destination."""
        seconds = self.instance.cluster.transfer_seconds(source, destination, nbytes)
        return capped(self.ticks, seconds, self.horizon)

    def output_bytes(self, unit: int) -> float:
        return float(self.instance.graph.output_bytes[self.units[unit].task])

    @cached_property
    def unit_of(self) -> dict[tuple[int, int], int]:
        """Position of (task, number)."""
        return {(unit.task, unit.number): u for u, unit in enumerate(self.units)}


class Reach(NamedTuple):
    """What bounds say of the schedules that are not longer than some makespan; n units of
    `unit_keys`, w workers.

    Attributes:
        head: (n, w) seconds before which a unit does not start there, >= 0.
        tail: (n, w) seconds from its end there to the makespan, at least, >= 0.
        may: (n, w) may it run there?
    """

    head: Floats
    tail: Floats
    may: NDArray[np.bool_]


def expand(
    instance: Instance,
    makespan: float | None = None,
    most: int = MOST_TICKS,
    reach: Reach | None = None,
    better: bool = False,
    *,
    dates: Iterable[float] = (),
) -> Expanded:
    """The instance in ticks.

    Args:
        makespan: of a known schedule, in seconds; nothing longer is looked for.
        most: ticks in the horizon, at most.
        reach: of the schedules that are not longer than `makespan`.
        better: where ticks are exact, look for what is shorter than `makespan` only.
        dates: seconds that are whole ticks, too, if they are within the horizon.
    """
    horizon = serial_seconds(instance) if makespan is None else makespan
    within = [date for date in dates if date < horizon]
    ticks = choose_ticks([*all_times(instance), *within], horizon, most)
    end = ticks.ceil(horizon)
    if better and ticks.exact and makespan is not None:
        end -= 1
    return Expanded(instance, ticks, _units(instance, ticks, end, reach), end)


def unit_keys(instance: Instance) -> list[tuple[int, int]]:
    """(task, number) of each unit."""
    graph = instance.graph
    return [(int(t), r) for t in graph.topological for r in range(int(graph.count[t]))]


def capped(ticks: Ticks, seconds: float, horizon: int) -> int:
    """Whole ticks; what is longer than the horizon is impossible, however long it is, and huge
    numbers would not fit into the solver's."""
    return ticks.floor(min(seconds, ticks.seconds(horizon + 1)))


def _units(instance: Instance, ticks: Ticks, horizon: int, reach: Reach | None) -> tuple[Unit, ...]:
    graph = instance.graph
    keys = unit_keys(instance)
    position = {key: u for u, key in enumerate(keys)}
    inputs = [
        tuple((position[a, k], nbytes) for a, k, nbytes in inputs_of(instance, task, number))
        for task, number in keys
    ]
    consumers: list[list[int]] = [[] for _ in keys]
    for u, needed in enumerate(inputs):
        for producer, _ in needed:
            consumers[producer].append(u)
    choices = {
        int(task): _choices(instance, ticks, horizon, int(task)) for task in graph.topological
    }
    return tuple(
        Unit(
            task=task,
            number=number,
            choices=(
                choices[task] if reach is None else _within(choices[task], reach, u, ticks, horizon)
            ),
            inputs=inputs[u],
            consumers=tuple(consumers[u]),
            release=ticks.floor(float(graph.release[task])),
            deadline=min(horizon, capped(ticks, float(graph.deadline[task]), horizon)),
        )
        for u, (task, number) in enumerate(keys)
    )


def _within(
    choices: tuple[Choice, ...], reach: Reach, unit: int, ticks: Ticks, horizon: int
) -> tuple[Choice, ...]:
    """The choices that can be part of a schedule within the horizon, with their heads and tails."""
    found = []
    for choice in choices:
        if reach.may[unit, choice.worker]:
            head = _careful(ticks, float(reach.head[unit, choice.worker]))
            tail = _careful(ticks, float(reach.tail[unit, choice.worker]))
            if head + choice.ticks + tail <= horizon:
                found.append(replace(choice, head=head, tail=tail))
    return tuple(found)


def _careful(ticks: Ticks, seconds: float) -> int:
    """Whole ticks of a bound, which carries some floating-point noise; where ticks are exact, all
    moments that it is a bound of are whole ticks, so that it may be rounded up."""
    careful = seconds * (1 - 1e-9)
    return max(0, ticks.ceil(careful) if ticks.exact else ticks.floor(careful))


def inputs_of(instance: Instance, task: int, number: int) -> list[tuple[int, int, float]]:
    """(producer, its instance, nbytes) of each output that instance `number` of `task` needs."""
    graph = instance.graph
    needed: list[tuple[int, int, float]] = []
    for edge in graph.in_edges(task).tolist():
        producer, n = int(graph.producer[edge]), int(graph.multiplicity[edge])
        first = 0 if n == graph.count[producer] else n * number
        needed += [(producer, first + k, float(graph.nbytes[edge])) for k in range(n)]
    return needed


def _choices(instance: Instance, ticks: Ticks, horizon: int, task: int) -> tuple[Choice, ...]:
    graph = instance.graph
    return tuple(
        Choice(
            mode,
            worker,
            tuple(capped(ticks, s, horizon) for s in piece_seconds(instance, mode, worker)),
        )
        for mode in range(int(graph.mode_ptr[task]), int(graph.mode_ptr[task + 1]))
        for worker in np.flatnonzero(instance.eligible[mode]).tolist()
    )
