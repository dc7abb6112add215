"""Following a plan at Dask's own points of decision: the exact way.

Four methods are replaced on the live objects, for planned keys only:
- `Scheduler.is_rootish`: a planned task is never queued for whoever is least busy;
- `Scheduler.decide_worker_non_rootish`: it goes to its worker, if that one runs now, or to none as
  long as it is held;
- `WorkStealing.steal_time_ratio`: nobody steals it from there;
- `Scheduler.send_all`: of tasks that are sent at once, the worker hears in the order of the plan.
A decision is late: what a lost, paused or retiring worker should have run, Dask places. Where a
replacement has nothing to say (`NotImplemented`), or goes wrong, the original answers.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any

from distributed.metrics import monotonic

from orchestrator_core.execute.dask.graphs.pins import is_supplied
from orchestrator_core.execute.dask.steer.compat import sends_messages
from orchestrator_core.execute.dask.steer.ordering import in_order
from orchestrator_core.execute.dask.steer.override import Advised, Fault
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.follower import Follower
from orchestrator_core.execute.stage import HELD

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

    from orchestrator_core.execute.dask.workers.roster import Roster

NOT_STEALABLE = (None, None)


class Director:
    """Answers for planned keys; everything else is the original's."""

    keeps_resources = True

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        follower: Follower,
        fault: Fault,
        held: Callable[[Key], None],
        awaiting: Set[Key],
        dated: Set[Key],
    ) -> None:
        """`held` is told when a task begins to be held; keys `awaiting` a plan get no worker, nor
        do those that are `dated`."""
        self._roster = roster
        self._held, self._awaiting, self._dated = held, awaiting, dated
        self._follower, self._stages = follower, follower.stages
        self._fault = fault
        self._scheduler = scheduler
        self._stealing: Any = scheduler.extensions.get("stealing")
        self._overrides: list[Advised] = []

    def install(self) -> None:
        self._replace(self._scheduler, "is_rootish", self._is_rootish)
        self._replace(self._scheduler, "decide_worker_non_rootish", self._decide)
        if sends_messages(self._scheduler):
            self._replace(self._scheduler, "send_all", self._send_all)
        if self._stealing is not None:
            self._replace(self._stealing, "steal_time_ratio", self._steal_time_ratio)

    def _replace(self, owner: Any, name: str, answer: Callable[..., Any]) -> None:
        self._overrides.append(Advised(owner, name, answer, self._fault))

    def place(self, state: TaskState, worker: str) -> None:
        """Nothing to do: the worker is looked up when the task is ready."""

    def release(self, state: TaskState) -> None:
        """Let others steal the task from the worker that it waits on."""
        if self._stealing is not None and state.state == "processing":
            self._stealing.recalculate_cost(state)

    def forget(self, state: TaskState) -> None:
        """Nothing is kept about a task."""

    def uninstall(self) -> None:
        for override in reversed(self._overrides):
            override.remove()
        self._overrides = []

    def _is_rootish(self, ts: TaskState) -> Any:
        if self._follower.planned_worker(ts.key, self._roster) is not None:
            return False
        if self._awaiting and ts.key in self._awaiting:
            return False
        return False if self._dated and ts.key in self._dated else NotImplemented

    def _decide(self, ts: TaskState) -> Any:
        if self._dated and ts.key in self._dated:
            return None
        if ts.worker_restrictions or ts.host_restrictions or self._lacks_resources(ts):
            # Somebody has restricted the task, as a shuffle does while it runs: it is not ours.
            self._follower.released((ts.key,), "it got restrictions")
            return NotImplemented
        known = self._stages.get(ts.key)
        decision = self._follower.decide(ts.key, self._roster, monotonic())
        # What Dask gets no worker for waits in its state "no-worker".
        if decision is HELD:
            if known is not HELD:
                self._held(ts.key)
            return None
        if decision is None and ts.key in self._awaiting:
            return None
        state = self._roster.running(decision) if isinstance(decision, str) else None
        return NotImplemented if state is None else state

    def _lacks_resources(self, ts: TaskState) -> bool:
        """Does it need resources that the planned worker has not, or that nobody planned?"""
        if not ts.resource_restrictions:
            return False
        worker = self._follower.planned_worker(ts.key, self._roster)
        state = None if worker is None else self._roster.running(worker)
        return state is None or not is_supplied(ts, state.resources)

    def _send_all(self, client_msgs: Any, worker_msgs: Any) -> Any:
        for address, messages in worker_msgs.items():
            if len(messages) > 1:
                worker_msgs[address] = in_order(messages)
        return NotImplemented

    def _steal_time_ratio(self, ts: TaskState) -> Any:
        return NOT_STEALABLE if self._follower.is_placed(ts.key) else NotImplemented
