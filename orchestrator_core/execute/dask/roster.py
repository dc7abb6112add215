"""The workers by the names that plans use, and the `Cluster` that they form.

A name is ``str(WorkerState.name)``; where two workers' names read the same, the later one goes by
its address. Names outlive addresses: a restarted worker is found again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distributed.core import Status

from orchestrator_core.execute.dask.describe import UNKNOWN, Description, default_kind
from orchestrator_core.graph.cluster import Cluster, Worker

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

LATENCY = 0.002
"""Seconds from asking for an output to its first byte, on a local network."""

BANDWIDTH_STEPS = 4
"""Steps per doubling to which the measured bandwidth is rounded."""


class Roster:
    """Who is there; a container of the names of running workers."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._addresses: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._said: dict[str, Description] = {}
        self._kinds: dict[str, str] = {}
        self._known: tuple[object, Cluster] | None = None
        for address in scheduler.workers:
            self.add(address)

    def add(self, address: str) -> str:
        """A worker joined; its name."""
        name = str(self._scheduler.workers[address].name)
        holder = self._addresses.get(name)
        if holder is not None and holder != address and holder in self._scheduler.workers:
            name = address
        self._addresses[name] = address
        self._names[address] = name
        return name

    def remove(self, address: str) -> str | None:
        """A worker left; the name that it had, or None."""
        self._said.pop(address, None)
        self._kinds.pop(address, None)
        name = self._names.pop(address, None)
        if name is not None and self._addresses.get(name) == address:
            del self._addresses[name]
        return name

    def describe(self, address: str, description: Description) -> None:
        """A worker said this about itself."""
        self._said[address] = description
        self._kinds.pop(address, None)

    def name(self, address: str) -> str:
        """The name of the worker at that address; the address where there is none."""
        return self._names.get(address, address)

    def running(self, name: str) -> WorkerState | None:
        """The worker of that name if it takes tasks now."""
        state = self._scheduler.workers.get(self._addresses.get(name, ""))
        return state if state is not None and state.status is Status.running else None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.running(name) is not None

    def kind(self, address: str) -> str:
        """What the worker says that it is, or what it looks like; "" if it is gone."""
        kind = self._kinds.get(address)
        if kind is None:
            state = self._scheduler.workers.get(address)
            if state is None:
                return ""
            kind = self._said.get(address, UNKNOWN).kind or default_kind(state)
            self._kinds[address] = kind
        return kind

    def cluster(self) -> Cluster | None:
        """The running workers and the links between them; None if no worker runs."""
        workers = tuple(self._workers())
        if not workers:
            return None
        seconds_per_byte = 1.0 / rounded(self._scheduler.bandwidth)
        found = (workers, seconds_per_byte)
        if self._known is None or self._known[0] != found:
            cluster = Cluster.from_matrices(
                workers, latency=LATENCY, seconds_per_byte=seconds_per_byte
            )
            self._known = (found, cluster)
        return self._known[1]

    def _workers(self) -> Iterator[Worker]:
        for name, address in sorted(self._addresses.items()):
            state = self.running(name)
            if state is None:
                continue
            said = self._said.get(address, UNKNOWN)
            yield Worker(
                name=name,
                kind=self.kind(address),
                threads=state.nthreads,
                memory=float(state.memory_limit) or math.inf,
                resources=state.resources,
                speed=said.speed or 1.0,
                price=said.price or 0.0,
            )


def rounded(bandwidth: float) -> float:
    """The bandwidth (bytes/s) rounded, so that the same machines stay the same cluster."""
    step = round(math.log2(max(bandwidth, 1.0)) * BANDWIDTH_STEPS)
    return float(2.0 ** (step / BANDWIDTH_STEPS))
