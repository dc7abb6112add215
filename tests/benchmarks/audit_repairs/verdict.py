"""What is found out about the repairs of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class RepairAudit:
    """Attributes:
    events: kinds of what had happened.
    searched: had the repair a budget to search?
    outcome: ``compared`` with the optimum, ``oracle gave up``, ``nothing left``.
    gap: of the rest, from now on, to the shortest that it could be, relative; None where that is
        not known, or zero.
    blocked, missed: how many tasks are left out, and end too late. is_needless: could all hard
        deadlines have been kept?
    """

    events: list[str]
    searched: bool
    outcome: str = "compared"
    gap: float | None = None
    blocked: int = 0
    missed: int = 0
    is_needless: bool = False
    violations: list[str] = field(default_factory=list)


@dataclass
class RepairVerdict:
    """Of one plan, repaired again and again."""

    seed: int
    source: str
    repairs: list[RepairAudit] = field(default_factory=list)
