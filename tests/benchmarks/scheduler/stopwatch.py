"""Stopwatch: processor time in code of ours, without what Dask's own code takes that it calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import thread_time
from typing import Any

THEIRS = ""
CALIBRATION = 20_000


class Stopwatch:
    """At each moment somebody is at work: a hook of ours, or Dask. For one thread.

    What looking at the clock itself takes is measured and left out.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._looks: dict[str, int] = defaultdict(int)
        self._who = THEIRS
        self._since = 0.0
        self._look = 0.0
        self._look = self._calibrated()

    def ours(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function; its time counts under `name`, or under the hook of ours that calls it."""

        def timed(*arguments: Any, **options: Any) -> Any:
            if self._who is not THEIRS:
                return function(*arguments, **options)
            self._switch(name)
            try:
                return function(*arguments, **options)
            finally:
                self._switch(THEIRS)

        return timed

    def theirs(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function; its time does not count."""

        def timed(*arguments: Any, **options: Any) -> Any:
            who = self._who
            if who is THEIRS:
                return function(*arguments, **options)
            self._switch(THEIRS)
            try:
                return function(*arguments, **options)
            finally:
                self._switch(who)

        return timed

    def take(self) -> dict[str, float]:
        """Seconds by name; counts from zero again."""
        found = {
            name: max(0.0, seconds - self._look * self._looks[name])
            for name, seconds in self._seconds.items()
        }
        self._seconds.clear()
        self._looks.clear()
        return found

    def _switch(self, who: str) -> None:
        now = thread_time()
        if self._who is not THEIRS:
            self._seconds[self._who] += now - self._since
            self._looks[self._who] += 1
        self._who, self._since = who, now

    def _calibrated(self) -> float:
        """Seconds that count for a function that does nothing."""
        nothing = self.ours("nothing", int)
        for _ in range(CALIBRATION):
            nothing()
        return self.take()["nothing"] / CALIBRATION
