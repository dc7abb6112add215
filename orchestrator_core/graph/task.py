"""Task, Mode and Edge: what a user writes down, one value at a time.

A `TaskGraph` keeps them as columns; these classes are what goes in and what comes out again.
Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from orchestrator_core.errors import InvalidGraph
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.text import shown

T = TypeVar("T")


def eligible_names(names: Iterable[str]) -> tuple[str, ...]:
    """The workers' names or kinds as a tuple, which a lone string is not."""
    return listed("eligible", names)


def listed(what: str, values: Iterable[T], example: str = "('name',)") -> tuple[T, ...]:
    """The values as a tuple; a lone string is refused, since its letters would be taken as them.

    Raises:
        InvalidGraph: for what cannot be listed.
    """
    if isinstance(values, str):
        raise InvalidGraph(f"{what} is the string {values!r}; give a tuple of names: ({values!r},)")
    if not isinstance(values, Iterable):
        raise InvalidGraph(f"{what} is {shown(values)}; give a tuple: {example}")
    return tuple(values)


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to run a moldable task, such as a step on 1, 2 or 4 devices.

    Attributes:
        name: what a report calls it.
        threads: threads of the worker that it occupies while running, >= 1.
        memory: bytes that it occupies while running, beside its inputs.
        resources: renewable amounts that it occupies while running, such as ``{"GPU": 1}``.
        seconds: compute seconds on a worker of speed 1, or None where a cost model must say.
        eligible: worker names or kinds on which it may run; None for any.
        consumes: amounts that it takes for good from `Cluster.stock`.
    """

    name: str = ""
    threads: int = 1
    memory: float = 0.0
    resources: Mapping[str, float] = NOTHING
    seconds: float | None = None
    eligible: tuple[str, ...] | None = None
    consumes: Mapping[str, float] = NOTHING

    def __post_init__(self) -> None:
        object.__setattr__(self, "resources", Amounts(self.resources))
        object.__setattr__(self, "consumes", Amounts(self.consumes))
        if self.eligible is not None:
            object.__setattr__(self, "eligible", eligible_names(self.eligible))


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work.

    Attributes:
        name: unique in its graph.
        kind: what durations are learned about, usually the function; defaults to the name.
        seconds, threads, memory, resources, eligible, consumes: as in `Mode`; where `modes` are
            given, these keep their defaults (`eligible` then holds for modes that state none).
        output_bytes: size of its output; raised to the largest of its edges' `nbytes`.
        release: no instance starts before this second.
        deadline: every instance ends by this second (hard), or None.
        due: ending later costs `weight` for each second (soft), or None.
        weight: cost of one second of tardiness.
        count: number of identical instances.
        checkpoints: fractions of its work, increasing inside (0, 1), at which it may be paused.
        modes: the ways to run it; empty means one, given by the fields above.
        features: numbers that may tell how long it takes, such as ``{"rows": 1e6}``.
    """

    name: str
    kind: str = ""
    seconds: float | None = None
    threads: int = 1
    memory: float = 0.0
    resources: Mapping[str, float] = NOTHING
    output_bytes: float = 0.0
    release: float = 0.0
    deadline: float | None = None
    due: float | None = None
    weight: float = 1.0
    eligible: tuple[str, ...] | None = None
    count: int = 1
    checkpoints: tuple[float, ...] = ()
    modes: tuple[Mode, ...] = ()
    consumes: Mapping[str, float] = field(default=NOTHING)
    features: Mapping[str, float] = NOTHING

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or self.name)
        object.__setattr__(self, "features", Amounts(self.features))
        object.__setattr__(self, "resources", Amounts(self.resources))
        object.__setattr__(self, "consumes", Amounts(self.consumes))
        object.__setattr__(self, "checkpoints", tuple(self.checkpoints))
        object.__setattr__(self, "modes", tuple(self.modes))
        if self.eligible is not None:
            object.__setattr__(self, "eligible", eligible_names(self.eligible))


@dataclass(frozen=True, slots=True)
class Edge:
    """The consumer needs the producer's output.

    Attributes:
        nbytes: the part of the output that the consumer waits for; None for all of it.
        multiplicity: outputs of the producer that each instance of the consumer needs. Instance r
            takes outputs ``n*r .. n*r + n - 1``; where n equals the producer's count, each
            instance takes all of them.
    """

    producer: str
    consumer: str
    nbytes: float | None = None
    multiplicity: int = 1
