"""Real sizes of outputs for which Dask has no rule, and so sees only an empty shell."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from types import ModuleType
from typing import Any

ATTRIBUTES = 64
"""Objects that are looked at in one output."""

LONG, RESTS = 0.01, 100.0
"""Where measuring one takes more seconds than this, no other of its type is measured for so many
times as long: a table of 20,000 columns takes two seconds, and nothing else of the worker's is done
meanwhile."""

KINDS = 1_000
"""Types that are remembered at a time."""


def is_shell(kind: type) -> bool:
    """Does Dask measure objects of this type without what they hold?"""
    from dask.sizeof import sizeof

    rules: Callable[[type], object] = sizeof.dispatch
    return (
        kind.__dictoffset__ != 0
        and not issubclass(kind, type | ModuleType)
        and kind.__sizeof__ is object.__sizeof__
        and rules(kind) is rules(object)
    )


class Sizes:
    """Measures outputs on a worker's event loop, and leaves it most of its time.

    What is not measured counts as large as the last one of its type.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """`clock` tells seconds."""
        self._clock = clock
        self._rests: dict[type, tuple[float, int]] = {}

    def of(self, output: Any) -> int:
        """As `real_size`, as far as there is time for it."""
        now = self._clock()
        until, size = self._rests.get(type(output), (now, 0))
        return size if now < until else self._measured(output, now)

    def _measured(self, output: Any, now: float) -> int:
        size = real_size(output)
        took = self._clock() - now
        if took > LONG:
            if len(self._rests) >= KINDS:
                self._rests.clear()
            self._rests[type(output)] = now + RESTS * took, size
        return size


def real_size(output: Any) -> int:
    """Bytes of an object with all that its attributes hold, and theirs in turn."""
    from dask.sizeof import sizeof

    total, left, seen = 0, [output], set[int]()
    while left and len(seen) < ATTRIBUTES:
        found = left.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        total += sizeof(found)
        if is_shell(type(found)):
            left.extend(getattr(found, "__dict__", {}).values())
    return total
