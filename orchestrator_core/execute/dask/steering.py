"""Steering: carries out on the live scheduler what the follower says, and withdraws if it must.

It owns the follower and the carrier. Called on the event loop only; places in which the scheduler
is in the middle of a transition are named, since nothing may be changed there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from distributed.metrics import time

from orchestrator_core.execute.dask.announced import Epoch
from orchestrator_core.execute.dask.carrier import Carrier
from orchestrator_core.execute.dask.compat import choose
from orchestrator_core.execute.dask.director import Director
from orchestrator_core.execute.dask.restrict import Restrictor
from orchestrator_core.execute.dask.roster import Roster
from orchestrator_core.execute.dask.snapshot import is_plannable
from orchestrator_core.execute.directives import (
    Directive,
    Disable,
    Follower,
    Key,
    Place,
    Release,
    Slot,
)

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

log = logging.getLogger("orchestrator.dask")

NOT_STARTED = frozenset({"released", "waiting", "no-worker", "queued"})
"""States of tasks that no worker has been told of."""


class Steering:
    """The plan of the live keys, in force on one scheduler.

    Attributes:
        mode: "director", "restrict", "observe", or "off" once it has withdrawn.
        follower: the plan. carrier: how it is carried out; None where nothing is steered.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        wanted: str,
        epoch: Callable[[Key], Epoch | None],
    ) -> None:
        self.mode = choose(wanted, scheduler)
        self.follower = Follower()
        self.carrier: Carrier | None = None
        self._scheduler = scheduler
        self._roster = roster
        self._epoch = epoch
        self._loop = asyncio.get_running_loop()

    def install(self) -> None:
        """Begin to steer."""
        if self.mode == "director":
            self.carrier = Director(self._scheduler, self._roster, self.follower, self.fault)
        elif self.mode == "restrict":
            self.carrier = Restrictor(self._scheduler, self._roster)
        if self.carrier is not None:
            self.carrier.install()

    def uninstall(self, reason: str) -> None:
        """Leave the scheduler as it was; not to be called in a transition."""
        self._carry(self.follower.disable(reason))
        self.mode = "off"

    def fault(self, where: str, error: Exception) -> None:
        """Something of ours failed: forgiven once. May be called in a transition."""
        log.warning("%s failed; Dask's own way is taken: %r", where, error, exc_info=error)
        self._withdraw(self.follower.fault(f"{where}: {error!r}"))

    # --- plans -------------------------------------------------------------------------------

    def follow(self, slots: Mapping[Key, Slot]) -> None:
        """Follow this plan; keys that have not arrived yet are placed by `arrive`."""
        if self.carrier is not None:
            self._carry(self.follower.planned(slots))

    def arrive(self, keys: Iterable[Key]) -> None:
        """Tasks whose keys were planned before are there: their slots take effect."""
        for key in keys:
            slot = self.follower.slot(key)
            if slot is not None and not self._place(Place(key, slot)):
                self.follower.forgotten(key)

    def renew(self, keys: Iterable[Key]) -> None:
        """A graph asks again for these keys: what earlier graphs planned for them has ended."""
        for key in keys:
            if key in self.follower and self.state(key) == "released":
                self._release((key,))
                self.follower.forgotten(key)

    def has_not_started(self, key: Key) -> bool:
        """Is the task there, and has no worker been told of it?"""
        return self.state(key) in NOT_STARTED

    def state(self, key: Key) -> str | None:
        """The scheduler's word for how far the task is; None if it does not exist."""
        task = self._task(key)
        return None if task is None else task.state

    # --- events ------------------------------------------------------------------------------

    def transition(self, key: Key, finish: str) -> None:
        """The scheduler moved a task; called in the transition."""
        if finish == "memory":
            self.follower.finished(key)
        elif finish == "erred":
            self.follower.failed(key)
        elif finish == "forgotten" and key in self.follower:
            task = self._task(key)
            if task is not None and self.carrier is not None:
                self.carrier.forget(task)
            self.follower.forgotten(key)

    def worker_joined(self, name: str) -> None:
        """A worker of that name is there (again)."""
        self._carry(self.follower.worker_joined(name))
        self._withdraw(self.follower.check())

    def worker_lost(self, name: str) -> None:
        """The worker of that name is gone; the scheduler has decided anew about its tasks."""
        self._carry(self.follower.worker_lost(name))
        self._withdraw(self.follower.check())

    def restart(self) -> None:
        """The scheduler forgot all tasks."""
        self.follower.clear()

    # --- carrying out ------------------------------------------------------------------------

    def _carry(self, directives: Iterable[Directive]) -> None:
        queued: list[Key] = []
        for directive in directives:
            if isinstance(directive, Disable):
                self._undo(directive)
            elif isinstance(directive, Release):
                self._release(directive.keys)
            elif self.state(directive.key) == "queued":
                queued += [directive.key] * self._place(directive)
            else:
                self._place(directive)
        if queued:
            # A queued task would go to whoever is free; released, it is decided about anew.
            self._scheduler.transitions(
                dict.fromkeys(queued, "released"),  # type: ignore[arg-type]
                stimulus_id=f"orchestrator-place-{time()}",
            )

    def _place(self, place: Place) -> bool:
        """Let the slot of a task that has not started take effect; False if it is not ours."""
        task = self._task(place.key)
        if task is None or task.state not in NOT_STARTED or self.carrier is None:
            return False
        self.carrier.release(task)
        if not is_plannable(task):
            return False
        user, generation = (task.priority or (0, 0))[:2]
        epoch = self._epoch(place.key)
        if epoch is not None:
            epoch.generation = generation if epoch.generation is None else epoch.generation
            generation = epoch.generation
        task.priority = (user, generation, place.slot.rank)
        self.carrier.place(task, place.slot.worker)
        return True

    def _release(self, keys: Iterable[Key]) -> None:
        for key in keys:
            task = self._task(key)
            if task is not None and self.carrier is not None:
                self.carrier.release(task)

    def _withdraw(self, directives: Iterable[Directive]) -> None:
        for directive in directives:
            if isinstance(directive, Disable):
                self._loop.call_soon(self._undo_safely, directive)

    def _undo(self, disable: Disable) -> None:
        if self.carrier is not None:
            self.carrier.uninstall()
            self._release(disable.keys)
            self.carrier = None

    def _undo_safely(self, disable: Disable) -> None:
        log.error("the plugin withdraws for good: %s", disable.reason)
        self.mode = "off"
        try:
            self._undo(disable)
            self._scheduler.log_event(
                "orchestrator", {"action": "disabled", "reason": disable.reason}
            )
        except Exception:
            log.exception("withdrawing failed; the remaining overrides only pass through")

    def _task(self, key: Key) -> TaskState | None:
        return self._scheduler.tasks.get(key)  # type: ignore[call-overload,no-any-return]
