"""Steering: carries out on the live scheduler what the follower says, and withdraws if it must.

It owns the follower. Called on the event loop only; places in which the scheduler is in the middle
of a transition are named, since nothing may be changed there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from distributed.metrics import monotonic, time

from orchestrator_core.execute.dask.counters import Counters
from orchestrator_core.execute.dask.graphs.epoch import Epoch
from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_core.execute.dask.leaving import take_all
from orchestrator_core.execute.dask.steer.alarm import Alarm
from orchestrator_core.execute.dask.steer.awaiting import Awaiting
from orchestrator_core.execute.dask.steer.carrier import Carrier
from orchestrator_core.execute.dask.steer.compat import choose
from orchestrator_core.execute.dask.steer.dated import Dated
from orchestrator_core.execute.dask.steer.director import Director
from orchestrator_core.execute.dask.steer.heeding import Heeding
from orchestrator_core.execute.dask.steer.jam import Jams
from orchestrator_core.execute.dask.steer.live_tasks import PUT_ASIDE, LiveTasks
from orchestrator_core.execute.dask.steer.longest_wait import longest_wait, within
from orchestrator_core.execute.dask.steer.lookout import Lookout
from orchestrator_core.execute.dask.steer.rescheduled import Rescheduled
from orchestrator_core.execute.dask.steer.restrict import Restrictor
from orchestrator_core.execute.dask.steer.standstill import Standstill
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Directive, Disable, Hold, Key, Place, Release, Slot
from orchestrator_core.execute.follower import Follower
from orchestrator_core.execute.stage import FINISHED, PLACED
from orchestrator_core.words import plural

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

log = logging.getLogger("orchestrator.dask")


class Steering:
    """The plan of the live keys, in force on one scheduler.

    Attributes:
        mode: "director", "restrict", "observe", or "off" once it has withdrawn.
        follower: the plan. tasks: what it is put in force on. heeding: where other tasks may run.
        awaiting: the tasks that are kept back until a plan for them is there. dated: those that
            are not to begin before a date.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        wanted: str,
        epoch: Callable[[Key], Epoch | None],
        counters: Counters,
        withdrawn: Callable[[], None],
        seconds: Callable[[Key], float],
    ) -> None:
        """`withdrawn` is told when it has given up, unless `uninstall` was called; `seconds` says
        how long a task should take by its plan, 0 where that is not known."""
        self.mode, self._scheduler, self._roster = choose(wanted, scheduler), scheduler, roster
        self._counters, self._withdrawn = counters, withdrawn
        self.follower = Follower()
        self._slots, self._stages = self.follower.slots, self.follower.stages
        self._to_hold = self.follower.to_hold
        self.tasks = LiveTasks(scheduler, roster, epoch)
        self.heeding = Heeding(scheduler, roster, counts=self.mode == "director")
        self._longest = longest_wait(scheduler)
        self.awaiting = Awaiting(self._go_on, self._longest)
        self._alarm = Alarm(self._let_go)
        self.dated = Dated(self._date_has_come, self._longest)
        waiting = self.awaiting.keys, self.dated.keys
        self._standstill = Standstill(scheduler, self._slots, waiting, self._go_on_at_last)
        self._rescheduled = Rescheduled(scheduler, self._goes_elsewhere)
        self._jams = Jams(scheduler, self._stages, seconds, self._leave_behind)
        self._running: set[WorkerState] = set()
        self._lookout = Lookout(
            self.fault,
            standstill=self._standstill.look,
            jams=self._jams.look,
            running=self._look_who_runs,
        )
        self._loop = asyncio.get_running_loop()
        self._due: list[Directive] = []

    @property
    def carrier(self) -> Carrier | None:
        """How the plan is carried out; None where nothing is steered."""
        return self.tasks.carrier

    @property
    def can_wait(self) -> bool:
        """Can tasks be kept until their plan is there?"""
        return self.mode == "director"

    # --- life --------------------------------------------------------------------------------

    def install(self) -> None:
        """Begin to steer."""
        self.tasks.carrier = carrier = self._make_carrier()
        if carrier is not None:
            carrier.install()
            self._rescheduled.install()
            self._lookout.watch()

    def _make_carrier(self) -> Carrier | None:
        scheduler, roster = self._scheduler, self._roster
        if self.mode == "director":
            waiting = self.awaiting.keys, self.dated.keys
            return Director(scheduler, roster, self.follower, self.fault, self._held, *waiting)
        return Restrictor(scheduler, roster) if self.mode == "restrict" else None

    def uninstall(self, reason: str) -> None:
        """Leave the scheduler as it was; not to be called in a transition."""
        for disable in self.follower.disable(reason):
            self._undo(disable)
        self.mode = "off"

    def fault(self, where: str, error: Exception) -> None:
        """Something of ours failed: forgiven once. May be called in a transition."""
        self._counters.faults += 1
        log.warning("%s failed; Dask's own way is taken: %r", where, error, exc_info=error)
        self._withdraw(self.follower.fault(f"{where}: {error!r}"))

    def restart(self) -> None:
        """The scheduler forgot all tasks."""
        self.awaiting.clear()
        self.dated.clear()
        self.follower.clear()
        self.heeding.clear()

    # --- plans -------------------------------------------------------------------------------

    def follow(self, slots: Mapping[Key, Slot], holds: Mapping[Key, Hold] | None = None) -> None:
        """Follow this plan; keys that have not arrived yet are placed by `arrive`.

        Holds are kept only where the director decides, and no longer than Dask lets tasks wait.
        """
        if self.carrier is not None:
            slots = self._rescheduled.without(slots)
            self.heeding.release(slots)
            held = within(holds, self._longest) if holds and self.mode == "director" else None
            self._carry(self.follower.planned(slots, held, dict(self.tasks.sent(slots))))

    def follow_mended(self, slots: Mapping[Key, Slot]) -> None:
        """The plan of these keys was changed on the way; what it keeps back, is kept back still."""
        if self.carrier is not None:
            slots = self._rescheduled.without(slots)
            self.heeding.release(slots)
            self._carry(self.follower.mended(slots))

    def give_back(self, keys: Iterable[Key], reason: str) -> None:
        """Leave these keys to Dask."""
        self._carry(self.follower.released(keys, reason))

    def arrive(self, keys: Iterable[Key]) -> None:
        """Tasks whose keys were planned before are there: their slots take effect.

        A graph also names the tasks that it reads: those have come before, and keep their slots.
        """
        for key in keys:
            slot = self._slots.get(key)
            if slot is None or self._stages.get(key) in (PLACED, FINISHED):
                continue
            if self.tasks.place(key, slot) is None:
                self.follower.forgotten(key)

    def renew(self, keys: Collection[Key]) -> None:
        """A graph asks again for these keys: what earlier graphs planned for them has ended."""
        self.dated.forget(keys)
        if not self._slots:
            return
        for key in keys:
            if key in self._slots and self.tasks.state(key) == "released":
                self.tasks.release((key,))
                self.follower.forgotten(key)

    # --- events ------------------------------------------------------------------------------

    def transition(self, key: Key, finish: str) -> None:
        """The scheduler moved a task; called in the transition, some times for each task."""
        if key not in self._slots and not self._to_hold:
            return
        due: tuple[Directive, ...] = ()
        if finish == "processing":
            if self.mode == "restrict":
                # Restrictions have decided, and nobody has asked the plan.
                self.follower.decide(key, self._roster)
            if self._stages.get(key) is PLACED:
                self._counters.placed += 1
            if self._to_hold:
                due = self.follower.sent(key)
        elif finish == "memory":
            if self.mode == "restrict":
                # If its output is lost and its worker too, it must find another one.
                self.tasks.release((key,))
            due = self.follower.finished(key)
        elif finish == "erred":
            due = self.follower.failed(key)
        elif finish == "forgotten" and key in self._slots:
            if self.mode == "restrict":
                self.tasks.forget(key)
            due = self.follower.forgotten(key)
        if due:
            self._later(due)

    def worker_joined(self, name: str) -> None:
        """A worker of that name is there (again)."""
        self._carry(self.follower.worker_joined(name))
        self.heed_anew()
        self._withdraw(self.follower.check())

    def worker_lost(self, name: str) -> None:
        """The worker of that name is gone; the scheduler has decided anew about its tasks."""
        self._carry(self.follower.worker_lost(name))
        self.heed_anew()
        self._withdraw(self.follower.check())

    def heed(self, hints: Mapping[Key, Hint]) -> None:
        """These tasks have come, and their hints say where they run, and not before when."""
        self.heeding.note(hints)
        self._date(hints)

    def heed_announced(self, keys: Iterable[Key]) -> None:
        """The same of tasks that were announced; a plan that is there knows where they run."""
        if hints := self.heeding.read(keys):
            free = {key: hint for key, hint in hints.items() if key not in self._slots}
            self.heeding.note(free)
            self.heeding.heed(free)
            self._date(hints)

    def forget_hint(self, key: Key) -> None:
        """The task is gone, or will be in a moment."""
        self.heeding.forget(key)
        self.dated.forget((key,))

    def _date(self, hints: Mapping[Key, Hint]) -> None:
        if self.can_wait:
            self.dated.begin({k: hint.release for k, hint in hints.items() if hint.release})

    def heed_anew(self) -> None:
        """Other workers are there, or more is known of them: hints may mean others now."""
        if self.heeding.hints:
            self.tasks.decide_anew(self.heeding.renew())

    def _look_who_runs(self) -> None:
        """No event tells of a worker that pauses, or goes on: hints mean those that run."""
        if self._scheduler.running != self._running:
            self._running = set(self._scheduler.running)
            self.heed_anew()

    # --- waiting -----------------------------------------------------------------------------

    def _go_on(self, keys: Iterable[Key]) -> None:
        """These keys wait for no plan any more: Dask, or a plan that is there, decides."""
        held = self.follower.held
        free = [key for key in keys if key not in held]
        self._guarded("awaiting", lambda: self._leave(free))

    def _leave(self, keys: Collection[Key]) -> None:
        """Dask decides about those that no plan places."""
        self.heeding.heed([key for key in keys if key not in self._slots])
        self.tasks.decide_anew(keys)

    def _date_has_come(self, keys: Collection[Key]) -> None:
        """These may begin from now on."""
        self._guarded("date", lambda: self.tasks.decide_anew(keys))

    def _held(self, key: Key) -> None:
        """The task begins to be held back; called in a transition. Its patience will end."""
        self._counters.held += 1
        self._alarm.set(self.follower.held[key])

    def _let_go(self) -> None:
        """Who was held for as long as may be is held no more."""
        self._guarded("hold", lambda: self._carry(self.follower.waited(monotonic())))
        if self.follower.held:
            self._alarm.set(min(self.follower.held.values()))

    def _goes_elsewhere(self, key: Key) -> None:
        """The task wants to run on another worker than the one where it was."""
        self._guarded("reschedule", lambda: self.give_back((key,), "it asked to be rescheduled"))

    def _go_on_at_last(self, keys: list[Key]) -> None:
        """These are ready, and nothing runs: nothing is worth holding them any longer."""
        held = self.follower.held
        lost = [key for key in keys if key not in held]
        try:
            self._carry(self.follower.unheld())
            self.tasks.decide_anew(lost)
        except Exception as error:
            self.fault("standstill", error)
        if lost:
            self.fault("standstill", TimeoutError(f"{len(lost)} ready tasks were sent nowhere"))

    def _leave_behind(self, keys: list[Key], free: list[WorkerState]) -> None:
        """These wait on workers that get no further; whoever is free takes them."""
        count = plural(len(keys), "task")
        log.info("workers get no further: %s that waited there will run elsewhere", count)
        self.give_back(keys, "their workers get no further")
        self._counters.moved += self.tasks.spread(keys, free)

    # --- carrying out, withdrawing -----------------------------------------------------------

    def _later(self, directives: Iterable[Directive]) -> None:
        """Carry these out as soon as the scheduler's transitions are through."""
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

    def _carry(self, directives: Iterable[Directive]) -> None:
        aside: list[Key] = []
        for directive in directives:
            if isinstance(directive, Place):
                if self.tasks.place(directive.key, directive.slot) in PUT_ASIDE:
                    aside.append(directive.key)
            elif isinstance(directive, Release):
                self._counters.released += len(directive.keys)
                self.tasks.release(directive.keys)
                self.heeding.heed(directive.keys)
                aside += directive.keys
            elif not isinstance(directive, Disable):
                self._counters.moved += self.tasks.move(directive)
        if aside:
            self.tasks.decide_anew(aside)

    def _withdraw(self, directives: Iterable[Directive]) -> None:
        for directive in directives:
            if isinstance(directive, Disable):
                self._loop.call_soon(self._give_up, directive)

    def _undo(self, disable: Disable) -> None:
        """Does not raise: whatever of it fails, the rest of the plugin is to go, too."""
        timers = self._lookout.cancel, self._alarm.cancel, self.dated.cancel
        take_all([self._rescheduled.uninstall, *timers])
        carrier = self.tasks.carrier
        if carrier is None:
            return
        ours = [*disable.keys, *self.awaiting.clear(), *self.dated.clear()]
        take_all([carrier.uninstall, self.heeding.clear, lambda: self.tasks.release(ours)])
        self.tasks.carrier = None
        # Nothing of ours stays on the loop for later.
        take_all([lambda: self.tasks.decide_anew(ours, at_once=True)])

    def _give_up(self, disable: Disable) -> None:
        log.error("the plugin withdraws for good: %s", disable.reason)
        self.mode = "off"
        self._counters.withdrawn_at = time()
        self._undo(disable)
        self._withdrawn()
        self._scheduler.log_event("orchestrator", {"action": "disabled", "reason": disable.reason})
