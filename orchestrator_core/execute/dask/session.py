"""Session: the plugin's life on one scheduler; its parts, and what passes between them.

Called on the event loop only. It guards nothing: whoever calls (`plugin`, `rpc`) catches what is
raised and reports it through `fault`, which ends the session's steering when it happens again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from distributed.metrics import time

from orchestrator_core.execute.advice import Advice, Advisor
from orchestrator_core.execute.dask import describe, snapshot
from orchestrator_core.execute.dask.advisory import Advisory, answered
from orchestrator_core.execute.dask.announced import AnnouncedRun, Announcements
from orchestrator_core.execute.dask.config import Options
from orchestrator_core.execute.dask.recorder import Recorder
from orchestrator_core.execute.dask.roster import Roster
from orchestrator_core.execute.dask.runs import GraphRun
from orchestrator_core.execute.dask.slots import slots_of
from orchestrator_core.execute.dask.steering import Steering
from orchestrator_core.execute.directives import Key, Slot

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

log = logging.getLogger("orchestrator.dask")

RECORDED_FROM = 2
"""Graphs of fewer tasks, as `Client.submit` makes them, are no run worth a record of its own."""

OPEN_RUNS = 256
"""Graphs that may be under way at once; of more, the oldest is recorded as it stands."""

DESCRIBE_SECONDS = 2.0
READY_SECONDS = 0.25
"""How long the start of the plugin waits for workers' answers, and for a light advisor."""


