"""Worker: a place to run (stage 1). Sizes in bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.figures import as_float
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


def workers_of(given: Iterable[Worker]) -> tuple[Worker, ...]:
    """The workers that were handed in, checked.

    Raises:
        InvalidCluster: if there are none, or naming the first that is none or cannot be.
    """
    if isinstance(given, (str, Worker)) or not isinstance(given, Iterable):
        one = f"Worker({given.name!r})" if isinstance(given, Worker) else "Worker('name')"
        raise InvalidCluster(f"workers is {shown(given)}; give a list of Workers: [{one}]")
    workers = tuple(given)
    for position, worker in enumerate(workers):
        if not isinstance(worker, Worker):
            name = worker[:60] if isinstance(worker, str) else "name"
            raise InvalidCluster(
                f"worker {position} is {shown(worker)}, a {type(worker).__name__}; "
                f"give Worker({name!r})"
            )
    _check(workers)
    return workers


def _check(workers: tuple[Worker, ...]) -> None:
    if not workers:
        raise InvalidCluster("a cluster with no workers can run nothing; give at least one Worker")
    check_names(tuple(worker.name for worker in workers), "worker", InvalidCluster)
    for worker in workers:
        threads, memory, speed, price = worker.threads, worker.memory, worker.speed, worker.price
        rules = {
            "kind": (worker.kind, f"text of {ALLOWED}", _is_label(worker.kind)),
            "threads": (threads, "an integer >= 1 and < 2**53", _whole(threads)),
            "memory": (memory, "> 0 bytes", as_float(memory) > 0),
            "speed": (speed, "finite and > 0", 0 < as_float(speed) < math.inf),
            "price": (price, "finite and >= 0", 0 <= as_float(price) < math.inf),
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
    return whole and 1 <= int(threads) < 2**53  # type: ignore[call-overload]
