"""The answer to "why?": where a task was planned, where it ran, and what else there was."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput, OrchestratorError
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.report.names import find, near
from orchestrator_core.report.why.binding import Binding, binding_of
from orchestrator_core.report.why.network import TOLERANCE, network_of
from orchestrator_core.report.why.options import Options, options_of
from orchestrator_core.report.why.ran import Ran, ran_of
from orchestrator_core.report.why.slack import slacks


@dataclass(frozen=True, slots=True)
class Planned:
    """A task in the plan of its run; times in seconds from the start of the run.

    Attributes:
        binding: why it starts then and not sooner.
        slack: seconds by which it could start later without a later end of the plan.
        critical: is that none? instances: how many there are of it; the one that ends last is told.
    """

    worker: str
    kind: str
    start: float
    end: float
    binding: Binding
    slack: float
    critical: bool
    instances: int


@dataclass(frozen=True, slots=True)
class Why:
    """All there is to say about one task of a run.

    Attributes:
        reason: why the run was planned, or was not. makespan: of its plan, in seconds, or None.
        planned: None if the task was in no plan. adopted: was the plan followed?
        ran: None if it did not run.
        options: other workers; None if nothing was planned, or it cannot be priced (`unpriced`
            says why).
    """

    run_id: str
    flow: str
    task: str
    kind: str
    mode: str
    reason: str
    adopted: bool
    makespan: float | None
    planned: Planned | None
    ran: Ran | None
    options: Options | None
    unpriced: str = ""


SHOWN = 5
"""Tasks that are named to whoever names one that is like none of them."""


def task_named(run: RunRecord, text: str) -> str:
    """The run's task of that name, or the only one whose name begins so.

    Raises:
        InvalidInput: if there is none, or several begin so; names that are near are told.
    """
    name = find(text, run.graph.names)
    if name is not None:
        return name
    close = near(text, run.graph.names)
    told = ", ".join(map(repr, close or run.graph.names[:SHOWN]))
    more = "" if close or len(run.graph) <= SHOWN else f" and {len(run.graph) - SHOWN:,} more"
    hint = f"; {'near it' if close else 'there are'}: {told}{more}" if told else ""
    several = sum(bool(text) and each.startswith(text) for each in run.graph.names)
    what = f"{several} tasks begin with {text!r}" if several else f"there is no task {text!r}"
    raise InvalidInput(f"{what} in run {run.run_id[:8]} of {run.flow!r}{hint}")


def why(run: RunRecord, task: str, instance: Instance | None, unpriced: str = "") -> Why:
    """The answer for one task, named exactly.

    Args:
        instance: the run as it is priced; None to leave the other workers out, for the reason
            `unpriced`.
    """
    place = run.graph.index[task]
    plan = run.plan
    planned = None if plan is None else _planned(run, plan.schedule, task)
    options = None
    if plan is not None and planned is not None and instance is not None:
        try:
            chosen = run.cluster.index[planned.worker]
            options = options_of(instance, plan.schedule, instance.graph.index[task], chosen)
        except OrchestratorError as error:
            unpriced = str(error)
    return Why(
        run_id=run.run_id,
        flow=run.flow,
        task=task,
        kind=run.graph.kind(place),
        mode=run.mode,
        reason=run.reason,
        adopted=plan is not None and plan.adopted,
        makespan=None if plan is None else plan.schedule.makespan,
        planned=planned,
        ran=ran_of(run, task),
        options=options,
        unpriced=unpriced,
    )


def _planned(run: RunRecord, schedule: Schedule, task: str) -> Planned | None:
    """The instance of the task that ends last in the plan, if the plan is one of this graph."""
    graph, cluster = run.planned_graph, run.cluster
    known = set(schedule.task_names) <= set(graph.names)
    if not known or not set(schedule.worker_names) <= set(cluster.names):
        return None
    rows = [i for i, t in enumerate(schedule.task) if schedule.task_names[t] == task]
    if not rows:
        return None
    row = max(rows, key=lambda i: float(schedule.end[i]))
    network = network_of(graph, cluster, schedule)
    slack = slacks(network, graph, schedule)[row]
    assignment = schedule.assignments[row]
    return Planned(
        worker=assignment.worker,
        kind=cluster.workers[cluster.index[assignment.worker]].kind,
        start=assignment.start,
        end=assignment.end,
        binding=binding_of(graph, cluster, schedule, network, row, _came_later(run, task)),
        slack=slack,
        critical=slack <= TOLERANCE * max(1.0, schedule.makespan),
        instances=len(rows),
    )


def _came_later(run: RunRecord, task: str) -> bool:
    """Was it submitted after the first burst?"""
    return bool(run.bursts) and run.graph.index[task] >= run.bursts[0].size