class Session:
    """Everything that the plugin knows while it is on a scheduler."""

    def __init__(
        self, scheduler: Scheduler, options: Options, make_advisor: Callable[[], Advisor]
    ) -> None:
        self.scheduler = scheduler
        self.options = options
        self.roster = Roster(scheduler)
        self.recorder = Recorder(self.roster)
        self.announcements = Announcements(self._give_up)
        self.steering = Steering(scheduler, self.roster, options.mode, self.announcements.epoch)
        self.advisory = Advisory(make_advisor, self.fault)
        self._runs: dict[GraphRun, None] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()

    @property
    def mode(self) -> str:
        """ "director", "restrict", "observe" or "off"."""
        return self.steering.mode

    @property
    def is_live(self) -> bool:
        """Does it take part at all?"""
        return self.mode != "off"

    # --- life --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to steer and to record; what takes long goes on in the background."""
        if not self.is_live:
            return
        self.advisory.start()
        self.steering.install()
        asked = self._spawn(self._describe(list(self.scheduler.workers)))
        await asyncio.wait([asked], timeout=DESCRIBE_SECONDS)
        await self.advisory.wait_ready(READY_SECONDS)

    def stop(self, reason: str) -> None:
        """Leave the scheduler as it was; runs that are still open are recorded as cancelled."""
        for run in list(self._runs):
            run.close("cancelled")
        self.announcements.clear()
        self.steering.uninstall(reason)
        for task in self._background:
            task.cancel()
        self.advisory.close()

    def restart(self) -> None:
        """The scheduler forgot all tasks."""
        for run in list(self._runs):
            run.close("cancelled")
        self.steering.restart()

    def fault(self, where: str, error: Exception) -> None:
        """Something of ours failed: forgiven once, then the scheduler is left alone."""
        self.steering.fault(where, error)

    # --- graphs ------------------------------------------------------------------------------

    def new_graph(self, keys: Collection[Key], wanted: Collection[Key]) -> None:
        """A graph of these keys arrived, because of the wanted ones; nothing of it was sent yet."""
        self.steering.arrive(k for k in keys if self.announcements.epoch(k) is not None)
        fresh = [key for key in keys if key not in self.recorder]
        self.steering.renew(fresh)
        graph = snapshot.take(self.scheduler, fresh, wanted, self.roster)
        cluster = self.roster.cluster()
        if len(graph) < RECORDED_FROM or cluster is None:
            return
        run = GraphRun(graph, cluster, time(), self._finish)
        self._runs[run] = None
        self.recorder.watch(graph.keys, run)
        if len(self._runs) > OPEN_RUNS:
            next(iter(self._runs)).close("cancelled")
        self._plan(run)

    def _plan(self, run: GraphRun) -> None:
        if self.steering.carrier is None:
            run.decline("only observing")
        elif len(run.snapshot.plannable) < self._min_tasks:
            run.decline(f"fewer than {self._min_tasks} tasks may be placed")
        else:
            self._ask(run)

    def _ask(self, run: GraphRun) -> None:
        graph, cluster = run.snapshot, run.cluster
        answer = self.advisory.ask(lambda advisor: advisor.advise(graph.graph, cluster, graph.flow))
        if answer is None:
            run.decline("the advisor is still busy or warming up")
        elif answered(answer, self.options.plan_wait or 0.0):
            self._adopt(run, answer, late=False)
        else:
            run.decline("the plan was not ready in time")
            answer.add_done_callback(partial(self._adopt_later, run))

    def _adopt_later(self, run: GraphRun, answer: Future[Advice]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._adopt, run, answer, True)
        except RuntimeError:
            log.debug("a plan came after the event loop was closed")

    def _adopt(self, run: GraphRun, answer: Future[Advice], late: bool) -> None:
        """Follow the advice if it is any good; an advisor that fails is a fault of ours."""
        if run.closed or self.steering.carrier is None:
            return
        try:
            advice = answer.result()
            refusal = self._refusal(advice)
            if refusal is not None:
                run.decline(refusal, advice)
                return
            assert advice.plan is not None
            slots = slots_of(advice.plan.schedule, run.snapshot, run.cluster.index)
            self._follow(run, advice, slots, late)
        except Exception as error:
            run.decline(f"the advice cannot be followed: {error}")
            self.fault("advice", error)

    def _refusal(self, advice: Advice) -> str | None:
        plan = advice.plan
        if plan is None or not advice.adopted:
            return advice.reason
        default, gain = plan.default_predicted, self.options.min_gain or 0.0
        if default is not None and plan.predicted > default * (1.0 - gain):
            return (
                f"{plan.predicted:.3g} s planned against {default:.3g} s by Dask: too small a gain"
            )
        return None

    def _follow(self, run: GraphRun, advice: Advice, slots: Mapping[Key, Slot], late: bool) -> None:
        ahead = {k: slot for k, slot in slots.items() if self.steering.has_not_started(k)}
        if late:
            run.notes.append(f"the plan came late: {len(slots) - len(ahead)} tasks had started")
        if not ahead:
            run.decline("the plan came too late", advice)
            return
        run.adopt(advice)
        self.steering.follow(ahead)

    def _finish(self, run: GraphRun) -> None:
        self._runs.pop(run, None)
        self.recorder.unwatch(run.snapshot.keys, run)
        if run.has_records:
            self.advisory.record(lambda: run.record(signatures))

    # --- announced runs ----------------------------------------------------------------------

    def begin(
        self, run_id: str, tasks: Iterable[tuple[Key, str, str]], slots: Mapping[Key, Slot]
    ) -> AnnouncedRun | None:
        """These tasks will come one by one; None if nobody takes notice."""
        if not self.is_live:
            return None
        tasks = list(tasks)
        run = self.announcements.begin(run_id, tasks, time())
        self.recorder.watch((key for key, _, _ in tasks), run)
        self.steering.follow(slots)
        return run

    def _give_up(self, run: AnnouncedRun) -> None:
        self.recorder.unwatch(run.labels, run)
        for key in run.labels:
            if self.steering.state(key) is None:
                self.steering.follower.forgotten(key)

    # --- events ------------------------------------------------------------------------------

    def transition(self, key: Key, start: str, finish: str, detail: Mapping[str, Any]) -> None:
        """The scheduler moved a task; called inside its transition engine."""
        self.steering.transition(key, finish)
        self.recorder.transition(key, start, finish, detail)

    def add_worker(self, address: str) -> None:
        """A worker joined; its tasks, if it was there before, are planned again."""
        name = self.roster.add(address)
        self.steering.worker_joined(name)
        self._spawn(self._describe([address]))

    def remove_worker(self, address: str) -> None:
        """A worker left; the scheduler has already decided anew about its tasks."""
        name = self.roster.remove(address)
        if name is not None and name not in self.roster:
            self.steering.worker_lost(name)

    # --- small questions ---------------------------------------------------------------------

    @property
    def _min_tasks(self) -> int:
        return self.options.min_tasks or 1

    async def _describe(self, addresses: list[str]) -> None:
        for address, said in (await describe.ask(self.scheduler, addresses)).items():
            if address in self.scheduler.workers:
                self.roster.describe(address, said)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task


def signatures(run: GraphRun) -> tuple[str, str]:
    """Keys of a run's graph and cluster, for runs about which no advisor was asked."""
    from orchestrator_core.graph.signature import cluster_signature, graph_signature

    return graph_signature(run.snapshot.graph).digest, cluster_signature(run.cluster).digest
