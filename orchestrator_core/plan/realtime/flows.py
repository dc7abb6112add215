"""Flows that run again and again: at a fixed period, or whenever something arrives (real time)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.figures import as_float
from orchestrator_core.graph.text import shown


@dataclass(frozen=True, slots=True)
class PeriodicFlow:
    """A graph that is released every `period` seconds.

    Attributes:
        instance: the graph, priced on the cluster; its own releases and deadlines count from each
            release of the flow.
        deadline: seconds from a release to the end of the last task; None for the period.
        offset: seconds to the first release.
    """

    name: str
    instance: Instance
    period: float
    deadline: float | None = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        _check(self.name, "period", self.period)
        _check(self.name, "deadline", self.relative_deadline)
        if not 0 <= as_float(self.offset) < math.inf:
            raise InvalidInput(
                f"flow {shown(self.name)} has offset {shown(self.offset)}; it must be >= 0"
            )

    @property
    def relative_deadline(self) -> float:
        return self.period if self.deadline is None else self.deadline

    @property
    def waited(self) -> float:
        """Seconds that what is released may have waited before; its tasks' deadlines count them."""
        return 0.0


class Server(PeriodicFlow):
    """Slots for what arrives at any time, and then waits for less than a period."""

    __slots__ = ()

    @property
    def waited(self) -> float:
        return self.period


@dataclass(frozen=True, slots=True)
class SporadicFlow:
    """A graph that is released by arrivals, at least `gap` seconds apart.

    Attributes:
        instance: as of `PeriodicFlow`, counted from each arrival.
        deadline: seconds from an arrival to the end of the last task.
    """

    name: str
    instance: Instance
    gap: float
    deadline: float

    def __post_init__(self) -> None:
        _check(self.name, "gap", self.gap)
        _check(self.name, "deadline", self.deadline)


Flow = PeriodicFlow | SporadicFlow


def _check(name: str, what: str, seconds: float) -> None:
    if not 0 < as_float(seconds) < math.inf:
        raise InvalidInput(
            f"flow {shown(name)} has {what} {shown(seconds)}; it must be finite and > 0 s"
        )
