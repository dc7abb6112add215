"""Refinements: what was found about a graph while it ran, for the next time that it is asked about.

Kept in memory and stored: a graph that is asked about again, be it by another process, gets at once
what took seconds to find.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from dataclasses import replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.orchestrate.finding import (
    Finding,
    Refinement,
    crowd_signature,
    decode_finding,
    encode_finding,
)
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.first_bound import quick_bound
from orchestrator_core.store.base import StoredFinding

log = logging.getLogger("orchestrator")

REMEMBERED = 256
"""Graphs that are remembered beside the stored ones; of more, the longest unused is forgotten."""

Place = tuple[str, str]
"""Digests of a graph and of a crowd of workers."""


class Refinements:
    """What was found by this process and by earlier ones, by graph and workers.

    What is measured of links and durations changes from run to run; a plan that was made for others
    is given the times of today, and a bound that is quick to prove for these.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: OrderedDict[Place, Finding] = OrderedDict()

    def keep(self, keys: Keys, instance: Instance, found: Finding) -> None:
        """Remember what was found for this instance, and store it in the background."""
        place = _place(keys, instance)
        self._remember(place, found)

        def write() -> StoredFinding:
            text = encode_finding(found, instance, keys.graph)
            return StoredFinding(*place, text, time.time())

        self._memory.keep_finding(place, write, instance.graph.n_instances)

    def find(self, keys: Keys, instance: Instance) -> Finding | None:
        """What is known, with the times of `instance`; None if it does not fit."""
        try:
            known = self._look_up(keys, instance)
            return None if known is None else _retimed(known, instance)
        except OrchestratorError as error:
            log.info("what was found about a graph no longer fits and is not used: %s", error)
            return None

    def _look_up(self, keys: Keys, instance: Instance) -> Finding | None:
        place = _place(keys, instance)
        known = self._known.get(place)
        if known is not None and _is_about(known.refinement, instance):
            self._known.move_to_end(place)
            return known
        stored = self._memory.finding(place)
        if stored is None:
            return None
        known = decode_finding(stored.text, instance, keys.graph)
        self._remember(place, known)
        return known

    def _remember(self, place: Place, found: Finding) -> None:
        self._known[place] = found
        self._known.move_to_end(place)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def _is_about(refinement: Refinement, instance: Instance) -> bool:
    """Does it use the names of this instance?"""
    schedule = refinement.result.schedule
    workers = instance.cluster.index
    return set(schedule.task_names) == set(instance.graph.names) and all(
        name in workers for name in schedule.worker_names
    )


def _retimed(known: Finding, instance: Instance) -> Finding:
    result = known.refinement.result
    schedule = retime(instance, result.schedule)
    check_schedule(instance, schedule)
    proven = quick_bound(instance)
    result = replace(
        result,
        schedule=schedule,
        values=(schedule.makespan,),
        lower_bound=proven.seconds,
        bound_method=proven.method,
    )
    return replace(known, refinement=replace(known.refinement, result=result))


def _place(keys: Keys, instance: Instance) -> Place:
    return keys.graph.digest, crowd_signature(instance.cluster).digest
