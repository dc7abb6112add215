"""Control: planned runs are watched while they last, and their plans mended when that pays.

Ten times a second it looks whether a run goes differently from its plan. Looking is cheap and done
on the event loop; the repair is not, and done in a thread. Only what has not begun is moved.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from distributed.metrics import time

from orchestrator_core.errors import OrchestratorError, PlanningFailed
from orchestrator_core.execute.dask.counters import Counters
from orchestrator_core.execute.dask.graphs.followed import Followed
from orchestrator_core.execute.dask.plans.look import look
from orchestrator_core.execute.dask.plans.portions import Handover, Portions, Slots
from orchestrator_core.execute.dask.plans.progress import UNFINISHED
from orchestrator_core.execute.dask.plans.steered import ALONE, Steered
from orchestrator_core.execute.dask.plans.traffic import Traffic
from orchestrator_core.execute.dask.plans.unsteered import Unsteered
from orchestrator_core.execute.dask.plans.watchdog import Watchdog
from orchestrator_core.execute.dask.steer.prefetch import Prefetcher
from orchestrator_core.execute.dask.steer.slots import slots_of, turned
from orchestrator_core.execute.dask.steer.steering import Steering
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.live import Correction, Course, LivePlan, Sight
from orchestrator_core.execute.turns import Claim, Turn
from orchestrator_core.plan.budget import Budget

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

    from orchestrator_core.execute.scaling.scaling import Remaining

log = logging.getLogger("orchestrator.dask")

TICK = 0.1
"""Seconds between two looks."""

ASKED = 5_000
"""Tasks that are asked for at once before a look, at 2 us for each."""


class Control:
    """The planned runs under way; all methods are called on the event loop.

    Attributes:
        portions: through which all their plans are put in force.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        steering: Steering,
        counters: Counters,
        fault: Callable[[str, Exception], None],
        patience: float,
        has_run: Callable[[str], bool],
    ) -> None:
        """`patience`: seconds of silence after which a worker counts as hung; 0 for never.
        `has_run`: as of `Watchdog`."""
        self._scheduler = scheduler
        self._roster = roster
        self._steering = steering
        self._counters = counters
        self._fault = fault
        self._loop = asyncio.get_running_loop()
        self._traffic = Traffic(scheduler, roster)
        self._steered = self._traffic.steered
        self._unsteered: dict[Followed, Unsteered] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="orchestrator-repair")
        self._timer: asyncio.TimerHandle | None = None
        self.portions = Portions(fault)
        self._prefetcher = Prefetcher(scheduler, roster, steering.follower, fault)
        self._watchdog = Watchdog(scheduler, patience, self._longest, has_run)

    def __len__(self) -> int:
        return len(self._steered)

    def get(self, run: Followed) -> Steered | None:
        """How the run goes; None if it is not steered."""
        return self._steered.get(run)

    @property
    def steered(self) -> Mapping[Followed, Steered]:
        return self._steered

    def seconds(self, key: Key) -> float:
        """How long the task should take by its plan; 0 where that is not known."""
        return self._traffic.seconds(key)

    # --- runs --------------------------------------------------------------------------------

    def begin(
        self,
        run: Followed,
        course: Course,
        expected_end: float,
        prefetch: bool = False,
        turn: Turn = ALONE,
    ) -> None:
        """The run follows this course from now on; it should end at `expected_end` seconds."""
        self._traffic.enter(Steered(run, course, expected_end, prefetch, turn))
        for stored in run.snapshot.there if prefetch else ():
            self._prefetcher.finished(stored)
        self._wake()

    def turn(self, run: Followed, claim: Claim) -> Turn:
        """Whose turn comes before that of the run, and whose after it, if it begins now."""
        return self._traffic.turn(run, claim)

    def has_company(self, run: Followed) -> bool:
        """Are there planned runs with which it takes turns if it is planned, too?"""
        return self._traffic.has_company(run)

    def look_on(self, run: Followed, make: Callable[[], Course | None]) -> None:
        """Nobody follows a plan of this run; by the course that it would take, which is made when
        somebody asks for it, it can be told what is left of it."""
        self._unsteered[run] = Unsteered(run, make, self._thread)

    def hand_over(
        self, run: Followed, make: Callable[[], LivePlan], turn: Turn, claim: Claim
    ) -> None:
        """The run follows the plan that `make` reads, which takes a while; until then, its slots.

        Somebody keeps all of its outputs.
        """
        self._traffic.expect(run, turn, claim)
        made = self._thread.submit(lambda: (plan := make(), plan.course(run.snapshot.names)))
        made.add_done_callback(lambda done: self._tell(self._handed, run, done))

    def _handed(self, run: Followed, made: Future[tuple[LivePlan, Course]]) -> None:
        if made.cancelled() or run not in self._traffic.expected:
            return  # The run is over; not all of its tasks need have come.
        turn, _ = self._traffic.expected[run]
        try:
            plan, course = made.result()
            self.begin(run, course, plan.predicted, plan.prefetch, turn)
        except OrchestratorError as error:
            run.notes.append(f"the plan is not mended: {error}")
            # That what mends is not compiled yet passes by itself, and nobody can do anything.
            level = logging.INFO if isinstance(error, PlanningFailed) else logging.WARNING
            told = "the plan of run %s is followed, not mended: %s"
            log.log(level, told, run.snapshot.flow, error)
        except Exception as error:
            self._fault("control", error)

    def end(self, run: Followed) -> None:
        """The run is over."""
        self._unsteered.pop(run, None)
        self._traffic.leave(run)

    def stop(self) -> None:
        """Watch nothing any more."""
        self._traffic.clear()
        self._unsteered.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._thread.shutdown(wait=False, cancel_futures=True)

    def worker_joined(self, address: str) -> None:
        """A worker is there (again)."""
        self._watchdog.joined(self._scheduler.workers[address])

    def transition(self, key: Key, finish: str) -> None:
        """The scheduler moved a task; called in the transition."""
        steered = self._traffic.of_key(key)
        if steered is None:
            return
        steered.progress.touch(key)
        if finish == "processing":
            steered.sent[key] = time()
        else:
            steered.sent.pop(key, None)
            if finish == "memory" and steered.prefetch:
                self._prefetcher.finished(key)

    def has_runs(self) -> bool:
        """Is there a run of which it may be told what is left?"""
        return bool(self._steered or self._unsteered)

    def remaining(self) -> list[Remaining]:
        """What is left of each run, for those who think about other clusters; with thousands of
        tasks that takes tenths of a second."""
        found = [self._remaining(steered, True) for steered in self._steered.values()]
        for unsteered in self._unsteered.values():
            steered = unsteered.steered()
            if steered is not None:
                steered.progress.forget()
                found.append(self._remaining(steered, False))
        return [each for each in found if each is not None]

    def _remaining(self, steered: Steered, followed: bool) -> Remaining | None:
        from orchestrator_core.execute.scaling.scaling import Remaining

        sight = self._look(steered)
        if sight is None:
            return None
        try:
            instance, events = steered.course.standing(sight)
        except OrchestratorError as error:
            log.debug("it cannot be told what is left of a run: %s", error)
            return None
        schedule, keys = steered.course.schedule, steered.run.snapshot.keys
        return Remaining(instance, schedule, sight.now, events, followed, keys)

    # --- looking -----------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        try:
            for steered in filter(self._is_due, list(self._steered.values())):
                if steered.progress.catch_up(self._scheduler.tasks, ASKED):
                    self._check(steered)
            self._counters.hung_removed += self._watchdog.look()
        except Exception as error:
            self._fault("control", error)
        if self._steered and self._steering.carrier is not None:
            self._wake()

    def _longest(self, worker: WorkerState) -> float:
        """Seconds that the longest of the tasks sent to a worker should take."""
        return max((self.seconds(task.key) for task in worker.processing), default=0.0)

    def _check(self, steered: Steered) -> None:
        sight = self._look(steered)
        if sight is not None:
            answer = self._thread.submit(_correct, steered, sight, steered.asked(sight))
            answer.add_done_callback(lambda done: self._tell(self._answered, steered, done))

    def _is_due(self, steered: Steered) -> bool:
        cluster = self._roster.cluster()
        if cluster is None or steered.run in self.portions.under_way:
            return False
        return steered.is_due(time() - steered.run.started_at, cluster.names)

    def _look(self, steered: Steered) -> Sight | None:
        cluster = self._roster.cluster()
        if cluster is None:
            return None
        steered.progress.catch_up(self._scheduler.tasks)
        now = time() - steered.run.started_at
        occupied = self._traffic.occupied(steered, now)
        return look(self._scheduler, self._roster, steered, cluster, now, self.seconds, occupied)

    def _tell(self, whom: Callable[..., None], *what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(whom, *what)
        except RuntimeError:
            log.debug("a repair came after the event loop was closed")

    def _answered(self, steered: Steered, answer: Future[tuple[Correction, Slots]]) -> None:
        steered.answered(time() - steered.run.started_at)
        if answer.cancelled() or steered.run not in self._steered:
            return
        try:
            self._apply(steered, *answer.result())
        except OrchestratorError as error:
            steered.run.notes.append(f"the plan could not be mended: {error}")
            log.info("the plan could not be mended: %s", error)
        except Exception as error:
            self._fault("control", error)

    def _apply(self, steered: Steered, correction: Correction, slots: Slots) -> None:
        steered.seen(correction.schedule, correction.end)
        self._counters.replans += 1
        if correction.remark:
            steered.run.notes.append(correction.remark)
            log.warning("run of %r: %s", steered.run.snapshot.flow, correction.remark)
        if correction.pays and self._steering.carrier is not None:
            self._change(steered, correction, slots)

    def _change(self, steered: Steered, correction: Correction, slots: Slots) -> None:
        """From now on this schedule is in force, for all that has not begun."""
        run = steered.run
        steered.mended(correction.schedule, correction.reason)
        log.debug("the plan of %r is mended: %s", run.snapshot.flow, correction.reason)
        key_of = run.snapshot.key_of
        blocked = [key_of[name] for name in correction.blocked if name in key_of]
        handover = Handover(
            run,
            slots,
            force=partial(self._force, steered),
            is_on=partial(self._is_under_way, steered),
            then=partial(self._steering.give_back, blocked, "no plan can place them now"),
        )
        self.portions.put(handover)

    def _is_under_way(self, steered: Steered) -> bool:
        return steered.run in self._steered and self._steering.carrier is not None

    def _force(self, steered: Steered, slots: Slots) -> None:
        """What was announced again belongs to the later plan, and what is over needs no slot."""
        state, coming = self._steering.tasks.state, steered.run.coming
        ours = {
            key: slot
            for key, slot in slots.items()
            if self._traffic.of_key(key) is steered and (key in coming or state(key) in UNFINISHED)
        }
        self._steering.follow_mended(turned(ours, steered.turn))


def _correct(steered: Steered, sight: Sight, budget: Budget) -> tuple[Correction, Slots]:
    """The repair, and the slots of what is open then: not on the event loop."""
    correction, tasks = steered.course.correct(sight, budget), steered.run.snapshot
    if not correction.pays:
        return correction, {}
    over = sight.gone | sight.finished.keys()
    rest = {key for key, name in zip(tasks.keys, tasks.names, strict=True) if name not in over}
    return correction, slots_of(correction.schedule, tasks, correction.rest.cluster.index, rest)
