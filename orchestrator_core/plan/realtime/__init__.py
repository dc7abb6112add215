"""Real time: hard deadlines and repeated flows, decided before anything runs (stage 3).

In the order of reading: `feasibility`, with `verdict`, what comes out; `demand`, `prove` and
`exact`, the tests, the search and the solver behind it; `deadlines`, an instance with some of its
deadlines; `admit` with `admission`, what comes out, and `flows`, `repeated`, `unroll`, `server` and
`overlap`, for flows that run again and again.
"""

from __future__ import annotations

from orchestrator_core.plan.realtime.admission import Admitted, Refused
from orchestrator_core.plan.realtime.admit import admit
from orchestrator_core.plan.realtime.feasibility import feasibility
from orchestrator_core.plan.realtime.flows import Flow, PeriodicFlow, SporadicFlow
from orchestrator_core.plan.realtime.verdict import Feasible, Infeasible, Unknown, Verdict

__all__ = [
    "Admitted",
    "Feasible",
    "Flow",
    "Infeasible",
    "PeriodicFlow",
    "Refused",
    "SporadicFlow",
    "Unknown",
    "Verdict",
    "admit",
    "feasibility",
]
