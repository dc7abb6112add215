"""A dry run: a graph priced and planned, nothing executed.

A file is priced with the seconds that it states, a flow with what its runs taught.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator_core.cli.target import FileTarget, FlowTarget, read_cluster_file
from orchestrator_core.cli.workers import equal_workers, parse_workers, with_links
from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.paced import Part, paced, parts
from orchestrator_core.execute.record import PlanRecord, RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.delayed import delayed
from orchestrator_core.plan.result import PlanResult

if TYPE_CHECKING:
    from orchestrator_core.orchestrate import Orchestrator
    from orchestrator_core.orchestrate.answers import Answer
    from orchestrator_core.orchestrate.keys import Keys
    from orchestrator_core.store.base import Store

EQUAL_WORKERS = 4
"""Workers that are assumed for a file that names no machines."""

DEFAULT_SECONDS = 2.0
"""Budget of a plan, where none was asked for."""


@dataclass(frozen=True, slots=True)
class Machines:
    """What was asked for on the command line instead of the machines that are known.

    Attributes:
        workers: descriptions such as ``fast:speed=4``, or `cluster`: a file of a cluster.
        latency: seconds. bandwidth: bytes per second. Both of all links; None to leave them.
    """

    workers: tuple[str, ...] = ()
    cluster: Path | None = None
    latency: float | None = None
    bandwidth: float | None = None


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to plan: seconds (None: what is stored will do), seed, and by whom."""

    seconds: float | None = None
    seed: int = 0
    planners: tuple[str, ...] = ()

    @property
    def budget(self) -> Budget:
        return Budget(DEFAULT_SECONDS if self.seconds is None else self.seconds, self.seed)

    @property
    def is_stated(self) -> bool:
        return self.seconds is not None or bool(self.planners)


@dataclass(frozen=True, slots=True)
class Question:
    """A priced graph, what it is called, and what must be said about its prices.

    Attributes:
        pessimistic: where durations were learned: the graph with those that are rarely exceeded.
        lead: seconds from the first submission of the flow to the start of its first task.
        coming: what the flow's code submits later, and when.
    """

    name: str
    instance: Instance
    notes: tuple[str, ...]
    pessimistic: Instance | None = None
    lead: float = 0.0
    coming: tuple[Part, ...] = ()

    def in_pace(self, result: PlanResult) -> PlanResult:
        """The plan at the pace of the flow's code, which the plan knows nothing of."""
        instance = self.instance
        if not self.coming:
            return result
        schedule = paced(result.schedule, instance.graph, instance.cluster, self.coming).schedule
        late = schedule.makespan - result.makespan
        return replace(result, schedule=schedule, values=(result.value + late, *result.values[1:]))

    def expected(self, result: PlanResult) -> float:
        """Seconds that the plan takes from its first task on; what a file states is certain."""
        if self.pessimistic is None:
            return result.makespan
        from orchestrator_core.orchestrate.expect import expected_makespan

        return expected_makespan(self.instance, self.pessimistic, result)


@dataclass(frozen=True, slots=True)
class DryRun:
    """The answer; `run` is a record of it without any task executed, as reports take it.

    Attributes:
        predicted: seconds from the first submission to the end of the last task.
        lead: of these, until the first task starts.
    """

    name: str
    instance: Instance
    run: RunRecord
    result: PlanResult
    cache: str
    notes: tuple[str, ...]
    predicted: float
    lead: float

    @property
    def bound(self) -> float:
        """Seconds from the first submission: no plan ends sooner."""
        return self.lead + self.result.lower_bound


def dry_run(
    target: FileTarget | FlowTarget,
    machines: Machines,
    effort: Effort,
    store: str | None,
    prepare: Callable[[], None] = lambda: None,
) -> DryRun:
    """Price and plan `target`; what is planned is stored.

    Args:
        prepare: called before compiled code is needed, which it is not if the answer is known.

    Raises:
        OrchestratorError: if it is not known, cannot be priced or cannot be planned.
    """
    from orchestrator_core.orchestrate import Orchestrator
    from orchestrator_core.store.sql import ScheduleStore

    with (
        closing(ScheduleStore(store)) as opened,
        closing(Orchestrator(opened, budget=Budget(DEFAULT_SECONDS, effort.seed))) as orchestrator,
    ):
        if isinstance(target, FlowTarget):
            question = _price_flow(target, machines, orchestrator, opened)
        else:
            question = _price_file(target, machines)
        return _answer(question, effort, orchestrator, prepare)


