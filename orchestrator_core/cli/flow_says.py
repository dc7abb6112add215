"""What a flow asks of its plans: as its decorator says in the source, or the settings around.

Only values that stand in the source itself are read, so that nothing is imported for them. Nor are
Dask's configuration and Prefect's variables asked: who says it there has to wait for both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator_core import words
from orchestrator_core.cli.flow_source import stated_in_source
from orchestrator_core.cli.target import FlowTarget
from orchestrator_core.cli.workers import parse_workers
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.objective import MAKESPAN

ELSEWHERE = ("address", "cluster", "cluster_class", "task_runner")
"""Arguments of the decorator that name a cluster which nobody knows before it is there."""

READ = ("deadline", "objective")


@dataclass(frozen=True, slots=True)
class Says:
    """What counts for the flow.

    Attributes:
        deadline: seconds from the first submission to the end; None for any time.
        objective: criteria, as in `plan.objective`.
        workers: how many of how many threads are started for each run; None where that is not told.
    """

    deadline: float | None
    objective: str
    workers: tuple[int, int] | None

    @property
    def cluster(self) -> Cluster | None:
        """The workers that are started for each run; None where that is not told."""
        if self.workers is None:
            return None
        count, threads = self.workers
        return Cluster(parse_workers([f"worker:count={count},threads={threads}"]))

    def notes(self) -> tuple[str, ...]:
        """What is to be said of a plan for the makespan."""
        if self.objective == str(MAKESPAN):
            return ()
        return (f"this plan is for the makespan; runs of the flow are for {self.objective}",)


def says(target: FlowTarget) -> Says:
    """What the flow's decorator says, or else the environment or `pyproject.toml`."""
    from orchestrator_core.settings import SETTINGS, find
    from orchestrator_core.settings.environment import environment
    from orchestrator_core.settings.pyproject import pyproject
    from orchestrator_core.settings.source import mapping

    stated = stated_in_source(target)
    said = {name: stated[name] for name in READ if name in stated}
    decorator = mapping("decorator", said, "{} of the decorator")
    sources = (decorator, environment(), pyproject())
    deadline, objective = (find(SETTINGS[name], sources).value for name in READ)
    return Says(deadline, objective, _workers(stated))


def kept(deadline: float, predicted: float) -> str:
    """Is the deadline kept, as forecast? For people."""
    late = predicted - deadline
    asked = f"the deadline of {words.seconds(deadline)}"
    if late > 0:
        return f"{asked} is missed by {words.seconds(late)}, as forecast"
    return f"{asked} is kept with {words.seconds(-late)} to spare, as forecast"


def _workers(stated: Mapping[str, Any]) -> tuple[int, int] | None:
    """As `distributed.LocalCluster` reads its arguments."""
    given = stated.get("cluster_kwargs")
    if not isinstance(given, Mapping) or any(stated.get(each) is not None for each in ELSEWHERE):
        return None
    count, threads = _count(given.get("n_workers")), _count(given.get("threads_per_worker"))
    if count is None:
        return None
    if threads is not None:
        return count, threads
    from orchestrator_core.settings.dask_config import processors

    return count, max(1, math.ceil(processors() / count))


def _count(value: object) -> int | None:
    # True is a number to Python, and never meant as one.
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value > 0 else None
