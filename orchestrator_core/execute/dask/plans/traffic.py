"""Traffic: the planned runs under way on a cluster; whose turn comes first, and what that leaves.

Dask's priorities are the user's, then those of generations: what was submitted later comes later,
but whatever is submitted within a minute may count as one. Among runs of one generation, turns say
who goes first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from distributed.metrics import time

from orchestrator_core.execute.dask.graphs.followed import Followed
from orchestrator_core.execute.dask.plans.steered import Steered
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.live.occupation import occupied
from orchestrator_core.execute.live.telling import still_takes
from orchestrator_core.execute.turns import Claim, Turn, turn_of

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState

Age = tuple[float, ...]
"""The user's priority and the generation; lower first. Empty where none of the tasks is there."""


class Traffic:
    """Steered runs, by themselves and by the keys of their tasks."""

    def __init__(self, scheduler: Scheduler, roster: Roster) -> None:
        self._scheduler, self._roster = scheduler, roster
        self._steered: dict[Followed, Steered] = {}
        self._of_key: dict[Key, Steered] = {}
        self._expected: dict[Followed, tuple[Turn, Claim]] = {}

    @property
    def steered(self) -> Mapping[Followed, Steered]:
        """Always the same live mapping, for those who ask often."""
        return self._steered

    @property
    def expected(self) -> Mapping[Followed, tuple[Turn, Claim]]:
        """The runs whose plans are still read, or cannot be: their tasks are ranked by their turns
        all the same."""
        return self._expected

    def of_key(self, key: Key) -> Steered | None:
        """Who follows a plan for the task."""
        return self._of_key.get(key)

    def expect(self, run: Followed, turn: Turn, claim: Claim) -> None:
        """The run has a turn, and will go by its plan as soon as that is read."""
        self._expected[run] = turn, claim

    def enter(self, steered: Steered) -> None:
        """The run goes by its plan from now on; what is announced again belongs to the later."""
        self._look_again()
        self._expected.pop(steered.run, None)
        self._steered[steered.run] = steered
        for key in steered.run.snapshot.keys:
            if (before := self._of_key.get(key)) is not None:
                before.progress.lose(key)
            self._of_key[key] = steered

    def leave(self, run: Followed) -> None:
        """The run is over."""
        self._expected.pop(run, None)
        steered = self._steered.pop(run, None)
        if steered is not None:
            steered.ended()
        self._look_again()
        for key in () if steered is None else run.snapshot.keys:
            if self._of_key.get(key) is steered:
                del self._of_key[key]

    def clear(self) -> None:
        """Nobody is under way."""
        self._steered.clear()
        self._of_key.clear()
        self._expected.clear()

    def _look_again(self) -> None:
        """What the others have left for each changes."""
        for each in self._steered.values():
            each.look_again()

    def seconds(self, key: Key) -> float:
        """How long the task should take by its plan; 0 where that is not known."""
        steered = self._of_key.get(key)
        return 0.0 if steered is None else steered.seconds(key)

    # --- turns -------------------------------------------------------------------------------

    def has_company(self, run: Followed) -> bool:
        """Are there others of the same age that have turns?"""
        age = self._age(run)
        return age != () and any(
            self._age(other) == age for other in (*self._steered, *self._expected)
        )

    def turn(self, run: Followed, claim: Claim) -> Turn:
        """That of a run which is not under way yet."""
        age = self._age(run)
        there = {
            other: found
            for other, found in (self._expected | self._claims()).items()
            if self._age(other) == age
        }
        earlier = [turn for other, (turn, _) in there.items() if other.run_id == run.run_id]
        return turn_of(claim, len(run.snapshot), there.values(), earlier)

    def _claims(self) -> dict[Followed, tuple[Turn, Claim]]:
        now = time()
        return {
            run: (steered.turn, steered.claim(now - run.started_at))
            for run, steered in self._steered.items()
        }

    def occupied(self, steered: Steered, now: float) -> dict[str, list[float]]:
        """As of `Sight`; `now` in seconds from the start of the run."""
        found, moment = {}, steered.run.started_at + now
        ahead = [each for each in self._steered.values() if self._is_ahead(each, steered)]
        left = [each.left(moment - each.run.started_at) for each in ahead]
        for worker in self._scheduler.workers.values():
            name = self._roster.name(worker.address)
            queue = sum(each.get(name, 0.0) for each in left)
            threads = self._on(worker, steered, frozenset(ahead), queue, moment)
            if threads:
                found[name] = [now + seconds for seconds in threads]
        return found

    def _on(
        self,
        worker: WorkerState,
        steered: Steered,
        ahead: Set[Steered],
        queue: float,
        moment: float,
    ) -> list[float]:
        """Seconds for which others have threads of the worker; `queue`: all of those `ahead`."""
        ours: list[float] = []
        others: list[float] = []
        standing = self._standing(steered)
        for task in worker.processing:
            whose = self._of_key.get(task.key)
            if task in worker.executing and task not in worker.long_running:
                left = self._still_takes(worker, task, moment)
                (ours if whose is steered else others).append(left)
                queue -= left if whose in ahead else 0.0
            elif whose is None and (task.priority or ()) < standing:
                queue += max(0.0, task.prefix.duration_average)
        return occupied(ours, others, max(0.0, queue), worker.nthreads)

    def _still_takes(self, worker: WorkerState, task: TaskState, moment: float) -> float:
        """How long the task will run on; the last heartbeat said since when."""
        age = worker.executing[task] + max(0.0, moment - worker.last_seen)
        believed = self.seconds(task.key) or max(0.0, task.prefix.duration_average)
        return still_takes(believed, age)

    def _is_ahead(self, other: Steered, steered: Steered) -> bool:
        """Do the tasks of another run begin before all of this one?"""
        return other is not steered and () < self._standing(other) < self._standing(steered)

    def _standing(self, steered: Steered) -> Age:
        age = self._age(steered.run)
        return (*age, steered.turn.first) if age else ()

    def _age(self, run: Followed) -> Age:
        """Until the first of its tasks is there, nobody knows of the user's priority."""
        number = run.generation.number
        for key in run.open:
            task: TaskState | None = self._scheduler.tasks.get(key)  # type: ignore[call-overload]
            if task is not None and task.priority:
                user, own = task.priority[:2]
                return (user, own if number is None else number)
        if not run.coming:
            return ()
        return (0.0, math.inf if number is None else number)
