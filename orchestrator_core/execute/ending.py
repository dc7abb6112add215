"""Ending: what the scheduler has to say of an announced run when that is over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    """What there is to know.

    Attributes:
        notes: sentences for people, such as how its plan was mended.
        others: seconds for which tasks of other runs had threads of the workers meanwhile.
    """

    notes: tuple[str, ...] = ()
    others: float = 0.0
