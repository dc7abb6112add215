"""Holds: which ready tasks wait for which others, and until when; the books of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from orchestrator_core.execute.directives import Hold, Key


class Holds:
    """Counts for each held key what it still waits for.

    A key that is to be held is known from the start; it is *waiting* from the moment at which it is
    ready until what it waits for has happened, or its patience has come to an end.
    """

    def __init__(self) -> None:
        self._left: dict[Key, set[tuple[Key, bool]]] = {}
        self._patience: dict[Key, float] = {}
        self._waiters: dict[tuple[Key, bool], set[Key]] = {}
        self._deadline: dict[Key, float] = {}

    def __len__(self) -> int:
        return len(self._left)

    @property
    def keys(self) -> Collection[Key]:
        """The keys that are to be held, waiting or not; a live view, empty at no cost."""
        return self._left

    @property
    def waiting(self) -> Mapping[Key, float]:
        """The keys that are held back now, each with the moment at which that ends."""
        return self._deadline

    def add(
        self, holds: Mapping[Key, Hold], sent: Callable[[Key], bool], done: Callable[[Key], bool]
    ) -> None:
        """These keys are to be held; `sent` and `done` say what has happened already."""
        for key, hold in holds.items():
            left = {(k, False) for k in hold.sent if not sent(k)}
            left |= {(k, True) for k in hold.done if not done(k)}
            left -= {(key, False), (key, True)}
            if left:
                self._left[key] = left
                self._patience[key] = hold.patience
                for cause in left:
                    self._waiters.setdefault(cause, set()).add(key)

    def begin(self, key: Key, now: float) -> bool:
        """The key is ready at `now` (seconds); is it to be held back?"""
        if key not in self._left:
            return False
        if now >= self._deadline.setdefault(key, now + self._patience[key]):
            self.drop(key)
            return False
        return True

    def sent(self, key: Key) -> list[Key]:
        """The key was sent; the keys that wait no longer because of it."""
        return self._happened((key, False))

    def done(self, key: Key) -> list[Key]:
        """The key has an output, or never will; the keys that wait no longer because of it."""
        return self._happened((key, False)) + self._happened((key, True))

    def expired(self, now: float) -> list[Key]:
        """The keys whose patience has come to an end."""
        late = [key for key, deadline in self._deadline.items() if deadline <= now]
        for key in late:
            self.drop(key)
        return late

    def drop(self, key: Key) -> None:
        """The key is not to be held any more."""
        left = self._left.pop(key, None)
        if left is None:
            return
        for cause in left:
            waiters = self._waiters.get(cause)
            if waiters is not None:
                waiters.discard(key)
                if not waiters:
                    del self._waiters[cause]
        del self._patience[key]
        self._deadline.pop(key, None)

    def part(self, keys: Collection[Key]) -> list[Key]:
        """None of these keys waits for another one any more, nor any for them; the keys that were
        held back because of it."""
        apart = {waiter for key in keys for waiter in self._waiting_for(key)}
        apart.update(key for key in keys if key in self._left)
        held = [key for key in apart if key in self._deadline]
        for key in apart:
            self.drop(key)
        return held

    def clear(self) -> None:
        """Nothing is held."""
        for books in (self._left, self._patience, self._waiters, self._deadline):
            books.clear()

    def _waiting_for(self, key: Key) -> Iterator[Key]:
        for is_done in (False, True):
            yield from self._waiters.get((key, is_done), ())

    def _happened(self, cause: tuple[Key, bool]) -> list[Key]:
        freed = []
        for key in self._waiters.pop(cause, ()):
            left = self._left[key]
            left.discard(cause)
            if not left:
                if key in self._deadline:
                    freed.append(key)
                self.drop(key)
        return freed
