"""Case: a question with its prices, before which plans are judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.orchestrate.finding import Finding, Refinement
from orchestrator_core.orchestrate.judged import Basis, unsure
from orchestrator_core.orchestrate.judging import judged
from orchestrator_core.orchestrate.question import Question


@dataclass(frozen=True, slots=True)
class Case:
    """What plans for a question are judged by: its prices, and what earlier runs took.

    Attributes:
        pessimistic: `instance` with durations that are rarely exceeded.
    """

    instance: Instance
    pessimistic: Instance
    question: Question

    @property
    def basis(self) -> Basis:
        """What a judgement would be based on now; lessons go on."""
        spread = unsure(self.instance, self.pessimistic)
        return Basis.of(self.question.lessons, self.question.min_gain, spread)

    def best(self, refinements: Iterable[Refinement], bucket: str) -> Finding:
        """The first that is worth following; the last if none is. There is at least one."""
        for refinement in refinements:
            found = self.judged(refinement, bucket)
            if found.judged.adopt:
                break
        return found

    def judged(self, refinement: Refinement, bucket: str) -> Finding:
        asked = (self.question.min_gain, self.question.lessons)
        found = judged(self.instance, self.pessimistic, refinement, *asked)
        return Finding(refinement, bucket, found)

    def advice(
        self,
        found: Finding,
        cache: str,
        begun: float,
        refine: Callable[[], Advice] | None = None,
    ) -> Advice:
        return replace(answer(self.instance, found, cache, begun), refine=refine)


def answer(instance: Instance, found: Finding, cache: str, begun: float) -> Advice:
    """What to do with the plan; `begun` is `time.perf_counter` when planning began."""
    decided, result, measures = found.judged, found.refinement.result, found.refinement.measures
    record = PlanRecord(
        schedule=result.schedule,
        predicted=decided.predicted,
        lower_bound=result.lower_bound,
        bound_method=result.bound_method,
        planner=result.planner,
        cache=cache,
        adopted=decided.adopt,
        reason=decided.reason,
        default_predicted=decided.default_predicted,
        planning_seconds=time.perf_counter() - begun,
    )
    return Advice(
        record,
        decided.reason,
        instance=instance,
        holds=measures.holds if decided.adopt else {},
        prefetch=measures.prefetch and decided.adopt,
        thrifty=found.refinement.thrifty,
    )
