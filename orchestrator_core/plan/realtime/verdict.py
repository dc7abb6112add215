"""Verdicts on hard deadlines (stage 3, real time)."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.plan.schedule import Schedule

SHOWN = 5
"""Tasks in conflict that are written out."""


@dataclass(frozen=True, slots=True)
class Feasible:
    """All deadlines can be kept: by this schedule, which has passed `check_schedule`."""

    schedule: Schedule
    method: str


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Not all deadlines can be kept, whatever one does.

    Attributes:
        conflict: tasks whose deadlines cannot be kept together; empty where there is no schedule
            even without deadlines.
        reason: one sentence for a person. method: what proved it.
        smallest: is it proven that any deadline less could be kept?
    """

    conflict: tuple[str, ...]
    reason: str
    method: str
    smallest: bool

    def __repr__(self) -> str:
        n, some = len(self.conflict), ", ".join(map(repr, self.conflict[:SHOWN]))
        more = f" and {n - SHOWN:,} more" if n > SHOWN else ""
        least = ", and no fewer" if self.smallest and n else ""
        tasks = f"{some or 'no dates'}{more}{least}"
        why = self.reason.rstrip(".")
        return f"Infeasible({why}. By {self.method}; in conflict: {tasks})"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither was shown within the budget; `reason` says how near a schedule came."""

    reason: str


Verdict = Feasible | Infeasible | Unknown
