"""FlowSession: one run of one flow, from the first submission to the record of what happened.

Whatever fails here costs the plan or the record, never the flow: it is told once, and the flow goes
on as under prefect-dask.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.execute.advice import Advice
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect import artifacts
from orchestrator_prefect.advisor import AdvisorOnCall, NotReady
from orchestrator_prefect.epoch import Batch, EpochBuffer, Submission
from orchestrator_prefect.flow_graph import (
    Occurrences,
    flow_graph,
    holds,
    kind_of,
    note_starts,
    slots,
)
from orchestrator_prefect.flow_run import FlowRunInfo
from orchestrator_prefect.link import Link
from orchestrator_prefect.promise import Epoch, in_run
from orchestrator_prefect.run_record import run_record

if TYPE_CHECKING:
    from orchestrator_core.execute.live import LivePlan


class FlowSession:
    """Collects what a flow submits, plans it in epochs, and records the run.

    It is made for the first submission, from which the run's seconds count.

    Args:
        client: the Dask client through which the tasks are submitted; its messages are held here.
        advisor: who plans and remembers. plans: ask it for plans, or only let it remember?
        connect: opens the link to the scheduler; called when the first epoch is planned.
        report: publish artifacts?
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
    ) -> None:
        self.info = info
        self._client = client
        self._advisor, self._plans = advisor, plans
        self._connect = connect
        self._link: Link | None = None
        self._report = report
        self._names = Occurrences()
        self._submissions: list[Submission] = []
        self._task_runs: dict[UUID, str] = {}
        self._states: dict[str, str] = {}
        self._epochs: list[Epoch] = []
        self._origin, self._started_at = time.monotonic(), 0.0
        self._works, self._warned = True, False
        self._buffer = EpochBuffer(
            client._send_to_scheduler, before=self._before, after=self._after
        )
        # An attribute of this client only: every message that it sends passes through here.
        client._send_to_scheduler = self._buffer.take
        self._buffer.watch()

    @contextmanager
    def submitting(self, task: Any, after: list[str], waits_for: list[str]) -> Iterator[Submission]:
        """Within it, the client submits this task under the key that is given."""
        submission = Submission(
            name=self._names.name(task.name),
            kind=kind_of(task),
            key=f"{task.name}-{uuid4().hex}",
            after=tuple(after),
            waits_for=tuple(waits_for),
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
        """The task ended in the Prefect state of that name."""
        self._states[submission.key] = state

    def let_go(self, submission: Submission) -> None:
        """Plan and send what is held, if this submission is."""
        self._buffer.flush(wanted=submission)

    def close(self) -> None:
        """Send what is held, and record the run."""
        self._buffer.close()
        self._client.__dict__.pop("_send_to_scheduler", None)
        try:
            if self._works and self._epochs:
                self.info.inside(self._record)
            if self._link is not None:
                self._link.end(self.info.run_id)
        except Exception as error:
            self._fail("The run could not be recorded", error)
        finally:
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
        graph = flow_graph(batch)
        advice = self._advise(link, graph) if self._plans else None
        followed = advice.plan if advice is not None and advice.adopted else None
        chosen = slots(followed.schedule, batch) if followed is not None else {}
        held = holds(advice.holds, batch) if advice is not None and chosen else {}
        live = _live(advice) if advice is not None and chosen else None
        started_at = link.begin(self.info.run_id, batch, chosen, held, live)
        if followed is not None:
            note_starts(followed.schedule, batch)
        if not self._epochs:
            self._started_at = started_at
        self._epochs.append(Epoch(graph, advice, time.monotonic() - self._origin))

    def _connected(self) -> Link:
        if self._link is None:
            self._link = self._connect()
            mode = self._link.mode()
            self._plans = self._plans and mode not in ("observe", "off")
            self._works = mode != "off"
        return self._link

    def _advise(self, link: Link, graph: TaskGraph) -> Advice | None:
        try:
            cluster = link.cluster()
            return self._advisor.get().advise(graph, cluster, self.info.flow)
        except (NotReady, InvalidCluster) as error:
            # An adaptive cluster has no worker before it has a task.
            self.info.logger.info("This epoch is not planned: %s", error)
        except Exception as error:
            self._plans = False
            self._fail("Planning failed, so tasks go where Dask puts them", error)
        return None

    def _after(self, batch: Batch) -> None:
        # One artifact: a flow that submits and waits in a loop has hundreds of epochs.
        if len(self._epochs) != 1 or not self._report or not self._works:
            return
        plan = in_run(self._epochs[0])
        if plan is not None:
            self._publish("plan", artifacts.plan_markdown(self.info.flow, plan))

    def _record(self) -> None:
        assert self._link is not None
        run_id, keys = self.info.run_id, [submission.key for submission in self._submissions]
        finished = self._link.records(run_id)
        states = {**self._link.states(keys), **self._states}
        run = run_record(
            self.info,
            self._submissions,
            self._epochs,
            self._link.cluster(),
            finished,
            states,
            self._started_at,
        )
        self._advisor.get().record(run)
        self.info.logger.info(artifacts.outcome_line(run))
        if self._report:
            self._publish("outcome", artifacts.outcome_markdown(run))

    def _publish(self, what: str, markdown: str) -> None:
        try:
            self.info.inside(artifacts.publish, what, self.info.flow, markdown)
        except Exception as error:
            self._fail(f"The {what} could not be published as an artifact", error)

    def _fail(self, what: str, error: Exception) -> None:
        level = "debug" if self._warned else "warning"
        self._warned = True
        getattr(self.info.logger, level)("%s: %s: %s", what, type(error).__name__, error)


def _live(advice: Advice) -> LivePlan | None:
    # Repair comes with compiled code, which whoever has a plan has loaded already.
    from orchestrator_core.execute.live import LivePlan

    return LivePlan.of(advice)
