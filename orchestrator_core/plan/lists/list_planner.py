"""ListPlanner: a list heuristic as a planner of the portfolio (stage 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.engine.decoder import Choice, Decoded, decode, to_schedule
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists import dynamic, immediate, lookahead, orders, paths
from orchestrator_core.plan.lists.balance import balance
from orchestrator_core.plan.lists.deadlines import edf
from orchestrator_core.plan.lists.effort import Effort
from orchestrator_core.plan.lists.one_worker import serial
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class ListPlanner:
    """The best schedule of a heuristic's choices. It has no use for a budget and an incumbent.

    Attributes:
        name: by which users pick it.
        choices: the heuristic; see `orders.py` for its source.
        work: what it costs beside HEFT, as a factor; to estimate whether it fits in a budget.
        scans: how often it looks at all ready tasks, for each task that is placed.
        decodes: schedules that it builds.
        sorts: what it does with all workers at each of these looks, for each of them.
    """

    name: str
    choices: Callable[[Problem], Iterator[Choice]]
    work: float = 1.0
    scans: float = 0.0
    decodes: int = 1
    sorts: float = 0.0
    lane: ClassVar[Lane] = Lane.LIST

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if self.choices is edf and not np.isfinite(instance.graph.deadline).any():
            return "there is no deadline to order by"
        try:
            expand(instance)
        except UnsupportedInstance as error:
            return str(error)
        return None

    def seconds(self, effort: Effort) -> float:
        """About how long it will take."""
        return effort.seconds(self.work, self.scans, self.decodes, self.sorts)

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        best: Decoded | Schedule | None = None
        note = ""
        for choice in self.choices(expand(brief.instance)):
            found = _placed(brief.instance, choice)
            if isinstance(found, str):
                note = note or found
                continue
            if brief.objective != MAKESPAN:
                # Which of them is the best is for the asker to say.
                yield Proposal(_schedule(brief.instance, found))
            if best is None or _makespan(found) < _makespan(best):
                best = found
        if best is None:
            yield Proposal(note=note or "it has nothing to say about such an instance")
        else:
            yield Proposal(_schedule(brief.instance, best))


def _placed(instance: Instance, choice: Choice) -> Decoded | Schedule | str:
    """As `place`, but without making a schedule of what may not be the best."""
    if instance.cluster.stock or np.isfinite(instance.graph.deadline).any():
        return place(instance, choice)
    found = decode(expand(instance), choice)
    return found if isinstance(found, Decoded) else place(instance, choice)


def _makespan(found: Decoded | Schedule) -> float:
    return found.makespan if isinstance(found, Schedule) else float(found.end.max(initial=0.0))


def _schedule(instance: Instance, found: Decoded | Schedule) -> Schedule:
    return found if isinstance(found, Schedule) else to_schedule(instance, found)


LIST_PLANNERS = (
    ListPlanner("heft", orders.heft),
    ListPlanner("peft", lookahead.peft, work=5.0, decodes=2),
    ListPlanner("hbmct", dynamic.hbmct, work=2.5),
    ListPlanner("max-min", dynamic.max_min, work=2.5, scans=0.8, decodes=2),
    ListPlanner("bil", lookahead.bil, work=8.0, scans=2.0, sorts=0.15),
    ListPlanner("chains", lookahead.chains, work=2.5, decodes=2),
    ListPlanner("heft-near", orders.heft_near),
    ListPlanner("edf", edf, work=1.5),
    ListPlanner("dls", dynamic.dls, scans=2.0),
    ListPlanner("wba", dynamic.wba, scans=0.3),
    ListPlanner("heft-min", orders.heft_min),
    ListPlanner("etf", dynamic.etf, scans=2.0),
    ListPlanner("msbc", paths.msbc, work=2.0),
    ListPlanner("sdbats", orders.sdbats, work=1.5),
    ListPlanner("cpop", paths.cpop, work=4.0, decodes=2),
    ListPlanner("dps", paths.dps, work=3.0, scans=1.2, decodes=2),
    ListPlanner("sufferage", dynamic.sufferage, work=3.0, scans=1.0, decodes=2),
    ListPlanner("serial", serial, work=3.0),
    ListPlanner("flb", dynamic.flb, scans=1.2),
    ListPlanner("heft-max", orders.heft_max),
    ListPlanner("min-min", dynamic.min_min, work=3.0, scans=0.7, decodes=2),
    ListPlanner("mct", immediate.mct, work=3.5, decodes=2),
    ListPlanner("fcp", immediate.fcp, work=1.5),
    ListPlanner("mst", immediate.mst, work=1.2),
    ListPlanner("met", immediate.met, work=1.5),
    ListPlanner("olb", immediate.olb, work=1.2),
    ListPlanner("balance", balance, work=26.0, decodes=6),
)
"""`heft`, which always runs; then by what each adds, for its time, to those before it, so that few
will do in a hurry."""
