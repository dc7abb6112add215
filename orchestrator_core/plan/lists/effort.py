"""How long a list heuristic will take, guessed before it is asked (stage 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.engine.decoder import only_threads
from orchestrator_core.plan.engine.expand import Problem, expand, frozen
from orchestrator_core.plan.engine.ranks import downward_rank

SECONDS_OF_ANY = 2e-4
"""Time of a heuristic, however little there is to do."""

SECONDS_PER_CHOICE = 5e-8
"""Time of one look at a task and a worker."""

SECONDS_PER_SCAN = 6e-8
"""Time of one look at a task that is ready, where a rule looks at all of them at each step."""

AGAIN = 30
"""So many workers on which a task takes the least time alike make a look take twice as long: the
next one to be free is then the best for all that are ready, and each of them looks for another."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What there is to do in an instance.

    Attributes:
        choices: single tasks x workers.
        workers: how many there are.
        scans: looks at ready tasks, if all that are as far from the beginning are ready together.
        again: by which factor looks take longer since workers are alike.
        decode: seconds in which one schedule was built, where more than threads is scarce; the
            general decoder may take a hundred times as long as the other one. Otherwise 0.
    """

    choices: int
    workers: int
    scans: float
    again: float
    decode: float

    @staticmethod
    def of(instance: Instance, first: float) -> Effort:
        """Args: first: seconds that the first list heuristic took."""
        workers = len(instance.cluster)
        choices = instance.graph.n_instances * workers
        try:
            problem = expand(instance)
        except UnsupportedInstance:
            return Effort(choices, workers, 0.0, 1.0, first)
        scans = float(problem.n_tasks) * _widest_level(problem)
        decode = 0.0 if only_threads(problem) else first
        return Effort(choices, workers, scans, 1.0 + _alike(instance) / AGAIN, decode)

    def seconds(self, work: float, scans: float, decodes: int, sorts: float = 0.0) -> float:
        """Of a heuristic; see `ListPlanner` for what it takes."""
        looks = self.scans * (scans * self.again + sorts * self.workers)
        looked = self.choices * SECONDS_PER_CHOICE * work + looks * SECONDS_PER_SCAN
        return SECONDS_OF_ANY + looked + decodes * self.decode


def _alike(instance: Instance) -> float:
    """On how many other workers a mode takes as little time as where it is fastest, in the mean."""
    seconds = instance.seconds
    fastest = seconds.min(axis=1, keepdims=True)
    return float(((seconds <= fastest) & np.isfinite(seconds)).sum(axis=1).mean()) - 1.0


def _widest_level(problem: Problem) -> int:
    """Most tasks that have equally many others before them on the longest path."""
    if problem.n_tasks == 0:
        return 0
    # Counted from the first tasks, whenever they are released.
    at_once = problem._replace(release=frozen(np.zeros(problem.n_tasks)))
    depth = downward_rank(at_once, np.ones(problem.n_tasks), 0.0, 0.0)
    return int(np.bincount(depth.astype(np.int64)).max())
