"""TracingRunner: a task runner that notes what is submitted, and runs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner
from prefect.utilities.annotations import allow_failure, opaque, quote
from prefect.utilities.collections import visit_collection

from orchestrator_core.errors import OrchestratorError
from orchestrator_core.execute.dask.graphs.hints import Hint, annotations_here, needing
from orchestrator_prefect.inputs import looked_into
from orchestrator_prefect.jax_tasks.recognised import recognised
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.features import features_of, features_of_flow
from orchestrator_prefect.sending.flow_graph import Occurrences, kind_of
from orchestrator_prefect.sending.waits import Waits
from orchestrator_prefect.settings.hints import UNSAID, resources_of, submitted_hint
from orchestrator_prefect.tracing.futures import TracedFuture
from orchestrator_prefect.tracing.stand_ins import StandIn, StandInState
from orchestrator_prefect.tracing.watch import Watch, refuse


class TracingRunner(TaskRunner[Any]):
    """What a flow's body does with tasks goes here; named and linked as in a real run.

    Args:
        estimates: what the flow's decorator believes, by name of the task.
        features: note how large arguments are?

    Attributes:
        submissions: in order. inline: tasks and flows that the body called itself, by name; these
            run in the flow's own process, so they are no part of its graph.
    """

    def __init__(
        self, watch: Watch, estimates: Mapping[str, Hint], *, features: bool = True
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._watch, self._estimates, self._features = watch, estimates, features
        self._names, self._waits = Occurrences(), Waits()
        self.submissions: list[Submission] = []
        self.inline: Counter[str] = Counter()
        self._of_flow: Mapping[str, float] = {}

    def duplicate(self) -> TracingRunner:
        """A runner for another trace with the same settings."""
        return TracingRunner(self._watch, self._estimates, features=self._features)

    def flow_given(self, flow: Any, parameters: Mapping[str, Any]) -> None:
        """The flow has these parameters."""
        self._of_flow = features_of_flow(flow, parameters) if self._features else {}

    def submit(
        self,
        task: Any,
        parameters: dict[str, Any],
        wait_for: Iterable[PrefectFuture[Any]] | None = None,
        dependencies: Any = None,
    ) -> TracedFuture:
        """Note the submission; its future stands for what it would give."""
        self._watch.tick()
        if len(self.submissions) >= self._watch.tasks:
            refuse(f"this is more than {self._watch.tasks} tasks", "give it less to do")
        hint = self._hint(task)
        after, states = _inputs(parameters)
        waited, more = _inputs(looked_into(wait_for))
        with needing(resources_of(hint) if hint.resources else {}):
            annotations = dict(annotations_here())
        submission = Submission(
            name=self._names.name(task.name),
            kind=hint.kind or kind_of(recognised(task)),
            key="",
            after=(*after, *waited),
            waits_for=(*states, *more),
            annotations=annotations,
            past=self._waits.now(),
            hint=hint,
            features={**self._sizes(parameters), **self._of_flow},
        )
        self.submissions.append(submission)
        return TracedFuture(len(self.submissions), submission, self._ended)

    def map(self, task: Any, parameters: dict[str, Any], wait_for: Any = None) -> Any:
        """As Prefect does it, where all lengths are known."""
        for value in parameters.values():
            while isinstance(value, (allow_failure, opaque, quote)):
                value = value.unwrap()
            if isinstance(value, TracedFuture):
                name = value.submission.name
                refuse(f"maps over the result of task {name!r}, whose length only a run can tell")
        return super().map(task, parameters, wait_for)

    def called(self, kind: str, thing: Any, parameters: Any, wait_for: Any, answer: str) -> StandIn:
        """The body calls a task or a flow itself, which waits for all that this is given."""
        self._watch.tick()
        futures: list[TracedFuture] = []
        _visit([parameters, looked_into(wait_for)], futures)
        for future in futures:
            future.wait()
        self.inline[f"{kind} {thing.name!r}"] += 1
        made = StandInState if answer == "state" else StandIn
        return made(f"the {answer} of {kind} {thing.name!r}")

    def _sizes(self, parameters: Mapping[str, Any]) -> Mapping[str, float]:
        # A stand-in is asked nothing: it would refuse.
        plain = {name: value for name, value in parameters.items() if _is_plain(value)}
        return features_of(plain) if self._features else {}

    def _hint(self, task: Any) -> Hint:
        try:
            return submitted_hint(task, self._estimates.get(task.name, UNSAID))
        except OrchestratorError as error:
            refuse(str(error), "mend the hint")
            raise

    def _ended(self, submission: Submission) -> None:
        self._waits.ended(submission.name, submission.past)


def _inputs(expression: Any) -> tuple[list[str], list[str]]:
    """Names of the tasks whose futures, and whose states, are in it."""
    found: list[Any] = []
    _visit(expression, found)
    after = [each.submission.name for each in found if isinstance(each, TracedFuture)]
    states = [name for each in found if isinstance(each, StandInState) for name in each._names]
    return after, states


def _visit(expression: Any, found: list[Any]) -> None:
    def look(value: Any) -> Any:
        if isinstance(value, (TracedFuture, StandInState)):
            found.append(value)
        return value

    visit_collection(expression, visit_fn=look, return_data=False)


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (StandIn, StandInState, TracedFuture))
