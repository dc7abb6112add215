"""OrchestratorPlugin: the door through which Dask's scheduler tells us what happens.

Thin on purpose: each hook hands over to the session and catches everything. Whatever happens in
here, Dask goes on as if the plugin were not there.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from distributed.diagnostics.plugin import SchedulerPlugin

from orchestrator_core.execute.advice import Advisor, NoAdvisor, check_advisor
from orchestrator_core.execute.dask.config import Options, advisor_factory, resolve
from orchestrator_core.execute.dask.guests import Guests
from orchestrator_core.execute.dask.heirs import Heirs
from orchestrator_core.execute.dask.leaving import take_all
from orchestrator_core.execute.dask.place import Place
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.dask.steer.override import Override
from orchestrator_core.execute.dask.watch.publish import publish
from orchestrator_core.execute.dask.watch.rpc import Handlers
from orchestrator_core.execute.dask.watch.status import Status

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

log = logging.getLogger("orchestrator.dask")

FOLLOWED = frozenset({"processing", "memory", "erred", "forgotten"})
"""States in which a task's arrival is of interest."""

CLOSE_SECONDS = 10.0
"""How long a closing scheduler waits until all runs are written."""

LOST_SECONDS = 10.0
"""How long a client that was lost may take to connect again, until its blocks count as ended."""

LEAVE_SECONDS = 2.0
"""How long who asks us to leave waits until the workers have been told."""

FOR_FLOWS = "orchestrator-flows"
"""The name of a plugin that plans nothing by itself: one that does can be registered beside it."""

FOR_BLOCKS = "orchestrator-blocks"
"""The name of a plugin that leaves with the last block, for the same reason."""

_AT_WORK: WeakKeyDictionary[Scheduler, OrchestratorPlugin] = WeakKeyDictionary()
"""The schedulers of this process on which a plugin is at work."""


