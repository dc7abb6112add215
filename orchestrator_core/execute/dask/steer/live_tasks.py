"""LiveTasks: the scheduler's tasks, asked and put where a plan wants them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from distributed.metrics import time

from orchestrator_core.execute.dask.graphs.epoch import Epoch
from orchestrator_core.execute.dask.graphs.pins import is_plannable
from orchestrator_core.execute.dask.graphs.stored import Stored, stored_of
from orchestrator_core.execute.dask.steer.carrier import Carrier
from orchestrator_core.execute.dask.steer.moves import request_move
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Key, Move, Slot
from orchestrator_core.graph.amounts import NOTHING

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState

NOT_STARTED = frozenset({"released", "waiting", "no-worker", "queued"})
"""States of tasks that no worker has been told of."""

PUT_ASIDE = frozenset({"queued", "no-worker"})
"""States of tasks that Dask has decided about, though not in favour of a worker."""

SLICE = 250
"""Tasks that Dask decides about in one turn of the event loop, which takes it 50 us for each."""


class LiveTasks:
    """Tasks by their keys; keys that the scheduler does not know are passed over.

    Attributes:
        carrier: how tasks are steered; None where they are not.
    """

    def __init__(
        self, scheduler: Scheduler, roster: Roster, epoch: Callable[[Key], Epoch | None]
    ) -> None:
        self.carrier: Carrier | None = None
        self._scheduler, self._roster, self._epoch = scheduler, roster, epoch

    # --- questions ---------------------------------------------------------------------------

    def state(self, key: Key) -> str | None:
        """The scheduler's word for how far the task is; None if it does not exist."""
        task = self._task(key)
        return None if task is None else task.state

    def started(self, keys: Iterable[Key]) -> int:
        """How many of the tasks are gone, or a worker has been told of them."""
        return sum([(self.state(key) or "forgotten") not in NOT_STARTED for key in keys])

    def not_begun(self, keys: Iterable[Key]) -> frozenset[Key]:
        """Those of the keys that no worker has begun, as far as heartbeats tell."""
        found = ((key, self._task(key)) for key in keys)
        return frozenset([key for key, task in found if task is not None and not _is_begun(task)])

    def sent(self, keys: Iterable[Key]) -> Iterator[tuple[Key, str]]:
        """Where those of the keys are that a worker has been told of."""
        for key in keys:
            task = self._task(key)
            if task is not None and task.processing_on is not None:
                yield key, self._roster.name(task.processing_on.address)

    def put_aside(self, keys: Iterable[Key]) -> list[Key]:
        """Those of the keys that are ready and that Dask has sent nowhere."""
        found = ((key, self._task(key)) for key in keys)
        return [key for key, task in found if task is not None and task.state in PUT_ASIDE]

    def stored(self, keys: Iterable[Key]) -> dict[Key, Stored]:
        """The inputs of those of the keys that are there, unless they are small."""
        found = (self._task(key) for key in keys)
        return stored_of((task for task in found if task is not None), self._roster)

    # --- orders ------------------------------------------------------------------------------

    def place(self, key: Key, slot: Slot) -> str | None:
        """Let the slot of a task that has not started take effect; done for each planned task.

        Returns the state of the task; None if it is not ours to place.
        """
        task, carrier = self._task(key), self.carrier
        if task is None or carrier is None:
            return None
        state: str = task.state
        if state not in NOT_STARTED:
            return None
        carrier.release(task)
        if not is_plannable(task, self._offered(task, slot)):
            return None
        self._rank(task, slot)
        carrier.place(task, slot.worker)
        return state

    def move(self, move: Move) -> bool:
        """Ask the worker that was told of the task to give it up; False if nobody can be asked.

        It refuses if the task has begun.
        """
        task, there = self._task(move.key), self._roster.running(move.slot.worker)
        if task is None or there is None or self.carrier is None or task.state != "processing":
            return False
        self._rank(task, move.slot)
        self.carrier.release(task)
        if not is_plannable(task, self._offered(task, move.slot)):
            return False
        self.carrier.place(task, move.slot.worker)
        return request_move(self._scheduler, task, there)

    def spread(self, keys: Iterable[Key], free: Sequence[WorkerState]) -> int:
        """Ask for the tasks, which nobody plans any more, to be moved to these workers by turns;
        how many were asked for. Not where the user will not have them."""
        asked = 0
        for key in keys:
            task = self._task(key)
            valid = None if task is None else self._scheduler.valid_workers(task)
            there = [worker for worker in free if valid is None or worker in valid]
            if task is not None and there:
                asked += request_move(self._scheduler, task, there[asked % len(there)])
        return asked

    def release(self, keys: Iterable[Key]) -> None:
        """The tasks may run anywhere."""
        for key in keys:
            task = self._task(key)
            if task is not None and self.carrier is not None:
                self.carrier.release(task)

    def forget(self, key: Key) -> None:
        """The task is gone, or will be in a moment."""
        task = self._task(key)
        if task is not None and self.carrier is not None:
            self.carrier.forget(task)

    def decide_anew(self, keys: Iterable[Key], at_once: bool = False) -> None:
        """Have Dask decide again about tasks that it has put aside, by their priority.

        A queued task would go to whoever is free, and a held one nowhere. Of very many, only the
        first now, and the others slice by slice: a scheduler has more to do than this. Not so if it
        must be done `at_once`.
        """
        tasks: Any = self._scheduler.tasks
        aside = sorted(self.put_aside(keys), key=lambda key: tasks[key].priority, reverse=True)
        if at_once or len(aside) <= SLICE:
            self._decide(aside)
        else:
            self._decide_next(aside)

    def _decide_next(self, aside: list[Key]) -> None:
        """A slice from the end of these keys now; the others in the next turns of the loop."""
        try:
            chosen = aside[-SLICE:]
            del aside[-SLICE:]
            self._decide(self.put_aside(chosen))
        finally:
            if aside:
                asyncio.get_running_loop().call_soon(self._decide_next, aside)

    def _decide(self, aside: Iterable[Key]) -> None:
        """Dask takes the last of them first; but all are released before. Where it deals out
        neighbours to one worker (`worker-saturation: inf`) it counts how many are still to come."""
        scheduler: Any = self._scheduler
        stimulus, again = f"orchestrator-place-{time()}", {}
        try:
            for key in aside:
                again.update(scheduler.transition(key, "released", stimulus_id=stimulus))
        finally:
            if again:
                scheduler.transitions(again, stimulus_id=stimulus)

    def _offered(self, task: TaskState, slot: Slot) -> Mapping[str, float]:
        """Resources of the slot's worker, as far as the task asks and a plan may deal with them."""
        if not task.resource_restrictions:
            return NOTHING
        worker = self._roster.running(slot.worker)
        if worker is None or self.carrier is None or not self.carrier.keeps_resources:
            return NOTHING
        return worker.resources

    def _rank(self, task: TaskState, slot: Slot) -> None:
        """Order by the plan; the user's priority and the fairness between graphs stay."""
        priority = task.priority or (0, 0)
        user, generation = priority[0], priority[1]
        epoch = self._epoch(task.key)
        if epoch is not None:
            generation = epoch.generation.of(generation)
        task.priority = (user, generation, slot.rank)

    def _task(self, key: Key) -> TaskState | None:
        return self._scheduler.tasks.get(key)  # type: ignore[call-overload,no-any-return]


def _is_begun(task: TaskState) -> bool:
    worker = task.processing_on
    return task.state not in NOT_STARTED and (worker is None or task in worker.executing)
