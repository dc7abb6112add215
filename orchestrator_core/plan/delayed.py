"""A schedule that begins later, or sooner: all its times moved by the same seconds."""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer


def delayed(schedule: Schedule, seconds: float) -> Schedule:
    """The schedule `seconds` later; sooner, if they are below 0."""
    if not seconds:
        return schedule
    return Schedule(
        [delayed_row(row, seconds) for row in schedule.assignments],
        [delayed_transfer(sent, seconds) for sent in schedule.transfers],
    )


def delayed_row(row: Assignment, seconds: float) -> Assignment:
    """One row of a schedule, so much later."""
    return replace(
        row,
        start=row.start + seconds,
        end=row.end + seconds,
        segments=tuple((start + seconds, end + seconds) for start, end in row.segments),
    )


def delayed_transfer(sent: Transfer, seconds: float) -> Transfer:
    """One transfer, so much later."""
    return replace(
        sent,
        start=sent.start + seconds,
        encoded=sent.encoded + seconds,
        end=sent.end + seconds,
    )
