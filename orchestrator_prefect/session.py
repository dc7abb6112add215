"""FlowSession: one run of one flow, from the first submission to the record of what happened.

Whatever fails here costs the plan or the record, never the flow: it is told once, and the flow goes
on as under prefect-dask.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from orchestrator_core.clean_text import clean
from orchestrator_core.errors import InvalidCluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.words import plural
from orchestrator_prefect.advisor import READY_SECONDS, AdvisorOnCall, NotReady
from orchestrator_prefect.ahead.announcement import announce, announce_aside
from orchestrator_prefect.ahead.compiling import with_compiling
from orchestrator_prefect.ahead.outlook import Outlook, Step
from orchestrator_prefect.resume.stored import Stored
from orchestrator_prefect.runs import artifacts
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.runs.left import left_line, left_running
from orchestrator_prefect.runs.promise import Epoch, in_run
from orchestrator_prefect.runs.publisher import Publisher
from orchestrator_prefect.runs.run_record import run_record
from orchestrator_prefect.sending.early import Early
from orchestrator_prefect.sending.epoch import Batch, EpochBuffer, Submission
from orchestrator_prefect.sending.features import features_of
from orchestrator_prefect.sending.flow_graph import (
    Occurrences,
    flow_graph,
    kind_of,
    note_starts,
)
from orchestrator_prefect.sending.link import Link
from orchestrator_prefect.sending.run_keys import RunKeys
from orchestrator_prefect.sending.waits import Waits

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.graphs.hints import Hint
    from orchestrator_core.execute.record import TaskRecord

NOTES = 5
"""So many of the notes on how a plan was mended are logged, the last ones."""


class FlowSession:
    """Collects what a flow submits, plans it in epochs, and records the run.

    It is made for the first submission, from which the run's seconds count.

    Args:
        client: the Dask client through which the tasks are submitted; its messages are held here.
        advisor: who plans and remembers. plans: ask it for plans, or only let it remember?
        connect: opens the link to the scheduler; called in a thread, while tasks are submitted.
        report: publish artifacts? argument_sizes: note how large arguments are?
    """

    def __init__(
        self,
        client: Any,
        info: FlowRunInfo,
        *,
        advisor: AdvisorOnCall,
        plans: bool,
        connect: Callable[[], Link],
        report: bool,
        argument_sizes: bool = True,
    ) -> None:
        self.info = info
        self._client = client
        self._advisor, self._plans = advisor, plans
        self._connecting = Early(connect)
        self._link: Link | None = None
        self._report, self.publisher = report, Publisher(info, self._fail)
        self._argument_sizes = argument_sizes
        self.stored = Stored(info)
        self._names, self._waits = Occurrences(), Waits()
        self._keys = RunKeys()
        self._outlook = Outlook(info.flow, self._keys.of, info.origin)
        self._followed: Schedule | None = None
        self._submissions: list[Submission] = []
        self._task_runs: dict[UUID, str] = {}
        self._states: dict[str, str] = {}
        self._epochs: list[Epoch] = []
        self._origin, self._started_at = time.monotonic(), 0.0
        self._works, self._warned = True, False
        self._told: set[str] = set()
        self._buffer = EpochBuffer(
            client._send_to_scheduler, before=self._before, after=self._after
        )
        # An attribute of this client only: every message that it sends passes through here.
        client._send_to_scheduler = self._buffer.take
        self._buffer.watch()

    def _features(self, arguments: Mapping[str, Any]) -> Mapping[str, float]:
        if not self._argument_sizes:
            return {}
        return {**features_of(arguments), **self.info.features}

    @contextmanager
    def submitting(
        self,
        task: Any,
        after: list[str],
        waits_for: list[str],
        hint: Hint | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> Iterator[Submission]:
        """Within it, the client submits this task under the key that is given."""
        name = self._names.name(task.name)
        submission = Submission(
            name=name,
            kind=(hint and hint.kind) or kind_of(task),
            key=self._keys.take(name),
            after=tuple(after),
            waits_for=tuple(waits_for),
            past=self._waits.now(),
            hint=hint,
            features=self._features(arguments or {}),
        )
        self._buffer.expect(submission)
        try:
            yield submission
            self._submissions.append(submission)
        finally:
            self._buffer.withdraw(submission)

    def started(self, submission: Submission, task_run_id: UUID) -> None:
        """The submission became this task run."""
        self._task_runs[task_run_id] = submission.name

    def name_of(self, task_run_id: UUID | None) -> str | None:
        """The name of that task run's submission, if it is one of this flow run."""
        return None if task_run_id is None else self._task_runs.get(task_run_id)

    def ended(self, submission: Submission, state: str) -> None:
        """The flow's code knows that the task ended, in the Prefect state of that name."""
        self._states[submission.key] = state
        self._waits.ended(submission.name, submission.past)

    def let_go(self, submission: Submission) -> None:
        """Plan and send what is held, if this submission is."""
        self._buffer.flush(wanted=submission)

    def close(self, *, left: str = "") -> None:
        """Send what is held, unless the flow's code was left before its end, and record the run.

        What is still to be published then is the `publisher`'s, which may be waited for.

        Args:
            left: how the run ended then: ``failed`` or ``cancelled``.
        """
        self.info = replace(self.info, left=left)
        # What is on its way to a scheduler that is being left fails, and nobody need know.
        self._warned = self._warned or bool(left)
        # Nobody waits for what is left, so Dask starts as much of it as there are free threads.
        self._plans = False
        self._buffer.close(drop=bool(left))
        self._client.__dict__.pop("_send_to_scheduler", None)
        try:
            if self._client.status == "connecting":
                # Dask would look for it for half a minute.
                raise ConnectionError("the scheduler went away")
            if self._works and self._epochs:
                self.info.inside(self._record)
            if self._link is not None:
                self._link.end(self.info.run_id)
        except Exception as error:
            self._fail("The run could not be recorded", error)
        finally:
            self.publisher.close()
            self._advisor.close()

    def _before(self, batch: Batch) -> None:
        if not self._works:
            return
        try:
            self.info.inside(self._plan, batch)
        except Exception as error:
            self._works = False
            self._fail("The scheduler could not be prepared, so this run is plain Dask", error)

    def _plan(self, batch: Batch) -> None:
        link = self._connected()
        if not self._works:
            return
        graph = flow_graph(self.stored.marked(batch))
        goes_on = self._outlook.goes_on(batch, graph)
        if goes_on or not self._plans:
            step = Step(graph, None, aside=self._outlook.aside.intersection(graph.names))
        else:
            step = self._advise(link, graph)
        if goes_on and self._followed:
            announce_aside(link, self.info.run_id, batch, step)
        else:
            started_at, self._followed = announce(link, self.info.run_id, batch, step)
            self._started_at = self._started_at if self._epochs else started_at
        if self._followed is not None:
            note_starts(self._followed, batch)
        went = time.monotonic() - self._origin
        for submission in batch:
            submission.went = went
        self._epochs.append(Epoch(step.graph, step.advice, went, len(step.foreseen), step.aside))

    def _connected(self) -> Link:
        if self._link is None:
            self._link = self._connecting.result()
            mode = self._link.mode()
            self._plans = self._plans and mode not in ("observe", "off")
            self._works = mode != "off"
        return self._link

    def _advise(self, link: Link, graph: TaskGraph) -> Step:
        try:
            step = self._outlook.plan(self._advisor.get(), graph, link.cluster())
            if step.advice is not None and step.advice.setup:
                step = replace(step, advice=with_compiling(step.advice, link.prepared()))
            caveat = "" if step.advice is None else step.advice.caveat
            self._tell(step.remark, caveat)
            return step
        except (NotReady, InvalidCluster) as error:
            # An adaptive cluster has no worker before it has a task.
            self._tell(f"This epoch is not planned: {error}")
        except Exception as error:
            self._plans = False
            self._fail("Planning failed, so tasks go where Dask puts them", error)
        return Step(graph, None)

    def _tell(self, *sentences: str) -> None:
        """Each once: a flow that submits and waits in a loop has hundreds of epochs."""
        for said in sentences:
            if said and said not in self._told:
                self._told.add(said)
                self.info.logger.info("%s", said)

    def _after(self, batch: Batch) -> None:
        # One artifact, however many epochs there are.
        if len(self._epochs) != 1 or not self._report or not self._works:
            return
        plan = in_run(self._epochs[0])
        if plan is not None:
            unseen = self._epochs[0].foreseen
            self.publisher.publish("plan", artifacts.plan_markdown(self.info.flow, plan, unseen))

    def _record(self) -> None:
        assert self._link is not None
        gone = self._outlook.left_over()
        if gone:
            self.info.logger.info(
                "The run ended without %s that %s foreseen, such as %r",
                plural(len(gone), "task"),
                "was" if len(gone) == 1 else "were",
                gone[0],
            )
        run_id, keys = self.info.run_id, [submission.key for submission in self._submissions]
        finished = self._link.records(run_id)
        ending = self._link.end(run_id)
        states = {**self._link.states(keys), **self._states}
        ended = {key for key, _ in finished}
        still = [each for each in self._submissions if each.key not in ended]
        left = self._left(still)
        running = {record.task for record in left}
        unknown = [each for each in still if each.key not in states]
        run = run_record(
            self.info,
            self._submissions,
            self._epochs,
            self._link.cluster(),
            finished,
            states,
            self._started_at,
            left,
            [each.name for each in unknown if each.name not in running],
        )
        run = replace(run, notes=ending.notes).beside(ending.others)
        self._advisor.get(READY_SECONDS).record(run)
        for note in run.notes[-NOTES:]:
            self.info.logger.info(clean(note))
        self.info.logger.info(artifacts.outcome_line(run))
        if self._report:
            self.publisher.publish("outcome", artifacts.outcome_markdown(run))

    def _left(self, still: Sequence[Submission]) -> list[TaskRecord]:
        """What a flow that ended well has not waited for: neither Prefect nor Dask does.

        Dask drops what has not begun; what runs, runs on if its worker does.
        """
        if not still or self.info.status != "ok":
            return []
        assert self._link is not None
        running = self._link.running(each.key for each in still)
        now = time.monotonic() - self._origin
        records = left_running(still, running, self._link.cluster(), now)
        self.info.logger.info(left_line(still, len(records)))
        return records

    def _fail(self, what: str, error: Exception) -> None:
        level = "debug" if self._warned else "warning"
        self._warned = True
        getattr(self.info.logger, level)(
            "%s: %s: %s", what, type(error).__name__, clean(str(error))
        )
