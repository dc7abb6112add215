"""What a submitted graph looks like, taken from the scheduler's live tasks.

`take` runs on the event loop and only reads; `Snapshot.graph` builds the `TaskGraph` from plain
data and may run in any thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.graph.task_graph import Demand, TaskGraph

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

    from orchestrator_core.execute.dask.roster import Roster

FLOW_KINDS = 3
"""Kinds that make up the name of a flow."""

_PEER_TO_PEER = ("shuffle", "p2p", "rechunk-p2p", "hash-join-p2p")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The new tasks of a graph; n tasks, e edges, positions into `keys`.

    Tasks that run already or whose output exists are left out: their outputs count as present.
    Tasks that a user pinned, actors and peer-to-peer shuffles are part of the graph, since time
    passes while they run, but not of `plannable`: nobody but Dask decides about them.

    Attributes:
        keys: (n,) Dask's names. names: (n,) ``str(key)``, unique. kinds: (n,) Dask's key prefix.
        demands: (n,) what the user asked for in annotations.
        edges: (e,) producer, consumer.
        plannable: keys that a plan may place.
    """

    keys: tuple[Key, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    demands: tuple[Demand, ...]
    edges: tuple[tuple[int, int], ...]
    plannable: frozenset[Key]

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def graph(self) -> TaskGraph:
        """The graph; durations and sizes are left to a cost model."""
        return TaskGraph.from_columns(
            self.names,
            kinds=self.kinds,
            demands=self.demands,
            producer=[a for a, _ in self.edges],
            consumer=[b for _, b in self.edges],
        )

    @cached_property
    def key_of(self) -> Mapping[str, Key]:
        """The key of each name."""
        return dict(zip(self.names, self.keys, strict=True))

    @property
    def flow(self) -> str:
        """The most frequent kinds, joined: ``"read-csv+sum+merge"``."""
        counted = sorted(Counter(self.kinds).items(), key=lambda item: (-item[1], item[0]))
        return "+".join(kind for kind, _ in counted[:FLOW_KINDS])


def take(
    scheduler: Scheduler, keys: Iterable[Key], wanted: Iterable[Key], roster: Roster
) -> Snapshot:
    """The snapshot of those of `keys` that will now be computed because `wanted` are."""
    needed = _needed(scheduler, wanted)
    states = _distinct(needed[key] for key in keys if key in needed)
    place = {state.key: i for i, state in enumerate(states.values())}
    return Snapshot(
        keys=tuple(place),
        names=tuple(states),
        kinds=tuple(state.prefix.name for state in states.values()),
        demands=tuple(_demand(state, scheduler, roster) for state in states.values()),
        edges=tuple(
            (place[dependency.key], i)
            for i, state in enumerate(states.values())
            for dependency in state.dependencies
            if dependency.key in place
        ),
        plannable=frozenset(state.key for state in states.values() if is_plannable(state)),
    )


def is_plannable(state: TaskState) -> bool:
    """May a plan say where it runs? Not if the user or Dask's own machinery has pinned it."""
    return not (
        state.actor
        or state.worker_restrictions
        or state.host_restrictions
        or state.resource_restrictions
        or state.prefix.name.startswith(_PEER_TO_PEER)
    )


def _needed(scheduler: Scheduler, wanted: Iterable[Key]) -> dict[Key, TaskState]:
    """What nobody has begun and an output is missing of, from the wanted keys backwards."""
    found: list[TaskState | None] = [scheduler.tasks.get(key) for key in wanted]  # type: ignore[call-overload]
    needed: dict[Key, TaskState] = {}
    while found:
        state = found.pop()
        if state is not None and state.state == "released" and state.key not in needed:
            needed[state.key] = state
            found.extend(state.dependencies)
    return needed


def _distinct(states: Iterable[TaskState]) -> dict[str, TaskState]:
    """By name; of keys that read the same, such as ``1`` and ``"1"``, the first."""
    named: dict[str, TaskState] = {}
    for state in states:
        named.setdefault(str(state.key), state)
    return named


_NO_DEMAND = Demand()


def _demand(state: TaskState, scheduler: Scheduler, roster: Roster) -> Demand:
    """The user's restrictions as far as some worker meets them; what none meets would only wait."""
    if is_plannable(state):
        return _NO_DEMAND
    pinned = state.worker_restrictions if not state.loose_restrictions else None
    eligible = {roster.name(address) for address in pinned or () if address in scheduler.workers}
    offered = {
        name: amount
        for name, amount in (state.resource_restrictions or {}).items()
        if any(supply >= amount for supply in scheduler.resources.get(name, {}).values())
    }
    return Demand(
        eligible=tuple(sorted(name for name in eligible if name in roster)) or None,
        resources=Amounts(offered),
    )
