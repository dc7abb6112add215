"""Portions: a plan of very many tasks is put in force bit by bit, and others get their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchestrator_core.execute.dask.graphs.followed import Followed
from orchestrator_core.execute.directives import Key, Slot

PORTION = 500
"""Tasks whose slots are put in force in one turn of the event loop, at 10 to 25 us for each."""

Slots = dict[Key, Slot]


@dataclass(frozen=True, slots=True)
class Handover:
    """Slots that are put in force.

    Attributes:
        run: whose they are. slots: the soonest first. force: puts some of them in force.
        is_on: are those that are left still to be put in force? then: called once, at the end.
    """

    run: Followed
    slots: Mapping[Key, Slot]
    force: Callable[[Slots], None]
    is_on: Callable[[], bool]
    then: Callable[[], None]


class Portions:
    """Carries out handovers; called on the event loop.

    Attributes:
        under_way: the runs of which portions are still to come.
    """

    def __init__(self, fault: Callable[[str, Exception], None]) -> None:
        """`fault` is told what is wrong with a later portion; the first one raises it."""
        self._fault = fault
        self._loop = asyncio.get_running_loop()
        self.under_way: set[Followed] = set()

    def takes_turns(self, slots: Mapping[Key, Slot]) -> bool:
        """Are these too many to be in force at once?"""
        return len(slots) > PORTION

    def put(self, handover: Handover) -> None:
        """The first portion is in force now; each other one has a turn of the loop of its own."""
        rows = list(handover.slots.items())
        handover.force(dict(rows[:PORTION]))
        self._go_on(handover, rows[PORTION:])

    def _go_on(self, handover: Handover, rows: list[tuple[Key, Slot]]) -> None:
        if rows and handover.is_on():
            self.under_way.add(handover.run)
            self._loop.call_soon(self._next, handover, rows)
        else:
            self.under_way.discard(handover.run)
            handover.then()

    def _next(self, handover: Handover, rows: list[tuple[Key, Slot]]) -> None:
        left = rows[PORTION:]
        try:
            if handover.is_on():
                handover.force(dict(rows[:PORTION]))
        except Exception as error:
            self._fault("plan", error)
            left = []
        self._go_on(handover, left)
