"""What the caller and its helper say to each other.

They are two processes of one program over a private socket pair, so the messages are pickled.
`number` counts the questions of one helper: what belongs to an older one is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.crew.agenda import Agenda
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.planner import Proposal
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Ask:
    """Plan this.

    Attributes:
        until: `time.monotonic()` at which nobody listens any more; both processes share the clock.
        budget: its seconds are what is left of it at the time of asking.
    """

    number: int
    until: float
    instance: Instance
    budget: Budget
    objective: Objective
    incumbent: Schedule | None
    lower_bound: float
    agenda: Agenda


@dataclass(frozen=True, slots=True)
class News:
    """What others have found meanwhile."""

    number: int
    incumbent: Schedule | None
    lower_bound: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Enough: nobody listens any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Found:
    """A planner's proposal, after `seconds` of its own time."""

    number: int
    planner: str
    proposal: Proposal
    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A planner raised; `note` says what, in words."""

    number: int
    planner: str
    note: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Idle:
    """All is said on this question."""

    number: int


@dataclass(frozen=True, slots=True)
class Gone:
    """The helper's process has ended; `note` says how, in words."""

    note: str
