"""BeamSearch: beams of many kinds over small instances, ever wider (stage 3).

Where a plan is nearly without idle time, the local search, which changes a schedule here and there,
rarely makes all workers end together. Beams do; they see less than it does where transfers decide.
So both work by turns: beams look for what is better than all so far, and the local search goes on
from what they find. docs/decisions/0065-beams.md has figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.search.beam_runs import BeamRuns
from orchestrator_core.plan.search.beam_side import useful_threads
from orchestrator_core.plan.search.lanes_only import beyond_lanes


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """Betters an incumbent, or a first schedule of HEFT's, as long as that is worth its time.

    Attributes:
        largest, without_transfers: most task instances, and most of them where nothing that is sent
            takes time; beyond, the local search was measured to find more alone.
        threads: most threads of all workers; each is looked at in every step.
        patience: partial schedules for each task that are looked at without a better schedule
            before it gives up; solvers make more of the processor then.
        most_lost: part of what the workers could do that the incumbent may lose, where something
            is sent; beyond, transfers decide, and the local search finds more in that time.
    """

    largest: int = 60
    without_transfers: int = 400
    threads: int = 64
    patience: int = 10_000
    most_lost: float = 1 / 3
    name: str = "beam"
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        sends = _sends(instance)
        n, most = instance.graph.n_instances, self.largest if sends else self.without_transfers
        if n > most:
            return f"it takes {most} tasks{' that send' if sends else ''}; there are {n}"
        if objective != MAKESPAN:
            return "it minimises makespan alone"
        if (beyond := beyond_lanes(instance)) is not None:
            return beyond
        problem = expand(instance)
        threads = int(useful_threads(problem).sum())
        if threads > self.threads:
            return f"it takes {self.threads} threads; there are {threads}"
        if bool(np.isfinite(problem.deadline).any()):
            return "it takes no deadlines"
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        if len(brief.instance.graph) == 0:
            yield Proposal(note="there is nothing to schedule")
            return
        most_lost = self.most_lost if _sends(brief.instance) else 1.0
        yield from BeamRuns(brief, self.patience, most_lost).proposals()


def _sends(instance: Instance) -> bool:
    """Is there anything that takes time on its way?"""
    cluster = instance.cluster
    per_byte = bool(cluster.seconds_per_byte.any()) and bool(instance.graph.nbytes.any())
    return len(instance.graph.nbytes) > 0 and (per_byte or bool(cluster.latency.any()))
