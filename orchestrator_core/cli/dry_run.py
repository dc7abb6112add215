"""A dry run: a graph priced and planned, nothing executed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator_core import words
from orchestrator_core.cli.effort import DEFAULT_SECONDS, Effort
from orchestrator_core.cli.flow_says import kept
from orchestrator_core.cli.machines import Machines
from orchestrator_core.cli.pricing import price
from orchestrator_core.cli.question import Question
from orchestrator_core.cli.target import FileTarget, FlowTarget
from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.record import PlanRecord, RunRecord
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.delayed import delayed
from orchestrator_core.plan.result import PlanResult

if TYPE_CHECKING:
    from orchestrator_core.orchestrate import Orchestrator
    from orchestrator_core.orchestrate.answers import Answer
    from orchestrator_core.orchestrate.keys import Keys


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

    @property
    def gap(self) -> float:
        """What the plan takes from the first submission on, over that bound, less 1."""
        return words.gap_of(self.lead + self.result.makespan, self.bound) or 0.0


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
    from orchestrator_core.cli.found import naming, open_store
    from orchestrator_core.orchestrate import Orchestrator

    with (
        closing(open_store(store)) as opened,
        naming(store),
        closing(Orchestrator(opened, budget=Budget(DEFAULT_SECONDS))) as orchestrator,
    ):
        question = price(target, machines, orchestrator, opened)
        return _answer(question, effort, orchestrator, prepare)


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
    notes = question.notes
    if question.deadline is not None:
        notes = (*notes, kept(question.deadline, predicted))
    return DryRun(question.name, instance, run, result, cache, notes, predicted, lead)


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
