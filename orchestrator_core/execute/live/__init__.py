"""A planned run under way: what is seen of it, how its costs turn out, and how its plan is mended.

    Sight (what is seen now) -> Pace (how far off the costs are) -> repriced instance
        -> `plan.repair` -> Correction (what to do otherwise, if it pays)

Pure: no clock, no thread, no connection. Who executes looks, asks, and carries out.
"""

from __future__ import annotations

from orchestrator_core.execute.live.course import Correction, Course
from orchestrator_core.execute.live.live_plan import LivePlan
from orchestrator_core.execute.live.sight import Execution, Sight

__all__ = ["Correction", "Course", "Execution", "LivePlan", "Sight"]
