"""Windows: the planner that improves a schedule window by window (stage 3).

Large neighbourhood search (Shaw 1998) with partial order schedules (Godard, Laborie, Nuijten 2005):
some tasks are freed, the others keep their worker, their mode and their order, and CP-SAT looks for
something better than the incumbent. Times are found anew by the decoder, in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.cpsat.windows.kinds import KINDS
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal


@dataclass(frozen=True, slots=True)
class Windows:
    """Improves an incumbent by freeing a few tasks at a time.

    Attributes:
        work: deterministic units of the solver's that one window may take; one is about
            five to twenty seconds. seconds: wall seconds that it may take, unless iterations count.
        largest: most task instances.
        kinds: names in `KINDS`.
    """

    work: float = 0.05
    seconds: float = 0.25
    largest: int = 20_000
    kinds: tuple[str, ...] = tuple(KINDS)
    name: str = "windows"
    lane: ClassVar[Lane] = Lane.HELPER

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """A word on the size or the objective; it takes every constraint."""
        if objective != MAKESPAN:
            return "it minimises the makespan only"
        if instance.graph.n_instances > self.largest:
            return f"it takes {self.largest} tasks; there are {instance.graph.n_instances}"
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """Better schedules, one window after the other; an empty proposal where one gave none."""
        if brief.incumbent is None:
            yield Proposal(note="there was no schedule to begin with")
            return
        if len(brief.instance.graph) == 0:
            return
        # The solver is loaded where it works: in the helper's process, not in the caller's.
        from orchestrator_core.plan.cpsat.windows.search import Search

        search = Search(self, brief)
        while not search.done():
            found = search.step()
            yield Proposal(found, note=search.note())
