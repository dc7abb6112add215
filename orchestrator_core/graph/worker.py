"""Worker: a place to run (stage 1). Sizes in bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.text import ALLOWED, is_name, shown
from orchestrator_core.graph.validate import check_names


@dataclass(frozen=True, slots=True)
class Worker:
    """A place to run.

    Attributes:
        name: unique in its cluster.
        kind: what durations are learned about; workers of one kind are alike.
        threads: tasks' threads that fit beside each other, >= 1.
        memory: bytes for running tasks and held outputs; infinity for no limit.
        resources: renewable amounts that it offers, such as ``{"GPU": 1}``.
        speed: reference compute seconds that it does in a second, > 0.
        price: cost of an hour, >= 0.
    """

    name: str
    kind: str = "worker"
    threads: int = 1
    memory: float = math.inf
    resources: Mapping[str, float] = NOTHING
    speed: float = 1.0
    price: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "resources", Amounts(self.resources))


def check_workers(workers: tuple[Worker, ...]) -> None:
    """
    Raises:
        InvalidCluster: if there are none, naming the first that cannot be.
    """
    if not workers:
        raise InvalidCluster("a cluster with no workers can run nothing; give at least one Worker")
    check_names(tuple(worker.name for worker in workers), "worker", InvalidCluster)
    for worker in workers:
        threads, memory, speed, price = worker.threads, worker.memory, worker.speed, worker.price
        rules = {
            "kind": (worker.kind, f"text of {ALLOWED}", _is_label(worker.kind)),
            "threads": (threads, "an integer >= 1", _whole(threads)),
            "memory": (memory, "> 0 bytes", isinstance(memory, Real) and memory > 0),
            "speed": (speed, "finite and > 0", isinstance(speed, Real) and 0 < speed < math.inf),
            "price": (price, "finite and >= 0", isinstance(price, Real) and 0 <= price < math.inf),
        }
        for what, (found, possible, fine) in rules.items():
            if not fine:
                raise InvalidCluster(
                    f"worker {worker.name!r} has {what} = {shown(found)}; it must be {possible}"
                )


def _is_label(kind: object) -> bool:
    return isinstance(kind, str) and is_name(kind)


def _whole(threads: object) -> bool:
    whole = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    return whole and int(threads) >= 1  # type: ignore[call-overload]
