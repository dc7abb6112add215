"""What the code of a flow waits for between its submissions: order that no argument shows.

A task that is submitted after another's result was asked for cannot begin before that one has
ended, whatever it takes from it. Such an order is an edge of 0 bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock

OLDER = 16
"""Tasks that were waited for before an earlier submission, and are still remembered."""

EDGES = 16
"""Edges that a task gets at most, unless that leaves out some of what was waited for."""


@dataclass(frozen=True, slots=True, eq=False)
class Waited:
    """What had been waited for at a submission; the same object until something more is.

    Attributes:
        older: the latest that others, submitted before, had to wait for too.
        new: since the last submission before. count: all in all.
    """

    older: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    count: int = 0

    def edges(self, position: int, tasks: int) -> Iterator[str]:
        """What one of so many tasks that waited for the same is to follow; all, if these are few.

        Each follows its share of many, so that together they follow all.
        """
        if len(self.older) + len(self.new) <= EDGES:
            yield from self.older
            yield from self.new
            return
        share = min(len(self.new), max(EDGES, -(-len(self.new) // tasks)))
        if share < EDGES:
            yield from self.older[share - EDGES :]
        for step in range(share):
            yield self.new[(position * share + step) % len(self.new)]


NOTHING = Waited()


class Waits:
    """Collects what is waited for; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: set[str] = set()
        self._older: deque[tuple[int, str]] = deque(maxlen=OLDER)
        self._new: list[tuple[int, str]] = []
        self._told = NOTHING

    def ended(self, name: str, before: Waited) -> None:
        """The code knows that this task has ended, which was itself submitted after `before`."""
        with self._lock:
            if name in self._seen:
                return
            if self._is_told:
                self._older.extend(self._new)
                self._new = []
            # What it has followed itself is implied.
            while self._older and self._older[0][0] < before.count:
                self._older.popleft()
            self._new.append((len(self._seen), name))
            self._seen.add(name)

    def now(self) -> Waited:
        """For a submission that is made now."""
        with self._lock:
            if not self._is_told:
                self._told = Waited(_names(self._older), _names(self._new), len(self._seen))
            return self._told

    @property
    def _is_told(self) -> bool:
        return self._told.count == len(self._seen)


def _names(numbered: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(name for _, name in numbered)
