"""EpochBuffer: holds what was submitted until it is worth planning together (stage 4).

A flow's body submits one task at a time; a plan wants to see many. So the messages that would
start the tasks wait here, in order, and go out together as one *epoch*: when a result is asked for,
after a silence, after the longest wait, or at the end. Everything else about a submission has
happened by then (arguments are serialised, futures exist), so that waiting changes no meaning.
Knows neither Prefect nor Dask: a message is whatever `send` takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from orchestrator_prefect.sending.waits import NOTHING, Waited

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.graphs.hints import Hint

SILENCE_SECONDS = 0.05
LONGEST_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class Submission:
    """One task that the flow submitted.

    Attributes:
        name: unique in the flow run, stable from run to run.
        kind: what durations are learned about.
        key: what Dask calls it.
        after: names of the tasks whose outputs it takes.
        waits_for: names of further tasks that must end before it starts.
        annotations: what `dask.annotate` said of it, such as resources; read from its message.
        past: what the flow's code had waited for when it submitted this.
        went: seconds from the run's first submission until its epoch was planned.
        hint: what its tags, `dask.annotate` or the flow's estimates say of it.
        features: numbers that may tell how long it takes.
        start: when the plan begins it, seconds; None if nobody planned it.
        sent: has its message left the buffer?
    """

    name: str
    kind: str
    key: str
    after: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    past: Waited = NOTHING
    went: float = 0.0
    hint: Hint | None = None
    features: Mapping[str, float] = field(default_factory=dict)
    start: float | None = None
    sent: bool = False


Batch = list[Submission]
Message = dict[str, Any]
Held = tuple[Submission | None, Message]


class EpochBuffer:
    """Messages that wait; safe to use from any thread.

    Args:
        send: lets a message go; must not block.
        before: called with each epoch's submissions before their messages go; those that it gives a
            `start` go in that order. It must not raise.
        after: the same, when they are gone.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        send: Callable[[Message], None],
        *,
        before: Callable[[Batch], None],
        after: Callable[[Batch], None] = lambda batch: None,
        silence: float = SILENCE_SECONDS,
        longest: float = LONGEST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send, self._before, self._after = send, before, after
        self._silence, self._longest, self._clock = silence, longest, clock
        self._held: list[Held] = []
        self._expected: dict[str, Submission] = {}
        self._first = self._last = 0.0
        self._changed = threading.Condition(threading.Lock())
        # Re-entrant: planning may make the client send a message of its own.
        self._flushing = threading.RLock()
        self._watcher: threading.Thread | None = None
        self._closed = False

    def expect(self, submission: Submission) -> None:
        """The message of this submission comes next; until then there is no silence."""
        with self._changed:
            self._expected[submission.key] = submission

    def withdraw(self, submission: Submission) -> None:
        """It came, or never will."""
        with self._changed:
            if self._expected.pop(submission.key, None) is not None:
                submission.sent = True
            self._last = self._clock()
            self._changed.notify()

    def take(self, message: Message) -> None:
        """Hold the message if it starts an expected task or would overtake one that is held."""
        with self._changed:
            submission = self._match(message)
            if self._closed or (submission is None and not self._held):
                self._send(message)
                return
            if not self._held:
                self._first = self._clock()
            self._held.append((submission, message))
            if submission is not None:
                self._last = self._clock()
            self._changed.notify()

    def remaining(self) -> float | None:
        """Seconds until the buffer should be flushed; None while it is empty."""
        if not self._held:
            return None
        now = self._clock()
        longest = self._first + self._longest - now
        if self._expected:
            return longest
        return min(longest, self._last + self._silence - now)

    def flush(self, wanted: Submission | None = None) -> None:
        """Let everything go that is held now; nothing to do if `wanted` is gone already."""
        if wanted is not None and wanted.sent:
            return
        with self._flushing:
            if wanted is not None and wanted.sent:
                return
            with self._changed:
                count = len(self._held)
                batch = [submission for submission, _ in self._held if submission is not None]
            if batch:
                self._before(batch)
            self._release(count)
        if batch:
            self._after(batch)

    def watch(self) -> None:
        """Flush from a thread of its own when the silence or the longest wait is over."""
        self._watcher = threading.Thread(target=self._watch, name="epoch-buffer", daemon=True)
        self._watcher.start()

    def close(self, *, drop: bool = False) -> None:
        """Flush, and hold nothing from now on; or drop the tasks that have not gone."""
        if not drop:
            self.flush()
        with self._changed:
            if drop:
                self._held = [held for held in self._held if held[0] is None]
            self._closed = True
            self._changed.notify()
        self._release(len(self._held))

    def _match(self, message: Message) -> Submission | None:
        if message.get("op") != "update-graph":
            return None
        for key in message.get("keys", ()):
            if key in self._expected:
                submission = self._expected.pop(key)
                submission.annotations = getattr(message.get("annotations"), "data", None) or {}
                return submission
        return None

    def _release(self, count: int) -> None:
        with self._changed:
            going, self._held = self._held[:count], self._held[count:]
            # What came in while the epoch was planned has waited since then at the earliest.
            self._first = self._clock()
            for submission, message in _as_planned(going):
                self._send(message)
                if submission is not None:
                    submission.sent = True

    def _watch(self) -> None:
        while self._wait_until_due():
            self.flush()

    def _wait_until_due(self) -> bool:
        with self._changed:
            while not self._closed:
                seconds = self.remaining()
                if seconds is not None and seconds <= 0:
                    return True
                self._changed.wait(seconds)
            return False


def _as_planned(held: list[Held]) -> Iterator[Held]:
    """Planned submissions by their start: a worker begins the first task that it hears of.

    What begins at the same time stays in order, so producers come before consumers; and nothing
    passes a message that is no planned submission.
    """
    for _, group in groupby(held, lambda each: each[0] is not None and each[0].start is not None):
        yield from sorted(group, key=_start)


def _start(held: Held) -> float:
    submission, _ = held
    return 0.0 if submission is None or submission.start is None else submission.start
