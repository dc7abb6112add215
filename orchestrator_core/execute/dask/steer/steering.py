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

from orchestrator_core.execute.dask.graphs.announced import Epoch
from orchestrator_core.execute.dask.graphs.pins import is_plannable
from orchestrator_core.execute.dask.steer.awaiting import Awaiting
from orchestrator_core.execute.dask.steer.carrier import Carrier
from orchestrator_core.execute.dask.steer.compat import choose
from orchestrator_core.execute.dask.steer.director import Director
from orchestrator_core.execute.dask.steer.moves import request_move
from orchestrator_core.execute.dask.steer.restrict import Restrictor
from orchestrator_core.execute.dask.watch.counters import Counters
from orchestrator_core.execute.dask.workers.roster import Roster
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
from orchestrator_core.execute.follower import PLACED, Follower

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
        withdrawn: Callable[[], None],
    ) -> None:
        """`withdrawn` is told when it has given up, unless `uninstall` was called."""
        self.mode = choose(wanted, scheduler)
        self._counters, self._withdrawn = counters, withdrawn
        self.follower = Follower()
        self._slots, self._stages = self.follower.slots, self.follower.stages
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
                self.awaiting.keys,
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
        self._counters.faults += 1
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
        tasks: Mapping[Key, TaskState] = self._scheduler.tasks  # type: ignore[assignment]
        for key in keys:
            task = tasks.get(key)
            if task is not None and task.processing_on is not None:
                yield key, self._roster.name(task.processing_on.address)

    def give_back(self, keys: Iterable[Key], reason: str) -> None:
        """Leave these keys to Dask."""
        self._carry(self.follower.released(keys, reason))

    def arrive(self, keys: Iterable[Key]) -> None:
        """Tasks whose keys were planned before are there: their slots take effect."""
        for key in keys:
            slot = self._slots.get(key)
            if slot is not None and self._place(key, slot) is None:
                self.follower.forgotten(key)

    def renew(self, keys: Iterable[Key]) -> None:
        """A graph asks again for these keys: what earlier graphs planned for them has ended."""
        if not self._slots:
            return
        for key in keys:
            if key in self._slots and self.state(key) == "released":
                self._release((key,))
                self.follower.forgotten(key)

    def started(self, keys: Iterable[Key]) -> int:
        """How many of the tasks are gone, or a worker has been told of them."""
        tasks: Mapping[Key, TaskState] = self._scheduler.tasks  # type: ignore[assignment]
        states = [tasks[key].state if key in tasks else "forgotten" for key in keys]
        return sum([state not in NOT_STARTED for state in states])

    def state(self, key: Key) -> str | None:
        """The scheduler's word for how far the task is; None if it does not exist."""
        task = self._task(key)
        return None if task is None else task.state

    # --- events ------------------------------------------------------------------------------

    def transition(self, key: Key, finish: str) -> None:
        """The scheduler moved a task; called in the transition, some times for each task."""
        if key not in self._slots and not self.follower.is_holding:
            return
        due: tuple[Directive, ...] = ()
        if finish == "processing":
            if self._stages.get(key) is PLACED:
                self._counters.placed += 1
            due = self.follower.sent(key)
        elif finish == "memory":
            if self.mode == "restrict":
                # If its output is lost and its worker too, it must find another one.
                self._release((key,))
            due = self.follower.finished(key)
        elif finish == "erred":
            due = self.follower.failed(key)
        elif finish == "forgotten" and key in self._slots:
            task = self._task(key)
            if task is not None and self.carrier is not None:
                self.carrier.forget(task)
            due = self.follower.forgotten(key)
        if due:
            self._later(due)

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
        held = self.follower.held
        undecided = self._undecided(key for key in keys if key not in held)
        self._guarded("awaiting", lambda: self._decide_anew(undecided))

    # --- holds -------------------------------------------------------------------------------

    def _held(self, key: Key) -> None:
        """The task begins to be held back; called in a transition. Its patience will end."""
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
            if isinstance(directive, Place):
                state = self._place(directive.key, directive.slot)
                if state in UNDECIDED:
                    undecided[directive.key] = UNDECIDED[state]
            elif isinstance(directive, Disable):
                self._undo(directive)
            elif isinstance(directive, Release):
                self._counters.released += len(directive.keys)
                undecided |= self._release(directive.keys)
            else:
                self._move(directive)
        self._decide_anew(undecided)

    def _undecided(self, keys: Iterable[Key]) -> dict[Key, str]:
        """Those of the keys that Dask has put aside, and where they go to be decided about."""
        tasks: Mapping[Key, TaskState] = self._scheduler.tasks  # type: ignore[assignment]
        states = {key: tasks[key].state for key in keys if key in tasks}
        return {key: UNDECIDED[state] for key, state in states.items() if state in UNDECIDED}

    def _decide_anew(self, undecided: Mapping[Key, str]) -> None:
        """A queued task would go to whoever is free, and a held one nowhere."""
        if undecided:
            recommendations: Any = dict(undecided)
            self._scheduler.transitions(recommendations, stimulus_id=f"orchestrator-place-{time()}")

    def _place(self, key: Key, slot: Slot) -> str | None:
        """Let the slot of a task that has not started take effect; done for each planned task.

        Returns the state of the task; None if it is not ours to place.
        """
        task, carrier = self._task(key), self.carrier
        if task is None or carrier is None:
            return None
        state: str = task.state
        if state not in NOT_STARTED:
            return None
        carrier.release(task)
        if not is_plannable(task):
            return None
        self._rank(task, slot)
        carrier.place(task, slot.worker)
        return state

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
        priority = task.priority or (0, 0)
        user, generation = priority[0], priority[1]
        epoch = self._epoch(task.key)
        if epoch is not None:
            epoch.generation = generation if epoch.generation is None else epoch.generation
            generation = epoch.generation
        task.priority = (user, generation, slot.rank)

    def _release(self, keys: Iterable[Key]) -> dict[Key, str]:
        """Leave the keys to Dask; those that it has put aside are returned."""
        keys = list(keys)
        for key in keys:
            task = self._task(key)
            if task is not None and self.carrier is not None:
                self.carrier.release(task)
        return self._undecided(keys) if self.carrier is not None else {}

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
        self._counters.withdrawn_at = time()
        try:
            self._undo(disable)
            self._scheduler.log_event(
                "orchestrator", {"action": "disabled", "reason": disable.reason}
            )
        except Exception:
            log.exception("withdrawing failed; the remaining overrides only pass through")
        finally:
            self._withdrawn()

    def _task(self, key: Key) -> TaskState | None:
        return self._scheduler.tasks.get(key)  # type: ignore[call-overload,no-any-return]
