"""Which of two schedules is better under an objective, and by enough to be worth a change?"""

from __future__ import annotations

from collections.abc import Sequence

ROUNDING = 1e-9
"""Values that differ by no more than this part of them are equal."""


def saves(ours: Sequence[float], theirs: Sequence[float], share: float) -> tuple[bool, int]:
    """Do our values save that share of theirs, and by which criterion is that decided?

    The next criterion counts only where we save something, but too little, or nothing.
    """
    for at, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        if our > their * (1 + ROUNDING):
            return False, at
        if our < their and our <= their * (1 - share):
            return True, at
    return False, 0
