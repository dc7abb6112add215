"""Advice: what to do with a graph before it runs; the seam between execution and what lies above.

Whoever executes asks an `Advisor`; planning, memory and learning stand behind it. So `execute`
knows neither the store nor the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.record import PlanRecord, RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.dates import has_deadlines
from orchestrator_core.plan.objective import MAKESPAN, Objective


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with a graph.

    Attributes:
        plan: what was planned, whether adopted or not; None if nothing was planned.
        reason: one sentence for people: why it is followed, or why not.
        graph_signature, cluster_signature: keys under which the run is remembered.
        instance: the graph as it was priced for the plan; with it the plan can be repaired.
        objective: what the plan minimises, and its repairs too; deadlines come before it.
        holds: by task name: what waits for others although it could be sent.
        prefetch: are outputs to be sent ahead to where they will be needed?
        thrifty: was the plan chosen because it holds few bytes? Its repairs look at them, too.
        max_price: what the run may cost by the workers' prices, its repairs too; None for any.
        setup: by kind of task, the seconds for which a worker's process compiles before its first
            such task; no part of the forecast, which knows of no processes.
        changeover: seconds between two tasks of a worker, which each duration of `instance` has in
            it, though an execution does not take them.
        crowding: by how much longer a byte is on its way in `instance` than if it had the link for
            itself, since others will be on their way.
        caveat: one sentence for people on what no earlier run was like; mostly empty.
        put_off: is it no answer yet, as what planning needs is loaded first (`LoadsLater`)? Nobody
            waits for that, and the graph is asked about again when it is done.
        refine: finds better advice on the same graph, for the next time; takes longer, so it is
            called when the run is over, in any thread; None if there is nothing to be found.
    """

    plan: PlanRecord | None
    reason: str
    graph_signature: str = ""
    cluster_signature: str = ""
    instance: Instance | None = None
    objective: Objective = MAKESPAN
    holds: Mapping[str, Hold] = field(default_factory=dict)
    prefetch: bool = False
    thrifty: bool = False
    max_price: float | None = None
    setup: Mapping[str, float] = field(default_factory=dict)
    changeover: float = 0.0
    crowding: float = 1.0
    caveat: str = ""
    put_off: bool = False
    refine: Callable[[], Advice] | None = None

    @property
    def adopted(self) -> bool:
        """Is there a plan, and is it worth following?"""
        return self.plan is not None and self.plan.adopted

    @property
    def is_by_time(self) -> bool:
        """Is the plan for the least makespan, and for nothing that comes before that?"""
        if self.objective != MAKESPAN or self.max_price is not None:
            return False
        return self.instance is None or not has_deadlines(self.instance.graph)


class Advisor(Protocol):
    """Knows the past and plans the future. Called by those who execute.

    The law: no method raises; `advise` may be called from any thread and answers within its
    planning budget; `record` returns at once and writes in the background.
    """

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        """What to do with `graph` on `cluster`; `flow` names what it belongs to.

        `objective` is given only where the graph itself asks for one, see `plan.objective`.
        """
        ...

    def record(self, run: RunRecord) -> None:
        """Remember what happened."""
        ...

    def close(self) -> None:
        """Write what is still to be written, and stop."""
        ...


def check_advisor(advisor: object) -> None:
    """
    Raises:
        InvalidInput: for what is neither None nor can be asked.
    """
    if isinstance(advisor, type):
        raise InvalidInput(f"advisor = {shown(advisor)} is a class; give an object of it")
    able = all(callable(getattr(advisor, name, None)) for name in ("advise", "record"))
    if advisor is not None and not able:
        raise InvalidInput(
            f"advisor = {shown(advisor)} cannot be asked; give an object with advise and record, "
            "or None for the configured one"
        )


@runtime_checkable
class TakesRuns(Protocol):
    """An advisor that can be spared making the records of runs, which takes time."""

    def take(self, build: Callable[[], RunRecord], tasks: int) -> None:
        """Remember the run of so many tasks that `build` gives; it can be pickled, and is called
        where the run is written."""
        ...


@runtime_checkable
class Recalls(Protocol):
    """An advisor that can be asked how a flow went before."""

    def history(self, flow: str, origin: str = "") -> Iterator[RunRecord]:
        """Earlier runs of the flow that ended well, the newest first, one of each graph.

        With an `origin`, where its code stands, of no other flow of that name. Read one by one,
        since mostly the first will do. Never raises.
        """
        ...


@runtime_checkable
class MayBeHeldUp(Protocol):
    """An advisor whose `warm_up` may take minutes, which nobody need wait for."""

    @property
    def holdup(self) -> str:
        """For people: why it takes so long; empty where it does not."""
        ...


@runtime_checkable
class LoadsLater(Protocol):
    """An advisor that loads what planning needs once plans have become likely."""

    @property
    def is_loading(self) -> bool:
        """Does it do so now? Who asks meanwhile waits for seconds."""
        ...


class NoAdvisor:
    """Plans nothing and remembers nothing: for a scheduler that is told what to do by others."""

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        return Advice(None, "no advisor here")

    def record(self, run: RunRecord) -> None:
        return None

    def close(self) -> None:
        return None
