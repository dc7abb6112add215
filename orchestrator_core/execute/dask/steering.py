"""Steering: carries out on the live scheduler what the follower says, and withdraws if it must.

It owns the follower and the carrier. Called on the event loop only; places in which the scheduler
is in the middle of a transition are named, since nothing may be changed there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distributed.metrics import monotonic, time

from orchestrator_core.execute.dask.announced import Epoch
from orchestrator_core.execute.dask.awaiting import Awaiting
from orchestrator_core.execute.dask.carrier import Carrier
from orchestrator_core.execute.dask.compat import choose
from orchestrator_core.execute.dask.counters import Counters
from orchestrator_core.execute.dask.director import Director
from orchestrator_core.execute.dask.moves import request_move
from orchestrator_core.execute.dask.pins import is_plannable
from orchestrator_core.execute.dask.restrict import Restrictor
from orchestrator_core.execute.dask.roster import Roster
from orchestrator_core.execute.directives import (
    Directive,
    Disable,
    Hold,
    Key,
    Move,
    Place,
    Release,
    Slot,
)
from orchestrator_core.execute.follower import Follower

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

log = logging.getLogger("orchestrator.dask")

NOT_STARTED = frozenset({"released", "waiting", "no-worker", "queued"})
"""States of tasks that no worker has been told of."""

UNDECIDED = {"queued": "released", "no-worker": "released"}
"""What Dask has put aside, and where it goes to be decided about anew."""


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
        counters: Counters,
    ) -> None:
        self.mode = choose(wanted, scheduler)
        self._counters = counters
        self.follower = Follower()
        self.carrier: Carrier | None = None
        self._scheduler = scheduler
        self._roster = roster
        self._epoch = epoch
        self._loop = asyncio.get_running_loop()
        self._due: list[Directive] = []
        self.awaiting = Awaiting(self._go_on)
        self._timer: asyncio.TimerHandle | None = None

    def install(self) -> None:
        """Begin to steer."""
        if self.mode == "director":
            self.carrier = Director(
                self._scheduler,
                self._roster,
                self.follower,
                self.fault,
                self._held,
                self.awaiting,
            )
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

    def follow(
        self, slots: Mapping[Key, Slot], holds: Mapping[Key, Hold] | None = None
    ) -> tuple[Directive, ...]:
        """Follow this plan; keys that have not arrived yet are placed by `arrive`.

        Returns what was to be done. Holds are kept only where the director decides.
        """
        if self.carrier is None:
            return ()
        held = holds if self.mode == "director" else None
        directives = self.follower.planned(slots, held, dict(self._sent(slots)))
        self._carry(directives)
        return directives

    def _sent(self, keys: Iterable[Key]) -> Iterator[tuple[Key, str]]:
        """Where those of the keys are that a worker has been told of."""
        for key in keys:
            task = self._task(key)
            if task is not None and task.processing_on is not None:
                yield key, self._roster.name(task.processing_on.address)

    def give_back(self, keys: Iterable[Key], reason: str) -> None:
        """Leave these keys to Dask."""
        self._carry(self.follower.released(keys, reason))

    def arrive(self, keys: Iterable[Key]) -> None:
        """Tasks whose keys were planned before are there: their slots take effect."""
        for key in keys:
            slot = self.follower.slot(key)
            if slot is not None and not self._place(Place(key, slot)):
                self.follower.forgotten(key)

    def renew(self, keys: Iterable[Key]) -> None:
        """A graph asks again for these keys: what earlier graphs planned for them has ended."""
        if not len(self.follower):
            return
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
        if finish == "processing":
            self._counters.placed += self.follower.is_placed(key)
            self._later(self.follower.sent(key))
        elif finish == "memory":
            self._later(self.follower.finished(key))
        elif finish == "erred":
            self._later(self.follower.failed(key))
        elif finish == "forgotten" and key in self.follower:
            task = self._task(key)
            if task is not None and self.carrier is not None:
                self.carrier.forget(task)
            self._later(self.follower.forgotten(key))

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
        self.awaiting.clear()
        self.follower.clear()

    # --- waiting for a plan ------------------------------------------------------------------

    @property
    def can_wait(self) -> bool:
        """Can tasks be kept until their plan is there?"""
        return self.mode == "director"

    def _go_on(self, keys: Iterable[Key]) -> None:
        """These keys wait for no plan any more: Dask, or a plan that is there, decides."""
        undecided: dict[Key, str] = {}
        for key in keys:
            if key not in self.follower.held:
                undecided |= self._undecided(key)
        self._guarded("awaiting", lambda: self._decide_anew(undecided))

    # --- holds -------------------------------------------------------------------------------

    def _held(self, key: Key) -> None:
        """The task is held back; called in a transition. Its patience will come to an end."""
        self._counters.held += 1
        deadline = self.follower.held[key]
        if self._timer is None or self._timer.when() > self._loop.time() + deadline - monotonic():
            self._wake(deadline)

    def _wake(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(0.0, deadline - monotonic()) + 1e-3, self._let_go)

    def _let_go(self) -> None:
        self._timer = None
        self._guarded("hold", lambda: self._carry(self.follower.waited(monotonic())))
        if self.follower.held:
            self._wake(min(self.follower.held.values()))

    def _later(self, directives: Iterable[Directive]) -> None:
        """Carry these out as soon as the scheduler's transitions have come to an end."""
        if directives:
            if not self._due:
                self._loop.call_soon(self._flush)
            self._due += directives

    def _flush(self) -> None:
        due, self._due = self._due, []
        self._guarded("directives", lambda: self._carry(due))

    def _guarded(self, where: str, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:
            self.fault(where, error)

    # --- carrying out ------------------------------------------------------------------------

    def _carry(self, directives: Iterable[Directive]) -> None:
        undecided: dict[Key, str] = {}
        for directive in directives:
            if isinstance(directive, Disable):
                self._undo(directive)
            elif isinstance(directive, Release):
                self._counters.released += len(directive.keys)
                undecided |= self._release(directive.keys)
            elif isinstance(directive, Move):
                self._move(directive)
            elif self._place(directive):
                undecided |= self._undecided(directive.key)
        self._decide_anew(undecided)

    def _undecided(self, key: Key) -> dict[Key, str]:
        state = self.state(key)
        return {key: UNDECIDED[state]} if state in UNDECIDED else {}

    def _decide_anew(self, undecided: Mapping[Key, str]) -> None:
        """A queued task would go to whoever is free, and a held one nowhere."""
        if undecided:
            recommendations: Any = dict(undecided)
            self._scheduler.transitions(recommendations, stimulus_id=f"orchestrator-place-{time()}")

    def _place(self, place: Place) -> bool:
        """Let the slot of a task that has not started take effect; False if it is not ours."""
        task = self._task(place.key)
        if task is None or task.state not in NOT_STARTED or self.carrier is None:
            return False
        self.carrier.release(task)
        if not is_plannable(task):
            return False
        self._rank(task, place.slot)
        self.carrier.place(task, place.slot.worker)
        return True

    def _move(self, move: Move) -> None:
        """Ask the worker that was told of the task to give it up, unless it has begun."""
        task, there = self._task(move.key), self._roster.running(move.slot.worker)
        if task is None or there is None or self.carrier is None or task.state != "processing":
            return
        self._rank(task, move.slot)
        self.carrier.release(task)
        if is_plannable(task):
            self.carrier.place(task, move.slot.worker)
            self._counters.moved += request_move(self._scheduler, task, there)

    def _rank(self, task: TaskState, slot: Slot) -> None:
        """Order by the plan; the user's priority and the fairness between graphs stay."""
        user, generation = (task.priority or (0, 0))[:2]
        epoch = self._epoch(task.key)
        if epoch is not None:
            epoch.generation = generation if epoch.generation is None else epoch.generation
            generation = epoch.generation
        task.priority = (user, generation, slot.rank)

    def _release(self, keys: Iterable[Key]) -> dict[Key, str]:
        """Leave the keys to Dask; those that it has put aside are returned."""
        undecided: dict[Key, str] = {}
        for key in keys:
            task = self._task(key)
            if task is not None and self.carrier is not None:
                self.carrier.release(task)
                undecided |= self._undecided(key)
        return undecided

    def _withdraw(self, directives: Iterable[Directive]) -> None:
        for directive in directives:
            if isinstance(directive, Disable):
                self._loop.call_soon(self._undo_safely, directive)

    def _undo(self, disable: Disable) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.carrier is not None:
            self.carrier.uninstall()
            undecided = self._release([*disable.keys, *self.awaiting.clear()])
            self.carrier = None
            self._decide_anew(undecided)

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
