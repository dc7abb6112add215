"""Announcing: runs whose client plans by itself and submits task by task, followed and mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from distributed.metrics import monotonic, time

from orchestrator_core.errors import InvalidInput, PlanningFailed
from orchestrator_core.execute.dask.graphs.announced import AnnouncedRun, Announcements
from orchestrator_core.execute.dask.graphs.generation import Generations
from orchestrator_core.execute.dask.graphs.recorder import Recorder
from orchestrator_core.execute.dask.plans.control import Control
from orchestrator_core.execute.dask.steer.slots import turned
from orchestrator_core.execute.dask.steer.steering import Steering
from orchestrator_core.execute.directives import Hold, Key, Slot
from orchestrator_core.execute.live import LivePlan
from orchestrator_core.execute.live.glance import claim_of
from orchestrator_core.plan.warm import is_missing


class Announcing:
    """Takes announcements, and sees to it that they are followed; called on the event loop."""

    def __init__(
        self,
        announcements: Announcements,
        recorder: Recorder,
        steering: Steering,
        control: Control,
    ) -> None:
        self._announcements, self._recorder = announcements, recorder
        self._steering, self._control = steering, control
        self._generations = Generations()

    def begin(
        self,
        run_id: str,
        tasks: Iterable[tuple[Key, str, str]],
        slots: Mapping[Key, Slot],
        holds: Mapping[Key, Hold],
        plan: bytes | None,
    ) -> AnnouncedRun:
        """These tasks will come one by one.

        With a `LivePlan` as JSON they take turns with other runs, and the plan is also mended
        while it is followed.
        """
        run, epoch = self._announcements.begin(run_id, tasks, time())
        self._recorder.watch(epoch.snapshot.keys, run)
        if plan is None or not slots or self._steering.carrier is None:
            self._steering.follow(slots, holds)
            return run
        epoch.generation, claim = self._generations.join(monotonic()), claim_of(plan)
        turn = self._control.turn(epoch, claim)
        self._steering.follow(turned(slots, turn), holds)
        self._control.hand_over(epoch, partial(read_plan, plan, epoch.snapshot.key_of), turn, claim)
        return run

    def withdraw(self, run_id: str, keys: Iterable[Key]) -> None:
        """Of the announced keys, these will not come after all."""
        run = self._announcements.get(run_id)
        gone = self._announcements.withdraw(run_id, keys)
        if run is not None:
            self._recorder.unwatch(gone, run)
        for key in gone:
            # As if it had come and gone: nobody is held back for it any more.
            self._steering.transition(key, "forgotten")

    def arrive(self, keys: Iterable[Key]) -> None:
        """Those of the keys that were announced are there; nothing of them was sent yet."""
        if not len(self._announcements):
            return
        found = ((key, self._announcements.epoch(key)) for key in keys)
        announced = [(key, epoch) for key, epoch in found if epoch is not None]
        self._steering.arrive(key for key, _ in announced)
        for key, epoch in announced:
            epoch.arrive(key, planned=key in self._steering.follower)

    def give_up(self, run: AnnouncedRun) -> None:
        """Nobody asks for the run any more."""
        self._recorder.unwatch(run.labels, run)
        for key in run.labels:
            if self._steering.tasks.state(key) is None:
                self._steering.follower.forgotten(key)


def read_plan(text: bytes, key_of: Mapping[str, Key]) -> LivePlan:
    """The announced plan of the tasks of these names.

    Raises:
        InvalidInput: if it is none, or one of other tasks. PlanningFailed: if this machine has no
            compiled code for repairs yet; to compile it here would hold up the event loop.
    """
    if is_missing("repair"):
        raise PlanningFailed("what mends plans is being compiled, once on this machine")
    plan = LivePlan.from_json(text)
    if plan.instance.graph.index.keys() != key_of.keys():
        raise InvalidInput("it was priced for other tasks than those that were announced")
    return plan
