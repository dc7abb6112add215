"""Binding: what kept a planned task from starting sooner."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.report.why.network import TOLERANCE, Arc, Network

AT_ONCE, RELEASE, SENDING, MEMORY, HOLD = "start", "release", "sending", "memory", "hold"
SUBMITTED = "submitted"
FIRST_REASONS = ("input", "transfer", "worker", "resource")


@dataclass(frozen=True, slots=True)
class Binding:
    """Why it starts then and not sooner.

    Attributes:
        because: ``start`` (it starts with the plan), ``release``, ``input`` (made on its worker),
            ``transfer`` (sent to its worker), ``worker`` (no thread was free), ``sending`` (a
            thread was busy with sending an output), ``resource``, ``submitted`` (nothing else held
            it up, and the flow's code submitted others first), ``memory`` (nothing else, and memory
            is limited) or ``hold`` (the plan keeps it back).
        task: the one that it waited for, or whose output was sent; empty without one.
        worker: where that one is. name: of the resource.
        since: second at which all other things would have let it start.
    """

    because: str
    task: str = ""
    worker: str = ""
    name: str = ""
    since: float = 0.0


def binding_of(
    graph: TaskGraph,
    cluster: Cluster,
    schedule: Schedule,
    network: Network,
    row: int,
    came_later: bool = False,
) -> Binding:
    """The binding of the assignment; of several things that hold it up, an input comes first.

    Args:
        came_later: was the task submitted after others, when the flow's code had waited for some?
    """
    start, slack = network.start[row], TOLERANCE * max(1.0, schedule.makespan)
    # A run begins with its first submission, its plan once all is submitted.
    begun = float(schedule.start.min())
    task = graph.index[schedule.task_names[schedule.task[row]]]
    release = float(graph.release[task])
    ready = [(_moment(network, arc), arc) for arc in network.into[row]]
    tight = [arc for moment, arc in ready if moment >= start - slack]
    if tight:
        arc = min(tight, key=lambda arc: FIRST_REASONS.index(arc.because))
        others = (moment for moment, other in ready if other is not arc)
        return _waited(schedule, arc, max((begun, release, *others)))
    since = max((begun, release, *(moment for moment, _ in ready)))
    if release >= start - slack and release > 0:
        return Binding(RELEASE, since=max((0.0, *(moment for moment, _ in ready))))
    if start <= begun + slack:
        return Binding(AT_ONCE)
    if came_later:
        return Binding(SUBMITTED, since=since)
    where = cluster.workers[cluster.index[schedule.worker_names[schedule.worker[row]]]]
    return Binding(MEMORY if math.isfinite(where.memory) else HOLD, since=since)


def _moment(network: Network, arc: Arc) -> float:
    """The second from which the arc lets its target start."""
    return network.start[arc.before] + arc.lag


def _waited(schedule: Schedule, arc: Arc, since: float) -> Binding:
    node, k, because = arc.before, len(schedule), arc.because
    if node >= k and because == "worker":
        because = SENDING
    if node < k:
        task, worker = schedule.task[node], schedule.worker[node]
    else:
        task, worker = schedule.transfer_task[node - k], schedule.transfer_source[node - k]
    names = schedule.task_names[task], schedule.worker_names[worker]
    return Binding(because, *names, name=arc.name, since=since)
