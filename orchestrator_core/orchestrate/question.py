"""Question: what to do with a graph that is about to run?"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.plan.dates import has_deadlines
from orchestrator_core.plan.objective import MAKESPAN, Objective

MIN_GAIN = 0.05
"""Part of what Dask's own way costs that a plan must save."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about a graph, and what is known of its earlier runs.

    Attributes:
        flow: whose graph it is.
        objective: what a plan is to minimise. max_price: what it may cost; None for any price.
        min_gain: part of what Dask's own way costs that it must save; less is noise.
        lessons: what earlier runs really took.
        begun: `time.perf_counter` when it was asked.
    """

    graph: TaskGraph
    cluster: Cluster
    flow: str = ""
    objective: Objective = MAKESPAN
    max_price: float | None = None
    min_gain: float = MIN_GAIN
    lessons: Lessons = field(default_factory=Lessons)
    begun: float = field(default_factory=time.perf_counter)

    @property
    def is_by_time(self) -> bool:
        """Is it for the least makespan, and nothing else?"""
        other = self.objective != MAKESPAN or self.max_price is not None
        return not other and not has_deadlines(self.graph)
