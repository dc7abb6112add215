"""The workers by the names that plans use, and the `Cluster` that they form.

A name is `as_name` of ``str(WorkerState.name)``; where two workers' names read the same, the later
one goes by its address. Names outlive addresses: a restarted worker is found again.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from distributed.core import Status

from orchestrator_core.costs.devices import DEVICE_MEMORY, MEBIBYTE
from orchestrator_core.execute.dask.workers.describe import UNKNOWN, Description, kind_of
from orchestrator_core.execute.dask.workers.links import End, Links
from orchestrator_core.execute.dask.workers.rounded import Rounded
from orchestrator_core.execute.dask.workers.speeds import hinted_speeds
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.text import as_name

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

BANDWIDTH_STEPS = 4
"""Steps per doubling to which Dask's own mean bandwidth is rounded."""

RUNNING = frozenset({Status.running})
BEGINNING = frozenset({Status.running, Status.init})
"""Of workers that take tasks now, and of those with who will say in a moment that they do."""

RENEWAL = 1.0
"""Seconds for which a cluster may stay what it was if only figures of its links have changed."""

RESTS = 20.0
"""And for so many times as long as it took to put it together: many workers have many links, and
nobody else has the event loop meanwhile."""


class Roster:
    """Who is there; a container of the names of running workers.

    Attributes:
        links: what transfers between them took.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._addresses: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._said: dict[str, Description] = {}
        self._kinds: dict[str, str] = {}
        self._identities: dict[str, tuple[str, str]] = {}
        self._speeds: dict[str, float] | None = None
        self.links = Links()
        self._bandwidth = Rounded(BANDWIDTH_STEPS)
        self._known: Cluster | None = None
        self._known_running: set[WorkerState] = set()
        self._known_until = -math.inf
        for address in scheduler.workers:
            self.add(address)

    def add(self, address: str) -> str:
        """A worker joined; its name."""
        name = as_name(str(self._scheduler.workers[address].name))
        holder = self._addresses.get(name)
        if holder is not None and holder != address and holder in self._scheduler.workers:
            name = address
        self._addresses[name] = address
        self._names[address] = name
        self._changed()
        return name

    def remove(self, address: str) -> str | None:
        """A worker left; the name that it had, or None."""
        self._said.pop(address, None)
        self._kinds.pop(address, None)
        self._changed()
        name = self._names.pop(address, None)
        if name is not None and self._addresses.get(name) == address:
            del self._addresses[name]
        return name

    def describe(self, address: str, description: Description) -> None:
        """A worker said this about itself."""
        self._said[address] = description
        self._kinds.pop(address, None)
        self._changed()

    def description(self, address: str) -> Description:
        """What the worker said about itself."""
        return self._said.get(address, UNKNOWN)

    def name(self, address: str) -> str:
        """The name of the worker at that address; the address where there is none."""
        return self._names.get(address, address)

    def running(self, name: str) -> WorkerState | None:
        """The worker of that name if it takes tasks now."""
        state = self._scheduler.workers.get(self._addresses.get(name, ""))
        return state if state is not None and state.status is Status.running else None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.running(name) is not None

    def identity(self, address: str) -> tuple[str, str]:
        """Name and kind of the worker at that address; asked for with each task that ends."""
        known = self._identities.get(address)
        if known is None:
            known = (self.name(address), self.kind(address))
            if address in self._names:
                self._identities[address] = known
        return known

    def kind(self, address: str) -> str:
        """What the worker says that it is, or what it looks like; "" if it is gone."""
        kind = self._kinds.get(address)
        if kind is None:
            state = self._scheduler.workers.get(address)
            if state is None:
                return ""
            kind = self._kinds[address] = kind_of(state, self.description(address))
        return kind

    def transferred(
        self, source: str, destination: str, nbytes: float, start: float, stop: float
    ) -> None:
        """A transfer between the workers at two addresses has ended; see `Links.observe`."""
        workers = self._scheduler.workers
        if source in workers and destination in workers:
            self.links.observe(self._end(source), self._end(destination), nbytes, start, stop)

    def recall(self, clusters: Sequence[Cluster]) -> None:
        """Earlier sessions ended with these; where nothing is measured, their links hold."""
        self.links.recall(clusters)
        self._known_until = -math.inf

    def measured(self) -> Cluster | None:
        """As `cluster`; None if too few transfers were measured."""
        found = self.cluster() if self.links.observed else None
        return found if self.links.is_known else None

    def cluster(self) -> Cluster | None:
        """The running workers and the links between them; None if no worker runs.

        Asked for with each graph, be it of a single task, so it must mostly be there already.
        """
        running = self._scheduler.running
        now = monotonic()
        if self._known is None or now > self._known_until or running != self._known_running:
            found = self._found()
            # Equal clusters are one: what was derived from the first is not derived again.
            if found is None or found != self._known:
                self._known = found
            self._known_running = set(running)
            self._known_until = now + max(RENEWAL, RESTS * (monotonic() - now))
        return self._known

    def joined(self) -> Cluster | None:
        """As `cluster`, with workers that have joined and will run in a moment."""
        return self._found(BEGINNING)

    def _found(self, states: Container[Status] = RUNNING) -> Cluster | None:
        workers = tuple(self._workers(states))
        if not workers:
            return None
        ends = [self._end(self._addresses[worker.name]) for worker in workers]
        bandwidth = self._bandwidth(self._scheduler.bandwidth)
        latency, seconds_per_byte = self.links.matrices(ends, bandwidth)
        return Cluster.from_matrices(workers, latency=latency, seconds_per_byte=seconds_per_byte)

    def _workers(self, states: Container[Status]) -> Iterator[Worker]:
        if self._speeds is None:
            self._speeds = hinted_speeds(self._said)
        for name, address in sorted(self._addresses.items()):
            state = self._scheduler.workers.get(address)
            if state is not None and state.status in states:
                yield Worker(
                    name=name,
                    kind=self.kind(address),
                    threads=state.nthreads,
                    memory=float(state.memory_limit) or math.inf,
                    resources=self._resources(state, address),
                    speed=self._speeds.get(address, 1.0),
                    price=self.description(address).price or 0.0,
                )

    def _resources(self, state: WorkerState, address: str) -> Mapping[str, float]:
        """What Dask knows of, and the memory of accelerators."""
        memory = self.description(address).device_memory
        if not memory:
            return state.resources
        return {**state.resources, DEVICE_MEMORY: memory // MEBIBYTE}

    def _end(self, address: str) -> End:
        host = self._scheduler.workers[address].host
        return End(address, self.kind(address), host, self.name(address))

    def _changed(self) -> None:
        self._identities.clear()
        self._speeds = None
        self._known_until = -math.inf
