"""PlanResult: a schedule with its proof (the end of stage 3)."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from orchestrator_core.plan.schedule import Schedule

if TYPE_CHECKING:
    from orchestrator_core.plan.bounds.certificate import Certificate

OPTIMALITY_TOLERANCE = 1e-6
"""A schedule counts as optimal when its gap is at most this: what rounding to ticks can cost."""

HINT = "hint"
"""Names the schedule that was handed in, where a planner's name is expected."""


class PlanStatus(enum.StrEnum):
    """What is known about a schedule."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one planner of the portfolio did.

    Attributes:
        makespan: of its schedule, in seconds, or None if it gave none.
        seconds: wall seconds that it took.
        note: why it gave none, or what it proved; empty if there is nothing to say.
    """

    planner: str
    makespan: float | None
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A schedule, how good it is at least, and who made it.

    Attributes:
        schedule: has passed `check_schedule`.
        lower_bound: no schedule of the instance is worth less under the first criterion of the
            objective; seconds for the makespan.
        bound_method: how the bound was proven, such as ``critical path`` or ``CP-SAT``.
        bound_seconds: wall seconds of planning until it was proven.
        certificate: why no schedule is shorter, for `orchestrator_core.check_certificate`; None
            where the method has none to give (CP-SAT). Where all times are whole ticks,
            `lower_bound` is what it proves, rounded up to the next tick.
        planner: who made the schedule.
        reason: one sentence on why this planner's schedule, and why not better.
        seconds: wall seconds of planning.
        attempts: what each planner of the portfolio did.
        objective: what was minimised: criteria, the most important first, as in `Objective`.
        values: what the schedule is worth, one number for each criterion.
        settled: is it proven that no schedule is better in any criterion, where each of them counts
            before those after it? `lower_bound` tells that of the first one alone.
    """

    schedule: Schedule
    lower_bound: float
    bound_method: str
    planner: str
    reason: str
    seconds: float
    attempts: tuple[Attempt, ...] = ()
    objective: str = "makespan"
    values: tuple[float, ...] = ()
    bound_seconds: float = 0.0
    certificate: Certificate | None = None
    settled: bool = False

    @property
    def value(self) -> float:
        """What the schedule is worth under the first criterion."""
        return self.values[0] if self.values else self.makespan

    @property
    def makespan(self) -> float:
        return self.schedule.makespan

    @property
    def gap(self) -> float:
        """``value / lower_bound - 1``: the schedule is at most this far from optimal."""
        excess = self.value - self.lower_bound
        if excess <= 0:
            return 0.0
        return excess / self.lower_bound if self.lower_bound > 0 else math.inf

    @property
    def status(self) -> PlanStatus:
        """With further criteria optimal only if these are settled, or at the least that there can
        be, which is 0: the bound is on the first one."""
        further = self.settled or all(v <= 0 for v in self.values[1:])
        proven = self.gap <= OPTIMALITY_TOLERANCE and further
        return PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE

    def __repr__(self) -> str:
        """What matters of it on a line; the fields are there for the rest."""
        worth = ", ".join(
            f"{name} {value:.6g}"
            for name, value in zip(self.objective.split(","), self.values, strict=False)
            if self.objective != "makespan"
        )
        return (
            f"PlanResult({self.schedule!r}, {worth and worth + ', '}{self.status}, "
            f"{self._proven()}; by {self.planner} in {self.seconds:.2g} s)"
        )

    def _proven(self) -> str:
        gap = self.gap if self.gap > OPTIMALITY_TOLERANCE else 0.0  # less is no gap, but rounding
        if math.isinf(gap):
            return "no bound above 0 is known"
        return f"gap {100 * gap:.2g} %: bound {self.lower_bound:.6g} by {self.bound_method}"

    def _repr_html_(self) -> str:
        from orchestrator_core.plan.picture import picture

        return f"<p>{escape(repr(self))}</p>{picture(self.schedule)}"

    @staticmethod
    def from_json(text: str | bytes) -> PlanResult:
        """The result that `to_json` wrote.

        Raises:
            InvalidFormat: if the text is no such JSON.
        """
        from orchestrator_core.plan.result_wire import decode_result

        return decode_result(text)

    def to_json(self) -> bytes:
        """JSON of the schedule, its proof and all attempts; UTF-8."""
        from orchestrator_core.plan.result_wire import encode_result

        return encode_result(self)