class OrchestratorPlugin(SchedulerPlugin):
    """Plans the graphs that a Dask scheduler gets, follows the plans, and records what happened.

    Example:
        >>> from distributed import Client  # doctest: +SKIP
        >>> client = Client()  # doctest: +SKIP
        >>> client.register_plugin(OrchestratorPlugin("schedules.db"))  # doctest: +SKIP

    Args:
        store: a database URL or a file for schedules and runs; None for the configured one.
        mode: "auto", "director", "restrict", "observe" or "off". The environment variable
            ORCHESTRATOR_MODE of the scheduler's process beats it, and so does a configured "off".
        min_tasks, max_tasks: smaller and larger graphs are left to Dask.
        min_gain: part of the makespan of Dask's own policy that a plan must save.
        plan_wait: seconds that a graph's tasks wait for their plan; a later one is still applied
            to those that have not started.
        hung_after: seconds without a heartbeat after which a worker that a plan waits for is taken
            off the cluster; 0 for never.
        objective: what plans minimise, such as "makespan" or "price,makespan".
        max_price: what each graph may cost by the workers' prices for an hour, which
            `orchestrator.worker.price` or ORCHESTRATOR_WORKER_PRICE say.
        advisor: who plans and remembers; None for the one that the configuration names. It
            travels to the scheduler by pickle, and is closed with the plugin.

    Raises:
        InvalidInput: naming the argument that cannot be used.
    """

    name = "orchestrator"
    idempotent = True

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        mode: str = "auto",
        min_tasks: int | None = None,
        max_tasks: int | None = None,
        min_gain: float | None = None,
        plan_wait: float | None = None,
        hung_after: float | None = None,
        objective: str | None = None,
        max_price: float | None = None,
        advisor: Advisor | None = None,
    ) -> None:
        self.options = Options(
            mode=mode,
            store=store,
            min_tasks=min_tasks,
            max_tasks=max_tasks,
            min_gain=min_gain,
            plan_wait=plan_wait,
            hung_after=hung_after,
            objective=objective,
            max_price=max_price,
        )
        check_advisor(advisor)
        self.advisor = advisor
        self.name = FOR_FLOWS if isinstance(advisor, NoAdvisor) else type(self).name
        self.guests = Guests()
        self.heirs = Heirs()
        self.session: Session | None = None
        self.place: Place | None = None
        self._started: asyncio.Event | None = None
        self._undo: list[Callable[[], object]] = []

    def __getstate__(self) -> dict[str, Any]:
        """What travels: settings, never the live session."""
        live: dict[str, Any] = {"session": None, "place": None, "_started": None, "_undo": []}
        return {**vars(self), **live, "heirs": Heirs()}

    async def start(self, scheduler: Scheduler) -> None:
        """Begin on this scheduler; if that fails, the plugin does nothing.

        Nor does it where another one is at work, as long as that one is: two would undo what the
        other does. But it lends its advisor to one that has none. Dask starts what a preload
        registers twice: then, and when the scheduler itself starts.
        """
        if self.session is not None:
            return
        other = _AT_WORK.get(scheduler)
        if other is not None:
            await self._stand_by(other)
            return
        _AT_WORK[scheduler] = self
        self._started = started = asyncio.Event()
        self._undo = [lambda: _AT_WORK.pop(scheduler, None)]
        try:
            options = resolve(self.options)
            self.session = session = Session(scheduler, options, self._maker(options))
            if isinstance(self.advisor, NoAdvisor):
                self.place = Place(session, lambda: self.heirs.succeed(scheduler))
            status = Status(session)
            handlers = Handlers(status, self._remove)
            handlers.install()
            removal = Override(scheduler, "remove_plugin", self._removed)
            self._undo += [handlers.uninstall, removal.remove]
            if session.is_live:
                self._undo.append(publish(status))
            await session.start()
            log.info("the orchestrator is on this scheduler, mode %r", session.mode)
        except Exception:
            log.exception("the orchestrator could not start; Dask goes on without it")
            self._stop("could not start")
            self.session = None
        finally:
            started.set()

    async def _stand_by(self, other: OrchestratorPlugin) -> None:
        # Dask keeps the first of a name that has started: be that the one at work.
        if other._started is not None:
            await other._started.wait()
        if not other.is_lent(self):
            other.heirs.add(self)
            log.warning(
                "an orchestrator is on this scheduler already; its settings hold until it leaves"
            )

    def offer(self) -> tuple[Options, Callable[[], Advisor]]:
        """The options with nothing left open, and what makes the advisor."""
        options = resolve(self.options)
        return options, self._maker(options)

    def is_lent(self, plugin: OrchestratorPlugin) -> bool:
        """Are graphs planned here from now on as that plugin would do it?"""
        try:
            return self.place is not None and self.place.lend(plugin)
        except Exception:
            log.exception("what another plugin lends cannot be used")
            return False

    def welcome(self, token: str, client: str, plugin: OrchestratorPlugin) -> None:
        """A block of that client is open, which brought that plugin."""
        if self.place is None:
            self.guests.enter(token, client)
            return
        self.is_lent(plugin)
        if self.place.lender is not None:
            self.place.lender.guests.enter(token, client)

    async def close(self) -> None:
        """The scheduler closes: leave, and write what is still to be written."""
        advisory = None if self.session is None else self.session.advisory
        self.heirs = Heirs()
        self._stop("the scheduler closes")
        if advisory is not None and not await advisory.wait_closed(CLOSE_SECONDS):
            log.warning("the last runs were not written within %g s", CLOSE_SECONDS)

    # --- hooks -------------------------------------------------------------------------------

    def update_graph(
        self,
        scheduler: Scheduler,
        *,
        keys: set[Any],
        tasks: list[Any],
        client: str = "",
        **details: Any,
    ) -> None:
        self._guarded("update_graph", lambda session: session.new_graph(tasks, keys, client))

    def transition(self, key: Any, start: Any, finish: Any, *args: Any, **details: Any) -> None:
        # This hook runs about five times for each task.
        if finish not in FOLLOWED:
            return
        session = self.session
        if session is None or session.steering.mode == "off":
            return
        try:
            session.transition(key, start, finish, details)
        except Exception as error:
            session.fault("transition", error)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self._guarded("add_worker", lambda session: session.add_worker(worker))

    def remove_worker(self, scheduler: Scheduler, worker: str, **details: Any) -> None:
        self._guarded("remove_worker", lambda session: session.remove_worker(worker))

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        self._guarded("remove_client", lambda session: session.remove_client(client))
        if (self.guests.decide or self.place is not None) and self.session is not None:
            # It may be back in a moment; and nothing leaves in the middle of what goes on now.
            asyncio.get_running_loop().call_later(LOST_SECONDS, self._look_for_guests)

    def valid_workers_downscaling(
        self, scheduler: Scheduler, workers: list[WorkerState]
    ) -> list[WorkerState]:
        session = self.session
        if session is None or not session.is_live:
            return workers
        try:
            return session.elastic.spare(workers)
        except Exception as error:
            session.fault("valid_workers_downscaling", error)
            return workers

    def restart(self, scheduler: Scheduler) -> None:
        self._guarded("restart", lambda session: session.restart())

    # --- inside ------------------------------------------------------------------------------

    def _guarded(self, where: str, call: Callable[[Session], None]) -> None:
        session = self.session
        if session is None or session.mode == "off":
            return
        try:
            call(session)
        except Exception as error:
            session.fault(where, error)

    def _maker(self, options: Options) -> Callable[[], Advisor]:
        def make() -> Advisor:
            if self.advisor is not None:
                return self.advisor
            advisor: Advisor = advisor_factory()(options.store, **options.wishes)
            return advisor

        return make

    def _removed(self, original: Callable[..., None], name: str | None = None) -> None:
        """`Scheduler.remove_plugin` tells a plugin nothing; so it is overheard."""
        if name is not None and self.session is not None:
            plugins = self.session.scheduler.plugins
            if plugins.get(name) is self:
                self._stop("the plugin was removed")
            elif self.place is not None and self.place.is_lent_by(plugins.get(name)):
                self.place.give_back()
        original(name)

    def _look_for_guests(self) -> None:
        session = self.session
        if session is not None and self.place is not None:
            self.place.only(session.scheduler.clients)
        if session is not None and self.guests.only(session.scheduler.clients):
            log.info("the clients for whom the plugin was here are gone, and so it leaves")
            self._take_off(session.scheduler)

    def _take_off(self, scheduler: Scheduler, with_heirs: bool = False) -> None:
        plugins = scheduler.plugins.items()
        ours = [n for n, p in plugins if self._is_ours(p) or (with_heirs and p in self.heirs)]
        for name in ours:
            scheduler.remove_plugin(name)

    def _is_ours(self, plugin: object) -> bool:
        return plugin is self or (self.place is not None and self.place.is_lent_by(plugin))

    async def _remove(self, timeout: float, guest: str | None) -> bool:
        """Leave the scheduler, for a guest if it was the last; were all runs written within
        `timeout` seconds?"""
        session = self.session
        if session is None:
            return True
        if guest is not None and self.place is not None:
            lent = self.place.leave(guest)
            return lent is None or await lent.wait_closed(timeout)
        if guest is not None and not self.guests.leave(guest):
            return True
        advisory = session.advisory
        self._take_off(session.scheduler, with_heirs=guest is None)
        # Who asked may close the workers next, and they would complain of what comes too late.
        leaving = asyncio.ensure_future(session.meters.settled())
        await asyncio.wait([leaving], timeout=min(timeout, LEAVE_SECONDS))
        leaving.cancel()
        return await advisory.wait_closed(timeout)

    def _stop(self, reason: str) -> None:
        """Undo everything that `start` did; may be called twice."""
        session, self.session = self.session, None
        undo, self._undo = self._undo, []
        if session is not None:
            if self.place is not None:
                undo.append(self.place.give_back)
            undo.append(lambda: session.stop(reason))
            undo.append(lambda: self.heirs.succeed(session.scheduler))
        take_all(undo)
