"""Pins: tasks about which nobody but the user or Dask itself decides, and what they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.task_graph import Demand

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

    from orchestrator_core.execute.dask.workers.roster import Roster

PEER_TO_PEER = ("shuffle", "p2p", "rechunk-p2p", "rechunk-transfer", "hash-join", "hashjoinp2p")
"""How prefixes begin of tasks that exchange data among all workers at once."""

BARRIER = "shuffle-barrier"
"""Prefix of the task between those that send in such an exchange and those that receive."""

NO_DEMAND = Demand()


def is_plannable(state: TaskState, offered: Mapping[str, float] = NOTHING) -> bool:
    """May a plan say where it runs? Not if the user or Dask's own machinery has pinned it.

    Args:
        offered: resources of the worker on which the plan wants it.
    """
    return not (
        state.actor
        or state.worker_restrictions
        or state.host_restrictions
        or not is_supplied(state, offered)
        or state.prefix.name.startswith(PEER_TO_PEER)
    )


def is_supplied(state: TaskState, offered: Mapping[str, float]) -> bool:
    """Is as much offered of each resource as the task needs?"""
    needed = state.resource_restrictions
    return not needed or all(offered.get(name, 0.0) >= needed[name] for name in needed)


def pins_of(states: Sequence[TaskState], scheduler: Scheduler, roster: Roster) -> dict[Key, Demand]:
    """The tasks that are pinned, each with the user's restrictions as far as some worker meets
    them; what none meets would only wait."""
    prefixes = {state.prefix for state in states}
    pinned = [
        state
        for state in states
        if state.worker_restrictions
        or state.resource_restrictions
        or state.host_restrictions
        or state.actor
    ]
    exchanged = any(prefix.name.startswith(PEER_TO_PEER) for prefix in prefixes)
    pins: dict[Key, Demand] = {}
    if exchanged:
        pins.update((state.key, NO_DEMAND) for state in _exchanges(states))
    pins.update((state.key, _demand(state, scheduler, roster)) for state in pinned)
    return pins


def _exchanges(states: Sequence[TaskState]) -> Iterable[TaskState]:
    """Senders, barriers and receivers, under whatever names they were fused with others."""
    new = {state.key for state in states}
    for state in states:
        if state.prefix.name.startswith(PEER_TO_PEER):
            yield state
        if state.prefix.name == BARRIER:
            around = (*state.dependencies, *state.dependents)
            yield from (other for other in around if other.key in new)


def _demand(state: TaskState, scheduler: Scheduler, roster: Roster) -> Demand:
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
