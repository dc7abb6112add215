"""What the benchmark formats share: numbered activities, some of them dummies at the two ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator_core.graph.builder import GraphBuilder
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task import Mode
from orchestrator_core.graph.task_graph import TaskGraph


@dataclass(frozen=True, slots=True)
class Activity:
    """A task of a benchmark, known by its number in the file."""

    number: int
    modes: tuple[Mode, ...]

    @property
    def idle(self) -> bool:
        """No duration and no demand: it can be left out at either end of the graph."""
        return all(not (mode.seconds or mode.resources or mode.consumes) for mode in self.modes)


def graph_of(
    activities: Sequence[Activity], edges: Iterable[tuple[int, int]], kind: str
) -> TaskGraph:
    """The graph of these activities, named by their numbers; edges join positions.

    An idle first activity without predecessors and an idle last one without successors are
    dummies: they are dropped, which changes no makespan.
    """
    pairs = tuple(dict.fromkeys(edges))
    last = len(activities) - 1
    entered, left = {b for _, b in pairs}, {a for a, _ in pairs}
    dropped = {i for i, touched in ((0, entered), (last, left)) if i not in touched}
    dropped = {i for i in dropped if 0 <= i <= last and activities[i].idle}
    builder = TaskGraph.build()
    names = [str(activity.number) for activity in activities]
    for i, activity in enumerate(activities):
        if i not in dropped:
            _add(builder, names[i], kind, activity)
    for a, b in pairs:
        if not {a, b} & dropped:
            builder.edge(names[a], names[b])
    return builder.done()


def _add(builder: GraphBuilder, name: str, kind: str, activity: Activity) -> None:
    if len(activity.modes) > 1:
        builder.task(name, kind=kind, modes=activity.modes)
        return
    only = activity.modes[0]
    builder.task(
        name,
        kind=kind,
        seconds=only.seconds,
        resources=only.resources,
        consumes=only.consumes,
    )


def project(graph: TaskGraph, capacities: Sequence[int], stock: Sequence[int] = ()) -> Cluster:
    """One worker that offers the project's resources `R1`, ...; the cluster's stock is `N1`, ...

    It has a thread for each task, so that only the resources limit what runs at once.
    """
    worker = Worker(
        name="project",
        kind="project",
        threads=max(1, len(graph)),
        resources=amounts("R", capacities),
    )
    return Cluster([worker], stock=amounts("N", stock))


def amounts(letter: str, numbers: Sequence[int]) -> dict[str, float]:
    """`{"R1": ..., "R2": ...}`."""
    return {f"{letter}{k}": float(number) for k, number in enumerate(numbers, start=1)}
