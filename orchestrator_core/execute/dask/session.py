"""Session: the plugin's life on one scheduler; its parts, and what passes between them.

Called on the event loop only. It guards nothing: the plugin catches what its hooks raise, and tells
`fault`, which ends the session's steering when it happens again; what a client's call (`watch.rpc`)
raises goes to that client.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from distributed.metrics import time

from orchestrator_core.execute.advice import Advisor
from orchestrator_core.execute.dask.config import Options
from orchestrator_core.execute.dask.counters import Counters
from orchestrator_core.execute.dask.graphs import snapshot
from orchestrator_core.execute.dask.graphs.announced import AnnouncedRun, Announcements
from orchestrator_core.execute.dask.graphs.recorder import Recorder
from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
from orchestrator_core.execute.dask.graphs.worked import Worked
from orchestrator_core.execute.dask.leaving import take_all
from orchestrator_core.execute.dask.plans.advisory import Advisory
from orchestrator_core.execute.dask.plans.anew import Anew
from orchestrator_core.execute.dask.plans.announcing import Announcing
from orchestrator_core.execute.dask.plans.control import Control
from orchestrator_core.execute.dask.plans.planning import Planning
from orchestrator_core.execute.dask.scaling.elastic import Elastic
from orchestrator_core.execute.dask.settled import Settled
from orchestrator_core.execute.dask.steer.steering import Steering
from orchestrator_core.execute.dask.workers import describe
from orchestrator_core.execute.dask.workers.meters import Meters
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Hold, Key, Slot
from orchestrator_core.graph.cluster import Cluster

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
        self.worked = Worked(scheduler, self.fault)
        self.meters = Meters(scheduler)
        self.announcements = Announcements(
            lambda run: self.announcing.give_up(run),
            lambda epoch: self.control.end(epoch),
            self.worked.now,
        )
        self.counters = Counters()
        self.steering = Steering(
            scheduler,
            self.roster,
            options.mode,
            self.announcements.epoch,
            self.counters,
            self._rest,
            lambda key: self.control.seconds(key),
        )
        self.control = Control(
            scheduler,
            self.roster,
            self.steering,
            self.counters,
            self.fault,
            options.hung_after or 0.0,
            self.recorder.has_run,
        )
        self.announcing = Announcing(self.announcements, self.recorder, self.steering, self.control)
        self.elastic = Elastic(
            scheduler, self.roster, self.control.remaining, self.control.has_runs, self.fault
        )
        self.settled = Settled()
        self.advisory = Advisory(make_advisor, self.fault, self._ready)
        self._own = options, self.advisory
        self.planning = Planning(
            options,
            self.advisory,
            self.steering,
            self.control,
            self.fault,
            self._divide,
            lambda run: self.anew.put_off(run),
        )
        self.anew = Anew(
            self.roster, self.steering.tasks, self.planning, lambda: self._runs, self.fault
        )
        # Looked at with each transition; to look is cheaper than to ask.
        self._ledgers = self.recorder.ledgers
        self._follows, self._steered = self.steering.follower.slots, self.control.steered
        self._heeded, self._dated = self.steering.heeding.hints, self.steering.dated.keys
        self._runs: dict[GraphRun, None] = {}
        # Graphs that came when no worker was there, with what of them is wanted.
        self._early: deque[tuple[Snapshot, frozenset[Key]]] = deque(maxlen=OPEN_RUNS)
        self.last_run: GraphRun | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()

    @property
    def mode(self) -> str:
        """ "director", "restrict", "observe" or "off"."""
        return self.steering.mode

    @property
    def runs(self) -> tuple[GraphRun, ...]:
        """The graphs under way, in order of their arrival."""
        return tuple(self._runs)

    @property
    def is_live(self) -> bool:
        """Does it take part at all?"""
        return self.mode != "off"

    # --- life --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to steer and to record; what takes long goes on in the background."""
        if not self.is_live:
            return
        self.advisory.start(plans=self.mode != "observe")
        self.steering.install()
        self.worked.install()
        if self.steering.carrier is not None:
            self.elastic.install()
        asked = self._spawn(self._describe(list(self.scheduler.workers)))
        self.meters.install(self.scheduler.workers)
        await asyncio.wait([asked], timeout=DESCRIBE_SECONDS)
        await self.advisory.wait_ready(READY_SECONDS)

    def stop(self, reason: str) -> None:
        """Leave the scheduler as it was; runs that are still open are recorded as cancelled."""
        take_all(
            [
                *(partial(run.close, "cancelled") for run in self._runs),
                self.announcements.clear,
                self.anew.cancel,
                self.control.stop,
                self.elastic.uninstall,
                self.worked.uninstall,
                lambda: self.steering.uninstall(reason),
                *(task.cancel for task in self._background),
                self.meters.leave,
                self.settled.leave,
                self.advisory.close,
            ]
        )

    def hire(self, options: Options, make_advisor: Callable[[], Advisor]) -> None:
        """Plan and record with another advisor until `dismiss`; it is loaded in the background."""
        self._own = self.options, self.advisory
        self._employ(options, Advisory(make_advisor, self.fault, self._ready))
        if self.is_live:
            self.advisory.start(plans=self.mode != "observe")

    def dismiss(self) -> Advisory:
        """The session's own advisor again. Runs that are still open are recorded as cancelled by
        the other one, which is returned, and closes when it has written them."""
        for run in list(self._runs):
            run.close("cancelled")
        hired = self.advisory
        self._employ(*self._own)
        hired.close()
        return hired

    def _employ(self, options: Options, advisory: Advisory) -> None:
        self.options, self.advisory = options, advisory
        self.planning.heed(options, advisory)

    def _ready(self, measured: Sequence[Cluster]) -> None:
        """The advisor has loaded what it needs; `measured` as of `Advisory`."""
        self.roster.recall(measured)
        self.settled.look()
        self.anew.changed()

    def restart(self) -> None:
        """The scheduler forgot all tasks."""
        for run in list(self._runs):
            run.close("cancelled")
        self._early.clear()
        self.announcements.forsake()
        self.steering.restart()

    def fault(self, where: str, error: Exception) -> None:
        """Something of ours failed: forgiven once, then the scheduler is left alone."""
        # Steering withdraws in a moment, and not inside of what is going on now.
        self.steering.fault(where, error)

    def _rest(self) -> None:
        """The steering has withdrawn: nobody else has anything to do either. How the runs end that
        are still open, nobody would be told, so they are recorded as they stand."""
        take_all(
            [
                *(partial(run.close, "cancelled") for run in self._runs),
                self.anew.cancel,
                self.control.stop,
                self.elastic.uninstall,
                self.worked.uninstall,
                self.meters.leave,
            ]
        )

    # --- graphs ------------------------------------------------------------------------------

    def new_graph(self, keys: Collection[Key], wanted: Collection[Key], client: str = "") -> None:
        """A graph of these keys came, for a client that wants some; nothing of it was sent yet."""
        self.worked.submitted(keys, client)
        self.announcing.arrive(keys)
        watched = self.recorder.ledgers
        fresh = [key for key in keys if key not in watched]
        self.steering.renew(fresh)
        graph = snapshot.take(self.scheduler, fresh, wanted, self.roster)
        if self.steering.carrier is not None:
            self.steering.heed_announced([key for key in keys if key in watched])
            if graph.stated:
                self.steering.heed(graph.hints)
        if len(graph) < RECORDED_FROM:
            self.steering.heeding.heed(graph.keys)
            return
        kept = frozenset(wanted).intersection(graph.keys)
        cluster = self.roster.cluster()
        if cluster is None:
            self._early.append((graph, kept))
        else:
            self._begin_run(graph, kept, cluster)

    def _begin_run(self, graph: Snapshot, wanted: frozenset[Key], cluster: Cluster) -> None:
        brief = len(graph) > (self.options.max_tasks or math.inf)
        run = GraphRun(graph, cluster, time(), self._finish, brief)
        run.wanted, run.is_heeded = wanted, self.steering.carrier is not None
        self._note_work(run)
        self._runs[run] = None
        self.recorder.watch(run.open, run)
        if len(self._runs) > OPEN_RUNS:
            next(iter(self._runs)).close("cancelled")
        self.planning.plan(run)

    def _divide(self, run: GraphRun, rest: GraphRun) -> None:
        """What is left of the run is a run of its own from now on."""
        self.control.end(run)
        run.cede(rest)
        self._note_work(rest)
        self._runs[rest] = None
        self.recorder.watch(rest.open, rest)

    def _note_work(self, run: GraphRun) -> None:
        """What had been done when it began was not for it, but for what is its own already."""
        own = sum([ended[4] - ended[3] for ended in run.ended])
        run.worked_before = self.worked.now() - own
        run.executed_before = self.worked.executed - len(run.ended)

    def _begin_early(self) -> None:
        """A worker is there: graphs of which nothing has begun or gone meanwhile begin."""
        while self._early and (cluster := self.roster.joined()) is not None:
            graph, wanted = self._early.popleft()
            if not self.steering.tasks.started(graph.keys):
                self._begin_run(graph, wanted, cluster)

    def _finish(self, run: GraphRun) -> None:
        self._runs.pop(run, None)
        self.control.end(run)
        self.planning.ended(run)
        self.last_run = run
        self.counters.graph_ended(run.advice.plan if run.advice else None, run.adopted)
        self.recorder.unwatch(run.snapshot.keys, run)
        if run.ended and run.is_worth_keeping:
            run.see_others(self.worked.now(), self.worked.executed)
            run.measured = self.roster.measured()
            self.advisory.record(run.finished())
        self.settled.look()

    def begin(
        self,
        run_id: str,
        tasks: Iterable[tuple[Key, str, str]],
        slots: Mapping[Key, Slot],
        holds: Mapping[Key, Hold],
        plan: bytes | None = None,
        gone: Iterable[Key] = (),
        client: str = "",
    ) -> AnnouncedRun | None:
        """These tasks will come one by one, and the announced ones in `gone` will not; None if
        nobody takes notice. See `Announcing`."""
        if not self.is_live:
            return None
        self.announcing.withdraw(run_id, gone)
        run = self.announcing.begin(run_id, tasks, slots, holds, plan)
        run.client = client
        return run

    def remove_client(self, client: str) -> None:
        """A client has left, or its process died; its tasks are released already."""
        self.announcements.end_of(client)

    # --- events ------------------------------------------------------------------------------

    def transition(self, key: Key, start: str, finish: str, detail: Mapping[str, Any]) -> None:
        """The scheduler moved a task; called inside its transition engine, some times for each."""
        ledger = self._ledgers.get(key)
        if self._follows:
            self.steering.transition(key, finish)
        if finish == "forgotten" and (self._heeded or self._dated):
            self.steering.forget_hint(key)
        if ledger is not None:
            if self._steered:
                self.control.transition(key, finish)
            self.recorder.transition(ledger, key, finish, detail)

    def add_worker(self, address: str) -> None:
        """A worker joined; its tasks, if it was there before, are planned again."""
        name = self.roster.add(address)
        self.control.worker_joined(address)
        self.steering.worker_joined(name)
        self._begin_early()
        self._spawn(self._welcome(address))
        self.meters.install([address])

    def remove_worker(self, address: str) -> None:
        """A worker left; the scheduler has already decided anew about its tasks."""
        self.meters.forget(address)
        self.recorder.forget(address)
        name = self.roster.remove(address)
        self.announcements.prepared.pop(name or "", None)
        if name is not None and name not in self.roster:
            self.steering.worker_lost(name)
        self.anew.changed()

    # --- small questions ---------------------------------------------------------------------

    async def _welcome(self, address: str) -> None:
        await self._describe([address])
        self.steering.heed_anew()
        self.anew.changed()

    async def _describe(self, addresses: list[str]) -> None:
        for address, said in (await describe.ask(self.scheduler, addresses)).items():
            if address in self.scheduler.workers:
                self.roster.describe(address, said)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task