def _price_file(target: FileTarget, machines: Machines) -> Question:
    if target.instance is not None:
        if machines != Machines():
            raise InvalidInput(
                f"{target.name} is an instance: its durations hold for its own workers only; "
                "leave --workers, --cluster, --latency and --bandwidth out"
            )
        return Question(target.name, target.instance, ())
    cluster = _asked_cluster(machines) or target.cluster
    notes: tuple[str, ...] = ()
    if cluster is None:
        cluster = Cluster(equal_workers(EQUAL_WORKERS))
        notes = (
            f"the file names no machines: {EQUAL_WORKERS} equal workers are assumed; "
            "say others with --workers",
        )
    return Question(
        target.name, Instance.price(target.graph, _with_links(cluster, machines)), notes
    )


def _price_flow(
    target: FlowTarget, machines: Machines, orchestrator: Orchestrator, store: Store
) -> Question:
    from orchestrator_core.cli import words
    from orchestrator_core.cli.flow_object import flow_name
    from orchestrator_core.orchestrate.forecaster import PESSIMISTIC
    from orchestrator_core.plan.dates import softened

    flow = flow_name(target)
    run = store.latest_run(flow)
    if run is None or target.parameters:
        from orchestrator_core.cli.traced import known_cluster, traced_question

        asked = _asked_cluster(machines)
        cluster, notes = known_cluster(store) if asked is None else (asked, ())
        cluster = _with_links(cluster, machines)
        return traced_question(target, flow, cluster, notes, orchestrator, store)
    cluster = _with_links(_asked_cluster(machines) or run.cluster, machines)
    instance = orchestrator.price(run.graph, cluster, known=run.cluster)
    unhurried = softened(run.graph)
    pessimistic = orchestrator.price(unhurried, cluster, PESSIMISTIC, known=run.cluster)
    lead = orchestrator.lead(flow, run.graph.n_instances)
    note = f"graph and durations as learned up to run {run.run_id[:8]}, {words.ago(run.started_at)}"
    # The first burst is part of the lead.
    coming = tuple(parts(run.graph.names, run.bursts)[1:])
    return Question(flow, instance, (note,), pessimistic, lead, coming)


def _asked_cluster(machines: Machines) -> Cluster | None:
    if machines.cluster is not None:
        return read_cluster_file(machines.cluster)
    return Cluster(parse_workers(machines.workers)) if machines.workers else None


def _with_links(cluster: Cluster, machines: Machines) -> Cluster:
    return with_links(cluster, machines.latency, machines.bandwidth)


def _answer(
    question: Question, effort: Effort, orchestrator: Orchestrator, prepare: Callable[[], None]
) -> DryRun:
    from orchestrator_core.orchestrate.keys import Keys

    instance = question.instance
    answer, cache = _planned(question, effort, orchestrator, prepare)
    lead, planned = question.lead, answer.result.makespan
    predicted = lead + answer.expected - planned
    result = question.in_pace(answer.result)
    predicted += result.makespan
    run = _run_of(question, result, cache, predicted, Keys.of(instance.graph, instance.cluster))
    return DryRun(question.name, instance, run, result, cache, question.notes, predicted, lead)


def _planned(
    question: Question, effort: Effort, orchestrator: Orchestrator, prepare: Callable[[], None]
) -> tuple[Answer, str]:
    """The answer that is known, or else one that is made now; and where its schedule is from."""
    from orchestrator_core.orchestrate.answers import Answer

    instance, pessimistic = question.instance, question.pessimistic
    known = None if effort.is_stated else orchestrator.known_answer(instance, pessimistic)
    if known is not None:
        return known, "hit"
    prepare()
    budget = effort.budget if effort.is_stated else None
    result, cache = orchestrator.schedule(
        instance, question.name, budget=budget, planners=effort.planners or None
    )
    answer = Answer(result, question.expected(result))
    if cache == "hit" and not effort.is_stated:
        orchestrator.keep_answer(instance, pessimistic, answer)
    return answer, cache


def _run_of(
    question: Question, result: PlanResult, cache: str, predicted: float, keys: Keys
) -> RunRecord:
    plan = PlanRecord(
        schedule=delayed(result.schedule, question.lead),
        predicted=predicted,
        lower_bound=result.lower_bound + question.lead,
        bound_method=result.bound_method,
        planner=result.planner,
        cache=cache,
        adopted=False,
        reason="a dry run: nothing was executed",
        planning_seconds=result.seconds,
    )
    return RunRecord(
        run_id=uuid.uuid4().hex,
        flow=question.name,
        started_at=time.time(),
        seconds=0.0,
        mode="planned",
        reason=plan.reason,
        graph=question.instance.graph,
        cluster=question.instance.cluster,
        graph_signature=keys.graph.digest,
        cluster_signature=keys.cluster.digest,
        plan=plan,
    )
