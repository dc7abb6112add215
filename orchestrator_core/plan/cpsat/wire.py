"""Limits and answers of a search."""

from __future__ import annotations

import msgspec

from orchestrator_core.plan.schedule import Schedule


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long to search, and how.

    Attributes:
        until: moment of `time.monotonic` at which the search must be over; a clock that is set
            back makes no search longer.
        work: deterministic units of work (about a second each), or None for no such limit; with
            it, the search is the same on every machine.
        workers: search workers beside each other.
        seed: of the search, >= 0.
        gap: stop as soon as makespan / bound - 1 is at most this.
    """

    until: float
    work: float | None = None
    workers: int = 2
    seed: int = 0
    gap: float = 0.0


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known so far; each answer replaces the one before.

    Attributes:
        lower_bound: seconds.
        schedule: better than the incumbent, or None.
        status: of the search, in CP-SAT's words; empty while it is under way.
    """

    lower_bound: float
    schedule: Schedule | None = None
    status: str = ""
