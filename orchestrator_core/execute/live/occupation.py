"""Occupation: until when the threads of a worker are somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def occupied(
    ours: Sequence[float], others: Sequence[float], queue: float, threads: int
) -> list[float]:
    """Seconds for which others have threads of a worker; those that only we have are left out.

    Args:
        ours, others: how long each execution of a task of ours, or of others, will still take.
        queue: seconds of others' tasks that begin before any more of ours do; they are taken to be
            as small as need be, so that all threads get through with them at once.
    """
    idle = [0.0] * (threads - len(ours) - len(others))
    level = _level(sorted([*ours, *others, *idle])[:threads], queue)
    filled = [level for seconds in (*ours, *idle) if seconds < level]
    return [max(seconds, level) for seconds in others] + filled


def _level(lengths: Sequence[float], queue: float) -> float:
    """How high the lowest of these lengths, by size, stand with the queue on top of them."""
    for count, total in enumerate(accumulate(lengths), 1):
        level = (total + queue) / count
        if count == len(lengths) or level <= lengths[count]:
            return level
    return 0.0
