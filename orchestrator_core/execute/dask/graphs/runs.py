"""GraphRun: one submitted graph from its arrival to its last task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from uuid import uuid4

from orchestrator_core.execute.advice import Advice, Advisor
from orchestrator_core.execute.dask.graphs.ended import Ended, as_record
from orchestrator_core.execute.dask.graphs.finished import Finished
from orchestrator_core.execute.dask.graphs.generation import Generation
from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
from orchestrator_core.execute.dask.graphs.stored import Stored
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.record import PlanRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster

UNHEEDED = "Dask heeds no hints"
PARTLY = f"{UNHEEDED} but where tasks may run"
"""What is to be known of a graph with hints that is left to it."""

RECORDS_PER_TASK = 4
"""A graph keeps at most this many records times its tasks, however often Dask repeats them."""


HANDLED = 1e-3
"""Seconds that a scheduler sees to a task, about."""

MANY, TRIVIAL = 2_000, 0.005
"""A graph of at least so many tasks that take less than so many seconds in the mean is not kept: no
plan can make it faster, and to keep it would cost more than to run it."""


class GraphRun:
    """A ledger of one graph's tasks; `done` is called once, when no more is to come.

    Attributes:
        coming: keys that have not arrived yet; a graph arrives as a whole.
        unasked: could nobody be asked about it when it came?
        is_heeded: do its hints say where tasks may run, if Dask runs them?
        worked_before, executed_before: as of `Worked`, when it began. others: seconds of threads
            that tasks of other runs had until it ended.
    """

    coming: Set[Key] = frozenset()

    def __init__(
        self,
        snapshot: Snapshot,
        cluster: Cluster,
        started_at: float,
        done: Callable[[GraphRun], None],
        brief: bool = False,
    ) -> None:
        """`brief`: is it watched only until its first tasks were all trivial? Nobody plans it."""
        self.run_id, self.generation = uuid4().hex, Generation()
        self.snapshot = snapshot
        self.cluster = cluster
        self.started_at = started_at
        self.advice: Advice | None = None
        self.adopted = False
        self.unasked = self.is_heeded = False
        self.worked_before = self.others = 0.0
        self.executed_before = 0
        self.reason = "observed"
        self.notes: list[str] = []
        self.measured: Cluster | None = None
        self.wanted: frozenset[Key] = frozenset()
        self.afterwards: Callable[[Advisor], Advice] | None = None
        self.closed = False
        self._done = done
        self._open = set(snapshot.keys)
        self._outcomes: set[str] = set()
        self._dropped: list[Key] = []
        self._ended: list[Ended] = []
        self._most = RECORDS_PER_TASK * len(snapshot)
        self._look_at = MANY if brief else -1

    @property
    def open(self) -> Set[Key]:
        """The tasks that have not come to an end yet."""
        return self._open

    @property
    def ended(self) -> Sequence[Ended]:
        """The executions so far, in order of their end; only grows."""
        return self._ended

    @property
    def is_worth_keeping(self) -> bool:
        """Is there anything to be learned from it?"""
        seconds = sum([ended[4] - ended[3] for ended in self._ended])
        return len(self._ended) < MANY or seconds >= TRIVIAL * len(self._ended)

    def see_others(self, worked: float, executed: int) -> None:
        """It is over; `worked` and `executed`: as of `Worked`, now. While it waited for a scheduler
        that had others' tasks to see to, they had all threads, however short they were."""
        own = sum([ended[4] - ended[3] for ended in self._ended])
        waited = min((ended[3] for ended in self._ended), default=0.0)
        handled = HANDLED * (executed - self.executed_before - len(self._ended))
        threads = sum(worker.threads for worker in self.cluster.workers)
        self.others = max(0.0, worked - self.worked_before - own)
        self.others += threads * max(0.0, min(waited, handled))

    def records(self, first: int = 0, limit: int | None = None) -> list[tuple[Key, TaskRecord]]:
        """At most `limit` of the executions, beginning with number `first`, each with its key."""
        chosen = self._ended[first : None if limit is None else first + limit]
        return [(each[0], as_record(self.label(each[0]), each)) for each in chosen]

    def label(self, key: Key) -> tuple[str, str]:
        return self.snapshot.label(key)

    def add(self, ended: Ended) -> None:
        if len(self._ended) < self._most:
            self._ended.append(ended)
            if len(self._ended) == self._look_at and not self.is_worth_keeping:
                self.reason = "too large for a plan, and its tasks are too short to be watched"
                self.close()

    def settle(self, key: Key, status: str) -> None:
        if self.closed or key not in self._open:
            return
        self._open.discard(key)
        self._outcomes.add(status)
        if status == "cancelled":
            self._dropped.append(key)
        if not self._open:
            self.close()

    def close(self, outcome: str = "ok") -> None:
        """No more is to come."""
        if not self.closed:
            self.closed = True
            self._outcomes.add(outcome)
            self._done(self)

    def adopt(self, advice: Advice) -> None:
        """The plan is carried out."""
        self.advice, self.adopted, self.reason = advice, True, advice.reason

    def decline(self, reason: str, advice: Advice | None = None) -> None:
        """The graph is left to Dask, which knows nothing of what hints say of workers and dates."""
        if self.snapshot.stated and UNHEEDED not in reason:
            if not self.is_heeded:
                reason = f"{reason}; {UNHEEDED}"
            elif any(hint.wishes_for_more for hint in self.snapshot.hints.values()):
                reason = f"{reason}; {PARTLY}"
        self.advice, self.adopted, self.reason = advice, False, reason

    def rest(
        self, keys: Set[Key], cluster: Cluster, now: float, stored: Mapping[Key, Stored]
    ) -> GraphRun:
        """What is left of the graph, `keys`, as a run on these workers; nobody follows it yet.
        `stored`: as of `Snapshot`, now."""
        left = self.snapshot.part(keys, now - self.started_at, stored)
        run = GraphRun(left, cluster, now, self._done)
        run.wanted, run.is_heeded = self.wanted & keys, self.is_heeded
        return run

    def cede(self, rest: GraphRun) -> None:
        """The tasks of `rest` are its own from now on, and so are those executions of them that
        ended since it was asked about."""
        theirs = rest.snapshot.place
        rest._open &= self._open
        self._open -= rest._open
        n, sooner = len(rest._open), rest.started_at - self.started_at
        rest._ended = [_earlier(each, sooner) for each in self._ended if each[0] in theirs]
        rest._dropped = [key for key in self._dropped if key in theirs]
        rest._outcomes.update([each[1] for each in rest._ended])
        rest._outcomes.update(["cancelled" for _ in rest._dropped])
        self._ended = [each for each in self._ended if each[0] not in theirs]
        self._dropped = [key for key in self._dropped if key not in theirs]
        kept = self.snapshot.place.keys() - theirs.keys()
        self.snapshot, self.wanted = self.snapshot.part(kept), self.wanted - theirs.keys()
        self.decline(f"{self.reason}; {n} tasks were planned as a run of their own later on")
        self.afterwards = None
        if not self._open:
            self.close()

    def finished(self) -> Finished:
        """What is to be remembered, once closed."""
        advice = self.advice
        return Finished(
            run_id=self.run_id,
            snapshot=self.snapshot,
            cluster=self.cluster,
            started_at=self.started_at,
            ended=self._ended,
            outcomes=self._outcomes,
            dropped=self._dropped,
            mode="planned" if self.adopted else "observed",
            reason=self.reason,
            notes=tuple(self.notes),
            measured=self.measured,
            others=self.others,
            plan=self._plan(),
            signatures=("", "")
            if advice is None
            else (advice.graph_signature, advice.cluster_signature),
        )

    def _plan(self) -> PlanRecord | None:
        plan = self.advice.plan if self.advice is not None else None
        if plan is None or plan.adopted == self.adopted:
            return plan
        return replace(plan, adopted=self.adopted, reason=self.reason)


def _earlier(ended: Ended, seconds: float) -> Ended:
    """The same by a clock that started so much later."""
    start, end = (max(0.0, moment - seconds) for moment in ended[3:5])
    return (*ended[:3], start, end, *ended[5:])
