"""The graph of a target, priced: a file with the seconds that it states, a flow with what its runs
taught."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator_core.cli.flow_says import Says, says
from orchestrator_core.cli.machines import EQUAL_WORKERS, Machines
from orchestrator_core.cli.question import Question
from orchestrator_core.cli.target import FileTarget, FlowTarget
from orchestrator_core.cli.workers import equal_workers
from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.paced import parts
from orchestrator_core.graph.cluster import Cluster

if TYPE_CHECKING:
    from orchestrator_core.execute.record import RunRecord
    from orchestrator_core.orchestrate import Orchestrator
    from orchestrator_core.store.base import Store


def price(
    target: FileTarget | FlowTarget, machines: Machines, orchestrator: Orchestrator, store: Store
) -> Question:
    """What is to be planned, on the machines that were asked for or are known.

    Raises:
        OrchestratorError: if it is not known, or cannot be priced.
    """
    if isinstance(target, FlowTarget):
        return _price_flow(target, machines, orchestrator, store)
    return _price_file(target, machines)


def _price_file(target: FileTarget, machines: Machines) -> Question:
    if target.instance is not None:
        if machines != Machines():
            raise InvalidInput(
                f"{target.name} is an instance: its durations hold for its own workers only; "
                "leave --workers, --cluster, --latency and --bandwidth out"
            )
        return Question(target.name, target.instance, ())
    cluster = machines.asked() or target.cluster
    notes: tuple[str, ...] = ()
    if cluster is None:
        cluster = Cluster(equal_workers(EQUAL_WORKERS))
        notes = (
            f"the file names no machines: {EQUAL_WORKERS} equal workers are assumed; "
            "say others with --workers",
        )
    return Question(target.name, Instance.price(target.graph, machines.linked(cluster)), notes)


def _price_flow(
    target: FlowTarget, machines: Machines, orchestrator: Orchestrator, store: Store
) -> Question:
    from orchestrator_core.cli.flow_object import flow_name

    (flow, origin), said = flow_name(target), says(target)
    run = _latest(store, flow, origin)
    if run is not None and not target.parameters:
        found = _price_run(flow, run, machines, orchestrator)
        notes = () if machines.asked() is not None else _other_workers(said, run)
    else:
        found, notes = _trace(target, flow, origin, said, machines, orchestrator, store), ()
    return replace(found, notes=(*found.notes, *notes, *said.notes()), deadline=said.deadline)


def _trace(
    target: FlowTarget,
    flow: str,
    origin: str,
    said: Says,
    machines: Machines,
    orchestrator: Orchestrator,
    store: Store,
) -> Question:
    from orchestrator_core.cli.traced import known_cluster, traced_question

    notes: tuple[str, ...] = ()
    if (cluster := machines.asked()) is None:
        if (cluster := said.cluster) is None:
            cluster, notes = known_cluster(store)
        else:
            notes = ("workers as its decorator says; say others with --workers",)
    cluster = machines.linked(cluster)
    return traced_question(target, flow, origin, cluster, notes, orchestrator, store)


def _other_workers(said: Says, run: RunRecord) -> tuple[str, ...]:
    """What is to be said where the next run will have more or fewer workers than that one had."""
    if said.workers is None or said.workers[0] == len(run.cluster):
        return ()
    count, had = said.workers[0], len(run.cluster)
    return (
        f"its decorator asks for {count} workers, and this plan is for the {had} of that run: "
        "say others with --workers",
    )


def _latest(store: Store, flow: str, origin: str) -> RunRecord | None:
    """The flow's last run; of its origin where that is known: others may have its name, such as
    graphs of Dask of a function that is called so."""
    return store.latest_run(flow, origin or None)


def _price_run(
    flow: str, run: RunRecord, machines: Machines, orchestrator: Orchestrator
) -> Question:
    """The graph of the flow's last run, with what all of them taught."""
    from orchestrator_core import words
    from orchestrator_core.orchestrate.forecaster import PESSIMISTIC
    from orchestrator_core.plan.dates import softened

    cluster = machines.linked(machines.asked() or run.cluster)
    graph, left = run.needed, len(run.left)
    instance = orchestrator.price(graph, cluster, known=run.cluster)
    pessimistic = orchestrator.price(softened(graph), cluster, PESSIMISTIC, known=run.cluster)
    lead = orchestrator.lead(flow, run.graph.n_instances, run.origin)
    note = f"graph and durations as learned up to run {run.run_id[:8]}, {words.ago(run.started_at)}"
    if left:
        note += f"; without {words.plural(left, 'task')} that it did not wait for"
    # The first burst is part of the lead.
    coming = tuple(parts(run.graph.names, run.bursts)[1:])
    return Question(flow, instance, (note,), pessimistic, lead, coming)
