"""ListPlanner: a list heuristic as a planner of the portfolio (stage 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.lists import orders
from orchestrator_core.plan.lists.balance import balance
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
    """

    name: str
    choices: Callable[[Problem], Iterator[Choice]]
    work: float = 1.0

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if self.choices is orders.edf and not np.isfinite(instance.graph.deadline).any():
            return "there is no deadline to order by"
        try:
            expand(instance)
        except UnsupportedInstance as error:
            return str(error)
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        best: Schedule | None = None
        note = ""
        for choice in self.choices(expand(brief.instance)):
            found = place(brief.instance, choice)
            if isinstance(found, str):
                note = note or found
            elif best is None or found.makespan < best.makespan:
                best = found
        yield Proposal(best, note="" if best is not None else note)


LIST_PLANNERS = (
    ListPlanner("heft", orders.heft),
    ListPlanner("heft-min", orders.heft_min),
    ListPlanner("heft-max", orders.heft_max),
    ListPlanner("balance", balance, work=8.0),
    ListPlanner("peft", orders.peft, work=3.0),
    ListPlanner("cpop", orders.cpop, work=1.5),
    ListPlanner("dps", orders.dps, work=1.5),
    ListPlanner("serial", orders.serial, work=2.0),
    ListPlanner("edf", orders.edf, work=1.5),
)
"""The cheapest first; `heft` always runs."""
