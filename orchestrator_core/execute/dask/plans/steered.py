"""Steered: a planned run under way, and when it is time to look at its plan again."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.execute.dask.graphs.followed import Followed
from orchestrator_core.execute.dask.plans.progress import Progress
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.live import Course, Sight
from orchestrator_core.execute.live.work_left import work_left
from orchestrator_core.execute.mending_rules import PAUSE
from orchestrator_core.execute.turns import Claim, Turn
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.schedule import Schedule

ALONE = Turn()

PAUSES = (PAUSE, 5.0)
"""Least and most seconds between two repairs for lateness."""

PAUSE_SHARE = 0.03
"""Part of the remaining time that lies between two repairs, within these limits."""

RESTS = 10.0
"""Nor is there one for so many times as long as the last one took: thinking holds up the loop."""

TOLERANCE, TOLERANCE_SHARE = 0.05, 0.02
"""Seconds, and part of the remaining time, that a task may end early or late unnoticed."""

TOLD = 3
"""Times that people are told how a plan was mended; then, how often it was."""

FRESH = 0.1
"""Seconds for which what is left of a run need not be reckoned anew: all others ask for it."""

FIRST_SHARE, FIRST_SECONDS = 0.02, 0.5
"""How long the first repair searches: part of the remaining time, and seconds at most."""

SEARCH_SHARE, SEARCH_SECONDS = 0.03, 0.05
"""How long each later one does: part of the time until the next, and seconds at most."""


class Steered:
    """A run that follows a course.

    Attributes:
        sent: when a worker was told of a key, in seconds since 1970. progress: of its tasks.
        expected_end: seconds from the start of the run, by what is known now.
        prefetch: are outputs sent ahead? turn: of the run, among those of the same priority.
    """

    def __init__(
        self,
        run: Followed,
        course: Course,
        expected_end: float,
        prefetch: bool,
        turn: Turn = ALONE,
    ) -> None:
        self.run, self.course, self.turn = run, course, turn
        self.progress = Progress(run)
        self.expected_end, self.prefetch = expected_end, prefetch
        self._latest = course.schedule
        self._left: tuple[float, Mapping[str, float]] | None = None
        self.sent: dict[Key, float] = {}
        self._planned_end: dict[Key | None, float] = {}
        self._seconds: dict[Key | None, float] = {}
        self._last, self._took = -PAUSES[1], 0.0
        self._seen, self._asking, self._first = 0, False, True
        self._is_awaited, self._mended = False, 0
        self._names: tuple[str, ...] = course.instance.cluster.names
        self._late = 0.0
        self._rows: list[Key | None] = []
        self.follow(course.schedule)

    def follow(self, schedule: Schedule) -> None:
        """This schedule is in force from now on."""
        self.course.follow(schedule)
        self._look_at(schedule)
        self._planned_end = dict(zip(self._rows, schedule.end.tolist(), strict=True))
        lengths = (schedule.end - schedule.start).tolist()
        self._seconds = dict(zip(self._rows, lengths, strict=True))
        self._late = 0.0

    def mended(self, schedule: Schedule, reason: str) -> None:
        """The same, for this reason, which people are told of the first times."""
        self.follow(schedule)
        self._mended += 1
        if self._mended <= TOLD:
            self.run.notes.append(reason)

    def ended(self) -> None:
        """The run is over."""
        if self._mended > TOLD:
            self.run.notes.append(f"its plan was mended {self._mended} times in all")

    def look_again(self) -> None:
        """Others have come or gone: it is to be looked at, however well it goes."""
        self._is_awaited = True

    def seen(self, schedule: Schedule, end: float) -> None:
        """It will go like this from now on, though it need not be followed; `end` in seconds."""
        self.expected_end = end
        self._look_at(schedule)

    def _look_at(self, schedule: Schedule) -> None:
        key_of, names = self.run.snapshot.key_of, schedule.task_names
        self._rows = [key_of.get(names[task]) for task in schedule.task.tolist()]
        self._latest, self._left = schedule, None

    def left(self, now: float) -> Mapping[str, float]:
        """Seconds of work that are left on each worker, by what was seen last."""
        if self._left is None or not 0 <= now - self._left[0] < FRESH:
            plan, cluster = self._latest, self.course.instance.cluster
            threads = [
                cluster.workers[cluster.index[name]].threads if name in cluster.index else 1
                for name in plan.worker_names
            ]
            found = work_left(
                plan, self._are_in(self.run.open), self._are_in(self.sent), threads, now
            )
            self._left = now, dict(zip(plan.worker_names, found.tolist(), strict=True))
        return self._left[1]

    def _are_in(self, keys: Container[Key]) -> NDArray[np.bool_]:
        """Of each row of the plan that was seen last, is its task among these?"""
        return np.fromiter((key in keys for key in self._rows), bool, len(self._rows))

    def claim(self, now: float) -> Claim:
        """What speaks for it when another run comes."""
        return Claim(self.course.is_dated, sum(self.left(now).values()))

    def seconds(self, key: Key) -> float:
        """How long the task should take; 0 where that is not known."""
        return self._seconds.get(key, 0.0)

    def is_due(self, now: float, names: Sequence[str]) -> bool:
        """Is the plan to be looked at again? `now` in seconds from the start of the run."""
        if self._asking:
            return False
        if self._first or tuple(names) != self._names:
            return True
        if self._is_awaited and now - self._last >= PAUSE:
            return True
        rest = max(0.0, self.expected_end - now)
        if now - self._last < _pause(rest, self._took):
            return False
        tolerance = max(TOLERANCE, TOLERANCE_SHARE * rest)
        return abs(self._deviation(now) - self._late) > tolerance

    def asked(self, sight: Sight) -> Budget:
        """A repair is under way; how long it may search for something better."""
        first, self._first, self._is_awaited = self._first, False, False
        self._asking, self._last, self._names = True, sight.now, sight.cluster.names
        self._seen = len(self.run.ended)
        self._late = self._deviation(sight.now)
        rest = max(0.0, self.expected_end - sight.now)
        if first:
            return Budget(seconds=min(FIRST_SECONDS, FIRST_SHARE * rest))
        return Budget(seconds=min(SEARCH_SECONDS, SEARCH_SHARE * _pause(rest)))

    def answered(self, now: float) -> None:
        """The repair has come to an end."""
        self._asking, self._last, self._took = False, now, now - self._last

    def _deviation(self, now: float) -> float:
        """Largest lateness in seconds of what has ended lately or should have ended by now.

        Lately is since the last look, so that one task that was far off, which a look has seen,
        does not hide what comes after it.
        """
        ended = self.run.ended
        late = [
            each[4] - self._planned_end.get(each[0], each[4])
            for each in ended[self._seen :] or ended[-1:]
        ]
        for key in self.sent:
            overdue = now - self._planned_end.get(key, now)
            if overdue > 0:
                late.append(overdue)
        return max(late, key=abs, default=0.0)


def _pause(rest: float, took: float = 0.0) -> float:
    """Seconds between two repairs where the run takes `rest` more, and the last one `took` some."""
    return min(PAUSES[1], max(PAUSES[0], PAUSE_SHARE * rest, RESTS * took))
